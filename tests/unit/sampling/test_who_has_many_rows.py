"""Clipping scales those with many rows down; what they have comes out as often as it is there all the same."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import mare
from mare.schema.loading import load_schema

SCHEMA = """
mare: 1
entity: p
tables:
  p: {key: id, rows: 2000, columns: {sex: {type: category, values: [f, m]}}}
  orders:
    parent: {table: p, column: id, max_rows: 8}
    columns:
      kind: {type: category, values: [rent, food, gift, loan]}
      paid: {type: category, values: [cash, card]}
"""


def world() -> dict[str, pd.DataFrame]:
    """Whoever orders much buys food; whoever orders once pays the rent."""
    rng = np.random.default_rng(8)
    many = rng.choice([1, 2, 8], 2000, p=[0.5, 0.2, 0.3])
    who = np.repeat(np.arange(2000), many)
    usual = np.where(many[who] == 1, "rent", np.where(many[who] == 2, "gift", "food"))
    kind = np.where(rng.random(len(who)) < 0.75, usual, rng.choice(["rent", "food", "gift", "loan"], len(who)))
    orders = pd.DataFrame({"id": who, "kind": kind, "paid": rng.choice(["cash", "card"], len(who))})
    return {"p": pd.DataFrame({"id": range(2000), "sex": rng.choice(["f", "m"], 2000)}), "orders": orders}


@pytest.mark.parametrize("seed", [1, 2, 4])
def test_what_those_with_many_rows_have_is_not_scaled_down(seed: int) -> None:
    tables = world()
    release = mare.fit(mare.plan(load_schema(SCHEMA), mare.Budget(epsilon=2, delta=1e-9)), tables, unsafe_seed=seed)
    made = mare.sample(release, entities=2000, seed=seed)
    assert made is not None
    true, found = (frame["orders"]["kind"].value_counts(normalize=True) for frame in (tables, made))
    assert abs(found["food"] - true["food"]) < 0.05
