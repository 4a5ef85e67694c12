"""Determined columns: what they are worked out from is there, of the right type, and not worked out from them. So for their
expressions, cases and conditions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from mare.schema.columns import AnyColumn, Code, Column, Listed, Ordinal, Quantity
from mare.schema.columns.category import canonical
from mare.schema.condition_grammar import Condition, cannot_be_asked, comparisons_in, parse_condition
from mare.schema.determined import (
    FUNCTIONS,
    PREVIOUS_ROW,
    SAME_ROW,
    Anchor,
    DatePart,
    Determined,
    Elapsed,
    Expression,
    Formula,
    Lookup,
    parse_expression,
    tested_anchor,
)
from mare.schema.faults import Fault, Path, listed, no_column, no_table
from mare.schema.layout import Layout
from mare.schema.strict import Value

from .anchors import resolve
from .tables import circle_in

_TIMES = ("moment", "clock")
"""Orders between whose values time passes."""


def find(layout: Layout) -> Iterator[Fault]:
    for table, column, described, path in layout.described_columns:
        if described.determined is not None:
            yield from _column(layout, table, column, described, described.determined, (*path, "determined"))
    yield from _circles(layout)


def _column(layout: Layout, table: str, column: str, described: Column, how: Determined, path: Path) -> Iterator[Fault]:
    yield from find_formula(layout, table, column, described, how, path)
    if how.part is not None:
        yield from _part(layout, table, how.part, (*path, "part"))
    if how.lookup is not None:
        yield from _lookup(layout, table, column, how.lookup, (*path, "lookup"))
    if how.goes_with is not None:
        yield from _goes_with(layout, table, described, how.goes_with, path)
    if how.next is not None:
        yield from _next(layout, table, described, how.next, path)
    if how.elapsed is not None:
        yield from _elapsed(layout, table, described, how.elapsed, (*path, "elapsed"))
    if (total := how.total) is not None:
        yield from _total(layout, table, described, *total, (*path, total[0]))
    link = layout.schema.parent(table)
    if link is not None and column in (link.order_by or ()) and _waits(layout, table, how):
        what = f"{column} is worked out once the rows are in order, so it cannot order them"
        yield Fault(("tables", table, "parent", "order_by"), what, "Name a date, time, number or position that is modelled")


def _waits(layout: Layout, table: str, how: Determined) -> bool:
    """Whether it is known only when the rows stand in their order, or those below them are there."""
    try:
        return how.total is not None or how.next is not None or how.looks_back(layout.columns(table))
    except ValueError:
        return False


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
        what = f"the {part.unit} is part of {wanted}, and {part.of} is not one"
        yield Fault((*path, "of"), what, f"Name one of {listed(fitting)}")


def _lookup(layout: Layout, table: str, column: str, lookup: Lookup, path: Path) -> Iterator[Fault]:
    publics = layout.of_role("public")
    if lookup.table not in layout.schema.tables:
        yield no_table((*path, "table"), lookup.table, publics, "public tables")
    elif lookup.table not in publics:
        yield layout.not_public((*path, "table"), lookup.table)
    known = [c for c in layout.columns(table) if c != column]
    yield from (no_column((*path, "by"), by, table, known) for by in lookup.by if by not in known)
    key = layout.schema.tables[lookup.table].key if lookup.table in publics else None
    if key is not None and len(key) != len(lookup.by):
        what = f"{len(lookup.by)} columns look up a key of {len(key)} ({listed(key)})"
        yield Fault((*path, "by"), what, f"Name a column for each of {listed(key)}")


def _goes_with(layout: Layout, table: str, described: Column, name: str, path: Path) -> Iterator[Fault]:
    here = (*path, "goes_with")
    known = layout.columns(table)
    lists = [c for c, d in known.items() if isinstance(d, Listed) and d.is_drawn]
    if not isinstance(described, Listed):
        yield Fault(here, f"what goes with a value is one of a list, and not a {described.type}", "Write `type: category`")
    elif described.possible is not None or (isinstance(described, Code) and described.vocabulary is not None):
        what = "what goes with a value is learned beside it, so its values are not listed"
        yield Fault(here, what, "Write `type: category` without `values` or `vocabulary`; or say otherwise how it is determined")
    if layout.roles[table] == "pool":
        yield Fault(here, "nothing is learned in a pool, pairs included", "Write `values: […]`")
    elif name not in known:
        yield no_column(here, name, table, lists)
    elif name not in lists:
        what = f"{name} is not one of a list that is drawn, so nothing can be known to go with it"
        yield Fault(here, what, f"Name one of {listed(lists)}; what a public table tells of a code is a `lookup`")


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


def _total(
    layout: Layout, table: str, described: Column, how: str, below: str, column: str | None, path: Path
) -> Iterator[Fault]:
    """The rows of a table below, taken together."""
    under = [name for name, role in layout.roles.items() if role in ("private", "owned") and table in layout.ancestors(name)]
    if below not in under:
        example = "lines" if how == "count" else "lines.amount"
        what = f"{below or column} is no table below {table}"
        yield Fault(path, what, f"Write it as in {example}, with one of {listed(under)}")
        return
    if how == "count":
        if described.order != "number":
            yield Fault(path, f"a count is a number, not a {described.type}", "Write `type: integer`")
        return
    known = layout.columns(below)
    if column not in known:
        yield no_column(path, column or "", below, known)
        return
    other = known[column]
    if how in ("sum", "mean"):
        numbers = [c for c, d in known.items() if d is not None and (d.order == "number" or not d.settled)]
        if column not in numbers:
            yield Fault(path, f"{column} is no number, so it has no {how}", f"Name one of {listed(numbers)}")
        if described.order != "number":
            yield Fault(path, f"a {how} is a number, not a {described.type}", "Write `type: number` or `type: integer`")
    elif how in ("min", "max"):
        ordered = [c for c, d in known.items() if d is not None and (d.order is not None or not d.settled)]
        if column not in ordered:
            yield Fault(path, f"{column} has no order, so none is the {how}", f"Name one of {listed(ordered)}")
    elif not layout.is_sequence(below):
        what = f"{below} is not a sequence, so none of its rows is the {how.removesuffix('_of')}"
        yield Fault(path, what, "Write `type: sequential` and `order_by` in its parent, or use min or max")
    if how in ("min", "max", "first_of", "last_of") and other is not None and other.settled and other.order != described.order:
        yield Fault(path, f"{below}.{column} is a {other.type}, not a {described.type}", f"Write `type: {other.type}`")
    if how != "sum" and not described.nullable:
        yield Fault(path, f"without a row in {below} it is NULL", "Write `nullable: true` for this column")


Node = tuple[str, str]
"""A table and a column of it."""


def _needs(layout: Layout, table: str, column: str, described: Column) -> Iterator[Node]:
    """The columns that have to be known before this one; its own value in the row before is none of them."""
    how = described.determined
    if how is None:
        if isinstance(described, Ordinal):
            yield from ((table, a.column) for a in described.anchors.values() if a.scope == SAME_ROW)
        return
    try:
        anchors = how.looks_at(layout.columns(table))
    except ValueError:
        return
    for anchor in anchors:
        home = resolve(layout, table, anchor, ())
        if isinstance(home, str) and (anchor.scope, anchor.column) != (PREVIOUS_ROW, column):
            yield home, anchor.column
    if how.next is not None:
        yield table, how.next
    if how.total is not None and how.total[2] is not None:
        yield how.total[1], how.total[2]


def _circles(layout: Layout) -> Iterator[Fault]:
    """Every circle of anchors and determined columns, within a row or from row to row."""
    columns = {(table, column): described for table, column, described, _ in layout.described_columns}
    graph = {node: {n for n in _needs(layout, *node, described) if n in columns} for node, described in columns.items()}
    while loop := circle_in(graph):
        if len(loop) > 2 or columns[loop[0]].determined is not None:
            one_table = len({table for table, _ in loop}) == 1
            shown = [column if one_table else f"{table}.{column}" for table, column in loop]
            what = f"these depend on each other: {' → '.join(shown)}"
            remedy = "One of them has to stand on its own: give it bounds instead of an anchor"
            if any(columns[node].determined is not None for node in loop):
                remedy = "One of them has to stand on its own; only a column's own previous value may lead back to it"
            yield Fault(("tables", loop[0][0], "columns", loop[0][1]), what, remedy)
        for before, after in pairwise(loop):
            graph[after] = graph[after] - {before}


def find_formula(layout: Layout, table: str, column: str, described: Column, how: Determined, path: Path) -> Iterator[Fault]:
    """Faults of `copy_of`, `expression`, `when` and `first`."""
    if how.copy_of is not None or how.expression is not None:
        result = Formula(copy_of=how.copy_of, expression=how.expression)
        yield from _result(layout, table, column, described, result, path)
    for number, case in enumerate(how.when or ()):
        here: Path = (*path, "when", number)
        try:
            condition = parse_condition(case.if_)
        except ValueError as error:
            yield Fault((*here, "if"), f"the condition {error}", "Mend it there")
        else:
            yield from _condition(layout, table, condition, (*here, "if"))
        yield from _result(layout, table, column, described, case.then, (*here, "then"))
    if how.when is not None:
        yield from _result(layout, table, column, described, how.else_, (*path, "else"))
    yield from _first_row(layout, table, column, described, how, path)


def _first_row(layout: Layout, table: str, column: str, described: Column, how: Determined, path: Path) -> Iterator[Fault]:
    """What looks at the previous row says what the first one has."""
    try:
        back = how.looks_back(layout.columns(table))
        missing = any(Anchor.parse(text).scope == PREVIOUS_ROW for result in how.results for text in _bare(result))
    except ValueError:
        return  # told already
    if how.first is not None and not back:
        what = "`first` is about the first row of a sequence, and nothing here looks at the previous one"
        yield Fault((*path, "first"), what, "Write previous.column where it is meant, or remove `first`")
    elif how.first is not None:
        yield from _result(layout, table, column, described, how.begins, (*path, "first"))
        if isinstance(how.begins, Formula) and any(Anchor.parse(text).scope == PREVIOUS_ROW for text in _bare(how.begins)):
            yield Fault((*path, "first"), "the first row has no previous one", "Write a column of the row, or a constant")
    elif missing and not described.nullable and layout.is_sequence(table):
        what = "the first row of a sequence has no previous one, so it is NULL there"
        remedy = "Write `first:` (a constant, or a column of that row), or `nullable: true` for this column"
        yield Fault((*path, "first"), what, remedy)


def _bare(result: Formula) -> Sequence[str]:
    """What makes a result NULL where it is NULL itself."""
    return (result.copy_of,) if result.copy_of is not None else parse_expression(result.expression or "0").bare


def _result(
    layout: Layout, table: str, column: str, described: Column, result: Value | Formula | None, path: Path
) -> Iterator[Fault]:
    """A constant that the column can have, or something that is worked out."""
    if isinstance(result, Formula):
        inside = path if path[-1] == "first" else (*path, "copy_of" if result.copy_of is not None else "expression")
        if result.copy_of is not None:
            home = resolve(layout, table, Anchor.parse(result.copy_of), inside)
            yield from [home] if isinstance(home, Fault) else []
        if result.expression is not None:
            yield from _expression(layout, table, column, described, result.expression, inside)
    elif result is None:
        if not described.nullable and path[-1] != "first":
            remedy = f"Write a result here, or `nullable: true` for {column}"
            yield Fault(path, f"it is NULL here, and {column} is not nullable", remedy)
    elif (why := _no_constant(result, described)) is not None:
        remedy = "Write a value that it can have, {copy_of: column}, or {expression: arithmetic}"
        yield Fault(path, f"{column} {why}", remedy)


def _no_constant(value: Value, described: AnyColumn) -> str | None:
    """Why a column cannot have a constant."""
    if isinstance(described, Ordinal):
        if canonical(value) in map(canonical, described.specials):
            return "has special values among numbers, which are no results"
        if not isinstance(described, Quantity) and not described.has_day:
            return f"is a {described.type}, which has no constants here"
    elif not isinstance(described, Listed) and described.type != "text":
        return f"is a {described.type}, which has no constants"
    return described.never(value)


def _expression(layout: Layout, table: str, column: str, described: Column, text: str, path: Path) -> Iterator[Fault]:
    if described.order != "number":
        what = f"arithmetic gives a number, but {column} is a {described.type}"
        yield Fault(path, what, "Write `type: number` or `type: integer`")
    try:
        expression = parse_expression(text)
    except ValueError as error:
        over = "over columns of the row, previous.column or parent.column"
        remedy = f"Write arithmetic (+ - * / // % **) {over}, and {listed(FUNCTIONS)}"
        yield Fault(path, f"{text}: {error}", remedy)
        return
    yield from _numbers(layout, table, column, expression, path)
    for condition in expression.conditions:
        yield from _condition(layout, table, condition, path)


def _numbers(layout: Layout, table: str, column: str, expression: Expression, path: Path) -> Iterator[Fault]:
    for name in expression.names:
        anchor = Anchor.parse(name)
        home = table if anchor.scope == SAME_ROW else resolve(layout, table, anchor, path)
        if isinstance(home, Fault):
            yield home
            continue
        known = layout.columns(home)
        numbers = [c for c, d in known.items() if d is not None and (d.order == "number" or not d.settled)]
        if home == table and anchor.scope == SAME_ROW:
            numbers = [number for number in numbers if number != column]
        if anchor.column not in known:
            yield no_column(path, anchor.column, home, numbers, also=f"; functions: {listed(FUNCTIONS)}")
        elif anchor.column not in numbers and (home, anchor.column) != (table, column):
            other = known[anchor.column]
            what = f"{name} is a {other.type if other is not None else 'key or reference'}, not a number"
            yield Fault(path, what, f"Use one of {listed(numbers)}; the time between two others is `elapsed`")


def _condition(layout: Layout, table: str, condition: Condition, path: Path) -> Iterator[Fault]:
    for test in comparisons_in(condition):
        anchor = tested_anchor(test.column, layout.columns(table))
        home = resolve(layout, table, anchor, path)
        if isinstance(home, Fault):
            yield home
            continue
        described = layout.columns(home)[anchor.column]
        if described is None or not described.kept:
            what = f"{test.column} is {'a key or reference' if described is None else 'free text'}, which cannot be tested"
            fitting = [c for c, d in layout.columns(home).items() if d is not None and d.kept]
            yield Fault(path, what, f"Name one of {listed(fitting)}")
        elif described.settled and (why := cannot_be_asked(test, described)) is not None:
            yield Fault(path, *why)
