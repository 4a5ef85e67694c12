"""Owned rows stand in one order, whatever the source's own: by parent, by the schema's order, by hash, by all they hold."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from functools import cache

import duckdb
import pytest

from mare.schema.columns import Integer
from mare.stage.needs import TableNeeds
from mare.stage.truncation import sorted_rows

DESCRIBED = {"when": Integer(type="integer", min=0, max=9), "what": Integer(type="integer", min=0, max=9)}
NEEDS = TableNeeds("visits", "people", (), ("person",), ("when",), ("what",), DESCRIBED)
Row = tuple[int, float | None, int, int]
"""parent, order, hash, value"""


@cache
def database() -> duckdb.DuckDBPyConnection:
    return duckdb.connect(":memory:")


def sorted_values(rows: Sequence[Row]) -> list[Row]:
    database().execute("CREATE OR REPLACE TABLE raw (f0 INTEGER, o0 DOUBLE, h UBIGINT, v0 INTEGER)")
    for row in rows:
        database().execute("INSERT INTO raw VALUES (?, ?, ?, ?)", list(row))
    found = sorted_rows(database(), "raw", "SELECT rowid AS row, f0 AS entity, f0 AS parent FROM raw", NEEDS)
    assert [rows[at][0] for at in found.row] == found.parent.tolist() == found.entity.tolist()
    assert [rows[at][2] for at in found.row] == found.hash.tolist()
    return [rows[at] for at in found.row]


def test_siblings_stand_by_the_order_of_the_schema_and_null_first() -> None:
    rows: list[Row] = [(1, 5.0, 1, 0), (0, 3.0, 2, 0), (1, None, 9, 0), (0, 1.0, 3, 0)]
    assert sorted_values(rows) == [(0, 1.0, 3, 0), (0, 3.0, 2, 0), (1, None, 9, 0), (1, 5.0, 1, 0)]


@pytest.mark.parametrize("tie", [2.0, None, float("nan")], ids=["equal", "NULL", "not a number"])
def test_a_tie_of_order_and_hash_is_broken_by_what_the_rows_hold_not_by_where_they_stood(tie: float | None) -> None:
    """Two rows may share a 64-bit hash, and whoever knows the function can make them: their order must not be the source's."""
    rows: list[Row] = [(0, tie, 7, value) for value in (3, 1, 2)] + [(1, tie, 7, 0)]
    orders = {tuple(row[3] for row in sorted_values(shuffled)) for shuffled in itertools.permutations(rows)}
    assert orders == {(1, 2, 3, 0)}


def test_no_rows_are_in_order() -> None:
    assert sorted_values([]) == []
