"""`PrivateView`: the exact answers behind the gate. Only the curator holds one; only the stage implements it."""

from __future__ import annotations

from collections.abc import Sequence
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

    def sparse_counts(self, marginal: Marginal, weights: Integers | None = None) -> tuple[Integers, Integers]:
        """The cells that are not zero, ascending, and their counts. A cell is its row-major index among at most 2^63."""
        ...
