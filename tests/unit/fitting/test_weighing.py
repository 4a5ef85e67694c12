"""What looks say together: the best sums, no noise for values, and nothing lost that was paid for."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from mare.fitting.tapering import tapered
from mare.fitting.weighing import weighed
from mare.privacy.fine_histograms import FineHistogram
from mare.privacy.grids import Grid, Spacing
from mare.privacy.noise import Mechanism


def seen(
    edges: Sequence[float], noisy: Sequence[float], deviation: float = 1.0, mechanism: Mechanism = "discrete gaussian"
) -> FineHistogram:
    return on(Grid(tuple(map(float, edges)), "linear", 1.0), noisy, deviation, mechanism)


def on(grid: Grid, noisy: Sequence[float], deviation: float, mechanism: Mechanism = "discrete gaussian") -> FineHistogram:
    return FineHistogram(grid, np.array(noisy, dtype=np.float64), 0.0, deviation, mechanism, 0.25)


def test_two_looks_at_one_grid_are_the_mean_of_both_by_how_sure_they_are() -> None:
    found = weighed([seen(range(3), [100.0, 300.0], 8.0), seen(range(3), [110.0, 310.0], 4.0)])
    assert found.histogram.noisy == pytest.approx([108.0, 308.0])  # variances 64 and 16
    assert found.histogram.cost == pytest.approx(0.5)


def test_a_coarser_look_corrects_the_sum_of_a_stretch() -> None:
    found = weighed([seen([0, 4, 8], [1030.0, 5000.0], 20.0), seen([0, 2, 4, 8], [200.0, 800.0, 5000.0], 20.0)])
    # [0, 4): 1000 with variance 2 against 1030 with 1: both halves get the same, being equally sure.
    assert found.histogram.noisy == pytest.approx([210.0, 810.0, 5000.0])


def test_a_later_look_may_join_what_an_earlier_one_cut() -> None:
    found = weighed([seen([0, 2, 4, 8], [200.0, 800.0, 5000.0], 20.0), seen([0, 4, 8], [1030.0, 5000.0], 20.0)])
    assert found.histogram.grid.edges == (0, 2, 4, 8)
    assert found.histogram.noisy == pytest.approx([210.0, 810.0, 5000.0])


def test_looks_at_rows_that_were_scaled_down_differently_are_brought_to_one_scale() -> None:
    """An entity's rows count more on a finer grid, where they do not all fall into one cell."""
    found = weighed([seen([0, 4, 8], [1000.0, 3000.0]), seen([0, 2, 4, 8], [500.0, 1500.0, 6000.0])])
    assert found.histogram.noisy == pytest.approx([500.0, 1500.0, 6000.0], rel=0.01)


def test_what_noise_cannot_tell_apart_is_one_piece() -> None:
    noisy = [1000 + noise for noise in (9, -2, 4, 1, -8, 2, 7, -13)]
    found = weighed([seen(range(9), noisy, 10.0)])
    assert found.histogram.noisy == pytest.approx([found.histogram.noisy[0]] * 8)
    assert found.histogram.noisy[0] == pytest.approx(1000.0, abs=10)


@pytest.mark.parametrize("mechanism", ["discrete gaussian", "discrete laplace"])
def test_noise_far_out_is_no_value(mechanism: Mechanism) -> None:
    """400 columns of 100 cells with ten full ones: a false value in about one of two hundred. By seed: the same every time."""
    rng, wrong = np.random.default_rng(4), 0
    for _ in range(400):
        noise = rng.normal(0, 5, 100) if mechanism == "discrete gaussian" else rng.laplace(0, 5 / np.sqrt(2), 100)
        noise[40:50] += 300
        found = weighed([seen(range(101), noise.tolist(), 5.0, mechanism)])
        assert found.clear
        assert found.first <= 40 <= 49 < found.last
        assert found.histogram.noisy.min() >= 0
        thin = tapered(found)
        far = np.asarray([edge < 30 or edge >= 60 for edge in thin.grid.edges[:-1]])
        wrong += thin.noisy[far].sum() > 0.003 * thin.noisy.sum()
    assert wrong <= 10


def test_an_empty_column_rarely_has_clear_bounds() -> None:
    rng = np.random.default_rng(4)
    assert sum(weighed([seen(range(65), rng.normal(0, 5, 64).tolist(), 5.0)]).clear for _ in range(400)) <= 10


def test_a_value_that_many_hold_stands_clear_alone() -> None:
    """-1 for "unknown", far from everything else."""
    noisy = [0.0] * 64
    noisy[3], noisy[50:54] = 300.0, [900.0, 2000.0, 2100.0, 800.0]
    found = weighed([seen(range(65), noisy, 20.0)])
    assert found.histogram.noisy[3] == pytest.approx(300, abs=40)
    assert found.histogram.noisy[5:48].sum() == pytest.approx(0, abs=1)


@pytest.mark.parametrize(("spacing", "middle"), [("linear", 10.0), ("log", 20.0)])
def test_a_long_end_that_is_nearly_empty_thins_out(spacing: Spacing, middle: float) -> None:
    """Incomes from 60,000 to a million, 5 % of all: drawn from evenly they would make millionaires."""
    grid = Grid((0.0, 20.0, 40.0, 60.0, 1000.0), spacing, 1.0)
    thin = tapered(weighed([on(grid, [500.0, 900.0, 500.0, 100.0], 1.0)]))
    edges, rows = np.asarray(thin.grid.edges), thin.noisy
    beyond = edges[:-1] >= 60
    assert rows[beyond].sum() == pytest.approx(100.0, abs=1)
    assert rows.sum() == pytest.approx(2000.0, abs=2)
    reached = np.interp(50.0, np.cumsum(rows[beyond]), edges[1:][beyond])
    assert 60 < reached < 60 + 2 * middle


def test_an_end_that_is_as_full_as_the_rest_stays() -> None:
    found = weighed([seen([0, 20, 40, 60, 80], [850.0, 900.0, 800.0, 860.0])])
    assert tapered(found).grid == found.histogram.grid


def test_zeros_say_nothing_of_how_dense_the_rest_is() -> None:
    found = weighed([seen([0, 1, 60], [9000.0, 1000.0])])
    assert tapered(found).grid == found.histogram.grid
