"""Ids that two columns share in the source, and that no reference ties: where they come apart it is told."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import mare
from mare.evaluation.verdict import verdict
from mare.schema import Schema
from mare.schema.loading import load_schema
from tests.plain import plainly

SHOP = """
mare: 1
entity: people
tables:
  people: {key: pid, columns: {sex: {type: category, values: [f, m]}}}
  orders:
    key: oid
    parent: {table: people, column: pid, max_rows: 9}
    columns:
      slip: {type: identifier}
      line: {type: identifier}
      amount: {type: integer, min: 0, max: 9}
  bills:
    key: bid
    parent: {table: people, column: pid, max_rows: 9}
    columns:
      slip: {type: identifier, generate: pattern, pattern: 'S{n}'}
      line: {type: identifier}
"""
Frames = dict[str, pd.DataFrame]


def shop(seed: int, first: int) -> Frames:
    """Each bill is of an order of the same person; lines are counted by person, which is no id of anything."""
    rng = np.random.default_rng(seed)
    pids = np.arange(100)
    of, slips = pids.repeat(3), first + rng.permutation(300)
    line = np.tile([1, 2, 3], 100)
    orders = pd.DataFrame({"oid": np.arange(300), "pid": of, "slip": slips, "line": line, "amount": rng.integers(0, 9, 300)})
    bills = pd.DataFrame({"bid": np.arange(200), "pid": of[:200], "slip": slips[:200].astype(str), "line": line[:200]})
    return {"people": pd.DataFrame({"pid": pids, "sex": "f"}), "orders": orders, "bills": bills}


@pytest.fixture(scope="module")
def schema() -> Schema:
    return load_schema(SHOP)


def test_ids_that_still_agree_are_no_matter_how_they_are_called(schema: Schema) -> None:
    found = mare.evaluate(schema, shop(1, 10_000), shop(2, 77_000))
    assert found.unlawful == ()
    assert found.looked_at["law"] >= 1


def test_ids_that_come_apart_are_told(schema: Schema) -> None:
    made = shop(2, 77_000)
    found = mare.evaluate(schema, shop(1, 10_000), {**made, "bills": made["bills"].assign(slip=np.arange(200).astype(str))})
    assert [f"{law.where} {law.what}" for law in found.unlawful] == ["bills.slip is no orders.slip of the same entity"]
    said = "bills.slip is no orders.slip of the same entity in 100.0% of 200 rows, never in the real ones"
    assert said in plainly(verdict(found))


def test_ids_of_other_people_are_not_the_same(schema: Schema) -> None:
    made = shop(2, 77_000)
    turned = made["bills"].assign(slip=made["bills"].slip[::-1].to_numpy())
    assert len(mare.evaluate(schema, shop(1, 10_000), {**made, "bills": turned}).unlawful) == 1
