"""SQLite. Its snapshot is a read transaction on a file that is opened read-only.

Declared types are words, and nothing but the words tells a date from a text.
"""

from __future__ import annotations

import re
import sqlite3
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from sqlalchemy import Connection, Engine, Inspector, create_engine
from sqlalchemy.pool import NullPool

from mare.finding import file_place
from mare.ports import Place, Sink
from mare.schema.reflection import Counting, LeftOut, ReflectedForeignKey, ReflectedIndex, ReflectedTable, StorageKind
from mare_adapters.dialects import Ask, Dialect
from mare_adapters.engine import quoted
from mare_adapters.letters import letters
from mare_adapters.sources.catalogue import Catalogue, StoredTable, actions_of, left_out_references, reflect_tables
from mare_adapters.sources.checks import apply_checks
from mare_adapters.sources.sql import constraint_names, generated_columns, index_definition, named_checks
from mare_adapters.sources.table_source import EXACT, Asked

if TYPE_CHECKING:
    from mare_adapters.locations import SqlLocation

_EXACT_FORM = (
    "CASE typeof({0}) WHEN 'real' THEN CASE WHEN {0} = CAST({0} AS INTEGER) THEN CAST(CAST({0} AS INTEGER) AS TEXT) "
    "ELSE printf('%!.17g', {0}) END WHEN 'blob' THEN 'x' || hex({0}) ELSE CAST({0} AS TEXT) END"
)
_KEY_FORMS = {"NOCASE": f"lower({_EXACT_FORM})", "RTRIM": f"rtrim({_EXACT_FORM}, ' ')", EXACT: _EXACT_FORM}
"""By collation. Any value may stand in any column."""
_FIRST = 20_000
"""Rows of a table that stand for the rest of it."""

_KINDS: tuple[tuple[StorageKind, str], ...] = (
    ("boolean", "BOOL"),
    ("duration", "INTERVAL"),
    ("other", "POINT"),
    ("integer", "INT SERIAL"),
    ("datetime", "DATETIME TIMESTAMP"),
    ("date", "DATE"),
    ("time", "TIME"),
    ("uuid", "UUID GUID"),
    ("json", "JSON"),
    ("string", "CHAR CLOB TEXT STRING ENUM"),
    ("binary", "BLOB BINARY"),
    ("number", "REAL FLOA DOUB NUM DEC MONEY"),
)
"""The first of which a declared type contains a word decides. Nothing declared, or no word known: `unknown`, read as text."""


def declared_kind(declared: str) -> StorageKind:
    """The kind that a declared type promises."""
    return next((kind for kind, words in _KINDS if any(word in declared.upper() for word in words.split())), "unknown")


class Sqlite(Dialect):
    """SQLite, through Python's own driver."""

    name = "sqlite"
    title = "SQLite"
    driver = "sqlite"
    is_file = True
    words: ClassVar[dict[StorageKind, str]] = {
        "boolean": "BOOLEAN",
        "integer": "INTEGER",
        "number": "REAL",
        "string": "TEXT",
        "date": "DATE",
        "datetime": "TIMESTAMP",
        "time": "TIME",
        "duration": "INTERVAL",  # seconds
        "uuid": "UUID",
        "binary": "BLOB",
        "json": "JSON TEXT",  # TEXT keeps SQLite from turning '1.0' into a number
    }

    def sink(self, location: str | Path, *, replace: bool = False) -> Sink:
        from .sink import SqliteSink

        return SqliteSink(location, replace=replace, dialect=self)

    def engine(self, location: SqlLocation) -> Engine:
        opened = partial(_open_file, location.database)
        return create_engine("sqlite://", creator=opened, poolclass=NullPool, hide_parameters=True)

    def begin(self, connection: Connection, location: SqlLocation) -> tuple[str, ...]:
        connection.exec_driver_sql("BEGIN")
        connection.exec_driver_sql("SELECT count(*) FROM sqlite_master").all()
        return ()

    def reflect(self, connection: Connection, inspector: Inspector, schemas: Sequence[str]) -> Catalogue:
        """The tables of a file; views and virtual tables (with the tables that serve them) are left out."""
        made = {
            name: sql or ""
            for name, sql in connection.exec_driver_sql("SELECT name, sql FROM sqlite_master WHERE type = 'table'")
        }
        virtual = [name for name, sql in made.items() if re.match(r"\s*CREATE\s+VIRTUAL", sql, re.IGNORECASE)]
        left_out = [LeftOut(name, "a view: it follows from the tables that it reads") for name in inspector.get_view_names()]
        left_out += [LeftOut(name, "a virtual table: it follows from other data") for name in virtual]
        stored = []
        for name in inspector.get_table_names():
            owner = next((v for v in virtual if name.startswith(f"{v}_")), None)
            if owner is not None:
                left_out.append(LeftOut(name, f"serves the virtual table {owner}"))
            elif name not in virtual:
                stored.append(StoredTable(name, None, name))
        special = _special_indexes(connection)
        tables = [
            apply_checks(
                _with_computed_uniques(connection, _with_declared_types(connection, table, made[table.name])),
                named_checks(made[table.name]),
            )
            for table in reflect_tables(inspector, stored, self.kind_of, special=special)
        ]
        triggers = connection.exec_driver_sql("SELECT tbl_name, name FROM sqlite_master WHERE type = 'trigger' ORDER BY 2").all()
        tables = [replace(t, unmade=(*t.unmade, *_unmade(t.name, made[t.name], triggers))) for t in tables]
        left_out += left_out_references(inspector, stored)
        return Catalogue(tables, stored, left_out)

    def scripts(self, connection: Connection, schemas: Sequence[str]) -> tuple[str, ...]:
        query = "SELECT sql FROM sqlite_master WHERE type IN ('view', 'trigger') AND sql IS NOT NULL ORDER BY rowid"
        return tuple(f"{statement};" for (statement,) in connection.exec_driver_sql(query))

    def key_form(self, asked: Asked) -> str:
        if asked.collation not in _KEY_FORMS:
            return super().key_form(asked)
        return _KEY_FORMS[asked.collation].format(quoted(asked.stored.name))

    def rows_of(self, connection: Connection, table: StoredTable) -> int | None:
        """Its rows have numbers that grow: how dense they are at first, they are throughout, about. (A view has none, nor has a
        table without row numbers.)"""
        name = quoted(table.name)
        first = f"SELECT _rowid_ AS r FROM {name} ORDER BY 1 LIMIT {_FIRST}"
        query = f"SELECT count(r), min(r), max(r), (SELECT max(_rowid_) FROM {name}) FROM ({first})"
        rows, low, high, last = connection.exec_driver_sql(query).one()
        if not all(isinstance(number, int) for number in (rows, low, high, last)) or not rows:
            return None
        return rows if rows < _FIRST else int(rows * (last - low + 1) / (high - low + 1))

    def place(self, ask: Ask, location: SqlLocation, schemas: Sequence[str]) -> Place:
        return file_place(location.database, beside=("-wal", "-shm", "-journal"))


def _unmade(table: str, statement: str, triggers: Sequence[Sequence[str]]) -> Iterator[str]:
    """What no target gets of a table's own words, and what is done when its rows change."""
    words = sorted({found.upper() for found in _NOT_MADE.findall(re.sub(r"'(?:[^']|'')*'", "''", statement))})
    words += [f"TRIGGER {name} (--ddl FILE writes it)" for owner, name in triggers if owner == table]
    if words:
        yield f"not made: {'; '.join(words)}"


_NOT_MADE = re.compile(r"\bSTRICT\b|\bWITHOUT\s+ROWID\b|\bCOLLATE\s+(?!BINARY\b)\w+|\bON\s+CONFLICT\s+\w+", re.IGNORECASE)


def _open_file(path: str) -> object:
    if not Path(path).is_file():
        raise FileNotFoundError(path)
    connection = sqlite3.connect(f"{Path(path).resolve().as_uri()}?mode=ro", uri=True, isolation_level=None)
    # SQLite stores any bytes as text. The driver would end the whole read at the first that are not UTF-8.
    connection.text_factory = letters
    return connection


def _with_computed_uniques(connection: Connection, table: ReflectedTable) -> ReflectedTable:
    """Unique constraints that SQLAlchemy does not read (`email VARCHAR(200) UNIQUE`), and unique indexes on expressions, which it
    leaves away, as they were written: those are not kept."""
    listed = connection.exec_driver_sql("SELECT name, sql FROM sqlite_master WHERE type = 'index'")
    written = {str(name): str(sql) for name, sql in listed}
    texts, uniques = [], set(table.uniques)
    for _, name, unique, origin, *_ in connection.exec_driver_sql(f"PRAGMA index_list({quoted(table.name)})").all():
        columns = connection.exec_driver_sql(f"PRAGMA index_xinfo({quoted(name)})").all()
        if unique and any(row[1] == _EXPRESSION for row in columns):
            texts.append(" ".join(written[str(name)].split()))
        elif origin == "u":
            uniques.add(tuple(str(row[2]) for row in columns if row[5]))
    return replace(table, uniques=tuple(sorted(uniques)), unread_checks=(*table.unread_checks, *sorted(texts)))


def _special_indexes(connection: Connection) -> dict[tuple[str | None, str], list[ReflectedIndex]]:
    """Indexes that are no plain columns in a row, as they were written."""
    special: dict[tuple[str | None, str], list[ReflectedIndex]] = defaultdict(list)
    query = "SELECT tbl_name, name, sql FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL ORDER BY 1, 2"
    for table, name, sql in connection.exec_driver_sql(query).all():
        definition = index_definition(str(sql))
        if not re.match(r"\s*CREATE\s+UNIQUE", str(sql), re.IGNORECASE) and not _USUAL_INDEX.fullmatch(definition):
            parts = connection.exec_driver_sql(f"PRAGMA index_info({quoted(name)})").all()
            columns = tuple(column for _, _, column in parts if column is not None)
            special[None, table].append(ReflectedIndex(name, " ".join(definition.split()), columns=columns))
    return special


_USUAL_INDEX = re.compile(r"""\(\s*[^\s()]+(?:\s*,\s*[^\s()]+)*\s*\)""")
_EXPRESSION = -2
"""The number that SQLite gives to what is no column."""


def _with_declared_types(connection: Connection, table: ReflectedTable, statement: str) -> ReflectedTable:
    declared = {row[1]: row[2] or "" for row in connection.exec_driver_sql(f"PRAGMA table_xinfo({quoted(table.name)})")}
    # A single INTEGER key is SQLite's row number: it counts by itself.
    counted = table.key[0] if len(table.key) == 1 and declared.get(table.key[0], "").upper() == "INTEGER" else None
    collations = _collations(connection, table)
    generated = generated_columns(statement)
    numbered = re.search(r"\bAUTOINCREMENT\b", statement, re.IGNORECASE) is not None
    columns = []
    for column in table.columns:
        collation = collations.get(column.name, "").upper()
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
                collation=collation if collation in _KEY_FORMS else EXACT,
                default=None if (column.default or "").upper() == "NULL" else column.default,
                counter=Counting("auto" if numbered else "row number") if column.name == counted else None,
                expression=generated.get(column.name, "") if column.generated else "",
            )
        )
    # SQLAlchemy looks for the names of constraints too, and takes that of the one before.
    uniques = {*table.uniques, table.key}
    names = {at: name for at, name in table.names if at not in uniques or at in _indexed(connection, table)}
    return replace(
        table,
        columns=tuple(columns),
        foreign_keys=_with_actions(connection, table),
        names=tuple(sorted((names | constraint_names(statement)).items())),
    )


def _indexed(connection: Connection, table: ReflectedTable) -> set[tuple[str, ...]]:
    """The columns of indexes that somebody made, and so named."""
    listed = connection.exec_driver_sql(f"PRAGMA index_list({quoted(table.name)})").all()
    made = [name for _, name, _, origin, *_ in listed if origin == "c"]
    return {tuple(row[2] for row in connection.exec_driver_sql(f"PRAGMA index_info({quoted(name)})")) for name in made}


def _with_actions(connection: Connection, table: ReflectedTable) -> tuple[ReflectedForeignKey, ...]:
    """SQLAlchemy looks for actions in the statement, and finds them in one way of writing it alone."""
    actions: dict[int, tuple[set[str], tuple[str, ...]]] = {}
    for number, _, _, column, _, update, delete, *_ in connection.exec_driver_sql(
        f"PRAGMA foreign_key_list({quoted(table.name)})"
    ):
        told = actions_of({"ondelete": delete, "onupdate": update})
        actions.setdefault(number, (set(), told))[0].add(column)
    keys = []
    for key in table.foreign_keys:
        told = next((told for columns, told in actions.values() if columns == set(key.columns)), ())
        waits = tuple(word for word in key.actions if word.startswith("DEFERRABLE"))
        keys.append(replace(key, actions=(*told, *waits)))
    return tuple(keys)


def _collations(connection: Connection, table: ReflectedTable) -> dict[str, str]:
    """By column, the collation by which a key or unique tells its values apart; where two do, any but letter by letter."""
    collations: dict[str, str] = {}
    for _, name, unique, *_ in connection.exec_driver_sql(f"PRAGMA index_list({quoted(table.name)})").all():
        for _, _, column, _, collation, part in connection.exec_driver_sql(f"PRAGMA index_xinfo({quoted(name)})").all():
            if unique and part and column is not None and collations.get(column, "BINARY") == "BINARY":
                collations[column] = collation
    return collations
