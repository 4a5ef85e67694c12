"""What is read of a value depends on the value and its column, never on what else is in the batch or in which type it came."""

from __future__ import annotations

import math
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal
from typing import get_args

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mare.schema.loading import load_schema
from mare.schema.reflection import ReflectedColumn, StorageKind
from mare.stage.intake import staging_database
from mare.stage.loading import Reading, load_rows
from mare.stage.needs import TableNeeds
from mare_adapters.sources.columnar import arrow_type, read_values
from mare_adapters.sources.frames import FramesSource

KINDS = get_args(StorageKind)
ANYTHING = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.floats(),
    st.decimals(),
    st.text(),
    st.binary(),
    st.dates(),
    st.datetimes(),
    st.datetimes(timezones=st.timezones()),
    st.times(),
    st.timedeltas(),
    st.sampled_from([timedelta(days=103_000_000), timedelta.max, timedelta.min, -(2.0**63), 2**63, 2**64 - 1]),
    st.sampled_from(["0000-00-00", "24:00:00", "unknown", "1.5", " 7 ", "2000-13-01", "true", "", "\ud800", "NaN", "1e400"]),
)


@given(values=st.lists(ANYTHING, min_size=1, max_size=6), digits=st.sampled_from([None, 10, 20, 38, 60]))
@example(values=[0.1234567890123456, 1e-300, -5e-324, 2.0**53 + 2, "1.5"], digits=None)
@example(values=[datetime(2001, 2, 3, 4, 5, 6, 789012), time(1, 2, 3, 456789), timedelta(microseconds=-1), "x"], digits=None)
@pytest.mark.parametrize("kind", KINDS)
def test_any_value_is_read_in_any_column_alone_as_in_company(kind: StorageKind, values: list[object], digits: int | None) -> None:
    column = ReflectedColumn("c", kind, digits=digits, precision=2 if digits and kind == "number" else None)
    together, missed = read_values(values, column)
    alone = [read_values([value], column) for value in values]
    assert together.type == arrow_type(column)
    assert [_same(v) for v in together.to_pylist()] == [_same(array.to_pylist()[0]) for array, _ in alone]
    assert missed == sum(count for _, count in alone)


EAST, WEST = timezone(timedelta(hours=5)), timezone(timedelta(hours=-5))


@pytest.mark.parametrize("odd", ["unknown", 1.5, datetime(2000, 1, 1, tzinfo=EAST)])
@pytest.mark.parametrize("far", [datetime(1, 1, 1, tzinfo=EAST), datetime(9999, 12, 31, 23, tzinfo=WEST)])
def test_a_moment_that_has_no_year_in_utc_is_its_nearest_whoever_stands_beside_it(far: datetime, odd: object) -> None:
    column = ReflectedColumn("c", "datetime")
    alone, beside = read_values([far], column)[0], read_values([far, odd], column)[0]
    assert alone[0] == beside[0]
    assert alone[0].as_py().year == far.year
    # As an object in a frame: pandas has no type of its own for it.
    for rows in ([far], [far, odd]):
        with FramesSource({"t": pd.DataFrame({"c": pd.Series(rows, dtype=object)})}) as source:
            (batch,) = source.read("t", ["c"])
        assert batch.column(0).to_pylist()[0].startswith(f"{far.year:04}-")


def _same(value: object) -> object:
    return "nan" if isinstance(value, float) and math.isnan(value) else value


COLUMNS = {
    "integer": "{type: integer, min: 0, max: 9}",
    "number": "{type: number, min: 0, max: 9}",
    "boolean": "{type: boolean}",
    "category": "{type: category, learn: true}",
    "date": "{type: date, min: 2000-01-01, max: 2030-01-01}",
    "date with a format": "{type: date, min: 2000-01-01, max: 2030-01-01, format: '%d.%m.%Y'}",
    "datetime": "{type: datetime, min: 2000-01-01, max: 2030-01-01}",
    "time": "{type: time}",
    "duration": "{type: duration, min: 0d, max: 9d}",
    "number as texts": "{type: number, min: 0, max: 9, decimal: ',', thousands: '.', nulls: [2, '12'], unit: g, units: {kg: 9}}",
    "integer as texts": "{type: integer, min: 0, max: 9, thousands: ' ', decimal: ',', map: {a: 7, 'true': 1}}",
    "words among numbers": "{type: number, min: 0, max: 9, decimal: ',', specials: [a]}",
    "words": "{type: category, learn: true, case: upper, trim: true, nulls: ['', 'TRUE', 2], map: {'12': a}}",
    "truth": "{type: boolean, case: ignore, map: {a: true}}",
    "date with formats": "{type: date, min: 2000-01-01, max: 2030-01-01, format: ['%d.%m.%Y', '%Y-%m-%d'], nulls: ['1:30']}",
}
FRAMES: tuple[list[object], ...] = (
    [1, 2, 2**62],
    [1.0, 2.5, -0.0, 1e-7, 1e22, float("inf"), 0.1, -(2.0**63), 2.0**63],
    [True, False, True],
    ["a", "", "12", "12.50", "true", "2001-02-03", "03.02.2001", "1:30"],
    [pd.Timestamp("2001-02-03"), pd.Timestamp("2001-02-03 04:05:06.5"), pd.Timestamp("2001-02-03", tz="Asia/Tokyo")],
    [pd.Timedelta(days=1, microseconds=5), pd.Timedelta(seconds=-90), pd.Timedelta(-1, "ns"), pd.Timedelta(1999, "ns")],
    [pd.Timestamp(-1, unit="ns"), pd.Timestamp(1999, unit="ns"), pd.Timestamp(1900, 1, 1, nanosecond=7)],
    [np.datetime64("2001-02-03", "s"), np.datetime64(2**44, "s")],
    [Decimal("1.50"), Decimal(2)],
    [date(2001, 2, 3), datetime(2001, 2, 3, 4), time(4, 5), timedelta(hours=3)],
    [2**63 + 1, 2**64 - 1],
)
ODD: tuple[object, ...] = ("unknown", 1j, None, 1.5, True, 2**64, object(), pd.NaT, b"\xff", date(2000, 1, 1))


ROUNDED_BY_PANDAS = (None, 1.5, 1j, pd.NaT)
"""Beside these, pandas itself turns whole numbers into floats; those beyond 2^53 are others before anybody can read them."""


QUICK = (int, str)
"""For `make test`: what most columns hold."""


@pytest.mark.parametrize(
    "values",
    [pytest.param(v, marks=[] if type(v[0]) in QUICK else [pytest.mark.slow], id=type(v[0]).__name__) for v in FRAMES],
)
def test_no_value_of_another_row_changes_how_a_row_of_a_frame_is_staged(values: list[object]) -> None:
    """In a key, in an order and in a column of every type: each holds the same values."""
    described = ", ".join(f"{name}: {text}" for name, text in COLUMNS.items())
    schema = load_schema(f"mare: 1\nentity: t\ntables: {{t: {{key: id, columns: {{{described}}}}}}}")
    columns = dict(schema.tables["t"].columns)
    needs = TableNeeds("t", None, ("key",), (), ("order",), tuple(columns), columns)
    rounded = max((value for value in values if type(value) is int), default=0) > 2**53
    with staging_database() as connection:
        plain = _staged(connection, values, needs)
        for odd in ODD:
            if not rounded or odd not in ROUNDED_BY_PANDAS:
                assert _staged(connection, [*values, odd], needs)[:-1] == plain, odd
                assert _staged(connection, [odd, *values], needs)[1:] == plain, odd


@pytest.mark.parametrize(
    "values",
    [
        pd.Series([0.1, 2.5, 1e-7, 16_777_217], dtype="float32"),
        pd.Series([1, 200], dtype="uint8"),
        pd.Series([True, False], dtype="boolean"),
        pd.Series([b"a", b"\xff", b"\xc3\xbc"], dtype=pd.ArrowDtype(pa.binary())),
        pd.Series([[1], [2, 3]], dtype=pd.ArrowDtype(pa.list_(pa.int64()))),
        pd.Series([[1], [2, None], []], dtype=pd.ArrowDtype(pa.list_(pa.int64()))),
        pd.Series([[["a"], ["b", None]]], dtype=pd.ArrowDtype(pa.list_(pa.list_(pa.string())))),
        pd.Series(
            [{"a": 1, "b": [1]}, {"a": None, "b": [None]}],
            dtype=pd.ArrowDtype(pa.struct({"a": pa.int64(), "b": pa.list_(pa.int64())})),
        ),
        pd.Series([[("a", 1)], [("b", None)]], dtype=pd.ArrowDtype(pa.map_(pa.string(), pa.int64()))),
        pd.Series([[date(2001, 2, 3)], [None]], dtype=pd.ArrowDtype(pa.list_(pa.date32()))),
        pd.Series([Decimal("1E+5")], dtype=pd.ArrowDtype(pa.decimal128(5, -3))),
        pd.Series(["a", "\uef80", "\uefff\xff"], dtype=pd.ArrowDtype(pa.large_string())),
        pd.Series(["\uef80"], dtype="string[python]"),
        pd.Series(np.array([2**45, -(2**45), 5], dtype="timedelta64[s]")),
        pd.Series(np.array([2**62, -(2**62), 5], dtype="timedelta64[us]")),
        pd.Series(np.array([253_402_300_794, 5], dtype="datetime64[s]")).dt.tz_localize("UTC").dt.tz_convert("Asia/Kolkata"),
        pd.Series([Decimal("1.50"), Decimal("2.00")], dtype=pd.ArrowDtype(pa.decimal128(10, 2))),
    ],
    ids=lambda values: str(values.dtype),
)
def test_a_text_among_them_makes_objects_of_all_and_changes_none(values: pd.Series) -> None:
    needs = TableNeeds("t", None, ("c",), (), ("c",), ("c",), {"c": load_schema(ONE).tables["t"].columns["c"]})
    staged = []
    others = (
        pd.Series([*values.tolist(), "unknown"], dtype=object),
        pd.concat([values, pd.Series(["unknown"])], ignore_index=True),
    )
    for column in (values, *others):
        with FramesSource({"t": pd.DataFrame({"c": column})}) as source, staging_database() as connection:
            load_rows(connection, "t", needs, source.read("t", ["c"]), b"k", Reading(inferred=frozenset({"c"})))
            staged.append(connection.execute("SELECT * FROM t ORDER BY rowid").fetchall()[: len(values)])
    assert staged[0] == staged[1] == staged[2]


@pytest.mark.parametrize("seconds", [2**45, -(2**45), 7])
def test_how_long_something_takes_at_most_is_not_up_to_the_unit_that_another_row_asks_for(seconds: int) -> None:
    """One length of a few milliseconds, and pandas keeps all in them."""
    lengths = [np.timedelta64(seconds * times, unit) for unit, times in (("s", 1), ("ms", 1000))]
    columns = [pd.Series(np.array([length])) for length in lengths] + [pd.Series([length], dtype=object) for length in lengths]
    assert len({staged_alone(column) for column in columns}) == 1


@pytest.mark.parametrize("far", [np.datetime64(2**50, "D"), np.timedelta64(2**50, "D"), np.timedelta64(3, "Y")], ids=str)
def test_what_pandas_does_not_know_is_read_all_the_same(far: np.generic) -> None:
    assert staged_alone(pd.Series([far, "unknown"], dtype=object)) is not None


def staged_alone(column: pd.Series) -> object:
    """What the first row comes to."""
    needs = TableNeeds("t", None, ("c",), (), (), (), {})
    with FramesSource({"t": pd.DataFrame({"c": column})}) as source, staging_database() as connection:
        load_rows(connection, "t", needs, source.read("t", ["c"]), b"k", Reading(inferred=frozenset({"c"})))
        return connection.execute("SELECT k0 FROM t ORDER BY rowid").fetchall()[0][0]


ONE = "mare: 1\nentity: t\ntables: {t: {key: id, columns: {c: {type: category, learn: true}}}}"


def _staged(connection: duckdb.DuckDBPyConnection, values: list[object], needs: TableNeeds) -> list[dict[str, str]]:
    """As pandas infers each column's type from these values."""
    names = needs.columns
    with FramesSource({"t": pd.DataFrame(dict.fromkeys(names, values))}) as source:
        assert all(column.inferred for column in source.reflect().tables[0].columns)
        load_rows(connection, "t", needs, source.read("t", names), b"k", Reading(inferred=frozenset(names)))
    rows = connection.execute("SELECT * FROM t ORDER BY rowid")
    found = [dict(zip((column[0] for column in rows.description), map(str, row), strict=True)) for row in rows.fetchall()]
    connection.execute("DROP TABLE t")
    return found


def test_a_frame_orders_numbers_as_numbers_and_moments_as_moments() -> None:
    needs = TableNeeds("t", None, (), (), ("c",), (), {})
    for values in (
        [-2.5, -1, 0, 1, 9, 10.5, 100, 2**60],
        [pd.Timestamp(1999, 1, 1), pd.Timestamp(2000, 1, 1, 5)],
        ["9", "10", "x"],
    ):
        with FramesSource({"t": pd.DataFrame({"c": values[::-1]})}) as source, staging_database() as connection:
            load_rows(connection, "t", needs, source.read("t", ["c"]), b"k", Reading(inferred=frozenset({"c"})))
            rows = connection.execute("SELECT rowid FROM t ORDER BY o0 NULLS FIRST, ot0").fetchall()
        assert [row for (row,) in rows] == list(range(len(values)))[::-1]


def test_batches_of_one_type_are_not_needed() -> None:
    """A part of a table may come as numbers and another as text: a row is staged as the same row."""
    needs = TableNeeds("t", None, ("c",), (), ("c",), (), {})
    with staging_database() as connection:
        batches = [pa.record_batch({"c": pa.array([12, 7])}), pa.record_batch({"c": pa.array(["12", "x"])})]
        load_rows(connection, "t", needs, batches, b"k", Reading(inferred=frozenset({"c"})))
        first, _, same, _ = connection.execute("SELECT * FROM t ORDER BY rowid").fetchall()
    assert first == same
