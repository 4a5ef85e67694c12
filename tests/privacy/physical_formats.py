"""How a user would write the hospital of `physical_hospital` into each format that mare reads: DDL with declared types, plain
pandas, a declared Arrow schema, the csv module. Each writer returns the location that mare is given.
"""

from __future__ import annotations

import csv
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from datetime import date, datetime
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from mare.finding import Location
from tests.privacy.physical_hospital import KINDS, Rows

Types = Mapping[str, str]
Write = Callable[[Path, Rows], Location]

SQLITE: Types = {
    "key": "INT",
    "text": "TEXT",
    "boolean": "BOOLEAN",
    "date": "DATE",
    "number": "REAL",
    "integer": "INTEGER",
    "datetime": "TIMESTAMP",
}
DUCKDB: Types = {**SQLITE, "key": "BIGINT", "text": "VARCHAR", "number": "DOUBLE", "integer": "BIGINT"}
ARROW: Mapping[str, pa.DataType] = {
    "key": pa.int64(),
    "text": pa.string(),
    "boolean": pa.bool_(),
    "date": pa.date32(),
    "number": pa.float64(),
    "integer": pa.int64(),
    "datetime": pa.timestamp("us"),
}


def columns_of(table: str, rows: Rows) -> list[str]:
    """In the order in which the rows hold them: a test may turn that around."""
    return list(rows[table][0]) if rows[table] else list(KINDS[table])


def ddl(table: str, columns: Sequence[str], types: Types, special: Mapping[str, str]) -> str:
    """``special`` declares a column otherwise: by `table.column`."""
    declared = [f'"{name}" {special.get(f"{table}.{name}", types[KINDS[table][name]])}' for name in columns]
    return f'CREATE TABLE "{table}" ({", ".join(declared)})'


def write_sqlite(
    path: Path, rows: Rows, special: Mapping[str, str] | None = None, types: Types = SQLITE, after: Sequence[str] = ()
) -> Location:
    """Bytes become text as they are: a client in Latin-1 did that."""
    file = path / "hospital.sqlite"
    with closing(sqlite3.connect(file)) as connection, connection:
        for table in rows:
            columns = columns_of(table, rows)
            connection.execute(ddl(table, columns, types, special or {}))
            with_marks = (
                (", ".join("CAST(? AS TEXT)" if isinstance(row[name], bytes) else "?" for name in columns), row)
                for row in rows[table]
            )
            for marks, alike in groupby(with_marks, key=itemgetter(0)):
                values = ([_iso(row[name]) for name in columns] for _, row in alike)
                connection.executemany(f'INSERT INTO "{table}" VALUES ({marks})', values)
        for statement in after:
            connection.execute(statement)
    return file


def _iso(value: object) -> object:
    if isinstance(value, datetime):
        return value.isoformat(" ")
    return value.isoformat() if isinstance(value, date) else value


def write_duckdb(path: Path, rows: Rows, special: Mapping[str, str] | None = None) -> Location:
    """A text that is written as `=…` is an expression of DuckDB's: 'infinity'::DATE. Rows whose values are of the same types go
    in together: among others, DuckDB would look for a type that suits them all."""
    file = path / "hospital.duckdb"
    with duckdb.connect(str(file)) as connection:
        connection.begin()
        for table in rows:
            columns = columns_of(table, rows)
            connection.execute(ddl(table, columns, DUCKDB, special or {}))

            def kinds(row: dict[str, Any], columns: Sequence[str] = columns) -> tuple[str, ...]:
                """A mark for a value, or the expression; and the type of the value."""
                values = [row[name] for name in columns]
                return tuple(v[1:] if isinstance(v, str) and v.startswith("=") else f"? {type(v)}" for v in values)

            for said, group in groupby(rows[table], key=kinds):
                alike = list(group)
                marks = ", ".join("?" if word.startswith("? ") else word for word in said)
                values = [row[name] for row in alike for name, word in zip(columns, said, strict=True) if word.startswith("? ")]
                connection.execute(f'INSERT INTO "{table}" VALUES {", ".join([f"({marks})"] * len(alike))}', values)
        connection.commit()
    return file


def write_frames(path: Path, rows: Rows) -> Location:
    """Plainly: pandas looks at the values and makes up its mind about the dtypes."""
    return {table: pd.DataFrame(content, columns=columns_of(table, rows)) for table, content in rows.items()}


def write_csv(path: Path, rows: Rows) -> Location:
    """A file a table. Bytes go in as they are."""
    for table, content in rows.items():
        columns = columns_of(table, rows)
        with (path / f"{table}.csv").open("w", newline="", encoding="utf-8", errors="surrogateescape") as file:
            writer = csv.writer(file)
            writer.writerow(columns)
            for row in content:
                writer.writerow([_field(row[name]) for name in columns])
    return path


def _field(value: object) -> object:
    return value.decode("utf-8", errors="surrogateescape") if isinstance(value, bytes) else value


def write_parquet(
    path: Path, rows: Rows, special: Mapping[str, pa.DataType] | None = None, parts: Callable[[dict[str, Any]], str] | None = None
) -> Location:
    """With a declared schema, in row groups of seven (more where rows are thousands); in parts where ``parts`` tells which one a
    row goes to."""
    for table, content in rows.items():
        columns = columns_of(table, rows)
        types = [(name, (special or {}).get(f"{table}.{name}", ARROW[KINDS[table][name]])) for name in columns]
        schema = pa.schema(types)
        if parts is None:
            pq.write_table(_arrow(content, schema), path / f"{table}.parquet", row_group_size=max(7, len(content) // 100))
            continue
        (path / table).mkdir()
        for part in sorted({parts(row) for row in content}):
            chosen = [row for row in content if parts(row) == part]
            pq.write_table(_arrow(chosen, schema), path / table / f"part-{part}.parquet", row_group_size=7)
    return path


def _arrow(content: list[dict[str, Any]], schema: pa.Schema) -> pa.Table:
    """A value that is an Arrow array of one already goes in as it is: what no Python value can say."""
    arrays = []
    for field in schema:
        values = [row[field.name] for row in content]
        if any(isinstance(value, pa.Array) for value in values):
            pieces = [value if isinstance(value, pa.Array) else pa.array([value], field.type) for value in values]
            arrays.append(pa.concat_arrays(pieces))
        else:
            arrays.append(pa.array(values, field.type))
    return pa.Table.from_arrays(arrays, schema=schema)


WRITERS: Mapping[str, Write] = {
    "sqlite": write_sqlite,
    "duckdb": write_duckdb,
    "frames": write_frames,
    "csv": write_csv,
    "parquet": write_parquet,
}
"""What needs no server."""
