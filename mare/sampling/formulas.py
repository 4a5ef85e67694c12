"""Copies, expressions and cases of determined columns: worked out for whole columns, or along sequences.

Expressions are a closed set of operations; nothing is ever run. NULL propagates, and whatever is no number (a division by zero,
the root of a negative number) is NULL too.

What looks at a column's own value in the row before is worked out position by position, for all sequences at once, and each
value is rounded as it comes out before the next one looks at it: a balance is the sum of what is written, to the last digit.

`total`: the rows of a table below, taken together for each row above: how many there are, their sum, the first of them. All
rows of an entity stand in one chunk, so whatever belongs to a row is there. Rows that were dropped do not count.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from mare.codec.building_ordinal import named_table
from mare.codec.category import canonical
from mare.codec.ticks import Mask, microseconds, null_mask
from mare.errors import InternalError
from mare.relational.conditions_met import judged
from mare.relational.placing import NOWHERE, Index
from mare.schema import Schema
from mare.schema.columns import AnyColumn, Column, Listed, Ordinal, Quantity
from mare.schema.columns.ticks import TimeTicks
from mare.schema.condition_grammar import Condition, comparisons_in, parse_condition
from mare.schema.determined import (
    CHOICE,
    PREVIOUS_ROW,
    SAME_ROW,
    Anchor,
    Determined,
    Expression,
    Formula,
    named,
    parse_expression,
    tested_anchor,
)
from mare.schema.strict import Value

from .run import by_position
from .storing import as_text, shaped, take

if TYPE_CHECKING:
    from .writing import ChunkValues


Numbers = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class NumberColumn:
    """Numbers, and where they are NULL."""

    values: Numbers
    nulls: Mask


_BINARY: dict[type, Callable[[Numbers, Numbers], Numbers]] = {
    ast.Add: np.add,
    ast.Sub: np.subtract,
    ast.Mult: np.multiply,
    ast.Div: np.divide,
    ast.FloorDiv: np.floor_divide,
    ast.Mod: np.mod,
    ast.Pow: np.power,
}
_UNARY: dict[str, Callable[[Numbers], Numbers]] = {
    "abs": np.abs,
    "floor": np.floor,
    "ceil": np.ceil,
    "exp": np.exp,
    "sqrt": np.sqrt,
}


def evaluate(expression: Expression, rows: _Rows) -> NumberColumn:
    """The value of an expression for each row."""
    with np.errstate(all="ignore"):
        return _finite(_value(expression.body, expression, rows))


def _value(node: ast.expr, expression: Expression, rows: _Rows) -> NumberColumn:
    def value(part: ast.expr) -> NumberColumn:
        return _value(part, expression, rows)

    if (name := named(node)) is not None:
        return rows.number(name)
    match node:
        case ast.Constant(value=int() | float() as number):
            return NumberColumn(np.full(rows.rows, float(number)), np.zeros(rows.rows, dtype=np.bool_))
        case ast.UnaryOp(op=ast.USub(), operand=inner):
            column = value(inner)
            return NumberColumn(-column.values, column.nulls)
        case ast.UnaryOp(op=ast.UAdd(), operand=inner):
            return value(inner)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _BINARY:
            a, b = value(left), value(right)
            return _finite(NumberColumn(_BINARY[type(op)](a.values, b.values), a.nulls | b.nulls))
        case ast.Call(func=ast.Name(id=called), args=[ast.Constant(value=int() as number), yes, no]) if called == CHOICE:
            a, b, true = value(yes), value(no), rows.holds(expression.conditions[number])
            return NumberColumn(np.where(true, a.values, b.values), np.where(true, a.nulls, b.nulls))
        case ast.Call(func=ast.Name(id=called), args=arguments):
            return _finite(_call(called, [value(argument) for argument in arguments]))
    raise InternalError(f"an expression holds {type(node).__name__}, which the schema's checks do not let pass")


def _finite(column: NumberColumn) -> NumberColumn:
    """What is no number is NULL from here on, so that coalesce sees it."""
    return NumberColumn(column.values, column.nulls | ~np.isfinite(column.values))


def _call(name: str, given: list[NumberColumn]) -> NumberColumn:
    if not given:
        raise InternalError(f"an expression calls {name} with nothing")
    first, nulls = given[0], np.logical_or.reduce([column.nulls for column in given])
    if name in _UNARY:
        return NumberColumn(_UNARY[name](first.values), first.nulls)
    if name == "log":
        base = np.log(given[1].values) if len(given) > 1 else 1.0
        return NumberColumn(np.log(first.values) / base, nulls)
    if name == "round":
        digits = given[1].values if len(given) > 1 else np.zeros(len(first.values))
        scale = np.power(10.0, np.rint(digits))
        return NumberColumn(np.rint(first.values * scale) / scale, nulls)
    if name in ("min", "max"):
        pick = np.minimum if name == "min" else np.maximum
        return NumberColumn(pick.reduce([column.values for column in given]), nulls)
    if name == "coalesce":
        values, missing = first.values.copy(), first.nulls.copy()
        for other in given[1:]:
            values = np.where(missing, other.values, values)
            missing = missing & other.nulls
        return NumberColumn(values, missing)
    raise InternalError(f"an expression calls {name}, which the schema's checks do not let pass")


@dataclass(frozen=True, eq=False)
class Formulas:
    """One determined column of one chunk."""

    block: ChunkValues
    schema: Schema
    table: str
    name: str
    column: Column
    how: Determined
    _gathered: dict[tuple[Anchor, bool], pa.Array] = field(default_factory=dict)
    _numbers: dict[Anchor, NumberColumn] = field(default_factory=dict)
    _truths: dict[Condition, Mask] = field(default_factory=dict)

    def values(self) -> pa.Array:
        anchors = self.how.looks_at(self._own)
        if all(anchor.scope != PREVIOUS_ROW for anchor in anchors):
            return self._worked_out(self.how, _Rows(self, None, None))
        parts: list[pa.Array] = []
        one_by_one = any(self.is_own_past(anchor) for anchor in anchors)
        steps = self._steps(one_by_one)
        written = np.full(self.block.rows(self.table), NOWHERE, dtype=np.int64)
        for number, at in enumerate(steps):
            before = parts[-1].take(pa.array(written[self.before[at]])) if number and one_by_one else None
            rows = _Rows(self, at, before)
            begins = number == 0 and self.how.first is not None
            result = self._result(self.how.begins, rows) if begins else self._worked_out(self.how, rows)
            parts.append(shaped(self._common(result), self.column))
            written[at] = np.arange(len(at))
        order = np.concatenate(steps)
        places = np.full(self.block.rows(self.table), NOWHERE, dtype=np.int64)
        places[order] = np.arange(len(order))
        return take(pa.concat_arrays(parts), places)

    def _steps(self, one_by_one: bool) -> Sequence[Index]:
        """The rows that stay: the first of every sequence, then the others, all at once or position by position."""
        living = self.block.living(self.table)
        position = self.block.position(self.table)[living]
        if one_by_one and len(living):
            return [living[step] for step in by_position(position)]
        return [living[position == 0], living[position > 0]]

    @cached_property
    def before(self) -> Index:
        """Of each row, the one before it in its sequence, or `NOWHERE`."""
        here, there = self.block.successive(self.table)
        before = np.full(self.block.rows(self.table), NOWHERE, dtype=np.int64)
        before[there] = here
        return before

    @cached_property
    def _own(self) -> dict[str, Column]:
        return self.schema.tables[self.table].columns

    def anchor(self, text: str) -> Anchor:
        return tested_anchor(text, self._own)

    def described(self, anchor: Anchor) -> AnyColumn:
        return self.schema.tables[self._home(anchor)].columns[anchor.column]

    def _home(self, anchor: Anchor) -> str:
        here = anchor.scope in (SAME_ROW, PREVIOUS_ROW)
        return self.table if here else named_table(self.schema, self.table, anchor.scope)

    def is_own_past(self, anchor: Anchor) -> bool:
        return anchor == Anchor(PREVIOUS_ROW, self.name)

    def gathered(self, anchor: Anchor, *, quantities: bool) -> pa.Array:
        """What all rows of the table see of a column, be it their own, of the row before or of a row above."""
        at = (anchor, quantities)
        if at not in self._gathered:
            self._gathered[at] = self._gather(anchor, quantities)
        return self._gathered[at]

    def _gather(self, anchor: Anchor, quantities: bool) -> pa.Array:
        home = self._home(anchor)
        values = quantities_of(self.block, home, anchor.column) if quantities else self.block.column(home, anchor.column)
        if anchor.scope == SAME_ROW:
            return values
        if anchor.scope == PREVIOUS_ROW:
            return take(values, self.before)
        rows = np.arange(self.block.rows(self.table), dtype=np.int64)
        return values.take(pa.array(self.block.placed.climb(rows, self.table, home)))

    def numbers(self, anchor: Anchor) -> NumberColumn:
        if anchor not in self._numbers:
            self._numbers[anchor] = as_numbers(self.gathered(anchor, quantities=True))
        return self._numbers[anchor]

    def truth(self, condition: Condition) -> Mask:
        """Where a condition holds, of all rows."""
        if condition not in self._truths:
            self._truths[condition] = judged(condition, _Rows(self, None, None)).true
        return self._truths[condition]

    @cached_property
    def _parsed(self) -> dict[str, Expression]:
        return {f.expression: parse_expression(f.expression) for f in self.how.results if f.expression is not None}

    @cached_property
    def _cases(self) -> list[tuple[Condition, Value | Formula | None]]:
        return [(parse_condition(case.if_), case.then) for case in self.how.when or ()]

    # ---- results

    def _worked_out(self, how: Determined, rows: _Rows) -> pa.Array:
        if how.when is None:
            return self._result(Formula(copy_of=how.copy_of, expression=how.expression), rows)
        result = self._common(self._result(how.else_, rows))
        for condition, then in reversed(self._cases):
            result = pc.if_else(pa.array(rows.holds(condition)), self._common(self._result(then, rows)), result)
        return result

    def _result(self, result: Value | Formula | None, rows: _Rows) -> pa.Array:
        if result is None:
            return pa.nulls(rows.rows)
        if not isinstance(result, Formula):
            return pa.repeat(self._constant(result), rows.rows)
        if result.copy_of is not None:
            anchor = Anchor.parse(result.copy_of)
            number = isinstance(self.column, Quantity) and self.how.copy_of is None
            return rows.seen(anchor, quantities=number)
        column = evaluate(self._parsed[result.expression or ""], rows)
        return pa.array(np.where(column.nulls, 0.0, column.values), type=pa.float64(), mask=column.nulls)

    def _constant(self, value: Value) -> pa.Scalar:
        column = self.column
        if isinstance(column, Quantity):
            return pa.scalar(float(value))
        if isinstance(column, Ordinal):
            return pa.scalar(int(column.compared(value)), pa.int64()).cast(pa.timestamp("us"))
        meant = column.meant(value) if isinstance(column, Listed) else value
        return pa.scalar(canonical(value if meant is None else meant))

    def _common(self, values: pa.Array) -> pa.Array:
        """One type for the results of all cases."""
        if isinstance(self.column, Quantity):
            numeric = pa.types.is_null(values.type) or pa.types.is_integer(values.type) or pa.types.is_floating(values.type)
            return values.cast(pa.float64(), safe=False) if numeric else values
        if self.column.has_day:
            return values.cast(pa.timestamp("us"), safe=False)
        if isinstance(self.column, Ordinal):
            ticks = self.column.ticks()
            wanted = pa.type_for_alias(ticks.arrow) if isinstance(ticks, TimeTicks) else values.type
            return values.cast(wanted) if pa.types.is_null(values.type) else values
        return values.cast(pa.string()) if pa.types.is_null(values.type) else as_text(values, self.column)


@dataclass(frozen=True, eq=False)
class _Rows:
    """Some rows of the table (None: all of them), as expressions and conditions look at them."""

    of: Formulas
    at: Index | None
    before: pa.Array | None
    """The column's own values in the rows before; None where there are none."""

    @property
    def rows(self) -> int:
        return self.of.block.rows(self.of.table) if self.at is None else len(self.at)

    def seen(self, anchor: Anchor, *, quantities: bool) -> pa.Array:
        if self.of.is_own_past(anchor):
            return pa.nulls(self.rows) if self.before is None else self.before
        values = self.of.gathered(anchor, quantities=quantities)
        return values if self.at is None else values.take(pa.array(self.at))

    # ---- for conditions

    def described(self, column: str) -> AnyColumn:
        return self.of.described(self.of.anchor(column))

    def held(self, column: str) -> pa.Array:
        return self.seen(self.of.anchor(column), quantities=False)

    def quantities(self, column: str) -> pa.Array:
        return self.seen(self.of.anchor(column), quantities=True)

    def holds(self, condition: Condition) -> Mask:
        if any(self.of.is_own_past(self.of.anchor(test.column)) for test in comparisons_in(condition)):
            return judged(condition, self).true
        truth = self.of.truth(condition)
        return truth if self.at is None else truth[self.at]

    # ---- for expressions

    def number(self, name: str) -> NumberColumn:
        anchor = Anchor.parse(name)
        if self.of.is_own_past(anchor):
            return as_numbers(self.seen(anchor, quantities=True))
        column = self.of.numbers(anchor)
        return column if self.at is None else NumberColumn(column.values[self.at], column.nulls[self.at])


def as_numbers(values: pa.Array) -> NumberColumn:
    doubles = values.cast(pa.float64(), safe=False)
    return NumberColumn(np.asarray(doubles.fill_null(0.0), dtype=np.float64), null_mask(doubles))


def quantities_of(block: ChunkValues, table: str, column: str) -> pa.Array:
    """The values of a column, with special values as NULL: they are no quantities."""
    known = block.decoded(table).quantities.get(column)
    return block.column(table, column) if known is None else known


def total(block: ChunkValues, table: str, how: str, below: str, column: str | None) -> pa.Array:
    """For each row of a table, the rows of one below it in one value. NULLs do not count."""
    rows, above = block.living(below), block.rows(table)
    under = block.placed.climb(rows, below, table)
    if how == "count" or column is None:
        return pa.array(np.bincount(under, minlength=above).astype(np.int64))
    if how in ("first_of", "last_of"):
        return _picked(block.column(below, column), rows, under, above, last=how == "last_of")
    values = quantities_of(block, below, column)
    there = ~null_mask(values)[rows]
    rows, under = rows[there], under[there]
    if how in ("min", "max"):
        order = np.lexsort((_comparable(values)[rows], under))
        return _picked(values, rows[order], under[order], above, last=how == "max")
    sums = np.bincount(under, weights=_comparable(values)[rows], minlength=above)
    if how == "sum":
        return pa.array(sums)
    numbers = np.bincount(under, minlength=above)
    return pa.array(sums / np.maximum(numbers, 1), mask=numbers == 0)


def _picked(values: pa.Array, rows: Index, under: Index, above: int, *, last: bool) -> pa.Array:
    """The value in the first or the last of the rows under each row above; NULL where there is none."""
    order = np.argsort(under, kind="stable")
    at = np.full(above, NOWHERE, dtype=np.int64)
    chosen = order if last else order[::-1]
    at[under[chosen]] = rows[chosen]  # of several, the one that is written last stays
    return take(values, at)


def _comparable(values: pa.Array) -> np.ndarray:
    """Numbers as they are, times in microseconds; zero where there is none."""
    if pa.types.is_temporal(values.type):
        return microseconds(values)
    return np.asarray(values.cast(pa.float64(), safe=False).fill_null(0.0), dtype=np.float64)
