"""Databases that an engineer's program has open: SQLAlchemy engines and connections, and those of sqlite3 and DuckDB.

They are read over a connection of mare's own, in one snapshot, so the program's connection is as before; what it has not
committed is not seen. A SQLite database in memory belongs to its connection alone: it is copied first, as it is at that moment.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Self

import duckdb
from sqlalchemy import Engine, create_engine
from sqlalchemy.pool import NullPool

from mare.errors import SourceError
from mare.finding import file_place
from mare.ports import Place, Source
from mare_adapters.boundary import connecting
from mare_adapters.dialects.sqlite import Sqlite
from mare_adapters.letters import letters
from mare_adapters.locations import SqlLocation

from .duckdb import DuckdbSource
from .sql import SqlSource

if TYPE_CHECKING:
    from mare_adapters.dialects import Ask

IN_MEMORY = ":memory:"


def open_live(given: object) -> Source:
    """The source behind an object that is neither a location nor a dictionary of tables; words, where there is none."""
    match type(given).__module__.partition(".")[0]:
        case "sqlite3":
            return _of_sqlite(given)  # type: ignore[arg-type]
        case "duckdb" | "_duckdb":
            return LiveDuckdbSource(given)  # type: ignore[arg-type]
        case "sqlalchemy" if hasattr(given, "dialect"):
            return _of_engine(getattr(given, "engine", given))  # type: ignore[arg-type]
    what = type(given).__name__
    if hasattr(given, "__arrow_c_stream__") or hasattr(given, "columns"):
        raise SourceError(
            f'a {what} is one table without a name. Give a dictionary of tables: {{"patients": {what.lower()}, …}}.'
        )
    raise SourceError(
        f"a {what} is no source. Give a URL (postgresql://…), a folder or a database file, a dictionary of tables (pandas, "
        "polars, Arrow), an SQLAlchemy engine or connection, or a connection of sqlite3 or DuckDB."
    )


def _of_engine(engine: Engine) -> Source:
    if engine.dialect.name == "sqlite":
        pooled = engine.raw_connection()
        try:
            return _of_sqlite(pooled.driver_connection)  # type: ignore[arg-type]
        finally:
            pooled.close()
    return _EngineSource(engine)


def _of_sqlite(connection: sqlite3.Connection) -> Source:
    if not hasattr(connection, "backup"):
        raise SourceError("a cursor is no source. Give the connection that it belongs to.")
    try:
        path = next(file for _, name, file in connection.execute("PRAGMA database_list") if name == "main")
    except sqlite3.Error:
        raise SourceError("the connection of sqlite3 cannot be asked: is it closed, or made by another thread?") from None
    return SqlSource(path) if path else _InMemorySource(connection)


class _EngineSource(SqlSource):
    """A server, over a connection that the program's own engine makes: with its rights, its certificates and its hooks."""

    def __init__(self, engine: Engine) -> None:
        super().__init__(engine.url.render_as_string(hide_password=False))
        usual = self._dialect.driver
        if engine.driver != usual.partition("+")[2]:
            raise SourceError(
                f"the engine speaks by {engine.driver}, mare by {usual}. Make it with {usual}://…, or give the URL."
            )
        self._engine = engine

    def __enter__(self) -> Self:
        with connecting(self._location):
            connection = self._stack.enter_context(self._engine.connect())
            self._schemas = self._dialect.begin(connection, self._location)
            connection.detach()  # what mare has set for its snapshot goes back to no pool
            self._opened = connection
        return self


class _InMemorySource(SqlSource):
    """A copy of a SQLite database that has no file."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        super().__init__("sqlite:///memory")
        self._dialect = _InMemory(connection)
        self._location = SqlLocation(self._dialect, self._dialect.driver, IN_MEMORY)


class _InMemory(Sqlite):
    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def engine(self, location: SqlLocation) -> Engine:
        return create_engine("sqlite://", creator=partial(_copied, self._connection), poolclass=NullPool, hide_parameters=True)

    def place(self, ask: Ask, location: SqlLocation, schemas: Sequence[str]) -> Place:
        return Place(frozenset({("sqlite in memory", id(self._connection))}))


def _copied(connection: sqlite3.Connection) -> sqlite3.Connection:
    copy = sqlite3.connect(IN_MEMORY, isolation_level=None, check_same_thread=False)
    connection.backup(copy)
    copy.text_factory = letters
    return copy


class LiveDuckdbSource(DuckdbSource):
    """A DuckDB database that this process has open, in memory or in a file."""

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        if not hasattr(connection, "cursor"):
            raise SourceError(f"a {type(connection).__name__} of DuckDB is no source. Give the connection that it belongs to.")
        super().__init__(IN_MEMORY)
        self._connection = connection

    @property
    def label(self) -> str:
        return self._file() or "DuckDB in memory"

    def __enter__(self) -> Self:
        self._opened = self._stack.enter_context(self._connection.cursor())
        self._opened.execute("BEGIN TRANSACTION READ ONLY")
        return self

    def place(self) -> Place:
        path = self._file()
        return file_place(path, beside=(".wal",)) if path else Place(frozenset({("duckdb in memory", id(self._connection))}))

    def _file(self) -> str:
        query = "SELECT path FROM duckdb_databases() WHERE database_name = current_database()"
        with self._connection.cursor() as asking:
            row = asking.execute(query).fetchone()
        return str(row[0] or "") if row else ""
