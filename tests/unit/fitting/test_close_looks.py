"""A closer look: heavy cells are cut, empty stretches joined, and nothing that was paid for is thrown away."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pytest

from mare.fitting import FitOptions, run_fit
from mare.fitting.close_looks import closer_grid, evenly, weighed_together
from mare.planning.planning import plan
from mare.privacy.bits import SeededBits
from mare.privacy.budget import Budget
from mare.privacy.fine_histograms import FineHistogram
from mare.privacy.grids import Grid
from mare.sampling import sample
from mare.schema.loading import load_schema
from tests.memory_source import MemorySource

GRID = Grid(tuple(float(edge) for edge in range(0, 101, 10)), "linear", 1.0)


def seen(noisy: Sequence[float], deviation: float = 5.0, grid: Grid = GRID, cost: float = 0.1) -> FineHistogram:
    return FineHistogram(grid, np.array(noisy, dtype=np.float64), 0.0, deviation, "discrete gaussian", cost)


def test_a_heavy_cell_is_cut_and_what_is_empty_is_joined() -> None:
    found = closer_grid(seen([0, 3, 900, 40, -4, 2, 1, 0, -3, 61]), 10, evenly)
    assert found is not None
    # The cell from 20 to 30 has nine tenths of all: nine parts. 90 to 100 has 6 %, which is heavy too.
    assert [edge for edge in found.edges if 20 <= edge <= 30] == [20, 21, 22, 23, 24, 26, 27, 28, 29, 30]
    assert [edge for edge in found.edges if edge < 20] == [0]
    assert [edge for edge in found.edges if 30 <= edge <= 90] == [30, 40, 90]
    assert [edge for edge in found.edges if edge >= 90] == [90, 92, 95, 98, 100]


def test_a_grid_on_which_nothing_is_heavy_for_sure_stays() -> None:
    fifty = Grid(tuple(float(edge) for edge in range(0, 101, 2)), "linear", 1.0)
    assert closer_grid(seen([20.0] * 50, deviation=0.1, grid=fifty), 10, evenly) is None  # 2 % each
    assert closer_grid(seen([0.0] * 10), 10, evenly) is None
    assert closer_grid(seen([15.0, *[0.0] * 9]), 10, evenly) is None  # all there is, but it may be noise


def test_a_single_value_is_never_cut() -> None:
    single = Grid((0.0, 1.0, 50.0), "linear", 1.0)
    assert closer_grid(seen([990, 10], grid=single), 10, evenly) is None


def test_two_looks_at_one_grid_are_the_mean_of_both_by_how_sure_they_are() -> None:
    look, last = seen([0.0] * 10, deviation=4.0, cost=0.25), seen([10.0] * 10, deviation=2.0, cost=1.0)
    found = weighed_together(last, [look])
    assert found.noisy == pytest.approx([8.0] * 10)  # variances 16 and 4
    assert found.deviation == pytest.approx((1 / 16 + 1 / 4) ** -0.5)
    assert found.cost == pytest.approx(1.25)


def test_a_coarser_look_corrects_the_sum_of_a_stretch_and_a_joined_cell_is_held_to_its_parts() -> None:
    coarse, fine = Grid((0.0, 4.0, 8.0, 9.0), "linear", 1.0), Grid((0.0, 1.0, 2.0, 4.0, 9.0), "linear", 1.0)
    look, last = seen([30, 5, 5], deviation=1.0, grid=coarse), seen([4, 4, 4, 12], deviation=1.0, grid=fine)
    found = weighed_together(last, [look])
    # [0, 4): 12 with variance 3 against 30 with 1; [4, 9): 12 with 1 against 10 with 2.
    assert found.noisy == pytest.approx([8.5, 8.5, 8.5, 12 - 2 / 3])


PRICES = """
mare: 1
entity: people
tables:
  people:
    key: pid
    columns:
      price: {type: number, min: 0, max: 100, precision: 1}
      income: {type: integer, min: 0, max: 1000000}
"""


def test_three_prices_come_out_as_three_and_incomes_where_they_are() -> None:
    """By seed: what comes out is the same every time."""
    rng = np.random.default_rng(5)
    prices, incomes = rng.choice([9.9, 19.9, 49.9], 10_000, p=[0.5, 0.3, 0.2]), rng.gamma(3.0, 8_000, 10_000).astype(int)
    table = pa.table({"pid": np.arange(10_000), "price": prices, "income": incomes})
    release = run_fit(plan(load_schema(PRICES), Budget(2, 1e-9)), MemorySource({"people": table}), FitOptions(bits=SeededBits(3)))
    made = sample(release, entities=10_000, seed=4)
    assert made is not None
    shares = made["people"]["price"].value_counts(normalize=True)
    for price, share in ((9.9, 0.5), (19.9, 0.3), (49.9, 0.2)):
        assert abs(shares[price] - share) < 0.03
    edges = np.quantile(incomes, np.linspace(0, 1, 11)[1:-1])
    drawn = np.bincount(np.digitize(made["people"]["income"], edges), minlength=10) / 10_000
    assert np.abs(drawn - 0.1).sum() / 2 < 0.1
