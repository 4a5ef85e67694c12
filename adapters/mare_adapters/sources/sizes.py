"""How many rows a table has, about, without reading them: for a bar that shows the time left (`mare.ports.Sized`).

Files tell in their head, databases in their statistics. Whatever cannot be told is None, and no error: reading comes next, and
says what is wrong.
"""

from __future__ import annotations

import gzip
import zlib
from contextlib import suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, cast

from mare_adapters.engine import quoted

from .catalogue import Found

if TYPE_CHECKING:
    from sqlalchemy import Connection

_HEAD = 1 << 18
"""Bytes of a CSV file that stand for the rest of it."""
_FIRST = 20_000
"""Rows of a SQLite table that stand for the rest of it."""
_ROWS_OF_A_PAGE = 60
"""Of a PostgreSQL table that was never analysed."""

_POSTGRES = f"""
SELECT sum(CASE WHEN c.reltuples > 0 THEN c.reltuples
                ELSE pg_catalog.pg_relation_size(c.oid) / 8192.0 * {_ROWS_OF_A_PAGE} END)
  FROM pg_catalog.pg_class t JOIN pg_catalog.pg_namespace n ON n.oid = t.relnamespace
  JOIN pg_catalog.pg_class c ON c.oid = t.oid OR c.oid IN (SELECT relid FROM pg_catalog.pg_partition_tree(t.oid))
 WHERE n.nspname = :schema AND t.relname = :name AND c.relkind = 'r'
"""
_MYSQL = "SELECT table_rows FROM information_schema.tables WHERE table_schema = database() AND table_name = :name"


def rows_of_file(path: Path, form: str) -> int | None:
    """Parquet counts its rows; of CSV, the head is counted."""
    import pyarrow as pa

    with suppress(OSError, EOFError, zlib.error, pa.ArrowException):
        if form == "parquet":
            import pyarrow.parquet as pq

            return int(pq.read_metadata(path).num_rows)
        with path.open("rb") as raw:
            opened = gzip.GzipFile(fileobj=raw) if path.name.lower().endswith(".gz") else raw
            lines = cast(IO[bytes], opened).read(_HEAD).count(b"\n")
            return int(lines * path.stat().st_size / max(1, raw.tell()))
    return None


def rows_of_table(connection: Connection, family: str, found: Found) -> int | None:
    """As the statistics of the database have it."""
    from sqlalchemy import text
    from sqlalchemy.exc import SQLAlchemyError

    # A budget may have been taken by now: that nobody can tell how long it lasts must not cost it.
    with suppress(SQLAlchemyError):
        if family == "sqlite":
            return _rows_of_sqlite(connection, found.name)  # fails on a view, and on a table without row numbers
        if family == "mysql":
            told = connection.execute(text(_MYSQL), {"name": found.name}).scalar()
        else:
            with connection.begin_nested():  # or a refusal would end the snapshot
                told = connection.execute(text(_POSTGRES), {"name": found.name, "schema": found.schema}).scalar()
        return None if told is None else int(told)
    return None


def _rows_of_sqlite(connection: Connection, name: str) -> int | None:
    """Its rows have numbers that grow: how dense they are at first, they are throughout, about."""
    table = quoted(name)
    first = f"SELECT _rowid_ AS r FROM {table} ORDER BY 1 LIMIT {_FIRST}"
    query = f"SELECT count(r), min(r), max(r), (SELECT max(_rowid_) FROM {table}) FROM ({first})"
    rows, low, high, last = connection.exec_driver_sql(query).one()
    if not all(isinstance(number, int) for number in (rows, low, high, last)) or not rows:
        return None
    return rows if rows < _FIRST else int(rows * (last - low + 1) / (high - low + 1))
