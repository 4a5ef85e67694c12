"""Keys that meet: which row another row's key leads to, how many keys there are, and where rows stand among their siblings."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from mare.codec.ticks import filled, null_mask

from .sides import Rows

Numbers = NDArray[np.int64] | NDArray[np.float64]
Key = Sequence[pa.Array]
"""The columns of a key: whole numbers, or else texts. One of which a part is NULL is none."""
_SPARSEST = 8


def matched(wanted: Key, among: Key) -> Rows:
    """Of each row, the first of the others that has its key; -1 where there is none."""
    wanted, among = zip(*map(_alike, wanted, among), strict=True)
    if len(wanted) > 1:
        wanted, among = ([pa.array(codes, mask=codes < 0)] for codes in _in_one(wanted, among))
    return _first_places(wanted[0], among[0])


def distinct(key: Key) -> int:
    """How many keys there are."""
    if len(key) == 1 and pa.types.is_int64(key[0].type):  # a sort is far faster than looking up
        ascending = np.asarray(key[0].drop_null(), dtype=np.int64)
        if not (ascending[1:] >= ascending[:-1]).all():
            ascending = np.sort(ascending)
        return int(bool(len(ascending))) + int((ascending[1:] != ascending[:-1]).sum())
    if len(key) == 1:
        return len(pc.unique(key[0].drop_null()))
    codes, _ = _in_one(key, key)
    return len(np.unique(codes[codes >= 0]))


def complete(key: Key) -> int:
    """How many rows have one."""
    return len(key[0]) - (key[0].null_count if len(key) == 1 else int(np.any([null_mask(part) for part in key], axis=0).sum()))


def as_text(column: pa.Array) -> pa.Array:
    """A key as it is compared with others, and shown."""
    return column.cast(pa.string()) if pa.types.is_int64(column.type) else column


def _alike(mine: pa.Array, theirs: pa.Array) -> tuple[pa.Array, pa.Array]:
    return (mine, theirs) if mine.type == theirs.type else (as_text(mine), as_text(theirs))


def _first_places(wanted: pa.Array, among: pa.Array) -> Rows:
    if pa.types.is_int64(among.type) and len(among) > among.null_count:
        low, high = pc.min_max(among).values()
        first, span = low.as_py(), high.as_py() - low.as_py() + 1
        if span <= _SPARSEST * len(among):  # numbers that leave few out, as databases count: their rows in a list
            rows = np.flatnonzero(~null_mask(among))[::-1]
            place: Rows = np.full(span + 1, -1, dtype=np.int64)
            place[np.asarray(among.drop_null(), dtype=np.int64)[::-1] - first] = rows  # of equal ones the first is written last
            sought = filled(wanted)
            matches: Rows = place[np.where(null_mask(wanted) | (sought < first) | (sought >= first + span), span, sought - first)]
            return matches
    return np.asarray(pc.index_in(wanted, value_set=among, skip_nulls=True).fill_null(-1), dtype=np.int64)


def _in_one(wanted: Key, among: Key) -> tuple[Rows, Rows]:
    """Keys of several columns as one number, -1 for none."""
    codes = [np.zeros(len(side[0]), dtype=np.int64) for side in (wanted, among)]
    for mine, theirs in zip(wanted, among, strict=True):
        values = pc.unique(theirs)
        for i, column in enumerate((mine, theirs)):
            place = _first_places(column, values)
            codes[i] = np.where((codes[i] < 0) | (place < 0), -1, codes[i] * len(values) + place)
        _, numbered = np.unique(np.concatenate(codes), return_inverse=True)  # else many columns would leave 64 bits
        lowest = int(min(codes[0].min(initial=0), codes[1].min(initial=0)))
        codes = [part.astype(np.int64) + lowest for part in np.split(numbered, [len(codes[0])])]
    return codes[0], codes[1]


def order_of(entity: Rows, parent: Rows, order: Sequence[pa.Array]) -> Rows:
    """The rows by entity, parent and these columns, NULL last; else as they were read."""
    keys = [entity, parent, *map(_sortable, order)]
    return np.arange(len(entity)) if _ascending(keys) else np.lexsort(keys[::-1]).astype(np.int64)


def _ascending(keys: Sequence[Numbers]) -> bool:
    """Whether rows stand in this order already, as most files have them."""
    tied = np.ones(max(0, len(keys[0]) - 1), dtype=np.bool_)
    for key in keys:
        if not np.all((key[1:] >= key[:-1]) | ~tied):
            return False
        tied &= key[1:] == key[:-1]
    return True


def _sortable(column: pa.Array) -> Numbers:
    kind = column.type
    if pa.types.is_timestamp(kind) or pa.types.is_signed_integer(kind) or pa.types.is_date32(kind):
        numbers = filled(column.cast(pa.int32()) if pa.types.is_date32(kind) else column)
        return np.where(null_mask(column), np.iinfo(np.int64).max, numbers) if column.null_count else numbers
    if pa.types.is_floating(kind):
        floats = np.asarray(column.cast(pa.float64()).fill_null(0), dtype=np.float64)
        return np.where(null_mask(column), np.nan, np.nan_to_num(floats, nan=np.inf, posinf=np.inf, neginf=-np.inf))
    ranks = pc.rank(column, sort_keys="ascending", tiebreaker="dense")  # NULL comes last
    return np.asarray(ranks, dtype=np.int64)
