"""PostgreSQL. Its snapshot is a transaction REPEATABLE READ READ ONLY; it is read by COPY wherever Arrow can parse the types."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import pyarrow as pa
from sqlalchemy import ColumnElement, Connection, Inspector, literal_column, text
from sqlalchemy.dialects import postgresql as pg
from sqlalchemy.types import TypeEngine

from mare.errors import SourceError
from mare.ports import Place, Sink
from mare.schema.reflection import ReflectedColumn, StorageKind
from mare_adapters import boundary
from mare_adapters.dialects import PATIENCE, Ask, Dialect
from mare_adapters.engine import quoted
from mare_adapters.sources.catalogue import Catalogue, StoredTable
from mare_adapters.sources.columnar import Unread
from mare_adapters.sources.table_source import EXACT, Asked, Question, exact_decimal

from . import copying
from .catalogue import CITEXT, postgres_scripts, reflect_postgres

if TYPE_CHECKING:
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
        return literal_column(copying.expression(column))

    def key_form(self, asked: Asked) -> str:
        text = f"CAST({quoted(asked.stored.name)} AS text)"
        if asked.collation == CITEXT:
            return f"lower({text})"
        return exact_decimal(text) if asked.collation == EXACT else super().key_form(asked)

    def fast_batches(self, connection: Connection, asked: Question, unread: Unread) -> Iterator[pa.RecordBatch] | None:
        driver = copying.copying_connection(connection, asked.delivered)
        if driver is None:
            return None
        forms = [self.key_form(c) if c.collation else copying.expression(c.stored) for c in asked.columns]

        def batches() -> Iterator[pa.RecordBatch]:
            try:
                yield from copying.copied_batches(driver, asked, forms, unread)
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
