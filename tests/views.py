"""`ArrayView`: a private view over plain arrays, counted by the stage's own kernel, so that no test needs a database."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from mare.domain import Coarsenings, CodeArray, Domain, Marginal
from mare.stage import kernel

Integers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class ArrayView:
    """Build it with `array_view`, which sorts the rows."""

    domain: Domain
    entity_ids: Integers
    """The entities that there are, ascending; those without rows too."""
    owner: Integers
    """Of each row, its entity's place among ``entity_ids``, ascending."""
    position: Integers
    columns: Mapping[str, CodeArray]
    max_rows_per_entity: int
    memory: int = 2
    coarsenings: Coarsenings = field(default_factory=dict)
    name: str = "visits.rows"

    def largest_entity(self) -> int:
        return int(self.rows_per_entity().max(initial=0))

    def entities(self) -> int:
        return len(self.entity_ids)

    def rows_per_entity(self) -> Integers:
        return kernel.rows_per_entity(self.coded)

    def squared_norms(self, marginals: Sequence[Marginal]) -> Integers:
        return kernel.squared_norms(self.coded, marginals)

    def counts(self, marginals: Sequence[Marginal], weights: Integers | None = None) -> list[Integers]:
        return kernel.count_dense(self.coded, marginals, weights)

    def beginnings(self) -> ArrayView:
        first = self.position == 0
        columns = {name: codes[first] for name, codes in self.columns.items()}
        kept = (self.domain, self.entity_ids, self.owner[first], self.position[first], columns)
        return ArrayView(*kept, 1, 0, self.coarsenings, f"{self.name}, first rows")

    @property
    def coded(self) -> kernel.CodedRows:
        position = self.position if self.memory else None
        return kernel.CodedRows(
            self.domain, self.coarsenings, len(self.entity_ids), self.owner, position, self.columns.__getitem__
        )

    def without(self, gone: int) -> ArrayView:
        """The neighbour: the same data, one entity removed with all its rows."""
        kept = self.entity_ids[self.owner] != gone
        return array_view(
            self.entity_ids[self.owner][kept],
            {name: codes[kept] for name, codes in self.columns.items()},
            self.domain,
            order=self.position[kept],
            everyone=self.entity_ids[self.entity_ids != gone],
            cap=self.max_rows_per_entity,
            memory=self.memory,
            coarsenings=self.coarsenings,
            name=self.name,
        )


def array_view(
    entity: Sequence[int] | Integers,
    columns: Mapping[str, Sequence[int] | CodeArray],
    domain: Domain,
    *,
    order: Sequence[int] | Integers | None = None,
    everyone: Sequence[int] | Integers | None = None,
    cap: int | None = None,
    memory: int = 2,
    coarsenings: Coarsenings | None = None,
    name: str = "visits.rows",
) -> ArrayView:
    """One sequence per entity. ``order`` is that of the rows when left out, ``everyone`` those who have rows, ``cap`` what
    the heaviest has (a test's convenience: a real cap never comes from the data)."""
    who = np.asarray(entity, dtype=np.int64)
    when = np.arange(len(who)) if order is None else np.asarray(order, dtype=np.int64)
    sort = np.lexsort((when, who))
    people = np.unique(who if everyone is None else np.asarray(everyone, dtype=np.int64))
    owner = np.searchsorted(people, who[sort]).astype(np.int64)
    rows = np.bincount(owner, minlength=len(people))
    position = np.arange(len(owner)) - (np.cumsum(rows) - rows)[owner]
    coded = {key: np.asarray(codes)[sort].astype(np.uint32) for key, codes in columns.items()}
    most = int(rows.max(initial=1)) if cap is None else cap
    return ArrayView(domain, people, owner, position.astype(np.int64), coded, most, memory, coarsenings or {}, name)
