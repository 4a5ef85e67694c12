"""`Table`: what one table holds and how it hangs together with the others."""

from __future__ import annotations

from pydantic import Field, SerializerFunctionWrapHandler, model_serializer, model_validator

from .columns import Column
from .links import Parent, Reference
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


_ANCHORED = ("after", "before", "during", "determined", "copy_of", "part", "of", "elapsed", "since", "until")
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
    columns: dict[str, Column] = {}
    """The columns, in order. Foreign keys and keys need not be listed."""
    references: dict[str, Reference] = {}
    """References beyond the parent, by column (or by any name, with `columns`)."""
    ignore_columns: tuple[str, ...] = ()
    """Columns that are left out."""
    sees: tuple[str, ...] = ()
    """Earlier siblings whose context is history for this table (drugs follow diagnoses)."""
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
        return {**value, "columns": {name: _with_dots(says, dotted) for name, says in columns.items()}}

    def reference_columns(self, name: str) -> tuple[str, ...]:
        """The columns of this table that make up the named reference."""
        return self.references[name].columns or (name,)


__all__ = ["GroupModels", "ModelChoice", "Pool", "Table"]
