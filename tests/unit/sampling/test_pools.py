"""A pool has as many rows as its schema declares, and never more than the sample refers to."""

from __future__ import annotations

from functools import cache

import pandas as pd
import pytest

from mare.fitting import FitOptions, run_fit
from mare.planning.planning import plan
from mare.privacy.bits import SeededBits
from mare.privacy.budget import Budget
from mare.release import Release
from mare.sampling import sample
from mare.schema.loading import load_schema
from tests.datasets import dataset

SCHEMA = """
mare: 1
entity: people
model: independent
tables:
  people: {key: pid, columns: {sex: {type: category, values: [F, M]}}}
  wards: {pool: {rows: 900}, key: ward_id, columns: {beds: {type: integer, min: 1, max: 40}}}
  staff:
    pool: {rows: 2000}
    key: staff_id
    columns: {job: {type: category, values: [nurse, doctor]}, level: {type: integer, min: 1, max: 9}}
    references: {ward_id: {kind: pool, table: wards}}
  idle: {pool: {rows: 30}, key: idle_id}
  pairs: {pool: {rows: 40}, key: pair_id}
  notes:
    key: nid
    parent: {table: people, column: pid, max_rows: 3}
    references: {staff_id: {kind: pool, table: staff}}
    columns: {kind: {type: category, values: [a, b]}}
  meets:
    key: [pid, pair_id]
    parent: {table: people, column: pid, max_rows: 3}
    references: {pair_id: {kind: pool, table: pairs}}
    columns: {kind: {type: category, values: [a, b]}}
"""


@cache
def fitted() -> Release:
    schema = load_schema(SCHEMA)
    return run_fit(plan(schema, Budget(200.0, 1e-6)), dataset(schema, 1, 200), FitOptions(bits=SeededBits(1)))


def frames(entities: int | None, seed: int = 3) -> dict[str, pd.DataFrame]:
    found = sample(fitted(), entities=entities, seed=seed)
    assert found is not None
    return found


@pytest.mark.parametrize("entities", [0, 1, 10, 200])
def test_a_small_sample_has_a_small_pool(entities: int) -> None:
    made = frames(entities)
    noisy = fitted().plan
    per_entity = max(g.rows for g in noisy.groups if g.group.table == "notes" and g.group.part != "context") / noisy.entities
    assert len(made["staff"]) == pytest.approx(max(1, entities * per_entity), abs=1)
    assert len(made["wards"]) == len(made["staff"])  # one for each that refers to it
    assert set(made["notes"]["staff_id"]) <= set(made["staff"]["staff_id"])
    assert set(made["staff"]["ward_id"]) <= set(made["wards"]["ward_id"])


def test_a_large_sample_has_what_is_declared_and_no_more() -> None:
    made = frames(5000)
    assert (len(made["staff"]), len(made["wards"])) == (2000, 900)


def test_the_rows_of_a_small_pool_are_the_first_of_a_large_one() -> None:
    few, many = frames(10)["staff"].drop(columns="ward_id"), frames(5000)["staff"].drop(columns="ward_id")
    pd.testing.assert_frame_equal(few, many.head(len(few)))


def test_a_pool_is_whole_where_keys_rest_on_it_or_nobody_refers_to_it() -> None:
    made = frames(2)
    assert (len(made["pairs"]), len(made["idle"])) == (40, 30)
    assert not made["meets"].duplicated(["pid", "pair_id"]).any()


def test_rows_of_any_sample_can_be_given_back() -> None:
    before = frames(5000)
    given = {name: before[name][before[name]["pid"] > 4900] for name in ("people", "notes", "meets")}
    made = sample(fitted(), given=given, seed=3)
    assert made is not None
    assert len(made["staff"]) == 2000
    assert set(made["notes"]["staff_id"]) == set(given["notes"]["staff_id"])
