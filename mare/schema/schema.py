"""`Schema`: what the data is and what is public, as one frozen value, table by table."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from pydantic import BaseModel, Field, SerializerFunctionWrapHandler, model_serializer, model_validator

from .columns import Column, Identifier
from .faults import Path
from .links import Ends, Parent, Reference
from .said_once import Calendar, Reading, said_in_columns
from .strict import Names, Strict, Value


class ModelChoice(Strict):
    """A model by name, with its options. A name alone may stand for it."""

    name: str
    """As `mare models` lists it."""
    options: dict[str, Value | None] = {}
    """The model's own options."""

    @model_validator(mode="before")
    @classmethod
    def _name_alone(cls, value: object) -> object:
        return {"name": value} if isinstance(value, str) else value

    @model_serializer(mode="wrap")
    def _written(self, handler: SerializerFunctionWrapHandler) -> object:
        return handler(self) if self.options else self.name


class GroupModels(Strict):
    """A model per column group, where one for the table is not enough."""

    context: ModelChoice | None = None
    """The model of the context: number of children, shared values, unrolled associations."""
    rows: ModelChoice | None = None
    """The model of the rows."""


class Pool(Strict):
    """A staff-like table: fresh rows, drawn from declared domains, nothing learned."""

    rows: int = Field(ge=1)
    """How many, at most: a sample that refers to fewer has fewer."""


_ANCHORED = ("after", "before", "during", "around", "determined", "copy_of", "part", "of", "elapsed", "since", "until")
"""Fields of a column that hold an anchor, or hold what does."""


def _with_dots(written: object, dotted: set[str]) -> object:
    if isinstance(written, str):
        return f".{written}" if written in dotted else written
    if isinstance(written, list | tuple):
        return [_with_dots(item, dotted) for item in written]
    if isinstance(written, dict):
        return {field: _with_dots(value, dotted) if field in _ANCHORED else value for field, value in written.items()}
    return written


class Table(Strict):
    """One table. Exactly one of: entity, private (with a parent), owned, pool, public, ignored."""

    description: str | None = None
    """For people."""
    public: bool = False
    """Kept verbatim: a vocabulary that holds nothing about anybody."""
    ignore: bool = False
    """Left out altogether."""
    pool: Pool | None = None
    """A staff-like pool."""
    rows: int | None = Field(None, ge=1)
    """Roughly how many rows there are, if that is public: for the preview, and the size of a public vocabulary."""
    key: Names | None = None
    """The primary key. A key column that is not described is an identifier and is regenerated."""
    unique: tuple[Names, ...] = ()
    """Further sets of columns that are unique."""
    parent: Parent | None = None
    """Whom the rows belong to."""
    ends: Ends | None = None
    """Of a sequence: when a row is its last (a death)."""
    reading: Reading | None = None
    """How the source writes the values of this table: decimal commas, formats of dates, words for NULL."""
    columns: dict[str, Column] = {}
    """The columns, in order. Foreign keys and keys need not be listed."""
    references: dict[str, Reference] = {}
    """References beyond the parent, by column (or by any name, with `columns`)."""
    ignore_columns: tuple[str, ...] = ()
    """Columns that are left out."""
    sees: tuple[str, ...] = ()
    """Earlier siblings that this table looks at (drugs follow diagnoses): their context, and the row beside its own."""
    model: ModelChoice | None = None
    """The model of this table's groups."""
    models: GroupModels | None = None
    """A model per group."""

    @model_validator(mode="before")
    @classmethod
    def _own_columns_with_dots(cls, value: object) -> object:
        """An anchor that is the name of a column here, dots and all, is that column: `.a.b` says so from now on."""
        columns = value.get("columns") if isinstance(value, dict) else None
        dotted = {name for name in columns if isinstance(name, str) and "." in name} if isinstance(columns, dict) else set()
        if not dotted or not isinstance(value, dict) or not isinstance(columns, dict):
            return value
        return {**value, "columns": {name: _with_dots(fields, dotted) for name, fields in columns.items()}}

    def reference_columns(self, name: str) -> tuple[str, ...]:
        """The columns of this table that make up the named reference."""
        return self.references[name].columns or (name,)

    def reference_of(self, column: str) -> str | None:
        """The name of the reference that this column is part of."""
        return next((name for name in self.references if column in self.reference_columns(name)), None)

    def drawn_reference(self, name: str) -> Reference | None:
        """The reference that a model draws under this name: its own, or a column's of one that is drawn column by column."""
        if name in self.references:
            return self.references[name]
        of = (link for label, link in self.references.items() if name in self.reference_columns(label))
        return next((link for link in of if link.kind == "public"), None)

    @property
    def unique_sets(self) -> tuple[tuple[str, ...], ...]:
        """Sets of columns that no two rows share: the key, and what else is unique."""
        return tuple(names for names in (self.key or (), *self.unique) if names)


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
    calendar: Calendar | None = None
    """Between which days everything happens: bounds of every date and datetime without `min`, `max` or `learn` of its own."""
    reading: Reading | None = None
    """How the source writes values, in all tables: decimal commas, formats of dates, words for NULL."""
    peeked: tuple[Literal["types", "links", "entity"], ...] = ()
    """What of the whole file was found by looking at the data: types of columns; keys, parents and references; the entity. `fit`
    refuses until a person has reviewed it and removed the mark."""
    tables: dict[str, Table]
    """All tables, also the public and the ignored ones."""

    @model_validator(mode="before")
    @classmethod
    def _said_in_columns(cls, value: object) -> object:
        return said_in_columns(value)

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

    def parent_name(self, table: str) -> str | None:
        """The table's parent, which may be the entity by column."""
        link = self.parent(table)
        return link.table if link is not None else None

    def parent_columns(self, table: str) -> tuple[str, ...]:
        """The foreign key of the table to its parent."""
        link = self.parent(table)
        return (link.column or ()) if link is not None else ()


def peeked_paths(schema: Schema) -> tuple[Path, ...]:
    """Every place that carries the mark `peeked`. `plan` warns of them, `fit` refuses them."""
    return tuple(_peeked(schema, ()))


def _peeked(value: object, path: Path) -> Iterator[Path]:
    if isinstance(value, BaseModel):
        marks = getattr(value, "peeked", False)
        yield from ((*path, "peeked", mark) for mark in marks) if isinstance(marks, tuple) else [path] if marks else []
        for name in type(value).model_fields:
            yield from _peeked(getattr(value, name), (*path, name))
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from _peeked(item, (*path, key if isinstance(key, int) else str(key)))
