"""One small dataset that holds what data loses on the way out, and the kinds of target that the conformance tests write it to."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import date, datetime, time
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from mare.finding import open_sink, open_source
from mare.ports import Sink, SinkTable
from mare.schema.reflection import ColumnOrder, ReflectedColumn, ReflectedForeignKey, ReflectedTable
from tests.servers import MysqlServer

Row = dict[str, Any]

WARDS = ReflectedTable(
    "order",  # a keyword everywhere
    (
        ReflectedColumn("Wärd \"x\" 50% :y 'z'", "string", nullable=False, max_length=40),
        ReflectedColumn("beds", "integer", nullable=False, min=0, max=99),
    ),
    key=("Wärd \"x\" 50% :y 'z'",),
)
PATIENTS = ReflectedTable(
    "Patients",
    (
        ReflectedColumn("id", "integer", nullable=False),
        ReflectedColumn("Sex", "string", values=("F", "it's"), max_length=9),
        ReflectedColumn("born", "date"),
        ReflectedColumn("seen", "datetime"),
        ReflectedColumn("left", "datetime"),
        ReflectedColumn("clock", "time"),
        ReflectedColumn("weight", "number", digits=5, precision=2),
        ReflectedColumn("height", "number"),
        ReflectedColumn("smoker", "boolean"),
        ReflectedColumn("note", "string"),
        ReflectedColumn("uid", "uuid"),
        ReflectedColumn("big", "integer"),
        ReflectedColumn("raw", "binary"),
        ReflectedColumn("ward", "string", max_length=40),
        ReflectedColumn("mother", "integer"),
        ReflectedColumn("doc", "json"),
    ),
    key=("id",),
    foreign_keys=(
        ReflectedForeignKey(("ward",), "order", WARDS.key),
        ReflectedForeignKey(("mother",), "Patients", ("id",)),
    ),
    uniques=(("uid",),),
    indexes=(("Sex",), ("ward", "born")),
    orders=(ColumnOrder("seen", "left"),),
    unread_checks=("length(note) < 10",),
)
LINES = ReflectedTable(
    "lines",
    (ReflectedColumn("patient", "integer", nullable=False), ReflectedColumn("line", "integer", nullable=False)),
    key=("patient", "line"),
    foreign_keys=(ReflectedForeignKey(("patient",), "Patients", ("id",)),),
)
EMPTY = ReflectedTable("empty", (ReflectedColumn("a", "integer"), ReflectedColumn("b", "string")))
TABLES = (WARDS, PATIENTS, LINES, EMPTY)

_WARD = WARDS.columns[0].name
_NULL: Row = dict.fromkeys((column.name for column in PATIENTS.columns), None)
ROWS: dict[str, list[Row]] = {
    "order": [{_WARD: "Ünïcødé ☃ 'q' \"d\" \\ `b` 5%", "beds": 3}, {_WARD: "", "beds": 0}],
    "Patients": [
        {
            "id": 1,
            "Sex": "F",
            "born": date(1844, 2, 29),
            "seen": datetime(1844, 3, 1),
            "left": datetime(2200, 12, 31, 23, 59, 58, 123456),
            "clock": time(23, 59, 58),
            "weight": Decimal("61.25"),
            "height": 1 / 3,
            "smoker": True,
            "note": 'two\nlines, a comma; a "quote", a \\N and a \\.\n\\.\n',
            "uid": "00000000-0000-4000-8000-00000000000a",
            "big": 2**63 - 1,
            "raw": b"\x00\xff\\",
            "ward": "Ünïcødé ☃ 'q' \"d\" \\ `b` 5%",
            "mother": 3,  # who comes later
            "doc": '{"a": [1, "ü"]}',
        },
        _NULL
        | {
            "id": 2,
            "Sex": "it's",
            "born": date(2200, 12, 31),
            "seen": datetime(1900, 1, 1, 0, 0, 1),
            "left": datetime(1900, 1, 1, 0, 0, 1),
            "clock": time(0, 0),
            "weight": Decimal("0.00"),
            "height": -1e-9,
            "smoker": False,
            "note": "",
            "big": -(2**63),
            "raw": b"",
            "ward": "",
        },
        _NULL | {"id": 3},
    ],
    "lines": [{"patient": 1, "line": 1}, {"patient": 1, "line": 2}, {"patient": 3, "line": 1}],
    "empty": [],
}

_ARROW = {
    "integer": pa.int64(),
    "number": pa.float64(),
    "string": pa.string(),
    "date": pa.date32(),
    "datetime": pa.timestamp("us"),
    "time": pa.time64("us"),
    "boolean": pa.bool_(),
    "uuid": pa.string(),
    "binary": pa.binary(),
    "json": pa.string(),
}


def batch(table: ReflectedTable, rows: Iterable[Row]) -> pa.RecordBatch:
    listed = list(rows)
    arrays = {}
    for column in table.columns:
        values = [float(v) if isinstance(v := row[column.name], Decimal) else v for row in listed]
        arrays[column.name] = pa.array(values, type=_ARROW[column.kind])
    return pa.record_batch(arrays)


def fill(sink: Sink, rows: dict[str, list[Row]] = ROWS, tables: tuple[ReflectedTable, ...] = TABLES) -> None:
    """Write into a sink that was entered."""
    sink.create([SinkTable(table) for table in tables])
    for table in tables:
        sink.write(table.name, batch(table, rows[table.name]))


def write(location: str, rows: dict[str, list[Row]] = ROWS, *, replace: bool = False) -> tuple[str, ...]:
    """Write the whole dataset; what was left out."""
    with open_sink(location, replace=replace) as sink:
        fill(sink, rows)
    return sink.notes


def read(location: str) -> dict[str, list[Row]]:
    """Everything at a location, through the source of that kind."""
    with open_source(location.partition("?format=")[0]) as source:
        tables = list(source.reflect())
        return {
            table.name: pa.Table.from_batches(source.read(table.name, [c.name for c in table.columns])).to_pylist()
            for table in tables
        }


@dataclass(frozen=True)
class Target:
    """A place to write to: where it is, and what can be asked of it."""

    kind: str
    location: str
    execute: Callable[[str], list[Any]] | None = None
    """Run SQL there with constraints on, for those that are databases."""

    @property
    def is_database(self) -> bool:
        return self.execute is not None


DATABASES = ["sqlite", "duckdb", "postgres", *(pytest.param(kind, marks=pytest.mark.slow) for kind in ("mariadb", "mysql"))]
SERVERS = ["postgres", "mariadb", "mysql"]
FILES = ["parquet", "csv", "csv.gz"]
ALL = [*DATABASES, *FILES]


def make_target(kind: str, request: pytest.FixtureRequest, folder: Path) -> Target:
    """A fresh place of that kind, with nothing there."""
    if kind == "sqlite":
        return _sqlite(folder / "t.sqlite")
    if kind == "duckdb":
        return _duckdb(folder / "t.duckdb")
    if kind == "postgres":
        return _postgres(request.getfixturevalue("postgres_server").create_database())
    if kind in ("mariadb", "mysql"):
        return _mysql(request.getfixturevalue(f"{kind}_server"))
    return Target(kind, f"{folder / 'out'}?format={kind}")


def _sqlite(path: Path) -> Target:
    def execute(statement: str) -> list[Any]:
        import sqlite3
        from contextlib import closing

        with closing(sqlite3.connect(path)) as connection, connection:
            connection.execute("PRAGMA foreign_keys = ON")
            return connection.execute(statement).fetchall()

    return Target("sqlite", str(path), execute)


def _duckdb(path: Path) -> Target:
    def execute(statement: str) -> list[Any]:
        import duckdb

        with duckdb.connect(str(path)) as connection:
            return connection.execute(statement).fetchall()

    return Target("duckdb", str(path), execute)


def _postgres(url: str) -> Target:
    def execute(statement: str) -> list[Any]:
        import psycopg

        with psycopg.connect(url, autocommit=True) as connection:
            cursor = connection.execute(statement)
            return cursor.fetchall() if cursor.description else []

    return Target("postgres", url, execute)


def _mysql(server: MysqlServer) -> Target:
    url = server.create_database()
    return Target(server.scheme, url, lambda statement: server.rows(url, statement.replace('"', "`")))
