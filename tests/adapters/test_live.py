"""Databases that a program has open, and tables of other libraries, as sources."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import duckdb
import pandas as pd
import pyarrow as pa
import pytest
import sqlalchemy
from sqlalchemy.pool import NullPool, StaticPool

import mare
from mare.errors import SourceError
from mare.finding import open_source, refuse_overlap
from tests.servers import PostgresServer

TABLES = "CREATE TABLE patients (id INTEGER PRIMARY KEY, sex TEXT NOT NULL, born DATE)"
ROWS = "INSERT INTO patients VALUES (1, 'F', '1950-02-03'), (2, 'M', NULL)"
SCHEMA = """
mare: 1
entity: patients
tables:
  patients:
    key: id
    columns:
      sex: {type: category, values: [F, M]}
      born: {type: date, min: 1900-01-01, max: 2020-12-31, nullable: true}
"""


def sqlite_in(path: str) -> sqlite3.Connection:
    connection = sqlite3.connect(path)
    connection.execute(TABLES)
    connection.execute(ROWS)
    connection.commit()
    return connection


def duckdb_in(path: str) -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect(path)
    connection.execute(TABLES)
    connection.execute(ROWS)
    return connection


def rows_of(given: object) -> list[dict[str, object]]:
    with open_source(given) as source:
        assert [table.name for table in source.reflect().tables] == ["patients"]
        return pa.Table.from_batches(source.read("patients", ["id", "sex"])).to_pylist()


WANTED = [{"id": 1, "sex": "F"}, {"id": 2, "sex": "M"}]


@pytest.mark.parametrize("place", ["memory", "file"])
def test_connections_are_read_and_left_as_they_were(place: str, tmp_path: Path) -> None:
    for made, suffix in ((sqlite_in, "sqlite"), (duckdb_in, "duckdb")):
        connection = made(":memory:" if place == "memory" else str(tmp_path / f"a.{suffix}"))
        assert rows_of(connection) == WANTED
        assert connection.execute("SELECT count(*) FROM patients").fetchall() == [(2,)]
        connection.execute("INSERT INTO patients VALUES (3, 'F', NULL)")  # still open, still writable
        connection.close()


@pytest.mark.parametrize("url", ["sqlite://", "sqlite:///{folder}/a.sqlite"])
def test_engines_and_connections_of_sqlalchemy(url: str, tmp_path: Path) -> None:
    engine = sqlalchemy.create_engine(url.format(folder=tmp_path), poolclass=StaticPool)
    with engine.begin() as connection:
        connection.exec_driver_sql(TABLES)
        connection.exec_driver_sql(ROWS)
    assert rows_of(engine) == WANTED
    with engine.connect() as connection:
        assert rows_of(connection) == WANTED
        assert connection.exec_driver_sql("SELECT count(*) FROM patients").scalar() == 2


def test_a_server_is_read_over_the_engines_own_connection(postgres_server: PostgresServer) -> None:
    """Whoever has set a role, a certificate or a place of its own on the engine means these to hold."""
    import psycopg

    url = postgres_server.create_database(f"{TABLES}; {ROWS}")
    made: list[int] = []

    def connect() -> psycopg.Connection:
        made.append(1)
        return psycopg.connect(url)

    engine = sqlalchemy.create_engine("postgresql+psycopg://", creator=connect, poolclass=NullPool)
    assert rows_of(engine) == WANTED
    with engine.connect() as connection:
        assert rows_of(connection) == WANTED
        assert connection.exec_driver_sql("SHOW search_path").scalar() != ""
    assert len(made) >= 2


def test_what_is_not_committed_is_not_seen(tmp_path: Path) -> None:
    connection = sqlite_in(str(tmp_path / "a.sqlite"))
    connection.execute("INSERT INTO patients VALUES (3, 'F', NULL)")
    assert rows_of(connection) == WANTED


def test_an_open_database_is_known_again_as_a_target(tmp_path: Path) -> None:
    from mare.finding import open_sink

    connection = sqlite_in(str(tmp_path / "a.sqlite"))
    with open_source(connection) as source, pytest.raises(mare.MareError, match="source"):
        refuse_overlap(source, open_sink(tmp_path / "a.sqlite", replace=True))


class OfAnotherLibrary:
    """All that polars and others promise."""

    def __init__(self, table: pa.Table) -> None:
        self._table = table

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._table.__arrow_c_stream__(requested_schema)


@pytest.mark.parametrize("wrap", [OfAnotherLibrary, lambda table: table, lambda table: table.to_reader()])
def test_tables_of_other_libraries_are_read_by_arrow(wrap: object) -> None:
    sexes = pa.array(["F", "M"])
    # polars has views of texts, and dictionaries of them
    views = pa.DictionaryArray.from_arrays(pa.array([0, 1], pa.uint32()), sexes.cast(pa.string_view()))
    for kind in (sexes, sexes.dictionary_encode(), sexes.cast(pa.string_view()), views):
        assert rows_of({"patients": wrap(pa.table({"id": [1, 2], "sex": kind}))}) == WANTED  # type: ignore[operator]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (pd.DataFrame({"id": [1]}), "one table without a name"),
        (pa.table({"id": [1]}), "one table without a name"),
        ([1, 2], "a list is no source"),
        (None, "a NoneType is no source"),
        ({"patients": [1, 2]}, "patients is a list"),
    ],
)
def test_what_is_no_source_is_told_what_is(given: object, said: str) -> None:
    with pytest.raises(SourceError, match=said), open_source(given):
        pass


def test_a_closed_connection_is_told_in_words() -> None:
    connection = sqlite_in(":memory:")
    connection.close()
    with pytest.raises(SourceError, match="is it closed"):
        open_source(connection)


def test_a_cursor_is_told_from_its_connection() -> None:
    with pytest.raises(SourceError, match="Give the connection"):
        open_source(sqlite_in(":memory:").cursor())


def test_a_fit_takes_them(tmp_path: Path) -> None:
    release = mare.fit(mare.plan(mare.load_schema(SCHEMA), mare.Budget(1)), duckdb_in(":memory:"))
    made = mare.sample(release, entities=5)
    assert made is not None
    assert len(made["patients"]) == 5
