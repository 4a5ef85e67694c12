"""What is special about SQLite's catalogue: declared types are words, and nothing but the words tells a date from a text."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from mare.schema.reflection import LeftOut, ReflectedTable, StorageKind

from .catalogue import Catalogue, Found, left_out_references, reflect_tables
from .check_grammar import check_texts
from .checks import apply_checks
from .key_forms import known_collations

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


def reflect_sqlite(connection: Connection, inspector: Inspector) -> Catalogue:
    """The tables of a file; views and virtual tables (with the tables that serve them) are left out."""
    made = {
        name: sql or "" for name, sql in connection.exec_driver_sql("SELECT name, sql FROM sqlite_master WHERE type = 'table'")
    }
    virtual = [name for name, sql in made.items() if re.match(r"\s*CREATE\s+VIRTUAL", sql, re.IGNORECASE)]
    left_out = [LeftOut(name, "a view: it follows from the tables that it reads") for name in inspector.get_view_names()]
    left_out += [LeftOut(name, "a virtual table: it follows from other data") for name in virtual]
    found = []
    for name in inspector.get_table_names():
        owner = next((v for v in virtual if name.startswith(f"{v}_")), None)
        if owner is not None:
            left_out.append(LeftOut(name, f"serves the virtual table {owner}"))
        elif name not in virtual:
            found.append(Found(name, None, name))
    tables = [
        apply_checks(_with_computed_uniques(connection, _with_declared_types(connection, table)), check_texts(made[table.name]))
        for table in reflect_tables(inspector, found)
    ]
    left_out += left_out_references(inspector, found)
    return Catalogue(tuple(tables), {one.label: one for one in found}, tuple(left_out))


def _with_computed_uniques(connection: Connection, table: ReflectedTable) -> ReflectedTable:
    """Unique indexes on expressions, which SQLAlchemy leaves away, as they were written: they are not kept."""
    quote = connection.dialect.identifier_preparer.quote_identifier
    listed = connection.exec_driver_sql("SELECT name, sql FROM sqlite_master WHERE type = 'index'")
    written = {str(name): str(sql) for name, sql in listed}
    texts = []
    for _, name, unique, *_ in connection.exec_driver_sql(f"PRAGMA index_list({quote(table.name)})"):
        columns = connection.exec_driver_sql(f"PRAGMA index_xinfo({quote(name)})").all()
        if unique and any(row[1] == _EXPRESSION for row in columns):
            texts.append(" ".join(written[str(name)].split()))
    return replace(table, unread_checks=(*table.unread_checks, *sorted(texts)))


_EXPRESSION = -2
"""The number that SQLite gives to what is no column."""


def _with_declared_types(connection: Connection, table: ReflectedTable) -> ReflectedTable:
    quoted = connection.dialect.identifier_preparer.quote_identifier(table.name)
    declared = {row[1]: row[2] or "" for row in connection.exec_driver_sql(f"PRAGMA table_xinfo({quoted})")}
    # A single INTEGER key is SQLite's row number: it counts by itself.
    counted = table.key[0] if len(table.key) == 1 and declared.get(table.key[0], "").upper() == "INTEGER" else None
    columns = []
    for column in table.columns:
        # A generated column's declaration ends in these words.
        words = re.sub(r"\s*GENERATED\s+ALWAYS\s*$", "", declared.get(column.name, ""), flags=re.IGNORECASE)
        whole = declared_kind(words) == "number" and column.precision == 0
        columns.append(
            replace(
                column,
                kind="integer" if whole else declared_kind(words),
                sql_type=words,
                digits=None,  # a declared size binds nothing: SQLite stores a double, and a text of any length
                max_length=None,
                autoincrement=column.name == counted,
            )
        )
    return replace(table, columns=known_collations(columns, "sqlite", _collations(connection, table)))


def _collations(connection: Connection, table: ReflectedTable) -> dict[str, str]:
    """By column, the collation by which a key or unique tells its values apart; where two do, any but letter by letter."""
    quote = connection.dialect.identifier_preparer.quote_identifier
    found: dict[str, str] = {}
    for _, name, unique, *_ in connection.exec_driver_sql(f"PRAGMA index_list({quote(table.name)})").all():
        for _, _, column, _, collation, part in connection.exec_driver_sql(f"PRAGMA index_xinfo({quote(name)})").all():
            if unique and part and column is not None and found.get(column, "BINARY") == "BINARY":
                found[column] = collation
    return found
