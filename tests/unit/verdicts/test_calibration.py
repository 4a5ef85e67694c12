"""The card keeps its word on small worlds with fixed seeds. `python -m tests.benchmarks.card` does it on large ones."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import mare
from tests.benchmarks.card import BOUNDS, Judged, beyond, judged_fit

SCHEMA = """
mare: 1
entity: people
tables:
  people:
    key: person
    columns:
      sex: {type: category, values: [f, m]}
      region: {type: category, values: [north, east, south, west, centre, coast]}
      income: {type: number, min: 0, max: 20000, precision: 0}
      joined: {type: date, min: 2000-01-01, max: 2019-12-31}
  visits:
    key: visit
    parent: {table: people, column: person, type: sequential, order_by: day, max_rows: 6}
    columns:
      day: {type: date, after: previous.day, within: 5y, first: {after: parent.joined, within: 2y}}
      ward: {type: category, values: [a, b, c, d]}
      urgent: {type: boolean}
"""


REGIONS = {"north": 0.4, "east": 0.25, "south": 0.2, "west": 0.1, "centre": 0.04, "coast": 0.01}


def world(people: int) -> dict[str, pd.DataFrame]:
    """Two tables, skewed and related, as a database would have them."""
    rng = np.random.default_rng(people)
    joined = pd.Timestamp("2000-01-01") + pd.to_timedelta(rng.triangular(0, 6000, 7000, people).astype(int), unit="D")
    persons = pd.DataFrame(
        {
            "person": np.arange(people),
            "sex": rng.choice(["f", "m"], people, p=[0.6, 0.4]),
            "region": rng.choice(
                ["north", "east", "south", "west", "centre", "coast"], people, p=[0.4, 0.25, 0.2, 0.1, 0.04, 0.01]
            ),
            "income": np.clip(rng.lognormal(7.5, 0.6, people), 0, 20000).round(),
            "joined": joined.date,
        }
    )
    whose = np.repeat(np.arange(people), rng.integers(0, 5, people))
    gaps = pd.Series(rng.exponential(90, len(whose)).astype(int) + 1).groupby(whose).cumsum()
    ward = rng.choice(["a", "b", "c", "d"], len(whose), p=[0.5, 0.3, 0.15, 0.05])
    day = (joined[whose] + pd.to_timedelta(gaps.to_numpy(), unit="D")).date
    visits = {"visit": np.arange(len(whose)), "person": whose, "day": day, "ward": ward}
    return {"people": persons, "visits": pd.DataFrame({**visits, "urgent": (ward == "a") & (rng.random(len(whose)) < 0.8)})}


@pytest.fixture(scope="module")
def found() -> list[Judged]:
    schema = mare.load_schema(SCHEMA)
    return [
        judged
        for people, epsilon in ((400, 0.5), (400, 10.0), (2500, 0.5), (2500, 2.0))
        for judged in judged_fit(f"{people} people", schema, world(people), epsilon, seed=7)
    ]


def test_verdicts_hold(found: list[Judged]) -> None:
    for verdict in BOUNDS:
        assert sum(one.verdict == verdict for one in found) >= 8
        assert beyond(found, verdict) <= 0.05, [one for one in found if one.verdict == verdict and one.error > BOUNDS[verdict]]


def test_the_error_stays_below_what_the_card_says_nearly_always(found: list[Judged]) -> None:
    assert sum(one.error > one.at_most for one in found) <= 0.1 * len(found)


def test_dates_of_sequences_that_end_near_where_they_begin_are_not_called_bad(found: list[Judged]) -> None:
    """Four visits in a year, of people who joined over twenty: little adds up along them beside that."""
    visits = [one for one in found if one.column == "visits.day" and one.epsilon >= 2]
    assert [one.verdict for one in visits] == ["coarse"] * 2
    assert all(one.error < one.at_most for one in visits)


def test_it_is_not_called_bad_for_safety_alone(found: list[Judged]) -> None:
    """What it says not to use is, most of it, worse than what it says to trust."""
    errors = {
        verdict: np.median([one.error for one in found if one.verdict == verdict])
        for verdict in ("trust", "coarse", "do not use")
    }
    assert errors["trust"] < errors["coarse"] < errors["do not use"]
