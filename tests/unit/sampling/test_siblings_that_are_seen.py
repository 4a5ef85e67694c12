"""A table that sees a sibling looks at the row of it that stands beside its own: the title fits the department."""

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
  p: {key: id, rows: 1500, columns: {sex: {type: category, values: [f, m]}}}
  depts:
    parent: {table: p, column: id, type: sequential, order_by: day, max_rows: 3}
    columns: {day: {type: integer, min: 0, max: 99}, dept: {type: category, values: [a, b, c, d]}}
  titles:
    parent: {table: p, column: id, type: sequential, order_by: day, max_rows: 3}
    SEES
    columns: {day: {type: integer, min: 0, max: 99}, title: {type: category, values: [a, b, c, d]}}
"""


def world() -> dict[str, pd.DataFrame]:
    """Whoever is in a department has its title in the same place; a title without a department is d."""
    rng, depts, titles = np.random.default_rng(6), [], []
    for who in range(1500):
        held = rng.choice(list("abc"), rng.integers(0, 3))
        days = np.sort(rng.choice(100, 3, replace=False))
        depts += [(who, day, dept) for day, dept in zip(days, held, strict=False)]
        shown = [*held, *held[-1:]] if len(held) else ["d"]
        titles += [(who, day, title) for day, title in zip(days, shown, strict=False)]
    people = pd.DataFrame({"id": range(1500), "sex": rng.choice(["f", "m"], 1500)})
    columns = ["id", "day"]
    return {
        "p": people,
        "depts": pd.DataFrame(depts, columns=[*columns, "dept"]),
        "titles": pd.DataFrame(titles, columns=[*columns, "title"]),
    }


def agreement(tables: dict[str, pd.DataFrame]) -> float:
    """Of the titles of those with a department, how many are that of the place beside it, or of the last."""
    depts = {who: list(rows["dept"]) for who, rows in tables["depts"].sort_values(["id", "day"]).groupby("id")}
    kept = [
        title == depts[who][min(place, len(depts[who]) - 1)]
        for who, rows in tables["titles"].sort_values(["id", "day"]).groupby("id")
        if who in depts
        for place, title in enumerate(rows["title"])
    ]
    return float(np.mean(kept))


@pytest.mark.parametrize(("sees", "least", "most"), [("sees: [depts]", 0.95, 1.0), ("", 0.0, 0.6)])
def test_the_row_beside_is_seen(sees: str, least: float, most: float) -> None:
    assert agreement(world()) == 1
    schema = load_schema(SCHEMA.replace("SEES", sees))
    release = mare.fit(mare.plan(schema, mare.Budget(epsilon=500, delta=1e-9)), source=world())
    made = mare.sample(release, seed=1)
    assert least <= agreement(dict(made)) <= most
    if sees:
        without = made["titles"][~made["titles"]["id"].isin(made["depts"]["id"])]
        assert (without["title"] == "d").mean() > 0.95
