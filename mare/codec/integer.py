"""Whole numbers. A tick is one `step`."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from .parsing import whole_numbers
from .ticks import FURTHEST, Mask, TickArray, Ticks, filled, null_mask

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class IntegerScale:
    """Multiples of a step."""

    step: int = 1

    @property
    def unit(self) -> Fraction:
        return Fraction(self.step)

    @property
    def whole_days(self) -> bool:
        return False

    @property
    def limits(self) -> tuple[int, int]:
        return -(FURTHEST // self.step), FURTHEST // self.step

    @property
    def exact(self) -> IntegerScale:
        return IntegerScale()

    def tick(self, value: float, *, up: bool = False) -> int:
        """The last multiple that is not above the value, or with ``up`` the first that is not below."""
        exact = Fraction(value) / self.step
        return -(-exact.numerator // exact.denominator) if up else exact.numerator // exact.denominator

    def to_ticks(self, values: pa.Array) -> TickArray:
        whole = whole_numbers(values)
        ticks = np.clip(filled(whole), -FURTHEST, FURTHEST)
        # to the nearest multiple
        return TickArray((ticks + self.step // 2) // self.step, null_mask(whole))

    def to_values(self, ticks: Ticks, nulls: Mask) -> pa.Array:
        import pyarrow as pa

        return pa.array(np.where(nulls, 0, ticks) * self.step, type=pa.int64(), mask=nulls)

    def to_texts(self, ticks: Ticks, nulls: Mask) -> pa.Array:
        import pyarrow as pa

        return self.to_values(ticks, nulls).cast(pa.string())
