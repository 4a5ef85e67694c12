"""Bounds from a noisy histogram over a public grid: the lowest and the highest cell that stand clear of the noise.

Post-processing of an answer that was paid for. Few values far out do not stand clear: they are clamped later, which is what a
domain is for.
"""

from __future__ import annotations

from math import log, sqrt
from statistics import NormalDist

import numpy as np

from mare.errors import PrivacyError

from .learned import FineHistogram, LearnedBounds

CHANCE = 0.01
"""That an empty cell anywhere on the grid is taken for a full one."""


def noisy_bounds(histogram: FineHistogram, chance: float = CHANCE) -> LearnedBounds:
    """The bounds; where nothing is clear, those of the fullest cell."""
    if not 0 < chance < 1:
        raise PrivacyError(f"bounds with a chance of {chance!r} to err were asked; it must be between 0 and 1.")
    edges = histogram.grid.edges
    clear = np.flatnonzero(histogram.noisy > clear_of_noise(histogram, chance))
    if not len(clear):
        fullest = int(histogram.noisy.argmax())
        return LearnedBounds(edges[fullest], edges[fullest + 1], False, histogram.cost)
    return LearnedBounds(edges[clear[0]], edges[clear[-1] + 1], True, histogram.cost)


def clear_of_noise(histogram: FineHistogram, chance: float) -> float:
    """What no empty cell of the grid reaches, but with this probability (in the continuum: nothing private depends on it)."""
    each = chance / histogram.grid.cells
    if histogram.mechanism == "discrete gaussian":
        return -histogram.deviation * NormalDist().inv_cdf(each)
    return histogram.deviation / sqrt(2) * log(1 / (2 * each))
