"""Relative values: gaps along a sequence, rebuilt in order whatever the codes say."""

from __future__ import annotations

from datetime import datetime, timedelta

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from mare.codec import Siblings, TableCodec, decode_table, evenly, table_codec
from mare.schema.loading import load_schema
from tests.codecs import encode_table

SCHEMA = """
mare: 1
entity: p
tables:
  p: {{key: id, columns: {{born: {{type: datetime, min: 1900-01-01, max: 2000-01-01}}}}}}
  t:
    key: k
    parent: {{table: p, column: p_id, type: sequential, order_by: begins, max_rows: 9}}
    columns:
      begins: {begins}
      ends: {ends}
"""
BEGINS = "{type: datetime, after: previous.ends, first: {min: 2000-01-01, max: 2010-01-01}, within: 10y, scale: log, bins: 8%s}"
ENDS = "{type: datetime, after: begins, within: 30d, scale: log, bins: 6%s}"


def codec(begins: str = BEGINS % "", ends: str = ENDS % "") -> TableCodec:
    return evenly(table_codec(load_schema(SCHEMA.format(begins=begins, ends=ends)), "t", ["begins", "ends"]))


def siblings(counts: list[int]) -> Siblings:
    parent = np.repeat(np.arange(len(counts)), counts)
    position = np.concatenate([np.arange(n) for n in counts]) if counts else np.zeros(0)
    return Siblings(len(counts), parent.astype(np.int64), position.astype(np.int64))


def moments(*values: datetime | None) -> pa.Array:
    return pa.array(values, type=pa.timestamp("us"))


def test_the_first_value_lives_in_the_context_and_later_ones_are_gaps() -> None:
    t = datetime(2003, 5, 1)
    begins = moments(t, t + timedelta(days=40), t + timedelta(days=90))
    ends = moments(t + timedelta(days=1), t + timedelta(days=41), t + timedelta(days=90))
    coded = encode_table(codec(), {"begins": begins, "ends": ends}, siblings([2, 0, 1]))
    gap = codec().columns["begins"]
    first_row, absent = gap.first_row, gap.first.size - 1
    assert coded.rows["begins"][[0, 2]].tolist() == [first_row, first_row]
    assert coded.rows["begins"][1] < first_row
    assert coded.firsts["begins"][1] == absent
    assert (coded.firsts["begins"][[0, 2]] < absent).all()


def test_a_gap_is_counted_from_the_anchor_of_the_previous_row() -> None:
    t = datetime(2003, 5, 1)
    for days in (0, 1, 30, 1000):
        begins, ends = moments(t, t + timedelta(days=5 + days)), moments(t + timedelta(days=5), t + timedelta(days=6 + days))
        coded = encode_table(codec(), {"begins": begins, "ends": ends}, siblings([2]))
        expected = codec().columns["begins"].bins.assign(np.array([days * 86_400]))
        assert coded.rows["begins"][1] == expected[0]


def test_what_precedes_its_anchor_is_clamped_to_it() -> None:
    t = datetime(2003, 5, 1)
    coded = encode_table(codec(), {"begins": moments(t), "ends": moments(t - timedelta(days=3))}, siblings([1]))
    assert coded.rows["ends"].tolist() == [0]


@given(counts=st.lists(st.integers(0, 5), max_size=6), seed=st.integers(0, 50), nullable=st.booleans())
def test_decoded_sequences_are_in_order_and_encode_to_the_same_codes(counts: list[int], seed: int, nullable: bool) -> None:
    extra = ", nullable: true" if nullable else ""
    one = codec(BEGINS % extra, ENDS % extra)
    where, rng = siblings(counts), np.random.default_rng(seed)
    rows, firsts = {}, {}
    begins, ends = one.columns["begins"], one.columns["ends"]
    first = where.position == 0
    gap = rng.integers(0, begins.bins.count, len(first))
    rows["begins"] = np.where(first, begins.first_row, gap).astype(np.uint8)
    rows["ends"] = rng.integers(0, ends.size, len(first)).astype(np.uint8)
    if nullable:
        rows["begins"][(rng.random(len(first)) < 0.3)] = begins.slots.null(begins.bins.count)
    some = np.array(counts, dtype=np.int64) > 0
    drawn = rng.integers(0, begins.first.bins.count, len(counts))
    firsts["begins"] = np.where(some, drawn, begins.first.size - 1).astype(np.uint8)

    values = decode_table(one, rows, firsts, where, np.random.default_rng(seed + 1)).values
    clock = {}
    for parent, b, e in zip(where.parent, values["begins"].to_pylist(), values["ends"].to_pylist(), strict=True):
        for moment in (b, e):
            if moment is not None:
                assert moment >= clock.get(parent, moment)
                clock[parent] = moment
    coded = encode_table(one, values, where)
    if not nullable:
        np.testing.assert_array_equal(coded.rows["ends"], rows["ends"])
        np.testing.assert_array_equal(coded.rows["begins"], rows["begins"])
        np.testing.assert_array_equal(coded.firsts["begins"], firsts["begins"])


def test_a_strict_order_never_repeats_a_moment() -> None:
    one = codec(BEGINS % ", strict: true", ENDS % "")
    where = siblings([6] * 50)
    begins = np.where(where.position == 0, one.columns["begins"].first_row, 0).astype(np.uint8)
    rows = {"begins": begins, "ends": np.zeros(300, dtype=np.uint8)}
    values = decode_table(one, rows, {"begins": np.zeros(50, dtype=np.uint8)}, where, np.random.default_rng(0)).values
    starts = values["begins"].to_numpy().reshape(50, 6)
    assert (np.diff(starts, axis=1) > np.timedelta64(0)).all()
