"""`MeasuredColumn`: what was read of an ordered column (a value, a distance, a fraction), before it has bins.

It implements `mare.privacy.view.PrivateColumn`, for a learner alone. Rows without a number of their own (NULL, special values,
the first of a sequence) are not in it: they would only take weight from the entity's others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mare.domain import Domain, smallest_dtype
from mare.errors import InternalError
from mare.relational.placing import Index

from .view import StagedView

ITEM = "item"


@dataclass(frozen=True, eq=False)
class MeasuredColumn:
    """Integer ticks of rows, sorted by entity."""

    name: str
    """Table and column: public."""
    max_rows_per_entity: int
    """S, as the plan derived it. Not measured here."""
    entities: int
    owner: Index
    """Of each row, its entity."""
    ticks: NDArray[np.int64]
    items: NDArray[np.int64] | None = None
    """Of each row, which item its number is of, where scales depend on another column."""

    def binned(self, edges: Sequence[float], label: str) -> StagedView:
        """The cell that each row falls into; the last one, for rows without a number, stays empty."""
        cells = len(edges) - 1
        codes = np.searchsorted(_inner(edges), self.ticks, side="right")
        coded = {label: codes.astype(smallest_dtype(cells + 1))}
        return StagedView(self.name, Domain((label,), (cells + 1,)), self.max_rows_per_entity, self.entities, self.owner, coded)

    def by_item(self, edges: Sequence[Sequence[float]], lows: Sequence[int], label: str) -> StagedView:
        """The item of each row, and the cell that it falls into on the grid of its item, counted from the item's low end."""
        if self.items is None:
            raise InternalError(f"{self.name} has no items")
        cells = max(len(own) - 1 for own in edges)
        codes = np.zeros(len(self.ticks), dtype=np.int64)
        for item, (own, low) in enumerate(zip(edges, lows, strict=True)):
            at = np.flatnonzero(self.items == item) if len(edges) > 1 else slice(None)
            codes[at] = np.searchsorted(_inner(own), self.ticks[at] - low, side="right")
        coded = {ITEM: self.items.astype(smallest_dtype(len(edges))), label: codes.astype(smallest_dtype(cells))}
        domain = Domain((ITEM, label), (len(edges), cells))
        return StagedView(self.name, domain, self.max_rows_per_entity, self.entities, self.owner, coded)

    def keys(self, most: int, key: bytes) -> Mapping[str, int]:
        raise InternalError(f"{self.name} is a number: it has no list of values to learn")


def _inner(edges: Sequence[float]) -> NDArray[np.int64]:
    """Ticks are whole: one is at least an edge when it is at least the next whole number."""
    return np.ceil(np.asarray(edges[1:-1], dtype=np.float64)).astype(np.int64)
