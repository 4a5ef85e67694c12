"""Values as ticks and back: one scale for whole numbers, one for decimals, one for everything that is a time.

The column says how long a tick is and which ticks there are (`mare.schema.columns.ticks`); here rows are read (`to_ticks`, texts
included: what cannot be read is NULL, never an error) and written in them (`to_values`; `to_texts` where the source stores text).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from mare.schema.columns import Ordinal
from mare.schema.columns.ticks import AnyTicks, DecimalTicks, TimeTicks, WholeTicks, open_ticks

from .learned_domains import LearnedOrder
from .parsing import clocks, formatted, is_text, moments, numbers, whole_numbers
from .ticks import DAY_US, FURTHEST, Mask, TickArray, Ticks, filled, null_mask


@dataclass(frozen=True)
class WholeScale(WholeTicks):
    """Whole numbers, exactly: 64 bits do not fit a double."""

    def to_ticks(self, values: pa.Array) -> TickArray:
        whole = whole_numbers(values, self.form)
        ticks = np.clip(filled(whole), -FURTHEST, FURTHEST)
        # to the nearest multiple
        return TickArray((ticks + self.step // 2) // self.step, null_mask(whole))

    def to_values(self, ticks: Ticks, nulls: Mask) -> pa.Array:
        return pa.array(np.where(nulls, 0, ticks) * self.step, type=pa.int64(), mask=nulls)

    def to_texts(self, ticks: Ticks, nulls: Mask) -> pa.Array:
        return self.to_values(ticks, nulls).cast(pa.string())


@dataclass(frozen=True)
class DecimalScale(DecimalTicks):
    """Numbers with decimals."""

    def to_ticks(self, values: pa.Array) -> TickArray:
        read = numbers(values, self.form)
        doubles = np.asarray(pc.fill_null(read, 0.0), dtype=np.float64)
        # NaN is no quantity: it counts as NULL. Infinities are clamped like any value outside the domain.
        missing = null_mask(read) | np.isnan(doubles)
        with np.errstate(over="ignore"):
            scaled = np.rint(np.where(missing, 0.0, doubles) * 10.0**self.decimals)
        return TickArray(np.clip(scaled, -float(FURTHEST), float(FURTHEST)).astype(np.int64), missing)

    def to_values(self, ticks: Ticks, nulls: Mask) -> pa.Array:
        return pa.array(self._doubles(ticks), type=pa.float64(), mask=nulls)

    def _doubles(self, ticks: Ticks) -> NDArray[np.float64]:
        # Dividing by a power of ten is correctly rounded; multiplying by 0.01 would give 0.29000000000000004.
        values = ticks / 10.0**self.decimals if self.decimals >= 0 else ticks * 10.0**-self.decimals
        return values.astype(np.float64)

    def to_texts(self, ticks: Ticks, nulls: Mask) -> pa.Array:
        distinct, place = np.unique(np.where(nulls, 0, ticks), return_inverse=True)
        form = f".{self.decimals}f" if self.fixed and self.decimals >= 0 else ".15g"
        texts = [self.form.text(format(value, form)) for value in self._doubles(distinct).tolist()]
        return pa.array(texts, type=pa.string()).take(pa.array(place, mask=nulls))


@dataclass(frozen=True)
class TimeScale(TimeTicks):
    """Dates, moments, times of day and lengths; of lengths also the number of units that a source counts."""

    def to_ticks(self, values: pa.Array) -> TickArray:
        """An interval comes as an Arrow duration, or as the stage keeps it: microseconds."""
        read = self._read(values)
        if pa.types.is_date(read.type):
            ticks = filled(read.cast(pa.date32()).cast(pa.int32())) * (DAY_US // self.microseconds)
        elif self.order == "length" and not pa.types.is_duration(read.type):
            ticks = filled(read) // self.microseconds if self.arrow != "int64" else filled(read)
        else:
            ticks = filled(read.cast(self._microseconds, safe=False).cast(pa.int64())) // self.microseconds
        return TickArray(np.clip(ticks, *self.limits), null_mask(read))

    def _read(self, values: pa.Array) -> pa.Array:
        """Texts (and the numbers 20150131) as what they say."""
        if self.order == "length":
            return values if pa.types.is_duration(values.type) else whole_numbers(values)
        if is_text(values) or (pa.types.is_integer(values.type) and self.formats):
            return clocks(values, self.formats) if self.order == "clock" else moments(values, self.formats)
        return values

    @property
    def _microseconds(self) -> pa.DataType:
        return {"moment": pa.timestamp("us"), "clock": pa.time64("us"), "length": pa.duration("us")}[self.order]

    def to_values(self, ticks: Ticks, nulls: Mask) -> pa.Array:
        known = np.where(nulls, 0, ticks)
        if self.arrow == "int64":
            return pa.array(known, type=pa.int64(), mask=nulls)
        if self.whole_days:
            return pa.array(known.astype(np.int32), type=pa.int32(), mask=nulls).cast(pa.date32())
        return pa.array(known * self.microseconds, type=pa.int64(), mask=nulls).cast(pa.type_for_alias(self.arrow))

    def to_texts(self, ticks: Ticks, nulls: Mask) -> pa.Array:
        """By the format; a number of units; an interval as ``26:03:00``, which every database reads."""
        if self.arrow == "int64":
            return self.to_values(ticks, nulls).cast(pa.string())
        if self.order != "length":
            return formatted(self.to_values(ticks, nulls), self.formats[0] if self.formats else None)
        texts = [None if null else _hours(int(tick)) for tick, null in zip(ticks, nulls, strict=True)]
        return pa.array(texts, type=pa.string())


AnyScale = WholeScale | DecimalScale | TimeScale


def ticks_of_a_day(scale: AnyScale) -> int:
    """Of a scale of dates or moments; 0 where it counts something else."""
    moments = isinstance(scale, TimeScale) and scale.order == "moment"
    return int(DAY_US / scale.unit) if moments and DAY_US % scale.unit == 0 else 0


def ticks_of_a_clock(scale: AnyScale) -> int:
    """The same of times of day too."""
    timed = isinstance(scale, TimeScale) and scale.order in ("moment", "clock")
    return int(DAY_US / scale.unit) if timed and DAY_US % scale.unit == 0 else 0


def scale_of(column: Ordinal, known: LearnedOrder | None = None) -> AnyScale:
    """The column's ticks. Those of a number depend on its range: it has those of an open one while that is not known."""
    unit = open_ticks(column.decimals).unit
    learned = [] if known is None else [float(end * unit) for end in (known.low, known.high) if end is not None]
    return scale_in(column.ticks(learned))


def scale_in(ticks: AnyTicks) -> AnyScale:
    """The scale that counts in these ticks."""
    match ticks:
        case WholeTicks():
            return WholeScale(**vars(ticks))
        case DecimalTicks():
            return DecimalScale(**vars(ticks))
        case TimeTicks():
            return TimeScale(**vars(ticks))


def _hours(seconds: int) -> str:
    whole = abs(seconds)
    return f"{'-' if seconds < 0 else ''}{whole // 3600:02d}:{whole // 60 % 60:02d}:{whole % 60:02d}"
