"""A synthetic value never breaks out of its stored type."""

from __future__ import annotations

from datetime import datetime

import pyarrow as pa
import pytest

from mare.sampling.storing import within_width
from mare.schema.reflection import ReflectedColumn, ReflectedTable


def through(column: ReflectedColumn, values: pa.Array, key: tuple[str, ...] = ()) -> list[object]:
    return within_width(values, column, ReflectedTable("t", (column,), key=key)).to_pylist()  # type: ignore[no-any-return]


@pytest.mark.parametrize(("low", "high"), [(-32768, 32767), (0, 255), (1901, 2155)])
def test_whole_numbers_end_where_their_type_does(low: int, high: int) -> None:
    column = ReflectedColumn("n", "integer", lowest=low, highest=high)
    assert through(column, pa.array([-(2**62), low, None, high, 2**62])) == [low, low, None, high, high]


def test_what_holds_64_bits_is_left_alone() -> None:
    assert through(ReflectedColumn("n", "integer", "bigint"), pa.array([2**62])) == [2**62]


def test_decimals_stay_within_their_digits() -> None:
    column = ReflectedColumn("x", "number", "numeric(5,2)", digits=5, precision=2)
    low, some, none, high = through(column, pa.array([-1e300, 1.5, None, 1e300]))
    assert (some, none) == (1.5, None)
    assert high == pytest.approx(999.98)
    assert low == pytest.approx(-999.98)


def test_a_decimal_that_begins_at_zero_stays_above_it() -> None:
    column = ReflectedColumn("x", "number", "decimal(5,2) unsigned", digits=5, precision=2, lowest=0)
    assert through(column, pa.array([-1.5, 1.5])) == [0.0, 1.5]


@pytest.mark.parametrize("unit", ["s", "us"])
def test_a_moment_ends_where_its_type_does(unit: str) -> None:
    early, some, late = datetime(1844, 1, 1), datetime(2020, 2, 29, 12), datetime(2200, 1, 1)
    values = pa.array([early, some, None, late], type=pa.timestamp(unit))
    ends = [datetime(1970, 1, 1, 0, 0, 1), some, None, datetime(2038, 1, 19, 3, 14, 7)]
    assert through(ReflectedColumn("t", "datetime", "timestamp(3)", lowest=ends[0], highest=ends[3]), values) == ends
    assert through(ReflectedColumn("t", "datetime", "datetime(3)"), values) == [early, some, None, late]


def test_small_arrays_of_whole_numbers_are_taken_too() -> None:
    column = ReflectedColumn("n", "integer", lowest=-(2**31), highest=2**31 - 1)
    assert through(column, pa.array([7], type=pa.int8())) == [7]
    assert through(ReflectedColumn("x", "number", "numeric(3,0)", digits=3, precision=0), pa.array([5000])) == [998]


@pytest.mark.parametrize("packed", [False, True])
def test_a_text_is_cut_where_its_type_ends(packed: bool) -> None:
    column = ReflectedColumn("x", "string", "character varying(3)", max_length=3)
    values = pa.array(["Müller", "abc", None, ""])
    values = values.dictionary_encode() if packed else values
    assert through(column, values) == ["Mül", "abc", None, ""]
    assert through(column, values, key=("x",)) == ["Müller", "abc", None, ""]
    assert through(ReflectedColumn("x", "string", "text"), values) == ["Müller", "abc", None, ""]


def test_a_key_is_not_moved() -> None:
    assert through(ReflectedColumn("n", "integer", lowest=-32768, highest=32767), pa.array([99_999]), key=("n",)) == [99_999]
