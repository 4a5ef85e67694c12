"""Columns that another decides in (nearly) all real rows, as a code decides its name, an age its group, an arm the dose; and
columns that are NULL together.

Which do is asked of some rows first, of each person once for each value: what one person holds in all rows ties nothing. Only
what passes there is counted among all rows, so that a long table costs a pass for each tie and none for each pair.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from mare.codec.ticks import null_mask
from mare.evaluation.sides import Side

from .features import Feature, Values, own_columns, some_values, taken, values

KEPT = 0.999
"""Of the real rows that a law is about, those that keep it."""
FEWEST = 50
"""Rows from which a rule is no chance."""
Found = tuple[int, int]
"""Rows that break it, and rows that it is about."""

_BREAK = 0.01
"""Of the real rows, those that may break a tie: names are mistyped and corrected."""
_BY_CHANCE = 20
"""Rows that would break it, if one column had nothing to do with the other: with fewer, nothing is known."""
_ROWS, _FIRST = 4096, 512
"""That are looked at, and that are looked at before them."""
_MOST_NUMBERS = 200
"""Different ones, up to which a number may decide another column."""
_DENSE = 1 << 22

Codes = NDArray[np.int64]
Key = str | float


@dataclass(frozen=True)
class Law:
    """What (nearly) all real rows keep though no schema says it."""

    where: str
    what: str
    """What breaks it."""
    real: Found
    broken: Callable[[Side], Found]
    about: str = ""
    """Of several that say nearly the same, because they are about the same column, the one that is broken most is told."""


@dataclass(frozen=True, eq=False)
class _Keyed:
    """A column as places among its different values; -1 where there is none."""

    codes: Codes
    keys: tuple[Key, ...]


def ties(real: Side, table: str, home: str) -> Iterator[Law]:
    """Columns here that one of the same row, or of the row above in ``home``, decides."""
    place, rows = real.place_of(table, home), len(real.entity[table])
    some = np.arange(rows)[:: max(1, -(-rows // _ROWS))]
    here = {feature: _keyed(some_values(real, feature, some)) for feature in own_columns(real, table)}
    at = None if place is None else place[some]
    deciding = here if at is None else {f: _keyed(some_values(real, f, at)) for f in own_columns(real, home)}
    whose = real.entity[table][some]
    listed, coded = list(here), set[Feature]()
    for left, left_held in sorted(deciding.items(), key=lambda item: item[0].kind == "number"):
        if left.kind == "number" and len(left_held.keys) > _MOST_NUMBERS:
            continue
        for right, right_held in here.items():
            if left == right or (left.kind == "number" and right in coded) or not _decides(left_held, right_held, whose):
                continue  # what a code decides, numbers that differ by code decide too, and say less
            if left.kind == "category":
                coded.add(right)
            if at is None and listed.index(right) < listed.index(left) and _decides(right_held, left_held, whose):
                continue  # each decides the other: once is enough
            fitting = _fitting(real, left, right)
            broken = partial(_unfit, left, right, fitting)
            wrong, of = broken(real)
            if of >= FEWEST and wrong <= _BREAK * of:
                name = left.name if left.table == table else f"{left.table}.{left.name}"
                where = f"{table}.{right.name}"
                yield Law(where, f"does not fit {name}", (wrong, of), broken, about=f"{where} does not fit")


def _keyed(held: Values) -> _Keyed:
    codes, keys = np.full(len(held), -1, dtype=np.int64), list[Key]()
    if held.numbers is not None:
        coded = pa.array(held.numbers, from_pandas=True).dictionary_encode()
        codes = np.asarray(coded.indices.fill_null(-1), dtype=np.int64)
        keys += coded.dictionary.to_pylist()
    if held.words is not None:
        np.copyto(codes, held.words + len(keys), where=held.words >= 0)
        keys += held.dictionary
    return _Keyed(codes, tuple(keys))


def _decides(left: _Keyed, right: _Keyed, whose: Codes) -> bool:
    """Whether rows of different people that have the same left value have the same right one, though they need not."""
    both = (left.codes >= 0) & (right.codes >= 0)
    step = max(1, len(both) // _FIRST)
    first = both[::step]
    _, most, of = _most_common(left.codes[::step][first], right.codes[::step][first], len(right.keys))
    if int((of - most).sum()) > 2 * _BREAK * len(first) + 5:
        return False
    _, once = np.unique(left.codes[both] * (int(whose.max(initial=0)) + 2) + whose[both], return_index=True)
    lefts, rights = left.codes[both][once], right.codes[both][once]
    _, most, of = _most_common(lefts, rights, len(right.keys))
    again = len(once) - len(of)  # rows that somebody else was before in holding this value
    apart = 1 - float(np.square(np.bincount(rights) / max(1, len(rights))).sum())
    wrong = int((of - most).sum())
    return again >= FEWEST and again * apart >= _BY_CHANCE and wrong <= min(2 * _BREAK * again, 0.1 * again * apart)


def _most_common(left: Codes, right: Codes, size: int) -> tuple[Codes, Codes, Codes]:
    """Of each left value that is there: both values as one number, the right one being its most common; how often they stand
    together; and how many rows have the left one."""
    joint = left * size + right
    if len(joint) and (int(left.max()) + 1) * size <= min(_DENSE, 4 * len(joint)):
        counts = np.bincount(joint)
        pairs = np.flatnonzero(counts)
        counts = counts[pairs]
    else:
        pairs, counts = np.unique(joint, return_counts=True)
    if not len(pairs):
        return pairs, counts, counts
    order = np.lexsort((-counts, pairs // size))
    starts = np.flatnonzero(np.diff(pairs[order] // size, prepend=-1))
    return pairs[order][starts], counts[order][starts], np.add.reduceat(counts[order], starts)


def _fitting(real: Side, left: Feature, right: Feature) -> dict[Key, Key]:
    """Of each left value that more than one row has, the right value that goes with it."""
    lefts, rights = _beside(real, left, right)
    both = (lefts.codes >= 0) & (rights.codes >= 0)
    pairs, _, of = _most_common(lefts.codes[both], rights.codes[both], len(rights.keys))
    size = max(1, len(rights.keys))
    return {lefts.keys[pair // size]: rights.keys[pair % size] for pair in pairs[of > 1].tolist()}


def _beside(side: Side, left: Feature, right: Feature) -> tuple[_Keyed, _Keyed]:
    place, held = side.place_of(right.table, left.table), values(side, left)
    return _keyed(held if place is None else taken(held, place)), _keyed(values(side, right))


def _unfit(left: Feature, right: Feature, fitting: Mapping[Key, Key], side: Side) -> Found:
    lefts, rights = _beside(side, left, right)
    known = {key: place for place, key in enumerate(rights.keys)}
    nowhere = len(rights.keys)  # what fits is no value of this side
    wanted = np.array([*(known.get(fitting[key], nowhere) if key in fitting else -1 for key in lefts.keys), -1], dtype=np.int64)
    expected = wanted[lefts.codes]
    about = (expected >= 0) & (rights.codes >= 0)
    return int(np.count_nonzero(about & (expected != rights.codes))), int(np.count_nonzero(about))


def null_together(real: Side, table: str) -> Iterator[Law]:
    """Columns of which all are NULL in a row, or none."""
    rows, blocks = len(real.entity[table]), dict[str, list[str]]()
    masks = dict[str, NDArray[np.bool_]]()
    for name, column in real.schema.tables[table].columns.items():
        if column.modelled and column.settled and FEWEST <= real.tables[table].column(name).null_count <= rows - FEWEST:
            mask = null_mask(real.column(table, name))
            first = next((first for first, held in masks.items() if np.count_nonzero(held ^ mask) <= (1 - KEPT) * rows), name)
            masks.setdefault(first, mask)
            blocks.setdefault(first, []).append(name)
    for block in blocks.values():
        broken = partial(_null_in_part, table, block)
        wrong, of = broken(real)
        if len(block) > 1 and wrong <= (1 - KEPT) * of:
            yield Law(f"{table}.{_listed(block)}", "are NULL in part", (wrong, of), broken)


def _null_in_part(table: str, block: Sequence[str], side: Side) -> Found:
    if side.missing & {f"{table}.{name}" for name in block}:
        return 0, 0
    nulls = np.zeros(len(side.entity[table]), dtype=np.int16)
    for name in block:
        nulls += null_mask(side.column(table, name))
    return int(np.count_nonzero((nulls > 0) & (nulls < len(block)))), len(nulls)


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names) if len(names) <= 4 else f"{', '.join(names[:3])} and {len(names) - 3} more"
