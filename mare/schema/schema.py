"""`Schema`: what the data is and what is public, as one frozen value."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

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

    @property
    def entity_name(self) -> str | None:
        """The node every private table leads to: a table, or the name of an entity by column."""
        if isinstance(self.entity, EntityByColumn):
            return self.entity.name or self.entity.by
        return self.entity

    @property
    def entity_is_table(self) -> bool:
        return isinstance(self.entity, str)

    def parent_table(self, table: str) -> str | None:
        """The name of the table's parent: another table, the entity by column, or None."""
        link = self.tables[table].parent
        if link is None:
            return None
        if link.table is None and isinstance(self.entity, EntityByColumn) and self.entity.table == table:
            return self.entity_name
        return link.table

    def parent_columns(self, table: str) -> tuple[str, ...]:
        """The foreign key of the table to its parent."""
        link = self.tables[table].parent
        if link is None:
            return ()
        if link.column is None and isinstance(self.entity, EntityByColumn) and self.entity.table == table:
            return (self.entity.by,)
        return link.column or ()
