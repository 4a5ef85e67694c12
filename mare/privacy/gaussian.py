"""The discrete Gaussian distribution: P(X = x) ∝ e^(-x²/2σ²) on the integers. The noise of zCDP.

Two samplers for one distribution:

- a table of 128-bit thresholds of |X|, fast, whose distance from the true distribution is counted (`total_variation`)
  and paid for from δ;
- rejection from the discrete Laplace (Canonne, Kamath, Steinke 2020, Algorithm 3), exact, for a σ whose table would
  cost more than it saves, and for an ε so large that no counted error would be small enough.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from math import log, sqrt

import numpy as np
from numpy.typing import NDArray

from .bits import BitSource, Words, coin_flips
from .fixed_point import exp_down
from .inversion import Enclosure, coins, exponential_chance, thresholds_reached
from .laplace import discrete_laplace

WIDTH = 128
"""Bits of a threshold."""

LARGEST_SIGMA = 2.0**30


@dataclass(frozen=True, eq=False)
class GaussianTable:
    """Thresholds of |X|. X beyond the table never comes up."""

    sigma: float
    tops: Words
    """The first 64 bits of each threshold: they settle all draws but a few in 2^64."""
    total_variation: Fraction
    """At most this far from the true distribution, per draw: rounding, truncation and all."""

    @cached_property
    def thresholds(self) -> list[int]:
        """Entry k is P(|X| ≤ k)·2^128, rounded down."""
        return _thresholds(*_sums(self.sigma)[:2], WIDTH)

    def draw(self, count: int, bits: BitSource) -> NDArray[np.int64]:
        magnitude = thresholds_reached(self.tops, self._enclosure, count, bits)
        return np.where(coin_flips(count, bits), -magnitude, magnitude)

    def _enclosure(self, index: int, width: int) -> tuple[int, int]:
        threshold = self.thresholds[index]
        if width >= WIDTH:
            exact = threshold << (width - WIDTH)
            return exact, exact
        return threshold >> (WIDTH - width), -(-threshold >> (WIDTH - width))


def table_size(sigma: float) -> int:
    """Magnitudes that the table of this σ holds: what is beyond weighs less than 2^-128 in all."""
    return int(sigma * sqrt(2 * log(2) * (WIDTH + 8))) + 2


@lru_cache(maxsize=128)
def gaussian_table(sigma: float) -> GaussianTable:
    """The table of this σ, and how far it may be off."""
    sums, total, weight, bits = _sums(sigma)
    most, variance = len(sums), Fraction(sigma) ** 2
    tops = np.array(_thresholds(sums, total, 64), dtype=np.uint64)
    recurrence = Fraction(most * (most + 1) * (most + 2), 1 << bits)
    # Σ_{k>K} w_k ≤ w_K·Σ_j e^(-jK/σ²) ≤ w_K·σ²/K, on both sides
    tail = 2 * Fraction(weight + 2 * most * (most + 1), 1 << bits) * variance / most
    quantised = Fraction(2 * (most + 1), 1 << WIDTH)
    # the normaliser is at least 1 (w₀), so an error of E in the weights is a total variation of at most E
    return GaussianTable(sigma, tops, recurrence + tail + quantised)


def _sums(sigma: float) -> tuple[list[int], int, int, int]:
    """Of each k below the table's size K, Σ_{|j| ≤ k} w_j; the same up to K, w_K, and F, the bits of all of these.

    Built by w₀ = 1, w_{k+1} = w_k·r_k, r_{k+1} = r_k·q with q = e^(-1/σ²), r₀ = √q, in fixed point.

    All are rounded down. In units of 2^-F: q and r₀ are less than 2 too low, so r_k is less than 3k + 2 and w_k less than
    3k(k + 1)/2 too low (each factor is at most 1; each product adds one floor). Summed over |k| ≤ K that is less than
    K(K + 1)(K + 2), for which the 3·log₂K guard bits of F make room.
    """
    _check(sigma)
    most = table_size(sigma)
    bits = WIDTH + 3 * most.bit_length() + 8
    variance = Fraction(sigma) ** 2
    q, r = exp_down(1 / variance, bits), exp_down(1 / (2 * variance), bits)
    weight = 1 << bits
    sums, total = [], weight
    for _ in range(most):
        sums.append(total)
        weight = (weight * r) >> bits
        r = (r * q) >> bits
        total += 2 * weight  # |X| = k stands for k and -k
    return sums, total, weight, bits


def _thresholds(sums: list[int], total: int, width: int) -> list[int]:
    most = (1 << width) - 1
    return [min((value << width) // total, most) for value in sums]


def rejected_gaussian(sigma: float, count: int, bits: BitSource) -> NDArray[np.int64]:
    """Exact draws: Y discrete Laplace of scale t ≈ σ, kept with probability e^-γ, γ = (|Y| - σ²/t)²/2σ²."""
    _check(sigma)
    scale = int(sigma) + 1
    variance = Fraction(sigma) ** 2
    out = np.empty(count, dtype=np.int64)
    todo = np.arange(count)
    while len(todo):
        drawn = discrete_laplace(float(scale), len(todo), bits)
        kept = _kept(drawn, scale, variance, bits)
        out[todo[kept]] = drawn[kept]
        todo = todo[~kept]
    return out


def _kept(drawn: NDArray[np.int64], scale: int, variance: Fraction, bits: BitSource) -> NDArray[np.bool_]:
    """U < e^-γ, decided exactly."""
    gamma = (np.abs(drawn) - float(variance / scale)) ** 2 / (2 * float(variance))

    def exactly(place: int) -> Enclosure:
        return exponential_chance((abs(int(drawn[place])) - variance / scale) ** 2 / (2 * variance))

    return coins(np.exp(-gamma), exactly, bits)


def _check(sigma: float) -> None:
    if not 0 < sigma <= LARGEST_SIGMA:
        raise ValueError(f"sigma must be above 0 and at most {LARGEST_SIGMA:g}, it is {sigma}")
