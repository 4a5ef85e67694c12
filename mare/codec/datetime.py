"""Moments. A tick is the column's resolution since 1970; microseconds hold every year a database knows."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mare.schema.columns import Resolution

from .bins import Ticks
from .ticks import DAY_US, TickArray, null_mask

if TYPE_CHECKING:
    import pyarrow as pa

_LENGTH: dict[Resolution, int] = {
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

    @property
    def microseconds(self) -> int:
        return _LENGTH[self.resolution]

    def tick(self, value: date) -> int:
        moment = value if isinstance(value, datetime) else datetime(value.year, value.month, value.day)
        if moment.tzinfo is not None:
            moment = moment.astimezone(UTC).replace(tzinfo=None)
        return (moment - _EPOCH) // _MICROSECOND // self.microseconds

    def to_ticks(self, values: pa.Array) -> TickArray:
        import pyarrow as pa
        import pyarrow.compute as pc

        nulls = null_mask(values)
        micros = pc.fill_null(values.cast(pa.timestamp("us"), safe=False).cast(pa.int64()), 0)
        return TickArray(np.asarray(micros, dtype=np.int64) // self.microseconds, nulls)

    def to_values(self, ticks: Ticks, nulls: NDArray[np.bool_]) -> pa.Array:
        import pyarrow as pa

        micros = np.where(nulls, 0, ticks) * self.microseconds
        return pa.array(micros, type=pa.int64(), mask=nulls).cast(pa.timestamp("us"))
