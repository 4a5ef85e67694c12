"""Neighbouring bins taken together: public coarsenings of an ordered column, so that a model may count it more coarsely."""

from __future__ import annotations

import numpy as np

from mare.domain import Coarsening

FEWEST = 4
"""Bins of the coarsest level, at least."""


def neighbours(bins: int, size: int) -> tuple[Coarsening, ...]:
    """Levels, fine to coarse: two bins become one, and again. What is no bin (NULL, special values) keeps its code."""
    found, step = [], 2
    while -(-bins // step) >= FEWEST:
        coarse = -(-bins // step)
        codes = np.concatenate([np.arange(bins) // step, coarse + np.arange(size - bins)])
        found.append(Coarsening(codes, coarse + size - bins))
        step *= 2
    return tuple(found)
