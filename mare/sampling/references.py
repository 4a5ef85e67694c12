"""References while sampling: from codes to places, and codes that lead to no row put right.

A model may draw the fifth admission of a patient who has three. Then it is asked again; what is still impossible after that
is drawn at random among the rows there are, or becomes NULL where the reference may be.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mare.domain import CodeArray, Codes
from mare.release.placing import NOWHERE, Index, Rooms
from mare.release.relations import Ranked, Stepped

from .structure import REDRAWS

Mask = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Crowd:
    """The rows of one table by entity: how many each has, and where they begin."""

    first: Index
    count: Index

    @classmethod
    def of(cls, rooms: Rooms, table: str, entity: str) -> Crowd:
        entities = rooms.tables[entity].rows
        whose = rooms.climb(np.arange(rooms.tables[table].rows, dtype=np.int64), table, entity)
        count = np.bincount(whose, minlength=entities).astype(np.int64)
        return cls(np.cumsum(count) - count, count)


@dataclass(frozen=True, eq=False)
class Limits:
    """Codes below ``limit`` lead to a row; then come, where allowed, the row itself and NULL."""

    column: str
    limit: Index
    """Of each row, how many codes from 0 on lead somewhere."""
    special: int
    """The first code that always may be: all from here on are possible."""
    fallback: int | None
    """The code for rows that nothing can be done for; None: any that leads somewhere."""

    def wrong(self, codes: NDArray[np.integer]) -> Mask:
        found: Mask = (codes >= self.limit) & (codes < self.special)
        return found


def rank_limits(name: str, says: Ranked, crowd: Crowd, entity: Index) -> Limits:
    """The rows that an entity has there; NULL where the reference is nullable."""
    rows = says.size - says.nullable
    return Limits(name, np.minimum(crowd.count[entity], rows), rows, rows if says.nullable else None)


def step_limits(name: str, says: Stepped, position: Index) -> Limits:
    """The rows before it. Where it may not be NULL, it may be itself; then "none" becomes that."""
    return Limits(name, np.minimum(position, says.back), says.back, says.back + (says.itself if says.nullable else 0))


def keep_within(drawn: dict[str, CodeArray], limits: Limits, resample: Callable[[Mask], Codes], rng: np.random.Generator) -> None:
    """Mend ``drawn`` in place."""
    codes = drawn[limits.column].astype(np.int64)
    for _ in range(REDRAWS):
        wrong = limits.wrong(codes)
        if not wrong.any():
            break
        codes[wrong] = resample(wrong)[limits.column]
    wrong = limits.wrong(codes)
    some = wrong & (limits.limit > 0)
    codes[some] = rng.integers(0, limits.limit[some])
    codes[wrong & ~some] = limits.fallback or 0
    drawn[limits.column] = codes.astype(drawn[limits.column].dtype)


def rank_targets(codes: NDArray[np.integer], says: Ranked, crowd: Crowd, entity: Index) -> Index:
    """The places that positions stand for."""
    leads = codes < np.minimum(crowd.count[entity], says.size - says.nullable)
    return np.where(leads, crowd.first[entity] + codes, NOWHERE).astype(np.int64)


def step_targets(codes: NDArray[np.integer], says: Stepped, rows: Index) -> Index:
    """The places of the rows so many back, or of the rows themselves."""
    found = np.where(codes < says.back, rows - codes.astype(np.int64) - 1, NOWHERE)
    if says.itself:
        own = codes == says.back if says.nullable else codes >= says.back
        found = np.where(own, rows, found)
    return found.astype(np.int64)


class LastOfItem:
    """Of every parent and item, the last row so far: the previous row of the same item, one step at a time."""

    MOST = 1 << 26

    def __init__(self, parents: int, sizes: tuple[int, ...]) -> None:
        self._sizes = sizes
        self._items = int(np.prod([int(size) for size in sizes], dtype=object))
        dense = parents * self._items <= self.MOST
        self._dense: Index | None = np.full(parents * self._items, NOWHERE, dtype=np.int64) if dense else None
        self._sparse: dict[int, int] = {}

    def step(self, parent: Index, items: tuple[CodeArray, ...], rows: Index) -> Index:
        """The previous rows of these; from now on these are the last ones."""
        key = parent.astype(np.int64)
        for size, item in zip(self._sizes, items, strict=True):
            key = key * size + item
        if self._dense is not None:
            found = self._dense[key]
            self._dense[key] = rows
            return found
        found = np.fromiter((self._sparse.get(int(k), NOWHERE) for k in key), dtype=np.int64, count=len(key))
        self._sparse.update(zip(key.tolist(), rows.tolist(), strict=True))
        return found
