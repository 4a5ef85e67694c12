"""What is staged of a value that comes in Arrow: the same alone as beside another one, in whatever type their column comes.

A batch that fits its type as a whole is read in another way than one of which a single value does not. Both have to say the same,
or one patient's value decides how another's is read.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from decimal import Decimal
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from mare.finding import Location, open_source
from mare.ports import Forgiving
from mare.schema.reflection import ReflectedColumn
from mare.stage.intake import staging_database
from mare.stage.loading import Reading, load_rows
from mare.stage.needs import TableNeeds
from mare_adapters.sources import csv_files
from mare_adapters.sources.arrow_kinds import conformed, reflected_field
from mare_adapters.sources.columnar import read_values

NEEDS = TableNeeds("t", None, ("c",), (), (), (), {})
FAR = 2**62


def bytes_as(kind: pa.DataType, *values: bytes) -> pa.Array:
    """Texts whose bytes nobody has looked at: as a file may hold them."""
    if kind == pa.string_view():
        return pa.array(values, pa.binary_view()).view(kind)
    return pa.array(values, pa.binary() if kind == pa.string() else pa.large_binary()).view(kind)


def listed(values: pa.Array) -> pa.Array:
    return pa.ListArray.from_arrays(pa.array(range(len(values) + 1), pa.int32()), values)


BESIDE = {
    **{f"{kind}, not UTF-8": bytes_as(kind, b"ok", b"\xff" * 20) for kind in (pa.string(), pa.large_string(), pa.string_view())},
    "packed, not UTF-8": pa.DictionaryArray.from_arrays(pa.array([0, 1]), bytes_as(pa.string(), b"ok", b"\xff")),
    "a list, not UTF-8": listed(bytes_as(pa.string(), b"ok", b"\xff")),
    "a list of far moments": listed(pa.array([0, FAR], pa.timestamp("us"))),
    "a far moment within another": pa.StructArray.from_arrays([pa.array([0, FAR], pa.timestamp("us"))], ["at"]),
    "seconds beyond microseconds": pa.array([0, FAR], pa.timestamp("s")),
    "the year 12001 beside one beyond": pa.array([316_600_000_000, FAR], pa.timestamp("s")),
    "milliseconds beyond microseconds": pa.array([-1, -FAR], pa.timestamp("ms", tz="UTC")),
    "nanoseconds": pa.array([-500, 500], pa.timestamp("ns")),
    "a length beyond microseconds": pa.array([105_000_000 * 86_400, FAR], pa.duration("s")),
    "lengths in nanoseconds": pa.array([-500, 1500], pa.duration("ns")),
    "more digits than a decimal holds": pa.array([Decimal(1), Decimal(10) ** 60], pa.decimal256(76, 0)),
    "decimals": pa.array([Decimal("1.5"), Decimal("1.123456789012345678")], pa.decimal128(20, 18)),
    "half a float": pa.array([np.float16(0.1), np.float16(2)], pa.float16()),
    "nothing": pa.nulls(2),
}


def staged(array: pa.Array, column: ReflectedColumn) -> list[object]:
    with staging_database() as connection:
        batch = conformed(pa.record_batch([array], names=["c"]), [column], ["c"], "t")
        load_rows(connection, "t", NEEDS, [batch], reading=Reading(inferred=frozenset({"c"} if column.inferred else ())))
        return [value for (value,) in connection.execute("SELECT k0 FROM t").fetchall()]


@pytest.mark.parametrize("inferred", [False, pytest.param(True, marks=pytest.mark.slow)], ids=["declared", "inferred"])
@pytest.mark.parametrize("name", BESIDE)
def test_a_value_is_staged_alone_as_beside_an_odd_one(name: str, inferred: bool) -> None:
    array = BESIDE[name]
    column = replace(reflected_field(pa.field("c", array.type)), inferred=inferred)
    together = staged(array, column)
    assert together == [*staged(array.slice(0, 1), column), *staged(array.slice(1), column)]


def test_what_is_not_utf_8_is_read_with_marks() -> None:
    for name in ("large_string, not UTF-8", "packed, not UTF-8", "string_view, not UTF-8"):
        array = BESIDE[name]
        ordinary, odd = staged(array, reflected_field(pa.field("c", array.type)))
        assert ordinary == "ok"
        assert set(str(odd)) <= {"\uefff", "\ueffe"}


def test_a_length_of_time_is_clamped_whoever_else_is_in_the_batch() -> None:
    column, long = ReflectedColumn("c", "duration"), timedelta(days=105_000_000)
    assert read_values([long], column)[0][0] == read_values([long, timedelta.max], column)[0][0]


def keys(location: Location, inferred: bool = True) -> list[object]:
    with staging_database() as connection, open_source(location) as source:
        reading = Reading(inferred=frozenset({"c"} if inferred else ()))
        load_rows(connection, "t", NEEDS, source.read("t", ["c"]), reading=reading)
        return [value for (value,) in connection.execute("SELECT k0 FROM t").fetchall()]


@pytest.mark.parametrize(
    ("first", "second", "odd"),
    [
        ([5], ["007"], "abc"),
        ([pd.Timestamp(2001, 2, 3)], ["2001-02-03"], "abc"),
        ([True], ["1", "True"], "abc"),
        (["x"], [12, 13], None),
        (["x"], [Decimal("1.5"), Decimal("12")], Decimal("1.123456789012345678")),
        ([1.5], [0.1, 12.0], 1e300),
    ],
    ids=["numbers and texts", "moments and texts", "truth and texts", "texts and numbers", "decimals", "floats"],
)
def test_parts_that_pandas_wrote_are_read_value_by_value(
    tmp_path: Path, first: list[object], second: list[object], odd: object
) -> None:
    """The type of the first part says nothing of the second, nor does what else the second holds."""
    for name, values in (("with", [*second, odd]), ("without", second)):
        (tmp_path / name / "t").mkdir(parents=True)
        pd.DataFrame({"c": first}).to_parquet(tmp_path / name / "t" / "part-0.parquet")
        pd.DataFrame({"c": values}).to_parquet(tmp_path / name / "t" / "part-1.parquet")
    assert keys(tmp_path / "with")[:-1] == keys(tmp_path / "without")


@pytest.mark.parametrize(
    "values",
    [
        [pd.Timestamp("1950-01-01 00:00:00.0000005"), pd.Timestamp("2000-01-01 00:00:00.0000005")],
        [pd.Timedelta(-500, "ns"), pd.Timedelta(1500, "ns")],
        [-(2.0**63), 2.0**63, 0.5],
        [datetime(1960, 1, 1, 0, 0, 0, 5), datetime(2060, 1, 1)],
    ],
    ids=["moments with nanoseconds", "lengths with nanoseconds", "the ends of 64 bits", "moments"],
)
def test_a_value_of_a_frame_is_spelled_as_an_object_as_in_its_type(values: list[object]) -> None:
    """A single word in the column makes objects of all others."""
    assert keys({"t": pd.DataFrame({"c": [*values, "word"]})})[:-1] == keys({"t": pd.DataFrame({"c": values})})


def test_a_moment_beyond_all_years_is_read_as_the_last() -> None:
    far = np.array(["2000-01-01", "300000-01-01"], dtype="datetime64[s]")
    assert keys({"t": pd.DataFrame({"c": far})}) == keys({"t": pd.DataFrame({"c": pd.Series([*far], dtype=object)})})
    assert keys({"t": pd.DataFrame({"c": far})})[1] == "9999-12-31 23:59:59.999999"


@pytest.mark.parametrize("place", [0, 1, 40, 79])
def test_a_row_of_csv_may_be_longer_than_a_block(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: int) -> None:
    """Rows before and after it come once each, and so does what is told of those that were left out."""
    monkeypatch.setattr(csv_files, "_BLOCK", 256)
    rows = [f"{number},{'x' * (9_000 if number == place else 9)}" for number in range(80)]
    (tmp_path / "t.csv").write_text("\n".join(["c,note", *rows[:50], "too,many,fields", *rows[50:]]) + "\n")
    with open_source(tmp_path) as source:
        read = [value for batch in source.read("t", ["c"]) for value in batch.column(0).to_pylist()]
        assert read == [str(number) for number in range(80)]
        assert isinstance(source, Forgiving)
        assert source.unread == {"t": 1}
