"""When things happen: a clinic that is open by day stays so, and what happens at any hour does so still."""

from __future__ import annotations

from datetime import datetime, timedelta

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from mare.codec.rhythm import DAYS, HOURS, Rhythm, days_of, hours_of, rhythm_of
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
tables:
  people:
    key: pid
    columns:
      registered: {type: datetime, min: 2020-01-01, max: 2023-12-31}
      called: {type: datetime, min: 2020-01-01, max: 2023-12-31}
  visits:
    parent: {table: people, column: pid, type: sequential, order_by: seen, max_rows: 5}
    columns:
      seen: {type: datetime, after: previous.seen, within: 400d, first: {min: 2020-01-01, max: 2023-12-31}, max: 2023-12-31}
      billed: {type: date, after: seen, within: 60d}
"""
PEOPLE = 3000
SECONDS = 24 * 3600


def _open(rng: np.random.Generator, days: np.ndarray) -> np.ndarray:
    """Moments between eight and five, from Monday to Friday."""
    weekend = np.maximum((days + 3) % 7 - 4, 0)
    return (days - weekend) * SECONDS + rng.integers(8 * 3600, 17 * 3600, len(days))


@pytest.fixture(scope="module")
def made() -> dict[str, pd.DataFrame]:
    """By seed: what comes out is the same every time."""
    rng = np.random.default_rng(3)
    start = (datetime(2020, 1, 6) - datetime(1970, 1, 1)).days
    pids = np.repeat(np.arange(PEOPLE), rng.integers(1, 6, PEOPLE))
    seen = start + rng.integers(0, 900, PEOPLE)[pids]
    step = np.where(np.r_[True, pids[1:] != pids[:-1]], 0, rng.integers(5, 120, len(pids)))
    walked = np.cumsum(step)
    first = np.r_[True, pids[1:] != pids[:-1]]
    seen = seen + walked - walked[first][pids]
    moments = _open(rng, seen)
    billed = seen - np.maximum((seen + 3) % 7 - 4, 0) + 7 * rng.integers(1, 6, len(pids))
    people = pa.table(
        {
            "pid": np.arange(PEOPLE),
            "registered": _open(rng, start + rng.integers(0, 1400, PEOPLE)).astype("datetime64[s]"),
            "called": (start * SECONDS + rng.integers(0, 1400 * SECONDS, PEOPLE)).astype("datetime64[s]"),
        }
    )
    visits = pa.table(
        {"pid": pids, "seen": moments.astype("datetime64[s]"), "billed": billed.astype("datetime64[D]")},
    )
    source = MemorySource({"people": people, "visits": visits})
    release = run_fit(plan(load_schema(SCHEMA), Budget(4, 1e-9)), source, FitOptions(bits=SeededBits(2)))
    made = sample(release, entities=PEOPLE, seed=4)
    return {"people": made["people"], "visits": made["visits"]}


def by_day(moments: pd.Series) -> float:
    return float(pd.to_datetime(moments).dt.hour.between(8, 16).mean())


def at_weekends(moments: pd.Series) -> float:
    return float((pd.to_datetime(moments).dt.day_of_week >= 5).mean())


@pytest.mark.parametrize("column", ["people.registered", "visits.seen"])
def test_an_open_clinic_is_open_by_day(made, column) -> None:
    table, name = column.split(".")
    assert by_day(made[table][name]) > 0.9
    assert at_weekends(made[table][name]) < 0.05


def test_dates_have_days_of_the_week(made) -> None:
    assert at_weekends(made["visits"]["billed"]) < 0.05


def test_what_happens_at_any_hour_does_so_still(made) -> None:
    assert 0.3 < by_day(made["people"]["called"]) < 0.45
    assert 0.22 < at_weekends(made["people"]["called"]) < 0.35


def test_order_holds(made) -> None:
    visits = made["visits"]
    assert (pd.to_datetime(visits["billed"]) >= pd.to_datetime(visits["seen"]).dt.normalize()).all()
    ordered = visits.groupby("pid")["seen"].apply(lambda seen: seen.is_monotonic_increasing)
    assert ordered.all()


def test_a_moment_stays_in_its_cell_and_in_rhythm() -> None:
    hours = tuple(1.0 if 8 <= hour < 17 else 0.0 for hour in range(HOURS))
    days = (1.0, 1.0, 1.0, 1.0, 1.0, 0.0, 0.0)
    rhythm = rhythm_of(hours, days, SECONDS)
    assert rhythm is not None
    rng = np.random.default_rng(0)
    low = rng.integers(-(10**9), 10**9, 5000)
    high = low + rng.integers(0, 20 * SECONDS, 5000)
    drawn = rhythm.draw(low, (low, high), (low, high), rng)
    assert ((low <= drawn) & (drawn <= high)).all()
    usual = (hours_of(drawn, SECONDS) >= 8) & (hours_of(drawn, SECONDS) < 17) & (days_of(drawn, SECONDS) < 5)
    # Whoever is left outside lies in a cell with nothing usual in it: a night, a weekend.
    assert (drawn[~usual] == low[~usual]).all()
    assert (high - low)[~usual].max() < 3 * SECONDS
    assert usual.mean() > 0.85


def test_days_are_those_of_the_calendar() -> None:
    moments = [datetime(1969, 12, 28, 23), datetime(1970, 1, 1), datetime(2026, 11, 18, 12)]
    ticks = np.array([int((moment - datetime(1970, 1, 1)) / timedelta(seconds=1)) for moment in moments])
    assert days_of(ticks, SECONDS).tolist() == [moment.weekday() for moment in moments]
    assert hours_of(ticks, SECONDS).tolist() == [moment.hour for moment in moments]
    only_sundays = rhythm_of((), (0.0,) * 6 + (1.0,), 1)
    assert only_sundays is not None
    cells = np.full(200, -300), np.full(200, 300)
    drawn = only_sundays.draw(np.zeros(200, dtype=np.int64), cells, cells, np.random.default_rng(1))
    assert set(days_of(drawn, 1).tolist()) == {6}


def test_a_cell_in_which_nothing_happens_is_left_for_its_neighbours() -> None:
    working = rhythm_of((), (1.0,) * 5 + (0.0,) * 2, 1)
    assert working is not None
    saturday = np.full(400, (datetime(2026, 11, 21) - datetime(1970, 1, 1)).days)
    far = saturday - 100, saturday + 100
    drawn = working.draw(saturday, (saturday, saturday + 1), far, np.random.default_rng(1))
    assert set((drawn - saturday).tolist()) == {-2, -1, 2, 3}
    assert (
        working.draw(saturday, (saturday, saturday + 1), (saturday, saturday + 1), np.random.default_rng(1)) == saturday
    ).all()
    monday = saturday + 2
    assert (working.draw(monday, (monday, monday), far, np.random.default_rng(1)) == monday).all()


def test_a_second_of_the_night_is_left_for_the_nearest_hours_of_the_day() -> None:
    by_day = rhythm_of(tuple(1.0 if 8 <= hour < 17 else 0.0 for hour in range(HOURS)), (), SECONDS)
    assert by_day is not None
    night = np.full(300, 10 * SECONDS + 3 * 3600)
    drawn = by_day.draw(night, (night, night), (night - SECONDS, night + SECONDS), np.random.default_rng(1))
    assert ((hours_of(drawn, SECONDS) >= 8) & (hours_of(drawn, SECONDS) < 17)).all()
    assert np.abs(drawn - night).max() <= SECONDS


@pytest.mark.parametrize("weights", [(1.0,) * 5, (0.0,) * DAYS, (-1.0, *[1.0] * 6), (float("nan"),) * HOURS])
def test_a_rhythm_that_is_none_is_refused(weights) -> None:
    with pytest.raises(ValueError, match="rhythm"):
        Rhythm(weights, 1)
