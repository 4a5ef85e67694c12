"""Identifiers and references to a pool that may be NULL are NULL as often as in the source, and with whom they are there."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import mare
from mare.audit import tape_audit
from mare.errors import MareError
from mare.schema.loading import load_schema

SCHEMA = load_schema("""
mare: 1
entity: people
tables:
  people:
    key: id
    columns:
      sex: {type: category, values: [F, M]}
      card: {type: identifier, generate: pattern, pattern: "C{n:05d}", nullable: true}
      badge: {type: identifier}
    references: {agent: {kind: pool, table: agents, nullable: true}}
  visits:
    key: vid
    parent: {table: people, column: id, max_rows: 3}
    columns: {kind: {type: category, values: [a, b]}}
    references: {nurse: {kind: pool, table: staff, column: [site, no], columns: [nurse_site, nurse_no], nullable: true}}
  staff: {pool: {rows: 9}, key: [site, no], columns: {site: {type: category, values: [x, y]}, no: {type: identifier}}}
  agents: {pool: {rows: 5}, key: aid}
""")


def world(people: int = 1500) -> dict[str, pd.DataFrame]:
    rng = np.random.default_rng(2)
    sex = rng.choice(["F", "M"], people)
    chance = np.where(sex == "F", 0.6, 0.1)
    agent = pd.Series(rng.integers(1, 6, people), dtype="Int64").mask(rng.random(people) < 0.3)
    card = pd.Series([f"K{n}" for n in range(people)], dtype=object).mask(rng.random(people) < chance)
    who = np.repeat(np.arange(people), rng.integers(0, 4, people))
    kind = rng.choice(["a", "b"], len(who))
    none = (kind == "a") & (rng.random(len(who)) < 0.8)
    site = pd.Series(rng.choice(["x", "y"], len(who)), dtype=object).mask(none)
    no = pd.Series(rng.integers(1, 9, len(who))).mask(none)
    return {
        "people": pd.DataFrame({"id": range(people), "sex": sex, "card": card, "badge": range(people), "agent": agent}),
        "visits": pd.DataFrame({"vid": range(len(who)), "id": who, "kind": kind, "nurse_site": site, "nurse_no": no}),
        "staff": pd.DataFrame({"site": ["x"] * 8 + ["y"] * 8, "no": [*range(1, 9)] * 2}),
        "agents": pd.DataFrame({"aid": range(1, 6)}),
    }


@pytest.fixture(scope="module")
def frames() -> dict[str, pd.DataFrame]:
    release = mare.fit(mare.plan(SCHEMA, mare.Budget(20, 1e-6)), world(), unsafe_seed=5)
    made = mare.sample(release, seed=6)
    assert made is not None
    return made


def test_shares_of_null_are_those_of_the_source(frames: dict[str, pd.DataFrame]) -> None:
    real, made = world(), frames
    for table, column in (("people", "card"), ("people", "agent"), ("visits", "nurse_no")):
        assert made[table][column].isna().mean() == pytest.approx(real[table][column].isna().mean(), abs=0.04)
    assert not made["people"]["badge"].isna().any()


def test_they_depend_on_what_they_depend_on(frames: dict[str, pd.DataFrame]) -> None:
    missing = frames["people"]["card"].isna().groupby(frames["people"]["sex"]).mean()
    assert missing["F"] - missing["M"] > 0.35
    visits = frames["visits"]
    assert visits["nurse_no"].isna()[visits["kind"] == "b"].mean() < 0.1
    # Both columns of one reference are there, or none; and what is there leads to a row.
    assert (visits["nurse_no"].isna() == visits["nurse_site"].isna()).all()
    led = visits.dropna(subset=["nurse_no"]).merge(frames["staff"], left_on=["nurse_site", "nurse_no"], right_on=["site", "no"])
    assert len(led) == visits["nurse_no"].notna().sum()
    cards = frames["people"]["card"].dropna()
    assert cards.is_unique
    assert cards.str.fullmatch(r"C\d{5}").all()


def test_rows_that_are_given_say_it_themselves() -> None:
    release = mare.fit(mare.plan(SCHEMA, mare.Budget(20, 1e-6)), world(300), unsafe_seed=5)
    given = pd.DataFrame({"id": [1, 2], "sex": ["F", "M"], "card": ["A", None]})
    made = mare.sample(release, given={"people": given}, seed=1)
    assert made is not None
    assert made["people"]["card"].isna().tolist() == [False, True]
    assert made["people"]["agent"].notna().all()


def test_one_person_changes_it_by_no_more_than_is_paid_for() -> None:
    report = tape_audit(mare.plan(SCHEMA, mare.Budget(2, 1e-6)), world(60))
    assert report.passed, report


def test_a_column_cannot_be_called_as_the_model_calls_it() -> None:
    with pytest.raises(MareError, match="exists"):
        load_schema("""
mare: 1
entity: p
tables: {p: {key: id, columns: {x: {type: identifier, nullable: true}, exists(x): {type: boolean}}}}
""")
