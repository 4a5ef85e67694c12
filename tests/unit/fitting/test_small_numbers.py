"""Learned numbers at a small ε: counts stay small, zeros stay zero, incomes in ten thousands stay so."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

from mare.codec import LearnedOrder, OpenBins
from mare.codec.bins import ZERO, roundness
from mare.fitting import FitOptions, run_fit
from mare.fitting.bin_placing import each_value, learned_order, open_grid, seen_values, vague_ends
from mare.fitting.last_digits import round_grid, step_of
from mare.fitting.weighing import weighed
from mare.planning.planning import plan
from mare.privacy.bits import SeededBits
from mare.privacy.budget import Budget
from mare.privacy.fine_histograms import FineHistogram
from mare.privacy.grids import Grid
from mare.sampling import sample
from mare.schema.loading import load_schema
from tests.memory_source import MemorySource

COLUMNS = dict.fromkeys(("bit", "children", "size", "income"), "integer") | {"discount": "number", "score": "number"}
SCHEMA = "mare: 1\nentity: people\ntables:\n  people:\n    key: pid\n    columns:\n" + "".join(
    f"      {name}: {{type: {kind}, learn: true}}\n" for name, kind in COLUMNS.items()
)
PEOPLE = 1500


def fitted(seed: int, epsilon: float = 1.5):
    rng = np.random.default_rng(100 + seed)
    rows = {
        "pid": np.arange(PEOPLE),
        "bit": rng.integers(0, 2, PEOPLE),
        "children": rng.choice(6, PEOPLE, p=[0.3, 0.25, 0.25, 0.12, 0.05, 0.03]),
        "size": rng.choice([1, 2, 3, 4, 5], PEOPLE, p=[0.35, 0.35, 0.15, 0.07, 0.08]),
        "income": rng.choice([10, 20, 30, 40, 60, 90, 120, 170], PEOPLE) * 1000,
        "discount": np.where(rng.random(PEOPLE) < 0.98, 0, np.round(rng.lognormal(1, 0.8, PEOPLE), 2)),
        "score": rng.integers(0, 40, PEOPLE) / 4,
    }
    source = MemorySource({"people": pa.table(rows)})
    release = run_fit(plan(load_schema(SCHEMA), Budget(epsilon, 1e-9)), source, FitOptions(bits=SeededBits(seed)))
    return release, sample(release, entities=PEOPLE, seed=4)["people"]


@pytest.fixture(scope="module")
def made():
    """By seed. What is asserted of it failed at none of 40 other seeds: once in thirteen at most, with 95 % confidence."""
    return fitted(2)[1]


@pytest.fixture(scope="module")
def noisier():
    """By seed. What is asserted of it failed at one of 16 other seeds in one of three columns; before, at most of them."""
    return fitted(2, 0.5)[1]


@pytest.mark.parametrize(("column", "low", "high"), [("bit", 0, 1), ("children", 0, 5), ("size", 1, 5)])
def test_a_small_whole_number_stays_small(noisier, column: str, low: int, high: int) -> None:
    """They had come out as 0 to 250: three powers of ten were one cell of the first look, and drawn from evenly."""
    values = noisier[column]
    assert ((values < low) | (values > high)).mean() < 0.06
    assert values.max() < 20


def test_what_is_mostly_zero_stays_zero(made) -> None:
    """It had come out as 3e-11, and never as zero: the range ended a millionth above zero, and was counted in finer ticks yet."""
    discount = made["discount"]
    assert (discount == 0).mean() > 0.9
    assert not ((discount != 0) & (discount.abs() < 0.01)).any()


def test_numbers_stay_multiples_of_their_step(made) -> None:
    """Incomes in ten thousands had come out as 120001 and 170023."""
    assert (made["income"] % 10_000 == 0).all()
    assert (made["score"] * 100 == (made["score"] * 100).round()).all()


def look(grid: Grid, rows: dict[float, float], deviation: float) -> FineHistogram:
    noisy = np.array([rows.get(edge, 0.0) for edge in grid.edges[:-1]])
    return FineHistogram(grid, noisy, 0.0, deviation, "discrete gaussian", 0.1)


ANYTHING, MILLIONTH = OpenBins(None, None, "linear", 20), Fraction(1, 10**6)


def test_a_range_of_which_no_decade_stood_clear_is_told() -> None:
    """What lies somewhere from 1 to 1,000 had been told by nobody, because up to 1,000 is usual."""
    grid = Grid((-1e18, 0.0, 1.0, 1e3, 1e18), "log", 1.0)
    assert vague_ends(weighed([look(grid, {1.0: 400.0}, 20.0)]), None, ANYTHING) == ["upper"]
    assert vague_ends(weighed([look(open_grid(None, ANYTHING), {1.0: 400.0}, 20.0)]), None, ANYTHING) == []


def test_where_nothing_stood_clear_what_stands_out_is_a_guess() -> None:
    grid = open_grid(None, ANYTHING)
    guess = learned_order(weighed([look(grid, {10.0: 250.0}, 100.0)]), None, ANYTHING)
    assert (guess.low, guess.high) == (10, 99)
    # What is not usual has to stand out more; beyond a million nothing is guessed.
    for begins in (1e5, 1e9):
        assert learned_order(weighed([look(grid, {begins: 250.0}, 100.0)]), None, ANYTHING) == LearnedOrder(0, 999)
    assert learned_order(weighed([look(grid, {1e5: 350.0}, 100.0)]), None, ANYTHING) == LearnedOrder(10**5, 10**6 - 1)


def test_zero_alone_has_no_neighbours_of_a_millionth() -> None:
    grid = open_grid(None, ANYTHING, MILLIONTH)
    order = learned_order(weighed([look(grid, {0.0: 400.0}, 20.0)]), None, ANYTHING, MILLIONTH)
    assert (order.low, order.high) == (0, 0)


def test_values_are_kept_as_far_as_they_stand_out() -> None:
    placed = OpenBins(0, 9, "linear", 20)
    rows = {0.0: 300.0, 1.0: 200.0, 2.0: 90.0, 3.0: 25.0, 4.0: 22.0}
    assert seen_values(placed, weighed([look(each_value(placed), rows, 20.0)])).edges == (0, 1, 2, 3, 4, 5)
    del rows[3.0], rows[4.0]
    assert seen_values(placed, weighed([look(each_value(placed), rows, 20.0)])).edges == (0, 1, 2, 3)


def test_how_round_a_number_is() -> None:
    ticks = np.array([7, 5, 25, 75, 10, 50, 250, 1500, -30, 0, 10**18])
    assert roundness(ticks).tolist() == [0, 1, 2, 2, 3, 4, 5, 7, 3, ZERO, 54]


@pytest.mark.parametrize("step", [1, 5, 10, 25, 50, 100, 250, 1000, 10_000])
def test_the_step_is_found(step: int) -> None:
    """Noise of a twentieth of the rows; of 200 looks at most one is wrong (a chance of 1.3 in 1,000 each, by the thresholds)."""
    rng, grid = np.random.default_rng(1), round_grid(10**6)
    ticks = step * rng.integers(1, 200_000 // step, 2000)
    exact = np.histogram(roundness(ticks), bins=np.asarray(grid.edges))[0]
    found = [
        step_of(FineHistogram(grid, exact + rng.normal(0, 100, grid.cells), 0.0, 100.0, "discrete gaussian", 0.1))
        for _ in range(200)
    ]
    assert sum(one != step for one in found) <= 3


def test_the_largest_ranges_have_a_grid_too() -> None:
    """Where noise takes a range for one that reaches 10^18, a fit of a small world stopped with a refusal."""
    grid, smaller = round_grid(10**18), round_grid(10**17)
    assert grid.edges[-2:] == smaller.edges[-2:] == (ZERO, ZERO + 1)
    rows = np.histogram(roundness(1000 * np.arange(1, 2001)), bins=np.asarray(grid.edges))[0].astype(float)
    assert step_of(FineHistogram(grid, rows, 0.0, 20.0, "discrete gaussian", 0.1)) == 1000


def test_a_finer_step_beside_a_coarse_one_is_seen_and_noise_tells_none() -> None:
    rng, grid = np.random.default_rng(2), round_grid(10**6)
    ticks = np.where(rng.random(2000) < 0.7, 1000, 1) * rng.integers(1, 100, 2000)
    exact = np.histogram(roundness(ticks), bins=np.asarray(grid.edges))[0].astype(float)
    assert step_of(FineHistogram(grid, exact, 0.0, 50.0, "discrete gaussian", 0.1)) == 1
    assert step_of(FineHistogram(grid, exact, 0.0, 5000.0, "discrete gaussian", 0.1)) is None
