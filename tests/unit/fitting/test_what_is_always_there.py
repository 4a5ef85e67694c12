"""A reference and an id that may be missing, and never are: noise alone does not make them NULL."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import mare

SCHEMA = """
mare: 1
entity: people
calendar: {min: 2018-01-01, max: 2024-12-31}
tables:
  people: {key: id, rows: 1500, columns: {born: {type: integer, min: 1920, max: 2010}}}
  staff: {pool: {rows: 20}, key: staff_id}
  surgeries:
    key: surgery
    parent: {table: people, column: id, type: sequential, order_by: done, max_rows: 30}
    columns:
      done: {type: date, after: previous.done, within: 7y}
      kind: {type: category, learn: true}
      file: {type: identifier, runs: true, nullable: true}
    references: {surgeon: {kind: pool, table: staff, nullable: true}}
"""


def _surgeries() -> dict[str, pd.DataFrame]:
    random, people = np.random.default_rng(4), 1500
    own = np.repeat(np.arange(people), random.integers(0, 4, people))
    days = pd.to_datetime("2018-01-01") + pd.to_timedelta(random.integers(0, 2500, len(own)), "D")
    surgeries = {
        "surgery": range(len(own)),
        "id": own,
        "done": days,
        "kind": random.choice(list("abcdefgh"), len(own), p=[0.4, 0.2, 0.2, 0.1, 0.05, 0.03, 0.015, 0.005]),
        "file": np.arange(len(own)) // 2,
        "surgeon": random.integers(0, 40, len(own)),
    }
    born = random.integers(1930, 2005, people)
    frames = {"people": {"id": range(people), "born": born}, "staff": {"staff_id": range(40)}, "surgeries": surgeries}
    return {name: pd.DataFrame(frame) for name, frame in frames.items()}


@pytest.mark.parametrize("seed", [1, 2, 3, 4])
def test_what_is_never_missing_is_not_made_to_be_by_noise(seed: int) -> None:
    """Seeded. Before, one of these four had a NULL."""
    plan = mare.plan(mare.load_schema(SCHEMA), mare.Budget(epsilon=1000, delta=1e-9))
    release = mare.fit(plan, source=_surgeries(), unsafe_seed=seed)
    drawn = mare.sample(release, seed=1)["surgeries"]
    assert int(drawn["surgeon"].isna().sum()) == int(drawn["file"].isna().sum()) == 0
