"""`Bins`: a public partition of an ordered domain into codes. All ordered types share it: they are integer ticks here.

A tick is the smallest step a column can tell apart (a day, a second, 0.01). Working on integers keeps encoding exact and
makes every bound inclusive without rounding.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import expm1, log1p
from typing import Literal

import numpy as np
from numpy.typing import NDArray

DEFAULT_BINS = 20
"""Bins of an ordered column that does not say how many (until noisy quantiles are learned)."""
SINGLE_VALUES = 100
"""Up to this many ticks every value keeps a code of its own."""

Ticks = NDArray[np.int64]
Scale = Literal["linear", "log"]


@dataclass(frozen=True)
class Bins:
    """Bin i holds the ticks ``edges[i]`` … ``edges[i+1] - 1``."""

    edges: tuple[int, ...]

    def __post_init__(self) -> None:
        if len(self.edges) < 2 or any(a >= b for a, b in pairwise(self.edges)):
            raise ValueError("bin edges must be at least two and strictly increasing")

    @property
    def count(self) -> int:
        return len(self.edges) - 1

    @property
    def low(self) -> int:
        """The smallest tick of the domain."""
        return self.edges[0]

    @property
    def high(self) -> int:
        """The largest tick of the domain."""
        return self.edges[-1] - 1

    def assign(self, ticks: Ticks) -> NDArray[np.intp]:
        """The bin of every tick; what lies outside is clamped into the first or last bin."""
        inner = np.asarray(self.edges[1:-1], dtype=np.int64)
        return np.searchsorted(inner, ticks, side="right")

    def draw(self, codes: NDArray[np.integer], rng: np.random.Generator) -> Ticks:
        """A tick of each bin, uniform inside it."""
        edges = np.asarray(self.edges, dtype=np.int64)
        index = codes.astype(np.intp)
        return rng.integers(edges[index], edges[index + 1], dtype=np.int64)


def make_bins(low: int, high: int, bins: int | None, scale: Scale) -> Bins:
    """Cut ``low … high`` (inclusive) into bins: one per tick where they are few, else equal in width or in logarithm."""
    ticks = high - low + 1
    few = ticks <= SINGLE_VALUES and scale == "linear"
    count = min(bins if bins is not None else ticks if few else DEFAULT_BINS, ticks)
    if scale == "linear":
        return Bins(tuple(low + i * ticks // count for i in range(count + 1)))
    top = log1p(ticks)
    steps = [round(expm1(top * i / count)) for i in range(count)]
    # The first bins of a logarithmic cut are narrower than a tick: each is one tick wide instead.
    edges = [low]
    for step in steps[1:]:
        edges.append(max(low + step, edges[-1] + 1))
    return Bins((*(edge for edge in edges if edge <= high), high + 1))


def bins_from_edges(low: int, high: int, inner: Sequence[int]) -> Bins:
    """Bins with these inner edges; edges outside the domain are ignored."""
    return Bins((low, *sorted({edge for edge in inner if low < edge <= high}), high + 1))
