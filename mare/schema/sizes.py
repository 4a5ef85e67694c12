"""How many codes a column can have at most, from its declaration alone. The planner previews noise with it.

The sizes are public: they come from declared values, bounds and bins. Where a domain will be learned this is the
most it may become.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime, time

from .columns import (
    DEFAULT_MAX_VALUES,
    Boolean,
    Category,
    Code,
    Column,
    Date,
    Datetime,
    Duration,
    Integer,
    Number,
    Ordinal,
    Quantity,
    Resolution,
    Time,
)
from .spans import parse_span

DEFAULT_BINS = 20
"""Bins of an ordered column that does not say how many, at most: noisy quantiles."""
SINGLE_VALUES = 32
"""A declared linear domain of at most this many steps (days of a month, hours of a day) keeps a code for each."""

_MICROSECONDS: dict[Resolution, int] = {
    "day": 86_400_000_000,
    "hour": 3_600_000_000,
    "minute": 60_000_000,
    "second": 1_000_000,
    "millisecond": 1_000,
    "microsecond": 1,
}
_STORED = {"interval": "second", "seconds": "second", "minutes": "minute", "hours": "hour", "days": "day"}
_DAY = _MICROSECONDS["day"]


@dataclass(frozen=True)
class SizeBound:
    """The most codes a column can have."""

    codes: int | None
    """None where the schema does not say: a vocabulary of unknown size, a type that is not modelled or not settled."""
    learned: bool
    """Whether the domain is learned from the data, and paid for."""


def size_bound(column: Column) -> SizeBound:
    """Upper bound of the column's codes, and whether they are learned."""
    match column:
        case Category() | Code():
            return SizeBound(upper_bound(column), column.learn and column.values is None)
        case Integer() | Number() | Date() | Datetime() | Time() | Duration():
            return SizeBound(upper_bound(column), column.learn)
        case _:
            return SizeBound(upper_bound(column), False)


def upper_bound(column: Column) -> int | None:
    """The most codes a column can have, NULL and special values included; None where the schema does not say."""
    match column:
        case Category():
            size = _listed(column)
            extra = column.other is not None and (column.values is None or column.other not in column.values)
            return None if size is None else size + extra + column.nullable
        case Code():
            size = _listed(column)
            rest = size is not None and column.max_values is not None and column.hierarchy is not None
            return None if size is None else size + rest + column.nullable
        case Boolean():
            return 2 + column.nullable
        case Integer() | Number() | Date() | Datetime() | Time() | Duration():
            return bin_bound(column) + len(column.specials) + column.nullable
        case _:
            return None


def first_bound(column: Ordinal) -> int | None:
    """The most codes of a sequence's first value (`first`), without the one for "no row"; None where it has none."""
    return None if column.first is None else _bins(_first_steps(column), None, linear=True)


def _first_steps(column: Ordinal) -> int | None:
    first = column.first
    if first is None:
        return None
    if first.within is not None:
        reach = _tick(column, first.within)
        return None if reach is None else max(1, reach) + 1
    low, high = _tick(column, first.min), _tick(column, first.max)
    return None if low is None or high is None else high - low + 1


def bin_bound(column: Integer | Number | Date | Datetime | Time | Duration) -> int:
    """The most bins of an ordered column, without NULL and special values."""
    if isinstance(column.bins, tuple):
        return len(column.bins) + 1
    return _bins(_steps(column), column.bins, linear=column.scale == "linear")


def keeps_each(steps: int, *, linear: bool) -> bool:
    """Whether a domain of so many steps keeps a code for each where nothing says how many bins it has."""
    return steps <= (SINGLE_VALUES if linear else DEFAULT_BINS)


def measures_bins(column: Column) -> bool:
    """Whether its bins are placed by a noisy histogram, and paid for: nothing says where they are, and values are many."""
    if not isinstance(column, Integer | Number | Date | Datetime | Time | Duration) or column.determined is not None:
        return False
    if column.bins is not None:
        return False
    steps = _steps(column)
    return steps is None or not keeps_each(steps, linear=column.scale == "linear")


def distinct_values(column: Column) -> int | None:
    """How many different values a column can have, where the schema says: more than its codes, where these are bins."""
    if isinstance(column, Integer | Number | Date | Datetime | Time | Duration):
        steps = _steps(column)
        return None if steps is None else steps + len(column.specials) + column.nullable
    return upper_bound(column)


def _listed(column: Category | Code) -> int | None:
    if column.values is not None:
        return min(len(column.values), column.max_values or len(column.values))
    if column.learn:
        return column.max_values or DEFAULT_MAX_VALUES
    return column.max_values if isinstance(column, Code) else None


def _bins(steps: int | None, wanted: int | None, *, linear: bool) -> int:
    if steps is None:
        return DEFAULT_BINS if wanted is None else wanted
    if wanted is not None:
        return min(wanted, steps)
    return steps if keeps_each(steps, linear=linear) else DEFAULT_BINS


def _steps(column: Integer | Number | Date | Datetime | Time | Duration) -> int | None:
    """How many different values the declared domain has; None where it is learned or depends on other values."""
    if isinstance(column, Quantity) and column.by is not None:
        return None
    if column.before is not None or column.during is not None:
        return None
    if column.after is not None:
        reach = None if column.within is None else _tick(column, column.within)
        return None if reach is None else max(1, reach) - int(column.strict) + 1
    low, high = _bounds(column)
    return None if low is None or high is None else max(1, high - low + 1)


def _bounds(column: Integer | Number | Date | Datetime | Time | Duration) -> tuple[int | None, int | None]:
    if isinstance(column, Time):
        last = _DAY // _MICROSECONDS[column.resolution] - 1
        low = 0 if column.min is None else _tick(column, column.min)
        return low, last if column.max is None else _tick(column, column.max)
    return _tick(column, column.min), _tick(column, column.max)


def _tick(column: Ordinal, value: object) -> int | None:
    """A value in the smallest steps that the column tells apart; None where nothing says how small they are."""
    if isinstance(column, Integer) and isinstance(value, int | float):
        return round(value / column.step)
    if isinstance(column, Number) and isinstance(value, int | float):
        return None if column.precision is None else round(value * 10**column.precision)
    unit = _unit(column)
    if unit is None:
        return None
    if isinstance(value, str):
        span = parse_span(value)
        return (span.days * _DAY + span.seconds * 1_000_000 + span.microseconds) // unit
    if isinstance(value, datetime):
        return int((value - datetime.min).total_seconds()) * 1_000_000 // unit
    if isinstance(value, date):
        return (value.toordinal() - 1) * _DAY // unit
    if isinstance(value, time):
        return (value.hour * 3600 + value.minute * 60 + value.second) * 1_000_000 // unit
    return None


def _unit(column: Ordinal) -> int | None:
    match column:
        case Date():
            return _DAY
        case Datetime() | Time():
            return _MICROSECONDS[column.resolution]
        case Duration():
            return {name: _MICROSECONDS[unit] for name, unit in _STORED.items()}[column.stored_as]  # type: ignore[index]
        case _:
            return None
