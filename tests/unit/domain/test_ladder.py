"""A ladder finds what a binary search finds, whatever the steps."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mare.domain import Ladder

numbers = st.floats(-1e9, 1e9, allow_nan=False)


@given(st.lists(numbers, max_size=60), st.lists(numbers, max_size=30))
def test_it_finds_what_a_binary_search_finds(steps: list[float], others: list[float]) -> None:
    ladder = np.sort(np.array(steps, dtype=np.float64))
    # The steps themselves and their neighbours are where a slip would show.
    asked = np.array([*others, *ladder, *np.nextafter(ladder, -np.inf), *np.nextafter(ladder, np.inf)], dtype=np.float64)
    assert Ladder.of(ladder).find(asked).tolist() == np.searchsorted(ladder, asked, side="right").tolist()


@pytest.mark.parametrize("skew", [1, 8, 60])
def test_it_does_so_for_distributions_on_top_of_each_other(skew: int) -> None:
    rng = np.random.default_rng(skew)
    table = rng.random((300, 40)) ** skew
    steps = np.cumsum(table, axis=1) / table.sum(axis=1, keepdims=True)
    steps[:, -1] = 1.0
    ladder = (steps + np.arange(300)[:, None]).ravel()
    asked = rng.integers(0, 300, 20_000) + rng.random(20_000)
    assert (Ladder.of(ladder).find(asked) == np.searchsorted(ladder, asked, side="right")).all()
