"""Numbers near to others: what is drawn inside of a bin goes by how far numbers usually are from each other."""

from __future__ import annotations

import numpy as np
import pytest

from mare.codec import Bins
from mare.codec.nearness import Nearness, drawn_near
from mare.domain import RowDraws

ROWS = 20_000
BINS = Bins((0, 500, 600, 700, 1400), (0, 400, 500, 550, 600, 650, 700, 900, 1400), (1.0, 2.0, 3.0, 3.0, 3.0, 3.0, 2.0, 1.0))
EDGES = (-1400, -63, -31, -15, -7, -3, 0, 1, 4, 8, 16, 32, 64, 1401)
CHANCE = (0.45, 0.012, 0.008, 0.004, 0.002, 0.0015, 0.0005, 0.0015, 0.002, 0.004, 0.008, 0.012, 0.4945)
USUAL = (0.0, 0.0, 0.05, 0.15, 0.15, 0.1, 0.1, 0.1, 0.15, 0.15, 0.05, 0.0, 0.0)


def purposes(seed: int = 1, rows: int = ROWS):  # type: ignore[no-untyped-def]
    draws = RowDraws(np.arange(rows, dtype=np.uint64), seed)
    return lambda purpose: draws.at(purpose)


def drawn(others: np.ndarray, near: Nearness, there: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
    before = BINS.draw(BINS.assign(others), RowDraws(np.arange(len(others), dtype=np.uint64), 7))  # type: ignore[arg-type]
    held = np.ones(len(others), dtype=np.bool_) if there is None else there
    return before, drawn_near(before, [(near, others, held)], BINS, purposes(rows=len(others)))


def test_a_value_lies_near_the_other_one_and_in_its_own_bin() -> None:
    others = BINS.draw(np.arange(ROWS) % 4, np.random.default_rng(3))
    before, after = drawn(others, Nearness(None, 0, EDGES, USUAL, CHANCE))
    assert (BINS.assign(after) == BINS.assign(before)).all()
    assert np.median(np.abs(before - others)) > 40
    assert np.quantile(np.abs(after - others), 0.95) <= 32


def test_around_a_center() -> None:
    others = np.full(ROWS, 1000, dtype=np.int64)
    _, after = drawn(others, Nearness("post", 100, EDGES, USUAL, CHANCE))
    assert np.quantile(np.abs(after - 1100), 0.95) <= 32


def test_differences_that_chance_makes_change_nothing() -> None:
    """A mean of 20,000 draws of at most 700 apart is off by 8 or more with a chance below 1e-5."""
    others = np.full(ROWS, 900, dtype=np.int64)
    before, after = drawn(others, Nearness(None, 0, EDGES, CHANCE, CHANCE))
    assert abs(before.mean() - after.mean()) < 8
    assert abs(np.quantile(before, 0.9) - np.quantile(after, 0.9)) < 25


def test_where_there_is_no_other_one_its_place_is_no_matter() -> None:
    near, there = Nearness(None, 0, EDGES, USUAL, CHANCE), np.zeros(ROWS, dtype=np.bool_)
    before = BINS.draw(np.arange(ROWS) % 4, np.random.default_rng(7))
    nowhere, somewhere = (np.full(ROWS, place, dtype=np.int64) for place in (0, 650))
    some, more = (drawn_near(before, [(near, others, there)], BINS, purposes()) for others in (nowhere, somewhere))
    assert (some == more).all()


def test_endings_stay_those_of_the_bins() -> None:
    bins = Bins(BINS.edges, BINS.cells, BINS.weights, tuple(float(k in (0, 50)) for k in range(100)))
    others = np.full(ROWS, 800, dtype=np.int64)
    before = bins.draw(np.full(ROWS, 3), np.random.default_rng(2))
    near = Nearness(None, 0, EDGES, (0.02, *USUAL[1:-1], 0.02), CHANCE)
    after = drawn_near(before, [(near, others, np.ones(ROWS, dtype=np.bool_))], bins, purposes())
    assert set((after % 50).tolist()) == {0}


def test_steps_of_a_column_are_kept() -> None:
    bins = Bins((0, 500, 1400), (0, 500, 1400), (1.0, 1.0), (), 5)
    others = np.full(ROWS, 800, dtype=np.int64)
    before = bins.draw(np.ones(ROWS, dtype=np.int64), np.random.default_rng(2))
    after = drawn_near(
        before, [(Nearness(None, 0, EDGES, USUAL, CHANCE), others, np.ones(ROWS, dtype=np.bool_))], bins, purposes()
    )
    assert set((after % 5).tolist()) == {0}
    assert np.quantile(np.abs(after - others), 0.9) <= 32


@pytest.mark.parametrize("wrong", [{"edges": (0, 0, 1)}, {"usual": (0.5,)}, {"chance": (0.0,) * 13}, {"usual": (-1.0,) * 13}])
def test_what_is_no_nearness(wrong: dict[str, object]) -> None:
    fields = {"beside": None, "center": 0, "edges": EDGES, "usual": USUAL, "chance": CHANCE}
    with pytest.raises(ValueError, match="difference"):
        Nearness(**(fields | wrong))  # type: ignore[arg-type]
