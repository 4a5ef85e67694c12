"""Bins from a noisy fine histogram: noise taken out as well as that goes, then cut at quantiles. Post-processing only.

Recipe, steps 2 and 3: B = 6·(n̂/10⁴)^0.35 quantiles, between 6 and 20; a single value that is heavy gets a bin of its own; the
fine histogram is kept, so that a value is drawn inside its bin as the data has it and not evenly.
"""

from __future__ import annotations

from math import pow

import numpy as np

from mare.domain import norm_subtract
from mare.errors import PrivacyError

from .learned import FineHistogram, LearnedBins, Numbers

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
