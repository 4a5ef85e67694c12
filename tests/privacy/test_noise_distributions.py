"""χ² of every sampler against its exact probabilities, on seeded bits: the outcome never changes from run to run.

For a correct sampler the statistic of d + 1 bins is close to χ²_d, and P(χ²_d ≥ d + 2√(dx) + 2x) ≤ e^-x (Laurent and
Massart 2000). With x = 20 a correct sampler fails one seed in 5·10⁸. That the test can fail is tested below.
"""

from __future__ import annotations

from collections.abc import Callable
from math import erfc, exp, sqrt

import numpy as np
import pytest
from numpy.typing import NDArray

from mare.privacy.bits import BitSource, SeededBits
from mare.privacy.gaussian import gaussian_table, rejected_gaussian
from mare.privacy.laplace import discrete_laplace, geometric
from mare.privacy.noise import Mechanism, prepare_noise

DRAWS = 200_000
_SURPRISE = 20.0

Sampler = Callable[[float, int, BitSource], NDArray[np.int64]]


def tabled_gaussian(sigma: float, count: int, bits: BitSource) -> NDArray[np.int64]:
    return gaussian_table(sigma).draw(count, bits)


def gaussian_weight(sigma: float) -> Callable[[int], float]:
    return lambda x: exp(-x * x / (2 * sigma * sigma))


def laplace_weight(scale: float) -> Callable[[int], float]:
    return lambda x: exp(-abs(x) / scale)


def geometric_weight(scale: float) -> Callable[[int], float]:
    return lambda x: exp(-x / scale) if x >= 0 else 0.0


def excess(drawn: NDArray[np.int64], weight: Callable[[int], float], scale: float) -> float:
    """χ² in units of its limit: above 1 the draws are not of this distribution."""
    reach = int(60 * scale) + 60
    values = np.arange(-reach, reach + 1)
    mass = np.array([weight(int(value)) for value in values])
    expected = mass / mass.sum() * len(drawn)
    observed = np.bincount(np.clip(drawn, -reach, reach) + reach, minlength=len(values))
    # neighbouring values are joined until a bin expects at least 50: the tails become one bin each, and every draw counts
    edges, filled = [0], 0.0
    for index, value in enumerate(expected):
        filled += value
        if filled >= 50 and expected[index + 1 :].sum() >= 50:
            edges.append(index + 1)
            filled = 0.0
    bins_expected, bins_observed = np.add.reduceat(expected, edges), np.add.reduceat(observed, edges)
    freedom = len(edges) - 1
    statistic = float(((bins_observed - bins_expected) ** 2 / bins_expected).sum())
    return statistic / (freedom + 2 * sqrt(freedom * _SURPRISE) + 2 * _SURPRISE)


CASES: list[tuple[Sampler, Callable[[float], Callable[[int], float]], float]] = [
    *((tabled_gaussian, gaussian_weight, sigma) for sigma in (0.4, 1.0, 3.3, 47.0, 300.0)),
    *((rejected_gaussian, gaussian_weight, sigma) for sigma in (0.4, 1.0, 3.3, 47.0, 300.0)),
    *((discrete_laplace, laplace_weight, scale) for scale in (0.3, 1.0, 4.4, 60.0, 1500.0)),
    *((geometric, geometric_weight, scale) for scale in (0.3, 1.0, 4.4, 60.0, 1500.0)),
]


@pytest.mark.parametrize(("sampler", "law", "scale"), CASES, ids=lambda value: getattr(value, "__name__", str(value)))
def test_draws_follow_their_distribution(sampler: Sampler, law: Callable[[float], Callable[[int], float]], scale: float) -> None:
    assert excess(sampler(scale, DRAWS, SeededBits(2024)), law(scale), scale) < 1


@pytest.mark.parametrize("factor", [0.5, 0.97, 1.03])
@pytest.mark.parametrize(("sampler", "law"), [(tabled_gaussian, gaussian_weight), (discrete_laplace, laplace_weight)])
def test_a_wrong_scale_is_noticed(sampler: Sampler, law: Callable[[float], Callable[[int], float]], factor: float) -> None:
    assert excess(sampler(5.0 * factor, DRAWS, SeededBits(2024)), law(5.0), 5.0) > 1


def test_planted_bug_a_zero_drawn_twice_as_often_is_noticed() -> None:
    """Keeping -0 is the classic mistake of a signed geometric."""
    bits = SeededBits(2024)
    magnitude = geometric(2.0, DRAWS, bits)
    signed = np.where(np.arange(DRAWS) % 2 == 0, -magnitude, magnitude)
    assert excess(signed, laplace_weight(2.0), 2.0) > 1


def test_planted_bug_rounded_continuous_noise_is_noticed() -> None:
    rounded = np.rint(np.random.default_rng(1).laplace(scale=1.0, size=DRAWS)).astype(np.int64)
    assert excess(rounded, laplace_weight(1.0), 1.0) > 1


@pytest.mark.parametrize(("mechanism", "scale"), [("discrete gaussian", 6.0), ("discrete laplace", 6.0)])
def test_neighbouring_cells_are_independent(mechanism: Mechanism, scale: float) -> None:
    drawn = prepare_noise(mechanism, scale, DRAWS).draw(SeededBits(5)).astype(np.float64)
    for step in (1, 2, 64):
        correlation = float(np.mean(drawn[:-step] * drawn[step:]) / np.mean(drawn**2))
        assert abs(correlation) < 6 / sqrt(DRAWS)  # six standard deviations: one seed in 5·10⁸


def laplace_law(x: NDArray[np.float64], scale: float) -> NDArray[np.float64]:
    """P(X ≤ x), closed: p^-x/(1 + p) below zero, 1 - p^(x + 1)/(1 + p) from there on, with p = e^(-1/b)."""
    below = np.exp(np.minimum(x, 0) / scale) / (1 + exp(-1 / scale))
    above = 1 - np.exp(-(np.maximum(x, 0) + 1) / scale) / (1 + exp(-1 / scale))
    return np.where(x < 0, below, above)


def gaussian_law(x: NDArray[np.float64], sigma: float) -> NDArray[np.float64]:
    """P(X ≤ x) for a σ so large that the sum is its integral: Φ((x + ½)/σ) is off by less than 1/σ²."""
    return np.array([0.5 * erfc(-(value + 0.5) / sigma / sqrt(2)) for value in x])


@pytest.mark.parametrize(
    ("mechanism", "law", "scale"),
    [
        *(("discrete laplace", laplace_law, scale) for scale in (2.0**-10, 0.05, 1e4, 3e7, 2.0**40)),
        *(("discrete gaussian", gaussian_law, sigma) for sigma in (1e4, 3e7, 2.0**30)),
    ],
)
def test_extreme_scales_follow_their_distribution(
    mechanism: Mechanism, law: Callable[[NDArray[np.float64], float], NDArray[np.float64]], scale: float
) -> None:
    drawn = np.sort(prepare_noise(mechanism, scale, 50_000).draw(SeededBits(3)))
    reached = np.searchsorted(drawn, drawn, side="right") / len(drawn)
    # Kolmogorov–Smirnov, one sample: P(√n·gap > c) ≤ 2e^(-2c²) (Massart 1990); c = 3.3 is one seed in 10⁹
    assert np.abs(reached - law(drawn.astype(np.float64), scale)).max() * sqrt(len(drawn)) < 3.3


def test_planted_bug_an_extreme_scale_that_is_an_eighth_off_is_noticed() -> None:
    drawn = np.sort(prepare_noise("discrete laplace", 0.875 * 2.0**39, 50_000).draw(SeededBits(3)))
    reached = np.searchsorted(drawn, drawn, side="right") / len(drawn)
    assert np.abs(reached - laplace_law(drawn.astype(np.float64), 2.0**39)).max() * sqrt(len(drawn)) > 3.3


def test_both_gaussians_are_one_distribution() -> None:
    one = np.sort(gaussian_table(20.0).draw(DRAWS, SeededBits(1)))
    two = np.sort(rejected_gaussian(20.0, DRAWS, SeededBits(2)))
    values = np.arange(-120, 121)
    gap = np.abs(np.searchsorted(one, values, side="right") - np.searchsorted(two, values, side="right")).max() / DRAWS
    # Kolmogorov–Smirnov, two samples: P(gap > c·√(2/n)) ≤ 2e^(-2c²); c = 3.3 is one seed in 10⁹
    assert gap < 3.3 * sqrt(2 / DRAWS)
