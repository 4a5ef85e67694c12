"""`TickScale`: an ordered column's values as integer ticks and back. `scales` has one for each way of counting.

A tick is the smallest step a column can tell apart (a day, a second, 0.01). Working on integers keeps encoding exact and
makes every bound inclusive without rounding.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from mare.schema.columns.ticks import DAY_US as DAY_US
from mare.schema.columns.ticks import FURTHEST as FURTHEST

Ticks = NDArray[np.int64]
Mask = NDArray[np.bool_]

Side = Literal["after", "before"]


@dataclass(frozen=True, eq=False)
class TickArray:
    """Ticks, and where the value is NULL (the tick there means nothing)."""

    ticks: Ticks
    nulls: Mask


class TickScale(Protocol):
    """How the values of a column map to ticks."""

    @property
    def unit(self) -> Fraction:
        """Length of a tick: microseconds for what is a time, else the number that it counts."""
        ...

    @property
    def whole_days(self) -> bool:
        """A date stands for all of its day: what happens on that day is neither before nor after it."""
        ...

    @property
    def limits(self) -> tuple[int, int]:
        """The first and the last tick that can be written at all (years 1 to 9999, a whole day, 63 bits)."""
        ...

    @property
    def exact(self) -> TickScale:
        """The finest scale of the same type: special values are compared on it, not after rounding."""
        ...

    def to_ticks(self, values: pa.Array) -> TickArray:
        """Ticks of values as the source has them, text included. What cannot be read is NULL: never an error."""
        ...

    def to_values(self, ticks: Ticks, nulls: Mask) -> pa.Array: ...

    def to_texts(self, ticks: Ticks, nulls: Mask) -> pa.Array:
        """The values as the source writes them where it stores text."""
        ...


def convert_ticks(ticks: Ticks, source: TickScale, target: TickScale, side: Side) -> Ticks:
    """Ticks of one scale as ticks of another, so that a column may be anchored at one of a finer or coarser type.

    ``after``: the first tick that is not before the anchor; ``before``: the last that is not after it. So order also holds
    after rounding. A date covers its day: an event of that day is not before it, and not after it.
    """
    if source.unit == target.unit:
        return ticks
    # floor(t·u) and ceil(t·u), in integers
    ratio = source.unit / target.unit
    most = (1 << 62) // ratio.numerator
    scaled = np.clip(ticks, -most, most) * ratio.numerator
    if source.whole_days and side == "before":
        last = np.clip(ticks + 1, -most, most) * ratio.numerator - ratio.denominator
        return np.clip(last // ratio.denominator, -FURTHEST, FURTHEST)
    if target.whole_days or side == "before":
        return np.clip(scaled // ratio.denominator, -FURTHEST, FURTHEST)
    return np.clip(-(-scaled // ratio.denominator), -FURTHEST, FURTHEST)


def null_mask(values: pa.Array) -> Mask:
    return np.asarray(values.is_null().to_numpy(zero_copy_only=False), dtype=np.bool_)


def filled(values: pa.Array) -> Ticks:
    """An integer array as ticks, 0 where it is NULL."""
    return np.asarray(pc.fill_null(values.cast(pa.int64(), safe=False), 0), dtype=np.int64)


def microseconds(values: pa.Array) -> Ticks:
    """Dates and moments since 1970, times of day since midnight, lengths; 0 where it is NULL."""
    if pa.types.is_date(values.type):
        return filled(values.cast(pa.date32()).cast(pa.int32())) * DAY_US
    if pa.types.is_time(values.type):
        return filled(values.cast(pa.time64("us"), safe=False).cast(pa.int64()))
    kind = pa.duration("us") if pa.types.is_duration(values.type) else pa.timestamp("us")
    return filled(values.cast(kind, safe=False).cast(pa.int64()))
