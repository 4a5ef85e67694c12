"""Whatever the data holds, codes stay in their domain; whatever the codes say, values come out in order and in form."""

from __future__ import annotations

from datetime import date, datetime, time, timedelta
from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from mare.codec import Points, Siblings, TableCodec, decode_table, evenly, table_codec
from mare.codec.relative import LONGEST, WHOLE, drawn_parts, fractions_of, parts_at, whole_bins
from mare.schema.determined import Anchor
from mare.schema.loading import load_schema
from tests.codecs import encode_table

_DAYS = st.dates(date(1844, 1, 1), date(2299, 12, 31))
_MOMENTS = st.datetimes(datetime(1844, 1, 1), datetime(2299, 12, 31))
_ANYTHING = st.one_of(st.text(max_size=5), st.integers(-(10**20), 10**20).map(str), st.floats().map(str))

TYPED: dict[str, tuple[str, pa.DataType, st.SearchStrategy[Any]]] = {
    "category": ("{type: category, values: [a, b, 1], other: b%s}", pa.string(), st.sampled_from(["a", "b", "1", "zz", ""])),
    "boolean": ('{type: boolean, "true": Y, "false": N%s}', pa.string(), st.sampled_from(["Y", "N", "?"])),
    "integer": ("{type: integer, min: -7, max: 900, step: 3%s}", pa.int64(), st.integers(-(2**62), 2**62)),
    "number": ("{type: number, min: 0.5, max: 2e6, precision: 2, scale: log%s}", pa.float64(), st.floats()),
    "number as text": ('{type: number, min: 0, max: 99, specials: ["> 89", -1]%s}', pa.string(), _ANYTHING),
    "date": ("{type: date, min: 1900-01-01, max: 2220-01-01%s}", pa.date32(), _DAYS),
    "date as text": ("{type: date, min: 1900-01-01, max: 2220-01-01, format: '%%Y%%m%%d'%s}", pa.string(), _ANYTHING),
    "datetime": ("{type: datetime, min: 1900-01-01, max: 2220-01-01, resolution: minute%s}", pa.timestamp("us"), _MOMENTS),
    "time": ('{type: time, min: "06:30", resolution: minute%s}', pa.time64("us"), st.times()),
    "duration": ("{type: duration, min: 1h, max: 90d%s}", pa.duration("us"), st.timedeltas(timedelta(-9999), timedelta(9999))),
    "hours": ("{type: duration, min: 1h, max: 90d, stored_as: hours%s}", pa.int64(), st.integers(-(2**60), 2**60)),
    "code": ("{type: code, values: [A00, A01, B20, '012'], hierarchy: {prefix: [1, 2]}%s}", pa.string(), _ANYTHING),
}

SCHEMA = """
mare: 1
entity: p
tables:
  p:
    key: id
    columns:
      born: {type: date, min: 1900-01-01, max: 2000-01-01}
      starts: {type: datetime, min: 2000-01-01, max: 2010-01-01}
      ends: {type: datetime, after: starts, within: 400d}
  t:
    key: k
    parent: {table: p, column: p_id, type: sequential, order_by: k, max_rows: 9}
    columns: {COLUMNS}
"""


def codec_of(columns: str, names: list[str]) -> TableCodec:
    return evenly(table_codec(load_schema(SCHEMA.replace("COLUMNS", columns)), "t", names))


def siblings(counts: list[int]) -> Siblings:
    parent = np.repeat(np.arange(len(counts)), counts)
    position = np.concatenate([np.arange(n) for n in counts]) if counts else np.zeros(0)
    return Siblings(len(counts), parent.astype(np.int64), position.astype(np.int64))


@given(st.sampled_from(sorted(TYPED)), st.booleans(), st.data())
def test_values_come_back_in_their_own_bin_and_in_the_type_of_the_source(kind: str, nullable: bool, data: st.DataObject) -> None:
    declared, stored, values = TYPED[kind]
    codec = codec_of(f"x: {declared % (', nullable: true' if nullable else '')}", ["x"])
    rows = data.draw(st.lists(st.one_of(st.none(), values), max_size=20))
    where, array = siblings([1] * len(rows)), pa.array(rows, type=stored)
    coded = encode_table(codec, {"x": array}, where)
    codes, one = coded.rows["x"], codec.columns["x"]
    assert codes.max(initial=0) < one.size
    assert 0 <= coded.outside["x"] <= len(rows)
    back = decode_table(codec, {"x": codes}, {}, where, np.random.default_rng(0)).values["x"]
    np.testing.assert_array_equal(encode_table(codec, {"x": back}, where).rows["x"], codes)
    if "as text" not in kind:
        assert back.type == stored
    if nullable:
        assert all(after is None for before, after in zip(rows, back.to_pylist(), strict=True) if before is None)
    else:
        assert back.null_count == 0


@given(st.lists(st.floats(), max_size=30), st.data())
def test_numbers_by_item_stay_in_the_range_of_their_item(numbers: list[float], data: st.DataObject) -> None:
    items = data.draw(st.lists(st.sampled_from(["sodium", "ph", "?", None]), min_size=len(numbers), max_size=len(numbers)))
    codec = codec_of(
        "test: {type: category, values: [sodium, ph, other], nullable: true}, "
        "value: {type: number, by: test, bins: 6, nullable: true, specials: [-1], ranges: "
        "{sodium: {min: 100, max: 180, precision: 0}, ph: {min: 6.5, max: 8, precision: 2}}}",
        ["test", "value"],
    )
    where = siblings([1] * len(numbers))
    given_values = {"test": pa.array(items, type=pa.string()), "value": pa.array(numbers, type=pa.float64())}
    coded = encode_table(codec, given_values, where)
    back = decode_table(codec, coded.rows, {}, where, np.random.default_rng(1)).values
    for item, value, number in zip(back["test"].to_pylist(), back["value"].to_pylist(), numbers, strict=True):
        low, high, decimals = {"sodium": (100, 180, 0), "ph": (6.5, 8, 2)}.get(item, (6.5, 180, 4))
        assert (value is None) == (number != number)
        assert value is None or value == -1 or (low <= value <= high and value == round(value, decimals))
    again = encode_table(codec, back, where)
    np.testing.assert_array_equal(again.rows["value"], coded.rows["value"])


_A = "a: {type: datetime, min: 2000-01-01, max: 2010-01-01%s}, "
RELATIVE = {
    "after the same row": _A + "x: {type: datetime, after: a, within: 9d%s}",
    "before the same row": _A + "x: {type: datetime, before: a, within: 9d%s}",
    "strictly before": "a: {type: integer, min: 0, max: 90%s}, "
    "x: {type: number, before: a, within: 20, precision: 1, strict: true%s}",
    "a date after a moment": _A + "x: {type: date, after: a, within: 9d%s}",
    "a day after a second": _A + "x: {type: datetime, resolution: day, after: a, within: 9d%s}",
    "an hour before a second": _A + "x: {type: datetime, resolution: hour, before: a, within: 9d%s}",
    "between two of one row": "a: {type: date, min: 2000-01-01, max: 2010-01-01%s}, b: {type: date, after: a, within: 9d}, "
    "x: {type: date, after: a, before: b%s}",
    "along the row before": "a: {type: boolean%s}, "
    "x: {type: datetime, after: previous.x, within: 9d, first: {min: 2000-01-01, max: 2010-01-01}%s}",
    "strictly along, inside the parent": "a: {type: boolean%s}, x: {type: datetime, after: previous.x, before: parent.ends, "
    "strict: true, first: {after: parent.starts, within: 900d}%s}",
    "along, beginning before the parent": "a: {type: boolean%s}, x: {type: datetime, after: previous.x, before: parent.ends, "
    "scale: log, first: {before: parent.starts, within: 2d}%s}",
    "along, until a day": "a: {type: boolean%s}, "
    "x: {type: datetime, after: previous.x, within: 900d, max: 2010-06-30, strict: true, "
    "first: {after: parent.starts, within: 900d}%s}",
    "before what may be missing": "a: {type: datetime, after: parent.born, within: 100y%s}, "
    "x: {type: datetime, after: parent.born, before: a, max: 2011-01-01%s}",
    "during the parent": "a: {type: boolean%s}, x: {type: datetime, during: [p.starts, p.ends]%s}",
    "after a day of the parent": "a: {type: boolean%s}, x: {type: datetime, after: parent.born, within: 100y%s}",
}
EXACT = ("after the same row", "before the same row", "strictly before", "a date", "a day", "an hour", "along the row")
"""Distances come back as they were coded; fractions only where the interval is as long as it was."""


@given(
    st.sampled_from(sorted(RELATIVE)),
    st.lists(st.integers(0, 5), max_size=8),
    st.integers(0, 10**6),
    st.booleans(),
    st.booleans(),
)
def test_what_hangs_on_others_is_never_out_of_order(kind: str, counts: list[int], seed: int, null_x: bool, null_a: bool) -> None:
    words = RELATIVE[kind] % tuple(", nullable: true" if null else "" for null in (null_a, null_x))
    codec = codec_of(words, [name for name in ("a", "b", "x") if f"{name}: {{" in words])
    where, rng = siblings(counts), np.random.default_rng(seed)
    above = parents(where, rng)
    rows = {name: rng.integers(0, one.size, where.rows).astype(np.uint16) for name, one in codec.columns.items()}
    firsts = {}
    for name, first in codec.firsts.items():
        usual = rng.integers(0, codec.columns[name].bins.count, where.rows)
        rows[name] = np.where(where.position == 0, codec.columns[name].first_row, usual).astype(np.uint16)
        if null_x:
            rows[name][rng.random(where.rows) < 0.3] = codec.columns[name].slots.null(codec.columns[name].bins.count)
        firsts[name] = rng.integers(0, first.bins.count, where.parents).astype(np.uint16)
    decoded = decode_table(codec, rows, firsts, where, rng, above)
    columns = {name: values.to_pylist() for name, values in decoded.values.items()}
    for i in range(where.rows):
        assert_in_order(kind, where, columns, {anchor.column: points.lower for anchor, points in above.items()}, i)
    again = encode_table(codec, decoded.values, where, above)
    if kind.startswith(EXACT) and not ("along" in kind and null_x):
        known = np.array([value is not None for value in columns["a"]], dtype=np.bool_) | ("along" in kind)
        assert not ((again.rows["x"] != rows["x"]) & known).any()


def parents(where: Siblings, rng: np.random.Generator) -> dict[Anchor, Points]:
    """Rows above: one interval a parent, of a few seconds or of months."""
    codec = table_codec(load_schema(SCHEMA.replace("COLUMNS", "")), "p", ["born", "starts", "ends"])
    starts = rng.integers(946_684_800, 1_262_304_000, where.parents)
    ends = starts + rng.choice([0, 1, 3, 100, 10**6, 3 * 10**7], where.parents)
    ticks = {"born": rng.integers(-20_000, 10_000, where.parents), "starts": starts, "ends": ends}
    return {Anchor("p", name): Points(codec.ordered[name].scale, t, t).take(where.parent) for name, t in ticks.items()}


def assert_in_order(kind: str, where: Siblings, columns: dict[str, list[Any]], above: dict[str, np.ndarray], i: int) -> None:
    value, a = columns["x"][i], columns["a"][i]
    if value is None:
        return
    seconds = (value - datetime(1970, 1, 1)).total_seconds() if isinstance(value, datetime) else 0.0
    starts, ends, born = (int(above[name][i]) for name in ("starts", "ends", "born"))
    if kind.startswith(("after the", "a day")) and a is not None:
        assert value >= a
    if kind.startswith("a date") and a is not None:
        assert datetime.combine(value, time.max) >= a
    if kind.startswith(("before", "an hour")) and a is not None:
        assert value <= a
    if kind.startswith("strictly before") and a is not None:
        assert value < a
    if kind.startswith("between") and a is not None:
        assert a <= value <= columns["b"][i]
    if "along" in kind:
        for earlier in columns["x"][i - int(where.position[i]) : i]:
            assert earlier is None or (earlier < value if "strictly" in kind else earlier <= value)
    if "until a day" in kind:
        rows = int(where.remaining[i] + where.position[i] + 1)
        # Where the row above stands at the end itself, the order comes first.
        assert value <= datetime(2010, 6, 30) or starts + rows >= _END_OF_DATA
    if kind == "before what may be missing":
        assert value <= datetime(2011, 1, 1)
        assert a is None or value <= a
    if kind == "during the parent":
        assert starts <= seconds <= ends
    if "inside" in kind:
        rows = int(where.remaining[i] + where.position[i] + 1)
        assert starts <= seconds
        # An interval with fewer ticks than rows cannot hold a strict order: then the order comes first.
        assert ends - starts - 2 < rows or seconds < ends
    if "beginning before" in kind:
        assert seconds <= ends
    if kind.startswith("after a day"):
        assert (value.date() - date(1970, 1, 1)).days >= born


_END_OF_DATA = int((datetime(2010, 6, 30) - datetime(1970, 1, 1)).total_seconds())
_LENGTHS = st.one_of(st.integers(0, 100), st.integers(0, LONGEST))


@given(_LENGTHS, st.integers(0, WHOLE), st.integers(0, LONGEST))
def test_the_first_tick_of_a_place_is_exact(whole: int, place: int, part: int) -> None:
    (first,) = parts_at(np.array([place]), np.array([whole])).tolist()
    assert 0 <= first <= whole
    (reached,) = fractions_of(np.array([first]), np.array([whole])).tolist()
    assert reached >= place or whole == 0
    if first > 0 and whole > 0:
        (before,) = fractions_of(np.array([first - 1]), np.array([whole])).tolist()
        assert before < place
    k = min(part, whole)
    (found,) = fractions_of(np.array([k]), np.array([whole])).tolist()
    assert found == (WHOLE if k == whole else max(WHOLE * k // whole, int(k > 0)))


@given(_LENGTHS, st.integers(0, LONGEST), st.integers(1, 40), st.integers(0, 9))
def test_a_fraction_that_occurs_comes_back_in_its_own_bin(whole: int, part: int, bins: int, seed: int) -> None:
    cut = whole_bins(bins)
    code = cut.assign(fractions_of(np.array([min(part, whole)]), np.array([whole])))
    drawn, edges = cut.draw(code, np.random.default_rng(seed)), np.asarray(cut.edges)
    k = drawn_parts(drawn, edges[code], edges[code + 1], np.array([whole]))
    assert 0 <= k[0] <= whole
    assert cut.assign(fractions_of(k, np.array([whole])))[0] == code[0]
