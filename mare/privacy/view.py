"""`PrivateView`: the exact answers behind the gate. Only the curator holds one; only the stage implements it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from mare.domain import Domain, Marginal


class PrivateView(Protocol):
    """One row per owned row of a column group, joined upwards (n:1) only, truncated before anything is computed.

    Everything here is exact and therefore secret. Nothing but the curator may call it.
    """

    @property
    def name(self) -> str:
        """The column group's name: public, it goes into the ledger."""
        ...

    @property
    def domain(self) -> Domain:
        """Columns and history of the view. Public: it comes from the settled plan."""
        ...

    @property
    def max_rows_per_entity(self) -> int:
        """S: the cap that truncation has enforced."""
        ...

    def largest_entity(self) -> int:
        """Rows of the entity that has most of them. The curator asserts it against the cap, and never tells."""
        ...

    def entities(self) -> int:
        """How many entities there are in all, with or without rows here."""
        ...

    def counts(self, marginals: Sequence[Marginal]) -> list[NDArray[np.int64]]:
        """Exact cross-tabs, dense, shaped by their axes; all in one pass."""
        ...
