"""Who has few children does not come out with hundreds, however far off the cap is."""

from __future__ import annotations

from pathlib import Path

import mare
from tests.benchmarks.worlds.drawn import drawn


def test_nobody_has_far_more_children_than_anybody(tmp_path: Path) -> None:
    """Seeded. Nobody has more than 8 payments, the draft allows 100; what a contract looks like has hundreds of cells."""
    world = drawn(9002)
    path = world.write(tmp_path / "drawn.sqlite")
    plan = mare.plan(world.schema(path), mare.Budget(1000, 1e-9))
    made = mare.sample(mare.fit(plan, path, unsafe_seed=1), seed=1, entities=world.entities)
    assert made is not None
    real = world.frames["contracts_payments"]
    assert real.groupby("contracts_id").size().max() == 8
    assert made["contracts_payments"].groupby("contracts_id").size().max() <= 16
    assert abs(len(made["contracts_payments"]) / len(real) - 1) < 0.05
