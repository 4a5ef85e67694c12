"""Bins read off a noisy histogram: post-processing, so no budget here; but every outcome must be a domain."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mare.domain import norm_subtract
from mare.errors import PrivacyError
from mare.privacy.fine_histograms import FineHistogram, cleaned, noisy_bounds, quantile_bins, quantile_count
from mare.privacy.grids import Grid, linear_grid, power_grid
from mare.privacy.noise import Mechanism


def histogram(
    grid: Grid, noisy: list[float], deviation: float = 1.0, mechanism: Mechanism = "discrete gaussian"
) -> FineHistogram:
    return FineHistogram(grid, np.array(noisy, dtype=np.float64), 0.0, deviation, mechanism, 0.1)


@pytest.mark.parametrize(("entities", "bins"), [(-3, 6), (1, 6), (10_000, 6), (100_000, 13), (300_000, 20), (10**8, 20)])
def test_more_entities_allow_more_bins(entities: float, bins: int) -> None:
    assert quantile_count(entities) == bins


def test_bins_of_one_mass() -> None:
    bins = quantile_bins(histogram(linear_grid(0, 8, 8), [10.0] * 8), 4)
    assert (bins.edges, bins.count) == ((0, 2, 4, 6, 8), 4)
    assert bins.masses.tolist() == [20] * 4
    assert bins.weights.tolist() == [10] * 8


def test_a_wide_cell_that_is_heavy_does_not_ask_for_more_bins() -> None:
    bins = quantile_bins(histogram(linear_grid(0, 8, 8), [0.0, 0, 0, 80, 0, 0, 0, 0]), 4)
    assert bins.edges in ((0, 3, 4, 8), (0, 3, 8), (0, 4, 8))


def test_a_heavy_single_value_gets_a_bin_of_its_own() -> None:
    bins = quantile_bins(histogram(linear_grid(0, 9, step=1.0), [50.0, 10, 10, 10, 10, 10, 10, 10, 10, 10]), 3, most=6)
    assert bins.edges[:2] == (0, 1)
    assert bins.count <= 6


def test_there_are_never_more_bins_than_the_plan_allows() -> None:
    heavy = histogram(linear_grid(0, 19, step=1.0), [100.0] * 20)
    assert quantile_bins(heavy, 11, most=20).count == 20
    thinned = quantile_bins(heavy, 11, most=7)
    assert thinned.count == 7
    assert max(thinned.masses) <= 600
    assert quantile_bins(heavy, 20, most=1).edges == (0, 20)


def test_negative_cells_are_taken_from_all_others() -> None:
    assert cleaned(histogram(linear_grid(0, 1, 3), [10.0, 4, -2])).tolist() == [9, 3, 0]
    assert cleaned(histogram(linear_grid(0, 1, 3), [-10.0, -4, -2])).sum() == pytest.approx(1)


noisy_cells = st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=40)


@given(noisy_cells, st.floats(1, 1e6))
def test_norm_subtraction_is_the_nearest_histogram(noisy: list[float], total: float) -> None:
    found = norm_subtract(np.array(noisy), total)
    assert found.min() >= 0
    assert found.sum() == pytest.approx(total, rel=1e-6, abs=1e-6)
    kept = found > 0
    shifts = (np.array(noisy) - found)[kept]
    # one shift for all that stay, and nothing above that shift was dropped: the conditions of the projection
    assert np.ptp(shifts) == pytest.approx(0, abs=1e-6)
    assert (np.array(noisy)[~kept] <= shifts.max() + 1e-6).all()


@given(noisy_cells, st.integers(1, 30), st.integers(1, 30), st.booleans(), st.floats(0.01, 1e5))
def test_whatever_the_noise_says_the_bins_cover_the_grid(
    noisy: list[float], bins: int, most: int, whole: bool, deviation: float
) -> None:
    grid = Grid(tuple(map(float, range(len(noisy) + 1))), "linear", 1.0) if whole else linear_grid(-1, 1, len(noisy))
    learned = quantile_bins(histogram(grid, noisy, deviation), bins, most)
    assert 1 <= learned.count <= most
    assert (learned.edges[0], learned.edges[-1]) == (grid.edges[0], grid.edges[-1])
    assert list(learned.cuts) == sorted(set(learned.cuts))
    assert learned.weights.min() >= 0
    assert learned.masses.sum() == pytest.approx(learned.weights.sum())


@pytest.mark.parametrize(("bins", "most"), [(0, None), (2.5, None), (True, None), (4, 0)])
def test_a_number_of_bins_that_is_none_is_refused(bins: int, most: int | None) -> None:
    with pytest.raises(PrivacyError, match="cannot be cut"):
        quantile_bins(histogram(linear_grid(0, 1, 2), [1.0, 1.0]), bins, most)


GAUSS: list[tuple[Mechanism, float]] = [("discrete gaussian", 2.0), ("discrete laplace", 2.0)]


@pytest.mark.parametrize(("mechanism", "deviation"), GAUSS)
def test_bounds_are_those_of_the_cells_that_stand_clear(mechanism: Mechanism, deviation: float) -> None:
    grid = power_grid(1, 8)  # -8 -4 -2 -1 0 1 2 4 8
    found = noisy_bounds(histogram(grid, [3.0, -5, 90, 4, 2, 900, 40, 3], deviation, mechanism))
    assert (found.low, found.high, found.clear) == (-2, 4, True)


def test_where_nothing_stands_clear_the_fullest_cell_is_the_guess() -> None:
    found = noisy_bounds(histogram(power_grid(1, 8), [1.0, 0, -2, 1, 5, 4, 0, 1], 50.0))
    assert (found.low, found.high, found.clear) == (0, 1, False)


@pytest.mark.parametrize(("mechanism", "deviation"), GAUSS)
def test_an_empty_column_rarely_has_clear_bounds(mechanism: Mechanism, deviation: float) -> None:
    rng = np.random.default_rng(4)
    grid = power_grid()
    draw = (
        (lambda: rng.normal(0, deviation, grid.cells))
        if mechanism == "discrete gaussian"
        else (lambda: rng.laplace(0, deviation / np.sqrt(2), grid.cells))
    )
    wrong = sum(noisy_bounds(histogram(grid, draw().tolist(), deviation, mechanism), 0.1).clear for _ in range(400))
    assert 10 < wrong < 70  # 40 expected, six standard deviations either way


@pytest.mark.parametrize("chance", [0.0, 1.0, float("nan")])
def test_a_chance_that_is_none_is_refused(chance: float) -> None:
    with pytest.raises(PrivacyError, match="chance"):
        noisy_bounds(histogram(power_grid(1, 2), [1.0] * 4), chance)
