"""Which rows the codes of references stand for while a table is drawn, and which row is the previous one of the same item."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mare.domain import CodeArray
from mare.relational.placing import NOWHERE, Index, PlacedTables
from mare.relational.relations import Ranked, Stepped


@dataclass(frozen=True, eq=False)
class Crowd:
    """The rows of one table by entity: how many each has, and where they begin."""

    first: Index
    count: Index

    @classmethod
    def of(cls, placed: PlacedTables, table: str, entity: str) -> Crowd:
        entities = placed.tables[entity].rows
        whose = placed.climb(np.arange(placed.tables[table].rows, dtype=np.int64), table, entity)
        count = np.bincount(whose, minlength=entities).astype(np.int64)
        return cls(np.cumsum(count) - count, count)


def rank_targets(codes: NDArray[np.integer], reference: Ranked, crowd: Crowd, entity: Index, reached: Index) -> Index:
    """The places of the rows that these codes stand for: positions among the rows of an entity, from those ``reached`` on."""
    leads = codes < np.minimum(crowd.count[entity] - reached, reference.size - reference.nullable)
    return np.where(leads, crowd.first[entity] + reached + codes, NOWHERE).astype(np.int64)


def step_targets(codes: NDArray[np.integer], reference: Stepped, rows: Index) -> Index:
    """The places of the rows so many back, or of the rows themselves."""
    places = np.where(codes < reference.back, rows - codes.astype(np.int64) - 1, NOWHERE)
    if reference.itself:
        own = codes == reference.back if reference.nullable else codes >= reference.back
        places = np.where(own, rows, places)
    return places.astype(np.int64)


def steps_that_stay(codes: CodeArray, reference: Stepped, kept: Index) -> CodeArray:
    """The codes of the rows that are ``kept``, once the others are gone: a way back is as long as the rows on it that stay, and
    one to a row that went leads nowhere, or to the row itself. (By its old code a row would reach into another's sequence.)"""
    place = np.full(len(codes), NOWHERE, dtype=np.int64)
    place[kept] = np.arange(len(kept))
    old = codes[kept].astype(np.int64)
    leads = old < reference.back
    there = place[np.where(leads, kept - old - 1, kept)]
    nowhere = reference.back + (reference.itself if reference.nullable else 0)
    back = np.where(there >= 0, np.arange(len(kept)) - there - 1, nowhere)
    return np.where(leads, back, old).astype(codes.dtype)


class LastOfItem:
    """Of every parent and item, the last row so far: the previous row of the same item, one step at a time."""

    MOST = 1 << 24
    """Cells of the table that is kept for it. Where it would be larger, rows look back one by one instead."""

    def __init__(self, parents: int, sizes: tuple[int, ...]) -> None:
        self._sizes = sizes
        items = int(np.prod([int(size) for size in sizes], dtype=object))
        dense = parents * items <= self.MOST
        self._dense = np.full(parents * items, NOWHERE, dtype=np.int32) if dense else None

    def step(self, parent: Index, position: Index, items: tuple[CodeArray, ...], rows: Index) -> Index:
        """The previous rows of the same item of these ``rows``, which stand at one position; ``items`` are those of all rows."""
        if self._dense is not None:
            key = parent[rows].astype(np.int64)
            for size, item in zip(self._sizes, items, strict=True):
                key = key * size + item[rows]
            previous = self._dense[key].astype(np.int64)
            self._dense[key] = rows
            return previous
        return self._look_back(position, items, rows)

    def _look_back(self, position: Index, items: tuple[CodeArray, ...], rows: Index) -> Index:
        previous = np.full(len(rows), NOWHERE, dtype=np.int64)
        waiting = np.arange(len(rows))
        for lag in range(1, int(position[rows].max(initial=0)) + 1):
            here = rows[waiting]
            waiting, here = waiting[position[here] >= lag], here[position[here] >= lag]
            same = np.ones(len(here), dtype=np.bool_)
            for item in items:
                same &= item[here] == item[here - lag]
            previous[waiting[same]] = here[same] - lag
            waiting = waiting[~same]
            if not len(waiting):
                break
        return previous
