"""The SQLite sink: complete or not at all, with the keys and foreign keys that SQLite itself checks."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from datetime import date, datetime
from pathlib import Path

import pyarrow as pa
import pytest

from mare.errors import SinkError
from mare.finding import open_sink
from mare.ports import SinkTable
from mare.schema.reflection import ReflectedColumn, ReflectedForeignKey, ReflectedTable
from mare_adapters.dialects.sqlite.sink import SqliteSink

PARENT = ReflectedTable(
    'or"der',
    (
        ReflectedColumn("id", "integer", "INTEGER", nullable=False),
        ReflectedColumn("group by", "string", "VARCHAR(20)"),
        ReflectedColumn("born", "date", "DATE"),
        ReflectedColumn("seen", "datetime", "TIMESTAMP"),
        ReflectedColumn("ok", "boolean", "BOOLEAN"),
        ReflectedColumn("größe", "number", "some'; DROP TABLE x; --"),
    ),
    key=("id",),
    dialect="sqlite",
)
CHILD = ReflectedTable(
    "select",
    (ReflectedColumn("a", "integer"), ReflectedColumn("b", "integer"), ReflectedColumn("order id", "integer")),
    key=("a", "b"),
    foreign_keys=(ReflectedForeignKey(("order id",), 'or"der', ("id",)),),
)


def parents(*ids: int) -> pa.RecordBatch:
    return pa.record_batch(
        {
            "id": pa.array(ids),
            "group by": pa.array(["x"] * len(ids)),
            "born": pa.array([date(1844, 1, 2)] * len(ids)),
            "seen": pa.array([datetime(2200, 1, 2, 3, 4, 5)] * len(ids)),
            "ok": pa.array([True] * len(ids)),
            "größe": pa.array([None] * len(ids), type=pa.float64()),
        }
    )


def children(*rows: tuple[int, int, int]) -> pa.RecordBatch:
    a, b, order = zip(*rows, strict=True)
    return pa.record_batch({"a": pa.array(a), "b": pa.array(b), "order id": pa.array(order)})


def write(sink: SqliteSink, orders: pa.RecordBatch, lines: pa.RecordBatch) -> None:
    with sink:
        sink.create([SinkTable(PARENT), SinkTable(CHILD)])
        sink.write(PARENT.name, orders)
        sink.write(CHILD.name, lines)


def test_rows_types_keys_and_strange_names_come_through(tmp_path: Path) -> None:
    target = tmp_path / "new.sqlite"
    write(SqliteSink(target), parents(1, 2), children((1, 1, 1), (1, 2, 2)))
    with closing(sqlite3.connect(target)) as database:
        row = database.execute('SELECT * FROM "or""der" WHERE id = 2').fetchone()
        assert row == (2, "x", "1844-01-02", "2200-01-02 03:04:05", 1, None)
        types = {name: kind for _, name, kind, *_ in database.execute("PRAGMA table_info('or\"der')")}
        assert types == {
            "id": "INTEGER",
            "group by": "VARCHAR(20)",
            "born": "DATE",
            "seen": "TIMESTAMP",
            "ok": "BOOLEAN",
            "größe": "REAL",
        }
        assert [row[2:5] for row in database.execute("PRAGMA foreign_key_list('select')")] == [('or"der', "order id", "id")]
        assert [name for _, name, _, _, _, key in database.execute("PRAGMA table_info('select')") if key] == ["a", "b"]


def test_broken_references_are_refused_and_nothing_is_left(tmp_path: Path) -> None:
    target = tmp_path / "new.sqlite"
    with pytest.raises(SinkError, match="refers to rows of"):
        write(SqliteSink(target), parents(1), children((1, 1, 7)))
    assert not list(tmp_path.iterdir())


def test_a_duplicate_key_is_refused_and_nothing_is_left(tmp_path: Path) -> None:
    with pytest.raises(SinkError, match="left as it was"):
        write(SqliteSink(tmp_path / "new.sqlite"), parents(1, 1), children((1, 1, 1)))
    assert not list(tmp_path.iterdir())


def test_nothing_appears_before_the_end_or_after_an_error(tmp_path: Path) -> None:
    target = tmp_path / "new.sqlite"

    def interrupted() -> None:
        with SqliteSink(target) as sink:
            sink.create([SinkTable(PARENT)])
            sink.write(PARENT.name, parents(1))
            assert not target.exists()
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert not list(tmp_path.iterdir())


def test_an_existing_target_is_refused_and_kept(tmp_path: Path) -> None:
    target = tmp_path / "old.sqlite"
    target.write_bytes(b"precious")
    with pytest.raises(SinkError, match="exists already"), SqliteSink(target):
        pass
    assert target.read_bytes() == b"precious"


def test_replace_overwrites_but_only_with_something_complete(tmp_path: Path) -> None:
    target = tmp_path / "old.sqlite"
    write(SqliteSink(target), parents(1, 2), children((1, 1, 1)))
    before = target.read_bytes()
    with pytest.raises(SinkError):
        write(SqliteSink(target, replace=True), parents(1), children((1, 1, 7)))
    assert target.read_bytes() == before
    write(SqliteSink(target, replace=True), parents(1), children((1, 1, 1)))
    with closing(sqlite3.connect(target)) as database:
        assert database.execute('SELECT count(*) FROM "or""der"').fetchone() == (1,)


def test_a_file_that_is_no_database_is_not_even_replaced(tmp_path: Path) -> None:
    target = tmp_path / "thesis.db"
    target.write_bytes(b"precious")
    with pytest.raises(SinkError, match="not a SQLite database"):
        write(SqliteSink(target, replace=True), parents(1), children((1, 1, 1)))
    assert target.read_bytes() == b"precious"


def test_the_log_of_a_replaced_file_is_not_left_to_the_new_one(tmp_path: Path) -> None:
    target = tmp_path / "old.sqlite"
    write(SqliteSink(target), parents(1, 2), children((1, 1, 1)))
    with closing(sqlite3.connect(target)) as database:
        database.execute("PRAGMA journal_mode = WAL").fetchall()
    write(SqliteSink(target, replace=True), parents(3), children((1, 1, 3)))
    assert [path.name for path in tmp_path.iterdir()] == ["old.sqlite"]
    with closing(sqlite3.connect(target)) as database:
        assert database.execute('SELECT id FROM "or""der"').fetchall() == [(3,)]


def test_a_folder_that_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(SinkError, match="cannot be written"), SqliteSink(tmp_path / "no" / "x.sqlite"):
        pass


@pytest.mark.parametrize("location", ["{0}/a.sqlite", "{0}/a.db", "sqlite:///{0}/a.x"])
def test_it_is_found_by_suffix_and_by_url(tmp_path: Path, location: str) -> None:
    with open_sink(location.format(tmp_path)) as sink:
        sink.create([SinkTable(PARENT)])
    (made,) = tmp_path.iterdir()
    assert made.stem == "a"


@pytest.mark.parametrize("fraction", [0, 5])
def test_moments_are_written_as_python_writes_them(tmp_path: Path, fraction: int) -> None:
    """Also where all are on the second, which takes another way."""
    seen = [
        datetime(1, 1, 1),
        datetime(1844, 2, 29, 23, 59, 59),
        datetime(9999, 12, 31),
        datetime(1969, 12, 31, 23, 0, 0, fraction),
    ]
    table = ReflectedTable("t", (ReflectedColumn("at", "datetime"),))
    with open_sink(tmp_path / "t.sqlite") as sink:
        sink.create([SinkTable(table)])
        sink.write("t", pa.record_batch({"at": pa.array([*seen, None], type=pa.timestamp("us"))}))
    with closing(sqlite3.connect(tmp_path / "t.sqlite")) as made:
        assert [row[0] for row in made.execute("SELECT at FROM t")] == [*(moment.isoformat(" ") for moment in seen), None]
