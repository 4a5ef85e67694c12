"""Reading PostgreSQL by COPY gives what reading it row by row gives, and leaves the snapshot usable."""

from __future__ import annotations

from unittest import mock

import pyarrow as pa
import pytest

from mare.errors import SourceError
from mare_adapters.dialects import postgres as postgres_copy
from mare_adapters.sources.sql import SqlSource
from tests.servers import PostgresServer

SCRIPT = """
CREATE TYPE mood AS ENUM ('sad', 'it''s, "ok"');
CREATE TABLE "T" (
    n int, big bigint, small smallint, code numeric(20,0), price numeric(7,2), wide numeric(30,5), free numeric,
    f double precision, r real, yes boolean, day date, at timestamp, zoned timestamptz, clock time, shift timetz, id uuid,
    t text, v varchar(20),
    padded char(5), m mood, doc jsonb, list int[], net inet, paid money, "order" text, "a""b %s" int
);
INSERT INTO "T" VALUES (1, 9223372036854775807, -3, 12345678901234567890, 1.50, 12345678901234567890.5, 0.1, 1.0/3, 1.1, true,
    '1844-02-29', '2200-12-31 23:59:58.123456', '2000-01-01 00:00+02', '10:30:00.5', '10:30+02',
    '00000000-0000-0000-0000-000000000001', E'two\\nlines, "quotes", \\\\. and \\\\N', 'ü', 'x', 'it''s, "ok"', '{"a": [1]}',
    '{1,2}', '10.0.0.1', 12.5, '', 7);
INSERT INTO "T" (n) VALUES (NULL);
INSERT INTO "T" (f, r, free, t) VALUES ('NaN', 'Infinity', 'NaN', E'\\n');
INSERT INTO "T" (f, t, padded) VALUES (-1e-300, ' ', '');
"""


def table_of(source: SqlSource) -> pa.Table:
    (reflected,) = source.reflect().tables
    return pa.Table.from_batches(source.read("T", [column.name for column in reflected.columns]))


def test_every_type_is_read_alike_in_both_ways(postgres_server: PostgresServer) -> None:
    url = postgres_server.create_database(SCRIPT)
    with SqlSource(url) as source:
        with mock.patch.object(postgres_copy, "copied_batches", wraps=postgres_copy.copied_batches) as used:
            fast = table_of(source)
        assert used.called
        with mock.patch.object(postgres_copy, "copying_connection", return_value=None):
            slow = table_of(source)
    assert fast.schema == slow.schema
    assert repr(fast.to_pylist()) == repr(slow.to_pylist())  # NaN is NaN


def test_intervals_and_bytes_are_read_in_the_other_way(postgres_server: PostgresServer) -> None:
    url = postgres_server.create_database("CREATE TABLE t AS SELECT 1 AS a, interval '1 year 2 days' AS i, '\\x00ff'::bytea AS b")
    with SqlSource(url) as source, mock.patch.object(postgres_copy, "copied_batches") as used:
        (row,) = pa.Table.from_batches(source.read("t", ["a", "i", "b"])).to_pylist()
    assert not used.called
    assert (row["i"].days, row["b"]) == (367, b"\x00\xff")


def test_a_single_column_with_nulls_and_a_column_asked_for_twice(postgres_server: PostgresServer) -> None:
    url = postgres_server.create_database("CREATE TABLE t (a text); INSERT INTO t VALUES ('x'), (NULL), (''), (NULL)")
    with SqlSource(url) as source:
        assert [row["a"] for row in pa.Table.from_batches(source.read("t", ["a"])).to_pylist()] == ["x", None, "", None]
        (batch,) = source.read("t", ["a", "a"])
    assert batch.num_columns == 2


def test_a_reader_that_gives_up_leaves_the_snapshot(postgres_server: PostgresServer) -> None:
    url = postgres_server.create_database("CREATE TABLE t AS SELECT n, repeat('x', 100) AS x FROM generate_series(1, 200000) n")
    name = url.rpartition("/")[2]
    with SqlSource(url) as source:
        batches = source.read("t", ["n", "x"])
        assert next(batches).num_rows > 0
        postgres_server.run(name, "DELETE FROM t")
        batches.close()  # type: ignore[attr-defined]
        assert sum(batch.num_rows for batch in source.read("t", ["n"])) == 200_000


def test_rows_that_the_server_cannot_give_are_an_error_without_their_values(postgres_server: PostgresServer) -> None:
    role = postgres_server.create_role("word")
    url = postgres_server.create_database(f"""
        CREATE TABLE t AS SELECT n FROM generate_series(1, 100000) n;
        ALTER TABLE t ENABLE ROW LEVEL SECURITY;
        CREATE POLICY p ON t USING (1000 / (n - 99999) < 1000000);
        GRANT SELECT ON t TO {role};
    """)
    theirs = postgres_server.url(url.rpartition("/")[2], role, "word")
    with (
        SqlSource(theirs) as source,
        pytest.raises(SourceError, match=r"table t of .* cannot be read \(DivisionByZero") as refused,
    ):
        list(source.read("t", ["n"]))
    assert "99999" not in str(refused.value) + repr(refused.value.__context__)


def test_a_server_that_lets_no_statement_last_is_told_with_what_to_ask_for(postgres_server: PostgresServer) -> None:
    role = postgres_server.create_role("word")
    url = postgres_server.create_database(f"""
        CREATE TABLE t AS SELECT n, repeat('x', 1000) AS x FROM generate_series(1, 200000) n;
        GRANT SELECT ON t TO {role};
        ALTER ROLE {role} SET statement_timeout = 100;
    """)
    theirs = postgres_server.url(url.rpartition("/")[2], role, "word")
    with SqlSource(theirs) as source, pytest.raises(SourceError, match=r"took longer than .* lets one.*statement_timeout = 0"):
        list(source.read("t", ["n", *["x"] * 500]))


def test_a_connection_that_drops_in_the_middle_is_told(postgres_server: PostgresServer) -> None:
    url = postgres_server.create_database("CREATE TABLE t AS SELECT n, repeat('x', 1000) AS x FROM generate_series(1, 200000) n")
    name = url.rpartition("/")[2]
    with SqlSource(url) as source:
        batches = source.read("t", ["n", "x"])
        next(batches)
        others = "FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
        postgres_server.run(name, f"SELECT pg_terminate_backend(pid) {others}")
        with pytest.raises(SourceError, match="closed the connection"):
            list(batches)
