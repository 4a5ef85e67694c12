"""Values that were moved onto a declared end: by noisy answers alone it is told, and the card does not call the column good."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from mare.fitting import FitOptions, run_fit
from mare.planning.planning import plan
from mare.privacy.bits import SeededBits
from mare.privacy.budget import Budget
from mare.schema.loading import load_schema
from mare.verdicts.card import Card, card
from tests.memory_source import MemorySource

SCHEMA = """
mare: 1
entity: people
tables:
  people:
    key: pid
    columns:
      born: {type: date, min: 1950-01-01, max: 2020-12-31}
      joined: {type: date, min: 2000-01-01, max: 2020-12-31}
      weight: {type: number, min: 0, max: 100, precision: 1}
      debt: {type: number, min: 0, max: 9000, precision: 2}
      left: {type: date, after: joined, within: 400d}
"""
PEOPLE = 4000


@pytest.fixture(scope="module")
def told() -> Card:
    """By seed. A third was born before the range, weighs more than it says, stays longer; half have no debt."""
    rng = np.random.default_rng(5)
    joined = np.datetime64("2000-02-01") + rng.integers(0, 7000, PEOPLE)
    table = pa.table(
        {
            "pid": np.arange(PEOPLE),
            "born": np.datetime64("1930-01-01") + rng.integers(0, 22000, PEOPLE),
            "joined": joined,
            "weight": np.round(rng.normal(95, 12, PEOPLE), 1),
            "debt": np.where(rng.random(PEOPLE) < 0.5, 0, rng.integers(1, 8000, PEOPLE)),
            "left": joined + rng.integers(0, 600, PEOPLE),
        }
    )
    release = run_fit(plan(load_schema(SCHEMA), Budget(4, 1e-9)), MemorySource({"people": table}), FitOptions(bits=SeededBits(1)))
    return card(release)


def doubts(told: Card, column: str) -> list[str]:
    return [doubt.what for doubt in told.doubts if doubt.where == f"people.{column}" and "exactly" in doubt.what]


@pytest.mark.parametrize(("column", "end"), [("born", "`min` (1950-01-01)"), ("weight", "`max` (100.0)"), ("left", "`within`")])
def test_an_end_that_many_rows_lie_on_is_told(told, column, end) -> None:
    (said,) = doubts(told, column)
    assert end in said
    (remedy,) = {doubt.remedy for doubt in told.doubts if doubt.what == said}
    assert ("`within`" if column == "left" else f"a wider `{end[1:4]}:` of its own") in remedy


@pytest.mark.parametrize("column", ["joined", "debt"])
def test_what_lies_on_no_end_or_on_zero_is_not(told, column) -> None:
    assert doubts(told, column) == []


def test_the_card_does_not_trust_dates_that_may_have_been_moved(told) -> None:
    verdicts = {column.column: column for column in told.columns}
    assert verdicts["born"].verdict == "do not use"
    assert "may lie beyond" in verdicts["born"].why
    assert verdicts["joined"].verdict == "trust"
