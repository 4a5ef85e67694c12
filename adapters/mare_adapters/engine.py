"""DuckDB connections as mare opens them: nothing is ever downloaded or loaded from outside."""

from __future__ import annotations

import duckdb
import pyarrow as pa

_SEALED: dict[str, str | bool | int | float | list[str]] = {
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "temp_directory": "",  # rows are never spilled to a place that nobody cleans up
}


def open_duckdb(path: str = ":memory:", *, read_only: bool = False) -> duckdb.DuckDBPyConnection:
    """A connection to a file, or to memory."""
    connection = duckdb.connect(path, read_only=read_only, config=_SEALED)
    # In a notebook or a shell DuckDB would draw bars of its own.
    connection.execute("SET enable_progress_bar = false")
    return connection


def stream(connection: duckdb.DuckDBPyConnection, query: str, rows: int) -> pa.RecordBatchReader:
    """The answer in Arrow batches. Another query must wait until the reader is drained or closed."""
    relation = connection.sql(query)
    # Before DuckDB 1.4 it had another name, which newer ones warn of.
    return relation.to_arrow_reader(rows) if hasattr(relation, "to_arrow_reader") else relation.fetch_record_batch(rows)


def quoted(name: str) -> str:
    """A name as SQL writes it, whatever letters it holds."""
    return '"' + name.replace('"', '""') + '"'
