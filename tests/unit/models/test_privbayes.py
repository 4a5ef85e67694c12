"""PrivBayes: the network it finds, the tables it makes, what it refuses."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from mare.domain import Axis, Codes, Domain, Task, norm_subtract
from mare.errors import PlanError, ReleaseError
from mare.models import settle_options
from mare.models.privbayes import PrivBayesModel
from mare.models.privbayes.candidates import Family
from mare.models.privbayes.fitted import FittedPrivBayes, load_fitted
from mare.models.privbayes.noisy_tables import conditional, one_axis, rake, shrink, weighted_mean
from mare.models.privbayes.settings import Settings
from mare.privacy.budget import Budget
from tests.unit.models.test_contract import COLUMNS, HISTORY, LAGS, curator_over, visits
from tests.views import array_view

HUGE = Budget(1e5, 1e-9)
counts = arrays(np.float64, st.tuples(st.integers(1, 5), st.integers(2, 5)), elements=st.floats(-50, 100))


def task(**options: float | bool | str) -> Task:
    return Task("visits.rows", COLUMNS, HISTORY, settle_options(PrivBayesModel(), options), LAGS)


def fitted(budget: Budget = HUGE, **options: float | bool | str) -> FittedPrivBayes:
    model = PrivBayesModel().fit(curator_over(visits(3000), budget)[0], task(**options))
    assert isinstance(model, FittedPrivBayes)
    return model


def test_it_finds_what_was_planted() -> None:
    parents = {family.column: {axis.column for axis in family.parents} for family in fitted().families}
    assert "visits.unit[-1]" in parents["unit"]
    assert "unit" in parents["urgent"] or "urgent" in parents["unit"]


def test_history_is_a_parent_and_never_a_child() -> None:
    assert {family.column for family in fitted().families} == set(COLUMNS.names)


def test_another_columns_past_is_looked_at_on_request_only() -> None:
    def looked_back(model: FittedPrivBayes) -> bool:
        return any(Axis("visits.unit[-1]") in family.parents for family in model.families if family.column == "urgent")

    assert not looked_back(fitted(looks_back="own"))
    assert looked_back(fitted())


def test_first_rows_have_a_network_of_their_own_where_sequences_are_long_and_noise_is_low() -> None:
    def begins(budget: Budget, length: float, **options: float) -> bool:
        model = PrivBayesModel().fit(curator_over(visits(3000), budget)[0], replace(task(**options), length=length))
        assert isinstance(model, FittedPrivBayes)
        return model.beginning is not None

    assert begins(HUGE, 3.5)
    assert not begins(HUGE, 1.5)
    assert not begins(HUGE, 10.0, first_rows=0.0)
    assert not begins(Budget(0.5, 1e-9), 10.0)


def test_short_sequences_begin_where_they_should_when_later_rows_leave_no_room_for_it() -> None:
    """Failure probability below 1e-6. Stays of three rows each: half of the first wards are those of the kind of stay, every
    other follows from the ward before, and a table has room for one of the two. From that of all rows, a sixth would be right."""
    rng, stays = np.random.default_rng(6), 2000
    kind = rng.integers(0, 6, stays)
    first = np.where(rng.random(stays) < 0.5, kind, rng.integers(0, 6, stays))
    ward = (first[:, None] + np.arange(3)) % 6
    before = np.column_stack([np.full(stays, 6), ward[:, :2]])
    columns, seen = Domain.of([("ward", 6)]), Domain.of([("kind", 6), ("visits.ward[-1]", 7)])
    codes = {"ward": ward.ravel(), "kind": np.repeat(kind, 3), "visits.ward[-1]": before.ravel()}
    of_view = {name: column.astype(np.uint8) for name, column in codes.items()}
    view = array_view(np.repeat(np.arange(stays), 3), of_view, seen.merge(columns), order=np.tile(np.arange(3), stays), cap=3)
    lags = {"visits.ward[-1]": ("ward", 1)}
    asked = Task("visits.rows", columns, seen, settle_options(PrivBayesModel(), {"parents": 1}), lags, length=3.0)
    model = PrivBayesModel().fit(curator_over(view, HUGE)[0], asked)
    kinds = np.tile(np.arange(6, dtype=np.uint8), 1000)
    drawn = model.sample(Codes(6000, {"kind": kinds, "visits.ward[-1]": np.full(6000, 6, dtype=np.uint8)}), rng)["ward"]
    assert (drawn == kinds).mean() == pytest.approx(1 / 2 + 1 / 12, abs=0.08)


def test_no_family_has_more_cells_or_parents_than_allowed() -> None:
    model = fitted(max_cells=10, parents=1)
    assert all(len(family.parents) <= 1 for family in model.families)
    assert all(table.size <= 10 for table in model.conditionals.values())


def test_with_a_huge_budget_the_conditionals_are_the_data() -> None:
    """Failure probability below 1e-6: 7,500 rows, so a conditional of 1,000 rows or more is off by less than 0.08."""
    view, model = visits(3000), fitted()
    drawn = model.sample(Codes(len(view.owner), {name: view.columns[name] for name in HISTORY}), np.random.default_rng(7))
    for unit in range(5):
        real = view.columns["urgent"][view.columns["unit"] == unit].mean()
        made = drawn["urgent"][drawn["unit"] == unit].mean()
        assert abs(real - made) < 0.08
    stays = view.columns["visits.unit[-1]"] < 5
    real_same = (view.columns["unit"] == view.columns["visits.unit[-1]"])[stays].mean()
    made_same = (drawn["unit"] == view.columns["visits.unit[-1]"])[stays].mean()
    assert abs(real_same - made_same) < 0.03


def test_with_hardly_any_budget_it_still_answers() -> None:
    drawn = fitted(Budget(0.01, 1e-9)).sample(
        Codes(10, {name: np.zeros(10, dtype=np.uint8) for name in HISTORY}), np.random.default_rng(1)
    )
    assert drawn.rows == 10


@pytest.mark.parametrize(
    ("options", "word"),
    [
        ({"one_way": 0.0}, "one_way"),
        ({"one_way": 0.8, "structure": 0.3}, "together"),
        ({"children": 0.0}, "children"),
        ({"structure": 0.0}, "structure 0 .*each must be above 0"),
        ({"structure": 0.4, "parents": 1}, "up to 0.8 is spent of it"),
        ({"clip_portion": 1.0}, "clip_portion is 1"),
        ({"clip_bias": 0.0}, "clip_bias 0; the first must be below 1"),
        ({"search": "clairvoyance"}, "greedy or noisy_scores"),
        ({"structure": float("nan")}, "structure is nan"),
        ({"parents": -1}, "parents is -1"),
        ({"max_cells": 0}, "max_cells is 0"),
        ({"looks_back": "far"}, "own or previous or all"),
        ({"raking": 2.5}, "raking is 2.5"),
    ],
)
def test_options_that_make_no_sense_are_refused(options: dict[str, float], word: str) -> None:
    with pytest.raises(PlanError, match=word):
        Settings.of(task(**options))


@given(counts)
def test_norm_subtraction_is_a_distribution(table: np.ndarray) -> None:
    mended = norm_subtract(table)
    assert (mended >= 0).all()
    assert mended.sum() == pytest.approx(1.0)


@given(counts, st.floats(0.01, 50))
def test_shrinking_gives_conditionals_whatever_the_noise(table: np.ndarray, deviation: float) -> None:
    child = norm_subtract(one_axis(table, 1))
    believed = shrink(table, deviation, child)
    assert believed.shape == table.shape
    assert (believed >= -1e-12).all()
    assert believed.sum(axis=-1) == pytest.approx(np.ones(len(table)))


def test_a_slice_of_pure_noise_falls_back_to_fewer_parents() -> None:
    table = np.array([[1000.0, 3000.0], [2.0, -1.0]])
    believed = shrink(table, 5.0, np.array([0.25, 0.75]))
    assert believed[1] == pytest.approx([0.25, 0.75])


def test_what_a_column_never_is_it_is_with_no_parents() -> None:
    """Slices that hold next to nothing are all noise; a day that never comes does not come there. (200 draws of noise.)"""
    rng = np.random.default_rng(11)
    child, sure = np.array([0.7, 0.3, 0.0, 0.0]), np.zeros((6, 12, 4))
    sure[:, :3, :2] = 400 * np.array([0.7, 0.3])
    for _ in range(200):
        assert np.all(shrink(sure + rng.normal(0, 20, sure.shape), 20.0, child)[..., 2:] == 0)


def test_what_cannot_be_is_not_made_out_of_noise() -> None:
    """Each parent has one code: noise around the empty cells is not taken for a little of everything."""
    rng = np.random.default_rng(3)
    sure = np.kron(np.eye(6), np.ones((1, 4))).T * 600.0
    wrong = []
    for _ in range(20):
        believed = shrink(sure + rng.normal(0, 20, sure.shape), 20.0, np.full(6, 1 / 6))
        wrong.append(1 - believed[sure > 0].mean())
    assert np.mean(wrong) < 0.02  # a James–Stein factor per slice leaves 0.04


def test_what_does_not_occur_with_one_parent_alone_occurs_with_none_beside_it() -> None:
    """The last row of a list is always the end, whatever the row before it was: many small slices say so together, none alone."""
    rng, child = np.random.default_rng(4), np.array([0.25, 0.2, 0.25, 0.3])
    sure = np.zeros((2, 7, 4))
    sure[0, :, 3] = 600  # the last row
    sure[1, :, :3] = [500, 400, 500]
    noisy = sure + rng.normal(0, 20, sure.shape)
    assert (noisy[0, :, :3] > 30).any(), "some slices alone would show more than noise mostly does"
    for order in ((0, 1, 2), (1, 0, 2)):
        believed = shrink(noisy.transpose(order), 20.0, child).transpose(np.argsort(order))
        assert (believed[0, :, :3] == 0).all()
        assert (believed[1, :, 3] == 0).all()
        assert believed[1, :, :3] == pytest.approx(np.tile([500 / 1400, 400 / 1400, 500 / 1400], (7, 1)), abs=0.05)


@pytest.mark.parametrize("deviation", [1e-9, 1.0, 15_000.0, 1e12])
def test_a_column_of_one_code_is_certain_however_much_noise_there_is(deviation: float) -> None:
    table = np.array([[[-7853.0]], [[-7700.0]], [[0.0]]])
    assert (shrink(table, deviation, np.ones(1)) == 1).all()


def test_small_codes_are_left_alone_where_noise_would_hide_them() -> None:
    """A code of one row in a hundred, whatever the parent: below the noise of a slice, and not lost."""
    child = np.array([0.01, 0.495, 0.495])
    table = np.outer(np.full(8, 500.0), child) + np.random.default_rng(4).normal(0, 10, (8, 3))
    assert shrink(table, 10.0, child)[:, 0].mean() == pytest.approx(0.01, abs=0.004)


def test_a_rare_code_that_a_parent_decides_is_believed() -> None:
    table = np.array([[200.0, 3.0], [-9.0, 19_800.0]])
    believed = shrink(table, 10.0, np.array([0.01, 0.99]))
    assert believed[0, 0] > 0.95
    assert believed[1, 0] < 0.001


def test_without_noise_the_table_is_what_is_believed() -> None:
    table = np.array([[30.0, 0.0, 70.0], [5.0, 5.0, 0.0]])
    believed = shrink(table, 0.0, np.array([0.3, 0.1, 0.6]))
    assert believed == pytest.approx(table / table.sum(axis=1, keepdims=True), abs=1e-9)


def test_raking_meets_every_margin() -> None:
    rng = np.random.default_rng(2)
    margins = [rng.dirichlet(np.ones(k)) for k in (3, 4, 2)]
    raked = rake(rng.random((3, 4, 2)), margins, 50)
    for axis, margin in enumerate(margins):
        assert one_axis(raked, axis) == pytest.approx(margin, abs=1e-6)


def test_the_mean_trusts_the_precise() -> None:
    agreed, variance = weighted_mean([(np.array([0.5, 0.5]), 1.0), (np.array([0.9, 0.1]), 1e-6)])
    assert agreed == pytest.approx([0.9, 0.1], abs=1e-3)
    assert variance == pytest.approx(1e-6, rel=1e-3)


def test_a_combination_without_mass_takes_the_fallback() -> None:
    assert conditional(np.array([[0.0, 0.0], [1.0, 3.0]]), np.array([0.4, 0.6])).tolist() == [[0.4, 0.6], [0.25, 0.75]]


def test_the_impossible_is_never_drawn() -> None:
    table = np.array([[0.0, 1.0, 0.0], [0.5, 0.0, 0.5]])
    model = FittedPrivBayes({"h": 2, "x": 3}, (Family(Axis("x"), (Axis("h"),)),), {Axis("x"): table})
    drawn = model.sample(Codes(4000, {"h": np.repeat([0, 1], 2000).astype(np.uint8)}), np.random.default_rng(3))["x"]
    assert set(drawn[:2000].tolist()) == {1}
    assert set(drawn[2000:].tolist()) == {0, 2}


SMALL = Task("t.rows", Domain(("x", "y"), (2, 2)), Domain(("h",), (3,)))
GOOD = {
    "family.0": np.array([1], dtype=np.int32),
    "table.0": np.array([[0.5, 0.5]], dtype=np.float32),
    "family.1": np.array([2, 0, 1], dtype=np.int32),
    "table.1": np.full((6, 2), 0.5, dtype=np.float32),
}


def test_good_arrays_load() -> None:
    assert [family.parents for family in load_fitted(SMALL, GOOD).families] == [(), (Axis("h"), Axis("x"))]


@pytest.mark.parametrize(
    "damage",
    [
        {"family.1": np.array([2, 9], dtype=np.int32)},
        {"family.1": np.array([0, 1], dtype=np.int32)},
        {"family.0": np.array([1, 2], dtype=np.int32)},
        {"family.1": np.array([1], dtype=np.int32)},
        {"table.1": np.full((5, 2), 0.5, dtype=np.float32)},
        {"table.1": np.full((6, 2), np.nan, dtype=np.float32)},
        {"table.1": np.zeros((6, 2), dtype=np.float32)},
        {"family.1": np.zeros(0, dtype=np.int32)},
    ],
)
def test_damaged_arrays_are_refused(damage: dict[str, np.ndarray]) -> None:
    with pytest.raises(ReleaseError, match=r"t\.rows"):
        load_fitted(SMALL, {**GOOD, **damage})


def test_missing_arrays_are_refused() -> None:
    with pytest.raises(ReleaseError, match="missing"):
        load_fitted(SMALL, {})
