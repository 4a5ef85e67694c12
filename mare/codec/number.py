"""Numbers with decimals. A tick is the last decimal that comes back."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor, log10
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from .parsing import numbers
from .ticks import FURTHEST, Mask, TickArray, Ticks, null_mask

if TYPE_CHECKING:
    import pyarrow as pa

_SIGNIFICANT = 6
"""Digits that a number's range is told apart to where the schema gives no precision."""
OPEN_DECIMALS = 6
"""Decimals of a number while nothing is known of its range."""


def decimals_for(low: float, high: float, precision: int | None) -> int:
    """The decimals of a tick: as declared, less where the range would not fit 60 bits."""
    span = max(abs(low), abs(high), high - low, 1e-12)
    wanted = precision if precision is not None else max(0, _SIGNIFICANT - ceil(log10(span)))
    return min(wanted, floor(log10(FURTHEST / span)))


@dataclass(frozen=True)
class NumberScale:
    """Decimal fractions with a fixed number of decimals (negative: tens, hundreds …)."""

    decimals: int
    fixed: bool = False
    """Written with all of its decimals where it is stored as text: the schema says how many there are."""

    @property
    def unit(self) -> Fraction:
        return Fraction(10) ** -self.decimals

    @property
    def whole_days(self) -> bool:
        return False

    @property
    def limits(self) -> tuple[int, int]:
        return -FURTHEST, FURTHEST

    @property
    def exact(self) -> NumberScale:
        return NumberScale(max(self.decimals, OPEN_DECIMALS), self.fixed)

    def tick(self, value: float, *, up: bool = False) -> int:
        """The last tick that is not above the value, or with ``up`` the first that is not below."""
        # 0.3 is a hair less than three tenths: what is nearly a whole tick is one.
        scaled = value * 10.0**self.decimals
        near = round(scaled)
        if abs(scaled - near) <= 1e-6 * max(1.0, abs(scaled) * 1e-6):
            return near
        return ceil(scaled) if up else floor(scaled)

    def to_ticks(self, values: pa.Array) -> TickArray:
        import pyarrow.compute as pc

        read = numbers(values)
        return self.ticks_of(np.asarray(pc.fill_null(read, 0.0), dtype=np.float64), null_mask(read))

    def ticks_of(self, doubles: NDArray[np.float64], nulls: Mask) -> TickArray:
        # NaN is no quantity: it counts as NULL. Infinities are clamped like any value outside the domain.
        missing = nulls | np.isnan(doubles)
        with np.errstate(over="ignore"):
            scaled = np.rint(np.where(missing, 0.0, doubles) * 10.0**self.decimals)
        return TickArray(np.clip(scaled, -float(FURTHEST), float(FURTHEST)).astype(np.int64), missing)

    def to_values(self, ticks: Ticks, nulls: Mask) -> pa.Array:
        import pyarrow as pa

        return pa.array(self.doubles_of(ticks), type=pa.float64(), mask=nulls)

    def doubles_of(self, ticks: Ticks) -> NDArray[np.float64]:
        # Dividing by a power of ten is correctly rounded; multiplying by 0.01 would give 0.29000000000000004.
        values = ticks / 10.0**self.decimals if self.decimals >= 0 else ticks * 10.0**-self.decimals
        return values.astype(np.float64)

    def to_texts(self, ticks: Ticks, nulls: Mask) -> pa.Array:
        import pyarrow as pa

        distinct, place = np.unique(np.where(nulls, 0, ticks), return_inverse=True)
        form = f".{self.decimals}f" if self.fixed and self.decimals >= 0 else ".15g"
        texts = [format(value, form) for value in self.doubles_of(distinct).tolist()]
        return pa.array(texts, type=pa.string()).take(pa.array(place, mask=nulls))
