"""A column that may be NULL and never is comes out without any; one that often is, as often. By seed."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import mare
from mare.domain import norm_subtract, without_unclear
from mare.schema.loading import load_schema

SCHEMA = """
mare: 1
entity: people
tables:
  people:
    key: id
    model: {MODEL}
    columns:
      sex: {type: category, values: [F, M], nullable: true}
      town: {type: category, learn: true, nullable: true}
      age: {type: integer, min: 0, max: 120, nullable: true}
      score: {type: integer, min: 0, max: 9, nullable: true}
  visits:
    key: vid
    parent: {table: people, column: id, type: sequential, order_by: at, max_rows: 8}
    columns:
      at: {type: date, after: previous.at, within: 3y, first: {min: 2010-01-01, max: 2019-12-31}}
      kind: {type: category, values: [x, y, z], nullable: true}
      left: {type: date, after: at, within: 60d, nullable: true}
    references: {ward: {kind: public, table: wards, nullable: true}}
  wards: {public: true, key: ward, rows: 3}
"""


def hospital(people: int = 1200) -> dict[str, pd.DataFrame]:
    rng = np.random.default_rng(4)
    who = np.repeat(np.arange(people), rng.integers(0, 7, people))
    at = pd.Timestamp("2010-01-01") + pd.to_timedelta(np.sort(rng.integers(0, 3000, len(who))), unit="D")
    score = pd.Series(rng.integers(0, 10, people), dtype="Int64").mask(rng.random(people) < 0.1)
    sex, town = rng.choice(["F", "M"], people), rng.choice(list("abcdef"), people)
    visits = {"vid": range(len(who)), "id": who, "at": at, "kind": rng.choice(list("xyz"), len(who))}
    left = at + pd.to_timedelta(rng.integers(0, 50, len(who)), unit="D")
    return {
        "people": pd.DataFrame(
            {"id": range(people), "sex": sex, "town": town, "age": rng.integers(0, 99, people), "score": score}
        ),
        "visits": pd.DataFrame({**visits, "left": left, "ward": rng.choice(list("ABC"), len(who))}),
        "wards": pd.DataFrame({"ward": list("ABC")}),
    }


@pytest.mark.parametrize("model", ["privbayes", "independent"])
def test_null_occurs_where_it_stands_clear_of_the_noise(model: str) -> None:
    schema = load_schema(SCHEMA.replace("{MODEL}", model))
    release = mare.fit(mare.plan(schema, mare.Budget(2, 1e-9)), hospital(), unsafe_seed=7)
    frames = mare.sample(release, seed=8)
    assert frames is not None
    shares = {column: frame[column].isna().mean() for frame in frames.values() for column in frame}
    assert 0.06 < shares.pop("score") < 0.14
    assert {column for column, share in shares.items() if share} == set()


def test_a_code_that_is_taken_for_noise_gets_nothing() -> None:
    noisy = np.array([0.6, 0.37, 0.03])
    assert norm_subtract(without_unclear(noisy, (2,), 0.009))[2] == pytest.approx(0.03)
    assert norm_subtract(without_unclear(noisy, (2,), 0.011)).tolist() == pytest.approx([0.615, 0.385, 0.0])
    assert without_unclear(noisy, (), 1.0) is noisy
