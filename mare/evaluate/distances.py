"""How far two entities are apart, and who is nearest: Gower's distance over their vectors.

Numbers differ by their distance as a share of the range of both sides, categories by 0 or 1; NULL differs from a number by 1,
from NULL by nothing.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .features import Features, Floats, Ints

_AT_ONCE = 4_000_000


def nearest(queries: Features, candidates: Features, neighbours: int = 1) -> tuple[Ints, Floats]:
    """Of each query the nearest candidates and their distances (queries, neighbours). Of equals, the first.

    A distance is a mean over columns, hence between 0 and 1."""
    neighbours = min(neighbours, candidates.rows)
    found, distances = np.zeros((queries.rows, neighbours), np.int64), np.ones((queries.rows, neighbours))
    if not neighbours or not queries.columns:
        return found, distances
    scaled = [_scaled(queries, candidates, column) for column in range(len(queries.columns))]
    step = max(1, _AT_ONCE // candidates.rows)
    for start in range(0, queries.rows, step):
        block = slice(start, start + step)
        apart = np.zeros((len(range(queries.rows)[block]), candidates.rows), np.float32)
        for column, (mine, theirs) in enumerate(scaled):
            if queries.is_number(column):
                difference = np.abs(mine[block, None] - theirs[None, :])
                if np.isnan(mine).any() or np.isnan(theirs).any():
                    both = np.isnan(mine[block, None]) & np.isnan(theirs[None, :])
                    difference = np.where(both, 0, np.nan_to_num(difference, nan=1.0))
                apart += difference
            else:
                apart += mine[block, None] != theirs[None, :]
        apart /= len(scaled)
        if neighbours == 1:
            order = apart.argmin(axis=1)[:, None]
        else:
            order = np.argsort(apart, axis=1, kind="stable")[:, :neighbours]
        found[block], distances[block] = order, np.take_along_axis(apart, order, axis=1)
    return found, distances


def _scaled(first: Features, second: Features, column: int) -> tuple[NDArray[np.generic], NDArray[np.generic]]:
    if not first.is_number(column):
        return first.code(column).astype(np.int32), second.code(column).astype(np.int32)
    values = [side.number(column) for side in (first, second)]
    known = np.concatenate([value[np.isfinite(value)] for value in values])
    width = float(np.ptp(known)) if len(known) else 0.0
    low = float(known.min()) if len(known) else 0.0
    mine, theirs = (((value - low) / (width or 1.0)).astype(np.float32) for value in values)
    return mine, theirs
