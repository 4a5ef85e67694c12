"""Moments. A tick is the column's resolution since 1970; microseconds hold every year a database knows."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from mare.schema.columns import Resolution

from .date import FIRST_DAY, LAST_DAY
from .parsing import formatted, is_text, moments
from .ticks import DAY_US, Mask, TickArray, Ticks, filled, null_mask

if TYPE_CHECKING:
    import pyarrow as pa

RESOLUTION_US: dict[Resolution, int] = {
    "day": DAY_US,
    "hour": 3_600_000_000,
    "minute": 60_000_000,
    "second": 1_000_000,
    "millisecond": 1_000,
    "microsecond": 1,
}
_EPOCH = datetime(1970, 1, 1)
_MICROSECOND = timedelta(microseconds=1)


@dataclass(frozen=True)
class DatetimeScale:
    """Multiples of a resolution since 1970."""

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
        return FIRST_DAY * DAY_US // self.microseconds, ((LAST_DAY + 1) * DAY_US - 1) // self.microseconds

    @property
    def exact(self) -> DatetimeScale:
        return DatetimeScale("microsecond", self.format)

    def tick(self, value: date, *, up: bool = False) -> int:
        moment = value if isinstance(value, datetime) else datetime(value.year, value.month, value.day)
        if moment.tzinfo is not None:
            moment = moment.astimezone(UTC).replace(tzinfo=None)
        exact = (moment - _EPOCH) // _MICROSECOND
        return -(-exact // self.microseconds) if up else exact // self.microseconds

    def to_ticks(self, values: pa.Array) -> TickArray:
        import pyarrow as pa

        read = values
        if is_text(values) or (pa.types.is_integer(values.type) and self.format is not None):
            read = moments(values, self.format)
        micros = filled(read.cast(pa.timestamp("us"), safe=False).cast(pa.int64()))
        low, high = self.limits
        return TickArray(np.clip(micros // self.microseconds, low, high), null_mask(read))

    def to_values(self, ticks: Ticks, nulls: Mask) -> pa.Array:
        import pyarrow as pa

        micros = np.where(nulls, 0, ticks) * self.microseconds
        return pa.array(micros, type=pa.int64(), mask=nulls).cast(pa.timestamp("us"))

    def to_texts(self, ticks: Ticks, nulls: Mask) -> pa.Array:
        return formatted(self.to_values(ticks, nulls), self.format)
