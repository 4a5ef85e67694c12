"""`FineHistogram`: a noisy histogram over a public grid, as a learner hands it out; and bins that are cut from one.

It was paid for: fit to be released and to be worked with freely. Bins are cut at quantiles, between 6 and 20 of them, by noise
against signal; a single value that is heavy gets a bin of its own; the fine histogram is kept, so that a value is
drawn inside its bin as the data has it and not evenly.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import pow

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


@dataclass(frozen=True, eq=False)
class LearnedBins:
    """Bins cut at noisy quantiles. Bin i holds the fine cells cuts[i] … cuts[i+1]-1."""

    cuts: tuple[int, ...]
    weights: Numbers
    """Of each fine cell, what it weighs: never negative. A value is drawn from them inside its bin."""


FEWEST_BINS, MOST_BINS = 6, 20
USUAL_SIGNAL = 400.0
"""All rows, in deviations of the noise of one cell, where the fewest bins are right (measured: 10,000 patients, ε = 2)."""
CLEAR, NEARLY_ALL = 5.0, 0.95
"""Deviations of the noise at which a single value stands clear of it; and what part of all rows is nearly all of them."""
EMPTY = 0.1
"""A bin with less than this part of an equal share is one with its neighbour."""


def quantile_count(histogram: FineHistogram) -> int:
    """B, by noise against signal: a table of B × B cells is off by B²·noise, B bins hide 1/B of what there is to see; the two
    balance where B grows with the third root of rows over noise. So it grows with ε as with the number of people."""
    signal = max(float(histogram.noisy.sum()), 0.0) / max(histogram.deviation, 1e-9)
    return round(min(max(FEWEST_BINS * pow(signal / USUAL_SIGNAL, 1 / 3), FEWEST_BINS), MOST_BINS))


def cleaned(histogram: FineHistogram) -> Numbers:
    """The same histogram without negative cells. Its total stays what it was, and is at least 1."""
    total = float(histogram.noisy.sum())
    if total >= 1 and histogram.noisy.min() >= 0:
        return histogram.noisy
    return norm_subtract(histogram.noisy, max(total, 1.0))


def quantile_bins(histogram: FineHistogram, bins: int, most: int | None = None) -> LearnedBins:
    """Cut into about so many bins of one mass, and a bin for each heavy single value; ``most`` in all."""
    limit = bins if most is None else most
    for what, value in (("bins", bins), ("most", limit)):
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise PrivacyError(f"a column cannot be cut into {value!r} bins ({what}): it must be a whole number of at least 1.")
    weights = cleaned(histogram)
    cells = histogram.grid.cells
    cuts = {0, cells} | _quantiles(weights, min(bins, cells)) | _heavy(histogram, weights, bins, limit)
    return LearnedBins(_thinned(sorted(cuts), weights, bins, limit), weights)


def _quantiles(weights: Numbers, bins: int) -> set[int]:
    """The edges of cells that are nearest to the quantiles."""
    reached = np.concatenate([[0.0], np.cumsum(weights) / weights.sum()])
    return {int(np.abs(reached - place / bins).argmin()) for place in range(1, bins)}


def _heavy(histogram: FineHistogram, weights: Numbers, bins: int, most: int) -> set[int]:
    """The edges of single values with much of the mass; of each that stands clear, where a few of them are all that there is (the
    days of twelve planned visits)."""
    single = np.array([histogram.grid.single(cell) for cell in range(histogram.grid.cells)])
    clear = single & (weights > CLEAR * histogram.deviation)
    few = clear.sum() <= most and weights[clear].sum() >= NEARLY_ALL * weights.sum()
    heavy = np.flatnonzero(clear if few else single & (weights > weights.sum() / (2 * bins)))
    return {edge for cell in heavy.tolist() for edge in (cell, cell + 1)}


def _thinned(cuts: list[int], weights: Numbers, bins: int, most: int) -> tuple[int, ...]:
    """Too many bins: the two neighbours that weigh least together become one, until they are not too many.

    And none that is nearly empty: a model's noise would fill it, and draw from where nothing is.
    """
    while len(cuts) > 2:
        masses = np.add.reduceat(weights, cuts[:-1])
        together = masses[:-1] + masses[1:]
        empty = masses < weights.sum() * EMPTY / bins
        if len(masses) <= most:
            together[~(empty[:-1] | empty[1:])] = np.inf
        lightest = int(together.argmin())
        if together[lightest] == np.inf:
            break
        del cuts[lightest + 1]
    return tuple(cuts)
