"""The linkability game against mare itself: one outlier, all its rows, at a budget that protects nobody and at a sane one."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import mare
from mare.evaluation.risk.membership import play_linkability
from mare.evaluation.sides import Side, read_side
from mare.schema.loading import load_schema

pytestmark = pytest.mark.slow

SCHEMA = load_schema("""
mare: 1
entity: patients
tables:
  patients:
    key: pid
    columns:
      sex: {type: category, values: [F, M]}
      code: {type: category, values: [a, b, c, rare]}
  visits:
    key: vid
    parent: {table: patients, column: pid, max_rows: 4}
    columns:
      ward: {type: category, values: [x, y, z]}
""")


def hospital(with_outlier: bool) -> dict[str, pd.DataFrame]:
    rng = np.random.default_rng(1)
    owners = np.sort(rng.permutation(np.repeat(np.arange(60), 4))[:150])
    rows = {"pid": list(range(60)), "sex": list(rng.choice(list("FM"), 60)), "code": list(rng.choice(list("abc"), 60))}
    visits = {"pid": list(owners), "ward": list(rng.choice(list("xy"), 150))}
    if with_outlier:
        rows = {"pid": [*rows["pid"], 60], "sex": [*rows["sex"], "F"], "code": [*rows["code"], "rare"]}
        visits = {"pid": [*visits["pid"], *[60] * 4], "ward": [*visits["ward"], *"zzzz"]}
    return {"patients": pd.DataFrame(rows), "visits": pd.DataFrame(visits).assign(vid=range(len(visits["pid"])))}


def won(epsilon: float) -> list[float]:
    """The success of the three summaries, less what chance allows."""
    plan = mare.plan(SCHEMA, mare.Budget(epsilon=epsilon))

    def synthesise(inside: bool, seed: int) -> Side:
        release = mare.fit(plan, source=hospital(inside), unsafe_seed=seed)
        return read_side(SCHEMA, mare.sample(release, entities=400, seed=seed))

    return [attack.success.lower for attack in play_linkability(synthesise, shadows=16, challenges=24, seed=7)]


@pytest.mark.filterwarnings("ignore")
def test_an_outlier_shows_at_a_huge_epsilon_and_not_at_a_sane_one() -> None:
    """At ε = 0.5 nobody is right more often than √e/(1 + √e) = 62 %; each of three games exceeds a half by chance in 1 of 40."""
    assert max(won(10_000.0)) > 0.5
    assert max(won(0.5)) <= 0.5
