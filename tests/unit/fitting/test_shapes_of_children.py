"""How many rows the people of a small study have: what was measured by person shapes what the model makes of it."""

from __future__ import annotations

from statistics import median

import numpy as np
import pandas as pd
import pytest

import mare
from mare.domain import ChildrenInCells, in_agreement

SCHEMA = """
mare: 1
entity: people
tables:
  people:
    key: id
    columns: {a: {type: category, values: [x, y, z]}, b: {type: integer, min: 0, max: 19}, c: {type: integer, min: 0, max: 19}}
  orders:
    key: oid
    parent: {table: people, column: id, type: sequential, order_by: oid, max_rows: 100}
    columns: {p: {type: category, values: [x, y, z]}, q: {type: integer, min: 0, max: 19}, r: {type: integer, min: 0, max: 19}}
"""
CELLS = np.array([0, 1, 2, 4, 8, 16, 32, 64])


def study(people: int) -> dict[str, pd.DataFrame]:
    rng = np.random.default_rng(4)
    who = np.repeat(np.arange(people), rng.poisson(6.6, people))
    ages, values = rng.integers(0, 20, (2, people)), rng.integers(0, 20, (2, len(who)))
    words = np.array(["x", "y", "z"])
    return {
        "people": pd.DataFrame({"id": range(people), "a": words[rng.integers(0, 3, people)], "b": ages[0], "c": ages[1]}),
        "orders": pd.DataFrame(
            {"oid": range(len(who)), "id": who, "p": words[rng.integers(0, 3, len(who))], "q": values[0], "r": values[1]}
        ),
    }


def in_cells(rows: pd.DataFrame, people: int) -> np.ndarray:
    each = np.bincount(rows["id"].value_counts(), minlength=101)
    each[0] = people - each.sum()
    return np.add.reduceat(each, CELLS) / people


def test_people_of_a_small_study_have_as_many_rows_as_they_have() -> None:
    """Seeded. 300 people at ε = 1: cells that the model's own table alone told were off by .19 (median of five), now by .13."""
    real, off = study(300), []
    for seed in range(5):
        plan = mare.plan(mare.load_schema(SCHEMA), mare.Budget(1, 1e-9))
        made = mare.sample(mare.fit(plan, real, unsafe_seed=seed), seed=seed, entities=300)
        assert made is not None
        made["orders"]["id"] = pd.factorize(made["orders"]["id"])[0]
        off.append(float(np.abs(in_cells(made["orders"], 300) - in_cells(real["orders"], 300)).sum()) / 2)
    assert median(off) < 0.16


def test_cells_that_were_measured_apart_count_by_how_sure_they_are() -> None:
    """And the mean stays: what noise adds to a cell of many children is many rows."""
    settled, numbers = np.array([0.1, 0.5, 0.1, 0.1, 0.1, 0.1, 0.0, 0.0]), np.arange(8)
    told = np.array([0.2, 0.2, 0.2, 0.4])
    surer = in_agreement(settled, 1.0, ChildrenInCells((0, 1, 2, 4), told, 0.01))
    assert surer[0] == pytest.approx(0.2, abs=0.001)
    assert surer[1] < 0.4
    assert surer @ numbers == pytest.approx(settled @ numbers)
    for kept in (
        in_agreement(settled, 1e-6, ChildrenInCells((0, 1, 2, 4), told, 0.01)),
        in_agreement(settled, 1.0, ChildrenInCells((0, 1, 2, 4), told, 0.2)),
    ):
        assert np.allclose(kept, settled, atol=0.001)
