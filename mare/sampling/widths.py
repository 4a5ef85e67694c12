"""What a stored type can hold: a synthetic value never breaks out of it, so a release that was paid for can always be written.

A bound that was learned under much noise, or declared too far, may lie beyond a `smallint`, a `numeric(5, 2)` or a TIMESTAMP of
MySQL, which ends in 2038. Such a value becomes the last one that the type holds, and a text is cut off. Where a type ends, the
source told when it was reflected (`ReflectedColumn.lowest`). Keys are left alone: moved together, they would no longer be keys.
"""

from __future__ import annotations

from functools import cache

import pyarrow as pa
import pyarrow.compute as pc

from mare.schema.reflection import Bound, ReflectedColumn, ReflectedTable


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
