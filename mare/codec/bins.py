"""`Bins`: a partition of an ordered domain into codes. All ordered types share it: they are integer ticks here.

The edges are public: declared, or cut at noisy quantiles of a fine histogram. Then that histogram stays with the bins, and
a value is drawn inside its bin as the data has it, not evenly (recipe, step 3). Neighbouring bins taken together are public
coarsenings of a column, so that a model may count it more coarsely.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from math import expm1, log1p
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from mare.domain import Coarsening, Ladder
from mare.schema.columns import DEFAULT_BINS, keeps_each

from .ticks import Ticks

Scale = Literal["linear", "log", "mixed"]
"""`mixed`: fine both near the lower end and in the middle, for what the schema says nothing about (how long after the birth,
how soon after the admission)."""

_FAINT = 1e-9
"""Of the whole weight, what an empty cell keeps: a bin that the noise left nothing of is drawn from evenly."""


@dataclass(frozen=True)
class Bins:
    """Bin i holds the ticks ``edges[i]`` … ``edges[i+1] - 1``."""

    edges: tuple[int, ...]
    cells: tuple[int, ...] = ()
    """Edges of the fine histogram, among them those of the bins; none where values are drawn evenly."""
    weights: tuple[float, ...] = ()
    """Of each fine cell, what it weighs."""
    digits: tuple[float, ...] = ()
    """How usual each ending is, by the rest that a step leaves (of 10 or 100); none where all are alike."""
    step: int = 1
    """Values are multiples of so many ticks, as are all edges: incomes in thousands, quarters of a point."""

    def __post_init__(self) -> None:
        if len(self.edges) < 2 or any(a >= b for a, b in pairwise(self.edges)):
            raise ValueError("bin edges must be at least two and strictly increasing")
        if self.step < 1 or any(edge % self.step for edge in (*self.edges, *self.cells)):
            raise ValueError("bin edges must be multiples of the step, which is at least one tick")
        if not self.cells:
            return
        if any(a >= b for a, b in pairwise(self.cells)) or not set(self.edges) <= set(self.cells):
            raise ValueError("fine cells must be strictly increasing, and every bin edge one of their edges")
        if len(self.weights) != len(self.cells) - 1 or (self.cells[0], self.cells[-1]) != (self.edges[0], self.edges[-1]):
            raise ValueError("every fine cell has a weight, and together they are the bins")
        if not all(0 <= weight < float("inf") for weight in self.weights):
            raise ValueError("the weight of a fine cell is never negative")
        if len(self.digits) not in (0, 10, 100) or not all(0 <= weight < float("inf") for weight in self.digits):
            raise ValueError("there are 10 or 100 endings, and none is less than never")

    @property
    def count(self) -> int:
        return len(self.edges) - 1

    @cached_property
    def on_ends(self) -> tuple[float, float]:
        """The part of the rows that lie on the very first and on the very last tick, where these are cells of their own among
        wider ones."""
        total = sum(self.weights)
        if not total or self.high - self.low < 2 * len(self.weights) * self.step:
            return 0.0, 0.0
        (first, second), (before, last), step = self.cells[:2], self.cells[-2:], self.step
        return self.weights[0] * (second - first == step) / total, self.weights[-1] * (last - before == step) / total

    @property
    def low(self) -> int:
        """The smallest tick of the domain."""
        return self.edges[0]

    @property
    def high(self) -> int:
        """The largest tick of the domain."""
        return self.edges[-1] - self.step

    def in_ticks(self, step: int) -> Bins:
        """The same, counted in ticks of which so many are one step."""
        edges, cells = (tuple(edge * step for edge in counted) for counted in (self.edges, self.cells))
        return Bins(edges, cells, self.weights, self.digits, step)

    def assign(self, ticks: Ticks) -> NDArray[np.intp]:
        """The bin of every tick; what lies outside is clamped into the first or last bin."""
        return np.searchsorted(self._inner, ticks, side="right")

    def draw(self, codes: NDArray[np.integer], rng: np.random.Generator) -> Ticks:
        """A tick of each bin: from the fine histogram where there is one, evenly inside its cell."""
        edges, (starts, cumulated) = np.asarray(self.cells or self.edges, dtype=np.int64) // self.step, self._masses
        index = codes.astype(np.intp)
        if self.cells:
            low, high = cumulated[starts[index]], cumulated[starts[index + 1]]
            reached = low + rng.random(len(index)) * (high - low)
            cell = self._ladder.find(reached) - 1
            index = np.clip(cell, starts[index], starts[index + 1] - 1)
        drawn = rng.integers(edges[index], edges[index + 1], dtype=np.int64)
        return (self._ending(drawn, edges[index], edges[index + 1], rng) if self.digits else drawn) * self.step

    def density(self, ticks: Ticks) -> NDArray[np.float64]:
        """How much of all weight each tick has, by the fine histogram; evenly inside its cell."""
        edges, (_, cumulated) = np.asarray(self.cells, dtype=np.int64), self._masses
        cell = np.clip(np.searchsorted(edges, ticks, side="right") - 1, 0, len(edges) - 2)
        return np.asarray((np.diff(cumulated) / np.diff(edges) / cumulated[-1])[cell])

    def share(self, codes: NDArray[np.integer]) -> NDArray[np.float64]:
        """How much of all weight each bin has."""
        starts, cumulated = self._masses
        return np.asarray((np.diff(cumulated[starts]) / cumulated[-1])[codes])

    def evenly_often(self, count: int) -> Ticks:
        """So many ticks that are spread as the fine histogram is."""
        edges, (_, cumulated) = np.asarray(self.cells, dtype=np.float64), self._masses
        reached = (np.arange(count) + 0.5) / count * cumulated[-1]
        return np.asarray(np.interp(reached, cumulated, edges).astype(np.int64))

    def around(self, ticks: Ticks) -> tuple[Ticks, Ticks]:
        """The first and the last tick of the cell that each tick lies in: all of them are alike."""
        edges = np.asarray(self.cells or self.edges, dtype=np.int64)
        cell = np.clip(np.searchsorted(edges, ticks, side="right") - 1, 0, len(edges) - 2)
        return edges[cell], edges[cell + 1] - 1

    def _ending(self, drawn: Ticks, low: Ticks, high: Ticks, rng: np.random.Generator) -> Ticks:
        """Steps of the same cells with usual endings; as drawn where a cell has none of them."""
        rounds = len(self.digits)
        reached = np.concatenate([[0.0], np.cumsum(self.digits * 2)])
        start = low % rounds
        stop = start + np.minimum(high - low, rounds)
        wanted = reached[start] + rng.random(len(low)) * (reached[stop] - reached[start])
        rest = np.clip(np.searchsorted(reached, wanted, side="right") - 1, start, stop - 1)
        first = low + rest - start
        ticks = first + rounds * rng.integers(0, (high - 1 - first) // rounds + 1, dtype=np.int64)
        return np.where(reached[stop] > reached[start], ticks, drawn)

    @cached_property
    def means(self) -> NDArray[np.float64]:
        """Of each bin, the mean tick, whatever the endings."""
        if not self.cells:
            return np.asarray([(low + high - 1) / 2 for low, high in pairwise(self.edges)])
        middles = np.asarray([(low + high - 1) / 2 for low, high in pairwise(self.cells)])
        weights = np.asarray(self.weights) + _FAINT * max(sum(self.weights), 1.0)
        bins = self.assign(np.asarray(self.cells[:-1], dtype=np.int64))
        return np.asarray(np.bincount(bins, weights * middles) / np.bincount(bins, weights))

    @cached_property
    def whole(self) -> Bins:
        """All of it as one bin."""
        return Bins((self.edges[0], self.edges[-1]), self.cells, self.weights, self.digits, self.step)

    @cached_property
    def _inner(self) -> Ticks:
        return np.asarray(self.edges[1:-1], dtype=np.int64)

    @cached_property
    def _ladder(self) -> Ladder:
        return Ladder.of(self._masses[1])

    @cached_property
    def _masses(self) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
        """Where each bin begins among the fine cells, and what the cells up to there weigh."""
        if not self.cells:
            return np.arange(len(self.edges), dtype=np.intp), np.zeros(0)
        # Whole numbers are subtracted as such: beyond 2^53 neighbours are one double, and cells would have no width.
        widths = np.array([b - a for a, b in pairwise(self.cells)], dtype=np.float64)
        weights = np.asarray(self.weights, dtype=np.float64)
        even = widths / widths.sum() * max(float(weights.sum()), 1.0) * _FAINT
        starts = np.searchsorted(np.asarray(self.cells, dtype=np.int64), np.asarray(self.edges, dtype=np.int64))
        return starts, np.concatenate([[0.0], np.cumsum(weights + even)])


@dataclass(frozen=True)
class OpenBins:
    """Bins that are yet to be placed where the data is, with budget."""

    low: int | None
    """Ends of the domain, in ticks; None where they are to be learned first."""
    high: int | None
    scale: Scale
    most: int
    """Bins that the plan promised at most."""
    wanted: int | None = None
    """How many equal bins, where the schema says so and only the bounds are open."""
    closes: bool = False
    """The last tick is a bin of its own: the end of an interval that a value may close."""


def make_bins(low: int, high: int, bins: int | None, scale: Scale) -> Bins:
    """Cut ``low … high`` (inclusive) into bins: one per tick where they are few, else equal in width or in logarithm."""
    ticks = high - low + 1
    few = keeps_each(ticks, linear=scale != "log")
    count = min(bins if bins is not None else ticks if few else DEFAULT_BINS, ticks)
    if scale != "log" or count == ticks:
        return Bins(tuple(low + i * ticks // count for i in range(count + 1)))
    return Bins(log_edges(low, high, count))


def log_edges(low: int, high: int, count: int) -> tuple[int, ...]:
    """Edges of at most so many cells, the distances of which from ``low`` grow by one factor."""
    top = log1p(high - low + 1)
    # The first cells of a logarithmic cut are narrower than a tick: each is one tick wide instead.
    edges = [low]
    for i in range(1, count):
        edges.append(max(low + round(expm1(top * i / count)), edges[-1] + 1))
    return (*(edge for edge in edges if edge <= high), high + 1)


def bins_from_edges(low: int, high: int, inner: Sequence[int]) -> Bins:
    """Bins with these inner edges; edges outside the domain are ignored."""
    return Bins((low, *sorted({edge for edge in inner if low < edge <= high}), high + 1))


FEWEST = 4
"""Bins of the coarsest level, at least."""


def neighbours(bins: int, size: int) -> tuple[Coarsening, ...]:
    """Levels, fine to coarse: two bins become one, and again. What is no bin (NULL, special values) keeps its code."""
    levels, step = [], 2
    while -(-bins // step) >= FEWEST:
        coarse = -(-bins // step)
        codes = np.concatenate([np.arange(bins) // step, coarse + np.arange(size - bins)])
        levels.append(Coarsening(codes, coarse + size - bins))
        step *= 2
    return tuple(levels)


# How round a number is: how many zeros it ends in, and whether 5, 25 or 75 stand before them. It tells the steps in which people
# count: thousands, fifties, quarters of a point.

MOST_ZEROS = 18
"""10^18 is the last power of ten below the furthest tick."""
KINDS = 3
"""Of numbers with as many zeros: those with 25 or 75 before them, with another 5, with none."""
ZERO = KINDS * (MOST_ZEROS + 1)
"""What zero itself counts as, which is round in any step."""


def roundness(ticks: Ticks) -> NDArray[np.int64]:
    """0 to `ZERO`, `KINDS` for each number of zeros."""
    zeros = np.zeros(len(ticks), dtype=np.int64)
    rest = np.where(ticks == 0, 1, ticks)
    for _ in range(MOST_ZEROS):
        more = rest % 10 == 0
        if not more.any():
            break
        zeros += more
        rest = np.where(more, rest // 10, rest)
    kind = np.where(rest % 5 != 0, 0, np.where(rest % 25 != 0, 1, 2))
    return np.where(ticks == 0, ZERO, KINDS * zeros + kind)


def steps_up_to(zeros: int) -> list[int]:
    """The steps that are told apart, of so many zeros at most."""
    return [part * 10**power for power in range(zeros + 1) for part in (1, 5, 25)]
