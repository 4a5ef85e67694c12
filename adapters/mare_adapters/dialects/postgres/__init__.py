"""PostgreSQL. Its snapshot is a transaction REPEATABLE READ READ ONLY; it is read by COPY wherever Arrow can parse the types.

By COPY to CSV, no Python value is ever made: rows are taken from libpq one by one and joined to blocks, each of which Arrow
parses into the types of its columns' kinds. Types that it cannot parse from text (intervals, bytes) are left to the way that all
databases are read in.
"""

from __future__ import annotations

import codecs
import re
import selectors
from collections.abc import Hashable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import pyarrow as pa
from pyarrow import csv
from sqlalchemy import ColumnElement, Connection, Inspector, literal_column, text
from sqlalchemy.dialects import postgresql as pg
from sqlalchemy.types import TypeEngine

from mare.errors import SourceError
from mare.ports import Place, Sink
from mare.schema.reflection import ReflectedColumn, StorageKind
from mare_adapters import boundary
from mare_adapters.dialects import PATIENCE, Ask, Dialect
from mare_adapters.engine import quoted
from mare_adapters.letters import letters
from mare_adapters.sources.arrow_kinds import conformed
from mare_adapters.sources.catalogue import Catalogue, StoredTable
from mare_adapters.sources.columnar import BATCH_ROWS, Unread, arrow_type, record_batches, within_reach
from mare_adapters.sources.table_source import EXACT, Asked, Question, exact_decimal

from .catalogue import CITEXT, postgres_scripts, reflect_postgres

if TYPE_CHECKING:
    import psycopg
    from psycopg.pq.abc import PGconn

    from mare_adapters.locations import SqlLocation


_SETTINGS = ("search_path = ''", "TimeZone = 'UTC'", "DateStyle = 'ISO'", "IntervalStyle = 'postgres'")
"""No search path: every name in the catalogue's answers then says its schema. The rest: how values are written."""
_ROWS_OF_A_PAGE = 60
"""Of a table that was never analysed."""
_SIZE = f"""
SELECT sum(CASE WHEN c.reltuples > 0 THEN c.reltuples
                ELSE pg_catalog.pg_relation_size(c.oid) / 8192.0 * {_ROWS_OF_A_PAGE} END)
  FROM pg_catalog.pg_class t JOIN pg_catalog.pg_namespace n ON n.oid = t.relnamespace
  JOIN pg_catalog.pg_class c ON c.oid = t.oid OR c.oid IN (SELECT relid FROM pg_catalog.pg_partition_tree(t.oid))
 WHERE n.nspname = :schema AND t.relname = :name AND c.relkind = 'r'
"""
_CLUSTER = """
SELECT d.oid::text, extract(epoch FROM pg_catalog.pg_postmaster_start_time())::text,
       pg_catalog.has_function_privilege(pg_catalog.to_regprocedure('pg_catalog.pg_control_system()'), 'EXECUTE')
  FROM pg_catalog.pg_database d WHERE d.datname = pg_catalog.current_database()
"""
_SYSTEM = "SELECT system_identifier::text FROM pg_catalog.pg_control_system()"

_CAUSES = {
    boundary.REFUSED: ("28P01", "28000"),
    boundary.NO_DATABASE: ("3D000",),
    boundary.NO_RIGHT: ("42501",),
    boundary.DISK_FULL: ("53100",),
    boundary.BUSY: ("53300",),
    "is starting up or shutting down": ("57P03",),
    boundary.LOST: ("57P01", "57P02", "57P05", "25P03"),
    boundary.STOPPED: ("57014",),
    boundary.STANDBY: ("40001",),
    boundary.READ_ONLY: ("25006",),
    boundary.LOCKED: ("55P03", "40P01"),
    boundary.FOREIGN: ("23503",),
    boundary.UNIQUE: ("23505",),
    boundary.CHECK: ("23514",),
    boundary.NULL: ("23502",),
    boundary.DEPENDENT: ("2BP01",),
    boundary.NO_COLUMN: ("42703",),
}
"""With the states that tell them."""
_BY_STATE = {state: cause for cause, states in _CAUSES.items() for state in states}
_BY_CLASS_OF_STATE = {"08": boundary.LOST, "22": boundary.UNFIT}


class Postgres(Dialect):
    """PostgreSQL, through psycopg."""

    name = "postgresql"
    title = "PostgreSQL"
    driver = "postgresql+psycopg"
    extra = "postgres"
    words: ClassVar[dict[StorageKind, str]] = {
        "boolean": "boolean",
        "integer": "bigint",
        "number": "double precision",
        "string": "text",
        "date": "date",
        "datetime": "timestamp",
        "time": "time",
        "duration": "interval",
        "uuid": "uuid",
        "binary": "bytea",
        "json": "jsonb",
    }
    whole_number_bytes: ClassVar[dict[str, int]] = {"smallint": 2, "integer": 4}

    def sink(self, location: str | Path, *, replace: bool = False) -> Sink:
        from .sink import PostgresSink

        return PostgresSink(location, replace=replace, dialect=self)

    def connect_arguments(self, location: SqlLocation) -> dict[str, str | bytes | int]:
        return {"connect_timeout": PATIENCE, **location.options}

    def begin(self, connection: Connection, location: SqlLocation) -> tuple[str, ...]:
        connection.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)
        schemas = _asked_schemas(connection, location.schemas)
        for setting in _SETTINGS:
            connection.exec_driver_sql(f"SET LOCAL {setting}")
        return schemas

    def reflect(self, connection: Connection, inspector: Inspector, schemas: Sequence[str]) -> Catalogue:
        return reflect_postgres(connection, inspector, schemas, self.kind_of)

    def scripts(self, connection: Connection, schemas: Sequence[str]) -> tuple[str, ...]:
        return postgres_scripts(connection, schemas)

    def kind_of(self, stored: TypeEngine[object]) -> StorageKind | None:
        if isinstance(stored, pg.MONEY):
            return "number"
        return "duration" if isinstance(stored, pg.INTERVAL) else None

    def expression(self, stored: ColumnElement[object], column: ReflectedColumn) -> ColumnElement[object]:
        return literal_column(copied_as(column))

    def key_form(self, asked: Asked) -> str:
        text = f"CAST({quoted(asked.stored.name)} AS text)"
        if asked.collation == CITEXT:
            return f"lower({text})"
        return exact_decimal(text) if asked.collation == EXACT else super().key_form(asked)

    def fast_batches(self, connection: Connection, asked: Question, unread: Unread) -> Iterator[pa.RecordBatch] | None:
        driver = copying_connection(connection, asked.delivered)
        if driver is None:
            return None
        forms = [self.key_form(c) if c.collation else copied_as(c.stored) for c in asked.columns]

        def batches() -> Iterator[pa.RecordBatch]:
            try:
                yield from copied_batches(driver, asked, forms, unread)
            finally:
                if driver.broken:  # SQLAlchemy was not there to see it
                    connection.invalidate()

        return batches()

    def rows_of(self, connection: Connection, table: StoredTable) -> int | None:
        with connection.begin_nested():  # or a refusal would end the snapshot
            rows = connection.execute(text(_SIZE), {"name": table.name, "schema": table.schema}).scalar()
        return None if rows is None else int(rows)

    def place(self, ask: Ask, location: SqlLocation, schemas: Sequence[str]) -> Place:
        """Schemas of a database of a cluster; a standby is its primary.

        Who may not ask for the cluster's identifier knows when the server started, to the microsecond: both are told where they
        are known, because the source's user and the target's may differ in that.
        """
        ((database, started, may_ask),) = ask(_CLUSTER)
        clusters: list[tuple[str, object]] = [("started", started)]
        if may_ask:
            clusters += [("system", identifier) for (identifier,) in ask(_SYSTEM)]
        own: set[Hashable] = {("postgresql", *cluster, database, schema) for cluster in clusters for schema in schemas}
        return Place(frozenset(own))

    def cause_of(self, error: BaseException) -> str | None:
        origin = boundary.origin_of(error)
        state = getattr(origin, "sqlstate", None) or getattr(origin, "pgcode", None)
        if state is not None:
            return _BY_STATE.get(state) or _BY_CLASS_OF_STATE.get(state[:2])
        return _connecting_cause(str(origin)) or super().cause_of(error)


def _connecting_cause(text: str) -> str | None:
    """libpq gives no code for what goes wrong while connecting."""
    if "password authentication failed" in text or "no password supplied" in text or "no pg_hba.conf entry" in text:
        return boundary.REFUSED
    if 'database "' in text and "does not exist" in text:
        return boundary.NO_DATABASE
    if "role" in text and ("does not exist" in text or "not permitted to log in" in text):
        return boundary.REFUSED
    lost = ("server closed the connection", "connection is lost", "the connection is closed", "consuming input failed")
    return boundary.LOST if any(words in text for words in lost) else None


def _asked_schemas(connection: Connection, asked: Sequence[str]) -> tuple[str, ...]:
    """The schemas to look at: those of the URL, which must exist, or those of the search path."""
    if not asked:
        return tuple(connection.exec_driver_sql("SELECT unnest(pg_catalog.current_schemas(false))::text").scalars())
    held = set(connection.exec_driver_sql("SELECT nspname::text FROM pg_catalog.pg_namespace WHERE nspname !~ '^pg_'").scalars())
    missing = [schema for schema in asked if schema not in held]
    if missing:
        raise SourceError(f"the database has no schema {', '.join(missing)}. It has: {', '.join(sorted(held))}.")
    return tuple(asked)


_BLOCK = 1 << 23
"""Bytes at which a block is parsed although it has few rows: long notes."""
_LEFT = frozenset({"duration", "binary"})


def copying_connection(connection: Connection, columns: Sequence[ReflectedColumn]) -> psycopg.Connection[object] | None:
    """The driver's connection where these columns can be read in this way, else None."""
    import psycopg

    driver = connection.connection.driver_connection
    if not columns or not isinstance(driver, psycopg.Connection) or any(column.kind in _LEFT for column in columns):
        return None
    return driver


def copied_batches(
    connection: psycopg.Connection[object], asked: Question, forms: Sequence[str], unread: Unread
) -> Iterator[pa.RecordBatch]:
    """All rows, in the batches and the types in which every source gives them. ``forms`` are the columns in SQL."""
    columns, names, table = asked.delivered, asked.names, asked.table.name
    selected = ", ".join(f"{form} AS c{number}" for number, form in enumerate(forms))
    query = f"SELECT {selected} FROM {asked.stored.relation}"
    empty = True
    stored = connection.info.parameter_status("server_encoding") or "UTF8"
    with _copying(connection.pgconn, f"COPY ({query}) TO STDOUT (FORMAT csv, ENCODING '{stored}')") as blocks:
        for block in blocks:
            empty = False
            yield conformed(_parsed(_as_utf8(block, stored), columns), columns, names, table, unread)
    if empty:
        yield from record_batches([], columns, names, table)


def _as_utf8(block: memoryview, stored: str) -> memoryview:
    """The server would end the read at a letter that has no place in UTF-8: such ones are turned here, into a mark."""
    if stored == "UTF8":
        return block
    name = re.sub(r"^LATIN(?=\d)", "iso8859-", re.sub(r"^WIN(?=\d)", "cp", stored))
    try:
        codec = codecs.lookup(_CODECS.get(stored, name)).name
    except LookupError:
        codec = "ascii"
    return memoryview(letters(bytes(block), codec).encode())


_CODECS = {"LATIN5": "iso8859-9", "LATIN6": "iso8859-10", "LATIN7": "iso8859-13", "LATIN8": "iso8859-14", "LATIN9": "iso8859-15",
           "LATIN10": "iso8859-16", "EUC_CN": "gb2312", "EUC_JIS_2004": "euc_jis_2004", "WIN866": "cp866"}  # fmt: skip


def copied_as(column: ReflectedColumn) -> str:
    """What both ways ask for: what has no type of its own in Arrow as text, money as a number, CHAR(5) without its padding."""
    name = quoted(column.name)
    if column.kind in ("other", "json") or column.sql_type.startswith("character("):
        return f"CAST({name} AS text)"
    if column.sql_type == "money":
        return f"CAST({name} AS numeric)"
    if column.sql_type.startswith("numeric("):
        return f"NULLIF({name}, 'NaN')"  # which has no place among decimals
    if column.kind in ("datetime", "time") and column.sql_type.endswith("with time zone"):
        name = f"({name} AT TIME ZONE 'UTC')"
    return within_reach(f"CAST({name} AS time)" if column.kind == "time" else name, column.kind)


@contextmanager
def _copying(server: PGconn, statement: str) -> Iterator[Iterator[memoryview]]:
    """The rows of a COPY. A reader that gives up early leaves the transaction, and its snapshot, usable."""
    from psycopg.pq import ConnStatus

    _command(server, b"SAVEPOINT mare_copy")
    _command(server, statement.encode())
    state = {"done": False}
    try:
        yield _blocks(server, state)
    finally:
        if server.status == ConnStatus.OK:  # where the connection broke, there is nothing to put in order
            if not state["done"]:
                _give_up(server)
            _command(server, b"RELEASE SAVEPOINT mare_copy")


def _give_up(server: PGconn) -> None:
    from psycopg import OperationalError

    server.get_cancel().cancel()
    with suppress(OperationalError):  # nothing is under way any more
        while server.get_copy_data(0)[0] > 0:
            pass
    while server.get_result() is not None:
        pass
    _command(server, b"ROLLBACK TO SAVEPOINT mare_copy")


def _blocks(server: PGconn, state: dict[str, bool]) -> Iterator[memoryview]:
    """Whole rows, some thousands at a time; a block lasts until the next is asked for.

    One message is one row (PostgreSQL's protocol: «always one per row»). Each is copied into one buffer at once: to keep them
    apart until they are joined takes several times as long.
    """
    take, held, used, rows = server.get_copy_data, bytearray(_BLOCK), 0, 0
    with selectors.DefaultSelector() as waiting:
        waiting.register(server.socket, selectors.EVENT_READ)
        while True:
            size, row = take(1)
            if size > 0:
                end = used + size
                if end > len(held):
                    held.extend(bytes(end))
                held[used:end] = row
                used, rows = end, rows + 1
                if rows == BATCH_ROWS or used >= _BLOCK:
                    yield memoryview(held)[:used]
                    used = rows = 0
            elif size == 0:
                waiting.select()
                server.consume_input()
            else:
                break
    # The results after the last row tell whether it was the last, or whether something broke.
    failure = None
    while (result := server.get_result()) is not None:
        failure = failure or _failure(result)
    state["done"] = failure is None
    if failure is not None:
        raise failure
    if rows:
        yield memoryview(held)[:used]


def _parsed(block: memoryview, columns: Sequence[ReflectedColumn]) -> pa.RecordBatch:
    try:
        return _read_block(block, [arrow_type(column) for column in columns])
    except pa.ArrowException:
        # A value beyond its Arrow type is among them: as texts, each is looked at by itself.
        return _read_block(block, [pa.string()] * len(columns))


def _read_block(block: memoryview, types: Sequence[pa.DataType]) -> pa.RecordBatch:
    names = [f"c{number}" for number in range(len(types))]
    parsed = csv.read_csv(
        pa.BufferReader(pa.py_buffer(block)),
        read_options=csv.ReadOptions(column_names=names, block_size=len(block) + 1),
        parse_options=csv.ParseOptions(newlines_in_values=True, ignore_empty_lines=len(types) > 1),
        convert_options=csv.ConvertOptions(
            column_types=dict(zip(names, types, strict=True)),
            null_values=[""],
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
            true_values=["t"],
            false_values=["f"],
        ),
    )
    return parsed.combine_chunks().to_batches(max_chunksize=None)[0]


def _command(server: PGconn, statement: bytes) -> None:
    failure = _failure(server.exec_(statement))
    if failure is not None:
        raise failure


def _failure(result: object) -> Exception | None:
    """The driver's own error for what the server said, by its code alone."""
    from psycopg import OperationalError, errors, pq

    assert isinstance(result, pq.PGresult)
    if result.status != pq.ExecStatus.FATAL_ERROR:
        return None
    state = (result.error_field(pq.DiagnosticField.SQLSTATE) or b"").decode()
    try:
        return errors.lookup(state)()
    except KeyError:
        return OperationalError()
