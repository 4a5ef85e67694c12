"""How near numbers are to each other, by their differences: weights from visit to visit, before and after the dialysis.

    differences ─► noisy histogram ─► how much likelier than by chance ─► nearer is never less likely ─► `Nearness`

Cells are ever wider away from the difference of the two medians, where those that go together mostly lie. What numbers would
differ by that have nothing to do with each other follows from their fine histograms, which were paid for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from mare.codec import Bins
from mare.codec.nearness import Nearness
from mare.codec.ticks import Ticks
from mare.privacy.fine_histograms import FineHistogram, Numbers
from mare.privacy.grids import Grid
from mare.privacy.learner import Learner

SHARE = 0.06
"""Of what a column's bins cost: for how far its numbers are from others."""
TOLD = 0.05
"""Total variation distance from chance, above the noise, from which on numbers are near to each other."""
DOUBLINGS = 20
"""Of the width of cells, from the smallest on: differences below a millionth of the range are one."""
POINTS = 1024
"""Of each column, to work out differences by chance with."""
ALIKE = 0.5
"""The part of the narrower one of two columns' middle nine tenths that lies in the other's, for them to be looked at together."""
_EVEN = 1e-6
"""Of all differences by chance, what is taken to be spread evenly."""

Ask = Callable[[str | None, int, float], Learner]
"""Whom to ask how far numbers are from those of another column (None: of the row before), beyond a center, for a share."""


def partner(bins: Bins, others: Mapping[str, Bins]) -> str | None:
    """The column whose values lie most where this one's do, if any does: the same is measured there, likely."""
    low, high = bins.evenly_often(20)[[0, -1]]
    best, most = None, ALIKE
    for name, other in others.items():
        least, largest = other.evenly_often(20)[[0, -1]]
        width = min(high - low, largest - least)
        shared = (min(high, largest) - max(low, least)) / width if width > 0 else 0.0
        if shared >= most:
            best, most = name, shared
    return best


def learned_nearness(ask: Ask, bins: Bins, others: Mapping[str, Bins], *, follows: bool) -> tuple[Nearness, ...]:
    """What a number is near to, of what it may be near to: its own in the row before (where it ``follows`` one), and the other
    column that lies where it does."""
    beside = partner(bins, others)
    asked: list[tuple[str | None, Bins]] = [(None, bins)] if follows else []
    asked += [(beside, others[beside])] if beside is not None else []
    near = []
    for name, other in asked:
        own, theirs = bins.evenly_often(POINTS), other.evenly_often(POINTS)
        center = int(np.median(own) - np.median(theirs)) // bins.step * bins.step
        grid = difference_grid(bins.step, max(bins.high, other.high) - min(bins.low, other.low) + abs(center))
        histogram = ask(name, center, 1 / len(asked)).histogram(grid)
        chance = _by_chance(own, theirs, center, grid)
        usual = nearest_likeliest(histogram.noisy, chance)
        if _is_told(usual, chance, histogram):
            edges, weights = tuple(int(edge) for edge in grid.edges), (_rounded(usual), _rounded(chance))
            near.append(Nearness(name, center, edges, *weights))
    return tuple(near)


def _rounded(weights: Numbers) -> tuple[float, ...]:
    return tuple(float(f"{weight:.4g}") for weight in weights.tolist())


def difference_grid(step: int, reach: int) -> Grid:
    """None at all, and on both sides of it cells ever wider, up to where no difference can lie."""
    upwards = [max(step, reach >> DOUBLINGS)]
    while upwards[-1] <= reach:
        upwards.append(upwards[-1] * 2)
    # Cells on both sides hold the same differences, but for their signs.
    return Grid(tuple(float(edge) for edge in (*(1 - edge for edge in reversed(upwards)), *upwards)), "linear", 1.0)


def _by_chance(own: Ticks, other: Ticks, center: int, grid: Grid) -> Numbers:
    """How many differences lie in each cell, of numbers that have nothing to do with each other."""
    apart = (own[:, None] - other[None, :] - center).ravel()
    inner = np.asarray(grid.edges[1:-1], dtype=np.int64)
    counted = np.bincount(np.searchsorted(inner, apart, side="right"), minlength=grid.cells) / len(apart)
    widths = np.diff(grid.edges)
    return np.asarray(counted * (1 - _EVEN) + widths / widths.sum() * _EVEN)


def nearest_likeliest(noisy: Numbers, chance: Numbers) -> Numbers:
    """The part of all differences in each cell, where the nearer ones are never less likely, against chance, than those further
    off on the same side. Noise is the same in every cell, so that one with few by chance tells little of how much likelier it is.
    """
    best, least = chance, np.inf
    for peak in range(len(noisy)):
        sides = _rising(noisy[:peak], chance[:peak]), _rising(noisy[peak:][::-1], chance[peak:][::-1])[::-1]
        fitted = np.concatenate(sides) * chance
        off = float(((noisy - fitted) ** 2).sum())
        if off < least:
            best, least = fitted, off
    best = np.maximum(best, 0.0)
    return np.asarray(best / best.sum() if best.sum() > 0 else chance)


def _rising(noisy: Numbers, chance: Numbers) -> Numbers:
    """How many times chance each cell holds, nowhere falling: neighbours that would are taken together (least squares)."""
    blocks: list[tuple[float, float, int]] = []
    for rows, expected in zip(noisy.tolist(), chance.tolist(), strict=True):
        blocks.append((rows * expected, expected * expected, 1))
        while len(blocks) > 1 and blocks[-2][0] * blocks[-1][1] > blocks[-1][0] * blocks[-2][1]:
            (above, beside, cells), (own, mine, more) = blocks.pop(), blocks.pop()
            blocks.append((above + own, beside + mine, cells + more))
    return np.concatenate([np.full(cells, own / weight) for own, weight, cells in blocks] or [np.zeros(0)])


def _is_told(usual: Numbers, chance: Numbers, histogram: FineHistogram) -> bool:
    total = float(histogram.noisy.sum())
    noise = 0.4 * histogram.deviation * len(usual) / total if total > 0 else np.inf
    return bool(np.abs(usual - chance).sum() / 2 > TOLD + noise)
