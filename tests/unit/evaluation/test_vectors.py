"""A patient with all rows as one vector, worked out by hand; coded alike on all sides."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from mare.evaluation.sides import read_side
from mare.evaluation.vectors import Features, entity_features, some_entities
from tests.few_stays import SCHEMA, here, side


def column(features: Features, name: str) -> np.ndarray:
    return features.values[[feature.name for feature in features.columns].index(name)]


def test_a_patient_with_all_rows_is_one_vector() -> None:
    other = side([(7, "M", 20)], [(70, 7, "2001-01-01", "b", 2.0)], [])
    found, there = entity_features([here(), other], [np.array([0, 1, 2]), np.array([0])])
    assert column(found, "patients.age").tolist() == [30, 40, 50]
    assert len(set(column(found, "patients.sex"))) == 3  # NULL is a value of its own
    assert column(found, "stays: rows").tolist() == [3, 0, 1]
    assert column(found, "given: rows").tolist() == [3, 0, 0]
    assert column(found, "stays.cost, mean") == pytest.approx([6.0, np.nan, 1.0], nan_ok=True)
    assert column(found, "stays.cost, last") == pytest.approx([5.0, np.nan, 1.0], nan_ok=True)  # of the first of March
    frequent, last, elsewhere = (
        column(f, f"stays.ward, {w}") for f, w in ((found, "most frequent"), (found, "last"), (there, "last"))
    )
    assert last[0] == elsewhere[0]  # both are b
    assert len({frequent[0], last[0], frequent[2], frequent[1]}) == 4  # a, b, c and no stay at all
    assert column(found, "given.drug, most frequent")[1] == column(found, "given.drug, most frequent")[2]  # nothing was given
    assert [feature.own for feature in found.columns] == [True] * 2 + [False] * (len(found.columns) - 2)


def test_some_entities_are_enough() -> None:
    (found,) = entity_features([here()], [np.array([2, 0])])
    assert column(found, "patients.age").tolist() == [50, 30]
    assert column(found, "stays: rows").tolist() == [1, 3]
    assert some_entities(here(), 2, np.random.default_rng(0)).size == 2
    (few,) = entity_features([here()], [np.array([0])], most=4)
    assert [feature.name for feature in few.columns] == ["patients.sex", "patients.age", "stays: rows", "given: rows"]


def test_whole_numbers_that_no_double_holds_are_numbers() -> None:
    (found,) = entity_features([side([(1, "F", 5 * 10**18 + 1), (2, "M", 3)], [], [])], [np.array([0, 1])])
    assert column(found, "patients.age").tolist() == [5e18, 3]


def test_what_one_side_lacks_is_left_out_of_all() -> None:
    lacking = read_side(SCHEMA, {"patients": pd.DataFrame({"pid": [1], "age": [3]}), "drugs": pd.DataFrame({"drug": ["x"]})})
    found, there = entity_features([here(), lacking], [np.array([0]), np.array([0])])
    assert [feature.name for feature in found.columns] == [feature.name for feature in there.columns] == ["patients.age"]


def test_a_side_without_rows_has_vectors_without_rows() -> None:
    nobody = side([], [], [])
    found, there = entity_features([here(), nobody], [np.arange(3), np.arange(0)])
    assert there.rows == 0
    assert len(found.columns) == len(there.columns)
