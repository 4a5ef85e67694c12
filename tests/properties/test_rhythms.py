"""What lies between two times keeps its own: gaps stay gaps, whatever ends the sequence, and what closes an interval closes it.

Small worlds of their own at a huge ε, with seeded noise and draws: the same every time, so nothing here fails by chance.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from tests.properties.test_where_the_data_ends import Frames, dates, numbered, synthesised

BEGIN, END = np.datetime64("2023-01-01"), np.datetime64("2023-03-11")
PEOPLE = 500

SESSIONS = """
mare: 1
entity: patients
calendar: {min: 2023-01-01, max: 2023-03-11}
tables:
  patients:
    key: pid
    columns:
      entered: {type: date, min: 2010-01-01, max: 2023-03-11}
      died:    {type: date, after: entered, within: 14y, nullable: true}
  sessions:
    key: id
    parent: {table: patients, column: pid, type: sequential, order_by: day, memory: 3, max_rows: 40}
    columns:
      day: {type: date, after: previous.day, before: parent.died, HOW, strict: true}
"""


def sessions() -> Frames:
    """On Mondays, Wednesdays and Fridays, or the day after each, from January or the entry on until the end or the death."""
    rng = np.random.default_rng(4)
    entered = END - 3 - np.minimum(rng.exponential(900, PEOPLE), 4000).astype(int)
    begins = np.maximum(entered, BEGIN)
    died = begins + rng.exponential(150, PEOPLE).astype(int)
    last = np.minimum(died, END)
    late = rng.random(PEOPLE) < 0.5
    rows = []
    for person in range(PEOPLE):
        days = np.arange(begins[person], last[person] + 1)
        rows += [(person, day) for day in days[np.isin((days.astype(int) + 3 - late[person]) % 7, (0, 2, 4))]]
    patients = pd.DataFrame(
        {
            "pid": np.arange(PEOPLE),
            "entered": dates(entered),
            "died": dates(np.where(died <= END, died, np.datetime64("NaT"))),
        }
    )
    return {"patients": patients, "sessions": numbered(rows, "day")}


def gaps(frames: Frames) -> pd.Series:
    sorted_days = frames["sessions"].assign(day=pd.to_datetime(frames["sessions"]["day"])).sort_values(["pid", "day"])
    return sorted_days.groupby("pid")["day"].diff().dt.days.dropna().value_counts(normalize=True)


def deaths_against_sessions(frames: Frames) -> float:
    """Of the dead who were there from January on: how their number of sessions goes with the day of their death."""
    people = frames["patients"].set_index("pid").dropna()
    died = pd.to_datetime(people[pd.to_datetime(people["entered"]) < pd.Timestamp(BEGIN)]["died"]).astype("int64")
    return float(frames["sessions"].groupby("pid").size().reindex(died.index, fill_value=0).corr(died))


@pytest.mark.parametrize(
    "how", ["within: 60d", "learn: true", "within: 60d, first: {after: parent.entered, before: parent.died, within: 14y}"]
)
def test_a_rhythm_is_kept_by_those_who_die_and_by_those_who_do_not(how: str) -> None:
    true = sessions()
    made = synthesised(SESSIONS.replace("HOW", how), true)
    ours, theirs = gaps(made), gaps(true)
    # As parts of the time left, more than half of them were others.
    assert abs(ours.get(2, 0) - theirs[2]) < 0.08
    assert abs(ours.get(3, 0) - theirs[3]) < 0.08
    # Counted from an entry many years ago, a death of this year lies nowhere in particular.
    assert deaths_against_sessions(true) > 0.99
    assert deaths_against_sessions(made) > 0.9
    # Of more sessions than there are days, the last are left out.
    days = made["sessions"].merge(made["patients"], on="pid")
    assert not (pd.to_datetime(days["day"]) > pd.to_datetime(days["died"]).fillna(pd.Timestamp(END))).any()


STAYS = """
mare: 1
entity: stays
tables:
  stays:
    key: pid
    columns:
      began: {type: date, min: 2023-01-01, max: 2023-03-11}
      ended: {type: date, after: began, within: 90d, nullable: true}
  wards:
    key: id
    parent: {table: stays, column: pid, max_rows: 3}
    columns:
      left: {type: date, after: parent.began, before: parent.ended, within: 90d}
"""


def test_what_often_lies_at_the_second_anchor_still_does() -> None:
    rng = np.random.default_rng(5)
    began = BEGIN + rng.integers(0, 69, PEOPLE)
    ended = np.where(rng.random(PEOPLE) < 0.8, began + rng.integers(5, 60, PEOPLE), np.datetime64("NaT"))
    rows = []
    for person in range(PEOPLE):
        for _ in range(3):
            closes = not np.isnat(ended[person]) and rng.random() < 0.7
            rows.append((person, ended[person] if closes else began[person] + rng.integers(0, 5)))
    people = pd.DataFrame({"pid": np.arange(PEOPLE), "began": dates(began), "ended": dates(ended)})
    true = {"stays": people, "wards": numbered(rows, "left")}
    shares = []
    for frames in (synthesised(STAYS, true), true):
        joined = frames["wards"].merge(frames["stays"], on="pid").dropna()
        left, end, begin = (pd.to_datetime(joined[name]) for name in ("left", "ended", "began"))
        assert not ((left > end) | (left < begin)).any()
        shares.append(float((left == end).mean()))
    assert abs(shares[0] - shares[1]) < 0.08, shares
