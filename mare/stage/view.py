"""`StagedView`: exact answers over staged codes, for the curator alone. It implements `mare.privacy.view.PrivateView`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from mare.domain import Coarsenings, CodeArray, Domain, Marginal
from mare.errors import InternalError
from mare.relational.placing import Index

from . import kernel


def _nothing(name: str) -> CodeArray:
    raise InternalError(f"the view has no column {name!r}")


@dataclass(frozen=True, eq=False)
class StagedView:
    """The rows of one column group: one per owned row, each with its entity. Rows are sorted by entity and order."""

    name: str
    domain: Domain
    max_rows_per_entity: int
    """S: the cap that truncation has enforced, as the plan derived it. Not measured here."""
    all_entities: int
    owner: Index
    """Of each row, its entity."""
    columns: Mapping[str, CodeArray]
    look: Callable[[str], CodeArray] = field(default=_nothing)
    """Finds a column that is not among ``columns``: history is gathered when it is asked for, and kept."""
    memory: int = 0
    """How many rows back an axis may look."""
    position: Index | None = None
    """Of each row, its place in its sequence; needed where there is a memory."""
    coarsenings: Coarsenings = field(default_factory=dict)
    most_sequences: int | None = None
    """How many sequences an entity may have, where rows have an order: as many as rows that they belong to."""
    _gathered: dict[str, CodeArray] = field(default_factory=dict)

    def beginnings(self) -> StagedView:
        if self.position is None or self.most_sequences is None:
            raise InternalError(f"view {self.name!r} has no sequences, and so no first rows")
        first = np.flatnonzero(self.position == 0)

        def look(name: str) -> CodeArray:
            return self._codes(name)[first]

        most = min(self.most_sequences, self.max_rows_per_entity)
        name, owner = f"{self.name}, first rows", self.owner[first]
        return StagedView(name, self.domain, most, self.all_entities, owner, {}, look, coarsenings=self.coarsenings)

    def largest_entity(self) -> int:
        return int(self.rows_per_entity().max(initial=0))

    def entities(self) -> int:
        return self.all_entities

    def rows_per_entity(self) -> Index:
        return self._rows_per_entity

    @cached_property
    def _rows_per_entity(self) -> Index:
        return kernel.rows_per_entity(self._coded)

    def squared_norms(self, marginals: Sequence[Marginal]) -> Index:
        return kernel.squared_norms(self._coded, marginals)

    def counts(self, marginals: Sequence[Marginal], weights: Index | None = None) -> list[Index]:
        return kernel.count_dense(self._coded, marginals, weights)

    def sparse_counts(self, marginal: Marginal, weights: Index | None = None) -> tuple[Index, Index]:
        return kernel.count_sparse(self._coded, marginal, weights)

    @cached_property
    def _coded(self) -> kernel.CodedRows:
        position = self.position if self.memory else None
        return kernel.CodedRows(self.domain, self.coarsenings, self.all_entities, self.owner, position, self._codes)

    def _codes(self, name: str) -> CodeArray:
        if name in self.columns:
            return self.columns[name]
        if name not in self._gathered:
            self._gathered[name] = self.look(name)
        return self._gathered[name]
