"""The tail beyond a threshold: the three factors multiply up to the noise's own probabilities, at any scale."""

from __future__ import annotations

from decimal import Decimal, localcontext
from fractions import Fraction
from functools import cache
from math import exp

import numpy as np
import pytest

from mare.privacy.bits import SeededBits
from mare.privacy.gaussian import LARGEST_SIGMA
from mare.privacy.laplace import LARGEST_SCALE
from mare.privacy.noise import Mechanism
from mare.privacy.tails import Tail, crossing_chance, smallest_threshold, tail
from tests.chi_squared import kolmogorov_excess

MECHANISMS: tuple[Mechanism, ...] = ("discrete gaussian", "discrete laplace")
SCALES = [2.0**-10, 0.2, 0.7, 1.0, 1.01, 3.3, 20.0]


def number(value: Fraction) -> Decimal:
    return Decimal(value.numerator) / Decimal(value.denominator)


@cache
def mass(mechanism: Mechanism, scale: float) -> Decimal:
    return 1 + 2 * sum((weight(mechanism, scale, k) for k in range(1, int(150 * scale) + 40)), Decimal(0))


def weight(mechanism: Mechanism, scale: float, k: int) -> Decimal:
    b = number(Fraction(scale))
    return (-Decimal(k) / b).exp() if mechanism == "discrete laplace" else (-Decimal(k * k) / (2 * b * b)).exp()


def proposed(beyond: Tail, width: int) -> tuple[Decimal, Decimal]:
    low, high = beyond.proposes(width)
    return Decimal(low) / 2**width, Decimal(high) / 2**width


def kept(beyond: Tail, g: int) -> Decimal:
    if beyond.variance is None:
        return Decimal(1)
    return (-number(Fraction((g + beyond.offset) ** 2) / (2 * beyond.variance))).exp()


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("threshold", [1, 2, 5, 60])
def test_the_factors_are_the_probabilities_of_the_noise(mechanism: Mechanism, scale: float, threshold: int) -> None:
    """P(X = r + g) = proposes · geometric(g) · kept(g), to 190 bits, for every g that matters."""
    beyond = tail(mechanism, scale, threshold)
    with localcontext() as context:
        context.prec = 150
        fall = (-1 / number(beyond.proposal)).exp()
        low, high = proposed(beyond, 192)
        assert 0 <= high - low <= Decimal(4) / 2**192
        for g in (0, 1, 2, 3, 10, 75):
            rest = (1 - fall) * (-g / number(beyond.proposal)).exp() * kept(beyond, g)
            truth = weight(mechanism, scale, threshold + g) / mass(mechanism, scale)
            assert low * rest - Decimal(10) ** -90 <= truth <= high * rest + Decimal(10) ** -60


@pytest.mark.parametrize("sigma", [2.0**-10, *np.geomspace(0.05, 40, 60).tolist(), 1e4, LARGEST_SIGMA])
def test_a_cell_never_proposes_with_more_than_certainty(sigma: float) -> None:
    for threshold in {1, 2, 3, max(1, int(sigma)), int(sigma) + 1, int(5 * sigma) + 1}:
        low, high = tail("discrete gaussian", sigma, threshold).proposes(96)
        assert 0 <= low <= high < 0.7 * 2**96
        # no more than half of the proposals are thrown away, so nobody waits
        assert crossing_chance("discrete gaussian", sigma, threshold) >= 0.45 * low / 2**96 - 1e-25


CASES = [
    ("discrete gaussian", 0.6, 1),
    ("discrete gaussian", 3.3, 1),
    ("discrete gaussian", 3.3, 10),
    ("discrete gaussian", 47.0, 20),
    ("discrete gaussian", 300.0, 900),
    ("discrete laplace", 0.5, 2),
    ("discrete laplace", 4.4, 13),
    ("discrete laplace", 60.0, 1),
]


def tail_law(mechanism: Mechanism, scale: float, threshold: int) -> list[float]:
    """P(X ≤ r + i | X ≥ r)."""
    beyond = np.arange(int(60 * scale) + 60, dtype=np.float64)
    if mechanism == "discrete laplace":
        weights = np.exp(-beyond / scale)
    else:
        weights = np.exp(-beyond * (2 * threshold + beyond) / (2 * scale * scale))
    return list(np.cumsum(weights) / weights.sum())


@pytest.mark.parametrize(("mechanism", "scale", "threshold"), CASES)
def test_draws_follow_the_tail(mechanism: Mechanism, scale: float, threshold: int) -> None:
    drawn = tail(mechanism, scale, threshold).draw(100_000, SeededBits(21))
    assert drawn.min() >= threshold
    assert kolmogorov_excess(drawn, tail_law(mechanism, scale, threshold), threshold) < 1


def test_a_tail_that_starts_elsewhere_is_noticed() -> None:
    """The Gaussian's tail is not memoryless: the law of r = 10, moved to 12, is another one."""
    drawn = tail("discrete gaussian", 3.3, 10).draw(100_000, SeededBits(21)) + 2
    assert kolmogorov_excess(drawn, tail_law("discrete gaussian", 3.3, 12), 12) > 1


def test_far_out_and_wide_tails_are_drawn() -> None:
    far = tail("discrete gaussian", 1.0, 10**9).draw(1000, SeededBits(1))
    assert set(far.tolist()) == {10**9}
    wide = tail("discrete gaussian", LARGEST_SIGMA, 3 * 2**30).draw(20_000, SeededBits(2))
    assert np.mean(wide) / 2**30 == pytest.approx(3.2831, abs=0.012)  # φ(3)/Q(3), six standard errors
    long = tail("discrete laplace", LARGEST_SCALE, 7).draw(20_000, SeededBits(3))
    assert np.mean(long) / LARGEST_SCALE == pytest.approx(1, abs=0.05)


def test_the_exact_coin_agrees_with_the_bracket(monkeypatch: pytest.MonkeyPatch) -> None:
    quick = tail("discrete gaussian", 12.5, 4).draw(300, SeededBits(5))
    monkeypatch.setattr("mare.privacy.inversion._BRACKET", 1.0)
    assert tail("discrete gaussian", 12.5, 4).draw(300, SeededBits(5)).tolist() == quick.tolist()


def test_a_probability_of_next_to_nothing_is_still_enclosed() -> None:
    assert tail("discrete gaussian", 1.0, 10**15).proposes(320) == (0, 1)
    low, high = tail("discrete laplace", 1.0, 100).proposes(320)
    assert low * exp(100) / 2**320 == pytest.approx(1 / (1 + exp(-1)))
    assert high - low <= 4


# --- planning with public numbers -----------------------------------------------------------------------------------


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("threshold", [1, 2, 7, 40])
def test_the_chance_of_crossing_is_that_of_the_noise(mechanism: Mechanism, scale: float, threshold: int) -> None:
    with localcontext() as context:
        context.prec = 60
        beyond = sum((weight(mechanism, scale, threshold + g) for g in range(int(150 * scale) + 40)), Decimal(0))
        truth = float(beyond / mass(mechanism, scale))
    assert crossing_chance(mechanism, scale, threshold) == pytest.approx(truth, rel=1e-9, abs=1e-300)


def test_the_integral_of_a_wide_gaussian_continues_the_sum() -> None:
    for times in (0.01, 1, 3, 5):
        summed = crossing_chance("discrete gaussian", 1000.0, int(1000 * times))
        integral = crossing_chance("discrete gaussian", np.nextafter(1000.0, 2000.0), int(1000 * times))
        assert integral == pytest.approx(summed, rel=1e-5)


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("scale", [2.0**-10, 1.0, 114.0, 5000.0])
@pytest.mark.parametrize("chance", [0.4, 1e-3, 1e-12])
def test_the_smallest_threshold_is_the_smallest(mechanism: Mechanism, scale: float, chance: float) -> None:
    threshold = smallest_threshold(mechanism, scale, chance)
    assert crossing_chance(mechanism, scale, threshold) <= chance
    assert threshold == 1 or crossing_chance(mechanism, scale, threshold - 1) > chance


def test_a_tail_that_starts_at_zero_is_refused() -> None:
    with pytest.raises(ValueError, match="starts at 1"):
        tail("discrete laplace", 1.0, 0)
