"""`PrivateView` and `PrivateColumn`: the exact answers behind the gate. Only the stage implements them.

Only the curator holds a view. A column has no domain yet, and only a learner holds one:

    stage ─► **raw columns** ─► learner ─► learned domains ─► encode ─► views

Once a public grid is laid over its values a column is a view like any other (`binned`), so bounds and bins are learned from
ordinary noisy counts. Texts have no such grid: for them there is `keys`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from mare.domain import Coarsenings, Domain, Marginal

Integers = NDArray[np.int64]


class PrivateView(Protocol):
    """One row per owned row of a column group, joined upwards (n:1) only, truncated before anything is computed.

    Everything below the line of public facts is exact and therefore secret. Nothing but the curator may call it. What is
    listed per entity comes in one fixed order, the same in every answer of the view; entities without rows are listed too.
    """

    # public facts

    @property
    def name(self) -> str:
        """The column group's name: it goes into the ledger."""
        ...

    @property
    def domain(self) -> Domain:
        """Columns and history of the view, from the settled plan."""
        ...

    @property
    def coarsenings(self) -> Coarsenings:
        """The public levels of its columns, from the settled plan."""
        ...

    @property
    def memory(self) -> int:
        """How many rows back an axis may look; 0 where rows have no order."""
        ...

    @property
    def max_rows_per_entity(self) -> int:
        """S: the cap that truncation has enforced."""
        ...

    # ------------------------------------------------------------------ secret

    def beginnings(self) -> PrivateView:
        """The first row of each sequence alone: a view like any other, with a cap of its own. Where rows have an order."""
        ...

    def largest_entity(self) -> int:
        """Rows of the entity that has most of them. The curator asserts it against the cap, and never tells."""
        ...

    def entities(self) -> int:
        """How many entities there are in all, with or without rows here."""
        ...

    def rows_per_entity(self) -> Integers:
        """Of each entity, its rows here."""
        ...

    def squared_norms(self, marginals: Sequence[Marginal]) -> Integers:
        """Of each entity, Σ_m ‖h_em‖²: the squared L2 norm of its own cross-tabs, over all these marginals together."""
        ...

    def counts(self, marginals: Sequence[Marginal], weights: Integers | None = None) -> list[Integers]:
        """Exact cross-tabs, dense, shaped by their axes; all in one pass.

        ``weights`` holds one integer ≥ 0 per entity, a fixed-point factor: each of its rows counts so much. Sums that
        do not fit 64 bits are refused, never wrapped.
        """
        ...


class PrivateColumn(Protocol):
    """The values of one column of one truncated table. What is below the line is exact and therefore secret."""

    @property
    def name(self) -> str:
        """Table and column: public, it goes into the ledger."""
        ...

    @property
    def max_rows_per_entity(self) -> int:
        """S: the cap that truncation has enforced."""
        ...

    # ------------------------------------------------------------------ secret

    def binned(self, edges: Sequence[float], label: str) -> PrivateView:
        """A view whose one column, called ``label``, is the cell that each row's value falls into.

        Cell i holds edges[i] ≤ value < edges[i+1]. What lies outside falls into the first or the last cell, what is no number
        (NULL, NaN, a text that says none) into one more cell at the end. Never a crash: what occurs is a fact about somebody.
        """
        ...

    def keys(self, most: int, key: bytes) -> Mapping[int, Mapping[str, int]]:
        """Each entity names at most ``most`` of its distinct values: by how many it names, how many entities name each value.

        Which ones it names is decided inside the entity, by a hash with this secret key. NULL is no value.
        """
        ...
