"""The calendar stands in every date that says nothing else, and what is written with it comes back the same."""

from __future__ import annotations

from datetime import date, datetime

import pytest

from mare.errors import SchemaError
from mare.schema.columns import Date, Datetime, Ordinal
from mare.schema.loading import dump_schema, load_schema

SCHEMA = """
mare: 1
entity: p
calendar: {min: 2019-01-01, max: 2024-12-31}
tables:
  p:
    key: id
    columns:
      born: {type: date, learn: true}
      left: {type: date, min: 1980-01-01, max: 1990-01-01}
      died: {type: date, after: born, within: 120y, nullable: true, max: 2023-12-31}
      met: {type: datetime}
  t:
    key: k
    parent: {table: p, column: p_id, type: sequential, order_by: at, max_rows: 9}
    columns:
      at: {type: date, after: previous.at, within: 6y}
      year: {type: integer, determined: {part: {of: at, unit: year}}}
"""


def test_a_date_that_says_nothing_else_lies_in_the_calendar() -> None:
    schema = load_schema(SCHEMA)
    columns = schema.tables["p"].columns | schema.tables["t"].columns
    assert {name: (c.min, c.max) for name, c in columns.items() if isinstance(c, Date)} == {
        "born": (None, None),
        "left": (date(1980, 1, 1), date(1990, 1, 1)),
        "died": (date(2019, 1, 1), date(2023, 12, 31)),
        "at": (date(2019, 1, 1), date(2024, 12, 31)),
    }
    met = columns["met"]
    assert isinstance(met, Datetime)
    # The last day as a whole.
    assert (met.min, met.max) == (datetime(2019, 1, 1), datetime(2024, 12, 31, 23, 59, 59))


def test_a_sequence_begins_in_the_calendar_where_nothing_says_how() -> None:
    at = load_schema(SCHEMA).tables["t"].columns["at"]
    assert isinstance(at, Date)
    assert at.first is not None
    assert (at.first.min, at.first.max) == (date(2019, 1, 1), date(2024, 12, 31))


@pytest.mark.parametrize(
    ("kind", "low", "high"), [("integer", 1, 12), ("number", 0.5, 9.5), ("date", date(2020, 1, 1), date(2021, 1, 1))]
)
def test_a_sequence_begins_between_its_own_bounds_where_nothing_says_how(kind: str, low: object, high: object) -> None:
    within = "365d" if kind == "date" else "5"
    bounded = f"type: {kind}, min: {low}, max: {high}, after: previous.at, within: {within}"
    own = SCHEMA.replace("type: date, after: previous.at, within: 6y", bounded)
    own = own.replace("      year: {type: integer, determined: {part: {of: at, unit: year}}}\n", "")
    at = load_schema(own).tables["t"].columns["at"]
    assert isinstance(at, Ordinal)
    assert at.first is not None
    assert (at.first.min, at.first.max) == (low, high)


def test_what_is_written_comes_back() -> None:
    schema = load_schema(SCHEMA)
    assert load_schema(dump_schema(schema)) == schema


@pytest.mark.parametrize(
    ("written", "says"),
    [("{min: 2025-01-01, max: 2024-12-31}", "is after max"), ("{}", "min, max or both"), ("{max: soon}", "not a date")],
)
def test_a_calendar_that_is_none_is_told_once(written: str, says: str) -> None:
    with pytest.raises(SchemaError, match=says) as error:
        load_schema(SCHEMA.replace("{min: 2019-01-01, max: 2024-12-31}", written))
    assert "calendar" in str(error.value.faults[0].path)
    assert len([fault for fault in error.value.faults if fault.path[0] == "calendar"]) == 1
