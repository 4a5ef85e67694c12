"""Text columns of more than 2 GB: 32-bit offsets do not reach that far, so staged texts have 64-bit ones all the way."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from mare.codec.category import CategoryCodec, CodeCodec
from mare.codec.parsing import as_texts, moments, numbers, whole_numbers
from mare.graph.pdag import column_groups
from mare.schema.loading import load_schema
from mare.stage import needs, stage
from mare.stage.staged import _taken
from tests.memory_source import MemorySource

TWO_GIGABYTES = 2**31


@pytest.mark.slow
def test_rows_are_taken_from_a_column_that_32_bit_offsets_do_not_reach() -> None:
    # One text, many times: 2.25 GB to Arrow, 64 MB of memory.
    text = "a" * 2**26
    piece = pa.array([text], type=pa.large_string())
    column = pa.chunked_array([piece] * 36)
    assert len(text) * len(column) > TWO_GIGABYTES
    found = _taken(column, np.array([35, -1], dtype=np.int64))
    assert found.is_null().to_pylist() == [False, True]
    assert len(found[0].as_buffer()) == len(text)


def test_staged_texts_have_wide_offsets(tmp_path: Path) -> None:
    described = load_schema(
        """
mare: 1
entity: p
tables:
  p: {key: id, columns: {sex: {type: category, values: [F, M]}}}
  c:
    parent: {table: p, column: p_id, type: sequential, order_by: said, max_rows: 9}
    columns:
      said: {type: identifier}
      n: {type: integer, min: 0, max: 99, specials: [none]}
"""
    )
    types = {"p": {"id": pa.int64(), "sex": pa.string()}, "c": {"p_id": pa.int64(), "said": pa.string(), "n": pa.string()}}
    rows = {
        "p": [{"id": 1, "sex": "F"}],
        "c": [{"p_id": 1, "said": "b", "n": "none"}, {"p_id": 1, "said": "a", "n": "7"}, {"p_id": 1, "said": None, "n": None}],
    }
    with stage(MemorySource.of(rows, types), needs(described, column_groups(described)), b"k" * 32, folder=tmp_path) as staged:
        assert staged.values("p")["sex"].type == pa.large_string()
        assert staged.values("c")["n"].type == pa.large_string()
        assert staged.values("c")["n"].to_pylist() == [None, "7", "none"]
        # The order of a sequence may be text as well; it is compared row by row where it comes out.
        held = staged.connection.sql(f"SELECT ot0 FROM {staged.tables['c'].raw}").to_arrow_table()
        assert held.schema.field("ot0").type == pa.large_string()


def test_codecs_read_wide_texts_as_they_read_narrow_ones_and_do_not_narrow_them() -> None:
    narrow = pa.array([" 7", "+8.5", "x", None, "2200-01-02", "I21.3", "I25"])
    wide = narrow.cast(pa.large_string())
    assert as_texts(wide).type == pa.large_string()
    assert as_texts(pa.array([1])).type == pa.large_string()
    for read in (numbers, whole_numbers, lambda values: moments(values, None)):
        assert read(wide).to_pylist() == read(narrow).to_pylist()
    for codec in (CategoryCodec(("x", " 7")), CodeCodec(("I21", "J1"), nullable=True, prefix=(1, 3))):
        assert codec.encode(wide).tolist() == codec.encode(narrow).tolist()
