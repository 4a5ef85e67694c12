"""One small hospital, the same in every kind of store that mare reads: what the conformance tests compare sources by.

It holds what data loses on the way: NULL beside the empty string, letters beyond ASCII, a quote and a line break,
dates of 1844 and 2200, decimals, truth values; a table named like an SQL keyword; a table without a row.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from datetime import date, datetime
from pathlib import Path
from typing import Any

from tests.servers import MysqlServer, PostgresServer

Row = dict[str, Any]

PATIENTS: list[Row] = [
    {
        "id": 1,
        "sex": "F",
        "born": date(1844, 2, 29),
        "seen": datetime(2200, 12, 31, 23, 59, 58),
        "weight": 61.25,
        "height": 1.7,
        "smoker": True,
        "note": "Ünïcødé ☃ 'quote' \"double\"",
    },
    {
        "id": 2,
        "sex": "M",
        "born": date(1999, 1, 1),
        "seen": datetime(1900, 1, 1, 0, 0, 1),
        "weight": 0.01,
        "height": -0.5,
        "smoker": False,
        "note": "",
    },
    {"id": 3, "sex": None, "born": None, "seen": None, "weight": None, "height": None, "smoker": None, "note": None},
    {
        "id": 4,
        "sex": "F",
        "born": date(2200, 12, 31),
        "seen": datetime(2000, 2, 29),
        "weight": 999.99,
        "height": 1e-9,
        "smoker": True,
        "note": "two\nlines, and a comma",
    },
]
ORDERS: list[Row] = [
    {"patient": 1, "line": 1, "drug": "A"},
    {"patient": 1, "line": 2, "drug": None},
    {"patient": 4, "line": 1, "drug": "B"},
]
TABLES: dict[str, list[Row]] = {"patients": PATIENTS, "order": ORDERS, "wards": []}

KINDS = {
    "id": "integer",
    "sex": "string",
    "born": "date",
    "seen": "datetime",
    "weight": "number",
    "height": "number",
    "smoker": "boolean",
    "note": "string",
}

_DDL = """
CREATE TABLE patients (
    id INTEGER NOT NULL PRIMARY KEY,
    sex VARCHAR(10) CHECK (sex IN ('F', 'M')),
    born DATE,
    seen {datetime},
    weight DECIMAL(5, 2) CHECK (weight >= 0 AND weight < 1000),
    height {double},
    smoker BOOLEAN,
    note {text}
);
CREATE TABLE {q}order{q} (
    patient INTEGER NOT NULL,
    line INTEGER NOT NULL CHECK (line BETWEEN 1 AND 99),
    drug VARCHAR(5),
    PRIMARY KEY (patient, line),
    FOREIGN KEY (patient) REFERENCES patients (id)
);
CREATE TABLE wards (code VARCHAR(5) NOT NULL, beds INTEGER);
"""


def ddl(datetime: str = "TIMESTAMP", double: str = "DOUBLE PRECISION", text: str = "TEXT", q: str = '"') -> str:
    """The tables, in a database's own words."""
    return _DDL.format(datetime=datetime, double=double, text=text, q=q)


def sqlite_hospital(path: Path) -> str:
    """A SQLite file, with dates as text."""
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.executescript(ddl(datetime="DATETIME"))
        for statement, values in _inserts("?", '"'):
            connection.execute(statement, [str(v) if isinstance(v, date) else v for v in values])
    return str(path)


def duckdb_hospital(path: Path) -> str:
    """A DuckDB file."""
    import duckdb

    with duckdb.connect(str(path)) as connection:
        connection.execute(ddl())
        for statement, values in _inserts("?", '"'):
            connection.execute(statement, values)
    return str(path)


def postgres_hospital(server: PostgresServer) -> str:
    """A PostgreSQL database."""
    import psycopg

    url = server.create_database(ddl())
    with psycopg.connect(url) as connection:
        for statement, values in _inserts("%s", '"'):
            connection.execute(statement, values)  # type: ignore[call-overload]
    return url


def mysql_hospital(server: MysqlServer) -> str:
    """A MariaDB or MySQL database."""
    url = server.create_database(ddl(datetime="DATETIME", q="`"))
    for statement, values in _inserts("%s", "`"):
        server.run(url.rpartition("/")[2], statement, *values)
    return url


def parquet_hospital(folder: Path) -> str:
    """A folder of Parquet files."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    folder.mkdir()
    types = {"id": pa.int32(), "sex": pa.string(), "born": pa.date32(), "seen": pa.timestamp("ms"), "weight": pa.decimal128(5, 2)}
    types |= {"height": pa.float64(), "smoker": pa.bool_(), "note": pa.string()}
    patients = {name: pa.array([row[name] for row in PATIENTS]).cast(kind) for name, kind in types.items()}
    pq.write_table(pa.table(patients), folder / "patients.parquet")
    pq.write_table(pa.Table.from_pylist(ORDERS), folder / "order.parquet")
    pq.write_table(pa.table({"code": pa.array([], pa.string()), "beds": pa.array([], pa.int64())}), folder / "wards.parquet")
    return str(folder)


def csv_hospital(folder: Path) -> str:
    """A folder of CSV files: NULL is an empty field, the empty string a quoted one."""
    folder.mkdir()
    for table, rows in TABLES.items():
        names = list(rows[0]) if rows else ["code", "beds"]
        lines = [",".join(names)] + [",".join(_field(row[name]) for name in names) for row in rows]
        (folder / f"{table}.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return str(folder)


def _field(value: object) -> str:
    if value is None:
        return ""
    return '"' + str(value).replace('"', '""') + '"' if isinstance(value, str) else str(value)


def _inserts(mark: str, q: str) -> Iterator[tuple[str, list[Any]]]:
    for table, rows in TABLES.items():
        for row in rows:
            yield f"INSERT INTO {q}{table}{q} ({', '.join(row)}) VALUES ({', '.join([mark] * len(row))})", list(row.values())
