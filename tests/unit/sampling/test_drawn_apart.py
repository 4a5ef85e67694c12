"""Rows that have to differ are drawn again once their values are known: what depends on those values comes along."""

from __future__ import annotations

import pandas as pd
import pytest

from mare.fitting import FitOptions, run_fit
from mare.planning.planning import plan
from mare.privacy.bits import SeededBits
from mare.privacy.budget import Budget
from mare.sampling import sample
from mare.schema.loading import load_schema
from tests.datasets import dataset
from tests.integrity import faults

_PEOPLE = """
mare: 1
entity: people
model: independent
tables:
  people: {key: pid, columns: {sex: {type: category, values: [F, M]}}}
"""


def drawn(text: str, seed: int = 1) -> dict[str, pd.DataFrame]:
    schema = load_schema(_PEOPLE + text)
    release = run_fit(plan(schema, Budget(500.0, 1e-6)), dataset(schema, 1, 80), FitOptions(bits=SeededBits(1)))
    made = sample(release, entities=400, seed=seed)
    assert made is not None
    assert faults(schema, made) == []
    return made


def test_what_orders_a_sequence_stays_in_order() -> None:
    made = drawn(
        """
  stays:
    key: sid
    unique: [[pid, n]]
    parent: {table: people, column: pid, type: sequential, order_by: n, max_rows: 8}
    columns: {n: {type: integer, min: 0, max: 40, bins: 3}, twice: {type: integer, determined: {expression: n * 2}}}
"""
    )
    stays = made["stays"]
    # All differ, and there was reason to draw again: of 8 in 41 places two are alike with probability one half.
    assert (stays.groupby("pid").size() > 5).sum() > 20
    assert (stays["n"].groupby(stays["pid"]).diff().dropna() > 0).all()
    assert (stays["twice"] == 2 * stays["n"]).all()


def test_numbers_with_special_values_are_worked_with_as_they_came_out() -> None:
    made = drawn(
        """
  stays:
    key: sid
    unique: [[pid, n]]
    parent: {table: people, column: pid, max_rows: 8}
    columns:
      n: {type: integer, min: 0, max: 20, bins: 2, specials: [-1], nullable: true}
      twice: {type: integer, nullable: true, determined: {expression: n * 2}}
"""
    )
    stays = made["stays"].dropna(subset="n")
    ordinary = stays[stays["n"].astype(int) >= 0]
    assert len(ordinary) > 100
    assert (ordinary["twice"] == 2 * ordinary["n"].astype(int)).all()


def test_a_row_that_is_found_by_its_time_is_found_by_the_time_that_came_out() -> None:
    made = drawn(
        """
  stays:
    key: sid
    parent: {table: people, column: pid, type: sequential, order_by: begins, max_rows: 3}
    columns:
      begins: {type: date, after: previous.ends, first: {min: 2110-01-01, max: 2110-01-20}, within: 9d}
      ends: {type: date, after: begins, within: 9d}
  labs:
    key: [pid, at]
    parent: {table: people, column: pid, max_rows: 9}
    references: {sid: {kind: same_entity, table: stays, by: interval, time: at, interval: [begins, ends], nullable: true}}
    columns: {at: {type: date, min: 2110-01-01, max: 2110-02-10, bins: 2}}
"""
    )
    labs, stays = made["labs"], made["stays"]
    joined = labs.merge(stays, on="pid", suffixes=("", "_there"))
    inside = joined[(joined["begins"] <= joined["at"]) & (joined["at"] <= joined["ends"])]
    possible = inside.groupby(["pid", "at"])["sid_there"].apply(set)
    found = labs.dropna(subset="sid")
    assert len(found) > 50
    for pid, at, sid in found[["pid", "at", "sid"]].itertuples(index=False):
        assert sid in possible.get((pid, at), set())


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_next_row_and_the_position_are_those_among_the_rows_that_stay(seed: int) -> None:
    """Three wards for up to four rows: some come out alike to the end, and go."""
    made = drawn(
        """
  stays:
    key: sid
    unique: [[pid, ward]]
    parent: {table: people, column: pid, type: sequential, order_by: at, max_rows: 4}
    references: {ward: {kind: pool, table: wards}}
    columns:
      at: {type: date, min: 2100-01-01, max: 2100-02-01, bins: 3}
      until: {type: date, nullable: true, determined: {next: at}}
      seq: {type: position, start: 1}
      of_day: {type: position, start: 1, within: [at]}
  parts:
    key: [sid, n]
    parent: {table: stays, column: sid, max_rows: 2}
    references: {pid: {kind: ancestor, table: people}}
    columns: {n: {type: position, start: 1}, seq: {type: integer, min: 1, max: 4, determined: {copy_of: parent.seq}}}
  wards: {pool: {rows: 3}, key: ward_id}
""",
        seed,
    )
    stays = made["stays"]
    assert stays["sid"].max() > len(stays), "no row went, so nothing was tested"
    later = stays.groupby("pid")["at"].shift(-1)
    assert ((later == stays["until"]) | (later.isna() & stays["until"].isna())).all()
    assert (stays["seq"] == stays.groupby("pid").cumcount() + 1).all()
    assert (stays["of_day"] == stays.groupby(["pid", "at"]).cumcount() + 1).all()
    parts = made["parts"].merge(stays, on="sid", suffixes=("", "_above"))
    assert (parts["seq"] == parts["seq_above"]).all()
