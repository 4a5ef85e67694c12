"""Conditions on the columns of an entity, tested on values as they will come out: which of the drawn entities may stay.

NULL is as in SQL: a comparison with it is unknown, and what is unknown does not stay.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mare.codec import TableCodec
from mare.codec.building import ValueCodec
from mare.codec.category import CodeCodec, canonical
from mare.codec.ticks import microseconds, null_mask
from mare.errors import PlanError
from mare.relational.filling import Modelled, WorkedOut, fillings
from mare.schema import Schema
from mare.schema.columns import AnyColumn, Category, Listed, Ordinal

from .condition_grammar import Among, Comparison, Condition, IsNull, Joined, Not, Operator, Value, parse_condition

if TYPE_CHECKING:
    import pyarrow as pa

    from .writing import ChunkValues

Mask = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Truth:
    """What is known to be true, and what is known to be false. The rest is unknown."""

    true: Mask
    false: Mask


@dataclass(frozen=True)
class EntityCondition:
    """A condition on columns of the entity's table, each by the schema's name."""

    text: str
    table: str
    parsed: Condition

    def holds(self, values: ChunkValues) -> Mask:
        """For each entity of a chunk, whether the condition is true."""
        return _judged(self.parsed, values, self.table).true


def entity_condition(text: str, schema: Schema, codec: TableCodec | None = None) -> EntityCondition:
    """The condition that a text says, or an error: about columns that are not there, or values that a column cannot have.

    ``codec`` is that of the entity's table, once it is known: it also knows learned values.
    """
    if not isinstance(schema.entity, str):
        held = "" if schema.entity is None else f" (it is {schema.entity.table}.{schema.entity.by} that tells them apart)"
        raise PlanError(f"--where: the entities have no table of their own{held}, so there is nothing to set a condition on.")
    table, parsed = schema.entity, parse_condition(text)
    filled = fillings(schema, table)
    known = {
        name: column
        for name, column in schema.tables[table].columns.items()
        if isinstance(filled.get(name), Modelled | WorkedOut) and column.kept
    }
    return EntityCondition(text, table, _settled(parsed, table, known, codec or TableCodec(table, {})))


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
            if operator not in ("=", "!=") and not _has_order(known[name]):
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


def _has_order(described: AnyColumn) -> bool:
    if isinstance(described, Category):
        return bool(described.values) and all(
            isinstance(v, int | float) and not isinstance(v, bool) for v in described.values or ()
        )
    return isinstance(described, Ordinal)


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


def _judged(condition: Condition, values: ChunkValues, table: str) -> Truth:
    match condition:
        case Not(part):
            truth = _judged(part, values, table)
            return Truth(truth.false, truth.true)
        case Joined(how, parts):
            every = [_judged(part, values, table) for part in parts]
            all_of, any_of = np.logical_and.reduce, np.logical_or.reduce
            both, either = (all_of, any_of) if how == "and" else (any_of, all_of)
            return Truth(both([t.true for t in every]), either([t.false for t in every]))
        case IsNull(column):
            missing = null_mask(values.column(table, column))
            return Truth(missing, ~missing)
        case Among(column, listed):
            every = [_compared(values, table, column, "=", value) for value in listed]
            return Truth(np.logical_or.reduce([t.true for t in every]), np.logical_and.reduce([t.false for t in every]))
        case Comparison(column, operator, value):
            return _compared(values, table, column, operator, value)


def _compared(values: ChunkValues, table: str, column: str, operator: Operator, value: Value) -> Truth:
    described = values.writer.schema.tables[table].columns[column]
    held = values.column(table, column)
    there = ~null_mask(held)
    if isinstance(described, Ordinal) and canonical(value) not in map(canonical, described.specials):
        quantities = values.decoded(table).quantities.get(column, held)
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
