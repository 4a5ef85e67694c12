"""`SqlSource`: a PostgreSQL, MySQL/MariaDB or SQLite database, read in one consistent snapshot over one connection.

The snapshot: SQLite, a read transaction on a file opened read-only; PostgreSQL, REPEATABLE READ READ ONLY;
MySQL, WITH CONSISTENT SNAPSHOT, READ ONLY (tables that are not InnoDB have none). One connection holds it, so one
table is read at a time: finish or close an iterator before asking for the next.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from mare.errors import InternalError, SourceError
from mare.ports import Place
from mare.schema.reflection import Peek, ReflectedColumn, ReflectedTable, Reflection
from mare.whereabouts import file_place
from mare_adapters.boundary import connecting, reading
from mare_adapters.connections import database_engine
from mare_adapters.locations import SqlLocation, sql_location
from mare_adapters.server_places import mysql_place, postgres_place

from .catalogue import Found, unknown_types_allowed
from .columnar import BATCH_ROWS, Unread, record_batches
from .key_forms import Asked, asked_columns, key_form
from .lookup import find_columns, find_table
from .peeking import BOUNDED_KINDS, LISTED_KINDS, as_bound, as_value, peek_batches
from .sizes import rows_of_table

if TYPE_CHECKING:
    import pyarrow as pa
    from sqlalchemy import ColumnElement, Connection, FromClause


class SqlSource:
    """A database, as a `mare.ports.Source`."""

    def __init__(self, location: str | Path) -> None:
        self._location = sql_location(location)
        self._stack = ExitStack()
        self._connection: Connection | None = None
        self._reflection: Reflection | None = None
        self._found: dict[str, Found] = {}
        self._schemas: tuple[str, ...] = ()
        self.unread: Unread = Unread()

    def __repr__(self) -> str:
        return f"SqlSource({self.label!r})"

    @property
    def label(self) -> str:
        return self._location.label

    def __enter__(self) -> Self:
        with connecting(self._location):
            engine = database_engine(self._location)
            self._stack.callback(engine.dispose)
            self._connection = self._stack.enter_context(engine.connect())
            self._schemas = _begin(self._connection, self._location)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._connection, self._reflection = None, None
        self._stack.close()

    def reflect(self) -> Reflection:
        if self._reflection is None:
            with reading(self.label, "the catalogue"), unknown_types_allowed():
                self._reflection = self._reflect()
        return self._reflection

    def read(self, table: str, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        reflected, found = self._table(table)
        return self._stream(reflected, found, asked_columns(self.reflect(), reflected, columns), columns)

    def peek(self, table: str, column: str, max_values: int) -> Peek:
        reflected, found = self._table(table)
        wanted = find_columns(self.reflect(), reflected, [column])[0]
        with reading(self.label, f"table {table}"):
            if wanted.kind == "unknown":  # an undeclared column of SQLite: only the values tell
                return peek_batches(self._stream(reflected, found, [Asked(wanted)], [column]), wanted.kind, max_values)
            return _peek(self._open, found, wanted, max_values, reflected.name, self._location.family)

    def about(self, table: str) -> int | None:
        _, found = self._table(table)
        return rows_of_table(self._open, self._location.family, found)

    def place(self) -> Place:
        def ask(query: str) -> Sequence[Sequence[object]]:
            return self._open.exec_driver_sql(query).all()

        with reading(self.label, "where it is"):
            if self._location.family == "postgresql":
                return postgres_place(ask, self._schemas)
            if self._location.family == "mysql":
                return mysql_place(ask)
        return file_place(self._location.database, beside=("-wal", "-shm", "-journal"))

    @property
    def _open(self) -> Connection:
        if self._connection is None:
            raise InternalError("a source was asked before it was entered")
        return self._connection

    def _reflect(self) -> Reflection:
        from sqlalchemy import inspect

        connection = self._open
        inspector = inspect(connection)
        if self._location.family == "postgresql":
            from .postgres_catalogue import reflect_postgres

            catalogue = reflect_postgres(connection, inspector, self._schemas)
        elif self._location.family == "mysql":
            from .mysql_catalogue import reflect_mysql

            catalogue = reflect_mysql(connection, inspector)
        else:
            from .sqlite_catalogue import reflect_sqlite

            catalogue = reflect_sqlite(connection, inspector)
        self._found = dict(catalogue.found)
        tables = tuple(replace(table, dialect=self._location.family) for table in catalogue.tables)
        return Reflection(self.label, tables, catalogue.left_out)

    def _table(self, name: str) -> tuple[ReflectedTable, Found]:
        table = find_table(self.reflect(), name)
        return table, self._found[table.name]

    def _stream(
        self, table: ReflectedTable, found: Found, asked: Sequence[Asked], names: Sequence[str]
    ) -> Iterator[pa.RecordBatch]:
        from sqlalchemy import select

        family, columns = self._location.family, [one.delivered for one in asked]
        with reading(self.label, f"table {table.name}"):
            if family == "postgresql":
                from .postgres_copy import copied_batches, copying_connection

                if (driver := copying_connection(self._open, columns)) is not None:
                    try:
                        yield from copied_batches(driver, table, found, asked, names, self.unread)
                    finally:
                        if driver.broken:  # SQLAlchemy was not there to see it
                            self._open.invalidate()
                    return
            stored = _stored(found, [one.stored for one in asked])
            query = select(*(_plain(stored.c[one.stored.name], one, family) for one in asked)).select_from(stored)
            driver_connection = self._open.connection.driver_connection
            with closing(self._open.execution_options(stream_results=True, max_row_buffer=BATCH_ROWS).execute(query)) as rows:
                try:
                    yield from record_batches(rows, columns, names, table.name, self.unread)
                finally:
                    _forget_lost_rows(driver_connection)


def _forget_lost_rows(driver_connection: object) -> None:
    """PyMySQL reads the rest of a table before it lets go, and complains from within `__del__` where the connection was lost."""
    if getattr(driver_connection, "open", True) is False and (result := getattr(driver_connection, "_result", None)) is not None:
        result.unbuffered_active = False


def _begin(connection: Connection, location: SqlLocation) -> tuple[str, ...]:
    """Fix the snapshot now: a transaction that has not read yet would see what others write until it does.

    Gives the schemas to look at, where a database has them.
    """
    if location.family == "postgresql":
        from .postgres_catalogue import asked_schemas

        connection.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)
        schemas = asked_schemas(connection, location.schemas)
        # No search path: every name in the catalogue's answers then says its schema. The rest: how values are written.
        for setting in ("search_path = ''", "TimeZone = 'UTC'", "DateStyle = 'ISO'", "IntervalStyle = 'postgres'"):
            connection.exec_driver_sql(f"SET LOCAL {setting}")
        return schemas
    if location.family == "mysql":
        if not location.database:
            raise SourceError(f"{location.label} names no database. Write it after the last /: mysql://user@host/database.")
        connection.exec_driver_sql("SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        connection.exec_driver_sql("SET SESSION time_zone = '+00:00'")
        connection.exec_driver_sql("START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY")
        return ()
    connection.exec_driver_sql("BEGIN")
    connection.exec_driver_sql("SELECT count(*) FROM sqlite_master").all()
    return ()


def _stored(found: Found, columns: Sequence[ReflectedColumn]) -> FromClause:
    """The table as SQLAlchemy selects from it. Every name is quoted: `order`, mixed case and quotes come through."""
    from sqlalchemy import column, table
    from sqlalchemy.sql import quoted_name

    unique = {c.name: column(quoted_name(c.name, True)) for c in columns}  # type: ignore[var-annotated]
    schema = None if found.schema is None else quoted_name(found.schema, True)
    return table(quoted_name(found.name, True), *unique.values(), schema=schema)


def _plain(stored: ColumnElement[object], asked: Asked, family: str) -> ColumnElement[object]:
    """What has no type of its own in Arrow is asked for as text."""
    from sqlalchemy import Text, cast, literal_column

    if asked.collation:
        return key_form(asked, family)
    if family == "postgresql":
        from .postgres_copy import expression

        return literal_column(expression(asked.stored))
    return cast(stored, Text) if asked.stored.kind in ("other", "json") else stored


def _peek(connection: Connection, found: Found, column: ReflectedColumn, max_values: int, table: str, family: str) -> Peek:
    from sqlalchemy import func, select

    stored = _stored(found, [column])
    value = _plain(stored.c[column.name], Asked(column), family)

    def converted(values: Sequence[object]) -> list[object]:
        batch = next(record_batches([(v,) for v in values], [column], [column.name], table))
        answer: list[object] = batch.column(0).to_pylist()
        return answer

    rows, filled = connection.execute(select(func.count(), func.count(value)).select_from(stored)).one()
    low = high = values = None
    if column.kind in BOUNDED_KINDS:
        low, high = converted(connection.execute(select(func.min(value), func.max(value)).select_from(stored)).one())
    if column.kind in LISTED_KINDS:
        query = select(value).select_from(stored).distinct().where(value.is_not(None)).order_by(value).limit(max_values + 1)
        listed = [row[0] for row in connection.execute(query)]
        values = tuple(as_value(v) for v in converted(listed)) if len(listed) <= max_values else None
    return Peek(kind=column.kind, values=values, min=as_bound(low), max=as_bound(high), has_null=filled < rows)
