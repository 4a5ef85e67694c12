"""`Grid`: cells over the numbers that are there whether or not anybody is in them.

Learning counts a column on such a grid with noise in every cell. A grid is public: it follows from the schema, or from answers
that were paid for.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from itertools import pairwise
from math import isfinite
from typing import Literal

from mare.errors import PrivacyError

LARGEST_GRID = 1 << 16

Spacing = Literal["linear", "log"]
"""On which scale rows are taken to be spread evenly where nothing says more: `log` is by the distance from 0, on either side."""


@dataclass(frozen=True)
class Grid:
    """Cell i holds edges[i] ≤ value < edges[i+1]; the outer cells hold what lies beyond them too."""

    edges: tuple[float, ...]
    spacing: Spacing
    step: float = 0.0
    """The smallest difference of two values that the column tells apart; 0 where there is none."""

    def __post_init__(self) -> None:
        if not 2 <= len(self.edges) <= LARGEST_GRID + 1:
            raise PrivacyError(f"a grid has 1 to {LARGEST_GRID:,} cells, not {len(self.edges) - 1:,}.")
        if not all(isfinite(edge) for edge in self.edges) or any(not a < b for a, b in pairwise(self.edges)):
            raise PrivacyError("the edges of a grid must be finite numbers, each larger than the one before.")
        if not (isfinite(self.step) and self.step >= 0):
            raise PrivacyError(f"the step of a grid is {self.step!r}; it must be a number of at least 0.")

    @property
    def cells(self) -> int:
        return len(self.edges) - 1

    @property
    def words(self) -> str:
        """The grid in words, for the ledger, with a fingerprint of all its edges: an audit sees when they are not the same."""
        fingerprint = hashlib.sha256(repr((self.edges, self.step)).encode()).hexdigest()[:8]
        return f"{self.cells} cells ({self.spacing}) from {self.edges[0]:g} to {self.edges[-1]:g}, grid {fingerprint}"

    def single(self, cell: int) -> bool:
        """Whether the cell can hold one value only."""
        return self.edges[cell + 1] - self.edges[cell] <= self.step
