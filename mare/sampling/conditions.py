"""Conditions, tested on values as they will come out: which of the drawn entities may stay."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import pyarrow as pa

from mare.codec import TableCodec
from mare.codec.building import ValueCodec
from mare.codec.category import CodeCodec, canonical
from mare.codec.ticks import Mask
from mare.errors import PlanError
from mare.relational.conditions_met import judged
from mare.relational.filling import Modelled, WorkedOut, fillings
from mare.schema import Schema
from mare.schema.columns import AnyColumn, Listed
from mare.schema.condition_grammar import (
    Condition,
    Joined,
    Not,
    NotACondition,
    Value,
    cannot_be_asked,
    comparisons_in,
    parse_condition,
    values_of,
)
from mare.schema.determined import SAME_ROW
from mare.schema.faults import listed

if TYPE_CHECKING:
    from .writing import ChunkValues


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
    names = {test.column: _column_name(test.column, table, known) for test in comparisons_in(parsed)}
    settled = _renamed(parsed, names)
    for test in comparisons_in(settled):
        described, where = known[test.column], f"{table}.{test.column}"
        if (why := cannot_be_asked(test, described)) is not None:
            raise PlanError(f"--where: {table}.{why[0]}. {why[1]}.")
        for value in values_of(test):
            _check_learned(value, where, described, None if codec is None else codec.columns.get(test.column))
    return EntityCondition(text, table, settled)


def _waits_for_rows_below(columns: Mapping[str, AnyColumn], name: str) -> bool:
    """Whether a column is known only once the rows of other tables are: too late to choose entities by it."""
    how = columns[name].determined if name in columns else None
    if how is None:
        return False
    own = [anchor.column for anchor in how.looks_at(columns) if anchor.scope == SAME_ROW]
    return how.total is not None or any(_waits_for_rows_below(columns, column) for column in own)


def _renamed(condition: Condition, names: Mapping[str, str]) -> Condition:
    match condition:
        case Not(part):
            return Not(_renamed(part, names))
        case Joined(how, parts):
            return Joined(how, tuple(_renamed(part, names) for part in parts))
        case _:
            return replace(condition, column=names[condition.column])


def _column_name(column: str, table: str, known: Mapping[str, AnyColumn]) -> str:
    names = [name for name in known if name == column] or [name for name in known if name.casefold() == column.casefold()]
    if len(names) != 1:
        listed = ", ".join(known) or "none"
        raise PlanError(f"--where: {column!r} is no column of {table} that a condition can be set on. There are: {listed}.")
    return names[0]


def _check_learned(value: Value, where: str, described: AnyColumn, codec: object) -> None:
    """Refuse a value that was not learned: no entity would ever be found."""
    if isinstance(described, Listed) and isinstance(codec, ValueCodec):
        wanted = canonical(described.meant(value))
        labels = [label for label in codec.labels if label is not None]
        if wanted not in labels and not (isinstance(codec, CodeCodec) and any(wanted in group for group in codec.shared)):
            raise PlanError(f"--where: {where} is never {value!r}. Its values are: {listed(labels)}.")


def impossible(condition: EntityCondition, satisfying: int, wanted: int, tried: int) -> PlanError:
    """Why the search for entities was given up."""
    how_many = "none of them satisfies it" if not satisfying else f"{satisfying:,} of them satisfy it"
    return PlanError(
        f"--where {condition.text}: {tried:,} entities were drawn, and {how_many}; {wanted:,} are wanted. By the release "
        "it hardly ever holds. Widen the condition, or ask for fewer entities."
    )
