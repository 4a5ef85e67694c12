"""References between rows as codes: a row by its place among others. The stage and the sampler agree here."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mare.domain import CodeArray, smallest_dtype

from .placing import NOWHERE, Index


def rank_codes(target: Index, entity: Index, there: Index, size: int, nullable: bool) -> CodeArray:
    """A same-entity reference as the place of its row among the entity's own: ``there`` holds the entity of each target row."""
    first = np.searchsorted(there, entity)
    none = size - 1 if nullable else 0
    codes = np.where(target < 0, none, np.minimum(target - first, size - 1 - nullable))
    return codes.astype(smallest_dtype(size))


def back_codes(target: Index, back: int, itself: bool) -> CodeArray:
    """An earlier reference as how many rows back; then the row itself, where allowed; last "none, or further"."""
    distance = np.arange(len(target), dtype=np.int64) - target
    none = back + itself
    codes = np.full(len(target), none, dtype=np.int64)
    near = (target >= 0) & (distance >= 1) & (distance <= back)
    codes[near] = distance[near] - 1
    if itself:
        codes[(target >= 0) & (distance == 0)] = back
    return codes.astype(smallest_dtype(none + 1))


def previous_of_item(parent: Index, items: Sequence[CodeArray]) -> Index:
    """Of each row, the previous row of the same parent with the same items, or `NOWHERE`. Rows come in order."""
    rows = len(parent)
    order = np.lexsort((np.arange(rows), *items, parent))
    same = np.zeros(rows, dtype=bool)
    if rows:
        same[1:] = parent[order][1:] == parent[order][:-1]
        for item in items:
            same[1:] &= item[order][1:] == item[order][:-1]
    found = np.full(rows, NOWHERE, dtype=np.int64)
    found[order[same]] = order[np.flatnonzero(same) - 1]
    return found
