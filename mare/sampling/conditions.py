"""Conditions, tested on values as they will come out: which of the drawn entities may stay, which case of a column holds.

NULL is as in SQL: a comparison with it is unknown, and what is unknown does not stay.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from mare.codec import TableCodec
from mare.codec.building import ValueCodec
from mare.codec.category import CodeCodec, canonical
from mare.codec.ticks import microseconds, null_mask
from mare.errors import PlanError
from mare.relational.filling import Modelled, WorkedOut, fillings
from mare.schema import Schema
from mare.schema.columns import AnyColumn, Listed, Ordinal
from mare.schema.condition_grammar import (
    Among,
    Comparison,
    Condition,
    IsNull,
    Joined,
    Not,
    NotACondition,
    Operator,
    Value,
    comparisons_in,
    parse_condition,
)
from mare.schema.conditions import has_order
from mare.schema.relative import SAME_ROW

if TYPE_CHECKING:
    import pyarrow as pa

    from .writing import ChunkValues

Mask = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Truth:
    """What is known to be true, and what is known to be false. The rest is unknown."""

    true: Mask
    false: Mask


class Tested(Protocol):
    """The rows that a condition is tested on."""

    def described(self, column: str) -> AnyColumn: ...

    def held(self, column: str) -> pa.Array:
        """The values of a column, one a row."""
        ...

    def quantities(self, column: str) -> pa.Array:
        """The same without special values, which are no quantities: NULL there."""
        ...


@dataclass(frozen=True)
class EntityCondition:
    """A condition on columns of the entity's table, each by the schema's name."""

    text: str
    table: str
    parsed: Condition

    def holds(self, values: ChunkValues) -> Mask:
        """For each entity of a chunk, whether the condition is true."""
        return judged(self.parsed, OwnColumns(values, self.table)).true


@dataclass(frozen=True, eq=False)
class OwnColumns:
    """All rows of one table, by its own columns."""

    values: ChunkValues
    table: str

    def described(self, column: str) -> AnyColumn:
        return self.values.writer.schema.tables[self.table].columns[column]

    def held(self, column: str) -> pa.Array:
        return self.values.column(self.table, column)

    def quantities(self, column: str) -> pa.Array:
        return self.values.decoded(self.table).quantities.get(column, self.held(column))


def entity_condition(text: str, schema: Schema, codec: TableCodec | None = None) -> EntityCondition:
    """The condition that a text says, or an error: about columns that are not there, or values that a column cannot have.

    ``codec`` is that of the entity's table, once it is known: it also knows learned values.
    """
    if not isinstance(schema.entity, str):
        held = "" if schema.entity is None else f" (it is {schema.entity.table}.{schema.entity.by} that tells them apart)"
        raise PlanError(f"--where: the entities have no table of their own{held}, so there is nothing to set a condition on.")
    table = schema.entity
    try:
        parsed = parse_condition(text)
    except NotACondition as error:
        raise PlanError(f"--where {error}") from None
    filled, columns = fillings(schema, table), schema.tables[table].columns
    known = {name: c for name, c in columns.items() if isinstance(filled.get(name), Modelled | WorkedOut) and c.kept}
    for column in {test.column for test in comparisons_in(parsed)}:
        if column in known and _waits_for_rows_below(columns, column):
            raise PlanError(
                f"--where: {table}.{column} is worked out from the rows of other tables, which are drawn once the entities are "
                "chosen. Set the condition on other columns, or choose among the rows that come out."
            )
    return EntityCondition(text, table, _settled(parsed, table, known, codec or TableCodec(table, {})))


def _waits_for_rows_below(columns: Mapping[str, AnyColumn], name: str) -> bool:
    """Whether a column is known only once the rows of other tables are: too late to choose entities by it."""
    how = columns[name].determined if name in columns else None
    if how is None:
        return False
    own = [anchor.column for anchor in how.looks_at(columns) if anchor.scope == SAME_ROW]
    return how.total is not None or any(_waits_for_rows_below(columns, column) for column in own)


def _settled(condition: Condition, table: str, known: Mapping[str, AnyColumn], codec: TableCodec) -> Condition:
    match condition:
        case Not(part):
            return Not(_settled(part, table, known, codec))
        case Joined(how, parts):
            return Joined(how, tuple(_settled(part, table, known, codec) for part in parts))
        case IsNull(column):
            return IsNull(_column_name(column, table, known))
        case Comparison(column, operator, value):
            name = _column_name(column, table, known)
            if operator not in ("=", "!=") and not has_order(known[name]):
                raise PlanError(f"--where: {table}.{name} has no order, so {operator} cannot be asked. Use = != or in.")
            _check_value(value, f"{table}.{name}", known[name], codec.columns.get(name))
            return Comparison(name, operator, value)
        case Among(column, values):
            name = _column_name(column, table, known)
            for value in values:
                _check_value(value, f"{table}.{name}", known[name], codec.columns.get(name))
            return Among(name, values)


def _column_name(column: str, table: str, known: Mapping[str, AnyColumn]) -> str:
    names = [name for name in known if name == column] or [name for name in known if name.casefold() == column.casefold()]
    if len(names) != 1:
        listed = ", ".join(known) or "none"
        raise PlanError(f"--where: {column!r} is no column of {table} that a condition can be set on. There are: {listed}.")
    return names[0]


def _check_value(value: Value, where: str, described: AnyColumn, codec: object) -> None:
    """Refuse a value that the column can never have: no entity would ever be found."""
    if isinstance(described, Ordinal):
        if canonical(value) not in map(canonical, described.specials):
            _quantity(value, where, described)
    elif isinstance(described, Listed):
        wanted = _wanted(value, where, described)
        labels = [label for label in codec.labels if label is not None] if isinstance(codec, ValueCodec) else [wanted]
        shared = isinstance(codec, CodeCodec) and any(wanted in group for group in codec.shared)
        if wanted not in labels and not shared:
            shown = ", ".join(labels[:20]) + (f" and {len(labels) - 20} more" if len(labels) > 20 else "")
            raise PlanError(f"--where: {where} is never {value!r}. Its values are: {shown}.")


def _quantity(value: Value, where: str, described: Ordinal) -> float:
    """A value as something to compare with: a number, or microseconds."""
    try:
        return described.compared(value)
    except ValueError as words:
        raise PlanError(f"--where: {where} {words}; {value!r} is none.") from None


def _wanted(value: Value, where: str, described: Listed) -> str:
    meant = described.meant(value)
    if meant is None:
        raise PlanError(f"--where: {where} is true or false; {value!r} is neither.")
    return canonical(meant)


def judged(condition: Condition, rows: Tested) -> Truth:
    """What is true and what is false of each row."""
    match condition:
        case Not(part):
            truth = judged(part, rows)
            return Truth(truth.false, truth.true)
        case Joined(how, parts):
            every = [judged(part, rows) for part in parts]
            all_of, any_of = np.logical_and.reduce, np.logical_or.reduce
            both, either = (all_of, any_of) if how == "and" else (any_of, all_of)
            return Truth(both([t.true for t in every]), either([t.false for t in every]))
        case IsNull(column):
            missing = null_mask(rows.held(column))
            return Truth(missing, ~missing)
        case Among(column, listed):
            every = [_compared(rows, column, "=", value) for value in listed]
            return Truth(np.logical_or.reduce([t.true for t in every]), np.logical_and.reduce([t.false for t in every]))
        case Comparison(column, operator, value):
            return _compared(rows, column, operator, value)


def _compared(rows: Tested, column: str, operator: Operator, value: Value) -> Truth:
    described, held = rows.described(column), rows.held(column)
    there = ~null_mask(held)
    if isinstance(described, Ordinal) and canonical(value) not in map(canonical, described.specials):
        quantities = rows.quantities(column)
        ordinary = ~null_mask(quantities)
        yes = ordinary & _in_order(quantities, operator, _quantity(value, column, described))
        # A special value is no quantity: it equals none, and whether it is more or less is unknown.
        known = there if operator in ("=", "!=") else ordinary
        if operator == "!=":
            yes = yes | (there & ~ordinary)
        return Truth(yes, known & ~yes)
    if operator not in ("=", "!="):
        yes = there & _in_order(held, operator, float(value))
        return Truth(yes, there & ~yes)
    wanted = _wanted(value, column, described) if isinstance(described, Listed) else canonical(value)
    same = there & _is_text(held, wanted)
    yes = same if operator == "=" else there & ~same
    return Truth(yes, there & ~yes)


def _is_text(values: pa.Array, wanted: str) -> Mask:
    coded = values.dictionary_encode()
    same = np.array([*(canonical(value) == wanted for value in coded.dictionary.to_pylist()), False], dtype=np.bool_)
    return same[np.asarray(coded.indices.fill_null(len(same) - 1), dtype=np.int64)]


def _in_order(values: pa.Array, operator: Operator, other: float) -> Mask:
    import pyarrow as pa

    counted = pa.array(microseconds(values)) if pa.types.is_temporal(values.type) else values
    left = np.asarray(counted.cast(pa.float64(), safe=False).fill_null(0.0), dtype=np.float64)
    return _SIGNS[operator](left, other)


_SIGNS: Mapping[Operator, Callable[[NDArray[np.float64], float], Mask]] = {
    "=": lambda a, b: np.asarray(a == b),
    "!=": lambda a, b: np.asarray(a != b),
    "<": lambda a, b: np.asarray(a < b),
    "<=": lambda a, b: np.asarray(a <= b),
    ">": lambda a, b: np.asarray(a > b),
    ">=": lambda a, b: np.asarray(a >= b),
}


def impossible(condition: EntityCondition, satisfying: int, wanted: int, tried: int) -> PlanError:
    """Why the search for entities was given up."""
    how_many = "none of them satisfies it" if not satisfying else f"{satisfying:,} of them satisfy it"
    return PlanError(
        f"--where {condition.text}: {tried:,} entities were drawn, and {how_many}; {wanted:,} are wanted. By the release "
        "it hardly ever holds. Widen the condition, or ask for fewer entities."
    )
