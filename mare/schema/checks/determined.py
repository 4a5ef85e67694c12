"""Determined columns: what they are worked out from is there, of the right type, and not worked out from them."""

from __future__ import annotations

from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise

from mare.schema.columns import Column, Ordinal
from mare.schema.determined import FUNCTIONS, DatePart, Determined, Elapsed, Lookup, names_in
from mare.schema.faults import Fault, Path
from mare.schema.layout import Layout
from mare.schema.relative import SAME_ROW, Anchor
from mare.schema.wording import listed, no_column, no_table

from .anchors import resolve

_TIMES = ("moment", "clock")
"""Orders between whose values time passes."""


def find(layout: Layout) -> Iterator[Fault]:
    for name, table in layout.described:
        for column, described in table.columns.items():
            if described.determined is not None:
                path: Path = ("tables", name, "columns", column, "determined")
                yield from _column(layout, name, column, described, described.determined, path)
        yield from _circles(layout, name)


def _column(layout: Layout, table: str, column: str, described: Column, how: Determined, path: Path) -> Iterator[Fault]:
    if how.copy_of is not None:
        home = resolve(layout, table, Anchor.parse(how.copy_of), (*path, "copy_of"), previous=False)
        if isinstance(home, Fault):
            yield home
    if how.expression is not None:
        yield from _expression(layout, table, column, described, how.expression, (*path, "expression"))
    if how.part is not None:
        yield from _part(layout, table, how.part, (*path, "part"))
    if how.lookup is not None:
        yield from _lookup(layout, table, column, how.lookup, (*path, "lookup"))
    if how.next is not None:
        yield from _next(layout, table, described, how.next, path)
    if how.elapsed is not None:
        yield from _elapsed(layout, table, described, how.elapsed, (*path, "elapsed"))


def _expression(layout: Layout, table: str, column: str, described: Column, expression: str, path: Path) -> Iterator[Fault]:
    if described.order != "number":
        what = f"arithmetic gives a number, but {column} is a {described.type}"
        yield Fault(path, what, "Write `type: number` or `type: integer`")
    try:
        names = names_in(expression)
    except ValueError as error:
        remedy = f"Write arithmetic (+ - * / // % **) over columns of the same row, and {listed(FUNCTIONS)}"
        yield Fault(path, f"{expression}: {error}", remedy)
        return
    known = layout.columns(table)
    numbers = [c for c, d in known.items() if d is not None and (d.order == "number" or not d.settled) and c != column]
    for name in names:
        if name not in known:
            yield no_column(path, name, table, numbers, also=f"; functions: {listed(FUNCTIONS)}")
        elif name not in numbers and name != column:
            other = known[name]
            what = f"{name} is a {other.type if other is not None else 'key or reference'}, not a number"
            yield Fault(path, what, f"Use one of {listed(numbers)}; the time between two others is `elapsed`")


def _part(layout: Layout, table: str, part: DatePart, path: Path) -> Iterator[Fault]:
    anchor = Anchor.parse(part.of)
    home = resolve(layout, table, anchor, (*path, "of"), previous=False)
    if isinstance(home, Fault):
        yield home
        return
    clock = part.unit in ("hour", "minute", "time")
    known = [(c, d) for c, d in layout.columns(home).items() if d is not None]
    fitting = [c for c, d in known if (d.has_clock if clock else d.has_day) or not d.settled]
    if anchor.column not in fitting:
        wanted = "a datetime or time" if clock else "a date or datetime"
        what = f"the {part.unit} is part of {wanted}, and {part.of} is none"
        yield Fault((*path, "of"), what, f"Name one of {listed(fitting)}")


def _lookup(layout: Layout, table: str, column: str, lookup: Lookup, path: Path) -> Iterator[Fault]:
    publics = [t for t, role in layout.roles.items() if role == "public"]
    if lookup.table not in layout.schema.tables:
        yield no_table((*path, "table"), lookup.table, publics, "public tables")
    elif lookup.table not in publics:
        remedy = f"Mark it `public: true` if it holds nothing about anybody, or name one of {listed(publics)}"
        yield Fault((*path, "table"), f"{lookup.table} is not public", remedy)
    known = [c for c in layout.columns(table) if c != column]
    yield from (no_column((*path, "by"), by, table, known) for by in lookup.by if by not in known)
    key = layout.schema.tables[lookup.table].key if lookup.table in publics else None
    if key is not None and len(key) != len(lookup.by):
        what = f"{len(lookup.by)} columns look up a key of {len(key)} ({listed(key)})"
        yield Fault((*path, "by"), what, f"Name a column for each of {listed(key)}")


def _next(layout: Layout, table: str, described: Column, name: str, path: Path) -> Iterator[Fault]:
    here = (*path, "next")
    if not layout.is_sequence(table):
        what = f"{table} is not a sequence, so there is no next row"
        yield Fault(here, what, "Write `type: sequential` and `order_by` in its parent, or determine it otherwise")
    known = layout.columns(table)
    if name not in known:
        yield no_column(here, name, table, known)
    if not described.nullable:
        yield Fault(here, "the last row has no next one, so it is NULL there", "Write `nullable: true` for this column")


def _elapsed(layout: Layout, table: str, described: Column, elapsed: Elapsed, path: Path) -> Iterator[Fault]:
    if described.order not in ("number", "length"):
        what = f"a length of time is a number, not a {described.type}"
        yield Fault(path, what, "Write `type: number`, `integer` or `duration`")
    for field, text in (("since", elapsed.since), ("until", elapsed.until)):
        anchor = Anchor.parse(text)
        home = resolve(layout, table, anchor, (*path, field), previous=False)
        if isinstance(home, Fault):
            yield home
            continue
        other = layout.columns(home)[anchor.column]
        if other is None or (other.settled and other.order not in _TIMES):
            times = [c for c, d in layout.columns(home).items() if d is not None and d.order in _TIMES]
            yield Fault((*path, field), f"{anchor.column} is not a time", f"Name one of {listed(times)}")


def needs(described: Column) -> tuple[str, ...]:
    """The columns of the same row that have to be known before this one."""
    texts: list[str] = []
    names: list[str] = []
    how = described.determined
    if how is not None:
        texts += [how.copy_of] if how.copy_of is not None else []
        texts += [how.part.of] if how.part is not None else []
        names += how.lookup.by if how.lookup is not None else []
        texts += [how.elapsed.since, how.elapsed.until] if how.elapsed is not None else []
        if how.expression is not None:
            try:
                names += names_in(how.expression)
            except ValueError:
                return ()
    elif isinstance(described, Ordinal):
        return tuple(a.column for a in described.anchors.values() if a.scope == SAME_ROW)
    return (*names, *(anchor.column for anchor in map(Anchor.parse, texts) if anchor.scope == SAME_ROW))


def _circles(layout: Layout, table: str) -> Iterator[Fault]:
    """Every circle of anchors and determined columns within one row."""
    columns = layout.schema.tables[table].columns
    graph = {name: {n for n in needs(described) if n in columns} for name, described in columns.items()}
    while True:
        try:
            TopologicalSorter(graph).prepare()
            return
        except CycleError as error:
            loop: list[str] = error.args[1]
            if len(loop) > 2 or columns[loop[0]].determined is not None:
                what = f"these depend on each other: {' → '.join(loop)}"
                remedy = "One of them has to stand on its own: give it bounds instead of an anchor"
                yield Fault(("tables", table, "columns", loop[0]), what, remedy)
            for before, after in pairwise(loop):
                graph[after] = graph[after] - {before}
