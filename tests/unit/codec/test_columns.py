"""Every column type: codes stay in the domain whatever the data holds, and decoded values encode to the same codes."""

from __future__ import annotations

from datetime import date, datetime

import numpy as np
import pyarrow as pa
import pytest

from mare.codec import evenly, table_codec
from mare.schema.loading import load_schema


def codec_of(declaration: str):
    text = f"mare: 1\nentity: t\ntables:\n  t:\n    key: id\n    columns:\n      x: {declaration}\n"
    return evenly(table_codec(load_schema(text), "t", ["x"])).columns["x"]


def encode(declaration: str, values: pa.Array) -> list[int]:
    return codec_of(declaration).encode(values).tolist()


CASES = {
    "category": "{type: category, values: [a, b, c], nullable: true}",
    "numbers as categories": "{type: category, values: [1, 2, 30]}",
    "mixed categories": "{type: category, values: [1, unknown]}",
    "boolean": "{type: boolean, nullable: true}",
    "boolean as text": '{type: boolean, "true": Y, "false": N}',
    "integer": "{type: integer, min: 0, max: 1000, bins: 7, nullable: true}",
    "integer in steps": "{type: integer, min: 0, max: 1000, step: 5, bins: 7}",
    "number": "{type: number, min: -1.5, max: 2.5, precision: 2, bins: 9}",
    "number, log": "{type: number, min: 0, max: 100000, precision: 1, scale: log, bins: 9, nullable: true}",
    "number with edges": "{type: number, min: 0, max: 10, bins: [1.5, 2.5]}",
    "date": "{type: date, min: 1844-01-01, max: 2200-12-31, bins: 11, nullable: true}",
    "datetime": "{type: datetime, min: 1844-01-01 00:00:00, max: 2200-12-31 00:00:00, bins: 11}",
    "time": "{type: time, bins: 24, nullable: true}",
    "time by the minute": '{type: time, resolution: minute, min: "06:00", max: "22:00"}',
    "time as text": '{type: time, resolution: minute, format: "%H.%M", bins: 7}',
    "duration": "{type: duration, min: 0s, max: 48h, bins: 9, nullable: true}",
    "duration in days": "{type: duration, min: 1d, max: 40d, stored_as: days}",
    "date as text": "{type: date, min: 2000-01-01, max: 2010-01-01, bins: 5, format: '%d.%m.%Y'}",
    "code": "{type: code, values: [A00, A01, B20], hierarchy: {prefix: [1]}, nullable: true}",
    "numbers with a text among them": '{type: integer, min: 0, max: 89, bins: 9, specials: ["> 89", -1], nullable: true}',
    "numbers with a number among them": "{type: number, min: 0, max: 10, precision: 1, bins: 9, specials: [-1, 99.9]}",
    "dates with one that means never": '{type: date, min: 2000-01-01, max: 2010-01-01, bins: 9, specials: ["9999-12-31"]}',
    "dates with a word among them": "{type: date, min: 2000-01-01, max: 2010-01-01, bins: 9, specials: [never], nullable: true}",
    "decimal commas with a word among them": (
        "{type: number, min: 0, max: 5000, precision: 2, bins: 9, decimal: ',', thousands: '.', specials: [low], nullable: true}"
    ),
    "dates in two formats with a word among them": (
        "{type: date, min: 2000-01-01, max: 2010-01-01, bins: 9, specials: [never], format: ['%d.%m.%Y', '%Y-%m-%d']}"
    ),
    "datetime by the minute": "{type: datetime, min: 2000-01-01 00:00:00, max: 2000-01-02 00:00:00, resolution: minute}",
}


@pytest.mark.parametrize("declaration", CASES.values(), ids=CASES.keys())
def test_decoded_values_encode_to_the_same_codes(declaration: str) -> None:
    codec = codec_of(declaration)
    codes = np.repeat(np.arange(codec.size), 20)
    values = codec.decode(codes, np.random.default_rng(0))
    np.testing.assert_array_equal(codec.encode(values), codes)


def test_texts_are_read_in_the_form_of_the_schema() -> None:
    """Rows that a user gives, and columns with words among their numbers, come to the codec as texts."""
    number = "{type: number, min: 0, max: 9999, bins: [2, 100, 1000], decimal: ',', thousands: '.', specials: [low]}"
    assert encode(number, pa.array(["1,5", "2,5", "1.234,5", "1.234", "1.5", "low"])) == [0, 1, 3, 3, 0, 4]
    whole = "{type: integer, min: 0, max: 9999, bins: [2, 100, 1000], thousands: ' '}"
    assert encode(whole, pa.array(["1", "1 234", "99"])) == [0, 3, 1]
    dates = "{type: date, min: 2000-01-01, max: 2009-12-31, bins: 10, format: ['%d.%m.%Y', '%Y-%m-%d']}"
    assert encode(dates, pa.array(["15.06.2001", "2001-06-15"])) == [1, 1]


def test_categories_are_compared_by_value_not_by_storage() -> None:
    for stored in (pa.array([30, 1]), pa.array([30.0, 1.0]), pa.array(["30", "1"])):
        assert encode("{type: category, values: [1, 2, 30]}", stored) == [2, 0]


def test_case_of_strings_is_kept() -> None:
    assert encode("{type: category, values: [a, A]}", pa.array(["A", "a"])) == [1, 0]


@pytest.mark.parametrize(
    ("declaration", "code"),
    [
        ("{type: category, values: [a, b], rest: b}", 1),
        ("{type: category, values: [a, b], rest: strange}", 2),
        ("{type: category, values: [a, b], other: strange}", 2),
        ("{type: category, values: [a, b], nullable: true}", 2),
        ("{type: code, values: [a, b], rest: b}", 1),
    ],
)
def test_a_value_outside_a_declared_list_becomes_the_word_for_the_rest_or_null(declaration: str, code: int) -> None:
    assert encode(declaration, pa.array(["?"])) == [code]


def test_the_empty_string_is_not_null() -> None:
    assert encode('{type: category, values: ["", a], nullable: true}', pa.array(["", None, "a"])) == [0, 2, 1]


def test_null_in_a_column_that_declares_none_is_clamped() -> None:
    assert encode("{type: integer, min: 5, max: 9}", pa.array([None, 9], type=pa.int64())) == [0, 4]


def test_numbers_that_are_none_are_null_and_infinities_are_clamped() -> None:
    declared = "{type: number, min: 0, max: 10, bins: 5, nullable: true}"
    assert encode(declared, pa.array([float("nan"), float("inf"), float("-inf"), None])) == [5, 4, 0, 5]


def test_numbers_come_back_with_their_precision() -> None:
    codec = codec_of("{type: number, min: 0, max: 1, precision: 2}")
    values = codec.decode(np.repeat(np.arange(codec.size), 50), np.random.default_rng(1)).to_pylist()
    assert all(value == round(value, 2) for value in values)


def test_moments_come_back_with_their_resolution() -> None:
    codec = codec_of("{type: datetime, min: 2000-01-01 00:00:00, max: 2010-01-01 00:00:00, resolution: hour}")
    values = codec.decode(np.arange(codec.size), np.random.default_rng(1)).to_pylist()
    assert all((v.minute, v.second, v.microsecond) == (0, 0, 0) for v in values)


def test_dates_of_1844_and_2200_are_ordinary() -> None:
    declared = "{type: date, min: 1844-01-01, max: 2200-12-31, bins: 357}"
    first, last = encode(declared, pa.array([date(1844, 1, 1), date(2200, 12, 31)]))
    assert (first, last) == (0, 356)
    declared = "{type: datetime, min: 1844-01-01 00:00:00, max: 2200-12-31 00:00:00, bins: 357}"
    assert encode(declared, pa.array([datetime(1844, 1, 1), datetime(2200, 12, 30)])) == [0, 356]


@pytest.mark.parametrize("declaration", ['{type: boolean, "true": 1, "false": 0}', "{type: category, values: [0, 1]}"])
def test_a_one_is_a_one_also_where_it_is_written_as_1_0(declaration: str) -> None:
    """As pandas writes whole numbers beside NULLs into CSV."""
    assert encode(declaration, pa.array(["0.0", "1.0", "1"])) == encode(declaration, pa.array(["0", "1", "1"]))
    assert len(set(encode(declaration, pa.array(["0.0", "1.0"])))) == 2
