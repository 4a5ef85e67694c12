"""Conditions, tested on values as they will come out: which of the drawn entities may stay."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from mare.codec import TableCodec
from mare.codec.building import ValueCodec
from mare.codec.category import CodeCodec, canonical
from mare.errors import PlanError
from mare.relational.filling import Modelled, WorkedOut, fillings
from mare.relational.judging import judged, quantity, wanted_text
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
    Value,
    comparisons_in,
    parse_condition,
)
from mare.schema.relative import SAME_ROW

if TYPE_CHECKING:
    from .writing import ChunkValues

Mask = NDArray[np.bool_]


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
            if operator not in ("=", "!=") and not known[name].has_order:
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
            quantity(value, where, described)
    elif isinstance(described, Listed):
        wanted = wanted_text(value, where, described)
        labels = [label for label in codec.labels if label is not None] if isinstance(codec, ValueCodec) else [wanted]
        shared = isinstance(codec, CodeCodec) and any(wanted in group for group in codec.shared)
        if wanted not in labels and not shared:
            shown = ", ".join(labels[:20]) + (f" and {len(labels) - 20} more" if len(labels) > 20 else "")
            raise PlanError(f"--where: {where} is never {value!r}. Its values are: {shown}.")


def impossible(condition: EntityCondition, satisfying: int, wanted: int, tried: int) -> PlanError:
    """Why the search for entities was given up."""
    how_many = "none of them satisfies it" if not satisfying else f"{satisfying:,} of them satisfy it"
    return PlanError(
        f"--where {condition.text}: {tried:,} entities were drawn, and {how_many}; {wanted:,} are wanted. By the release "
        "it hardly ever holds. Widen the condition, or ask for fewer entities."
    )
