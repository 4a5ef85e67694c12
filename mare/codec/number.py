"""Numbers with decimals. A tick is the last decimal that comes back."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, log10
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from .bins import Ticks
from .ticks import TickArray, null_mask

if TYPE_CHECKING:
    import pyarrow as pa

_SIGNIFICANT = 6
"""Digits that a number's range is told apart to where the schema gives no precision."""
_LARGEST = 2.0**62


def decimals_for(low: float, high: float, precision: int | None) -> int:
    """The decimals of a tick: as declared, less where the range would not fit 63 bits."""
    span = max(abs(low), abs(high), high - low, 1e-12)
    wanted = precision if precision is not None else max(0, _SIGNIFICANT - ceil(log10(span)))
    return min(wanted, int(log10(_LARGEST / span)))


@dataclass(frozen=True)
class NumberScale:
    """Decimal fractions with a fixed number of decimals (negative: tens, hundreds …)."""

    decimals: int

    @property
    def microseconds(self) -> int:
        return 0

    def tick(self, value: float) -> int:
        return round(value * 10.0**self.decimals)

    def to_ticks(self, values: pa.Array) -> TickArray:
        import pyarrow as pa
        import pyarrow.compute as pc

        nulls = null_mask(values)
        numbers = np.asarray(pc.fill_null(values.cast(pa.float64(), safe=False), 0.0), dtype=np.float64)
        # NaN is no quantity: it counts as NULL. Infinities are clamped like any value outside the domain.
        nulls = nulls | np.isnan(numbers)
        with np.errstate(over="ignore"):
            scaled = np.rint(np.nan_to_num(numbers, nan=0.0) * 10.0**self.decimals)
        return TickArray(np.clip(scaled, -_LARGEST, _LARGEST).astype(np.int64), nulls)

    def to_values(self, ticks: Ticks, nulls: NDArray[np.bool_]) -> pa.Array:
        import pyarrow as pa

        # Dividing by a power of ten is correctly rounded; multiplying by 0.01 would give 0.29000000000000004.
        values = ticks / 10.0**self.decimals if self.decimals >= 0 else ticks * 10.0**-self.decimals
        return pa.array(values.astype(np.float64), type=pa.float64(), mask=nulls)
