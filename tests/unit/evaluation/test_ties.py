"""Columns of a row that go together in the real rows: a code and its name, a start and a stop, what is NULL together. Who tears
them apart is told; and what only seems to go together is no tie."""

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
name: labs
entity: people
tables:
  people:
    key: pid
    columns:
      arm: {type: category, values: [a, b, c]}
      height: {type: integer, min: 100, max: 220}
  labs:
    parent: {table: people, column: pid, max_rows: 20}
    references: {product: {table: products, kind: public}}
    columns:
      code: {type: category, learn: true}
      name: {type: category, learn: true}
      unit: {type: category, values: [g, l, m], nullable: true}
      visit: {type: category, learn: true}
      visit_number: {type: integer, min: 0, max: 99}
      dose: {type: integer, min: 0, max: 99}
      height_seen: {type: integer, min: 100, max: 999}
      price: {type: integer, min: 0, max: 9999}
      start_day: {type: integer, min: 0, max: 400}
      stop_day: {type: integer, min: 0, max: 400}
      size: {type: integer, min: 0, max: 9, nullable: true}
      shape: {type: category, values: [x, y], nullable: true}
      depth: {type: number, min: 0, max: 9, precision: 1, nullable: true}
      luck: {type: category, values: ["1", "2", "3", "4"]}
  products:
    public: true
    rows: 60
    key: product
    columns:
      list_price: {type: integer, min: 0, max: 9999}
"""
Frames = dict[str, pd.DataFrame]


def world(people: int = 300, seed: int = 3) -> Frames:
    rng = np.random.default_rng(seed)
    arm = rng.choice(["a", "b", "c"], people)
    height = rng.integers(150, 200, people)
    of = np.arange(people).repeat(5)
    rows = len(of)
    code, visit, start = rng.integers(0, 30, rows), rng.integers(0, 12, rows), rng.integers(0, 300, rows)
    product, there = rng.integers(0, 60, rows), rng.random(rows) < 0.6
    labs = pd.DataFrame(
        {
            "pid": of,
            "product": product,
            "code": [f"T{c}" for c in code],
            "name": [f"test {c}" for c in code],
            "unit": np.where(rng.random(rows) < 0.1, None, np.array(["g", "l", "m"])[code % 3]),
            "visit": [f"WEEK {v}" for v in visit],
            "visit_number": visit * 3 + 1,
            "dose": pd.Series(arm).map({"a": 0, "b": 50, "c": 80}).to_numpy()[of],
            "height_seen": height[of] + people,
            "price": 100 + product * 7,
            "start_day": start,
            "stop_day": start + rng.integers(0, 60, rows),
            "size": pd.Series(rng.integers(0, 9, rows)).where(there).astype("Int64"),
            "shape": np.where(there, rng.choice(["x", "y"], rows), None),
            "depth": np.where(there, rng.integers(0, 90, rows) / 10, np.nan),
            "luck": rng.choice(["1", "2", "3", "4"], rows),
        }
    )
    return {
        "people": pd.DataFrame({"pid": range(people), "arm": arm, "height": height}),
        "labs": labs,
        "products": pd.DataFrame({"product": range(60), "list_price": 100 + np.arange(60) * 7}),
    }


@pytest.fixture(scope="module")
def schema() -> Schema:
    return load_schema(WORLD)


def unlawful(found: Evaluation) -> dict[str, float]:
    return {f"{law.where} {law.what}": round(law.share("synthetic"), 2) for law in found.unlawful}


def torn(schema: Schema, *columns: str, real: Frames | None = None) -> Evaluation:
    """Some columns of the synthetic side are moved to other rows, together."""
    made = world(seed=4)
    labs = made["labs"].copy()
    labs[list(columns)] = labs[list(columns)].sample(frac=1, random_state=1).to_numpy() if columns else labs[[]]
    labs = labs.astype(made["labs"].dtypes.to_dict())
    return mare.evaluate(schema, real or world(), {**made, "labs": labs})


def test_rows_that_keep_every_tie_are_told_of_none(schema: Schema) -> None:
    found = torn(schema)
    assert unlawful(found) == {}
    assert found.looked_at["law"] >= 8


@pytest.mark.parametrize(
    ("column", "law"),
    [
        ("name", "labs.name does not fit code"),
        ("unit", "labs.unit does not fit code"),
        ("visit_number", "labs.visit_number does not fit visit"),
        ("dose", "labs.dose does not fit people.arm"),
        ("price", "labs.price differs from products.list_price by product"),
    ],
)
def test_what_another_column_decides_is_told_where_it_does_not_fit(schema: Schema, column: str, law: str) -> None:
    found = torn(schema, column)
    assert unlawful(found)[law] > 0.6
    assert len([other for other in unlawful(found) if other.startswith(f"labs.{column} does not fit")]) <= 1
    assert law in plainly(verdict(found))


def test_names_that_are_told_in_the_report(schema: Schema) -> None:
    assert "labs.name does not fit code" in torn(schema, "name").to_html()


def test_a_tie_that_one_real_row_in_a_thousand_breaks_is_one_and_one_of_five_in_a_hundred_is_none(schema: Schema) -> None:
    for every, kept in ((500, True), (20, False)):
        real = world()
        real["labs"].loc[::every, "name"] = "test 1"
        assert ("labs.name does not fit code" in unlawful(torn(schema, "name", real=real))) is kept


def test_what_each_person_has_once_ties_nothing(schema: Schema) -> None:
    """Each of a hundred people has a number that no two share, in all of their rows: it decides all that is theirs, by chance."""
    frames = []
    for seed in (3, 4):
        made = world(49, seed)
        made["people"]["height"] = np.random.default_rng(seed).permutation(49) + 110
        made["labs"]["height_seen"] = made["people"].height.to_numpy()[made["labs"].pid] + 300
        frames.append(made)
    told = unlawful(mare.evaluate(schema, *frames))
    assert not [law for law in told if "does not fit height_seen" in law or "does not fit people.height" in law]


def test_a_column_of_nearly_one_value_is_decided_by_nothing(schema: Schema) -> None:
    real, made = world(), world(seed=4)
    real["labs"]["luck"], made["labs"]["luck"] = "1", "1"
    real["labs"].loc[7::301, "luck"] = "2"
    made["labs"].loc[3::20, "luck"] = "2"
    assert not [law for law in unlawful(mare.evaluate(schema, real, made)) if law.startswith("labs.luck")]


def test_a_stop_before_its_start_is_told_though_both_are_numbers(schema: Schema) -> None:
    found = torn(schema, "stop_day")
    assert unlawful(found)["labs.start_day is more than stop_day"] > 0.3


def test_numbers_of_which_one_is_always_the_larger_for_no_reason_are_no_order(schema: Schema) -> None:
    """Heights lie beyond all sizes: the order says nothing about what they have to do with each other."""
    real, made = world(), world(seed=4)
    made["labs"]["height_seen"] = 0
    told = unlawful(mare.evaluate(schema, real, made))
    assert not [law for law in told if "height_seen is" in law or "than height_seen" in law]


def test_columns_that_are_null_together_are_told_where_they_are_torn_apart(schema: Schema) -> None:
    found = torn(schema, "size", "shape")
    assert unlawful(found) == {"labs.size, shape, depth are NULL in part": pytest.approx(0.48, abs=0.05)}
    assert "labs.size, shape, depth are NULL in part" in plainly(verdict(found))


AGEING = """
mare: 1
entity: people
tables:
  people: {key: pid, columns: {sex: {type: category, values: [f, m]}}}
  visits:
    parent: {table: people, column: pid, type: sequential, order_by: seen, max_rows: 5}
    columns:
      seen: {type: date, min: 2000-01-01, max: 2030-01-01}
      age: {type: integer, min: 0, max: 120, same_for: entity, drift: {by: seen}}
"""


def test_an_age_that_goes_on_with_the_dates_is_no_value_that_differs() -> None:
    people = pd.DataFrame({"pid": range(60), "sex": "f"})
    pid, year = np.arange(60).repeat(3), np.tile([0, 2, 4], 60)
    visits = pd.DataFrame({"pid": pid, "seen": pd.to_datetime("2010-03-01") + pd.to_timedelta(year * 366, "D"), "age": 40 + year})
    frames = {"people": people, "visits": visits}
    assert mare.evaluate(load_schema(AGEING), frames, frames).wrong == ()
