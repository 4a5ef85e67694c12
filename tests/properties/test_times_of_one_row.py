"""Times of one row that come in no known order stay near each other (`around:`), and what has no anchor lies anywhere.

A small world of its own, with seeded noise and draws: the same every time, so nothing here fails by chance.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from mare.fitting import FitOptions, run_fit
from mare.planning.planning import plan
from mare.privacy.bits import SeededBits
from mare.privacy.budget import Budget
from mare.sampling import sample
from mare.schema.loading import load_schema
from tests.memory_source import MemorySource

SCHEMA = """
mare: 1
entity: people
calendar: {min: 2019-01-01, max: 2023-12-31}
tables:
  people: {key: pid, columns: {sex: {type: category, values: [F, M]}}}
  flights:
    key: id
    parent: {table: people, column: pid, type: sequential, order_by: planned, max_rows: 10}
    columns:
      planned: {type: datetime, after: previous.planned, within: 6y}
      left:    {type: datetime, around: planned, within: 6y, nullable: true}
      landed:  {type: datetime, around: left, within: 6y}
"""
Frames = dict[str, pd.DataFrame]


def flights() -> Frames:
    """They leave some minutes too early or late; one in ten never tells when. Half of them fly for one hour, half for ten."""
    rng, people = np.random.default_rng(1), 600
    pid = np.repeat(np.arange(people), rng.poisson(3, people))
    planned = pd.Timestamp("2019-01-05") + pd.to_timedelta(rng.integers(0, 1800 * 1440, len(pid)), unit="min")
    late = np.where(rng.random(len(pid)) < 0.7, rng.normal(0, 4, len(pid)), rng.exponential(50, len(pid)))
    left = planned + pd.to_timedelta(late.round(), unit="min")
    landed = left + pd.to_timedelta(rng.choice([60, 600], len(pid)), unit="min")
    told = pd.Series(left).where(rng.random(len(pid)) > 0.1)
    rows = pd.DataFrame({"id": np.arange(len(pid)), "pid": pid, "planned": planned, "left": told, "landed": landed})
    rows[["planned", "left", "landed"]] = rows[["planned", "left", "landed"]].astype("datetime64[us]")
    return {"people": pd.DataFrame({"pid": np.arange(people), "sex": rng.choice(["F", "M"], people)}), "flights": rows}


@cache
def synthesised(epsilon: float) -> pd.DataFrame:
    tables = {name: pa.Table.from_pandas(frame, preserve_index=False) for name, frame in flights().items()}
    made_for = plan(load_schema(SCHEMA), Budget(epsilon, 1e-6))
    made = sample(run_fit(made_for, MemorySource(tables), FitOptions(bits=SeededBits(2))), entities=600, seed=3)
    assert made is not None
    return made["flights"]


def minutes(frame: pd.DataFrame, later: str, earlier: str) -> pd.Series:
    return (pd.to_datetime(frame[later]) - pd.to_datetime(frame[earlier])).dropna().dt.total_seconds() / 60


@pytest.mark.parametrize("epsilon", [1000.0, 4.0])
def test_times_that_nothing_orders_stay_as_near_as_they_were_on_either_side(epsilon: float) -> None:
    """Drawn each on its own they were two months apart, at any ε."""
    late, true = minutes(synthesised(epsilon), "left", "planned"), minutes(flights()["flights"], "left", "planned")
    assert abs((late < 0).mean() - (true < 0).mean()) < 0.12
    for part in (0.1, 0.5, 0.9):
        assert late.quantile(part) == pytest.approx(true.quantile(part), abs=20)
    flown = minutes(synthesised(epsilon), "landed", "left")
    assert abs(((flown > 30) & (flown < 90)).mean() - 0.5) < 0.15


def test_what_lies_around_nothing_lies_anywhere_in_the_calendar() -> None:
    made = synthesised(1000.0)
    alone = pd.to_datetime(made[pd.to_datetime(made["left"]).isna()]["landed"])
    assert len(alone) > 50
    assert alone.min() >= pd.Timestamp("2019-01-01")
    assert alone.max() <= pd.Timestamp("2023-12-31 23:59:59")
    assert alone.dt.year.value_counts(normalize=True).max() < 0.35
