"""The discrete Laplace distribution, exact and unbounded: P(X = x) ∝ e^(-|x|/b). The noise of pure ε.

A finite table cannot be pure ε: it makes some outcome impossible. So the magnitude, a geometric variable with
p = e^(-1/b), is drawn digit by digit. By memorylessness the digits of a geometric number are independent:

    g = d₀ + B·d₁ + B²·d₂ + … + B^L·h,    P(dᵢ = d) ∝ p^(d·Bⁱ),  d < B,    h geometric with p^(B^L)

and h itself is M·q + r, where q counts how often a draw fell beyond the table of r. Each table is read by
`inversion`, which reads more bits on a tie, so every probability is exactly the one above.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from .bits import BitSource, Words, coin_flips
from .fixed_point import exp_down, powers_down
from .inversion import thresholds_reached

LARGEST_SCALE = 2.0**40
SATURATION = 2**62
"""Magnitudes beyond this are reported as this. The curator clamps its sums lower still, so this is post-processing."""

_DIGIT = 1 << 10
_WORK = 256
_BEYOND = 12
"""The table of the last digit ends where about e^-12 of the draws are left: those start again, one table further."""


@dataclass(frozen=True, eq=False)
class GeometricTable:
    """Thresholds of one digit: t_k = P(d ≤ k). With a ``modulus`` the digit is cut to d < modulus."""

    rate: Fraction
    """P(d ≥ k) = e^(-k·rate), before the cut."""
    modulus: int | None
    tops: Words

    def draw(self, count: int, bits: BitSource) -> NDArray[np.int64]:
        return thresholds_reached(self.tops, self.enclosure, count, bits)

    def enclosure(self, index: int, width: int) -> tuple[int, int]:
        """Integers around t_index·2^width."""
        work = width + 64
        low, high = _one_minus_exp(self.rate * (index + 1), work)
        if self.modulus is not None:
            whole_low, whole_high = _one_minus_exp(self.rate * self.modulus, work)
            low, high = (low << work) // whole_high, -((-high << work) // whole_low)
        return low >> 64, (high >> 64) + 1


def discrete_laplace(scale: float, count: int, bits: BitSource) -> NDArray[np.int64]:
    """``count`` independent draws with P(X = x) ∝ e^(-|x|/scale)."""
    out = np.empty(count, dtype=np.int64)
    todo = np.arange(count)
    while len(todo):
        magnitude = geometric(scale, len(todo), bits)
        negative = coin_flips(len(todo), bits)
        out[todo] = np.where(negative, -magnitude, magnitude)
        # 0 would come up twice, as +0 and as -0: the second is drawn again
        todo = todo[negative & (magnitude == 0)]
    return out


def geometric(scale: float, count: int, bits: BitSource) -> NDArray[np.int64]:
    """``count`` independent draws with P(g ≥ k) = e^(-k/scale), saturating at `SATURATION`."""
    if not 0 < scale <= LARGEST_SCALE:
        raise ValueError(f"the scale must be above 0 and at most {LARGEST_SCALE:g}, it is {scale}")
    digits, last = _tables(scale)
    total = np.zeros(count, dtype=np.int64)
    weight = 1
    for table in digits:
        total += weight * table.draw(count, bits)
        weight *= _DIGIT
    total += weight * _unbounded(last, count, bits, SATURATION // weight)
    return np.clip(total, 0, SATURATION)


def _unbounded(table: GeometricTable, count: int, bits: BitSource, most: int) -> NDArray[np.int64]:
    """M·q + r: a draw beyond the M thresholds adds M and starts again."""
    size = len(table.tops)
    out = np.zeros(count, dtype=np.int64)
    todo = np.arange(count)
    while len(todo):
        drawn = table.draw(len(todo), bits)
        out[todo] = np.minimum(out[todo] + drawn, most)
        todo = todo[(drawn == size) & (out[todo] < most)]
    return out


@lru_cache(maxsize=256)
def _tables(scale: float) -> tuple[list[GeometricTable], GeometricTable]:
    rate = 1 / Fraction(scale)
    digits = []
    while rate * _DIGIT < 1:  # the scale is still far above one table: split a digit off
        digits.append(_table(rate, _DIGIT - 1, _DIGIT))
        rate *= _DIGIT
    return digits, _table(rate, max(1, int(_BEYOND / rate)), None)


def _table(rate: Fraction, size: int, modulus: int | None) -> GeometricTable:
    powers = powers_down(rate, size + 1, _WORK)[1:]
    # a power is less than 3k + 1 units too low, so 1 - power is taken that much lower: a top is never above the truth
    lows = [max(0, below - power) for below, power in zip(range((1 << _WORK) - 4, 0, -3), powers, strict=False)]
    if modulus is None:
        tops = [low >> (_WORK - 64) for low in lows]
    else:
        whole = _one_minus_exp(rate * modulus, _WORK)[1]
        tops = [(low << 64) // whole for low in lows]
    return GeometricTable(rate, modulus, np.array(tops, dtype=np.uint64))


def _one_minus_exp(exponent: Fraction, width: int) -> tuple[int, int]:
    """Integers around (1 - e^-exponent)·2^width."""
    power = exp_down(exponent, width)
    return (1 << width) - power - 2, (1 << width) - power
