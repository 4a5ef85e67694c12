"""How each column of an output table gets its values: by a model, from the row above, fresh, or by rule.

Known from the schema alone. The sampler follows it; the fit reads it first, to refuse what cannot come out before any
budget is spent.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from mare.errors import PlanError
from mare.schema import Schema
from mare.schema.columns import Identifier, Position, Text


@dataclass(frozen=True)
class Modelled:
    """Decoded from what the group's model generated."""


@dataclass(frozen=True)
class Fresh:
    """A fresh, unique value: never read from the source."""

    generate: Literal["sequence", "uuid", "pattern"] | None = None
    """None: whatever suits the stored type."""
    start: int = 1
    pattern: str | None = None


@dataclass(frozen=True)
class FromAbove:
    """The value of a column of the row's parent or of a further ancestor."""

    table: str
    column: str


@dataclass(frozen=True)
class Numbered:
    """The position among siblings."""

    start: int


@dataclass(frozen=True)
class Constant:
    """The same for every row; None is NULL."""

    value: str | None


Filling = Modelled | Fresh | FromAbove | Numbered | Constant


def fillings(schema: Schema, table: str) -> dict[str, Filling]:
    """Column → how it is filled, for every column that comes out; or an error that names all that cannot be yet."""
    described = schema.tables[table]
    filled: dict[str, Filling] = {}
    refused: list[str] = []
    for name in described.key or ():
        filled[name] = Fresh()
    for name, column in described.columns.items():
        if name in described.ignore_columns:
            continue
        if column.determined is not None:
            refused.append(f"{table}.{name}: determined columns are not filled in yet")
        elif isinstance(column, Identifier):
            filled[name] = Fresh(column.generate, column.start, column.pattern)
        elif isinstance(column, Position):
            if column.within is not None:
                refused.append(f"{table}.{name}: positions within other columns are not filled in yet")
            filled[name] = Numbered(column.start)
        elif isinstance(column, Text):
            if column.fill == "template":
                refused.append(f"{table}.{name}: text templates are not filled in yet")
            empty = None if column.nullable else ""
            filled[name] = Constant(column.value if column.fill == "constant" else empty)
        else:
            if name in (described.key or ()):
                refused.append(f"{table}.{name}: a modelled part of the key cannot be kept unique yet")
            filled[name] = Modelled()
    _references(schema, table, filled, refused)
    _parent(schema, table, filled, refused)
    if refused:
        listed = "\n".join(f"  - {fault}" for fault in refused)
        raise PlanError(f"this schema can be planned, but not yet fitted:\n{listed}")
    return filled


def _parent(schema: Schema, table: str, filled: dict[str, Filling], refused: list[str]) -> None:
    link, parent = schema.tables[table].parent, schema.parent_table(table)
    if link is None or parent is None:
        return
    if parent not in schema.tables:
        refused.append(f"{table}: an entity by column is not fitted yet")
        return
    if link.type == "associative":
        refused.append(f"{table}: associative tables are not fitted yet")
    if link.history_by is not None:
        refused.append(f"{table}: history_by is not fitted yet")
    if link.orphans == "entity":
        refused.append(f"{table}: orphans as entities of their own are not fitted yet; write orphans: drop")
    referred = link.references or schema.tables[parent].key or ()
    foreign = schema.parent_columns(table)
    if len(foreign) != len(referred):
        refused.append(f"{table}: its foreign key ({', '.join(foreign)}) does not match the key of {parent}")
    for name, column in zip(foreign, referred, strict=False):
        filled[name] = FromAbove(parent, column)


def _references(schema: Schema, table: str, filled: dict[str, Filling], refused: list[str]) -> None:
    described = schema.tables[table]
    for name, reference in described.references.items():
        columns = described.reference_columns(name)
        if reference.kind == "ancestor":
            referred = reference.column or schema.tables[reference.table].key or ()
            for column, other in zip(columns, referred, strict=False):
                filled[column] = FromAbove(reference.table, other)
        elif reference.kind == "broken" or (reference.kind == "other_entity" and reference.fill == "none"):
            for column in columns:
                filled[column] = Constant(None)
        else:
            refused.append(f"{table}.{name}: references of kind {reference.kind} are not fitted yet")
