"""Identifiers that rows share which follow each other: the number of an order, a basket."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import mare
from mare.errors import SchemaError
from mare.schema.loading import load_schema

SCHEMA = """
mare: 1
entity: p
tables:
  p: {key: id, rows: 800, columns: {sex: {type: category, values: [f, m]}}}
  lines:
    parent: {table: p, column: id, type: sequential, order_by: day, max_rows: 12}
    columns:
      day:    {type: integer, min: 0, max: 400, after: previous.day, within: 400}
      basket: {type: identifier, runs: true}
      coupon: {type: identifier, generate: pattern, pattern: "C{n}", runs: true, nullable: true}
"""


def world() -> dict[str, pd.DataFrame]:
    """Baskets of 1 to 4 lines, each on one day, two of them perhaps on the same; every third has a coupon."""
    rng, rows = np.random.default_rng(5), []
    basket = 0
    for who in range(800):
        for day in np.sort(rng.integers(0, 400, rng.integers(1, 4))):
            basket += 1
            number = f"b{rng.integers(10**6):06d}{basket}"
            rows += [(who, day, number, None if basket % 3 else f"c{basket}")] * int(rng.integers(1, 5))
    lines = pd.DataFrame(rows, columns=["id", "day", "basket", "coupon"]).sample(frac=1, random_state=1)
    return {"p": pd.DataFrame({"id": range(800), "sex": rng.choice(["f", "m"], 800)}), "lines": lines}


def test_rows_that_follow_each_other_share_an_identifier_as_often_as_in_the_source() -> None:
    real = world()
    schema = load_schema(SCHEMA)
    release = mare.fit(mare.plan(schema, mare.Budget(epsilon=500, delta=1e-9)), source=real)
    made = mare.sample(release, seed=1)["lines"]
    assert made.groupby("basket")["id"].nunique().max() == 1  # nobody shares one with somebody else
    assert (made.groupby("basket")["day"].nunique() > 1).mean() < 0.02
    assert len(made) / made["basket"].nunique() == pytest.approx(2.5, abs=0.2)
    assert made["basket"].notna().all()
    with_coupon = made.dropna(subset="coupon")
    assert len(with_coupon) / len(made) == pytest.approx(1 / 3, abs=0.05)
    assert len(with_coupon) / with_coupon["coupon"].nunique() == pytest.approx(2.5, abs=0.3)
    assert not set(made["basket"].astype(str)) & set(real["lines"]["basket"])


def test_only_rows_of_a_sequence_follow_each_other() -> None:
    with pytest.raises(SchemaError, match="only rows of a sequence follow each other"):
        load_schema(SCHEMA.replace("type: sequential, order_by: day, ", "").replace("after: previous.day, within: 400", ""))
