"""Domains: declared without contradiction, or to be learned with budget; never silently taken from the data."""

from __future__ import annotations

import string
from collections.abc import Iterator, Sequence
from itertools import pairwise

from mare.schema.columns import (
    Boolean,
    Category,
    Code,
    Column,
    Date,
    Datetime,
    Duration,
    Identifier,
    Integer,
    Number,
    Ordinal,
    Position,
    Quantity,
    Text,
    Time,
    Unknown,
)
from mare.schema.faults import Fault, Path
from mare.schema.layout import Layout
from mare.schema.moments import is_more
from mare.schema.strict import Value
from mare.schema.structure import members_of

from .wording import listed, no_column, no_table, unsettled

MAX_BINS = 1000
"""More bins than this are not a histogram that noise leaves anything of."""


def find(layout: Layout) -> Iterator[Fault]:
    for name, table in layout.described:
        for column, says in table.columns.items():
            yield from _column(layout, name, says, ("tables", name, "columns", column))


def _column(layout: Layout, table: str, says: Column, path: Path) -> Iterator[Fault]:
    match says:
        case Category():
            yield from _category(says, path)
        case Code():
            yield from _code(layout, table, says, path)
        case Boolean():
            yield from _boolean(says, path)
        case Integer() | Number() | Date() | Datetime() | Time() | Duration():
            yield from _bounds(says, path)
            yield from _bins(says, path)
            yield from _log(says, path)
        case Position():
            yield from _position(layout, table, says, path)
        case Identifier():
            yield from _identifier(says, path)
        case Text():
            yield from _text(layout, table, says, path)
        case Unknown():
            types = [t for t in members_of(Column) if t != "unknown"]
            yield unsettled((*path, "type"), "nobody has said what this column holds", f"Write one of {listed(types)}")


def _values(values: Sequence[Value] | None, path: Path, field: str = "values") -> Iterator[Fault]:
    if values is None:
        return
    if not values and field == "values":
        yield Fault((*path, field), "the domain is empty", "List the values, or write `learn: true`")
    seen: set[tuple[type, Value]] = set()
    for i, value in enumerate(values):
        if (type(value), value) in seen:
            yield Fault((*path, field, i), f"{value} is listed twice", "Keep one of them")
        seen.add((type(value), value))


def _category(says: Category, path: Path) -> Iterator[Fault]:
    yield from _values(says.values, path)
    if says.values is not None and says.learn:
        yield Fault((*path, "learn"), "the values are listed, so there is nothing to learn", "Keep `values` or `learn`")
    if says.max_values is not None and not says.learn:
        yield Fault((*path, "max_values"), "`max_values` is about a learned domain", "Write `learn: true`, or remove it")
    if says.values is None and not says.learn and says.determined is None:
        remedy = "Write `values: […]`, or `learn: true` and `max_values: 40` to learn them with budget"
        yield unsettled((*path, "values"), "nothing says which values it may have", remedy)


def _code(layout: Layout, table: str, says: Code, path: Path) -> Iterator[Fault]:
    yield from _values(says.values, path)
    publics = [t for t, role in layout.roles.items() if role == "public"]
    if says.vocabulary is not None:
        if says.vocabulary not in layout.schema.tables:
            yield no_table((*path, "vocabulary"), says.vocabulary, publics, "public tables")
        elif layout.roles[says.vocabulary] != "public":
            remedy = f"Mark it `public: true` if it holds nothing about anybody, or name one of {listed(publics)}"
            yield Fault((*path, "vocabulary"), f"{says.vocabulary} is not public", remedy)
        if says.values is not None:
            yield Fault((*path, "values"), "the codes come from `vocabulary`", "Keep `vocabulary` or `values`")
    if says.values is not None and says.learn:
        yield Fault((*path, "learn"), "the codes are listed, so there is nothing to learn", "Keep `values` or `learn`")
    if says.vocabulary is None and says.values is None and not says.learn and says.determined is None:
        remedy = f"Write `vocabulary:` and a public table ({listed(publics)}), `values: […]`, or `learn: true`"
        yield unsettled((*path, "vocabulary"), "nothing says which codes there are", remedy)
    if says.hierarchy is None:
        return
    here = (*path, "hierarchy")
    prefix = says.hierarchy.prefix
    if any(length < 1 for length in prefix) or any(a >= b for a, b in pairwise(prefix)):
        yield Fault((*here, "prefix"), "prefix lengths grow, from 1", "Write them coarse to fine: [1, 3]")
    if says.hierarchy.columns and says.vocabulary is None:
        remedy = "Write `vocabulary:` with the public table that has these columns, or use `prefix`"
        yield Fault((*here, "columns"), "columns of no vocabulary", remedy)
    by, known = says.hierarchy.by, layout.columns(table)
    if by is not None and by not in known:
        yield no_column((*here, "by"), by, table, known)
    if not prefix and not says.hierarchy.columns and by is None:
        yield Fault(here, "the hierarchy has no level", "Write `prefix: [1, 3]`, or `columns:` of the vocabulary table")


def _boolean(says: Boolean, path: Path) -> Iterator[Fault]:
    if (says.true is None) != (says.false is None):
        yield Fault(path, "only one of `true` and `false` says how it is stored", "Write both, as in {true: Y, false: N}")
    elif says.true is not None and says.true == says.false:
        yield Fault((*path, "false"), f"true and false are both stored as {says.true}", "Write two different values")


def _bounds(says: Integer | Number | Date | Datetime | Time | Duration, path: Path) -> Iterator[Fault]:
    low, high = says.min, says.max
    if low is not None and high is not None and is_more(low, high):
        yield Fault((*path, "min"), f"min {low} is more than max {high}", "Exchange them, or mend one of them")
    yield from _values(says.specials, path, "specials")
    if isinstance(says, Date | Datetime | Time) and says.format is not None and "%" not in says.format:
        yield Fault((*path, "format"), f"{says.format} is not a strptime format", "Write one as in %Y%m%d")
    if says.determined is not None or isinstance(says, Time):
        return
    if (low is None) != (high is None) and not says.learn and not says.anchors:
        there, missing = ("min", "max") if high is None else ("max", "min")
        remedy = f"Write `{missing}:` too, or `learn: true` to learn it with budget"
        yield Fault((*path, there), f"there is a {there}, but no {missing}", remedy)
    elif low is not None and high is not None and says.learn and not says.anchors:
        yield Fault((*path, "learn"), "the bounds are declared, so there is nothing to learn", "Keep `min` and `max`, or `learn`")
    elif low is None and high is None and not says.learn and not says.anchors and not _ranged(says):
        remedy = "Write `min:` and `max:` (what is possible, not what occurs), or `learn: true` to learn them with budget"
        yield unsettled(path, "nothing says between which bounds it lies", remedy)


def _ranged(says: Ordinal) -> bool:
    return isinstance(says, Quantity) and bool(says.ranges)


def _bins(says: Ordinal, path: Path) -> Iterator[Fault]:
    here = (*path, "bins")
    if isinstance(says.bins, int) and not 1 <= says.bins <= MAX_BINS:
        yield Fault(here, f"{says.bins} bins", f"Write 1 to {MAX_BINS}; 20 is a good start")
    if not isinstance(says.bins, tuple):
        return
    if not isinstance(says, Integer | Number):
        yield Fault(
            here, f"the bins of a {getattr(says, 'type', 'column')} have no listed edges", "Write their number: `bins: 20`"
        )
        return
    if not says.bins:
        yield Fault(here, "no bin edges", "List the inner edges, or write a number: `bins: 20`")
    if any(a >= b for a, b in pairwise(says.bins)):
        yield Fault(here, "bin edges grow from left to right", f"Write {listed(f'{e:g}' for e in sorted(set(says.bins)))}")
    outside = [e for e in says.bins if (says.min is not None and e <= says.min) or (says.max is not None and e > says.max)]
    if outside and not says.anchors:
        remedy = f"Inner edges lie above {says.min} and up to {says.max}: remove the others"
        yield Fault(here, f"{listed(f'{e:g}' for e in outside)} lies outside min and max", remedy)


def _log(says: Ordinal, path: Path) -> Iterator[Fault]:
    if says.scale != "log":
        return
    if isinstance(says, Integer | Number):
        if says.min is not None and says.min < 0 and not says.anchors:
            remedy = "Raise min to 0 or more, or write `scale: linear`"
            yield Fault((*path, "scale"), f"a logarithmic scale has no place for negative values (min is {says.min:g})", remedy)
    elif not isinstance(says, Duration) and not says.anchors:
        remedy = "Write `scale: linear`, or say `after:` which other time it is a distance from"
        yield Fault((*path, "scale"), "a logarithmic scale is for distances, not for points in time", remedy)


def _position(layout: Layout, table: str, says: Position, path: Path) -> Iterator[Fault]:
    if layout.link(table) is None:
        remedy = "Describe it as an identifier (`generate: sequence`), or give the table a parent"
        yield Fault((*path, "type"), f"{table} has no parent to count its rows within", remedy)
    known = layout.columns(table)
    for column in says.within or ():
        if column not in known or column == path[-1]:
            yield no_column((*path, "within"), column, table, [c for c in known if c != path[-1]])


def _identifier(says: Identifier, path: Path) -> Iterator[Fault]:
    if (says.generate == "pattern") != (says.pattern is not None):
        yield Fault(
            (*path, "pattern"), "`generate: pattern` and `pattern:` go together", "Write both, as in P{n:08d}, or neither"
        )
    if says.pattern is None:
        return
    try:
        works = says.pattern.format(n=1) != says.pattern.format(n=2)
    except (ValueError, LookupError, AttributeError):
        works = False
    if not works:
        remedy = "Write a text with {n} in it, as in P{n:08d}"
        yield Fault((*path, "pattern"), f"{says.pattern} does not give every row a name of its own", remedy)


def _text(layout: Layout, table: str, says: Text, path: Path) -> Iterator[Fault]:
    for fill, field in (("constant", "value"), ("template", "template")):
        if (says.fill == fill) != (getattr(says, field) is not None):
            yield Fault((*path, field), f"`fill: {fill}` and `{field}:` go together", "Write both, or neither")
    if says.template is None:
        return
    known = [c for c in layout.columns(table) if c != path[-1]]
    try:
        names = [field for _, field, _, _ in string.Formatter().parse(says.template) if field is not None]
    except ValueError:
        yield Fault((*path, "template"), "its braces do not match", "Write columns in braces: {gender}, {age} years")
        return
    for name in names:
        if name not in known:
            yield no_column((*path, "template"), name or "{}", table, known)
