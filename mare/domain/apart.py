"""Values that the rows of one parent have to differ in (parts of keys): which rows are alike, and how they make room for each
other.

Rows that have the same value move apart as little as the domain allows: to both sides, in their order, and those in their way
with them. So a list is as long as it was drawn, and it lies where it was drawn. Only a domain that is full leaves rows alike.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from .draws import drawing

Index = NDArray[np.int64]
Whole = NDArray[np.integer]


def numbered(columns: Sequence[Whole]) -> Index:
    """Rows that are alike in these columns as equal numbers, from 0."""
    numbers = np.zeros(len(columns[0]), dtype=np.int64)
    if len(numbers):
        order = np.lexsort(tuple(columns)[::-1])
        begins = np.zeros(len(numbers), dtype=np.bool_)
        for column in columns:
            begins[1:] |= column[order][1:] != column[order][:-1]
        numbers[order] = np.cumsum(begins)
    return numbers


def ranks(columns: Sequence[Whole]) -> Index:
    """Of each row, how many earlier rows are alike in these columns."""
    return _places(numbered(columns))[0]


def repeated(parent: Index, columns: Sequence[Whole], times: int = 1) -> Index:
    """The rows that have ``times`` earlier ones with the same parent and the same codes."""
    return np.flatnonzero(ranks([parent, *columns]) >= times).astype(np.int64)


def move_apart(
    parent: Index,
    values: Mapping[str, Index],
    ends: Mapping[str, tuple[Index, Index]],
    among: Index,
    rng: np.random.Generator,
) -> None:
    """Change ``values`` in place, as little as it takes, so that of the rows ``among`` those of one parent differ in them.

    ``ends`` holds the first and the last value that each row may have, of the columns that may be changed; what lies outside of
    them is no ordinary value, and stays. The widest is changed first: there is most room in it.
    """
    width = {name: int((high - low).max(initial=0)) for name, (low, high) in ends.items()}
    for name in sorted(ends, key=lambda name: -width[name]):
        low, high = ends[name]
        others = [column for other, column in values.items() if other != name]
        rows = among[(values[name][among] >= low[among]) & (values[name][among] <= high[among])]
        group = numbered([parent[rows], *(column[rows] for column in others), low[rows], high[rows]])
        again = repeated(group, [values[name][rows]])
        crowded = np.isin(group, group[again])
        rows, group = rows[crowded], numbered([group[crowded]])
        if not len(rows):
            continue
        # Where there are more rows than values, the last of those that are alike are left as they are.
        late = np.zeros(len(rows), dtype=np.int64)
        late[repeated(group, [values[name][rows]])] = 1
        order = np.lexsort((np.arange(len(rows)), late, group))
        rank = np.empty(len(rows), dtype=np.int64)
        rank[order] = _places(group[order])[0]
        fits = rank <= high[rows] - low[rows]
        rows, group = rows[fits], group[fits]
        firsts = rows[np.unique(group, return_index=True)[1]]
        upwards = drawing(rng, f"side({name})", firsts).integers(0, 2, size=len(firsts))
        values[name][rows] = spread(group, values[name][rows], low[rows], high[rows], upwards)


def spread(group: Index, values: Index, low: Index, high: Index, upwards: Index) -> Index:
    """The values of each group made to differ, in their order; a group has no more rows than there are values.

    Halfway between the smallest values that are nowhere below those given and the largest that are nowhere above: both grow by
    one at least from row to row, so what is halfway does too. ``low`` and ``high`` are the ends of the domain, the same for a
    whole group. ``upwards`` says of each group to which side a half is rounded.
    """
    order = np.lexsort((np.arange(len(values)), values, group))
    grouped, given, low, high = group[order], values[order], low[order], high[order]
    before, after = _places(grouped)
    above = np.minimum(_highest_so_far(grouped, given - before) + before, high - after)
    below = -_highest_so_far(grouped[::-1], -(given + after)[::-1])[::-1] - after
    below = np.maximum(below, low + before)
    spaced = np.empty(len(values), dtype=np.int64)
    # As distances from the lower end: two moments in microseconds may be too much for one sum.
    spaced[order] = low + ((above - low) + (below - low) + upwards[grouped]) // 2
    return spaced


def _places(group: Index) -> tuple[Index, Index]:
    """Of each row, how many of its group come before it, and how many after it."""
    order = np.argsort(group, kind="stable")
    sizes = np.bincount(group) if len(group) else np.zeros(0, dtype=np.int64)
    before, after = np.empty(len(group), dtype=np.int64), np.empty(len(group), dtype=np.int64)
    before[order] = np.arange(len(group)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    after[order] = np.repeat(sizes, sizes) - 1 - before[order]
    return before, after


def _highest_so_far(group: Index, values: Index) -> Index:
    """The largest value of its group up to each row; the rows of a group stand together."""
    steps, places = np.unique(values, return_inverse=True)
    begins = np.r_[True, group[1:] != group[:-1]] if len(group) else np.zeros(0, dtype=np.bool_)
    floor = np.cumsum(begins) * len(steps)
    highest: Index = steps[np.maximum.accumulate(places + floor) - floor]
    return highest
