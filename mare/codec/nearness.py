"""`Nearness`: how far a number usually is from another one, that of the row before it or one of the same row.

A model tells which bin a value lies in, and a bin of what is rare is wide: somebody of 118 kg would weigh 96 kg two days later,
and more after the dialysis than before. So a value is drawn inside its bin near the other one, as far as the differences say that
were counted of the real rows. What bins tell of each other stays as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from .bins import Bins
from .ticks import Mask, Ticks

CANDIDATES = 6
"""Of each kind that a value is chosen among: as its bin has them, and as near to the other one as is usual."""

CLOSE = 0.5
"""Total variation distance of differences from those by chance, from which on numbers are close."""

Draw = Callable[[str], np.random.Generator]
"""What draws for the rows in hand and this purpose."""
Numbers = NDArray[np.float64]


@dataclass(frozen=True)
class Nearness:
    """Cells of differences, in ticks, from ``center`` on; and how many of all differences lie in each."""

    beside: str | None
    """The other column; None: its own value in the row before."""
    center: int
    edges: tuple[int, ...]
    usual: tuple[float, ...]
    chance: tuple[float, ...]
    """The same of numbers that have nothing to do with each other."""

    def __post_init__(self) -> None:
        if len(self.edges) < 2 or any(a >= b for a, b in pairwise(self.edges)):
            raise ValueError("edges of differences must be at least two and strictly increasing")
        if len(self.usual) != len(self.edges) - 1 or len(self.chance) != len(self.usual):
            raise ValueError("every cell of differences has a weight, and one by chance")
        if not all(0 <= weight < float("inf") for weight in self.usual) or not all(0 < c < float("inf") for c in self.chance):
            raise ValueError("the weight of a difference is never negative, and never 0 by chance")

    @property
    def close(self) -> bool:
        """Whether most differences are others than chance makes: then neither is drawn without the other."""
        return sum(abs(usual - chance) for usual, chance in zip(self.usual, self.chance, strict=True)) / 2 >= CLOSE

    def offer(self, others: Ticks, step: int, rng: np.random.Generator) -> Ticks:
        """Ticks at a usual distance from the others, on multiples of a step."""
        edges, usual = np.asarray(self.edges, dtype=np.int64), np.cumsum(self.usual)
        cells = np.minimum(np.searchsorted(usual, rng.random(len(others)) * usual[-1], side="right"), len(usual) - 1)
        apart = edges[cells] + (rng.random(len(others)) * (edges[cells + 1] - edges[cells])).astype(np.int64)
        return np.asarray(others + (self.center + apart) // step * step)

    def weigh(self, ticks: Ticks, others: Ticks, step: int) -> tuple[Numbers, Numbers]:
        """How often each tick is offered; and how many times likelier it is, as far from the other one, than by chance."""
        edges, usual = np.asarray(self.edges, dtype=np.int64), np.asarray(self.usual)
        cell = np.searchsorted(edges[1:-1], ticks - others - self.center, side="right")
        held = np.maximum(np.diff((edges - 1) // step), 1)
        return (usual / held)[cell], (usual / np.asarray(self.chance))[cell]


def drawn_near(ticks: Ticks, near: Sequence[tuple[Nearness, Ticks, Mask]], bins: Bins, rng: Draw) -> Ticks:
    """Ticks of the same bins, each near to what is there of the others.

    Chosen among what the bin offers (the first is what was drawn already) and what lies at a usual distance, by how much likelier
    each is than it was to be offered.
    """
    codes = bins.assign(ticks)
    offered = [ticks, *(bins.draw(codes, rng(f"bin {k}")) for k in range(1, CANDIDATES))]
    # Endings are the bin's to draw: at a usual distance, a price would end in any digit.
    if not bins.digits:
        for place, (nearness, others, there) in enumerate(near):
            steps = (nearness.offer(others, bins.step, rng(f"step {place}.{k}")) for k in range(CANDIDATES))
            offered += [np.where(there, step, bins.low - 1) for step in steps]
    values = np.stack(offered)
    inside = (bins.assign(values) == codes) & (values >= bins.low) & (values <= bins.high)
    weights = bins.density(values) * bins.step
    chances = weights / bins.share(codes)
    for nearness, others, there in near:
        often, likelier = nearness.weigh(values, others, bins.step)
        chances += np.where(there, often, 0.0)
        weights = weights * np.where(there, likelier, 1.0)
    reached = np.cumsum(np.where(inside, weights / chances, 0.0), axis=0)
    wanted = rng("choice").random(len(ticks)) * reached[-1]
    chosen = np.minimum((reached <= wanted).sum(axis=0), len(values) - 1)
    return np.where(reached[-1] > 0, values[chosen, np.arange(len(ticks))], ticks)
