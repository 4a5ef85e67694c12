"""How many rows a table has is told before it is read: about, and without an error where nobody knows."""

from __future__ import annotations

import gzip
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import pytest

from mare.errors import SourceError
from mare.finding import Location, open_source
from mare.ports import Sized
from tests.servers import MysqlServer, PostgresServer

ROWS = 50_000
FRAME = pd.DataFrame({"id": range(7, 7 + 3 * ROWS, 3), "name": [f"n{number % 100}" for number in range(ROWS)]})


def about(location: Location, table: str = "people") -> int | None:
    with open_source(location) as source:
        assert isinstance(source, Sized)
        return source.about(table)


def parquet(folder: Path) -> Location:
    FRAME.to_parquet(folder / "people.parquet")
    return folder


def parts(folder: Path) -> Location:
    (folder / "people.parquet").mkdir()
    for half in (0, 1):
        FRAME.iloc[half * ROWS // 2 : (half + 1) * ROWS // 2].to_parquet(folder / "people.parquet" / f"part-{half}.parquet")
    return folder


def csv(folder: Path) -> Location:
    FRAME.to_csv(folder / "people.csv", index=False)
    return folder


def packed(folder: Path) -> Location:
    with gzip.open(folder / "people.csv.gz", "wt") as file:
        FRAME.to_csv(file, index=False)
    return folder


def frames(folder: Path) -> Location:
    return {"people": FRAME}


def duck(folder: Path) -> Location:
    with duckdb.connect(str(folder / "d.duckdb")) as connection:
        connection.register("frame", FRAME)
        connection.execute("CREATE TABLE people AS FROM frame")
    return folder / "d.duckdb"


def sqlite(folder: Path) -> Location:
    """Keys that are far apart, which are SQLite's row numbers too."""
    with closing(sqlite3.connect(folder / "s.sqlite")) as connection, connection:
        connection.execute("CREATE TABLE people (id INTEGER PRIMARY KEY, name TEXT)")
        connection.executemany("INSERT INTO people VALUES (?, ?)", FRAME.itertuples(index=False))
    return folder / "s.sqlite"


@pytest.mark.parametrize("made", [parquet, parts, csv, packed, frames, duck, sqlite])
def test_sources_tell_how_many_rows_there_are(made: Callable[[Path], Location], tmp_path: Path) -> None:
    told = about(made(tmp_path))
    assert told == pytest.approx(ROWS, rel=0.2)
    if made not in (csv, packed, sqlite):
        assert told == ROWS


@pytest.mark.parametrize("made", [parquet, parts, csv, packed, frames, duck, sqlite])
def test_a_table_can_be_read_after_its_size_was_told(made: Callable[[Path], Location], tmp_path: Path) -> None:
    with open_source(made(tmp_path)) as source:
        assert isinstance(source, Sized)
        for _ in range(2):
            source.about("people")
            assert sum(batch.num_rows for batch in source.read("people", ["name"])) == ROWS


@pytest.mark.parametrize("rows", [0, 3])
def test_small_tables_of_sqlite_are_counted(rows: int, tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "s.sqlite")) as connection, connection:
        connection.execute('CREATE TABLE "the ""people""" (id INTEGER)')
        connection.executemany('INSERT INTO "the ""people""" VALUES (?)', [(1,)] * rows)
    assert about(tmp_path / "s.sqlite", 'the "people"') == (rows or None)


def test_what_has_no_row_numbers_is_not_told(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "s.sqlite")) as connection, connection:
        connection.execute("CREATE TABLE people (id TEXT PRIMARY KEY) WITHOUT ROWID")
        connection.execute("INSERT INTO people VALUES ('a')")
    with open_source(tmp_path / "s.sqlite") as source:
        assert isinstance(source, Sized)
        assert source.about("people") is None
        assert sum(batch.num_rows for batch in source.read("people", ["id"])) == 1  # and nothing is broken by asking


def test_a_damaged_file_is_no_error_yet_and_then_one_in_words(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    packed = bytearray(gzip.compress(b"n\n" + b"".join(b"%d\n" % n for n in rng.integers(0, 2**40, 20_000))))
    packed[5000:5050] = bytes(50)
    (tmp_path / "people.csv.gz").write_bytes(packed)
    with open_source(tmp_path) as source:
        assert isinstance(source, Sized)
        assert source.about("people") is None
        with pytest.raises(SourceError, match=r"people\.csv\.gz is damaged"):
            list(source.read("people", ["n"]))


def test_a_file_that_went_away_is_no_error_yet(tmp_path: Path) -> None:
    parquet(tmp_path)
    with open_source(tmp_path) as source:
        source.reflect()
        (tmp_path / "people.parquet").unlink()
        assert isinstance(source, Sized)
        assert source.about("people") is None


POSTGRES = f"""
CREATE TABLE people (id integer PRIMARY KEY, name text);
INSERT INTO people SELECT g, 'n' || g % 100 FROM generate_series(1, {ROWS}) g;
CREATE TABLE years (id integer, year integer) PARTITION BY LIST (year);
CREATE TABLE first_year PARTITION OF years FOR VALUES IN (1);
CREATE TABLE other_years PARTITION OF years DEFAULT;
INSERT INTO years SELECT g, g % 5 FROM generate_series(1, {ROWS}) g;
CREATE TABLE nobody (id integer);
"""


def test_postgres_tells_from_its_statistics(postgres_server: PostgresServer) -> None:
    url = postgres_server.create_database(POSTGRES)
    fresh = about(url)
    assert fresh is not None
    assert ROWS / 5 < fresh < 5 * ROWS  # never analysed: by its size
    postgres_server.run(url.rpartition("/")[2], "ANALYZE")
    assert about(url) == about(url, "years") == ROWS
    assert not about(url, "nobody")


def test_a_database_that_refuses_to_tell_is_read_all_the_same(postgres_server: PostgresServer) -> None:
    url = postgres_server.create_database(POSTGRES)
    role, name = postgres_server.create_role("secret"), url.rpartition("/")[2]
    refuse = "REVOKE EXECUTE ON FUNCTION pg_catalog.pg_partition_tree(regclass) FROM PUBLIC"
    postgres_server.run(name, f'{refuse}; GRANT SELECT ON people TO "{role}"')
    with open_source(postgres_server.url(name, role, "secret")) as source:
        assert isinstance(source, Sized)
        assert source.about("people") is None
        assert sum(batch.num_rows for batch in source.read("people", ["id"])) == ROWS


@pytest.mark.slow
def test_mysql_and_mariadb_tell_from_their_statistics(either_server: MysqlServer) -> None:
    digits = (
        "(SELECT 0 d UNION SELECT 1 UNION SELECT 2 UNION SELECT 3 UNION SELECT 4 UNION SELECT 5 UNION SELECT 6 UNION SELECT 7)"
    )
    number = " + ".join(f"{8**place} * t{place}.d" for place in range(5))
    tables = ", ".join(f"{digits} t{place}" for place in range(5))
    url = either_server.create_database(
        f"CREATE TABLE people (id integer PRIMARY KEY); INSERT INTO people SELECT {number} FROM {tables}; ANALYZE TABLE people;"
    )
    told = about(url)
    assert told is not None
    assert 8**5 / 3 < told < 3 * 8**5  # a few pages stand for all
