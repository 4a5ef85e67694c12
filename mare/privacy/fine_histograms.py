"""`FineHistogram`: a noisy histogram over a public grid, as a learner hands it out; and what is read off it.

It was paid for: fit to be released and to be worked with freely. Reading bounds and bins off it is post-processing:

- bounds are the lowest and the highest cell that stand clear of the noise. Few values far out do not stand clear: they are
  clamped later, which is what a domain is for;
- bins are cut at quantiles, after the noise was taken out as well as that goes. Recipe, steps 2 and 3: B = 6·(n̂/10⁴)^0.35
  quantiles, between 6 and 20; a single value that is heavy gets a bin of its own; the fine histogram is kept, so that a value is
  drawn inside its bin as the data has it and not evenly.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log, pow, sqrt
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from mare.domain import norm_subtract
from mare.errors import PrivacyError

from .grids import Grid
from .noise import Mechanism

Numbers = NDArray[np.float64]


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


CHANCE = 0.01
"""That an empty cell anywhere on the grid is taken for a full one."""


def noisy_bounds(histogram: FineHistogram, chance: float = CHANCE) -> LearnedBounds:
    """The bounds; where nothing is clear, those of the fullest cell."""
    if not 0 < chance < 1:
        raise PrivacyError(f"bounds with a chance of {chance!r} to err were asked; it must be between 0 and 1.")
    edges = histogram.grid.edges
    clear = np.flatnonzero(histogram.noisy > clear_of_noise(histogram, chance))
    if not len(clear):
        fullest = int(histogram.noisy.argmax())
        return LearnedBounds(edges[fullest], edges[fullest + 1], False, histogram.cost)
    return LearnedBounds(edges[clear[0]], edges[clear[-1] + 1], True, histogram.cost)


def clear_of_noise(histogram: FineHistogram, chance: float) -> float:
    """What no empty cell of the grid reaches, but with this probability (in the continuum: nothing private depends on it)."""
    each = chance / histogram.grid.cells
    if histogram.mechanism == "discrete gaussian":
        return -histogram.deviation * NormalDist().inv_cdf(each)
    return histogram.deviation / sqrt(2) * log(1 / (2 * each))


FEWEST_BINS, MOST_BINS = 6, 20


def quantile_count(entities: float) -> int:
    """B, from a noisy (or declared) number of entities."""
    wanted = 6 * pow(max(entities, 1.0) / 1e4, 0.35)
    return round(min(max(wanted, FEWEST_BINS), MOST_BINS))


def cleaned(histogram: FineHistogram) -> Numbers:
    """The same histogram without negative cells. Its total stays what it was, and is at least 1."""
    total = max(float(histogram.noisy.sum()), 1.0)
    return norm_subtract(histogram.noisy, total)


def quantile_bins(histogram: FineHistogram, bins: int, most: int | None = None) -> LearnedBins:
    """Cut into about so many bins of one mass, and a bin for each heavy single value; ``most`` in all."""
    limit = bins if most is None else most
    for what, value in (("bins", bins), ("most", limit)):
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise PrivacyError(f"a column cannot be cut into {value!r} bins ({what}): it must be a whole number of at least 1.")
    weights = cleaned(histogram)
    cells = histogram.grid.cells
    cuts = {0, cells} | _quantiles(weights, min(bins, cells)) | _heavy(histogram, weights, bins)
    return LearnedBins(histogram.grid, _thinned(sorted(cuts), weights, limit), weights)


def _quantiles(weights: Numbers, bins: int) -> set[int]:
    """The edges of cells that are nearest to the quantiles."""
    reached = np.concatenate([[0.0], np.cumsum(weights) / weights.sum()])
    return {int(np.abs(reached - place / bins).argmin()) for place in range(1, bins)}


def _heavy(histogram: FineHistogram, weights: Numbers, bins: int) -> set[int]:
    heavy = [cell for cell in np.flatnonzero(weights > weights.sum() / (2 * bins)).tolist() if histogram.grid.single(cell)]
    return {edge for cell in heavy for edge in (cell, cell + 1)}


def _thinned(cuts: list[int], weights: Numbers, most: int) -> tuple[int, ...]:
    """Too many bins: the two neighbours that weigh least together become one, until they are not too many."""
    while len(cuts) - 1 > most:
        masses = np.add.reduceat(weights, cuts[:-1])
        lightest = int((masses[:-1] + masses[1:]).argmin())
        del cuts[lightest + 1]
    return tuple(cuts)
