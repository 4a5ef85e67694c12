"""A reference by interval: the model says whether there is one and to which row, and the row's time is drawn inside of it.

A small world at a huge ε, with seeded noise and draws: the same every time. The margins are twice what other seeds gave.
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
PEOPLE = 800
START, END = np.datetime64("2015-01-01"), np.datetime64("2024-12-31")

SCHEMA = """
mare: 1
entity: patients
calendar: {min: 2015-01-01, max: 2024-12-31}
tables:
  patients: {key: pid, columns: {sex: {type: category, values: [F, M]}}}
  visits:
    key: vid
    parent: {table: patients, column: pid, type: sequential, order_by: begins, max_rows: 20}
    columns:
      began: {type: datetime, after: previous.ends, within: 5y, scale: log, resolution: hour}
      begins: {type: date, determined: {part: {of: began, unit: date}}}
      ends: {type: date, after: began, within: 60d, scale: log}
  conditions:
    key: cid
    parent: PARENT
    sees: [visits]
    references:
      vid: {kind: same_entity, table: visits, by: interval, time: noted, interval: [begins, ends], nullable: true}
    columns:
      noted: NOTED
"""
SEQUENCE = "{table: patients, column: pid, type: sequential, order_by: noted, max_rows: 20}"
AS_THEY_COME = "{table: patients, column: pid, max_rows: 20}"
GAPS = "{type: date, after: previous.noted, within: 10y, scale: log}"
ITSELF = "{type: date}"


def clinic() -> Frames:
    """Visits follow each other; a quarter of them last some days. Most conditions are noted during one, and say which."""
    rng = np.random.default_rng(1)
    visits: list[tuple[int, int, np.datetime64, np.datetime64]] = []
    conditions: list[tuple[int, np.datetime64, int | None]] = []
    for pid in range(PEOPLE):
        day, mine = START + int(rng.integers(0, 3000)), list[tuple[int, np.datetime64, int | None]]()
        for _ in range(rng.integers(0, 15)):
            stay = int(rng.integers(1, 20)) if rng.random() < 0.25 else 0
            if day + stay > END:
                break
            vid = len(visits)
            visits.append((vid, pid, day, day + stay))
            for _ in range(rng.poisson(1.0)):
                mine.append((pid, day + int(rng.integers(0, stay + 1)), vid if rng.random() < 0.9 else None))
            day = day + stay + 1 + int(rng.exponential(150))
        conditions += sorted(mine, key=lambda row: row[1])[-20:]
    visited = pd.DataFrame(visits, columns=["vid", "pid", "begins", "ends"])
    noted = pd.DataFrame(conditions, columns=["pid", "noted", "vid"])
    people = pd.DataFrame({"pid": np.arange(PEOPLE), "sex": rng.choice(["F", "M"], PEOPLE)})
    hours = pd.to_datetime(visited["begins"]) + pd.to_timedelta(rng.integers(0, 24, len(visited)), unit="h")
    return {
        "patients": people,
        "visits": visited.assign(began=hours, begins=_dates(visited["begins"]), ends=_dates(visited["ends"])),
        "conditions": noted.assign(cid=np.arange(len(noted)), noted=_dates(noted["noted"]), vid=noted["vid"].astype("Int64")),
    }


def _dates(values: pd.Series) -> pd.Series:
    return pd.Series([value.date() for value in pd.to_datetime(values)], dtype=object)


def joined(frames: Frames) -> pd.DataFrame:
    rows = frames["conditions"].merge(frames["visits"], on="vid", how="left", suffixes=("", "_there"))
    return rows.assign(**{name: pd.to_datetime(rows[name]) for name in ("noted", "begins", "ends")})


def per_visit(frames: Frames) -> pd.Series:
    linked = frames["conditions"].dropna(subset="vid").groupby("vid").size()
    return linked.reindex(frames["visits"]["vid"], fill_value=0)


@pytest.mark.parametrize(
    ("parent", "noted"),
    [(SEQUENCE, GAPS), *(pytest.param(*case, marks=pytest.mark.slow) for case in ((SEQUENCE, ITSELF), (AS_THEY_COME, ITSELF)))],
)
def test_the_link_is_as_often_there_as_in_the_data_and_its_time_agrees(parent: str, noted: str) -> None:
    true = clinic()
    tables = {table: pa.Table.from_pandas(frame, preserve_index=False) for table, frame in true.items()}
    planned = plan(load_schema(SCHEMA.replace("PARENT", parent).replace("NOTED", noted)), Budget(1e6, 1e-6))
    made = sample(run_fit(planned, MemorySource(tables), FitOptions(bits=SeededBits(2))), entities=PEOPLE, seed=3)
    assert made is not None
    ours, theirs = joined(made), joined(true)
    linked = ours["begins"].notna()
    assert abs(linked.mean() - theirs["begins"].notna().mean()) < 0.04
    assert ((ours["noted"] >= ours["begins"]) & (ours["noted"] <= ours["ends"]))[linked].all()
    assert (ours["pid"] == ours["pid_there"])[linked].all()
    assert abs(len(ours) / len(theirs) - 1) < 0.05
    for count in (0, 1, 2, 3):
        assert abs((per_visit(made) == count).mean() - (per_visit(true) == count).mean()) < 0.05, count
    if parent is SEQUENCE:
        assert (made["conditions"].groupby("pid")["noted"].apply(lambda times: times.is_monotonic_increasing)).all()


def test_where_every_row_has_one_the_link_is_always_there() -> None:
    true = clinic()
    true["conditions"] = true["conditions"].dropna(subset="vid").reset_index(drop=True)
    tables = {table: pa.Table.from_pandas(frame, preserve_index=False) for table, frame in true.items()}
    schema = SCHEMA.replace("PARENT", SEQUENCE).replace("NOTED", GAPS).replace(", nullable: true}", "}")
    release = run_fit(plan(load_schema(schema), Budget(1e6, 1e-6)), MemorySource(tables), FitOptions(bits=SeededBits(2)))
    made = sample(release, seed=3)
    assert made is not None
    rows = joined(made)
    assert ((rows["noted"] >= rows["begins"]) & (rows["noted"] <= rows["ends"])).all()
    assert abs(len(rows) / len(true["conditions"]) - 1) < 0.08


def test_rows_that_are_given_keep_their_link_or_are_found_by_their_time() -> None:
    true = clinic()
    tables = {table: pa.Table.from_pandas(frame, preserve_index=False) for table, frame in true.items()}
    planned = plan(load_schema(SCHEMA.replace("PARENT", SEQUENCE).replace("NOTED", GAPS)), Budget(1e6, 1e-6))
    release = run_fit(planned, MemorySource(tables), FitOptions(bits=SeededBits(2)))
    kept = sample(release, given=true, seed=3)
    assert kept is not None
    assert kept["conditions"]["vid"].isna().sum() == true["conditions"]["vid"].isna().sum()
    found = sample(release, given={**true, "conditions": true["conditions"].drop(columns="vid")}, seed=3)
    assert found is not None
    assert found["conditions"]["vid"].notna().all()
    drawn = sample(release, given={name: true[name] for name in ("patients", "visits")}, seed=3)
    assert drawn is not None
    rows = joined(drawn)
    linked = rows["begins"].notna()
    assert linked.mean() > 0.8
    assert ((rows["noted"] >= rows["begins"]) & (rows["noted"] <= rows["ends"]))[linked].all()
