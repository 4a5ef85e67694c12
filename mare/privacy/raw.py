"""`PrivateColumn`: a column before it has a domain. Only a learner holds one; only the stage implements it.

    stage ─► **raw columns** ─► learner ─► learned domains ─► encode ─► views

Once a public grid is laid over its values a column is a view like any other (`binned`), so bounds and bins are learned from
ordinary noisy counts. Texts have no such grid: for them there is `keys`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from .view import PrivateView


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

    def keys(self, most: int, key: bytes) -> Mapping[str, int]:
        """Of each value that occurs, how many entities hold it, if each entity names at most ``most`` of its distinct values.

        Which ones it names is decided inside the entity, by a hash with this secret key. NULL is no value.
        """
        ...
