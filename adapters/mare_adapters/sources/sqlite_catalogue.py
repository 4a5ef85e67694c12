"""What is special about SQLite's catalogue: declared types are words, and nothing but the words tells a date from a text."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from mare.schema.reflection import LeftOut, ReflectedTable, StorageKind

from .catalogue import Catalogue, Found, reflect_table

if TYPE_CHECKING:
    from sqlalchemy import Connection, Inspector

_KINDS: tuple[tuple[str, StorageKind], ...] = (
    ("BOOL", "boolean"),
    ("INTERVAL", "duration"),
    ("POINT", "other"),
    ("INT", "integer"),
    ("SERIAL", "integer"),
    ("DATETIME", "datetime"),
    ("TIMESTAMP", "datetime"),
    ("DATE", "date"),
    ("TIME", "time"),
    ("UUID", "uuid"),
    ("GUID", "uuid"),
    ("JSON", "json"),
    ("CHAR", "string"),
    ("CLOB", "string"),
    ("TEXT", "string"),
    ("STRING", "string"),
    ("ENUM", "string"),
    ("BLOB", "binary"),
    ("BINARY", "binary"),
    ("REAL", "number"),
    ("FLOA", "number"),
    ("DOUB", "number"),
    ("NUM", "number"),
    ("DEC", "number"),
    ("MONEY", "number"),
)
"""The first word that a declared type contains decides. Nothing declared, or no word known: `unknown`, read as text."""


def declared_kind(declared: str) -> StorageKind:
    """The kind that a declared type promises."""
    words = declared.upper()
    return next((kind for word, kind in _KINDS if word in words), "unknown")


def list_sqlite(connection: Connection, inspector: Inspector) -> Catalogue:
    """The tables of a file; views and virtual tables (with the tables that serve them) are left out."""
    made = connection.exec_driver_sql("SELECT name, sql FROM sqlite_master WHERE type = 'table'").all()
    virtual = [name for name, sql in made if re.match(r"\s*CREATE\s+VIRTUAL", sql or "", re.IGNORECASE)]
    left_out = [LeftOut(name, "a view: it follows from the tables that it reads") for name in inspector.get_view_names()]
    left_out += [LeftOut(name, "a virtual table: it follows from other data") for name in virtual]
    found = []
    for name in inspector.get_table_names():
        owner = next((v for v in virtual if name.startswith(f"{v}_")), None)
        if owner is not None:
            left_out.append(LeftOut(name, f"serves the virtual table {owner}"))
        elif name not in virtual:
            found.append(Found(name, None, name))
    return Catalogue(tuple(found), tuple(left_out))


def reflect_sqlite(
    connection: Connection, inspector: Inspector, found: Found, labels: dict[tuple[str | None, str], str]
) -> ReflectedTable:
    """One table, with kinds from its declared types."""
    table = reflect_table(inspector, found, labels)
    quoted = connection.dialect.identifier_preparer.quote_identifier(found.name)
    declared = {row[1]: row[2] or "" for row in connection.exec_driver_sql(f"PRAGMA table_xinfo({quoted})")}
    # A single INTEGER key is SQLite's row number: it counts by itself.
    counted = table.key[0] if len(table.key) == 1 and declared.get(table.key[0], "").upper() == "INTEGER" else None
    columns = []
    for column in table.columns:
        words = declared.get(column.name, "")
        whole = declared_kind(words) == "number" and column.precision == 0
        columns.append(
            replace(
                column,
                kind="integer" if whole else declared_kind(words),
                sql_type=words,
                digits=None,  # a declared size binds nothing: SQLite stores a double
                autoincrement=column.name == counted,
            )
        )
    return replace(table, columns=tuple(columns))
