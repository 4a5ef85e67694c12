"""Whoever is still there when the data ends has that day for an end: as many as in the source, and nobody else."""

from __future__ import annotations

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
entity: patients
calendar: {min: 1995-01-01, max: 2009-12-31}
tables:
  patients:
    key: pid
    columns:
      entered: {type: date}
      left: {type: date, after: entered, within: 15y}
      called: {type: date, after: entered, within: 30d, nullable: true}
  stays:
    parent: {table: patients, column: pid, max_rows: 3}
    columns:
      began: {type: datetime, after: patients.entered, within: 15y}
      ended: {type: datetime, after: began, learn: true}
"""
PEOPLE, END = 3000, np.datetime64("2009-12-31")


@pytest.fixture(scope="module")
def made() -> tuple[dict[str, pa.Table], dict[str, pd.DataFrame]]:
    """By seed. Most are followed up to the end, a third of the stays are not over, calls come within a month."""
    rng = np.random.default_rng(2)
    entered = np.datetime64("1995-01-01") + rng.integers(0, 5400, PEOPLE)
    calls = np.minimum(entered + rng.integers(0, 30, PEOPLE), END - 1)
    patients = pa.table(
        {
            "pid": np.arange(PEOPLE),
            "entered": entered,
            "left": np.minimum(entered + 1 + rng.exponential(9000, PEOPLE).astype(int), END),
            "called": pa.array(calls, mask=rng.random(PEOPLE) < 0.5),
        }
    )
    pids = np.repeat(np.arange(PEOPLE), rng.integers(0, 4, PEOPLE))
    began = np.minimum(entered[pids] + rng.integers(0, 400, len(pids)), END - 1).astype("datetime64[s]")
    ended = began + rng.exponential(20 * 86400, len(pids)).astype(int)
    open_end = np.datetime64("2009-12-31T00:00:00")
    stays = pa.table({"pid": pids, "began": began, "ended": np.where(rng.random(len(pids)) < 0.33, open_end, ended)})
    source = MemorySource({"patients": patients, "stays": stays})
    release = run_fit(plan(load_schema(SCHEMA), Budget(3, 1e-9)), source, FitOptions(bits=SeededBits(2)))
    return {"patients": patients, "stays": stays}, dict(sample(release, entities=PEOPLE, seed=4))


def on_the_end(table: pd.DataFrame, column: str) -> float:
    days = pd.to_datetime(table[column]).dropna()
    return float((days.dt.normalize() == pd.Timestamp(END)).mean())


def test_as_many_are_still_there_as_in_the_source(made) -> None:
    real, drawn = made
    wanted = on_the_end(real["patients"].to_pandas(), "left")
    assert wanted > 0.4
    assert on_the_end(drawn["patients"], "left") == pytest.approx(wanted, abs=0.05)


def test_nobody_else_is(made) -> None:
    _, drawn = made
    assert on_the_end(drawn["patients"], "called") < 0.005
    assert on_the_end(drawn["patients"], "entered") < 0.005


def test_stays_that_are_not_over_end_with_the_data(made) -> None:
    real, drawn = made
    wanted = on_the_end(real["stays"].to_pandas(), "ended")
    assert on_the_end(drawn["stays"], "ended") == pytest.approx(wanted, abs=0.06)


def test_order_holds(made) -> None:
    _, drawn = made
    assert (drawn["patients"]["left"] >= drawn["patients"]["entered"]).all()
    assert (drawn["stays"]["ended"] >= drawn["stays"]["began"]).all()


def test_what_begins_and_ends_on_the_last_day_of_a_short_calendar_is_not_moved() -> None:
    """Two weeks of visits that are over at once: a fourteenth of them lies on the last day, at any hour."""
    rng = np.random.default_rng(4)
    schema = """
mare: 1
entity: patients
calendar: {min: 2013-06-01, max: 2013-06-14}
tables:
  patients: {key: pid, columns: {sex: {type: category, values: [F, M]}}}
  visits:
    parent: {table: patients, column: pid, max_rows: 6}
    columns:
      seen: {type: datetime}
      closed: {type: datetime, after: seen, learn: true}
"""
    pids = np.repeat(np.arange(1000), rng.integers(1, 6, 1000))
    seen = np.datetime64("2013-06-01T08:00:00") + rng.integers(0, 14, len(pids)) * 86400 + rng.integers(0, 9 * 3600, len(pids))
    tables = {
        "patients": pa.table({"pid": np.arange(1000), "sex": rng.choice(["F", "M"], 1000)}),
        "visits": pa.table({"pid": pids, "seen": seen, "closed": seen}),
    }
    planned = plan(load_schema(schema), Budget(1000, 1e-9))
    made = sample(run_fit(planned, MemorySource(tables), FitOptions(bits=SeededBits(2))), entities=1000, seed=4)
    assert made is not None
    assert (made["visits"]["closed"] == made["visits"]["seen"]).mean() > 0.99
    last = (made["visits"]["closed"].dt.normalize() == pd.Timestamp("2013-06-14")).mean()
    assert last == pytest.approx(1 / 14, abs=0.03)
