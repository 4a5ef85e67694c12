"""Parts of dates and lengths of time, for determined columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from mare.codec.ticks import DAY_US, filled, null_mask
from mare.schema.columns import Category, Code, Column, Duration, Integer
from mare.schema.determined import Elapsed

if TYPE_CHECKING:
    import pyarrow as pa

_UNITS_US = {
    "seconds": 1e6,
    "minutes": 6e7,
    "hours": 3.6e9,
    "days": float(DAY_US),
    "years": 365.25 * DAY_US,
}
_DECIMALS = 6
"""Of a length of time in a number that does not say how many it has."""


def part_of(values: pa.Array, unit: str, described: Column) -> pa.Array:
    """A part of a date, a moment or a time of day. Weeks begin on Monday, which is 0; 1 where the column begins there."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if unit == "date":
        return pc.floor_temporal(values.cast(pa.timestamp("us")), unit="day").cast(pa.date32())
    if unit in ("hour", "minute", "time"):
        clock = _microseconds(values) % DAY_US
        nulls = null_mask(values)
        if unit == "time":
            return pa.array(clock, type=pa.int64(), mask=nulls).cast(pa.time64("us"))
        return pa.array(clock // 3_600_000_000 if unit == "hour" else clock // 60_000_000 % 60, type=pa.int64(), mask=nulls)
    moments = values.cast(pa.timestamp("us"))
    if unit == "weekday":
        found = pc.day_of_week(moments, count_from_zero=not _from_one(described), week_start=1)
    else:
        functions = {"year": pc.year, "quarter": pc.quarter, "month": pc.month, "week": pc.iso_week, "day": pc.day}
        found = functions[unit](moments)
    return _named(found.cast(pa.int64()), described, 0 if unit == "weekday" and not _from_one(described) else 1)


def _from_one(described: Column) -> bool:
    return isinstance(described, Integer) and described.min == 1


def _named(numbers: pa.Array, described: Column, first: int) -> pa.Array:
    """A column that lists names (Mon, Tue …) gets the name in place of the number."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not isinstance(described, Category | Code) or described.values is None or not isinstance(described.values[0], str):
        return numbers
    names = pa.array([str(value) for value in described.values], type=pa.string())
    return names.take(pc.subtract(numbers, first)) if len(names) in (4, 7, 12) else numbers


def elapsed(since: pa.Array, until: pa.Array, how: Elapsed, described: Column) -> pa.Array:
    """The time from one to the other: a length, a whole number of units (rounded down), or one with decimals."""
    import pyarrow as pa

    nulls = null_mask(since) | null_mask(until)
    micros = _microseconds(until) - _microseconds(since)
    if isinstance(described, Duration):
        if described.stored_as == "interval":
            return pa.array(micros, type=pa.int64(), mask=nulls).cast(pa.duration("us"))
        return pa.array(micros // int(_UNITS_US[described.stored_as]), type=pa.int64(), mask=nulls)
    units = micros / _UNITS_US[how.unit]
    if isinstance(described, Integer):
        return pa.array(np.floor(units).astype(np.int64), mask=nulls)
    decimals = getattr(described, "precision", None)
    return pa.array(np.round(units, _DECIMALS if decimals is None else decimals), mask=nulls)


def _microseconds(values: pa.Array) -> np.ndarray:
    """Dates and moments since 1970, times of day since midnight."""
    import pyarrow as pa

    if pa.types.is_date(values.type):
        return filled(values.cast(pa.date32()).cast(pa.int32())) * DAY_US
    if pa.types.is_time(values.type):
        return filled(values.cast(pa.time64("us"), safe=False).cast(pa.int64()))
    return filled(values.cast(pa.timestamp("us"), safe=False).cast(pa.int64()))
