"""What a stored type can hold: a synthetic value never breaks out of it, so a release that was paid for can always be written.

A bound that was learned under much noise, or declared too far, may lie beyond a `smallint`, a `numeric(5, 2)` or a TIMESTAMP of
MySQL, which ends in 2038. Such a value becomes the last one that the type holds, and a text is cut off. Keys are left alone:
moved together, they would no longer be keys.
"""

from __future__ import annotations

import re
from datetime import datetime
from functools import cache
from typing import TYPE_CHECKING

from mare.schema.reflection import ReflectedColumn, ReflectedTable

if TYPE_CHECKING:
    import pyarrow as pa

_BYTES = {
    "postgresql": {"smallint": 2, "integer": 4},
    "mysql": {"tinyint": 1, "smallint": 2, "mediumint": 3, "int": 4},
    "duckdb": {"tinyint": 1, "smallint": 2, "integer": 4, "utinyint": 1, "usmallint": 2, "uinteger": 4},
    "arrow": {"int8": 1, "int16": 2, "int32": 4, "uint8": 1, "uint16": 2, "uint32": 4},
}
"""Of the whole numbers that are narrower than 64 bits. (SQLite has none, whatever it calls them.)"""
_TIMESTAMPS = datetime(1970, 1, 1, 0, 0, 1), datetime(2038, 1, 19, 3, 14, 7)
"""MySQL's, in UTC, which is what is written."""
_WORD = re.compile(r"([a-z]+\d*)(?:\(\d+\))?( unsigned)?.*")


def within_width(values: pa.Array, column: ReflectedColumn, table: ReflectedTable) -> pa.Array:
    """The values, none beyond what the column can hold."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if column.name in _linked(table):
        return values
    if column.kind == "string" and column.max_length is not None:
        return _within_length(values, column.max_length)
    if pa.types.is_timestamp(values.type):
        return _within_timestamp(values, column, table.dialect)
    limits = _limits(column, table.dialect)
    whole = pa.types.is_integer(values.type)
    if limits is None or not (whole or pa.types.is_floating(values.type)):
        return values
    kind = pa.int64() if whole else pa.float64()
    low, high = (pa.scalar(int(limit) if whole else limit, kind) for limit in limits)
    return pc.max_element_wise(pc.min_element_wise(values.cast(kind), high, skip_nulls=False), low, skip_nulls=False)


def _within_length(values: pa.Array, letters: int) -> pa.Array:
    """What a template made of a row, or a text that stood for something else, may be longer than its column."""
    import pyarrow as pa
    import pyarrow.compute as pc

    texts = values.dictionary_decode() if isinstance(values, pa.DictionaryArray) else values
    if not pa.types.is_string(texts.type) or (pc.max(pc.utf8_length(texts)).as_py() or 0) <= letters:
        return values
    return pc.utf8_slice_codeunits(texts, 0, letters)


def _within_timestamp(values: pa.Array, column: ReflectedColumn, dialect: str) -> pa.Array:
    import pyarrow as pa
    import pyarrow.compute as pc

    if dialect != "mysql" or not column.sql_type.lower().startswith("timestamp"):
        return values
    low, high = (pa.scalar(end, pa.timestamp("us")).cast(values.type) for end in _TIMESTAMPS)
    return pc.max_element_wise(pc.min_element_wise(values, high, skip_nulls=False), low, skip_nulls=False)


@cache
def _limits(column: ReflectedColumn, dialect: str) -> tuple[int, int] | tuple[float, float] | None:
    if column.kind == "number" and column.digits is not None and column.precision is not None and column.digits <= 15:
        # Below the type's own end by one last digit, so that no rounding on the way reaches beyond it.
        most = (10**column.digits - 2) / 10**column.precision
        return (0.0 if "unsigned" in column.sql_type.lower() else -most), most
    word = _WORD.fullmatch(column.sql_type.lower())
    if column.kind != "integer" or word is None:
        return None
    if (dialect, word[1]) == ("mysql", "year"):
        return 1901, 2155
    size = _BYTES.get(dialect, {}).get(word[1])
    if size is None:
        return None
    if word[2] or (word[1].startswith("u") and dialect != "mysql"):
        return 0, 2 ** (8 * size) - 1
    return -(2 ** (8 * size - 1)), 2 ** (8 * size - 1) - 1


@cache
def _linked(table: ReflectedTable) -> frozenset[str]:
    """Columns that name rows."""
    foreign = (column for key in table.foreign_keys for column in key.columns)
    return frozenset([*table.key, *foreign, *(column for unique in table.uniques for column in unique)])
