"""Copies of a source without some rows: the other rows are there as they were, in the format itself, and nothing else is."""

from __future__ import annotations

import csv
import gzip
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mare.errors import SourceError
from mare.finding import Location, find_copy, open_source
from mare.ports import RemovedRows


def read(location: Location, table: str, *columns: str) -> list[tuple[object, ...]]:
    with open_source(location) as source:
        return [tuple(row.values()) for batch in source.read(table, columns) for row in batch.to_pylist()]


def gone(location: Location, table: str, places: set[int], *columns: str) -> dict[str, RemovedRows]:
    return {table: RemovedRows(columns, frozenset(places), len(read(location, table, *columns)))}


def copied(location: Location, folder: Path, removed: Mapping[str, RemovedRows]) -> Location:
    folder.mkdir()
    copy = find_copy(location)
    assert copy is not None
    return copy(location, folder, removed)


def sqlite(path: Path, script: str) -> Path:
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(script)
    return path


PEOPLE = "CREATE TABLE p (id INTEGER PRIMARY KEY, a TEXT, b TEXT); INSERT INTO p VALUES (1,'z','1'),(2,'y','2'),(3,'x','3');"


@pytest.mark.parametrize(
    "more",
    [
        "",
        "CREATE INDEX whole ON p (a, b);",  # rows come in its order when these columns are read
        "CREATE TRIGGER t AFTER DELETE ON p BEGIN DELETE FROM p; END;",
    ],
)
def test_a_sqlite_file_loses_just_these_rows(more: str, tmp_path: Path) -> None:
    location = sqlite(tmp_path / "d.sqlite", PEOPLE + more)
    whole = read(location, "p", "a", "b")
    rest = copied(location, tmp_path / "copy", gone(location, "p", {0}, "a", "b"))
    assert sorted(read(rest, "p", "a", "b")) == sorted(whole[1:])
    assert len(read(location, "p", "a", "b")) == 3


def test_a_sqlite_table_without_row_numbers_goes_by_its_key(tmp_path: Path) -> None:
    made = "CREATE TABLE p (a TEXT, b INT, PRIMARY KEY (a, b)) WITHOUT ROWID; INSERT INTO p VALUES ('x', 1), ('x', 2), ('y', 1);"
    location = sqlite(tmp_path / "d.sqlite", made)
    rest = copied(location, tmp_path / "copy", gone(location, "p", {1}, "a", "b"))
    assert read(rest, "p", "a", "b") == [("x", 1), ("y", 1)]


def test_a_source_that_others_write_to_is_not_copied(tmp_path: Path) -> None:
    location = sqlite(tmp_path / "d.sqlite", PEOPLE)
    removed = gone(location, "p", {1}, "id")
    sqlite(tmp_path / "d.sqlite", "INSERT INTO p VALUES (4, 'w', '4')")
    with pytest.raises(SourceError, match="more rows than were read"):
        copied(location, tmp_path / "copy", removed)


def test_a_duckdb_file_loses_children_before_their_parents(tmp_path: Path) -> None:
    location = tmp_path / "d.duckdb"
    with duckdb.connect(str(location)) as connection:
        connection.execute("CREATE TABLE p (id INT PRIMARY KEY)")
        connection.execute("CREATE TABLE c (up INT REFERENCES p (id), n INT)")
        connection.execute("INSERT INTO p VALUES (1), (2)")
        connection.execute("INSERT INTO c VALUES (1, 10), (2, 20), (1, 11)")
    removed = gone(location, "p", {0}, "id") | gone(location, "c", {0, 2}, "n")
    rest = copied(location, tmp_path / "copy", removed)
    assert read(rest, "p", "id") == [(2,)]
    assert read(rest, "c", "up", "n") == [(2, 20)]


def test_a_duckdb_file_whose_constraints_hold_on_to_a_row_cannot_be_copied(tmp_path: Path) -> None:
    location = tmp_path / "d.duckdb"
    with duckdb.connect(str(location)) as connection:
        connection.execute("CREATE TABLE p (id INT PRIMARY KEY)")
        connection.execute("CREATE TABLE unknown (up INT REFERENCES p (id))")
        connection.execute("INSERT INTO p VALUES (1)")
        connection.execute("INSERT INTO unknown VALUES (1)")
    with pytest.raises(SourceError, match="cannot be copied without an entity"):
        copied(location, tmp_path / "copy", gone(location, "p", {0}, "id"))


RECORDS = b'a;b\r\n1;"two\r\nlines; and ""quotes"""\r\n\r\n2;5" pipe\r\n3;\xfc\r\n4;last'


@pytest.mark.parametrize("packed", [False, True])
def test_a_csv_file_keeps_every_other_byte(packed: bool, tmp_path: Path) -> None:
    folder = tmp_path / "d"
    folder.mkdir()
    name = "p.csv.gz" if packed else "p.csv"
    (folder / name).write_bytes(gzip.compress(RECORDS) if packed else RECORDS)
    (folder / "other.csv").write_text("a\n1\n")
    before = csv.field_size_limit()
    rest = copied(folder, tmp_path / "copy", {"p": RemovedRows(("a",), frozenset({0, 2}), 4)})
    written = (Path(str(rest)) / name).read_bytes()
    assert (gzip.decompress(written) if packed else written) == b'a;b\r\n\r\n2;5" pipe\r\n4;last'
    assert (Path(str(rest)) / "other.csv").is_symlink()
    assert csv.field_size_limit() == before
    (tmp_path / "other").mkdir()
    with pytest.raises(SourceError, match="other rows than were read"):
        copied(folder, tmp_path / "again", {"p": RemovedRows(("a",), frozenset({0}), 5)})


@pytest.mark.parametrize(("places", "parts"), [({0, 1}, ["part-1", "part-2"]), ({2}, ["part-0", "part-2"]), ({3}, None)])
def test_a_parquet_part_that_is_left_without_rows_is_not_written(places: set[int], parts: Any, tmp_path: Path) -> None:
    folder = tmp_path / "d"
    (folder / "p").mkdir(parents=True)
    for number, values in enumerate([[1, 2], [3], [4, 5]]):
        pq.write_table(pa.table({"a": pa.array(values, pa.int32())}), folder / "p" / f"part-{number}.parquet", row_group_size=1)
    rest = copied(folder, tmp_path / "copy", gone(folder, "p", places, "a"))
    assert read(rest, "p", "a") == [(value,) for place, value in enumerate([1, 2, 3, 4, 5]) if place not in places]
    written = sorted(path.stem for path in (Path(str(rest)) / "p").iterdir())
    assert written == (parts or ["part-0", "part-1", "part-2"])


def test_a_table_that_is_left_without_rows_keeps_its_columns(tmp_path: Path) -> None:
    folder = tmp_path / "d"
    folder.mkdir()
    pq.write_table(pa.table({"a": [1, 2]}), folder / "p.parquet")
    (folder / "q.csv").write_text("a,b\n1,2\n")
    removed = gone(folder, "p", {0, 1}, "a") | gone(folder, "q", {0}, "a")
    rest = copied(folder, tmp_path / "copy", removed)
    assert read(rest, "p", "a") == read(rest, "q", "a", "b") == []


def test_frames_get_the_dtypes_that_they_would_have_had(tmp_path: Path) -> None:
    frame = pd.DataFrame({"word": [1, "two", 3], "gap": [1, None, 3], "fraction": [1.5, None, 2.0], "truth": [True, None, False]})
    public = pd.DataFrame({"a": [1]})
    rest = copied({"p": frame, "public": public}, tmp_path / "copy", {"p": RemovedRows(("word",), frozenset({1}), 3)})
    assert isinstance(rest, dict)
    assert [str(dtype) for dtype in rest["p"].dtypes] == ["int64", "int64", "float64", "bool"]
    assert rest["public"] is public
    assert [str(dtype) for dtype in frame.dtypes] == ["object", "float64", "float64", "object"]


def test_a_server_has_no_copies() -> None:
    assert find_copy("postgresql://user@host/database") is None
    assert find_copy("mysql://user@host/database") is None
