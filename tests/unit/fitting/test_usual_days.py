"""Dates of which nothing is learned lie where it is public that things happened, not anywhere between 1900 and 2050."""

from __future__ import annotations

from datetime import date

import numpy as np
import pyarrow as pa
import pytest

from mare.fitting import FitOptions, run_fit
from mare.fitting.usual_days import usual_days
from mare.planning.planning import plan
from mare.privacy.bits import SeededBits
from mare.privacy.budget import Budget
from mare.sampling import sample
from mare.schema.loading import load_schema
from tests.memory_source import MemorySource

SCHEMA = """
mare: 1
entity: people
calendar: {min: 2015-01-01, max: 2024-12-31}
tables:
  people:
    key: pid
    columns:
      born: {type: date, learn: true}
      joined: {type: date, learn: true}
      hired: {type: date, learn: true, max: 2010-12-31}
      until: {type: datetime, learn: true}
      seen: {type: date, after: born, within: 100y}
"""


@pytest.fixture(scope="module")
def made() -> dict[str, np.ndarray]:
    """By seed: at this ε next to nothing is known of 60 people."""
    rng, people = np.random.default_rng(3), 60
    days = {name: np.datetime64("2016-01-01") + rng.integers(0, 3000, people) for name in ("joined", "until", "seen")}
    days["hired"], days["born"] = days["joined"] - 4000, days["seen"] - 15000
    table = pa.table({"pid": np.arange(people), **days})
    fitted = run_fit(plan(load_schema(SCHEMA), Budget(0.01)), MemorySource({"people": table}), FitOptions(bits=SeededBits(4)))
    unknown = {doubt.where for doubt in fitted.doubts if "no stretch" in doubt.what}
    assert {f"people.{name}" for name in ("born", "joined", "hired", "until")} <= unknown
    rows = sample(fitted, entities=200, seed=1)
    return {name: rows["people"][name].to_numpy().astype("datetime64[D]") for name in ("born", "joined", "hired", "until")}


@pytest.mark.parametrize(
    ("column", "first", "last"),
    [
        ("joined", "2015-01-01", "2024-12-31"),
        ("until", "2015-01-01", "2024-12-31"),
        ("born", "1915-01-01", "2024-12-31"),
        ("hired", "1900-01-01", "2010-12-31"),
    ],
)
def test_what_is_unknown_lies_within_the_calendar(made, column: str, first: str, last: str) -> None:
    known = made[column][~np.isnat(made[column])]
    assert len(known) > 100
    assert np.datetime64(first) <= known.min() <= known.max() <= np.datetime64(last)


def test_who_has_an_age_may_be_older_than_the_calendar() -> None:
    schema = load_schema(SCHEMA)
    assert usual_days(schema, "people", "joined") == (date(2015, 1, 1), date(2024, 12, 31))
    assert usual_days(schema, "people", "born") == (date(1915, 1, 1), date(2024, 12, 31))


def test_without_a_calendar_nothing_is_known() -> None:
    schema = load_schema(SCHEMA.replace("calendar: {min: 2015-01-01, max: 2024-12-31}\n", ""))
    assert usual_days(schema, "people", "joined") == (None, None)
