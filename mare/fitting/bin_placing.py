"""Where bins go: a public grid between the bounds of a column, and noisy quantiles of what was counted on it.

Recipe, steps 2 and 3. Everything here is public or post-processing: grids come from the schema and from the noisy number of
entities, bins from noisy histograms.
"""

from __future__ import annotations

from mare.codec import Bins, OpenBins
from mare.codec.bins import make_bins
from mare.codec.proportions import WHOLE
from mare.codec.relative import whole_bins
from mare.errors import InternalError
from mare.privacy.grids import Grid, fine_cells, linear_grid, log_grid
from mare.privacy.learned import FineHistogram
from mare.privacy.quantiles import quantile_bins, quantile_count

YEARS = range(1800, 2301)
"""The grid for dates and moments of which nothing is known: a cell a year, the outer ones for all that lies beyond."""


def fine_grid(placed: OpenBins, entities: float) -> Grid:
    """The fine grid between known bounds, counted from the lower one: as many cells as there are entities for."""
    low, high = _ends(placed)
    cells = fine_cells(entities)
    if placed.closes:
        return _closing_grid(placed, cells)
    span = high - low
    if span < 1:
        return Grid((0.0, 1.0), "linear", 1.0)
    return log_grid(0, span, cells, 1.0) if placed.scale == "log" else linear_grid(0, span, cells, 1.0)


def _closing_grid(placed: OpenBins, cells: int) -> Grid:
    """Of a fraction: the start and the end are cells of their own."""
    inner = log_grid(1, WHOLE - 1, cells, 1.0) if placed.scale == "log" else linear_grid(1, WHOLE - 1, cells, 1.0)
    return Grid((0.0, *inner.edges, float(WHOLE + 1)), "linear", 1.0)


def placed_bins(placed: OpenBins, histogram: FineHistogram, entities: float) -> Bins:
    """Noisy quantiles, with the fine histogram to draw from inside of them."""
    low, _ = _ends(placed)
    atom = int(placed.closes and placed.most > 1)
    most = max(1, placed.most - atom)
    found = quantile_bins(histogram, min(quantile_count(entities), most), most)
    cuts = set(found.cuts) | ({histogram.grid.cells - 1} if atom else set())
    edges = [low + int(edge) for edge in histogram.grid.edges]
    weights = tuple(float(f"{weight:.6g}") for weight in found.weights.tolist())
    return Bins(tuple(edges[cut] for cut in sorted(cuts)), tuple(edges), weights)


def equal_bins(placed: OpenBins) -> Bins:
    """As many equal bins as the schema asks for, now that the bounds are known."""
    low, high = _ends(placed)
    if placed.wanted is None:
        raise InternalError("bins that are to be learned were asked to be equal")
    return whole_bins(placed.wanted) if placed.closes else make_bins(low, high, placed.wanted, placed.scale)


def _ends(placed: OpenBins) -> tuple[int, int]:
    if placed.low is None or placed.high is None:
        raise InternalError("bins are placed before their bounds are known")
    return placed.low, max(placed.low, placed.high)
