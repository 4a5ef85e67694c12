"""`Schema`: what the data is and what is public, as one frozen value."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from pydantic import BaseModel, Field

from .columns import Column, Identifier
from .faults import Path
from .links import Parent
from .strict import Strict
from .table import ModelChoice, Table


class EntityByColumn(Strict):
    """An entity that no table holds: rows of `table` with the same value of `by` belong together."""

    table: str
    """The table that names the entity."""
    by: str
    """The column that tells entities apart (`uniquepid`)."""
    name: str | None = None
    """What the entity is called as a parent; the column's name unless said."""
    rows: int | None = Field(None, ge=1)
    """Roughly how many entities there are, if that is public: for the preview."""


class Schema(Strict):
    """The whole file. Structure is valid once built; `mare.schema.checks` finds what it contradicts or leaves open."""

    mare: Literal[1]
    """Version of the schema language."""
    name: str | None = None
    """Short name of the dataset."""
    description: str | None = None
    """For people: the shape and licence of the data."""
    entity: str | EntityByColumn | None = None
    """The privacy unit: a table, or a column where no table holds it."""
    model: ModelChoice | None = None
    """The default model of all groups."""
    allocation: Literal["balanced", "paper", "error"] = "balanced"
    """How the budget is split between groups: by columns, history and rows (`paper`), half so and half in equal parts
    (`balanced`), or by the noise to expect (`error`)."""
    tables: dict[str, Table]
    """All tables, also the public and the ignored ones."""

    # The fields are what is written. Whoever asks `table` and `parent` meets an entity by column as any other entity: a table
    # with a key, and the parent of the table that tells it apart.

    @property
    def entity_name(self) -> str | None:
        """The node every private table leads to: a table, or the name of an entity by column."""
        if isinstance(self.entity, EntityByColumn):
            return self.entity.name or self.entity.by
        return self.entity

    @property
    def entity_holder(self) -> str | None:
        """Where no table holds the entities: the table whose rows tell them apart. They are not stored, and not written."""
        return self.entity.table if isinstance(self.entity, EntityByColumn) else None

    def by_column(self, table: str) -> EntityByColumn | None:
        """The entity by column, when this is the table that tells it apart."""
        return self.entity if isinstance(self.entity, EntityByColumn) and self.entity.table == table else None

    def table(self, name: str) -> Table:
        """A table by its name. An entity by column has one too: its key, described as in the table that tells it apart."""
        entity = self.entity
        if name in self.tables or not isinstance(entity, EntityByColumn) or name != self.entity_name:
            return self.tables[name]
        described = self.tables[entity.table].columns.get(entity.by)
        columns: dict[str, Column] = {}
        if isinstance(described, Identifier):
            columns[entity.by] = described.model_copy(update={"determined": None})
        return Table.model_construct(key=(entity.by,), rows=entity.rows, columns=columns)

    def parent(self, table: str) -> Parent | None:
        """The table's link to its parent, with what goes without saying of an entity by column."""
        link, entity = self.table(table).parent, self.by_column(table)
        if entity is not None:
            link = link or Parent()
            link = link.model_copy(update={"table": link.table or self.entity_name, "column": link.column or (entity.by,)})
        if link is not None and link.references and self.entity_holder is not None and link.table == self.entity_name:
            return link.model_copy(update={"references": None})
        return link

    def parent_columns(self, table: str) -> tuple[str, ...]:
        """The foreign key of the table to its parent."""
        link = self.parent(table)
        return (link.column or ()) if link is not None else ()


def peeked_paths(schema: Schema) -> tuple[Path, ...]:
    """Every place that carries the mark `peeked: true`. `plan` warns of them, `fit` refuses them."""
    return tuple(_peeked(schema, ()))


def _peeked(value: object, path: Path) -> Iterator[Path]:
    if isinstance(value, BaseModel):
        if getattr(value, "peeked", False):
            yield path
        for name in type(value).model_fields:
            yield from _peeked(getattr(value, name), (*path, name))
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from _peeked(item, (*path, key if isinstance(key, int) else str(key)))
