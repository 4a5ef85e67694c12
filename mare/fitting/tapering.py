"""How the ends of a column thin out. The outermost piece in which anything was seen is often long and nearly empty: incomes from
60,000 to a million. Drawn from evenly it would make millionaires; it thins out exponentially, as fast as what lies before it has
thinned out to the rows that it was seen to hold.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import exp, expm1, sqrt

import numpy as np

from mare.privacy.fine_histograms import FineHistogram, Numbers
from mare.privacy.grids import Grid, Spacing

from .weighing import Stretch, Weighed, pieces, spread

PARTS = (*(part / 8 for part in range(1, 8)), *(1 - 0.5**halves for halves in range(4, 11)))
"""Where a thinning end is cut: eighths of its rows, the last of them halved over and over. Drawn from evenly, it would reach as
far as the piece does."""
SURE, MOST = 4.0, 0.25
"""Deviations of a piece of which one can be sure; and the part of all rows that an end may hold."""
STEEP, STEEPEST = 0.9, 50.0
"""Above this part of the density before it, an end is even; and the most that the logarithm of the density falls by before it."""


def tapered(weighed: Weighed, spacing: Spacing | None = None) -> FineHistogram:
    """The weights, with both ends thinning out: by ticks or by factors, as the grid is spaced unless said. What was looked for
    over all powers of ten thins out by ticks once its range is known: by factors, seasons of 150 runs had some of 990."""
    if spacing is not None:
        grid = replace(weighed.histogram.grid, spacing=spacing)
        weighed = replace(weighed, histogram=replace(weighed.histogram, grid=grid))
    histogram, rows = weighed.histogram, weighed.histogram.noisy
    seen = [piece for piece in pieces(weighed.tree) if rows[piece.first : piece.last].sum() > 0]
    for inwards in (seen, seen[::-1]):
        # An end reaches to the first piece of which one can be sure, and leaves most rows outside.
        length = next((number for number, piece in enumerate(inwards, 1) if piece.rows > SURE * sqrt(piece.variance)), 1)
        held = sum(float(rows[piece.first : piece.last].sum()) for piece in inwards[:length])
        length = length if held < MOST * float(rows.sum()) else max(1, length - 1)
        end, inner = inwards[:length], inwards[length:]
        if end and inner:
            histogram = _thinned(histogram, weighed, _Span(min(p.first for p in end), max(p.last for p in end)), inner)
    return histogram


@dataclass(frozen=True)
class _Span:
    first: int
    last: int


def _thinned(histogram: FineHistogram, weighed: Weighed, end: _Span, inner: list[Stretch]) -> FineHistogram:
    """With this end cut into cells. What lies before it says how fast it thins out."""
    grid, rows = weighed.histogram.grid, weighed.histogram.noisy
    edges = np.asarray(grid.edges)
    places = spread(edges, grid)
    # Only where values were seen; weights beyond are 0.
    held_in = np.flatnonzero(rows[end.first : end.last]) + end.first
    first, last = int(held_in[0]), int(held_in[-1]) + 1
    length, held = places[last] - places[first], float(rows[end.first : end.last].sum())
    rate = _rate(held, length, *_before(inner, rows, places, grid, held))
    if rate == 0.0:
        return histogram
    whole = -expm1(-rate * length)
    away = -np.log1p(-np.asarray(PARTS) * whole) / rate
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


def _before(inner: list[Stretch], rows: Numbers, places: Numbers, grid: Grid, held: float) -> tuple[float, float]:
    """About as many rows next to the end as it has itself, and how far they reach, with what is empty between them."""
    near, reach = 0.0, 0.0
    for number, piece in enumerate(inner):
        near += float(rows[piece.first : piece.last].sum())
        # One single value is no neighbour: zeros say nothing of incomes.
        if number > 0 or piece.last - piece.first > 1 or not grid.single(piece.first):
            ends = (inner[0].first, inner[0].last, piece.first, piece.last)
            reach = float(places[max(ends)] - places[min(ends)])
            if near >= held:
                break
    return near, reach


def _rate(held: float, length: float, near: float, reach: float) -> float:
    """Of the exponential that has so many rows on a reach and then holds so many on this length; 0 where it would be even."""
    if near <= 0 or reach <= 0 or held * reach >= STEEP * near * length:
        return 0.0
    low, high = 0.0, STEEPEST / reach
    for _ in range(60):
        rate = (low + high) / 2
        goes_on = exp(-rate * reach) * expm1(-rate * length) / expm1(-rate * reach)
        low, high = (rate, high) if goes_on * near > held else (low, rate)
    return high
