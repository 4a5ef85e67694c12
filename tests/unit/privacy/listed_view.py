"""A private view over a plain list of rows, and bit sources that a test writes by hand."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mare.domain import Domain, Marginal
from mare.privacy.bits import Words


@dataclass(frozen=True)
class ListedView:
    """Rows as (entity, codes)."""

    rows: tuple[tuple[int, tuple[int, ...]], ...]
    all_entities: int
    domain: Domain
    max_rows_per_entity: int
    name: str = "visits.rows"

    def largest_entity(self) -> int:
        owners = [entity for entity, _ in self.rows]
        return max((owners.count(entity) for entity in set(owners)), default=0)

    def entities(self) -> int:
        return self.all_entities

    def counts(self, marginals: Sequence[Marginal]) -> list[NDArray[np.int64]]:
        answers = []
        for marginal in marginals:
            places = [self.domain.names.index(axis.column) for axis in marginal.axes]
            table = np.zeros([self.domain.sizes[place] for place in places], dtype=np.int64)
            for _, codes in self.rows:
                table[tuple(codes[place] for place in places)] += 1
            answers.append(table)
        return answers

    def without(self, gone: int) -> ListedView:
        """The neighbour: the same data, one entity removed."""
        rows = tuple((entity, codes) for entity, codes in self.rows if entity != gone)
        return ListedView(rows, self.all_entities - 1, self.domain, self.max_rows_per_entity, self.name)


DOMAIN = Domain.of([("ward", 2), ("age", 3)])

ROWS = ((1, (0, 0)), (1, (0, 0)), (1, (1, 2)), (2, (1, 1)), (3, (0, 1)), (3, (0, 1)))
"""Entity 1 has three rows, 2 has one, 3 has two; entity 4 has none."""


def visits(cap: int = 3) -> ListedView:
    return ListedView(ROWS, 4, DOMAIN, cap)


class ScriptedBits:
    """Hands out these words, in this order, and counts how many were asked for."""

    def __init__(self, words: Iterable[int]) -> None:
        self._words = list(words)
        self.used = 0

    @property
    def private(self) -> bool:
        return False

    def words(self, count: int) -> Words:
        taken = self._words[self.used : self.used + count]
        assert len(taken) == count, "the script is over"
        self.used += count
        return np.array(taken, dtype=np.uint64)
