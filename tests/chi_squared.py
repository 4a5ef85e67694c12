"""Is this sample of that distribution? For tests on seeded bits, whose outcome never changes from run to run.

P(χ²_d ≥ d + 2√(dx) + 2x) ≤ e^-x (Laurent and Massart 2000): with x = 20 a correct sampler fails one seed in 5·10⁸.
"""

from __future__ import annotations

from math import sqrt

import numpy as np
from numpy.typing import ArrayLike

_SURPRISE = 20.0
_LEAST = 25.0
"""Bins that expect less are joined into one."""


def chi_squared_excess(observed: ArrayLike, probabilities: ArrayLike) -> float:
    """χ² in units of its limit: above 1 the counts are not of this distribution. Probabilities must add up to 1."""
    counts, law = np.asarray(observed, dtype=np.float64), np.asarray(probabilities, dtype=np.float64)
    assert counts.shape == law.shape
    assert abs(law.sum() - 1) < 1e-9
    expected = law * counts.sum()
    rare = expected < _LEAST
    if rare.any():
        counts = np.append(counts[~rare], counts[rare].sum())
        expected = np.append(expected[~rare], expected[rare].sum())
    if expected[-1] < _LEAST:  # even together they are too few: the normal approximation would be wrong. At most a handful.
        assert counts[-1] <= _LEAST + 10 * sqrt(_LEAST)
        counts, expected = counts[:-1], expected[:-1]
    freedom = len(expected) - 1
    assert freedom >= 1, "one bin cannot be wrong"
    statistic = float(((counts - expected) ** 2 / expected).sum())
    return statistic / (freedom + 2 * sqrt(freedom * _SURPRISE) + 2 * _SURPRISE)
