"""Caps while sampling: no parent and no entity has more rows than the source's could have.

The models have learned numbers that were cut by the same caps, so little is left to cut. It is cut as the stage does it:
of one parent's rows some at random, of an entity's lists whole ones.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mare.domain import Keys, RowDraws, child_keys, purpose_of
from mare.relational.placing import Index

from .associations import UnrolledRows

Mask = NDArray[np.bool_]


def at_most(rows: UnrolledRows, cap: int, above: Keys) -> UnrolledRows:
    """No parent with more rows than the cap: of more, some at random. ``above`` are the keys of the parents."""
    counts = np.bincount(rows.parent, minlength=len(above))
    if not len(rows.parent) or int(counts.max(initial=0)) <= cap:
        return rows
    place = np.arange(len(rows.parent), dtype=np.int64) - (np.cumsum(counts) - counts)[rows.parent]
    keys = child_keys(above, rows.parent, place, purpose_of("before the cap"))
    order = np.lexsort((RowDraws(keys, 0).random(), rows.parent))
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = place  # sorted by parent before and after: the ranks of a parent's rows are 0, 1, 2 … again
    return rows.take(np.flatnonzero(rank < cap).astype(np.int64))


def beyond_the_entity(counts: Index, entity: Index, cap: int, draws: RowDraws) -> Mask:
    """Parents whose whole list goes, because the lists of their entity are too long together: in a random order, those that
    end beyond the cap."""
    gone = np.zeros(len(counts), dtype=np.bool_)
    totals = np.bincount(entity, weights=counts) if len(entity) else np.zeros(0)
    if not (totals > cap).any():
        return gone
    lists = np.flatnonzero((counts > 0) & (totals[entity] > cap))
    order = lists[np.lexsort((draws.at("lists", lists).random(), entity[lists]))]
    reached = np.cumsum(counts[order])
    begins = np.r_[True, entity[order][1:] != entity[order][:-1]]
    before = np.maximum.accumulate(np.where(begins, reached - counts[order], 0))
    gone[order[reached - before > cap]] = True
    return gone
