"""How far two entities are apart, and who is nearest: Gower's distance over their vectors.

Numbers differ by their distance as a share of a range, categories by 0 or 1; NULL differs from a number by 1, from NULL by
nothing. Distances that are held against each other must share their ranges: one outlier would move all of one side.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from .features import Features, Floats, Ints

_AT_ONCE = 100_000
"""Pairs that are compared at once: few enough to stay in the processor's cache."""
_NULL = 3.0
"""Where NULL stands on a scale from 0 to 1: farther from every number than the most that counts."""


def nearest(
    queries: Features, candidates: Features, neighbours: int = 1, *, scale: Sequence[Features] | None = None
) -> tuple[Ints, Floats]:
    """Of each query the nearest candidates and their distances (queries, neighbours). Of equals, the first.

    A distance is a mean over columns. Ranges are those of all parts of ``scale``; of queries and candidates unless said."""
    neighbours = min(neighbours, candidates.rows)
    found, distances = np.zeros((queries.rows, neighbours), np.int64), np.ones((queries.rows, neighbours))
    if not neighbours or not queries.columns:
        return found, distances
    parts = scale or (queries, candidates)
    scaled = [_scaled(queries, candidates, column, parts) for column in range(len(queries.columns))]
    step = max(1, _AT_ONCE // candidates.rows)
    for start in range(0, queries.rows, step):
        block = slice(start, min(start + step, queries.rows))
        apart = np.zeros((block.stop - start, candidates.rows), np.float32)
        difference = np.empty_like(apart)
        for mine, theirs, beyond_one in scaled:
            np.subtract(mine[block, None], theirs, out=difference)
            np.abs(difference, out=difference)
            if beyond_one:
                np.minimum(difference, 1.0, out=difference)
            apart += difference
        order = apart.argmin(axis=1)[:, None] if neighbours == 1 else np.argsort(apart, axis=1, kind="stable")[:, :neighbours]
        found[block] = order
        distances[block] = np.take_along_axis(apart, order, axis=1) / len(scaled)
    return found, distances


def _scaled(
    first: Features, second: Features, column: int, parts: Sequence[Features]
) -> tuple[NDArray[np.float32], NDArray[np.float32], bool]:
    """Both sides on one scale, and whether a difference may exceed 1 there: between categories, and from NULL."""
    if not first.is_number(column):
        return first.code(column).astype(np.float32), second.code(column).astype(np.float32), True
    values = [side.number(column) for side in (first, second)]
    known = np.concatenate([part.known(column) for part in parts])
    low, width = (float(known.min()), float(np.ptp(known)) or 1.0) if len(known) else (0.0, 1.0)
    mine, theirs = (np.where(np.isfinite(value), (value - low) / width, _NULL).astype(np.float32) for value in values)
    return mine, theirs, any(not np.isfinite(value).all() for value in values)
