"""What a learner hands out: domains that were paid for. Noisy, hence fit to be released and to be worked with freely."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .grids import Grid
from .noise import Mechanism

Numbers = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class LearnedCategories:
    """Values that enough entities hold, in canonical order."""

    values: tuple[str, ...]
    counts: NDArray[np.int64]
    """Noisy numbers of entities that named the value; above ``threshold``, all of them."""
    threshold: int
    per_entity: int
    """k₀: an entity named at most so many."""
    scale: float
    """σ of the noise."""
    sensitivity: float
    cost: float
    delta: float
    """The chance with which a value of a single entity may have got in."""


@dataclass(frozen=True, eq=False)
class FineHistogram:
    """A noisy histogram over a public grid. Values in rows (scaled down where entities were clipped)."""

    grid: Grid
    noisy: Numbers
    """As released, one number per cell: may be negative."""
    missing: float
    """As released: rows without a number."""
    deviation: float
    """Of the noise in one cell."""
    mechanism: Mechanism
    cost: float


@dataclass(frozen=True)
class LearnedBounds:
    """Where the values of a column lie, as far as the noise lets one tell."""

    low: float
    high: float
    clear: bool
    """False where no cell stood clear of the noise: the bounds are then those of the fullest one, a guess."""
    cost: float


@dataclass(frozen=True, eq=False)
class LearnedBins:
    """Bins cut at noisy quantiles. Bin i holds edges[i] ≤ value < edges[i+1], and the fine cells cuts[i] … cuts[i+1]-1."""

    grid: Grid
    cuts: tuple[int, ...]
    weights: Numbers
    """Of each fine cell, what it weighs: never negative. A value is drawn from them inside its bin."""

    @property
    def count(self) -> int:
        return len(self.cuts) - 1

    @property
    def edges(self) -> tuple[float, ...]:
        return tuple(self.grid.edges[cut] for cut in self.cuts)

    @property
    def masses(self) -> Numbers:
        """What each bin weighs."""
        return np.add.reduceat(self.weights, self.cuts[:-1])
