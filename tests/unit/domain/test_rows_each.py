"""How many rows a table has, from noisy numbers of entities by how many they have."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mare.domain import Estimate, RowsEach

ENTITIES = 600
DRAWS = 400


def measured(rows: np.ndarray, cap: int, deviation: float) -> list[RowsEach]:
    rng, starts = np.random.default_rng(4), (0, *(1 << power for power in range(cap.bit_length())), cap + 1)
    true = np.histogram(rows, bins=starts)[0]
    entities = [Estimate(ENTITIES + rng.normal(0, 2 * deviation), 2 * deviation) for _ in range(DRAWS)]
    return [RowsEach(true + rng.normal(0, deviation, len(true)), deviation, starts, known) for known in entities]


def ratios(rows: np.ndarray, cap: int, deviation: float) -> np.ndarray:
    return np.array([each.total.value for each in measured(rows, cap, deviation)]) / rows.sum()


WORLDS = {
    "one each": (np.ones(ENTITIES, dtype=int), 20),
    "five to fifteen": (5 + np.arange(ENTITIES) % 11, 400),
    "half have some, a few many": (np.where(np.arange(ENTITIES) % 2, np.minimum(1200 // np.arange(1, ENTITIES + 1), 40), 0), 40),
    "one in eight, up to five": (np.where(np.arange(ENTITIES) % 8, 0, 1 + np.arange(ENTITIES) // 8 % 5), 400),
}


@pytest.mark.parametrize("world", WORLDS)
def test_the_total_is_never_off_by_a_factor_where_it_stands_clear(world: str) -> None:
    """Seeded, 400 draws of the noise: the caps allow an entity up to 400 rows, and every cell of them has noise."""
    found = ratios(*WORLDS[world], deviation=6.0)
    assert 0.85 < np.median(found) < 1.25
    assert np.mean((found < 0.5) | (found > 2)) < 0.06


@pytest.mark.parametrize("cap", [20, 400, 10_000])
def test_a_table_that_is_hidden_by_the_noise_has_few_rows_and_is_doubted(cap: int) -> None:
    """Seeded. Three people have two rows each; the noise is that of seven people in each cell."""
    rows = np.where(np.arange(ENTITIES) < 3, 2, 0)
    several = measured(rows, cap, 7.0)
    assert np.mean([each.clear for each in several]) < 0.1
    made = np.array([each.total.value for each in several])
    assert np.quantile(made, 0.9) < ENTITIES / 3
    assert made.max() < 2 * ENTITIES


def test_rows_that_are_spread_over_many_numbers_are_counted_though_no_cell_stands_clear() -> None:
    """Seeded. Thirty people have one to twenty rows: six in a cell, and a noise of as many."""
    found = ratios(np.where(np.arange(ENTITIES) < 30, 1 + np.arange(ENTITIES) % 20, 0), 20, deviation=6.0)
    assert 0.6 < np.median(found) < 1.25
    assert np.mean(found > 2) < 0.03


@given(st.integers(1, 3000), st.lists(st.floats(-1e4, 1e4), min_size=14, max_size=14), st.floats(1e-3, 1e3))
def test_it_is_a_number_whatever_the_noise(cap: int, noise: list[float], deviation: float) -> None:
    starts = (0, *(1 << power for power in range(cap.bit_length())), cap + 1)
    total = RowsEach(np.array(noise[: len(starts) - 1]), deviation, starts, Estimate(100.0, deviation)).total
    assert total.value >= 0
    assert np.isfinite([total.value, total.deviation]).all()
    assert total.deviation > 0
