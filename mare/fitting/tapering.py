"""How the ends of a column thin out. The outermost piece in which anything was seen is often long and nearly empty: incomes from
60,000 to a million. Drawn from evenly it would make millionaires; it goes on as dense as what lies before it, and thins out
exponentially, so that it holds the rows that it was seen to hold.
"""

from __future__ import annotations

from dataclasses import replace
from math import expm1

import numpy as np

from mare.privacy.fine_histograms import FineHistogram, Numbers
from mare.privacy.grids import Grid

from .weighing import Stretch, Weighed, pieces, spread

PARTS = 8
"""Cells of one weight that a thinning end is cut into."""
STEEP = 0.9
"""Above this part of the density before it, an end is even."""


def tapered(found: Weighed) -> FineHistogram:
    """The weights, with both ends thinning out."""
    histogram = found.histogram
    seen = [piece for piece in pieces(found.tree) if histogram.noisy[piece.first : piece.last].sum() > 0]
    for order in (seen, seen[::-1]) if len(seen) > 1 else ():
        histogram = _thinned(histogram, found, order[-1], order[-2::-1])
    return histogram


def _thinned(histogram: FineHistogram, found: Weighed, end: Stretch, inner: list[Stretch]) -> FineHistogram:
    """With this end cut into cells of one weight. What lies before it says how dense it begins."""
    grid, rows = found.histogram.grid, found.histogram.noisy
    edges = np.asarray(grid.edges)
    places = spread(edges, grid)
    # Only where values were seen; weights beyond are 0.
    first, last = max(end.first, found.first), min(end.last, found.last)
    length, held = places[last] - places[first], float(rows[end.first : end.last].sum())
    density = _density(inner, rows, places, grid, held)
    rate = _rate(held, length, density)
    if rate == 0.0:
        return histogram
    whole = -expm1(-rate * length)
    away = -np.log1p(-np.arange(1, PARTS) / PARTS * whole) / rate
    outwards = inner[0].last <= end.first
    marks = places[first] + away if outwards else places[last] - away
    ticks = marks if grid.spacing == "linear" else np.sign(marks) * np.expm1(np.abs(marks))
    new = np.unique(np.concatenate([edges[first : last + 1], np.clip(np.rint(ticks), edges[first], edges[last])]))
    distance = spread(new, grid) - places[first] if outwards else places[last] - spread(new, grid)
    reached = -np.expm1(-rate * distance) / whole
    weights = np.abs(np.diff(reached)) * held
    all_edges, all_rows = np.asarray(histogram.grid.edges), histogram.noisy
    begin, stop = np.searchsorted(all_edges, [edges[first], edges[last]])
    joined = np.concatenate([all_edges[:begin], new, all_edges[stop + 1 :]])
    noisy = np.concatenate([all_rows[:begin], weights, all_rows[stop:]])
    return replace(histogram, grid=replace(grid, edges=tuple(joined.tolist())), noisy=noisy)


def _density(inner: list[Stretch], rows: Numbers, places: Numbers, grid: Grid, held: float) -> float:
    """Of as many rows next to the end as it has itself, with what is empty between them."""
    near = 0.0
    for number, piece in enumerate(inner):
        near += float(rows[piece.first : piece.last].sum())
        # One single value is no neighbour: zeros say nothing of incomes.
        alone = number == 0 and piece.last - piece.first == 1 and grid.single(piece.first)
        if near >= held and not alone:
            reach = (inner[0].first, inner[0].last, piece.first, piece.last)
            return near / float(places[max(reach)] - places[min(reach)])
    return 0.0


def _rate(held: float, length: float, density: float) -> float:
    """Of the exponential that begins with this density and holds so many rows on this length; 0 where it would be even."""
    if density <= 0 or held >= STEEP * density * length:
        return 0.0
    low, high = 0.0, density / held
    for _ in range(60):
        rate = (low + high) / 2
        low, high = (rate, high) if density * -expm1(-rate * length) / rate > held else (low, rate)
    return high
