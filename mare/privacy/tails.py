"""The noise of a cell at zero, given that it reaches a threshold r ≥ 1: how likely that is, and with which value.

Both noises are drawn in the same way, exactly. Beyond r a cell *proposes* r + g with g geometric, P(g ≥ j) = e^(-jd), and the
proposal is kept with a probability e^-γ(g):

    discrete Laplace   d = 1/b     γ = 0                       the tail is geometric itself
    discrete Gaussian  d = c/σ²    γ = (r + g - c)²/2σ²        with c = r, or c = ⌈σ⌉ where r is smaller

for -k²/2σ² = c²/2σ² - ck/σ² - (k - c)²/2σ², whatever c is. A cell proposes with probability `Tail.proposes`, so that

    P(X = r + g) = proposes · (1 - e^-d)·e^(-gd) · e^-γ(g)        exactly, for every g ≥ 0.

The Gaussian's P(X ≥ r) itself is needed nowhere: who proposes first and is thinned after reaches r with that probability.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache, partial
from math import ceil, erfc, exp, sqrt

import numpy as np
from numpy.typing import NDArray

from .bits import BitSource
from .fixed_point import exp_down, gaussian_mass
from .inversion import Enclosure, coins, exponential_chance
from .laplace import geometric
from .noise import Mechanism

_GUARD = 128
_SUMMED = 1000.0
"""Up to this σ the chance of crossing is summed; beyond it the integral is the same to seven digits."""


@dataclass(frozen=True, eq=False)
class Tail:
    """X given X ≥ threshold."""

    threshold: int
    proposal: Fraction
    """1/d: the scale of the geometric proposals."""
    offset: int
    """r - c."""
    variance: Fraction | None
    """σ². None: every proposal is kept."""
    proposes: Enclosure
    """The probability that a cell at zero proposes a value."""

    def draw(self, count: int, bits: BitSource) -> NDArray[np.int64]:
        """``count`` independent values of X, given X ≥ threshold."""
        out = np.empty(count, dtype=np.int64)
        todo = np.arange(count)
        while len(todo):
            beyond = self.propose(len(todo), bits)
            kept = self.keep(beyond, bits)
            out[todo[kept]] = self.threshold + beyond[kept]
            todo = todo[~kept]
        return out

    def propose(self, count: int, bits: BitSource) -> NDArray[np.int64]:
        """How far beyond the threshold: g."""
        return geometric(self.proposal, count, bits)

    def keep(self, beyond: NDArray[np.int64], bits: BitSource) -> NDArray[np.bool_]:
        """Which of these proposals stay."""
        if self.variance is None:
            return np.ones(len(beyond), dtype=np.bool_)
        # |g + r - c| is small against σ²/c wherever e^-γ is not next to 0, so the float is as good as `coins` asks
        chances = np.exp(-((beyond + self.offset).astype(np.float64) ** 2) / (2 * float(self.variance)))
        return coins(chances, partial(self._kept_exactly, beyond, self.variance), bits)

    def _kept_exactly(self, beyond: NDArray[np.int64], variance: Fraction, place: int) -> Enclosure:
        return exponential_chance(Fraction((int(beyond[place]) + self.offset) ** 2) / (2 * variance))


def tail(mechanism: Mechanism, scale: float, threshold: int) -> Tail:
    """The tail of this noise, from this threshold on."""
    if threshold < 1:
        raise ValueError(f"a tail starts at 1 or further out, not at {threshold}")
    if mechanism == "discrete laplace":
        return Tail(threshold, Fraction(scale), 0, None, partial(_laplace_crosses, Fraction(scale), threshold))
    centre = max(threshold, ceil(scale))
    variance = Fraction(scale) ** 2
    return Tail(threshold, variance / centre, threshold - centre, variance, partial(_gaussian_proposes, scale, threshold, centre))


def _laplace_crosses(scale: Fraction, threshold: int, width: int) -> tuple[int, int]:
    """p^r/(1 + p) with p = e^(-1/b): here every proposal is kept, so this is P(X ≥ r) itself."""
    work = width + _GUARD
    low, high = _exp_between(threshold / scale, work)
    p_low, p_high = _exp_between(1 / scale, work)
    return _whole(low / (1 + p_high), high / (1 + p_low), width)


def _gaussian_proposes(sigma: float, threshold: int, centre: int, width: int) -> tuple[int, int]:
    """e^-x / (Z·(1 - e^(-c/σ²))) with x = c(2r - c)/2σ² and Z = Σ_k e^(-k²/2σ²)."""
    work = width + _GUARD
    variance = Fraction(sigma) ** 2
    exponent = Fraction(centre * (2 * threshold - centre)) / (2 * variance)
    low, high = _exp_between(abs(exponent), work)
    if exponent < 0:
        low, high = 1 / high, 1 / low
    mass_low, mass_high = gaussian_mass(sigma, work)
    fall_low, fall_high = _exp_between(centre / variance, work)
    return _whole(low / (mass_high * (1 - fall_low)), high / (mass_low * (1 - fall_high)), width)


def _exp_between(exponent: Fraction, width: int) -> tuple[Fraction, Fraction]:
    low = exp_down(exponent, width)
    return Fraction(low, 1 << width), Fraction(low + 2, 1 << width)


def _whole(low: Fraction, high: Fraction, width: int) -> tuple[int, int]:
    one = 1 << width
    return low.numerator * one // low.denominator, min(-(-high.numerator * one // high.denominator), one)


def crossing_chance(mechanism: Mechanism, scale: float, threshold: int) -> float:
    """P(X ≥ threshold), in floating point: to plan with public numbers, never to draw with."""
    if mechanism == "discrete laplace":
        return exp(-threshold / scale) / (1 + exp(-1 / scale))
    if scale > _SUMMED:
        return 0.5 * erfc((threshold - 0.5) / (scale * sqrt(2)))
    steps = np.arange(int(40 * scale) + 2, dtype=np.float64)
    beyond = np.exp(-(steps * (2.0 * threshold + steps)) / (2 * scale * scale)).sum()
    return float(exp(-threshold * threshold / (2 * scale * scale)) * beyond / _float_mass(scale))


def smallest_threshold(mechanism: Mechanism, scale: float, chance: float) -> int:
    """The smallest threshold that a cell at zero reaches with at most this probability."""
    return _first(lambda threshold: crossing_chance(mechanism, scale, threshold) <= chance)


def _first(holds: Callable[[int], bool]) -> int:
    """The first whole number from 1 on where this holds; from there on it always does."""
    low, high = 0, 1
    while not holds(high):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


@lru_cache(maxsize=16)
def _float_mass(sigma: float) -> float:
    low, high = gaussian_mass(sigma, 64)
    return float((low + high) / 2)
