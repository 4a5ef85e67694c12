"""Expressions, cases and conditions of determined columns: what they name is there, and of the type that they need."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from mare.schema.columns import AnyColumn, Column, Listed, Ordinal, Quantity
from mare.schema.columns.category import canonical
from mare.schema.condition_grammar import Condition, comparisons_in, parse_condition
from mare.schema.conditions import cannot_be_asked, never
from mare.schema.determined import Determined, Formula, tested_anchor
from mare.schema.expressions import FUNCTIONS, Expression, parse_expression
from mare.schema.faults import Fault, Path
from mare.schema.layout import Layout
from mare.schema.relative import PREVIOUS_ROW, SAME_ROW, Anchor
from mare.schema.strict import Value
from mare.schema.wording import listed, no_column

from .anchors import resolve


def find_formula(layout: Layout, table: str, column: str, described: Column, how: Determined, path: Path) -> Iterator[Fault]:
    """Faults of `copy_of`, `expression`, `when` and `first`."""
    if how.copy_of is not None or how.expression is not None:
        result = Formula(copy_of=how.copy_of, expression=how.expression)
        yield from _result(layout, table, column, described, result, path)
    for number, case in enumerate(how.when or ()):
        here: Path = (*path, "when", number)
        yield from _case(layout, table, case.if_, (*here, "if"))
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
    return never(value, described)


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


def _case(layout: Layout, table: str, text: str, path: Path) -> Iterator[Fault]:
    try:
        condition = parse_condition(text)
    except ValueError as error:
        yield Fault(path, f"the condition {error}", "Mend it there")
        return
    yield from _condition(layout, table, condition, path)


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
