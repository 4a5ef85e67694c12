"""Integer ticks: what all ordered values are counted in. `scales` reads and writes them, in each way of counting.

A tick is the smallest step a column can tell apart (a day, a second, 0.01). Working on integers keeps encoding exact and
makes every bound inclusive without rounding.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from mare.schema.columns.ticks import DAY_US as DAY_US
from mare.schema.columns.ticks import FURTHEST as FURTHEST

if TYPE_CHECKING:
    from .scales import AnyScale

Ticks = NDArray[np.int64]
Mask = NDArray[np.bool_]

Side = Literal["after", "before"]


@dataclass(frozen=True, eq=False)
class TickArray:
    """Ticks, and where the value is NULL (the tick there means nothing)."""

    ticks: Ticks
    nulls: Mask


def convert_ticks(ticks: Ticks, source: AnyScale, target: AnyScale, side: Side) -> Ticks:
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
    ticks = values.cast(pa.int64(), safe=False)
    return np.asarray(ticks.fill_null(0) if ticks.null_count else ticks, dtype=np.int64)


def microseconds(values: pa.Array) -> Ticks:
    """Dates and moments since 1970, times of day since midnight, lengths; 0 where it is NULL."""
    if pa.types.is_date(values.type):
        return filled(values.cast(pa.date32()).cast(pa.int32())) * DAY_US
    if pa.types.is_time(values.type):
        return filled(values.cast(pa.time64("us"), safe=False).cast(pa.int64()))
    kind = pa.duration("us") if pa.types.is_duration(values.type) else pa.timestamp("us")
    return filled(values.cast(kind, safe=False).cast(pa.int64()))
