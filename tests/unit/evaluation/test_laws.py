"""What no schema says and every real row keeps: a synthetic side that breaks it is told so, and one that keeps it is not."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import mare
from mare.evaluation.evaluation import Evaluation
from mare.evaluation.verdict import verdict
from mare.schema import Schema
from mare.schema.loading import load_schema
from tests.plain import plainly

WORLD = """
mare: 1
name: world
entity: people
tables:
  people:
    key: pid
    columns:
      born: {type: date, min: 1900-01-01, max: 2050-01-01}
      region: {type: category, values: [n, s]}
  deaths:
    parent: {table: people, column: pid, max_rows: 1}
    columns:
      died: {type: date, min: 1900-01-01, max: 2050-01-01}
  visits:
    key: vid
    parent: {table: people, column: pid, max_rows: 9}
    columns:
      seen: {type: datetime, min: 1990-01-01, max: 2050-01-01}
      seen_on: {type: date, min: 1990-01-01, max: 2050-01-01}
      region: {type: category, values: [n, s]}
      total: {type: integer, min: 0, max: 99}
      lines: {type: integer, min: 0, max: 9}
  items:
    parent: {table: visits, column: vid, max_rows: 9}
    references: {code: {table: codes, kind: public}}
    columns:
      amount: {type: integer, min: 0, max: 9}
      pack: {type: category, values: [a, b]}
  codes:
    public: true
    rows: 4
    key: code
    columns:
      price: {type: integer, min: 0, max: 99}
      pack: {type: category, values: [a, b]}
"""
Frames = dict[str, pd.DataFrame]


def world(people: int = 120, seed: int = 3) -> Frames:
    """Nobody is seen after death, a visit is in its patient's region, and its items add up; a code has one pack."""
    rng = np.random.default_rng(seed)
    pids = np.arange(people)
    born = pd.Timestamp("1950-01-01") + pd.to_timedelta(rng.integers(0, 9000, people), unit="D")
    died = born + pd.to_timedelta(rng.integers(21000, 25000, people), unit="D")
    region = np.where(rng.random(people) < 0.5, "n", "s")
    vids = np.arange(people * 3)
    of = vids // 3
    seen = born[of] + pd.to_timedelta(rng.integers(18000, 20000, len(vids)) * 24 + rng.integers(8, 17, len(vids)), unit="h")
    items = vids.repeat(rng.integers(1, 4, len(vids)))
    codes = rng.integers(1, 5, len(items))
    amount = rng.integers(1, 9, len(items))
    visits = pd.DataFrame({"vid": vids, "pid": of, "seen": seen, "seen_on": seen.normalize(), "region": region[of]})
    visits = visits.assign(total=np.bincount(items, weights=amount).astype(int), lines=np.bincount(items))
    return {
        "people": pd.DataFrame({"pid": pids, "born": born, "region": region}),
        "deaths": pd.DataFrame({"pid": pids[::2], "died": died[::2]}),
        "visits": visits,
        "items": pd.DataFrame({"vid": items, "code": codes, "amount": amount, "pack": np.where(codes > 2, "a", "b")}),
        "codes": pd.DataFrame({"code": [1, 2, 3, 4], "price": [10, 20, 30, 40], "pack": ["b", "b", "a", "a"]}),
    }


@pytest.fixture(scope="module")
def schema() -> Schema:
    return load_schema(WORLD)


def unlawful(found: Evaluation) -> dict[str, float]:
    return {f"{law.where} {law.what}": round(law.share("synthetic"), 2) for law in found.unlawful}


def test_rows_that_keep_everything_break_nothing_and_it_is_said_what_was_looked_at(schema: Schema) -> None:
    found = mare.evaluate(schema, world(), world(seed=4))
    assert found.unlawful == ()
    assert found.looked_at["law"] >= 8
    said = plainly(verdict(found))
    rules = "4 references, 2 keys, 10 columns without NULL, 10 domains, 3 caps"
    assert f"No rule of the schema is broken: {rules} were looked at." in said
    assert f"What the real rows always keep is kept: {found.looked_at['law']} orders, equal columns, ties of columns" in said


def test_a_visit_after_death_is_told_though_no_schema_forbids_it(schema: Schema) -> None:
    made = world(seed=4)
    late = made["visits"].assign(seen=made["visits"].seen + pd.Timedelta(days=9000))
    found = mare.evaluate(schema, world(), {**made, "visits": late})
    assert unlawful(found)["visits.seen is after deaths.died"] == 1.0
    assert unlawful(found)["visits.seen differs from seen_on"] == 1.0
    assert "visits.seen is after deaths.died 180 of 180 0 of" in plainly(verdict(found))


@pytest.mark.parametrize(
    ("column", "change", "law"),
    [
        ("total", lambda v: v.total + 1, "visits.total differs from the sum of items.amount"),
        ("lines", lambda v: v.lines + 1, "visits.lines differs from the number of items"),
        ("region", lambda v: v.region[::-1].to_numpy(), "visits.region differs from people.region"),
        ("seen_on", lambda v: v.seen_on + pd.Timedelta(days=1), "visits.seen differs from seen_on"),
    ],
)
def test_what_is_equal_in_every_real_row_is_asked_of_the_others(schema: Schema, column: str, change: object, law: str) -> None:
    assert callable(change)
    made = world(seed=4)
    broken = unlawful(
        mare.evaluate(schema, world(), {**made, "visits": made["visits"].assign(**{column: change(made["visits"])})})
    )
    assert broken[law] > 0.3


def test_a_rule_that_real_rows_break_too_is_none(schema: Schema) -> None:
    real = world()
    real["visits"].loc[::20, "region"] = "n"
    made = world(seed=4)
    turned = made["visits"].assign(region=made["visits"].region[::-1].to_numpy())
    assert "visits.region differs from people.region" not in unlawful(mare.evaluate(schema, real, {**made, "visits": turned}))


def test_hours_weekdays_and_months_are_compared_and_nights_are_told(schema: Schema) -> None:
    made = world(seed=4)
    night = made["visits"].assign(seen=made["visits"].seen.dt.normalize() + pd.Timedelta(hours=3))
    found = mare.evaluate(schema, world(), {**made, "visits": night})
    columns = {(column.table, column.name): column for column in found.columns if column.part == "calendar"}
    assert {name for table, name in columns if table == "people"} == {"weekday of born", "month of born"}
    hour = columns["visits", "hour of seen"]
    assert hour.tvd["synthetic"] == pytest.approx(1.0)
    assert hour.counts["synthetic"][3] == len(night)
    expected = world()["visits"].seen.dt.day_of_week.value_counts().sort_index().tolist()
    assert columns["visits", "weekday of seen"].counts["real"].tolist() == expected
    assert columns["visits", "month of seen"].counts["real"].sum() == len(world()["visits"])
    assert "The hour of seen in visits is spread otherwise: distance 1.00 (03: 100.0%, 0.0% in the real rows)" in plainly(
        verdict(found)
    )
    assert "hour of seen" not in {column.name for column in found.worst_columns(99)}


def test_pairs_along_references_and_between_siblings_are_compared(schema: Schema) -> None:
    made = world(seed=4)
    shuffled = made["items"].assign(pack=made["items"].pack.sample(frac=1, random_state=1).to_numpy())
    found = mare.evaluate(schema, world(), {**made, "items": shuffled})
    linked = {(pair.table, pair.column, pair.other): pair for pair in found.pairs if pair.kind == "linked"}
    pack = linked["items", "pack", "codes.pack by code"]
    assert pack.v == pytest.approx(1.0)
    assert pack.closeness["synthetic"].v < 0.5
    assert ("people", "died of the last deaths", "region of the last visits") not in linked  # points in time are not paired
    assert all(pair.column != "code" for pair in linked.values())
    assert found.means["synthetic"]["linked"].v_error > 0.1
    assert "pairs of siblings and" in verdict(found)


SIBLINGS = """
mare: 1
entity: accounts
tables:
  accounts: {key: aid, columns: {kind: {type: category, values: [x, y]}}}
  loans:
    parent: {table: accounts, column: aid, max_rows: 3, type: sequential, order_by: n}
    columns: {n: {type: integer, min: 0, max: 9}, grade: {type: category, values: [a, b]}}
  cards:
    parent: {table: accounts, column: aid, max_rows: 1}
    columns: {colour: {type: category, values: [gold, grey]}}
"""


def test_the_last_rows_that_one_parent_has_in_two_tables_are_compared() -> None:
    """Whoever's last loan is good has a gold card; on the synthetic side the first loan decides."""
    aids = np.arange(100)
    grades = np.array(["a", "b"])[(aids[:, None] // [1, 2]) % 2]
    loans = pd.DataFrame({"aid": aids.repeat(2), "n": np.tile([0, 1], 100), "grade": grades.ravel()})
    base = {"accounts": pd.DataFrame({"aid": aids, "kind": "x"}), "loans": loans}
    cards = [pd.DataFrame({"aid": aids, "colour": np.where(grades[:, i] == "a", "gold", "grey")}) for i in (1, 0)]
    found = mare.evaluate(load_schema(SIBLINGS), {**base, "cards": cards[0]}, {**base, "cards": cards[1]})
    pair = next(p for p in found.pairs if {p.column, p.other} == {"grade of the last loans", "colour of the last cards"})
    assert pair.kind == "linked"
    assert pair.table == pair.other_table == "accounts"
    assert pair.v == pytest.approx(1.0)
    assert pair.closeness["synthetic"].v == pytest.approx(0.0, abs=1e-9)
