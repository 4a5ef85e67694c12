"""Times of day. A tick is the column's resolution since midnight."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import time
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from mare.schema.columns import Resolution

from .datetime import RESOLUTION_US
from .parsing import clocks, formatted, is_text
from .ticks import DAY_US, Mask, TickArray, Ticks, filled, null_mask

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class TimeScale:
    """Multiples of a resolution since midnight."""

    resolution: Resolution = "second"
    format: str | None = None

    @property
    def microseconds(self) -> int:
        return RESOLUTION_US[self.resolution]

    @property
    def unit(self) -> Fraction:
        return Fraction(self.microseconds)

    @property
    def whole_days(self) -> bool:
        return False

    @property
    def limits(self) -> tuple[int, int]:
        return 0, DAY_US // self.microseconds - 1

    @property
    def exact(self) -> TimeScale:
        return TimeScale("microsecond", self.format)

    def tick(self, value: time, *, up: bool = False) -> int:
        exact = (value.hour * 3600 + value.minute * 60 + value.second) * 1_000_000 + value.microsecond
        return min(-(-exact // self.microseconds) if up else exact // self.microseconds, self.limits[1])

    def to_ticks(self, values: pa.Array) -> TickArray:
        import pyarrow as pa

        read = values
        if is_text(values) or (pa.types.is_integer(values.type) and self.format is not None):
            read = clocks(values, self.format)
        micros = filled(read.cast(pa.time64("us"), safe=False).cast(pa.int64()))
        return TickArray(np.clip(micros // self.microseconds, *self.limits), null_mask(read))

    def to_values(self, ticks: Ticks, nulls: Mask) -> pa.Array:
        import pyarrow as pa

        micros = np.where(nulls, 0, ticks) * self.microseconds
        return pa.array(micros, type=pa.int64(), mask=nulls).cast(pa.time64("us"))

    def to_texts(self, ticks: Ticks, nulls: Mask) -> pa.Array:
        return formatted(self.to_values(ticks, nulls), self.format)
