"""Noisy tables without negative counts: post-processing that learning and every model use, and that costs no budget."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Table = NDArray[np.float64]


def norm_subtract(noisy: Table, total: float = 1.0) -> Table:
    """The nearest table (in L2) that is nowhere negative and sums to ``total``: one amount off every cell that stays."""
    flat = noisy.ravel()
    descending = np.sort(flat)[::-1]
    excess = (np.cumsum(descending) - total) / np.arange(1, len(flat) + 1)
    kept = np.flatnonzero(descending > excess)
    if total <= 0 or not len(kept):
        return np.full(noisy.shape, max(total, 0.0) / noisy.size)
    return np.asarray(np.maximum(flat - excess[kept[-1]], 0.0).reshape(noisy.shape))
