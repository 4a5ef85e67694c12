"""Which ticks a column has: from its type, its precision or resolution and, for numbers, from its range."""

from __future__ import annotations

from datetime import date, time

from mare.schema.columns import Date, Datetime, Duration, Integer, Number, Time
from mare.schema.moments import parse_span

from .date import DateScale
from .datetime import DatetimeScale
from .duration import DurationScale
from .integer import IntegerScale
from .learned import LearnedOrder
from .number import OPEN_DECIMALS, NumberScale, decimals_for
from .time import TimeScale

OrderedColumn = Integer | Number | Date | Datetime | Time | Duration
AnyScale = IntegerScale | NumberScale | DateScale | DatetimeScale | TimeScale | DurationScale


def scale_of(column: OrderedColumn, known: LearnedOrder | None = None) -> AnyScale:
    """The column's ticks. Those of a number depend on its range: it has those of an open one while that is not known."""
    match column:
        case Integer():
            return IntegerScale(column.step)
        case Date():
            return DateScale(column.format)
        case Datetime():
            return DatetimeScale(column.resolution, column.format)
        case Time():
            return TimeScale(column.resolution, column.format)
        case Duration():
            return DurationScale(column.stored_as)
        case Number():
            return _number_scale(column, known)


def open_scale(precision: int | None) -> NumberScale:
    """The ticks of a number of whose range nothing is known."""
    return NumberScale(OPEN_DECIMALS if precision is None else min(OPEN_DECIMALS, precision), precision is not None)


def range_scale(low: float, high: float, precision: int | None) -> NumberScale:
    """The ticks of a number between these bounds."""
    return NumberScale(decimals_for(low, high, precision), precision is not None)


def _number_scale(column: Number, known: LearnedOrder | None) -> NumberScale:
    unsettled = open_scale(column.precision)
    first = column.first
    told = [column.min, column.max, column.within]
    told += [] if first is None else [first.min, first.max, first.within]  # type: ignore[list-item]
    ends = [float(end) for end in told if isinstance(end, int | float)]
    learned = [] if known is None else [float(end * unsettled.unit) for end in (known.low, known.high) if end is not None]
    return range_scale(min(ends + learned), max(ends + learned), column.precision) if _has_range(column) or learned else unsettled


def _has_range(column: Number) -> bool:
    """Whether the schema says between which numbers it lies, or how far from its anchor."""
    if column.anchors:
        return column.within is not None or (column.min is not None and column.max is not None)
    return column.min is not None and column.max is not None


def tick_of(scale: AnyScale, value: object, *, up: bool = False) -> int:
    """The last tick that is not above a declared bound, or with ``up`` the first that is not below it."""
    match scale, value:
        case (IntegerScale() | NumberScale(), int() | float()):
            return scale.tick(value, up=up)
        case (DateScale() | DatetimeScale(), date()):
            return scale.tick(value, up=up)
        case (TimeScale(), time()):
            return scale.tick(value, up=up)
        case (DurationScale(), str()):
            return scale.tick(value, up=up)
    raise TypeError(f"{type(value).__name__} is no bound of this column")


def reach_of(scale: AnyScale, within: str | int | float) -> int:
    """The furthest distance from an anchor, in ticks: never less than one."""
    if isinstance(scale, IntegerScale | NumberScale):
        return max(1, tick_of(scale, within))
    span = parse_span(str(within))
    exact = (span.days * 86_400 + span.seconds) * 1_000_000 + span.microseconds
    return max(1, int(exact // scale.unit))
