"""The endings of numbers: incomes in tens and prices in .99 stay so, and what ends in any digit does so still."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from mare.codec import Bins, LearnedOrder, LearnedScales
from mare.fitting import FitOptions, run_fit
from mare.planning.planning import plan
from mare.privacy.bits import SeededBits
from mare.privacy.budget import Budget
from mare.sampling import sample
from mare.schema.loading import load_schema
from mare.stage.raw_columns import last_digits
from tests.memory_source import MemorySource

SCHEMA = """
mare: 1
entity: people
tables:
  people:
    key: pid
    columns:
      income: {type: integer, min: 0, max: 1000000}
      price: {type: number, min: 0, max: 1000, precision: 2}
      weight: {type: number, learn: true, precision: 1}
      test: {type: category, values: [sodium, crp]}
      level: {type: number, by: test, learn: true, precision: 2}
"""
PEOPLE = 4000


@pytest.fixture(scope="module")
def made():
    """By seed: what comes out is the same every time."""
    rng = np.random.default_rng(1)
    test = rng.choice(["sodium", "crp"], PEOPLE)
    table = pa.table(
        {
            "pid": np.arange(PEOPLE),
            "income": np.minimum(np.round(rng.lognormal(10, 0.7, PEOPLE), -1), 10**6).astype(int),
            "price": rng.integers(0, 30, PEOPLE) + 0.99,
            "weight": np.round(rng.normal(75, 14, PEOPLE), 1),
            "test": test,
            "level": np.where(test == "sodium", np.round(rng.normal(140, 4, PEOPLE)), np.round(rng.lognormal(1, 1, PEOPLE), 2)),
        }
    )
    source = MemorySource({"people": table})
    release = run_fit(plan(load_schema(SCHEMA), Budget(2, 1e-9)), source, FitOptions(bits=SeededBits(2)))
    return release, sample(release, entities=PEOPLE, seed=4)["people"]


def test_usual_endings_stay_usual(made) -> None:
    _, people = made
    assert (people["income"] % 10 == 0).mean() > 0.97
    assert ((people["price"] * 100).round() % 100 == 99).mean() > 0.9
    sodium, crp = (people["level"][people["test"] == name] for name in ("sodium", "crp"))
    assert (sodium == sodium.round()).mean() > 0.9
    assert (crp == crp.round()).mean() < 0.1


def test_a_number_that_ends_in_any_digit_has_no_usual_ones(made) -> None:
    release, people = made
    weight = release.plan.learned["people.weight"]
    assert isinstance(weight, LearnedOrder)
    assert weight.bins is not None
    assert not weight.bins.digits
    assert isinstance(release.plan.learned["people.level"], LearnedScales)
    endings = np.bincount((people["weight"] * 10).round().astype(int) % 10, minlength=10) / PEOPLE
    assert endings.max() < 0.2


def test_endings_are_drawn_inside_their_cell() -> None:
    digits = tuple(1.0 if rest == 99 else 0.0 for rest in range(100))
    bins = Bins((0, 150, 1000), (0, 150, 160, 1000), (10.0, 5.0, 10.0), digits)
    drawn = bins.draw(np.repeat([0, 1], 3000), np.random.default_rng(0))
    assert set(drawn[:3000].tolist()) == {99}
    beyond = drawn[3000:]
    # In the cell from 150 to 160 nothing ends like that: any of its ticks will do.
    assert set(beyond[beyond >= 160].tolist()) == set(range(199, 1000, 100))
    assert len(set(beyond[beyond < 160].tolist())) == 10


def test_numbers_below_zero_end_like_their_own_kind() -> None:
    bins = Bins((-100, 100), (-100, 100), (1.0,), (1.0, *[0.0] * 9))
    assert set((bins.draw(np.zeros(500, dtype=int), np.random.default_rng(0)) % 10).tolist()) == {0}


def test_the_last_digit_comes_first() -> None:
    assert last_digits(np.array([0, 10, 1299, 905, -1])).tolist() == [0, 1, 99, 50, 99]


@pytest.mark.parametrize("digits", [(1.0,) * 7, (-1.0, *[1.0] * 9), (float("nan"),) * 10])
def test_what_are_no_endings_is_refused(digits: tuple[float, ...]) -> None:
    with pytest.raises(ValueError, match="endings"):
        Bins((0, 10), (0, 10), (1.0,), digits)


def test_noise_makes_no_endings_and_no_hours() -> None:
    """Forty columns of few people, by seed; each has one chance in some thousand."""
    columns = [f"a{i}: {{type: integer, min: 0, max: 120}}" for i in range(20)]
    columns += [f"d{i}: {{type: datetime, min: 2000-01-01, max: 2020-12-31}}" for i in range(20)]
    text = "mare: 1\nentity: p\ntables:\n  p:\n    key: pid\n    columns:\n" + "".join(f"      {c}\n" for c in columns)
    rng, people = np.random.default_rng(0), 650
    values: dict[str, object] = {f"a{i}": np.clip(rng.normal(60, 12, people), 0, 120).astype(int) for i in range(20)}
    start = np.datetime64("2000-01-01T00:00:00")
    values |= {f"d{i}": start + rng.integers(0, 20 * 365 * 86400, people) for i in range(20)}
    source = MemorySource({"p": pa.table({"pid": np.arange(people), **values})})
    release = run_fit(plan(load_schema(text), Budget(6, 1e-9)), source, FitOptions(bits=SeededBits(1)))
    learned = [order for order in release.plan.learned.values() if isinstance(order, LearnedOrder)]
    assert len(learned) == 40
    assert [order for order in learned if order.rhythm or (order.bins and order.bins.digits)] == []
