"""Values as the source stores them: the schema says what a column means, the catalogue in which type it is kept.

A date may be kept as the text 31.12.2150, a boolean as Y, a number among which `> 89` stands as text. What comes out has the
source's kind, so a target with its types takes it.

`shaped`: worked-out values as a column may hold them, in its own type, precision and bounds, and NULL only where it may be.

`within_width`: a synthetic value never breaks out of its stored type, so that a release that was paid for can always be
written. A bound that was learned under much noise, or declared too far, may lie beyond a `smallint`, a `numeric(5, 2)` or a
TIMESTAMP of MySQL, which ends in 2038. Such a value becomes the last one that the type holds, and a text is cut off. Where a
type ends, the source told when it was reflected (`ReflectedColumn.lowest`). Keys are left alone: moved together, they would no
longer be keys.

`fresh_values`: identifiers made from the number of the row alone, so that any chunk, and any row that refers to another, can make
them. Unique by construction: numbers go up, a uuid is a one-to-one function of the number and of the seed.
"""

from __future__ import annotations

import re
from functools import cache

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from mare.codec.category import canonical
from mare.codec.parsing import by_distinct, formatted, is_text, numbers, whole_numbers
from mare.codec.ticks import null_mask
from mare.domain import RowDraws, numbered_keys, purpose_of
from mare.relational.faking import fake_values
from mare.relational.filling import Fresh
from mare.relational.placing import Index
from mare.schema.columns import AnyColumn, Column, Quantity, Text
from mare.schema.columns.category import TRUE_WORDS
from mare.schema.columns.ticks import WholeTicks
from mare.schema.reflection import Bound, ReflectedColumn, ReflectedTable

_WHOLE_FLOATS = 2.0**53
_LAST_US = (2**63 - 1) // 1000 - 1
_TYPES: dict[str, pa.DataType] = {
    "boolean": pa.bool_(),
    "integer": pa.int64(),
    "number": pa.float64(),
    "date": pa.date32(),
    "datetime": pa.timestamp("us"),
    "time": pa.time64("us"),
    "duration": pa.duration("us"),
}


def as_stored(values: pa.Array, described: AnyColumn | None, stored: ReflectedColumn) -> pa.Array:
    """The same values in the kind of the stored column. Kinds that mare does not know are left as they are."""
    if pa.types.is_dictionary(values.type):
        values = values.dictionary_decode()
    kept = _in_kind(values, described, stored)
    may_miss = stored.nullable and (described is None or described.nullable)
    return kept if may_miss or not kept.null_count or not is_text(values) else _named(values, kept)


def _in_kind(values: pa.Array, described: AnyColumn | None, stored: ReflectedColumn) -> pa.Array:
    kind = stored.kind
    if kind in ("string", "uuid", "json"):
        return as_text(values, described)
    if pa.types.is_null(values.type):
        return values.cast(_TYPES.get(kind, pa.string()))
    if kind == "boolean":
        return values if pa.types.is_boolean(values.type) else _truth(values)
    if kind == "integer":
        if pa.types.is_temporal(values.type):
            values = as_text(values, described)
        return whole_numbers(values)
    if kind == "number":
        quantities = numbers(values.cast(pa.int8()) if pa.types.is_boolean(values.type) else values)
        # Rounded here and not by the target: rows that have to differ are compared as they will be stored.
        return quantities if stored.precision is None else pc.round(quantities, ndigits=stored.precision)
    if kind == "date" and (pa.types.is_timestamp(values.type) or pa.types.is_date(values.type)):
        return pc.floor_temporal(values, unit="day").cast(pa.date32()) if pa.types.is_timestamp(values.type) else values
    if kind == "datetime" and "[ns" in stored.sql_type and pa.types.is_temporal(values.type):
        return _within_nanoseconds(values.cast(_TYPES[kind], safe=False))
    if kind in ("datetime", "time", "duration") and pa.types.is_temporal(values.type):
        return values.cast(_TYPES[kind], safe=False)
    return values


def _named(values: pa.Array, kept: pa.Array) -> pa.Array:
    """Noise may leave a learned list with only a value without a name. Where NULL is not allowed, that is the type's zero."""
    if is_text(kept):
        return kept.fill_null("")
    width = pa.int32() if kept.type.bit_width == 32 else pa.int64()
    zero = pa.scalar(0, width).cast(kept.type)
    return pc.if_else(pc.fill_null(pc.equal(values, ""), False), zero, kept)


def _within_nanoseconds(values: pa.Array) -> pa.Array:
    """Nanoseconds in 64 bits end in the years 1677 and 2262: later moments become the last one, so their order stays."""
    micros = values.cast(pa.int64())
    return pc.max_element_wise(pc.min_element_wise(micros, _LAST_US, skip_nulls=False), -_LAST_US, skip_nulls=False).cast(
        pa.timestamp("us")
    )


def _truth(values: pa.Array) -> pa.Array:
    if is_text(values):
        known = pa.array(TRUE_WORDS)
        return pc.if_else(pc.is_null(values), pa.scalar(None, pa.bool_()), pc.is_in(pc.utf8_lower(values), known))
    return pc.not_equal(values, 0)


def as_text(values: pa.Array, described: AnyColumn | None = None) -> pa.Array:
    """As the source writes them: dates by their format, numbers with their decimals, whole numbers without any."""
    kind = values.type
    if is_text(values):
        return values.cast(pa.string())
    if pa.types.is_date(kind) or pa.types.is_timestamp(kind) or pa.types.is_time(kind):
        return formatted(values, None if described is None else described.text_format)
    if pa.types.is_floating(kind):
        form = None if described is None else described.number_text
        mark = "." if described is None else described.decimal_mark
        if form is not None:
            return pc.replace_substring(by_distinct(values, form.format, pa.string()), ".", mark)
        small = pc.less(pc.abs(values), _WHOLE_FLOATS)
        whole = pc.and_(small, pc.equal(pc.round(values), values))
        without = pc.if_else(whole, values, 0.0).cast(pa.int64(), safe=False).cast(pa.string())
        decimals = pc.replace_substring(values.cast(pa.string()), ".", mark)
        return pc.if_else(pc.fill_null(whole, False), without, decimals)
    if pa.types.is_duration(kind):
        return by_distinct(values, str, pa.string())
    return values.cast(pa.string())


def take(values: pa.Array, places: NDArray[np.int64]) -> pa.Array:
    """Values at these places; NULL where a place is negative."""
    if not len(values):
        return pa.nulls(len(places), type=values.type)
    return values.take(pa.array(np.maximum(places, 0), mask=places < 0))


def numbered(values: pa.Array) -> NDArray[np.int64]:
    """Equal values as equal numbers; NULL is the last."""
    coded = values.dictionary_encode()
    return np.asarray(coded.indices.fill_null(len(coded.dictionary)), dtype=np.int64)


def shaped(values: pa.Array, column: Column) -> pa.Array:
    """What comes out of a column whose values were worked out."""
    return _never_null(_shaped(values, column), column)


def _shaped(values: pa.Array, column: Column) -> pa.Array:
    """In the column's own type, precision and bounds."""
    kind = values.type
    if isinstance(column, Quantity) and (pa.types.is_floating(kind) or pa.types.is_integer(kind)):
        for bound, pick in ((column.min, pc.max_element_wise), (column.max, pc.min_element_wise)):
            if bound is not None and not column.anchors:
                values = pick(values, float(bound), skip_nulls=False)
        doubles, ticks = values.cast(pa.float64()), column.ticks()
        if isinstance(ticks, WholeTicks):
            return pc.round_to_multiple(doubles, float(ticks.step)).cast(pa.int64(), safe=False)
        return doubles if column.decimals is None else _rounded(doubles, column.decimals)
    if column.has_day and pa.types.is_timestamp(kind) and not column.has_clock:
        return pc.floor_temporal(values, unit="day").cast(pa.date32())
    if column.has_day and pa.types.is_date(kind) and column.has_clock:
        return values.cast(pa.timestamp("us"))
    return as_text(values) if isinstance(column, Text) else values


def _rounded(doubles: pa.Array, decimals: int) -> pa.Array:
    """The doubles that are nearest to numbers of so many decimals: what adds up in decimals adds up here. (Arrow's own rounding
    leaves 724.9300000000001 as it is.)"""
    nulls = null_mask(doubles)
    values = np.asarray(doubles.fill_null(0.0), dtype=np.float64)
    scale = 10.0**decimals
    kept = np.abs(values) * scale < 2.0**53
    nearest = np.rint(np.where(kept, values, 0.0) * scale) / scale
    return pa.array(np.where(kept, nearest, values), mask=nulls)


def _never_null(values: pa.Array, column: Column) -> pa.Array:
    """A column that is not nullable never comes out NULL, whatever it was worked out from."""
    if column.nullable or not values.null_count:
        return values
    instead = column.instead_of_null
    return pc.fill_null(values, pa.scalar(canonical(instead) if is_text(values) else instead, type=values.type))


def within_width(values: pa.Array, column: ReflectedColumn, table: ReflectedTable) -> pa.Array:
    """The values, none beyond what the column can hold."""
    if column.name in _linked(table):
        return values
    if column.kind == "string" and column.max_length is not None:
        return _within_length(values, column.max_length)
    low, high = _ends(column)
    if low is None or high is None:
        return values
    if column.kind == "datetime" and pa.types.is_timestamp(values.type):
        first, last = (pa.scalar(end, pa.timestamp("us")).cast(values.type) for end in (low, high))
    elif column.kind != "datetime" and pa.types.is_integer(values.type):
        first, last = (pa.scalar(int(end), pa.int64()) for end in (low, high))  # type: ignore[arg-type]
    elif column.kind != "datetime" and pa.types.is_floating(values.type):
        first, last = (pa.scalar(end, pa.float64()) for end in (low, high))
    else:
        return values
    return pc.max_element_wise(pc.min_element_wise(values.cast(first.type), last, skip_nulls=False), first, skip_nulls=False)


def _within_length(values: pa.Array, letters: int) -> pa.Array:
    """Texts, cut to the length of their column: what a template makes of a row may be longer."""
    texts = values.dictionary_decode() if isinstance(values, pa.DictionaryArray) else values
    if not pa.types.is_string(texts.type) or (pc.max(pc.utf8_length(texts)).as_py() or 0) <= letters:
        return values
    return pc.utf8_slice_codeunits(texts, 0, letters)


@cache
def _ends(column: ReflectedColumn) -> tuple[Bound, Bound] | tuple[None, None]:
    """The least and the greatest value that the column holds, where its kind goes further."""
    if column.kind == "number" and column.digits is not None and column.precision is not None and column.digits <= 15:
        # Below the type's own end by one last digit, so that no rounding on the way reaches beyond it.
        most = (10**column.digits - 2) / 10**column.precision
        return (0.0 if column.lowest == 0 else -most), most
    if column.kind not in ("integer", "datetime") or column.lowest is None or column.highest is None:
        return None, None
    return column.lowest, column.highest


@cache
def _linked(table: ReflectedTable) -> frozenset[str]:
    """Columns that name rows."""
    foreign = (column for key in table.foreign_keys for column in key.columns)
    return frozenset([*table.key, *foreign, *(column for unique in table.uniques for column in unique)])


_PATTERN = re.compile(r"([^{}]*)\{n(?::0?(\d*)d?)?\}([^{}]*)")
"""Text, the number with leading zeros or without, text. Anything else is formatted row by row."""
_HEX = np.frombuffer(b"0123456789abcdef", dtype=np.uint8)
_DASHES = (8, 13, 18, 23)


def fresh_purpose(filling: Fresh, table: str, column: str, seed: int) -> int:
    """What identifiers of a column are drawn for. All that is made up in a row is about one person: it is drawn for the table."""
    return purpose_of(f"{table}.{column}", seed) if filling.fake is None else person_purpose(table, seed)


def person_purpose(table: str, seed: int) -> int:
    return purpose_of(f"{table} person", seed)


def fresh_values(filling: Fresh, stored: ReflectedColumn, numbers: Index, purpose: int) -> pa.Array:
    """The identifiers of the rows with these numbers, counted from 0."""
    if filling.fake is not None:
        return fake_values(filling.fake.kind, filling.fake.locale, numbers, purpose)
    generate = filling.generate or ("uuid" if stored.kind == "uuid" else "sequence")
    if generate == "uuid":
        return _uuids(numbers, purpose)
    counted = numbers + filling.start
    if generate == "pattern" and filling.pattern is not None:
        return _patterned(filling.pattern, counted)
    identifiers = pa.array(counted)
    return identifiers.cast(pa.string()) if stored.kind in ("string", "json", "other") else identifiers


def _patterned(pattern: str, numbers: Index) -> pa.Array:
    simple = _PATTERN.fullmatch(pattern)
    if simple is None or (len(numbers) and int(numbers.min()) < 0):
        return pa.array([pattern.format(n=int(n)) for n in numbers], type=pa.string())
    before, width, after = simple.groups()
    digits = pa.array(numbers).cast(pa.string())
    if width:
        padding = "0" if re.search(r"\{n:0", pattern) else " "
        digits = pc.utf8_lpad(digits, width=int(width), padding=padding)
    return pc.binary_join_element_wise(before, digits, after, "")


def _uuids(numbers: Index, purpose: int) -> pa.Array:
    """Version 4. Two of the words that a row's number is hashed to: the first alone is different for every number."""
    rows = len(numbers)
    draws = RowDraws(numbered_keys(purpose, numbers), purpose)
    words = np.stack([draws.bits(), draws.bits()], axis=1).astype(">u8")
    octets: NDArray[np.uint8] = words.view(np.uint8).reshape(rows, 16).copy()
    octets[:, 6] = (octets[:, 6] & 0x0F) | 0x40
    octets[:, 8] = (octets[:, 8] & 0x3F) | 0x80
    letters = np.empty((rows, 32), dtype=np.uint8)
    letters[:, 0::2], letters[:, 1::2] = _HEX[octets >> 4], _HEX[octets & 15]
    texts = np.full((rows, 36), ord("-"), dtype=np.uint8)
    texts[:, [place for place in range(36) if place not in _DASHES]] = letters
    offsets = np.arange(rows + 1, dtype=np.int32) * 36
    return pa.StringArray.from_buffers(rows, pa.py_buffer(offsets), pa.py_buffer(texts.tobytes()))
