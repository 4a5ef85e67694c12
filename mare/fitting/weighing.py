"""What several noisy looks at a column say together: how much lies in each cell of the finest grid, and what stood clear.

    looks ─► one tree of stretches ─► the best sums ─► what is told apart ─► weights, nowhere negative

Every answer about a stretch counts, by how sure it is (the best linear estimate on a tree: Hay et al., "Boosting the accuracy of
differentially private histograms through consistency", 2010, here with unequal variances). Then noise is told from signal:

- halves of a stretch that the noise cannot tell apart are one, drawn from evenly (penalised like a regression tree: a split must
  gain more than it costs);
- what stands clear at any scale is a place where values are; noise beyond the outermost of these places is no value. Its rows,
  as far as there are any, go to the neighbours.

Post-processing of noisy answers, so it costs nothing.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import accumulate, pairwise
from math import log, sqrt
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from mare.privacy.fine_histograms import FineHistogram, Numbers
from mare.privacy.grids import Grid

CHANCE = 0.001
"""That somewhere among the stretches of one size an empty one is taken for a full one."""
PRICE = 4.0
"""What telling two halves apart costs, in squared deviations: noise alone reaches it once in twenty times."""
SURELY = 12.0
"""What telling halves apart has to gain above that where a pattern is made of it (usual endings, hours): noise alone reaches it
once in some thousand columns."""
UNEVEN = 2.0
"""A stretch of which some part is surely so many times as dense is no piece."""
NEAR, WIDENED = 2.0, 0.5
"""Deviations that a neighbour of such places needs to be one too; and how wide it may be, measured by them."""
INSIDE = 1.0
"""Between places that stand clear, a stretch with fewer deviations than this is empty."""
SURE = 3.0
"""Looks are brought to one scale where they differ by so many deviations: clipping keeps more rows on a finer grid."""


@dataclass(frozen=True, eq=False)
class Weighed:
    """All cells that any look had, with what all looks say of them."""

    histogram: FineHistogram
    """Nowhere negative. Its deviation is that of the last look."""
    clear: bool
    """Whether less than all of it stood clear of the noise."""
    first: int
    last: int
    """The cells from which to which (exclusive) values stood clear: all of them where nothing did."""
    tree: Stretch
    looks: tuple[FineHistogram, ...]
    """As they were released."""


@dataclass(eq=False, slots=True)
class Stretch:
    """Cells ``first`` … ``last`` - 1, and what is known of them."""

    first: int
    last: int
    depth: int
    halves: tuple[Stretch, Stretch] | None = None
    rows: float = 0.0
    variance: float = 0.0
    gain: float = 0.0
    """What telling apart anything inside gains."""
    peak: float = 0.0
    """How dense it surely is somewhere."""
    clear: bool = False
    empty: bool = False


def weighed(looks: Sequence[FineHistogram], among: int = 1) -> Weighed:
    """What the looks say together. A look may cut the cells of those before, or join what was one piece to them.

    ``among``: how many columns are looked at together. The chance of a false value is theirs together.
    """
    last = looks[-1]
    levels = list(accumulate((np.asarray(look.grid.edges) for look in looks), np.union1d))
    edges = levels[-1]
    own = _measured(_on_one_scale(looks), edges)
    # A tree is walked node by node: lists are quicker to ask for one number than arrays.
    places = spread(edges, last.grid).tolist()
    cuts = [np.searchsorted(edges, level).tolist() for level in levels]
    clear = _Clear(CHANCE / among, last.mechanism == "discrete laplace")
    root = _Growing(own, places, cuts, clear).stretch(0, len(edges) - 1, 0)
    seen = _seen(root) if root.clear else (root.first, root.last)
    weights, near = np.zeros(root.last), _widened(root, places, *seen)
    _empty(root, own, near)
    _share_out(root, max(root.rows, 1.0), places, near, weights)
    grid, cost = replace(last.grid, edges=tuple(edges.tolist())), sum(look.cost for look in looks)
    histogram = replace(last, grid=grid, noisy=weights, cost=cost)
    return Weighed(histogram, seen != (root.first, root.last), *seen, root, tuple(looks))


def spread(edges: Numbers, grid: Grid) -> Numbers:
    """Where edges lie on the scale on which rows are taken to be spread evenly."""
    if grid.spacing == "linear":
        return edges
    # Beyond 2^53 the logarithms of neighbours are one double: a hair keeps them apart.
    return np.asarray(np.sign(edges) * np.log1p(np.abs(edges)) + np.arange(len(edges)) * 1e-12)


def pieces(stretch: Stretch) -> list[Stretch]:
    """The stretches within which nothing is told apart."""
    if stretch.halves is None or stretch.gain <= 0:
        return [stretch]
    return [piece for half in stretch.halves for piece in pieces(half)]


def leaves(stretch: Stretch) -> list[Stretch]:
    """The cells themselves."""
    return [stretch] if stretch.halves is None else [cell for half in stretch.halves for cell in leaves(half)]


def _on_one_scale(looks: Sequence[FineHistogram]) -> list[FineHistogram]:
    """An entity with many rows is scaled down less where they fall into many cells: then earlier looks count fewer rows."""
    last = looks[-1]
    scaled = [last]
    for look in looks[-2::-1]:
        shared = np.intersect1d(look.grid.edges, last.grid.edges, assume_unique=True)
        (before, parts), (after, last_parts) = _sums(look, shared), _sums(last, shared)
        heavy = before > 4 * look.deviation * np.sqrt(parts)
        rows, now = float(before[heavy].sum()), float(after[heavy].sum())
        factor = now / rows if rows > 0 < now else 1.0
        variance = last_parts[heavy].sum() * last.deviation**2 + parts[heavy].sum() * (factor * look.deviation) ** 2
        factor = factor if abs(now - rows) > SURE * sqrt(variance) else 1.0
        same = factor == 1.0
        scaled.insert(0, look if same else replace(look, noisy=look.noisy * factor, deviation=look.deviation * factor))
    return scaled


def _sums(look: FineHistogram, shared: Numbers) -> tuple[Numbers, NDArray[np.intp]]:
    """What a look counted between edges that it shares with another, and in how many cells."""
    begins = np.searchsorted(look.grid.edges, shared)
    return np.add.reduceat(look.noisy, begins[:-1]), np.diff(begins)


def _measured(looks: Sequence[FineHistogram], edges: Numbers) -> dict[tuple[int, int], tuple[float, float]]:
    """Of every stretch that a look has as a cell: what was counted there, times how sure that is; and how sure."""
    own: dict[tuple[int, int], tuple[float, float]] = {}
    for look in looks:
        sure = 1 / max(look.deviation, 1e-9) ** 2
        begins = np.searchsorted(edges, look.grid.edges).tolist()
        for stretch, rows in zip(pairwise(begins), look.noisy.tolist(), strict=True):
            told, before = own.get(stretch, (0.0, 0.0))
            own[stretch] = told + rows * sure, before + sure
    return own


@dataclass(frozen=True)
class _Growing:
    """What a tree grows from."""

    own: dict[tuple[int, int], tuple[float, float]]
    places: Sequence[float]
    cuts: Sequence[Sequence[int]]
    """Of each grid, coarse to fine, where it cuts the finest."""
    clear: _Clear

    def stretch(self, first: int, last: int, depth: int, level: int = 0) -> Stretch:
        """Halved along the coarsest grid that still cuts it, so that every cell of every look is a stretch; summed up on the way
        back."""
        told, sure = self.own.get((first, last), (0.0, 0.0))
        places = self.places
        if last - first == 1:
            stretch = Stretch(first, last, depth, None, told / sure, 1 / sure)
        else:
            while (begin := bisect_right(self.cuts[level], first)) >= (end := bisect_left(self.cuts[level], last)):
                level += 1
            middle = self.cuts[level][(begin + end) // 2]
            low = self.stretch(first, middle, depth + 1, level)
            high = self.stretch(middle, last, depth + 1, level)
            stretch = Stretch(first, last, depth, (low, high))
            _add_up(stretch, told, sure)
            part = (places[middle] - places[first]) / (places[last] - places[first])
            apart = (1 - part) * low.rows - part * high.rows
            unsure = (1 - part) ** 2 * low.variance + part**2 * high.variance
            stretch.gain = apart**2 / unsure - PRICE + max(0.0, low.gain) + max(0.0, high.gain)
            stretch.clear = low.clear or high.clear
            stretch.peak = max(low.peak, high.peak)
        width, deviation = places[last] - places[first], sqrt(stretch.variance)
        surely = stretch.rows - self.clear.at(depth, last - first) * deviation
        stretch.clear, stretch.peak = stretch.clear or surely > 0, max(stretch.peak, surely / width)
        if stretch.peak > UNEVEN * (stretch.rows + 2 * deviation) / width:
            stretch.gain = max(stretch.gain, PRICE)
        return stretch


def _add_up(stretch: Stretch, told: float, sure: float) -> None:
    """What was counted of it and what its halves say, each by how sure it is."""
    low, high = stretch.halves or (stretch, stretch)
    rows, variance = low.rows + high.rows, low.variance + high.variance
    stretch.variance = 1 / (sure + 1 / variance)
    stretch.rows = stretch.variance * (told + rows / variance)


@dataclass(frozen=True)
class _Clear:
    """Deviations that no empty stretch reaches, but with this chance among all of one size."""

    chance: float
    laplace: bool

    def at(self, depth: int, cells: int) -> float:
        gaussian, heavier = _quantiles(self.chance, depth)
        # A cell's Laplace noise has a heavier tail; sums of many are nearly Gaussian.
        return gaussian + (heavier - gaussian) / sqrt(cells) if self.laplace else gaussian


@cache
def _quantiles(chance: float, depth: int) -> tuple[float, float]:
    each = chance / 2**depth
    return -NormalDist().inv_cdf(each), log(1 / (2 * each)) / sqrt(2)


def _seen(stretch: Stretch) -> tuple[int, int]:
    """From where to where the smallest stretches reach that stand clear."""
    clear = [half for half in stretch.halves or () if half.clear]
    if not clear or stretch.gain <= 0:
        return stretch.first, stretch.last
    # Each half once: asking an only one for both ends would double the work at every step down to an atom.
    ends = [_seen(half) for half in clear]
    return ends[0][0], ends[-1][1]


def _widened(root: Stretch, places: Sequence[float], first: int, last: int) -> tuple[int, int]:
    """Next to where values were seen there are likely more: a neighbour that is not wider needs to stand less clear."""
    for upwards in (False, True):
        while near := _next_clear(root, last if upwards else first, upwards=upwards):
            if places[near.last] - places[near.first] > (places[last] - places[first]) * WIDENED:
                break
            first, last = min(first, near.first), max(last, near.last)
    return first, last


def _next_clear(root: Stretch, edge: int, *, upwards: bool) -> Stretch | None:
    """The smallest neighbour that stands out a little."""
    return next((near for near in _next_to(root, edge, upwards=upwards) if near.rows > NEAR * sqrt(near.variance)), None)


def _next_to(stretch: Stretch, edge: int, *, upwards: bool) -> list[Stretch]:
    """The stretches that begin (upwards) or end at an edge, small ones first."""
    here = [stretch] if edge == (stretch.first if upwards else stretch.last) else []
    inside = [half for half in stretch.halves or () if half.first <= edge <= half.last]
    return [place for half in inside for place in _next_to(half, edge, upwards=upwards)] + here


def _empty(stretch: Stretch, own: dict[tuple[int, int], tuple[float, float]], seen: tuple[int, int]) -> None:
    """Where one half holds values and the other only noise, that one is empty, and its noise says nothing of the sum."""
    if stretch.halves is None or stretch.gain <= 0:
        return
    kept = [half.clear or _counts(half, seen) for half in stretch.halves]
    for half, keep in zip(stretch.halves, kept, strict=True):
        if not keep and any(kept):
            half.rows, half.variance, half.empty = 0.0, 1e-12, True
        else:
            _empty(half, own, seen)
    _add_up(stretch, *own.get((stretch.first, stretch.last), (0.0, 0.0)))


def _counts(half: Stretch, seen: tuple[int, int]) -> bool:
    inside = seen[0] < half.last and half.first < seen[1]
    return inside and half.rows > INSIDE * sqrt(half.variance)


def _share_out(stretch: Stretch, rows: float, places: Sequence[float], seen: tuple[int, int], weights: Numbers) -> None:
    """Give the rows of a stretch to its halves, down to cells: as counted where they are told apart, else evenly."""
    if stretch.halves is None or stretch.gain <= 0:
        # Evenly, but not beyond where values were seen.
        first, last = max(stretch.first, seen[0]), min(stretch.last, seen[1])
        first, last = (first, last) if first < last else (stretch.first, stretch.last)
        widths = np.diff(places[first : last + 1]) if last - first > 1 else places[last] - places[first]
        weights[first:last] = rows * widths / np.sum(widths)
        return
    low, high = stretch.halves
    excess = (low.rows + high.rows - rows) / (low.variance + high.variance)
    below = 0.0 if low.empty else rows if high.empty else min(max(low.rows - excess * low.variance, 0.0), rows)
    for half, held in ((low, below), (high, rows - below)):
        if not half.empty:
            _share_out(half, held, places, seen, weights)
