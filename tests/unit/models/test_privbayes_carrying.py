"""Columns that carry their previous value along, and parents that are looked at more coarsely."""

from __future__ import annotations

import numpy as np
import pytest

from mare.domain import Axis, Coarsening, Codes, Domain, Task
from mare.errors import ReleaseError
from mare.models import settle_options
from mare.models.privbayes import PrivBayesModel
from mare.models.privbayes.agreement import settled_margins
from mare.models.privbayes.candidates import Candidates, Family, sticks
from mare.models.privbayes.fitted import FittedPrivBayes, load_fitted
from mare.models.privbayes.settings import Settings
from mare.privacy.budget import Budget
from tests.unit.models.test_contract import curator_over
from tests.views import ArrayView, array_view

SIZES = {"race": 6, "dead": 4, "ward": 5}
COLUMNS = Domain.of(SIZES.items())
HISTORY = Domain.of((f"v.{name}[-1]", size + 1) for name, size in SIZES.items())
LAGS = {f"v.{name}[-1]": (name, 1) for name in SIZES}
PRESENCE = {name: (Coarsening(np.arange(size) == size - 1, 2),) for name, size in zip(HISTORY.names, HISTORY.sizes, strict=True)}
BEFORE = "v.race[-1]"


def visits(entities: int = 4000) -> ArrayView:
    """A race that hardly ever changes, a death that hardly ever happens, a ward that is another every time."""
    rng = np.random.default_rng(2)
    rows = rng.integers(1, 5, entities)
    owner = np.repeat(np.arange(entities), rows)
    first = np.r_[True, owner[1:] != owner[:-1]]
    codes = {name: np.zeros(len(owner), dtype=np.uint8) for name in SIZES}
    for row in range(len(owner)):
        fresh = first[row] or rng.random() < 0.05
        codes["race"][row] = min(rng.geometric(0.5) - 1, 5) if fresh else codes["race"][row - 1]
        codes["dead"][row] = rng.integers(1, 4) if rng.random() < 0.02 else 0
        codes["ward"][row] = rng.integers(0, 5)
    for name, size in SIZES.items():
        codes[f"v.{name}[-1]"] = np.where(first, size, np.roll(codes[name], 1)).astype(np.uint8)
    view = array_view(owner, codes, HISTORY.merge(COLUMNS), order=np.arange(len(owner)), everyone=np.arange(entities), cap=4)
    return ArrayView(**{**view.__dict__, "coarsenings": PRESENCE})


VIEW = visits()


def task(**options: float | bool | str) -> Task:
    return Task("v.rows", COLUMNS, HISTORY, settle_options(PrivBayesModel(), options), LAGS)


def fitted(epsilon: float = 1e4, **options: float | bool | str) -> FittedPrivBayes:
    model = PrivBayesModel().fit(curator_over(VIEW, Budget(epsilon, 1e-9))[0], task(**options))
    assert isinstance(model, FittedPrivBayes)
    return model


def drawn(model: FittedPrivBayes, seed: int = 1) -> Codes:
    return model.sample(Codes(len(VIEW.owner), {name: VIEW.columns[name] for name in HISTORY}), np.random.default_rng(seed))


def same(codes: np.ndarray) -> float:
    """How often a row has the race of the row before."""
    later = VIEW.columns[BEFORE] < SIZES["race"]
    return float((codes == VIEW.columns[BEFORE])[later].mean())


@pytest.mark.parametrize("search", ["greedy", "noisy_scores"])
def test_what_sticks_is_carried_along_and_what_is_rare_is_not(search: str) -> None:
    assert dict(fitted(search=search).carried) == {"race": BEFORE}


@pytest.mark.parametrize(
    ("same", "different", "chance", "carried"),
    [(900, 100, 0.3, True), (500, 500, 0.3, False), (970, 30, 0.95, False), (1000, -100, 0.97, False), (50, -20, 0.1, False)],
)
def test_more_often_than_chance_and_never_more_often_than_always(
    same: float, different: float, chance: float, carried: bool
) -> None:
    """The fourth: a column that is nearly always NULL, where noise made the changes fewer than none."""
    assert sticks(same, different, 20.0, chance, 0.6) is carried


@pytest.mark.parametrize(("same", "different", "deviation", "chance"), [(596, 121, 45, 0.63), (81_538, 17_751, 19_621, 0.12)])
def test_a_rate_that_noise_may_have_made_carries_nothing(same: float, different: float, deviation: float, chance: float) -> None:
    """Two fits that went wrong: a bank that is mostly NULL (true rate .70), and care units (.06) under a clip chosen badly."""
    assert not sticks(same, different, deviation, chance, 0.6)
    assert sticks(same, different, deviation / 10, chance, 0.6)


def test_where_there_is_no_other_value_it_stays() -> None:
    """Not even the last code comes out by rounding: that is NULL, where a column may be."""
    repeats, new = Family(Axis("x", same_as_lag=1), ()), Family(Axis("x", new_since=1), (Axis("z"),))
    tables = {repeats.child: np.array([[1.0, 0.0]]), new.child: np.tile([0.0, 1.0, 0.0, 0.0], (9, 1))}
    model = FittedPrivBayes({"x": 4, "before": 5, "z": 9}, (repeats, new), tables, carried={"x": "before"})
    z = np.arange(9).repeat(50)
    drawn = model.sample(Codes(len(z), {"before": np.ones_like(z), "z": z}), np.random.default_rng(1))
    assert set(drawn["x"]) == {1}


def test_at_1_nothing_is_carried() -> None:
    assert not fitted(carry=1.0).carried


def test_where_no_row_looks_back_nothing_is_carried() -> None:
    alone = ArrayView(**{**VIEW.__dict__, "memory": 0})
    model = PrivBayesModel().fit(curator_over(alone, Budget(1e4, 1e-9))[0], task())
    assert isinstance(model, FittedPrivBayes)
    assert not model.carried


@pytest.mark.parametrize("epsilon", [1e4, 3.0])
def test_a_carried_column_changes_as_often_as_it_did(epsilon: float) -> None:
    """Failure probability below 1e-6: about 6,000 rows with a row before, of which 4 % change."""
    assert same(drawn(fitted(epsilon))["race"]) == pytest.approx(same(VIEW.columns["race"]), abs=0.02)


def test_first_rows_have_a_value_of_their_own() -> None:
    first = VIEW.columns[BEFORE] == SIZES["race"]
    found = np.bincount(drawn(fitted())["race"][first], minlength=6) / first.sum()
    real = np.bincount(VIEW.columns["race"][first], minlength=6) / first.sum()
    assert np.abs(found - real).sum() / 2 < 0.04


def test_a_change_is_a_change_and_the_first_row_repeats_nothing() -> None:
    """Half of the rows repeat what was before; what is new is code 1 most of the time."""
    families = (Family(Axis("x", same_as_lag=1), ()), Family(Axis("x", new_since=1), (Axis("b", level=1),)))
    tables = {families[0].child: np.array([[0.5, 0.5]]), families[1].child: np.array([[0.2, 0.8, 0.0]] * 2)}
    levels = {Axis("b", level=1): np.array([0, 0, 0, 1])}
    model = FittedPrivBayes({"b": 4, "x": 3}, families, tables, levels, {"x": "b"})
    before = np.repeat([0, 1, 2, 3], 1000).astype(np.uint8)
    codes = model.sample(Codes(4000, {"b": before}), np.random.default_rng(0))["x"].reshape(4, 1000)
    counted = np.array([np.bincount(one, minlength=3) for one in codes]) / 1000
    assert counted == pytest.approx(np.array([[0.5, 0.5, 0], [0.5, 0.5, 0], [0.1, 0.4, 0.5], [0.2, 0.8, 0]]), abs=0.06)
    assert (counted[[0, 1, 3], 2] == 0).all()


def test_what_cannot_change_stays() -> None:
    families = (Family(Axis("x", same_as_lag=1), ()), Family(Axis("x", new_since=1), ()))
    tables = {families[0].child: np.array([[1.0, 0.0]]), families[1].child: np.array([[0.0, 1.0, 0.0]])}
    model = FittedPrivBayes({"b": 4, "x": 3}, families, tables, carried={"x": "b"})
    drawn = model.sample(Codes(50, {"b": np.ones(50, dtype=np.uint8)}), np.random.default_rng(0))["x"]
    assert (drawn == 1).all()


def test_it_comes_back_from_its_arrays() -> None:
    model = fitted()
    back = load_fitted(task(), model.arrays())
    assert back.carried == model.carried
    assert back.looks_at == model.looks_at
    assert (drawn(back)["race"] == drawn(model)["race"]).mean() > 0.999


SMALL = Task("t.rows", Domain(("x",), (3,)), Domain(("b", "c"), (4, 3)), lags={"b": ("x", 1)})
GOOD = {
    "family.0": np.array([2, 0], dtype=np.int32),
    "repeats.0": np.array([0], dtype=np.int32),
    "table.0": np.full((4, 2), 0.5, dtype=np.float32),
    "family.1": np.array([2, 0], dtype=np.int32),
    "new.1": np.array([0], dtype=np.int32),
    "level.1.0": np.array([0, 0, 0, 1], dtype=np.int32),
    "table.1": np.full((2, 3), 0.25, dtype=np.float32),
}


def test_good_arrays_load() -> None:
    model = load_fitted(SMALL, GOOD)
    assert model.carried == {"x": "b"}
    assert [family.repeats for family in model.families] == [True, False]
    assert model.row_by_row


@pytest.mark.parametrize(
    "damage",
    [
        {"repeats.0": np.array([2], dtype=np.int32)},
        {"repeats.0": np.array([1], dtype=np.int32)},
        {"new.1": np.array([7], dtype=np.int32)},
        {"new.1": np.zeros(0, dtype=np.int32)},
        {"new.0": GOOD["repeats.0"], "repeats.0": None},
        {"repeats.1": GOOD["new.1"]},
        {"level.1.0": np.array([0, 0, 1], dtype=np.int32)},
        {"level.1.0": np.array([0, 0, 0, -1], dtype=np.int32)},
        {"level.1.0": np.array([0, 0, 0, 9], dtype=np.int32)},
        {"level.1.0": np.array([0.0, 0.0, 0.0, 1.0])},
        {"table.0": np.full((4, 3), 0.25, dtype=np.float32)},
        {"table.1": None},
        {"family.0": np.array([2.0, 0.0])},
    ],
)
def test_damaged_arrays_are_refused(damage: dict[str, np.ndarray | None]) -> None:
    arrays = {name: array for name, array in {**GOOD, **damage}.items() if array is not None}
    with pytest.raises(ReleaseError, match=r"t\.rows"):
        load_fitted(SMALL, arrays)


ONLY_X, ONLY_AGE = Domain(("x",), (2,)), Domain(("age",), (16,))
AGE = ONLY_X.merge(ONLY_AGE)
HALVES = {"age": (Coarsening(np.arange(16) // 8, 2),)}


def aged(entities: int) -> ArrayView:
    """x depends on which half of its sixteen codes the age is in."""
    rng = np.random.default_rng(4)
    age = rng.integers(0, 16, entities).astype(np.uint8)
    x = (rng.random(entities) < np.where(age >= 8, 0.9, 0.1)).astype(np.uint8)
    nobody = np.zeros(entities, dtype=np.int64)
    view = array_view(np.arange(entities), {"x": x, "age": age}, AGE, order=nobody, cap=1)
    return ArrayView(**{**view.__dict__, "coarsenings": HALVES})


def test_a_large_domain_is_looked_at_coarsely_where_that_is_enough() -> None:
    def parents(**options: int) -> tuple[Axis, ...]:
        settled = settle_options(PrivBayesModel(), options)
        coarse = Task("t.rows", ONLY_X, ONLY_AGE, settled)
        model = PrivBayesModel().fit(curator_over(aged(3000), Budget(2.0, 1e-9))[0], coarse)
        assert isinstance(model, FittedPrivBayes)
        drawn = model.sample(Codes(32, {"age": np.arange(32, dtype=np.uint8) % 16}), np.random.default_rng(1))
        assert drawn["x"].max() == 1
        back = load_fitted(coarse, model.arrays())
        assert back.families[0].parents == model.families[0].parents
        return model.families[0].parents

    assert parents(coarsen_above=15) == (Axis("age", level=1),)
    assert parents(coarsen_above=16) == (Axis("age"),)
    assert parents(coarsen_above=0) == (Axis("age"),)


def test_one_level_of_a_column_is_enough_for_a_family() -> None:
    candidates = Candidates(Task("t.rows", ONLY_X, ONLY_AGE), Settings(), HALVES, drowning=31)
    assert candidates.allowed(Family(Axis("x"), ()), []) == [Axis("age"), Axis("age", level=1)]
    assert candidates.allowed(Family(Axis("x"), (Axis("age", level=1),)), []) == []


def test_where_the_noise_allows_it_a_column_is_looked_at_as_it_is() -> None:
    candidates = Candidates(Task("t.rows", ONLY_X, ONLY_AGE), Settings(), HALVES, drowning=32)
    assert candidates.allowed(Family(Axis("x"), ()), []) == [Axis("age")]


def test_levels_of_a_column_agree() -> None:
    fine = np.array([0.1, 0.2, 0.3, 0.4])
    levels = {"a": (Coarsening(np.array([0, 0, 1, 1]), 2),)}
    said = {Axis("a"): [(fine, 1.0)], Axis("a", level=1): [(np.array([0.5, 0.5]), 1e-9)]}
    margins = settled_margins(said, levels, Task("t.rows", ONLY_X, ONLY_AGE))
    assert margins[Axis("a", level=1)] == pytest.approx([0.5, 0.5], abs=1e-6)
    assert margins[Axis("a")] == pytest.approx([0.2, 0.3, 0.2, 0.3], abs=1e-6)


def test_a_level_without_its_column_stands_for_itself() -> None:
    levels = {"a": (Coarsening(np.array([0, 0, 1, 1]), 2),)}
    margins = settled_margins({Axis("a", level=1): [(np.array([0.7, 0.4]), 1.0)]}, levels, Task("t.rows", ONLY_X, ONLY_AGE))
    assert margins[Axis("a", level=1)] == pytest.approx([0.65, 0.35])


def twins(entities: int = 400) -> tuple[ArrayView, Task]:
    """Labs of a visit, twenty to thirty in a row: its name, its number and its day change together."""
    rng, names = np.random.default_rng(3), ("visit", "number", "day")
    rows = rng.integers(60, 100, entities)
    owner = np.repeat(np.arange(entities), rows)
    first = np.r_[True, owner[1:] != owner[:-1]]
    visit = np.zeros(len(owner), dtype=np.uint8)
    for row in range(len(owner)):
        moved = rng.integers(0, 12) if first[row] or rng.random() < 0.04 else visit[row - 1]
        visit[row] = moved
    sizes = [(f"v.{name}[-1]", 13) for name in names]
    columns, history = Domain.of((name, 12) for name in names), Domain.of(sizes)
    codes = dict.fromkeys(names, visit)
    codes |= {name: np.where(first, 12, np.roll(visit, 1)).astype(np.uint8) for name in history}
    view = array_view(owner, codes, history.merge(columns), order=np.arange(len(owner)), everyone=np.arange(entities), cap=100)
    presence = {name: (Coarsening(np.arange(13) == 12, 2),) for name in history}
    lags = {f"v.{name}[-1]": (name, 1) for name in names}
    told_by = dict.fromkeys((*columns, *history), float(len(owner)))
    options = settle_options(PrivBayesModel(), {"first_rows": 0.0})
    asked = Task("v.rows", columns, history, options, lags, told_by=told_by)
    return ArrayView(**{**view.__dict__, "coarsenings": presence}), asked


def test_columns_that_change_together_still_do() -> None:
    """Each carried on its own, a visit's name would go on while its number changes: of 3,000 steps in which either changes it is
    all three, up to the noise (seeded; .40 were when each was carried on its own)."""
    view, asked = twins()
    model = PrivBayesModel().fit(curator_over(view, Budget(1e3, 1e-9))[0], asked)
    assert isinstance(model, FittedPrivBayes)
    assert set(model.carried) == set(asked.columns)
    made = load_fitted(asked, model.arrays()).sample(
        Codes(len(view.owner), {name: view.columns[name] for name in asked.history}), np.random.default_rng(1)
    )
    before, there = view.columns["v.visit[-1]"], view.columns["v.visit[-1]"] < 12
    changed = there & ((made["visit"] != before) | (made["number"] != before) | (made["day"] != before))
    assert 0.03 < changed.sum() / there.sum() < 0.05
    assert ((made["visit"] == made["number"]) & (made["number"] == made["day"]))[changed].mean() > 0.85
