"""What is said once of how a source writes values stands in each column that it holds for, and in no other."""

from __future__ import annotations

import pytest

from mare.errors import SchemaError
from mare.schema.loading import dump_schema, load_schema

SCHEMA = """
mare: 1
entity: p
reading:
  decimal: ","
  thousands: "."
  format: ["%d.%m.%Y", "%d.%m.%Y %H:%M", "%Y-%m-%d", "%H:%M"]
  nulls: [NA, "-"]
  map: {m: M, w: F, ja: true, A: AB}
  trim: true
  case: ignore
tables:
  p:
    key: id
    columns:
      height: {type: number, min: 0, max: 3}
      visits: {type: integer, min: 0, max: 99, specials: ["-"]}
      weight: {type: number, min: 0, max: 300, decimal: "."}
      sex: {type: category, values: [M, F]}
      grade: {type: category, values: [m, l, "-"], nulls: ["?"]}
      blood: {type: category, learn: true}
      smoker: {type: boolean}
      consent: {type: boolean, true: J, false: N}
      born: {type: date, min: 1900-01-01, max: 2020-01-01}
      seen: {type: datetime, min: 2000-01-01, max: 2020-01-01}
      rounds: {type: time}
      note: {type: text}
      copy: {type: number, determined: {copy_of: height}}
  t:
    key: k
    parent: {table: p, column: p_id, max_rows: 3}
    reading: {thousands: " ", nulls: []}
    columns:
      price: {type: number, min: 0, max: 3}
  w: {public: true, key: ward, columns: {beds: {type: integer}}}
"""


def said(table: str, column: str) -> dict[str, object]:
    declared = load_schema(SCHEMA).tables[table].columns[column].model_dump(exclude_defaults=True)
    return {
        field: declared.get(field)
        for field in ("decimal", "thousands", "format", "nulls", "map", "trim", "case")
        if field in declared
    }


def test_numbers_take_the_form_unless_they_say_one() -> None:
    assert said("p", "height") == {"decimal": ",", "thousands": ".", "nulls": ("NA", "-")}
    assert said("p", "visits") == {"decimal": ",", "thousands": ".", "nulls": ("NA",)}  # `-` is a value there
    assert said("p", "weight") == {"decimal": ".", "nulls": ("NA", "-")}


def test_a_table_says_otherwise() -> None:
    assert said("t", "price") == {"thousands": " "}


def test_words_are_mapped_where_the_column_has_what_they_stand_for() -> None:
    common: dict[str, object] = {"nulls": ("NA", "-"), "trim": True}
    assert said("p", "sex") == {**common, "map": {"m": "M", "w": "F"}, "case": "ignore"}
    assert said("p", "grade") == {"nulls": ("?",), "trim": True, "case": "ignore"}
    assert said("p", "blood") == {**common, "map": {"m": "M", "w": "F", "ja": True, "A": "AB"}}
    assert said("p", "smoker") == {**common, "map": {"ja": True}, "case": "ignore"}
    assert said("p", "consent") == {**common, "case": "ignore"}


def test_each_type_takes_the_formats_that_can_say_it() -> None:
    assert said("p", "born")["format"] == ["%d.%m.%Y", "%Y-%m-%d", "%d.%m.%Y %H:%M"]
    assert said("p", "seen")["format"] == ["%d.%m.%Y %H:%M", "%d.%m.%Y", "%Y-%m-%d"]
    assert said("p", "rounds")["format"] == "%H:%M"


def test_nothing_is_said_of_what_is_not_read() -> None:
    assert said("p", "note") == said("p", "copy") == said("w", "beds") == {}


def test_what_is_written_comes_back() -> None:
    schema = load_schema(SCHEMA)
    assert load_schema(dump_schema(schema)) == schema


def test_one_mark_cannot_be_two_things() -> None:
    with pytest.raises(SchemaError, match="both the decimal mark and the thousands separator"):
        load_schema(SCHEMA.replace('thousands: "."', 'thousands: ","'))
