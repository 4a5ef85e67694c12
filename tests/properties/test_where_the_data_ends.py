"""Sequences run to the end of the data and not beyond it, and a bound that is NULL binds nobody.

Small worlds of their own at a huge ε, with seeded noise and draws: the same every time, so nothing here fails by chance. The
margins are several times as wide as what other seeds gave.
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
PEOPLE = 1500
END = np.datetime64("2024-12-31")


def synthesised(schema: str, true: Frames) -> Frames:
    tables = {table: pa.Table.from_pandas(frame, preserve_index=False) for table, frame in true.items()}
    release = run_fit(plan(load_schema(schema), Budget(1e6, 1e-6)), MemorySource(tables), FitOptions(bits=SeededBits(2)))
    made = sample(release, entities=PEOPLE, seed=3)
    assert made is not None
    return made


def dates(values: object) -> pd.Series:
    """As a source has them."""
    return pd.Series([None if pd.isna(value) else value.date() for value in pd.to_datetime(pd.Series(values))], dtype=object)


def numbered(rows: list[tuple[int, np.datetime64]], name: str) -> pd.DataFrame:
    frame = pd.DataFrame(rows, columns=["pid", name])
    return pd.DataFrame({"id": np.arange(len(frame)), "pid": frame["pid"], name: dates(frame[name])})


# ---- bounds that are NULL

DEATHS = """
mare: 1
entity: patients
calendar: {min: 1930-01-01, max: 2024-12-31}
tables:
  patients:
    key: pid
    columns:
      born: {type: date, min: 1930-01-01, max: 1995-12-31}
      died: DIED
  admissions:
    key: id
    parent: {table: patients, column: pid, type: sequential, order_by: admitted, max_rows: 12}
    columns:
      admitted: ADMITTED
"""
AFTER_BIRTH = "{type: date, nullable: true, after: born, within: 95y}"
ALONE = "{type: date, nullable: true, min: 1996-01-01, max: 2024-12-31}"
BETWEEN = "{type: date, during: [parent.born, parent.died]}"
ALONG = "{type: date, after: previous.admitted, before: parent.died, first: {after: parent.born, within: 95y}}"
BACK = "{type: date, before: parent.died, within: 40y}"


def deaths() -> Frames:
    """A third are dead. Everybody is admitted a few times in the twelve years before the death, or before the end of the data."""
    rng = np.random.default_rng(1)
    born = np.datetime64("1930-01-01") + rng.integers(0, 365 * 60, PEOPLE)
    died = np.where(rng.random(PEOPLE) < 1 / 3, END - rng.integers(0, 3650, PEOPLE), np.datetime64("NaT"))
    last = np.where(np.isnat(died), END, died)
    first = last - rng.integers(365, 4380, PEOPLE)
    spans = (last - first).astype(int)
    rows = [(i, first[i] + day) for i in range(PEOPLE) for day in np.sort(rng.integers(0, spans[i] + 1, rng.poisson(3)))]
    patients = pd.DataFrame({"pid": np.arange(PEOPLE), "born": dates(born), "died": dates(died)})
    return {"patients": patients, "admissions": numbered(rows, "admitted")}


def admitted(frames: Frames) -> pd.DataFrame:
    joined = frames["admissions"].merge(frames["patients"], on="pid")
    return joined.assign(**{name: pd.to_datetime(joined[name]) for name in ("born", "died", "admitted")})


@pytest.mark.parametrize(
    ("died", "rule"),
    [
        (AFTER_BIRTH, ALONG),
        (ALONE, BACK),
        *(
            pytest.param(*case, marks=pytest.mark.slow)
            for case in ((AFTER_BIRTH, BETWEEN), (AFTER_BIRTH, BACK), (ALONE, BETWEEN))
        ),
    ],
)
def test_who_has_not_died_comes_as_in_the_data_and_the_dead_do_not_come_after_their_death(died: str, rule: str) -> None:
    true = deaths()
    made = synthesised(DEATHS.replace("DIED", died).replace("ADMITTED", rule), true)
    ours, theirs = admitted(made), admitted(true)
    assert not (ours["admitted"] > ours["died"]).any()
    assert not (ours["admitted"] > pd.Timestamp(END)).any()
    assert abs(len(ours) / len(theirs) - 1) < 0.05
    for middle in (0.25, 0.5, 0.75):
        when = [frame[frame["died"].isna()]["admitted"].quantile(middle) for frame in (ours, theirs)]
        # At birth they would be sixty years off.
        assert abs((when[0] - when[1]).days) < 3.5 * 365, (middle, *when)


# ---- where the data ends

VISITS = """
mare: 1
entity: patients
CALENDAR
tables:
  patients:
    key: pid
    columns:
      registered: {type: date, min: 2005-01-01, max: 2024-12-31}
  visits:
    key: id
    parent: {table: patients, column: pid, type: sequential, order_by: seen, max_rows: 40, keep: last}
    columns:
      seen: SEEN
"""
FROM_ABOVE = "{type: date, after: previous.seen, within: 20y, scale: log, first: {after: parent.registered, within: 20y}}"
ITSELF = "{type: date, after: previous.seen, within: 20y, scale: log}"


def visits() -> Frames:
    """Each comes at a pace of their own, from the day they registered until the end of the data."""
    rng = np.random.default_rng(1)
    registered = np.datetime64("2005-01-01") + rng.integers(0, 365 * 18, PEOPLE)
    rows: list[tuple[int, np.datetime64]] = []
    for i, pace in enumerate(rng.gamma(2, 60, PEOPLE) + 10):
        days = registered[i] + np.cumsum(np.maximum(1, rng.exponential(pace, 800).astype(int)))
        rows += [(i, day) for day in days[days <= END][-40:]]
    patients = pd.DataFrame({"pid": np.arange(PEOPLE), "registered": dates(registered)})
    return {"patients": patients, "visits": numbered(rows, "seen")}


def within_days(frames: Frames, days: int) -> float:
    left = (pd.Timestamp(END) - pd.to_datetime(frames["visits"]["seen"])).dt.days
    assert (left >= 0).all()
    return float((left < days).mean())


@pytest.mark.parametrize("seen", [FROM_ABOVE, pytest.param(ITSELF, marks=pytest.mark.slow)])
def test_a_sequence_ends_with_the_data_without_a_pile_on_its_last_day(seen: str) -> None:
    true = visits()
    made = synthesised(VISITS.replace("SEEN", seen).replace("CALENDAR", "calendar: {min: 2005-01-01, max: 2024-12-31}"), true)
    assert abs(len(made["visits"]) / len(true["visits"]) - 1) < 0.02
    assert within_days(made, 1) < 0.01
    assert within_days(made, 30) < 2.5 * within_days(true, 30)
    assert 0.8 < within_days(made, 365) / within_days(true, 365) < 1.25


RENEWALS = """
mare: 1
entity: people
calendar: {min: 2020-01-01, max: 2024-12-31}
tables:
  people: {key: pid, columns: {joined: {type: date}}}
  policies:
    key: id
    parent: {table: people, column: pid, type: sequential, order_by: begins, max_rows: 6}
    columns:
      begins: {type: date, after: previous.expires, within: 1d, strict: true, first: {after: parent.joined, within: 60d}}
      expires: {type: date, after: begins, within: 364d, max: 2025-12-31}
  claims:
    key: cid
    parent: {table: policies, column: id, max_rows: 2}
    columns: {made: {type: date, after: parent.expires, within: 30d}}
"""


def renewals() -> Frames:
    """Policies of a year, renewed until the data ends or somebody leaves; the last one may expire after that."""
    rng = np.random.default_rng(3)
    joined = np.datetime64("2020-01-01") + rng.integers(0, 1800, 400)
    rows: list[tuple[int, np.datetime64]] = []
    for person, begins in enumerate(joined):
        while begins <= END:
            rows.append((person, begins))
            begins += 365 if rng.random() > 0.12 else 9999
    policies = numbered(rows, "begins")
    policies["expires"] = dates(np.array([day for _, day in rows]) + 364)
    claimed = policies[rng.random(len(policies)) < 0.3]
    made = pd.to_datetime(claimed["expires"]) + pd.to_timedelta(rng.integers(0, 30, len(claimed)), unit="D")
    claims = pd.DataFrame({"cid": np.arange(len(claimed)), "id": claimed["id"].to_numpy(), "made": dates(made.to_numpy())})
    claims = claims[pd.to_datetime(claims["made"]) <= pd.Timestamp(END)]
    return {"people": pd.DataFrame({"pid": np.arange(400), "joined": dates(joined)}), "policies": policies, "claims": claims}


def test_no_row_begins_past_the_end_though_what_it_follows_lies_there() -> None:
    true = renewals()
    made = synthesised(RENEWALS, true)
    for table, column in (("policies", "begins"), ("claims", "made")):
        assert not (pd.to_datetime(made[table][column]) > pd.Timestamp(END)).any()
        wanted = len(true[table]) * PEOPLE / 400
        assert 0.85 < len(made[table]) / wanted < 1.05
    assert set(made["claims"]["id"]) <= set(made["policies"]["id"])
    # Half of the true ones are there to be past: what follows them is not.
    assert (pd.to_datetime(made["policies"]["expires"]) > pd.Timestamp(END)).mean() > 0.2
