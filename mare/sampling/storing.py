"""Values as the source stores them: the schema says what a column means, the catalogue in which type it is kept.

A date may be kept as the text 31.12.2150, a boolean as Y, a number among which `> 89` stands as text. What comes out has the
source's kind, so a target with its types takes it.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from mare.codec.parsing import by_distinct, formatted, is_text, numbers, whole_numbers
from mare.schema.columns import AnyColumn
from mare.schema.columns.category import TRUE_WORDS
from mare.schema.reflection import ReflectedColumn

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
