"""The rows of a table below, taken together for each row above: how many there are, their sum, the first of them.

All rows of an entity stand in one chunk, so whatever belongs to a row is there. Rows that were dropped do not count.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from mare.codec.ticks import microseconds, null_mask
from mare.relational.placing import NOWHERE, Index

from .storing import take

if TYPE_CHECKING:
    from .writing import ChunkValues


def quantities_of(block: ChunkValues, table: str, column: str) -> pa.Array:
    """The values of a column, with special values as NULL: they are no quantities."""
    known = block.decoded(table).quantities.get(column)
    return block.column(table, column) if known is None else known


def total(block: ChunkValues, table: str, how: str, below: str, column: str | None) -> pa.Array:
    """For each row of a table, the rows of one below it in one value. NULLs do not count."""
    rows, above = block.living(below), block.rows(table)
    under = block.placed.climb(rows, below, table)
    if how == "count" or column is None:
        return pa.array(np.bincount(under, minlength=above).astype(np.int64))
    if how in ("first_of", "last_of"):
        return _picked(block.column(below, column), rows, under, above, last=how == "last_of")
    values = quantities_of(block, below, column)
    there = ~null_mask(values)[rows]
    rows, under = rows[there], under[there]
    if how in ("min", "max"):
        order = np.lexsort((_comparable(values)[rows], under))
        return _picked(values, rows[order], under[order], above, last=how == "max")
    sums = np.bincount(under, weights=_comparable(values)[rows], minlength=above)
    if how == "sum":
        return pa.array(sums)
    numbers = np.bincount(under, minlength=above)
    return pa.array(sums / np.maximum(numbers, 1), mask=numbers == 0)


def _picked(values: pa.Array, rows: Index, under: Index, above: int, *, last: bool) -> pa.Array:
    """The value in the first or the last of the rows under each row above; NULL where there is none."""
    order = np.argsort(under, kind="stable")
    at = np.full(above, NOWHERE, dtype=np.int64)
    chosen = order if last else order[::-1]
    at[under[chosen]] = rows[chosen]  # of several, the one that is written last stays
    return take(values, at)


def _comparable(values: pa.Array) -> np.ndarray:
    """Numbers as they are, times in microseconds; zero where there is none."""
    if pa.types.is_temporal(values.type):
        return microseconds(values)
    return np.asarray(values.cast(pa.float64(), safe=False).fill_null(0.0), dtype=np.float64)
