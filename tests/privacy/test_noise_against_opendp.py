"""mare's samplers against OpenDP's: are two samples of one distribution?

OpenDP cannot be seeded, so these tests could fail by chance. Both statistics are compared with a bound that a pair of correct
samplers exceeds with a probability of at most 1e-9 per comparison:

- Kolmogorov–Smirnov: P(√(n/2)·gap ≥ t) ≤ 2e^(-2t²) for two samples of n ≥ 458 each (Wei and Dudley 2012), also for discrete
  laws; t = 3.28;
- χ² of the difference over fixed bins that each expect 100 draws or more: Σ (a - b)²/(a + b) is close to χ²_d, and
  P(χ²_d ≥ d + 2√(dx) + 2x) ≤ e^-x (Laurent and Massart 2000); x = 21.
"""

from __future__ import annotations

from collections.abc import Callable
from math import exp, sqrt

import numpy as np
import pytest
from numpy.typing import NDArray

from mare.privacy.bits import SeededBits
from mare.privacy.noise import Mechanism, prepare_noise

opendp = pytest.importorskip("opendp.prelude", reason="the oracle OpenDP is not installed (extra: dev)")

DRAWS = 10_000
MECHANISMS: tuple[Mechanism, ...] = ("discrete gaussian", "discrete laplace")
CASES = [
    pytest.param(mechanism, scale, marks=[] if scale == 2.0 else [pytest.mark.slow])
    for mechanism in MECHANISMS
    for scale in (0.5, 2.0, 30.0, 1e5)
]
"""In `make test` one scale: all of them are compared with their exact laws there (test_noise_distributions.py)."""


def opendp_draws(mechanism: Mechanism, scale: float, cells: int) -> NDArray[np.int64]:
    """Through OpenDP's vector mechanisms over 64-bit integers."""
    opendp.enable_features("contrib")  # OpenDP's own switch: what has no proof yet that it has reviewed, it calls so
    vectors = opendp.vector_domain(opendp.atom_domain(T="i64"))
    if mechanism == "discrete laplace":
        measurement = opendp.m.make_laplace(vectors, opendp.l1_distance(T="i64"), scale=scale)
    else:
        measurement = opendp.m.make_gaussian(vectors, opendp.l2_distance(T="f64"), scale=scale)
    return np.array(measurement([0] * cells), dtype=np.int64)


def kolmogorov(one: NDArray[np.int64], two: NDArray[np.int64]) -> float:
    """In units of its bound: above 1 the two are not of one distribution."""
    values = np.union1d(one, two)
    reached = [np.searchsorted(np.sort(sample), values, side="right") / len(sample) for sample in (one, two)]
    return float(np.abs(reached[0] - reached[1]).max()) * sqrt(len(one) / 2) / 3.28


def chi_squared(one: NDArray[np.int64], two: NDArray[np.int64], edges: NDArray[np.int64]) -> float:
    """In units of its bound. ``edges`` depend on the law alone, never on the draws."""
    a, b = (np.bincount(np.searchsorted(edges, sample, side="right"), minlength=len(edges) + 1) for sample in (one, two))
    statistic = float(((a - b) ** 2 / np.maximum(a + b, 1)).sum())
    freedom = len(edges)
    return statistic / (freedom + 2 * sqrt(freedom * 21) + 2 * 21)


def bins(mechanism: Mechanism, scale: float) -> NDArray[np.int64]:
    """Neighbouring values joined until a bin expects a hundredth of the draws or more."""
    reach = int(40 * scale) + 40
    step = max(1, reach // 4000)
    values = np.arange(-reach, reach + 1, step)
    weight: Callable[[float], float] = (
        (lambda x: exp(-abs(x) / scale)) if mechanism == "discrete laplace" else (lambda x: exp(-x * x / (2 * scale * scale)))
    )
    mass = np.array([weight(float(value)) for value in values])
    cumulated = np.cumsum(mass / mass.sum())
    edges, last = [], 0.0
    for value, reached in zip(values, cumulated, strict=True):
        if reached - last >= 0.01 and 1 - reached >= 0.01:
            edges.append(int(value) + 1)
            last = float(reached)
    return np.array(edges)


@pytest.mark.parametrize("exact", [False, True], ids=["as prepared", "exact"])
@pytest.mark.parametrize(("mechanism", "scale"), CASES)
def test_draws_are_of_one_distribution_with_those_of_opendp(mechanism: Mechanism, scale: float, exact: bool) -> None:
    ours = prepare_noise(mechanism, scale, DRAWS, exact=exact).draw(SeededBits(9))
    theirs = opendp_draws(mechanism, scale, DRAWS)
    assert kolmogorov(ours, theirs) < 1
    assert chi_squared(ours, theirs, bins(mechanism, scale)) < 1


@pytest.mark.parametrize(("mechanism", "scale"), CASES)
def test_a_scale_that_is_a_quarter_off_is_noticed(mechanism: Mechanism, scale: float) -> None:
    ours = prepare_noise(mechanism, scale * 0.75, DRAWS).draw(SeededBits(9))
    theirs = opendp_draws(mechanism, scale, DRAWS)
    edges = bins(mechanism, scale)
    assert max(kolmogorov(ours, theirs), chi_squared(ours, theirs, edges)) > 1
