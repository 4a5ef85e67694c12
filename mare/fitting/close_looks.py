"""A closer look at where a column's values lie, before they are counted: a grid that is fine where much lies.

    public grid ─► counted with a little budget ─► heavy cells cut, empty stretches joined ─► … ─► counted with the rest

A schema says what is possible, not what is usual: of incomes up to a million nine tenths may lie in one cell of sixty, and of
prices up to a hundred there may be three. Every grid but the first follows from answers that were paid for. No look is lost: what
two grids both say of a stretch of values is weighed together.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from mare.privacy.fine_histograms import FineHistogram, Numbers
from mare.privacy.grids import Grid
from mare.privacy.learner import Learner

LOOKS, LOOK = 3, 0.15
"""So many looks at most, each for this part of the column's share."""
HEAVY, CLEAR = 0.04, 4.0
"""A cell is cut that holds more than this part of the rows, and stands so many deviations clear of the noise."""
FEWEST_PARTS = 4
EMPTY = 2.0
"""Neighbours within so many deviations of nothing may be one cell, as long as they are not heavy together."""

Cut = Callable[[float, float, int], Sequence[float]]
"""Where to cut a cell, from here to there, into so many parts."""


def counted_closely(learner: Learner, grid: Grid, cut: Cut) -> FineHistogram:
    """The column on the grid that the looks lead to."""
    looks: list[FineHistogram] = []
    cells = grid.cells
    while len(looks) < LOOKS and any(not grid.single(cell) for cell in range(grid.cells)):
        looks.append(learner.histogram(grid, LOOK))
        closer = closer_grid(looks[-1], cells, cut)
        if closer is None:
            break
        grid = closer
    return weighed_together(learner.histogram(grid, learner.remaining), looks)


def closer_grid(look: FineHistogram, cells: int, cut: Cut) -> Grid | None:
    """The grid with its heavy cells cut, by weight into about ``cells`` parts in all. None where no cell is heavy."""
    total = max(float(look.noisy.sum()), 1.0)
    heavy = (look.noisy > HEAVY * total) & (look.noisy > CLEAR * look.deviation)
    heavy &= ~np.array([look.grid.single(cell) for cell in range(look.grid.cells)])
    if not heavy.any():
        return None
    edges = [look.grid.edges[0]]
    stretch: float | None = None
    for cell, rows in enumerate(look.noisy.tolist()):
        low, high = look.grid.edges[cell], look.grid.edges[cell + 1]
        empty = rows < EMPTY * look.deviation and not look.grid.single(cell)
        if empty and stretch is not None and stretch + rows < HEAVY * total:
            edges.pop()
            stretch += rows
        else:
            stretch = rows if empty else None
        if heavy[cell]:
            edges += cut(low, high, max(FEWEST_PARTS, round(rows / total * cells)))
        edges.append(high)
    return Grid(tuple(sorted(set(edges))), look.grid.spacing, look.grid.step)


def evenly(low: float, high: float, parts: int) -> list[float]:
    """Whole numbers between two, about evenly: counted from the lower one, so that numbers beyond 2^53 stand as well."""
    return sorted({low + float(round((high - low) * part / parts)) for part in range(1, parts)} - {low, high})


def weighed_together(last: FineHistogram, looks: Sequence[FineHistogram]) -> FineHistogram:
    """The last histogram, with what the looks said of the same stretches: each by how sure it is."""
    noisy = last.noisy.copy()
    for look in reversed(looks):
        noisy += _towards(look, last, noisy)
    same = [look for look in looks if look.grid == last.grid]
    precision = sum(1 / max(histogram.deviation, 1e-12) ** 2 for histogram in (last, *same))
    cost = sum(histogram.cost for histogram in (last, *looks))
    return replace(last, noisy=noisy, deviation=float(precision**-0.5), cost=cost)


def _towards(look: FineHistogram, last: FineHistogram, noisy: Numbers) -> Numbers:
    """What to add to each cell, so that stretches both grids know move towards what the look counted there."""
    fine, coarse = np.asarray(last.grid.edges), np.asarray(look.grid.edges)
    shared = np.intersect1d(fine, coarse)[:-1]
    sums, cells = _stretches(fine, noisy, shared)
    look_sums, look_cells = _stretches(coarse, look.noisy, shared)
    variance, look_variance = cells * last.deviation**2, look_cells * look.deviation**2
    moved = (look_sums - sums) * variance / np.maximum(variance + look_variance, 1e-12) / cells
    return np.repeat(moved, cells)


def _stretches(edges: Numbers, rows: Numbers, shared: Numbers) -> tuple[Numbers, NDArray[np.intp]]:
    """What lies in each of the stretches that both grids have, and in how many cells."""
    begins = np.searchsorted(edges, shared)
    return np.add.reduceat(rows, begins), np.diff(np.append(begins, len(rows)))
