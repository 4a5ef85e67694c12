"""Numbers of children whose mean was measured apart: which of the two is believed, by what noise may hide."""

from __future__ import annotations

import numpy as np
import pytest

from mare.domain import Estimate, settled_children, with_mean

DEVIATION = 1e-4


def noisy(held: dict[int, float], cap: int, seed: int = 1) -> np.ndarray:
    shares = np.zeros(cap + 1)
    shares[list(held)] = list(held.values())
    return shares + np.random.default_rng(seed).normal(0, DEVIATION, cap + 1)


def mean_of(held: dict[int, float], cap: int, apart: Estimate) -> float:
    settled = with_mean(settled_children(noisy(held, cap), DEVIATION), DEVIATION, apart, 2e-4)
    return float(settled @ np.arange(cap + 1))


@pytest.mark.parametrize("cap", [40, 100, 300])
@pytest.mark.parametrize("held", [{0: 0.5, 1: 0.25, 2: 0.25}, {10: 0.1, 15: 0.1, 20: 0.1, 25: 0.1, 30: 0.6}])
def test_a_cap_that_nobody_reaches_hides_nobody(held: dict[int, float], cap: int) -> None:
    """What was measured in blocks is off by a tenth, as it may be; cell by cell nothing is left open. A cap of 100 made a
    twentieth more."""
    true = sum(number * share for number, share in held.items())
    for off in (0.88, 1.12):
        assert mean_of(held, cap, Estimate(off * true, 0.1 * true)) == pytest.approx(true, rel=0.03)
