"""Bins read off a noisy histogram: post-processing, so no budget here; but every outcome must be a domain."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mare.domain import norm_subtract
from mare.errors import PrivacyError
from mare.privacy.fine_histograms import FineHistogram, LearnedBins, cleaned, quantile_bins, quantile_count
from mare.privacy.grids import Grid
from tests.even_grids import even_grid


def histogram(grid: Grid, noisy: list[float], deviation: float = 1.0) -> FineHistogram:
    return FineHistogram(grid, np.array(noisy, dtype=np.float64), 0.0, deviation, "discrete gaussian", 0.1)


def masses(bins: LearnedBins) -> list[float]:
    """What each bin weighs."""
    return list(np.add.reduceat(bins.weights, bins.cuts[:-1]))


@pytest.mark.parametrize(
    ("rows", "deviation", "bins"),
    [(-3, 1, 6), (1, 1, 6), (10_000, 25, 6), (100_000, 40, 11), (10_000, 4, 11), (300_000, 40, 16), (2000, 0.01, 20), (9, 0, 20)],
)
def test_the_number_of_bins_follows_from_noise_against_signal(rows: float, deviation: float, bins: int) -> None:
    """Ten times less noise is worth as much as ten times more people."""
    assert quantile_count(histogram(even_grid(0, 2, 2), [rows / 2, rows / 2], deviation)) == bins


def test_bins_of_one_mass() -> None:
    bins = quantile_bins(histogram(even_grid(0, 8, 8), [10.0] * 8), 4)
    assert bins.cuts == (0, 2, 4, 6, 8)
    assert bins.weights.tolist() == [10] * 8


def test_a_wide_cell_that_is_heavy_does_not_ask_for_more_bins() -> None:
    bins = quantile_bins(histogram(even_grid(0, 8, 8), [0.0, 0, 0, 80, 0, 0, 0, 0]), 4)
    assert bins.cuts == (0, 8)


def test_a_heavy_single_value_gets_a_bin_of_its_own() -> None:
    bins = quantile_bins(histogram(even_grid(0, 9, step=1.0), [50.0, 10, 10, 10, 10, 10, 10, 10, 10, 10]), 3, most=6)
    assert bins.cuts[:2] == (0, 1)
    assert len(bins.cuts) <= 7


def test_a_few_values_that_are_all_there_is_are_kept_apart() -> None:
    """Twelve planned visits, some of them rare: two of them in one bin would lose which name goes with which day."""
    days = [-7, -1, 1, 14, 28, 42, 56, 84, 112, 140, 168, 182]
    rows = [58.0, 58, 58, 40, 40, 31, 29, 30, 19, 19, 19, 19]
    cells = np.zeros(200)
    cells[[day + 10 for day in days]] = rows
    bins = quantile_bins(histogram(even_grid(-10, 189, step=1.0), cells.tolist(), 0.2), 10, most=20)
    assert sorted(masses(bins)) == sorted(rows)
    drowned = quantile_bins(histogram(even_grid(-10, 189, step=1.0), cells.tolist(), 10.0), 6, most=20)
    assert len(masses(drowned)) < 12, "what does not stand clear of the noise has no bin of its own"


def test_there_are_never_more_bins_than_the_plan_allows() -> None:
    heavy = histogram(even_grid(0, 19, step=1.0), [100.0] * 20)
    assert quantile_bins(heavy, 11, most=20).cuts == tuple(range(21))
    thinned = quantile_bins(heavy, 11, most=7)
    assert len(masses(thinned)) == 7
    assert max(masses(thinned)) <= 600
    assert quantile_bins(heavy, 20, most=1).cuts == (0, 20)


def test_no_bin_is_nearly_empty() -> None:
    """A model's noise would put people there: of incomes up to a million, the last bin would be the empty part above 60,000."""
    bins = quantile_bins(histogram(even_grid(0, 8, 8), [20.0, 20, 20, 50, 0, 0, 0, 0.5]), 4)
    assert bins.cuts == (0, 1, 3, 8)


def test_negative_cells_are_taken_from_all_others() -> None:
    assert cleaned(histogram(even_grid(0, 1, 3), [10.0, 4, -2])).tolist() == [9, 3, 0]
    assert cleaned(histogram(even_grid(0, 1, 3), [-10.0, -4, -2])).sum() == pytest.approx(1)


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
    grid = Grid(tuple(map(float, range(len(noisy) + 1))), "linear", 1.0) if whole else even_grid(-1, 1, len(noisy))
    learned = quantile_bins(histogram(grid, noisy, deviation), bins, most)
    assert 1 <= len(learned.cuts) - 1 <= most
    assert (learned.cuts[0], learned.cuts[-1]) == (0, len(noisy))
    assert list(learned.cuts) == sorted(set(learned.cuts))
    assert learned.weights.min() >= 0


@pytest.mark.parametrize(("bins", "most"), [(0, None), (2.5, None), (True, None), (4, 0)])
def test_a_number_of_bins_that_is_none_is_refused(bins: int, most: int | None) -> None:
    with pytest.raises(PrivacyError, match="cannot be cut"):
        quantile_bins(histogram(even_grid(0, 1, 2), [1.0, 1.0]), bins, most)
