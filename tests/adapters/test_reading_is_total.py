"""Whatever a format lets a value be, it ends no read, and the other rows are read as they are without it."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pandas as pd
import psycopg
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mare.finding import open_source
from tests.servers import PostgresServer


def _bytes_as(kind: pa.DataType) -> pa.Array:
    raw = pa.array([b"ok", b"\xff\xfe"], pa.binary() if kind == pa.string() else pa.large_binary())
    return pa.Array.from_buffers(kind, 2, raw.buffers())


_LETTERS = _bytes_as(pa.string())
FAR = {
    "letters that are none": _LETTERS,
    "long letters that are none": _bytes_as(pa.large_string()),
    "packed letters that are none": pa.DictionaryArray.from_arrays(pa.array([0, 1], pa.int32()), _LETTERS),
    "a list of letters that are none": pa.ListArray.from_arrays(pa.array([0, 1, 2], pa.int32()), _LETTERS),
    "a list of far moments": pa.ListArray.from_arrays(pa.array([0, 1, 2], pa.int32()), pa.array([0, 2**62], pa.timestamp("us"))),
    "a far moment in seconds": pa.array([0, 2**50], pa.timestamp("s")),
    "a far moment in milliseconds": pa.array([0, -(2**62)], pa.timestamp("ms")),
    "a moment after Python's": pa.array([300_000_000_000, 2**50], pa.timestamp("s")),
    "a long time in seconds": pa.array([1, 2**62], pa.duration("s")),
    "a time of more than a day": pa.array([1, 2**40], pa.int64()).view(pa.time64("us")),
    "more digits than there are": pa.array([Decimal(1), Decimal(10) ** 60], pa.decimal256(76, 0)),
    "a number beyond 63 bits": pa.array([1, 2**64 - 1], pa.uint64()),
}


@pytest.mark.parametrize("what", FAR)
def test_the_row_beside_a_far_value_is_read_as_without_it(what: str, tmp_path: Path) -> None:
    values = FAR[what]
    found = []
    for name, rows in (("with", 2), ("without", 1)):
        (tmp_path / name).mkdir()
        pq.write_table(pa.table({"n": pa.array([1, 2])[:rows], "c": values[:rows]}), tmp_path / name / "t.parquet")
        with open_source(tmp_path / name) as source:
            batches = list(source.read("t", ["n", "c"]))
        (first,) = (batch.slice(0, 1) for batch in batches)
        assert sum(batch.num_rows for batch in batches) == rows
        found.append((str(first.schema), str(first)))
    assert found[0] == found[1]


def test_texts_of_one_part_are_not_taken_for_the_numbers_of_another(tmp_path: Path) -> None:
    """007 is a text whoever else is there: whether all texts of its part are numbers is decided by others."""
    for name, odd in (("with", "abc"), ("without", "008")):
        (tmp_path / name / "t.parquet").mkdir(parents=True)
        pd.DataFrame({"code": [7]}).to_parquet(tmp_path / name / "t.parquet" / "1.parquet")
        pd.DataFrame({"code": ["007", odd]}).to_parquet(tmp_path / name / "t.parquet" / "2.parquet")
        with open_source(tmp_path / name) as source:
            assert [value for batch in source.read("t", ["code"]) for value in batch.column(0).to_pylist()] == [7, "007", odd]


def test_a_letter_that_the_encoding_of_a_server_does_not_have_ends_nothing(postgres_server: PostgresServer) -> None:
    postgres_server.run("postgres", "CREATE DATABASE holes TEMPLATE template0 ENCODING 'WIN1252' LC_COLLATE 'C' LC_CTYPE 'C'")
    with psycopg.connect(postgres_server.url("holes"), autocommit=True) as server:
        server.execute("CREATE TABLE t (n int, a text)")
        server.execute("SET client_encoding = 'WIN1252'")
        server.pgconn.exec_(b"INSERT INTO t VALUES (1, 'gr\xfc\xdfe'), (2, 'x\x81y')")
    with open_source(postgres_server.url("holes")) as source:
        rows = {row["n"]: row["a"] for batch in source.read("t", ["n", "a"]) for row in batch.to_pylist()}
    assert rows[1] == "grüße"
    assert rows[2].startswith("x")
