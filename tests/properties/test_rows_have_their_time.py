"""Rows have their share of the time that there is: short calendars with many rows, and follow-up that ends with the data.

Small worlds of their own, with seeded noise and draws: the same every time, so nothing here fails by chance. The margins are
what other seeds gave, and more.
"""

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

Frames = dict[str, pd.DataFrame]

SCHEMA = """
mare: 1
entity: patients
calendar: {min: FIRST, max: LAST}
MODEL
tables:
  patients: {key: pid, columns: {registered: {type: date}}}
  visits:
    key: id
    parent: {table: patients, column: pid, type: sequential, order_by: seen, max_rows: 60}
    columns:
      seen: {type: date, after: previous.seen, within: SPAN, first: {after: parent.registered, within: SPAN}}
      kind: {type: category, values: [a, b, c]}
"""


def schema(first: str, last: str, span: str, model: str = "") -> str:
    return SCHEMA.replace("FIRST", first).replace("LAST", last).replace("SPAN", span).replace("MODEL", model)


def synthesised(text: str, true: Frames, epsilon: float, seed: int = 1) -> Frames:
    tables = {table: pa.Table.from_pandas(frame, preserve_index=False) for table, frame in true.items()}
    release = run_fit(plan(load_schema(text), Budget(epsilon, 1e-6)), MemorySource(tables), FitOptions(bits=SeededBits(seed)))
    made = sample(release, entities=len(true["patients"]), seed=seed)
    assert made is not None
    return made


def world(registered: np.ndarray, rows: list[tuple[int, np.datetime64]]) -> Frames:
    rng = np.random.default_rng(9)
    people, days = np.array([person for person, _ in rows]), np.array([day for _, day in rows])
    kinds = rng.choice(list("abc"), len(rows))
    return {
        "patients": pd.DataFrame({"pid": np.arange(len(registered)), "registered": registered.astype(object)}),
        "visits": pd.DataFrame({"id": np.arange(len(rows)), "pid": people, "seen": days.astype(object), "kind": kinds}),
    }


def fortnight() -> Frames:
    """Two weeks, thirty rows each, on any day of them."""
    rng, first = np.random.default_rng(5), np.datetime64("2024-03-01")
    rows = [(person, first + day) for person in range(1000) for day in np.sort(rng.integers(0, 14, rng.poisson(30)))]
    return world(np.full(1000, first), rows)


def followed_up() -> Frames:
    """Ten years: who registers late has had little time, and comes at a pace of their own until the data ends."""
    rng, first, last = np.random.default_rng(3), np.datetime64("2014-01-01"), np.datetime64("2023-12-31")
    registered, rows = first + rng.integers(0, 3500, 1500), list[tuple[int, np.datetime64]]()
    for person, pace in enumerate(rng.gamma(4, 25, 1500) + 10):
        days = registered[person] + np.cumsum(np.maximum(1, rng.exponential(pace, 800).astype(int)))
        rows += [(person, day) for day in days[days <= last][:60]]
    return world(registered, rows)


def on_last_day(frames: Frames, last: str) -> float:
    return float((pd.to_datetime(frames["visits"]["seen"]) == pd.Timestamp(last)).mean())


@pytest.mark.parametrize(("model", "epsilon"), [("", 1e6), ("model: independent", 1e6)])
def test_many_rows_of_a_short_calendar_do_not_pile_up_on_its_last_day(model: str, epsilon: float) -> None:
    """7 % of the rows are there. 12 % came out where a day's rows had no pace among themselves, and 13 % where none was told."""
    made = synthesised(schema("2024-03-01", "2024-03-14", "14d", model), fortnight(), epsilon)
    assert 0.03 < on_last_day(made, "2024-03-14") < 0.09


@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.slow), pytest.param(3, marks=pytest.mark.slow)])
def test_how_many_rows_there_are_follows_the_time_there_is_where_noise_is_loud(seed: int) -> None:
    """At ε = 2 the correlation was .1 to .3 (truth .75), and 4 to 8 % of the rows lay on the last day."""
    true = followed_up()
    made = synthesised(schema("2014-01-01", "2023-12-31", "10y"), true, 2.0, seed)
    assert on_last_day(true, "2023-12-31") < 0.001
    assert on_last_day(made, "2023-12-31") < 0.045
    left = (pd.Timestamp("2023-12-31") - pd.to_datetime(made["patients"].set_index("pid")["registered"])).dt.days
    rows = made["visits"].groupby("pid").size().reindex(left.index, fill_value=0)
    assert np.corrcoef(left, rows)[0, 1] > 0.35
    assert 0.9 < len(made["visits"]) / len(true["visits"]) < 1.1
