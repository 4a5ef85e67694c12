"""Dictionaries of pandas frames, as a source and as a target."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import mare
from mare.errors import InternalError, SinkError, SourceError
from mare.finding import open_sink, open_source, refuse_overlap
from mare.ports import SinkTable
from mare.schema.reflection import ReflectedColumn, ReflectedTable
from tests.targets import ROWS, TABLES, fill

FRAME = pd.DataFrame(
    {
        "whole": [1, 2, 3],
        "gap": [1.0, None, 3.0],
        "nullable": pd.array([2**60 + 1, None, 3], dtype="Int64"),
        "flag": [True, False, True],
        "maybe": pd.array([True, None, False], dtype="boolean"),
        "text": pd.array(["", None, "ü"], dtype="str"),
        "at": pd.Series(
            [datetime(1844, 2, 29), None, datetime(2200, 12, 31, 23, 59, 58)], index=[10, 20, 30], dtype="datetime64[us]"
        ),
        "zoned": pd.to_datetime(["2000-01-01", None, "2000-01-01"]).tz_localize("Europe/Berlin"),
        "span": [timedelta(days=1), None, timedelta(0)],
        "sort": pd.Categorical(["b", None, "a"], categories=["a", "b", "never seen"]),
        "coded": pd.Categorical([7, 7, None]),
        "mixed": [date(2000, 1, 1), None, "x"],
        "arrow": pd.array([Decimal("1.50"), None, Decimal(2)], dtype=pd.ArrowDtype(pa.decimal128(5, 2))),
    },
    index=[10, 20, 30],
)
KINDS = {
    "whole": "integer",
    "gap": "number",
    "nullable": "integer",
    "flag": "boolean",
    "maybe": "boolean",
    "text": "string",
    "at": "datetime",
    "zoned": "datetime",
    "span": "duration",
    "sort": "string",
    "coded": "integer",
    "mixed": "unknown",
    "arrow": "number",
}


def read_all(frames: dict[str, pd.DataFrame], table: str, columns: list[str]) -> list[dict[str, object]]:
    with open_source(frames) as source:
        return pa.Table.from_batches(source.read(table, columns)).to_pylist()


def test_dtypes_are_told_as_inferred_and_every_column_may_be_null() -> None:
    with open_source({"t": FRAME}) as source:
        (table,) = source.reflect().tables
    assert {column.name: column.kind for column in table.columns} == KINDS
    assert all(column.nullable and column.inferred for column in table.columns)
    assert source.label == "data frames"


def test_categories_are_data_and_show_nowhere_in_the_reflection() -> None:
    with open_source({"t": FRAME}) as source:
        reflection = source.reflect()
    assert all(column.values is None for column in reflection.tables[0].columns)
    assert "never seen" not in repr(reflection)


def test_values_are_read_with_null_told_from_empty() -> None:
    rows = read_all({"t": FRAME}, "t", list(KINDS))
    assert rows == [
        {
            "whole": 1,
            "gap": 1.0,
            "nullable": 2**60 + 1,
            "flag": True,
            "maybe": True,
            "text": "",
            "at": datetime(1844, 2, 29),
            "zoned": datetime(1999, 12, 31, 23),
            "span": timedelta(days=1),
            "sort": "b",
            "coded": 7,
            "mixed": "2000-01-01",
            "arrow": 1.5,
        },
        dict.fromkeys(KINDS, None) | {"whole": 2, "flag": False, "coded": 7},
        {
            "whole": 3,
            "gap": 3.0,
            "nullable": 3,
            "flag": True,
            "maybe": False,
            "text": "ü",
            "at": datetime(2200, 12, 31, 23, 59, 58),
            "zoned": datetime(1999, 12, 31, 23),
            "span": timedelta(0),
            "sort": "a",
            "coded": None,
            "mixed": "x",
            "arrow": 2.0,
        },
    ]


def test_columns_come_in_the_order_and_under_the_names_asked_in_batches() -> None:
    frame = pd.DataFrame({"A": np.arange(100_000), "b": "x"})
    with open_source({"T": frame, "empty": frame.iloc[:0]}) as source:
        batches = list(source.read("t", ["B", "a"]))
        empty = list(source.read("empty", ["a"]))
    assert [batch.schema.names for batch in batches] == [["B", "a"]] * len(batches)
    assert len(batches) > 1
    assert pa.Table.from_batches(batches).column("a").to_pylist() == list(range(100_000))
    assert (empty[0].num_rows, empty[0].schema.field("a").type) == (0, pa.int64())


def test_what_is_read_is_the_state_when_it_was_entered() -> None:
    frames = {"t": pd.DataFrame({"a": [1, 2]})}
    with open_source(frames) as source:
        frames["t"].loc[0, "a"] = 99
        assert pa.Table.from_batches(source.read("t", ["a"])).to_pylist() == [{"a": 1}, {"a": 2}]


def test_a_peek_is_what_it_is_for_other_sources() -> None:
    with open_source({"t": FRAME}) as source:
        sort, whole = source.peek("t", "sort", 5), source.peek("t", "whole", 5)
    assert sort.values == ("a", "b")
    assert (whole.min, whole.max) == (1, 3)


def test_what_is_no_frame_is_refused_all_at_once() -> None:
    frames: dict[object, object] = {"a": [1], 5: FRAME, "b": pd.DataFrame([[1, 2]], columns=["x", "x"]), "c": pd.DataFrame([[1]])}
    words = (
        r"a is a list, not a frame of pandas or polars, .*; 5 is the name.*; b has more than one column called x; "
        "c has a column called 0"
    )
    with pytest.raises(SourceError, match=words):
        open_source(frames).__enter__()  # type: ignore[arg-type]


def test_missing_tables_and_columns_are_refused_with_what_there_is() -> None:
    with open_source({"patients": FRAME}) as source:
        with pytest.raises(SourceError, match="Did you mean 'patients'"):
            source.read("patient", ["whole"])
        with pytest.raises(SourceError, match=r"no column 'wohle'.*Did you mean 'whole'"):
            source.read("patients", ["wohle"])
    with pytest.raises(InternalError, match="before it was entered"):
        source.reflect()


def test_a_dictionary_gets_all_frames_or_none() -> None:
    frames: dict[str, object] = {}
    with pytest.raises(SinkError, match=r"lines\.line: a value is missing"), open_sink(frames) as sink:
        fill(sink, {**ROWS, "lines": [{"patient": 1, "line": None}]})
    assert frames == {}
    with open_sink(frames) as sink:
        fill(sink)
    assert {name: len(frame) for name, frame in frames.items()} == {n: len(rows) for n, rows in ROWS.items()}  # type: ignore[arg-type]
    assert [list(frame.columns) for frame in frames.values()] == [  # type: ignore[attr-defined]
        [column.name for column in table.columns] for table in TABLES
    ]


def test_whole_numbers_and_truth_values_among_which_some_are_missing_have_dtypes_that_hold_both() -> None:
    columns = {"key": "integer", "whole": "integer", "gap": "number", "flag": "boolean"}
    table = ReflectedTable("t", tuple(ReflectedColumn(n, k, nullable=n != "key") for n, k in columns.items()), key=("key",))  # type: ignore[arg-type]
    made: dict[str, pd.DataFrame] = {}
    with open_sink(made) as sink:
        sink.create([SinkTable(table)])
        sink.write("t", pa.RecordBatch.from_pylist([{"key": 1, "whole": 2**60 + 1, "gap": 1.5, "flag": True}]))
        sink.write(
            "t", pa.RecordBatch.from_pylist([{"key": 2, "whole": None, "gap": None, "flag": None}], schema=_arrow(columns))
        )
    assert made["t"].dtypes.astype(str).to_dict() == {"key": "int64", "whole": "Int64", "gap": "float64", "flag": "boolean"}
    assert made["t"]["whole"].tolist() == [2**60 + 1, pd.NA]


def _arrow(kinds: dict[str, str]) -> pa.Schema:
    types = {"integer": pa.int64(), "number": pa.float64(), "boolean": pa.bool_()}
    return pa.schema([(name, types[kind]) for name, kind in kinds.items()])


def test_a_dictionary_that_holds_a_table_is_refused_unless_it_may_be_replaced() -> None:
    frames: dict[str, object] = {"lines": "old", "mine": "kept"}
    with pytest.raises(SinkError, match="already holds lines"), open_sink(frames) as sink:
        fill(sink)
    with pytest.raises(SinkError, match="holds lines, without the mark"), open_sink(frames, replace=True) as sink:
        fill(sink)
    assert frames == {"lines": "old", "mine": "kept"}
    del frames["lines"]
    for replace in (False, True):
        with open_sink(frames, replace=replace) as sink:
            fill(sink)
    assert isinstance(frames["lines"], pd.DataFrame)
    assert frames["mine"] == "kept"


def test_frames_that_were_read_are_not_replaced_in_their_own_dictionary() -> None:
    frames: dict[str, object] = {"lines": pd.DataFrame({"patient": [1], "line": [1]})}
    before = frames["lines"]
    with open_source(frames) as source, open_sink(frames, replace=True) as sink:
        with pytest.raises(SinkError, match="is the source data frames"):
            refuse_overlap(source, sink)
        with pytest.raises(SinkError, match="holds lines, without the mark"):
            sink.create([SinkTable(table) for table in TABLES])
    assert frames["lines"] is before
    with open_source(frames) as source, open_sink({}) as sink:
        refuse_overlap(source, sink)


def test_an_index_that_holds_a_column_is_told_with_what_makes_it_one() -> None:
    schema = mare.load_schema("""
mare: 1
entity: p
tables:
  p: {key: id, columns: {sex: {type: category, values: [F, M]}}}
""")
    people = pd.DataFrame({"id": range(30), "sex": ["F", "M"] * 15})
    indexed = {"p": people.set_index("id")}
    with pytest.raises(SourceError, match=r"p\.id: it is the frame's index, and no column\. .* p\.reset_index\(\)"):
        mare.fit(mare.plan(schema, mare.Budget(2)), indexed, unsafe_seed=1)
    (fault,) = mare.check(schema, indexed)
    assert fault.remedy.endswith("p.reset_index()")
    assert "p.reset_index()" in " ".join(line.lstrip("# ") for line in mare.draft(indexed).splitlines())
    assert "reset_index" not in mare.draft({"p": people[people.id > 3]})
    assert mare.check(schema, {"p": indexed["p"].reset_index()}) == ()
