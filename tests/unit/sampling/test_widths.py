"""A synthetic value never breaks out of its stored type."""

from __future__ import annotations

from datetime import datetime

import pyarrow as pa
import pytest

from mare.sampling.widths import within_width
from mare.schema.reflection import ReflectedColumn, ReflectedTable


def through(column: ReflectedColumn, dialect: str, values: pa.Array, key: tuple[str, ...] = ()) -> list[object]:
    return within_width(values, column, ReflectedTable("t", (column,), key=key, dialect=dialect)).to_pylist()  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    ("dialect", "word", "low", "high"),
    [
        ("postgresql", "smallint", -32768, 32767),
        ("postgresql", "integer", -(2**31), 2**31 - 1),
        ("mysql", "int(10) unsigned", 0, 2**32 - 1),
        ("mysql", "int unsigned", 0, 2**32 - 1),
        ("mysql", "int(5) unsigned zerofill", 0, 2**32 - 1),
        ("mysql", "tinyint(4)", -128, 127),
        ("mysql", "mediumint(9)", -(2**23), 2**23 - 1),
        ("duckdb", "UTINYINT", 0, 255),
        ("arrow", "uint16", 0, 65535),
        ("arrow", "int32", -(2**31), 2**31 - 1),
    ],
)
def test_whole_numbers_end_where_their_type_does(dialect: str, word: str, low: int, high: int) -> None:
    column = ReflectedColumn("n", "integer", word)
    assert through(column, dialect, pa.array([-(2**62), low, 0, None, high, 2**62])) == [low, low, 0, None, high, high]


@pytest.mark.parametrize(
    ("dialect", "word"), [("sqlite", "SMALLINT"), ("postgresql", "bigint"), ("", ""), ("mysql", "bigint(20)")]
)
def test_what_holds_64_bits_is_left_alone(dialect: str, word: str) -> None:
    assert through(ReflectedColumn("n", "integer", word), dialect, pa.array([2**62])) == [2**62]


def test_decimals_stay_within_their_digits() -> None:
    column = ReflectedColumn("x", "number", "numeric(5,2)", digits=5, precision=2)
    low, some, none, high = through(column, "postgresql", pa.array([-1e300, 1.5, None, 1e300]))
    assert (some, none) == (1.5, None)
    assert high == pytest.approx(999.98)
    assert low == pytest.approx(-999.98)


def test_an_unsigned_decimal_of_mysql_stays_above_zero() -> None:
    column = ReflectedColumn("x", "number", "decimal(5,2) unsigned", digits=5, precision=2)
    assert through(column, "mysql", pa.array([-1.5, 1.5])) == [0.0, 1.5]


@pytest.mark.parametrize("word", ["year", "year(4)"])
def test_a_year_of_mysql_is_one_that_it_knows(word: str) -> None:
    assert through(ReflectedColumn("y", "integer", word), "mysql", pa.array([0, 1990, None, 9999])) == [1901, 1990, None, 2155]


@pytest.mark.parametrize("unit", ["s", "us"])
def test_a_timestamp_of_mysql_ends_in_2038(unit: str) -> None:
    early, some, late = datetime(1844, 1, 1), datetime(2020, 2, 29, 12), datetime(2200, 1, 1)
    values = pa.array([early, some, None, late], type=pa.timestamp(unit))
    ends = [datetime(1970, 1, 1, 0, 0, 1), some, None, datetime(2038, 1, 19, 3, 14, 7)]
    assert through(ReflectedColumn("t", "datetime", "timestamp(3)"), "mysql", values) == ends
    assert through(ReflectedColumn("t", "datetime", "datetime(3)"), "mysql", values) == [early, some, None, late]
    assert through(ReflectedColumn("t", "datetime", "timestamp(3)"), "postgresql", values) == [early, some, None, late]


def test_small_arrays_of_whole_numbers_are_taken_too() -> None:
    assert through(ReflectedColumn("n", "integer", "integer"), "postgresql", pa.array([7], type=pa.int8())) == [7]
    assert through(ReflectedColumn("x", "number", "numeric(3,0)", digits=3, precision=0), "mysql", pa.array([5000])) == [998]


@pytest.mark.parametrize("packed", [False, True])
def test_a_text_is_cut_where_its_type_ends(packed: bool) -> None:
    column = ReflectedColumn("x", "string", "character varying(3)", max_length=3)
    values = pa.array(["Müller", "abc", None, ""])
    values = values.dictionary_encode() if packed else values
    assert through(column, "postgresql", values) == ["Mül", "abc", None, ""]
    assert through(column, "postgresql", values, key=("x",)) == ["Müller", "abc", None, ""]
    assert through(ReflectedColumn("x", "string", "text"), "postgresql", values) == ["Müller", "abc", None, ""]


def test_a_key_is_not_moved() -> None:
    assert through(ReflectedColumn("n", "integer", "smallint"), "postgresql", pa.array([99_999]), key=("n",)) == [99_999]
