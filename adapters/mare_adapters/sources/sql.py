"""`SqlSource`: a PostgreSQL, MySQL/MariaDB or SQLite database, read in one consistent snapshot over one connection.

The snapshot: SQLite, a read transaction on a file opened read-only; PostgreSQL, REPEATABLE READ READ ONLY;
MySQL, WITH CONSISTENT SNAPSHOT, READ ONLY (tables that are not InnoDB have none). One connection holds it, so one
table is read at a time: finish or close an iterator before asking for the next.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from mare.errors import InternalError, SourceError
from mare.schema.reflection import Bound, Peek, ReflectedColumn, ReflectedTable, Reflection
from mare.schema.strict import Value

from .boundary import connecting, reading
from .catalogue import Found
from .columnar import BATCH_ROWS, record_batches
from .locations import SqlLocation, sql_location

if TYPE_CHECKING:
    import pyarrow as pa
    from sqlalchemy import ColumnElement, Connection, Engine, FromClause


class SqlSource:
    """A database, as a `mare.ports.Source`."""

    def __init__(self, location: str | Path) -> None:
        self._location = sql_location(location)
        self._stack = ExitStack()
        self._connection: Connection | None = None
        self._reflection: Reflection | None = None
        self._found: dict[str, Found] = {}

    def __repr__(self) -> str:
        return f"SqlSource({self.label!r})"

    @property
    def label(self) -> str:
        return self._location.label

    def __enter__(self) -> Self:
        with connecting(self._location):
            engine = _engine(self._location)
            self._stack.callback(engine.dispose)
            self._connection = self._stack.enter_context(engine.connect())
            _begin(self._connection, self._location)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._connection, self._reflection = None, None
        self._stack.close()

    def reflect(self) -> Reflection:
        if self._reflection is None:
            with reading(self.label, "the catalogue"):
                self._reflection = self._reflect()
        return self._reflection

    def read(self, table: str, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        reflected, found = self._table(table)
        wanted = [self._column(reflected, name) for name in columns]
        return self._stream(reflected, found, wanted, columns)

    def peek(self, table: str, column: str, max_values: int) -> Peek:
        reflected, found = self._table(table)
        wanted = self._column(reflected, column)
        with reading(self.label, f"table {table}"):
            return _peek(self._open, found, wanted, max_values, reflected.name)

    @property
    def _open(self) -> Connection:
        if self._connection is None:
            raise InternalError("a source was asked before it was entered")
        return self._connection

    def _reflect(self) -> Reflection:
        from sqlalchemy import inspect

        from .sqlite_catalogue import list_sqlite, reflect_sqlite

        connection = self._open
        inspector = inspect(connection)
        catalogue = list_sqlite(connection, inspector)
        labels = {(found.schema, found.name): found.label for found in catalogue.found}
        tables = [reflect_sqlite(connection, inspector, found, labels) for found in catalogue.found]
        self._found = {found.label: found for found in catalogue.found}
        return Reflection(self.label, tuple(tables), catalogue.left_out)

    def _table(self, name: str) -> tuple[ReflectedTable, Found]:
        reflection = self.reflect()
        table = reflection.table(name)
        if table is None:
            held = ", ".join(sorted(t.name for t in reflection)) or "none"
            raise SourceError(f"{self.label} has no table {name!r} that can be read. It has: {held}.")
        return table, self._found[table.name]

    def _column(self, table: ReflectedTable, name: str) -> ReflectedColumn:
        column = table.column(name)
        if column is None:
            held = ", ".join(c.name for c in table.columns)
            raise SourceError(f"{self.label}: table {table.name} has no column {name!r}. It has: {held}.")
        return column

    def _stream(
        self, table: ReflectedTable, found: Found, columns: Sequence[ReflectedColumn], names: Sequence[str]
    ) -> Iterator[pa.RecordBatch]:
        from sqlalchemy import select

        with reading(self.label, f"table {table.name}"):
            stored = _stored(found, columns)
            query = select(*(_plain(stored.c[column.name], column) for column in columns)).select_from(stored)
            with closing(self._open.execution_options(stream_results=True, max_row_buffer=BATCH_ROWS).execute(query)) as rows:
                yield from record_batches(rows, columns, names, table.name)


def _engine(location: SqlLocation) -> Engine:
    from sqlalchemy import URL, create_engine
    from sqlalchemy.pool import NullPool

    if location.family == "sqlite":
        return create_engine("sqlite://", creator=lambda: _open_file(location.database), poolclass=NullPool, hide_parameters=True)
    url = URL.create(
        location.driver,
        username=location.user or None,
        password=location.password,
        host=location.host or None,
        port=location.port,
        database=location.database or None,
    )
    return create_engine(url, poolclass=NullPool, hide_parameters=True, connect_args=dict(location.options))


def _open_file(path: str) -> object:
    import sqlite3

    if not Path(path).is_file():
        raise FileNotFoundError(path)
    return sqlite3.connect(f"{Path(path).resolve().as_uri()}?mode=ro", uri=True, isolation_level=None)


def _begin(connection: Connection, location: SqlLocation) -> None:
    """Fix the snapshot now: a transaction that has not read yet would see rows that others write until it does."""
    connection.exec_driver_sql("BEGIN")
    connection.exec_driver_sql("SELECT count(*) FROM sqlite_master").all()


def _stored(found: Found, columns: Sequence[ReflectedColumn]) -> FromClause:
    """The table as SQLAlchemy selects from it. Every name is quoted: `order`, mixed case and quotes come through."""
    from sqlalchemy import column, table
    from sqlalchemy.sql import quoted_name

    unique = {c.name: column(quoted_name(c.name, True)) for c in columns}  # type: ignore[var-annotated]
    schema = None if found.schema is None else quoted_name(found.schema, True)
    return table(quoted_name(found.name, True), *unique.values(), schema=schema)


def _plain(stored: ColumnElement[object], column: ReflectedColumn) -> ColumnElement[object]:
    return stored


def _peek(connection: Connection, found: Found, column: ReflectedColumn, max_values: int, table: str) -> Peek:
    from sqlalchemy import func, select

    stored = _stored(found, [column])
    value = _plain(stored.c[column.name], column)
    low, high, rows, filled = connection.execute(
        select(func.min(value), func.max(value), func.count(), func.count(value)).select_from(stored)
    ).one()
    distinct = connection.execute(select(value).distinct().where(value.is_not(None)).order_by(value).limit(max_values + 1)).all()

    def convert(values: Sequence[object]) -> list[object]:
        batch = next(record_batches([(v,) for v in values], [column], [column.name], table))
        converted: list[object] = batch.column(0).to_pylist()
        return converted

    bounds = [_bound(v) for v in convert([low, high])] if filled else [None, None]
    values = None
    if len(distinct) <= max_values and column.kind in ("boolean", "integer", "number", "string", "uuid", "unknown"):
        values = tuple(_value(v) for v in convert([row[0] for row in distinct]))
    return Peek(kind=column.kind, values=values, min=bounds[0], max=bounds[1], has_null=filled < rows)


def _bound(value: object) -> Bound | None:
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    return value if isinstance(value, (int, float, date, datetime)) and not isinstance(value, bool) else None


def _value(value: object) -> Value:
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    return value if isinstance(value, (bool, int, float, str)) else str(value)
