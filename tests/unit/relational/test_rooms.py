"""How many rows there are below a row follows how much time there was for them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import mare
from mare.audit import tape_audit
from mare.graph.pdag import column_groups
from mare.schema.loading import load_schema
from tests.conftest import examples

SCHEMA = load_schema("""
mare: 1
entity: people
calendar: {min: 2016-01-01, max: 2023-12-31}
tables:
  people: {key: id, columns: {sex: {type: category, values: [F, M]}}}
  policies:
    key: pid
    parent: {table: people, column: id, type: sequential, order_by: begins, max_rows: 4}
    columns:
      begins: {type: date, after: previous.begins, within: 8y}
      ends: {type: date, after: begins, within: 8y, nullable: true}
  claims:
    key: cid
    parent: {table: policies, column: pid, type: sequential, order_by: on, max_rows: 10}
    columns:
      on: {type: date, after: previous.on, within: 8y, first: {after: parent.begins, before: parent.ends, within: 8y}}
      kind: {type: category, values: [a, b]}
  calls:
    key: nr
    parent: {table: policies, column: pid, max_rows: 10}
    columns: {at: {type: date, after: parent.begins, within: 8y}}
""")
END = np.datetime64("2023-12-31")


def insurer(people: int = 1500) -> dict[str, pd.DataFrame]:
    """Policies that begin any time, the second of a person after the first; four fifths of a claim a year as long as they run."""
    rng = np.random.default_rng(3)
    who = np.repeat(np.arange(people), rng.integers(1, 4, people))
    begins = np.datetime64("2016-01-01") + rng.integers(0, 2921, len(who)).astype("timedelta64[D]")
    begins = begins[np.lexsort((begins, who))]
    ends = begins + rng.integers(100, 2000, len(who)).astype("timedelta64[D]")
    runs = (rng.random(len(who)) < 0.7) | (ends > END)
    rows = {"claims": list[tuple[int, np.datetime64]](), "calls": list[tuple[int, np.datetime64]]()}
    for policy, (first, last) in enumerate(zip(begins, np.where(runs, END, ends), strict=True)):
        for table, until in (("claims", last), ("calls", END)):
            days = int((until - first).astype(int))
            when = np.sort(rng.integers(0, days + 1, rng.poisson(0.8 * days / 365)))
            rows[table] += [(policy, first + np.timedelta64(int(day), "D")) for day in when]
    claims, calls = (pd.DataFrame(rows[table], columns=["pid", "on"]) for table in ("claims", "calls"))
    policies = {"pid": range(len(who)), "id": who, "begins": begins, "ends": pd.Series(ends).mask(runs)}
    return {
        "people": pd.DataFrame({"id": range(people), "sex": rng.choice(["F", "M"], people)}),
        "policies": pd.DataFrame(policies),
        "claims": claims.assign(cid=range(len(claims)), kind=rng.choice(["a", "b"], len(claims))),
        "calls": calls.rename(columns={"on": "at"}).assign(nr=range(len(calls))),
    }


def by_year(frames: dict[str, pd.DataFrame], table: str) -> np.ndarray:
    """Rows for each policy, by the year in which it begins."""
    policies = frames["policies"]
    counts = policies["pid"].map(frames[table].groupby("pid").size()).fillna(0)
    return counts.groupby(pd.to_datetime(policies["begins"]).dt.year).mean().reindex(range(2016, 2024)).to_numpy(dtype=float)


@pytest.fixture(scope="module")
def made() -> dict[str, pd.DataFrame]:
    release = mare.fit(mare.plan(SCHEMA, mare.Budget(10, 1e-9)), insurer(), unsafe_seed=2)
    frames = mare.sample(release, seed=3)
    assert frames is not None
    return frames


@pytest.mark.parametrize("table", ["claims", "calls"])
def test_what_began_late_has_fewer_rows(made: dict[str, pd.DataFrame], table: str) -> None:
    true, drawn = by_year(insurer(), table), by_year(made, table)
    assert drawn[0] > 2.5 * drawn[6]
    assert np.abs(drawn - true).mean() < 0.25 * true.mean()


def test_rows_do_not_pile_up_in_the_last_year(made: dict[str, pd.DataFrame]) -> None:
    last = [(pd.to_datetime(frames["claims"]["on"]).dt.year == 2023).mean() for frames in (insurer(), made)]
    assert last[1] < 1.3 * last[0]


def test_the_context_looks_at_it_and_nobody_else() -> None:
    seen = {group.name: [h.name for h in group.history if h.name.startswith("room(")] for group in column_groups(SCHEMA)}
    told = {name: rooms for name, rooms in seen.items() if rooms}
    assert told == {"claims.context": ["room(claims.on)"], "calls.context": ["room(calls.at)"]}


def test_one_person_changes_what_is_told_of_nobody_else() -> None:
    """The powers are public: were they the data's, whoever came first would change the codes of all others."""
    # A large ε: below, 60 people are too few for anything to be asked of the room at all.
    report = tape_audit(mare.plan(SCHEMA, mare.Budget(2000, 1e-6)), insurer(60), random=examples(3))
    assert report.passed, report


def test_policies_that_are_given_have_rows_by_their_own_dates() -> None:
    release = mare.fit(mare.plan(SCHEMA, mare.Budget(50, 1e-9)), insurer(), unsafe_seed=2)
    people = pd.DataFrame({"id": range(600), "sex": "F"})
    begins = ["2016-02-01"] * 300 + ["2023-11-01"] * 300
    policies = pd.DataFrame({"pid": range(600), "id": range(600), "begins": begins, "ends": pd.NaT})
    frames = mare.sample(release, given={"people": people, "policies": policies}, seed=1)
    assert frames is not None
    counts = frames["claims"].groupby("pid").size().reindex(range(600)).fillna(0)
    assert counts[:300].mean() > 4 * counts[300:].mean()
