"""A private view over a plain list of rows, and bit sources that a test writes by hand."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from mare.domain import Axis, Coarsenings, Domain, Marginal, axis_size
from mare.privacy.bits import Words

Integers = NDArray[np.int64]


Rows = tuple[tuple[int, tuple[int, ...]], ...]


@dataclass(frozen=True)
class ListedView:
    """Rows as (entity, codes), in the order of their entity's sequence. Counted one by one, in plain Python: slow, and an
    oracle for whatever is fast."""

    rows: Rows
    all_entities: int
    domain: Domain
    max_rows_per_entity: int
    name: str = "visits.rows"
    memory: int = 2
    coarsenings: Coarsenings = field(default_factory=dict)

    def largest_entity(self) -> int:
        return max(self.rows_per_entity().tolist(), default=0)

    def entities(self) -> int:
        return self.all_entities

    def rows_per_entity(self) -> Integers:
        """Those with rows by their number, then those without."""
        owners = [entity for entity, _ in self.rows]
        return self._everyone([owners.count(entity) for entity in self._present()])

    def squared_norms(self, marginals: Sequence[Marginal]) -> Integers:
        norms = []
        for entity in self._present():
            cells = [Counter(cell for owner, cell in self._cells(marginal) if owner == entity) for marginal in marginals]
            norms.append(sum(n * n for histogram in cells for n in histogram.values()))
        return self._everyone(norms)

    def counts(self, marginals: Sequence[Marginal], weights: Integers | None = None) -> list[Integers]:
        answers = []
        for marginal in marginals:
            table = np.zeros(self._shape(marginal), dtype=np.int64)
            for entity, cell in self._cells(marginal):
                table[cell] += 1 if weights is None else weights[self._present().index(entity)]
            answers.append(table)
        return answers

    def beginnings(self) -> ListedView:
        places = [next(place for place, (owner, _) in enumerate(self.rows) if owner == entity) for entity in self._present()]
        rows = tuple(self.rows[place] for place in sorted(places))
        return replace(self, rows=rows, max_rows_per_entity=1, memory=0, name=f"{self.name}, first rows")

    def without(self, gone: int) -> ListedView:
        """The neighbour: the same data, one entity removed."""
        rows = tuple((entity, codes) for entity, codes in self.rows if entity != gone)
        return replace(self, rows=rows, all_entities=self.all_entities - 1)

    def _present(self) -> list[int]:
        return sorted({entity for entity, _ in self.rows})

    def _everyone(self, numbers: list[int]) -> Integers:
        return np.array(numbers + [0] * (self.all_entities - len(numbers)), dtype=np.int64)

    def _shape(self, marginal: Marginal) -> tuple[int, ...]:
        return tuple(axis_size(axis, self.domain, self.coarsenings) for axis in marginal.axes)

    def _cells(self, marginal: Marginal) -> list[tuple[int, tuple[int, ...]]]:
        cells = []
        for place, (entity, codes) in enumerate(self.rows):
            earlier = [row for owner, row in self.rows[:place] if owner == entity]
            sequence = [codes, *reversed(earlier)]
            cells.append((entity, tuple(self._code(axis, sequence) for axis in marginal.axes)))
        return cells

    def _code(self, axis: Axis, sequence: list[tuple[int, ...]]) -> int:
        def at(lag: int) -> int | None:
            if lag >= len(sequence):
                return None
            code = sequence[lag][self.domain.names.index(axis.column)]
            return int(self.coarsenings[axis.column][axis.level - 1].codes[code]) if axis.level else code

        here = at(axis.lag)
        if axis.same_as_lag:
            before = at(axis.lag + axis.same_as_lag)
            return 2 if here is None or before is None else int(here == before)
        last = axis_size(axis, self.domain, self.coarsenings) - 1
        if axis.new_since and here == at(axis.new_since):
            return last
        return last if here is None else here


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
