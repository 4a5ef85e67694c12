"""A cap that nobody comes near is no number of rows: beyond those who have most, noise in hundreds of cells makes no more."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import mare
from mare.domain import settled_children
from tests.benchmarks.worlds.drawn import drawn


@pytest.mark.slow
def test_no_contract_has_ten_times_as_many_payments_as_any_had(tmp_path: Path) -> None:
    """Seeded, at next to no noise, of a drawn database whose draft allows 300. Where the most is 8, some had 103 and 58."""
    world = drawn(9002)
    path = world.write(tmp_path / "firm.sqlite")
    plan = mare.plan(world.schema(path), mare.Budget(1000, 1e-9))
    assert world.frames["contracts_payments"].groupby("contracts_id").size().max() == 8
    for seed in (101, 103):
        made = mare.sample(mare.fit(plan, str(path), unsafe_seed=seed), seed=0, entities=world.entities)
        assert made is not None
        assert made["contracts_payments"].groupby("contracts_id").size().max() <= 16


def test_where_the_cells_end_clearly_the_tail_ends_with_them() -> None:
    """A thousand draws of noise in 301 cells, of which alone the whole is told, too: 57 tails were long, and are 11.

    One cell in 30,000 stands four deviations clear of nothing, so one draw in 100 has such: more than 25 have a chance of 10^-5.
    """
    rng, numbers, long = np.random.default_rng(2), np.arange(301), 0
    held = np.exp(-1.7 + numbers * np.log(1.7) - np.cumsum(np.log(np.maximum(numbers, 1))))
    for _ in range(1000):
        noisy = held + rng.normal(0, 1e-4, 301)
        long += settled_children(noisy / noisy.sum(), 1e-4)[20:].sum() > 1e-5
    assert long <= 25
