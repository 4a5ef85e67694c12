"""How far a sequence has come when a row begins: the same for the fit, which knows all values, as for the sampler."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

import numpy as np
import pyarrow as pa
import pytest

from mare.codec import Points, RelativeCodec, Siblings, TableCodec, code_table, decode_table, evenly, read_table, table_codec
from mare.codec.elapsed import Advance, elapsed_name, leading, pace_name
from mare.codec.ticks import FURTHEST
from mare.domain import RowDraws, as_generator, numbered_keys
from mare.schema.determined import Anchor
from mare.schema.loading import load_schema
from tests.codecs import encode_table

SCHEMA = """
mare: 1
entity: p
tables:
  p:
    key: id
    columns:
      born: {type: datetime, min: 1900-01-01, max: 2000-01-01}
      leaves: {type: datetime, after: born, within: 120y}
  t:
    key: k
    parent: {table: p, column: p_id, type: sequential, order_by: begins, max_rows: 9}
    columns:
      begins: BEGINS
      ends: {type: datetime, after: begins, within: 30d, scale: log, bins: 6}
      kind: {type: category, values: [a, b]}
"""
AGE = "{type: datetime, after: previous.ends, first: {after: parent.born, within: 120y}, within: 10y, scale: log, bins: 8}"
ITSELF = "{type: datetime, after: previous.ends, first: {min: 2000-01-01, max: 2010-01-01}, within: 10y, bins: 8}"
LEFT = "{type: datetime, after: previous.begins, before: parent.leaves, first: {before: parent.leaves, within: 120y}, bins: 8}"
PACED = AGE.replace("bins: 8", "bins: 8, max: 2030-01-01")
COLUMNS = ["begins", "ends", "kind"]
BORN = datetime(1950, 1, 1)
LEAVES = datetime(2020, 1, 1)


def schema_codec(begins: str, table: str = "t", columns: list[str] | None = None) -> TableCodec:
    return evenly(table_codec(load_schema(SCHEMA.replace("BEGINS", begins)), table, columns or COLUMNS))


def test_a_sequence_may_come_as_far_as_its_rows_can_take_it() -> None:
    """Nine rows, each up to ten years after the one before: most of a long sequence was in one bin, the last."""
    codec = table_codec(load_schema(SCHEMA.replace("BEGINS", AGE)), "t", COLUMNS).columns["begins"]
    assert isinstance(codec, RelativeCodec)
    assert codec.first is not None
    assert codec.first.lasting is not None
    assert codec.first.lasting.high == (codec.first.placed.high or 0) + 8 * (codec.placing.reach or 0)


def siblings(counts: list[int]) -> Siblings:
    parent = np.repeat(np.arange(len(counts)), counts).astype(np.int64)
    return Siblings(len(counts), parent, np.concatenate([np.arange(n) for n in counts]).astype(np.int64))


def above(codec: TableCodec, rows: int) -> dict[Anchor, Points]:
    """Everybody was born on one day, and leaves on one."""
    said = {"born": BORN, "leaves": LEAVES}
    scales = {name: one.scale for name, one in schema_codec(AGE, "p", ["born", "leaves"]).ordered.items()}
    found = {}
    for anchor in codec.above:
        scale = scales[anchor.column]
        ticks = np.repeat(scale.to_ticks(pa.array([said[anchor.column]], type=pa.timestamp("us"))).ticks, rows)
        found[anchor] = Points(scale, ticks, ticks.copy())
    return found


def days_elapsed(begins: str, moments: list[datetime | None], stay: int = 2) -> list[float]:
    codec = schema_codec(begins)
    ends = [None if m is None else m + timedelta(days=stay) for m in moments]
    values = {
        "begins": pa.array(moments, type=pa.timestamp("us")),
        "ends": pa.array(ends, type=pa.timestamp("us")),
        "kind": pa.array(["a"] * len(moments)),
    }
    read = read_table(codec, values, siblings([len(moments)]), above(codec, len(moments)))
    tick = timedelta(days=1) / timedelta(microseconds=1) / codec.ordered["begins"].scale.to_ticks(
        pa.array([datetime(1970, 1, 2)], type=pa.timestamp("us"))
    ).ticks[0]  # fmt: skip
    return [round(float(ticks) * tick / 86_400e6, 6) for ticks in read.elapsed["begins"]]


def test_a_row_begins_where_the_previous_one_ended_and_the_first_at_its_own_value() -> None:
    moments = [BORN + timedelta(days=100), BORN + timedelta(days=130), BORN + timedelta(days=500)]
    assert days_elapsed(AGE, moments) == [100, 102, 132]


def test_where_a_row_above_sets_an_end_it_is_what_is_left_until_then() -> None:
    moments = [LEAVES - timedelta(days=100), LEAVES - timedelta(days=50)]
    assert days_elapsed(LEFT, moments) == [100, 100]


def test_a_sequence_that_hangs_on_nothing_is_measured_as_it_stands() -> None:
    moments = [datetime(2000, 1, 1), datetime(2000, 2, 1)]
    first, second = days_elapsed(ITSELF, moments)
    assert second - first == 2


def test_what_has_no_value_has_come_no_way_at_all() -> None:
    codec = schema_codec(AGE.replace("bins: 8", "bins: 8, nullable: true"))
    values = {
        "begins": pa.array([None], type=pa.timestamp("us")),
        "ends": pa.array([None], type=pa.timestamp("us")),
        "kind": pa.array(["a"]),
    }
    points = above(codec, 1)
    nowhere = {a: Points(p.scale, np.full(1, -FURTHEST), np.full(1, FURTHEST)) for a, p in points.items()}
    read = read_table(codec, values, siblings([1]), nowhere)
    assert code_table(codec, read, siblings([1])).free[elapsed_name("begins")].tolist() == [0]


def test_only_the_columns_that_say_where_rows_begin_are_worked_out_ahead() -> None:
    assert set(leading(schema_codec(AGE), "begins").columns) == {"begins", "ends"}


@pytest.mark.parametrize("apart", [(), (("begins",),)])
@pytest.mark.parametrize("begins", [AGE, ITSELF, LEFT, PACED])
def test_the_sampler_is_told_what_the_fit_would_see_in_the_rows_that_come_out(
    begins: str, apart: tuple[tuple[str, ...], ...]
) -> None:
    """Codes are drawn at random, position by position, decoded at the end, and read as the fit reads: the same elapsed codes.
    Also where rows have to differ in when they begin."""
    codec, rng = replace(schema_codec(begins), apart=apart), np.random.default_rng(5)
    counts = rng.integers(0, 9, size=200).tolist()
    where = siblings(counts)
    first = codec.firsts["begins"]
    firsts = rng.integers(0, first.bins.count, size=len(counts)).astype(np.uint8)
    rows = {name: rng.integers(0, one.size, size=where.rows).astype(np.uint8) for name, one in codec.columns.items()}
    begin = codec.columns["begins"]
    later = rng.integers(0, begin.bins.count, size=where.rows)
    rows["begins"] = np.where(where.position == 0, begin.first_row, later).astype(np.uint8)
    points = above(codec, where.rows)
    draws = as_generator(RowDraws(numbered_keys(7, np.arange(where.rows)), 3))
    advance = Advance(codec, "begins", firsts, where, points, draws)
    names = [elapsed_name("begins"), *([pace_name("begins")] if begins is PACED else [])]
    told = {name: np.zeros(where.rows, dtype=np.int64) for name in names}
    for at in where.steps:
        for name, codes in advance.begin(at).items():
            told[name][at] = codes
        advance.hand_in(at, rows)
    decoded = decode_table(codec, rows, {"begins": firsts}, where, draws, points, ("begins",))
    seen = encode_table(codec, decoded.values, where, points).free
    for name in names:
        assert len(set(told[name].tolist())) > 3
        assert told[name].tolist() == seen[name].tolist()
