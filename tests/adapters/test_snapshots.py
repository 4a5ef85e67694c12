"""A source is read in one state: what others write after it was entered is not seen, and mare itself can write nothing."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import duckdb
import pytest
from sqlalchemy.exc import SQLAlchemyError

from mare.errors import SourceError
from mare.finding import open_source
from mare_adapters.sources.sql import SqlSource
from tests.servers import MysqlServer, PostgresServer

MADE = "CREATE TABLE t (a INTEGER PRIMARY KEY); INSERT INTO t VALUES (1), (2);"


def count(source: SqlSource) -> int:
    return sum(batch.num_rows for batch in source.read("t", ["a"]))


def test_postgres_does_not_see_rows_and_tables_written_after_entering(postgres_server: PostgresServer) -> None:
    url = postgres_server.create_database(MADE)
    name = url.rpartition("/")[2]
    with SqlSource(url) as source:
        postgres_server.run(name, "INSERT INTO t VALUES (3)")
        assert count(source) == 2
        assert source.peek("t", "a", 9).values == (1, 2)
    with SqlSource(url) as source:
        assert count(source) == 3


def test_sqlite_in_wal_mode_does_not_see_rows_written_after_entering(tmp_path: Path) -> None:
    path = tmp_path / "w.sqlite"
    with closing(sqlite3.connect(path)) as writer, writer:
        writer.execute("PRAGMA journal_mode = WAL").fetchall()
        writer.executescript(MADE)
        with SqlSource(path) as source:
            writer.execute("INSERT INTO t VALUES (3)")
            writer.commit()
            assert count(source) == 2
        with SqlSource(path) as source:
            assert count(source) == 3


def test_sqlite_without_wal_makes_writers_wait(tmp_path: Path) -> None:
    path = tmp_path / "w.sqlite"
    with closing(sqlite3.connect(path, timeout=0, isolation_level=None)) as writer:
        writer.executescript(MADE)
        with SqlSource(path) as source:
            with pytest.raises(sqlite3.OperationalError, match="locked"):
                writer.execute("INSERT INTO t VALUES (3)")
            assert count(source) == 2
        writer.execute("INSERT INTO t VALUES (3)")


@pytest.mark.slow
def test_mariadb_and_mysql_does_not_see_rows_written_after_entering(either_server: MysqlServer) -> None:
    url = either_server.create_database(MADE)
    with SqlSource(url) as source:
        either_server.run(url.rpartition("/")[2], "INSERT INTO t VALUES (3)")
        assert count(source) == 2
    with SqlSource(url) as source:
        assert count(source) == 3


def test_the_connection_to_postgres_cannot_write(postgres_server: PostgresServer) -> None:
    with (
        SqlSource(postgres_server.create_database(MADE)) as source,
        pytest.raises(SQLAlchemyError, match="read-only transaction"),
    ):
        source._open.exec_driver_sql("INSERT INTO public.t VALUES (9)")


@pytest.mark.slow
def test_the_connection_to_mariadb_and_mysql_cannot_write(either_server: MysqlServer) -> None:
    with SqlSource(either_server.create_database(MADE)) as source, pytest.raises(SQLAlchemyError, match="READ ONLY transaction"):
        source._open.exec_driver_sql("INSERT INTO t VALUES (9)")


def test_the_connection_to_sqlite_cannot_write(tmp_path: Path) -> None:
    path = tmp_path / "r.sqlite"
    with closing(sqlite3.connect(path)) as writer, writer:
        writer.executescript(MADE)
    with SqlSource(path) as source, pytest.raises(SQLAlchemyError, match="readonly database"):
        source._open.exec_driver_sql("INSERT INTO t VALUES (9)")


def test_a_duckdb_file_that_somebody_writes_to_is_refused_with_the_reason(tmp_path: Path) -> None:
    path = tmp_path / "d.duckdb"
    with duckdb.connect(str(path)) as writer:
        writer.execute(MADE)
        with pytest.raises(SourceError, match=r"d\.duckdb cannot be opened.*no other process"):
            open_source(path).__enter__()


def test_a_file_that_changes_while_the_folder_is_open_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "t.csv"
    file.write_text("a\n1\n")
    with open_source(tmp_path) as source:
        source.reflect()
        file.write_text("a\n1\n2\n")
        with pytest.raises(SourceError, match=r"t\.csv changed while it was read"):
            list(source.read("t", ["a"]))
