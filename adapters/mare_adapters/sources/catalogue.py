"""Reflection of a SQL source through SQLAlchemy's inspector: tables, types, keys. Reads the catalogue, never a row."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from mare.schema.reflection import LeftOut, ReflectedColumn, ReflectedForeignKey, ReflectedTable

from .kinds import digits_of, kind_of, length_of

if TYPE_CHECKING:
    from sqlalchemy import Inspector
    from sqlalchemy.engine.interfaces import ReflectedColumn as SqlColumn
    from sqlalchemy.engine.interfaces import ReflectedIndex


@dataclass(frozen=True)
class Found:
    """A table as the database knows it, and the name under which mare speaks of it."""

    name: str
    schema: str | None
    label: str


@dataclass(frozen=True)
class Catalogue:
    """What a database holds: the tables to read, and what is left out with a word."""

    found: tuple[Found, ...]
    left_out: tuple[LeftOut, ...] = field(default=())


def reflect_table(inspector: Inspector, found: Found, labels: dict[tuple[str | None, str], str]) -> ReflectedTable:
    """One table: columns, keys, foreign keys to tables that are read too, uniques, indexes."""
    name, schema = found.name, found.schema
    key = tuple(inspector.get_pk_constraint(name, schema)["constrained_columns"])
    uniques = [tuple(c for c in unique["column_names"] if c) for unique in inspector.get_unique_constraints(name, schema)]
    indexes: list[tuple[str, ...]] = []
    for index in inspector.get_indexes(name, schema):
        columns = tuple(c for c in index["column_names"] if c)
        if len(columns) != len(index["column_names"]):
            continue  # an index on an expression
        (uniques if index["unique"] and not _partial(index) else indexes).append(columns)
    return ReflectedTable(
        name=found.label,
        columns=tuple(_column(column, key) for column in inspector.get_columns(name, schema)),
        key=key,
        foreign_keys=tuple(_foreign_keys(inspector, found, labels)),
        uniques=_distinct(uniques),
        indexes=_distinct(indexes),
        comment=_comment(inspector, found),
    )


def _distinct(keys: Iterable[tuple[str, ...]]) -> tuple[tuple[str, ...], ...]:
    return tuple(sorted(set(keys)))


def _partial(index: ReflectedIndex) -> bool:
    return any(option.endswith("_where") and value is not None for option, value in index.get("dialect_options", {}).items())


def _foreign_keys(inspector: Inspector, found: Found, labels: dict[tuple[str | None, str], str]) -> list[ReflectedForeignKey]:
    read: list[ReflectedForeignKey] = []
    for foreign in inspector.get_foreign_keys(found.name, found.schema):
        label = labels.get((foreign["referred_schema"] or found.schema, foreign["referred_table"]))
        if label is not None:
            columns, references = tuple(foreign["constrained_columns"]), tuple(foreign["referred_columns"])
            read.append(ReflectedForeignKey(columns, label, references, foreign["name"]))
    return sorted(read, key=lambda key: (key.columns, key.table))


def _comment(inspector: Inspector, found: Found) -> str | None:
    try:
        return inspector.get_table_comment(found.name, found.schema)["text"] or None
    except NotImplementedError:  # SQLite has none
        return None


def _column(column: SqlColumn, key: Sequence[str]) -> ReflectedColumn:
    from sqlalchemy import types as t

    stored = column["type"]
    digits, decimals = digits_of(stored)
    return ReflectedColumn(
        name=column["name"],
        kind=kind_of(stored),
        sql_type=str(stored) if not isinstance(stored, t.NullType) else "",
        nullable=column["nullable"] and column["name"] not in key,
        values=tuple(stored.enums) if isinstance(stored, t.Enum) else None,
        precision=decimals,
        digits=digits,
        max_length=length_of(stored),
        autoincrement=column.get("autoincrement") is True or "identity" in column,
        generated="computed" in column,
        comment=column.get("comment"),
    )
