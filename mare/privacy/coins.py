"""Coins of any bias, thrown by the million: is U below a probability that may be irrational?

Floating point only brackets the probability, 2^-40 to either side: thousands of times what it can be wrong by. A
word inside the bracket (2 in 2^40) is compared in integers, with as many bits as that takes. So the rounding of a
float decides nothing, ever, and a coin costs one word.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from .bits import BitSource
from .fixed_point import exp_down
from .inversion import Enclosure, LazyUniform

_BRACKET = 2.0**-40


def coins(chances: NDArray[np.float64], exact: Callable[[int], Enclosure], bits: BitSource) -> NDArray[np.bool_]:
    """Heads with probability t_i, for each place i. ``chances`` are the t_i within 2^-45; ``exact(i)`` encloses t_i."""
    words = bits.words(len(chances))
    uniform = words.astype(np.float64) * 2.0**-64
    heads = uniform < chances
    for place in np.flatnonzero(np.abs(uniform - chances) <= _BRACKET):
        heads[place] = LazyUniform(int(words[place]), bits).below(exact(int(place)))
    return heads


def exponential_chance(exponent: Fraction) -> Enclosure:
    """e^-exponent, for an exponent of at least 0, between two integers at any width."""

    def enclosure(width: int) -> tuple[int, int]:
        low = exp_down(exponent, width)
        return low, min(low + 2, 1 << width)

    return enclosure
