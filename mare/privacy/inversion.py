"""Drawing by comparison: is a uniform number U below a threshold, and how many thresholds does it reach?

U is read lazily: 64 bits first, for all draws at once. Where those do not settle a comparison, more bits are read
for that one draw until they do. So a draw has exactly the distribution that its thresholds say, although they may
be irrational, at the price of one word a draw.

`coins` have any bias, and are thrown by the million: is U below a probability that may be irrational? Floating
point only brackets the probability, 2^-40 to either side: thousands of times what it can be
wrong by. A word inside the bracket (2 in 2^40) is compared in integers, with as many bits as that takes. So the rounding of a
float decides nothing, ever, and a coin costs one word.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import partial

import numpy as np
from numpy.typing import NDArray

from .bits import BitSource, Words
from .fixed_point import exp_down

Enclosure = Callable[[int], tuple[int, int]]
"""``enclosure(width)``: integers low ≤ t·2^width ≤ high around a threshold t, a few apart at any width."""

_CHUNK = 1 << 20
"""Draws at a time: bounds the memory, changes nothing else."""


class LazyUniform:
    """A uniform number in [0, 1) of which only as many bits are drawn as somebody needed."""

    def __init__(self, first_word: int, bits: BitSource) -> None:
        self._bits = bits
        self._value = first_word
        self._width = 64

    def below(self, threshold: Enclosure) -> bool:
        while True:
            low, high = threshold(self._width)
            if self._value + 1 <= low:
                return True
            if self._value >= high:
                return False
            self._value = (self._value << 64) | int(self._bits.words(1)[0])
            self._width += 64


def thresholds_reached(
    tops: Words, enclosure: Callable[[int, int], tuple[int, int]], count: int, bits: BitSource
) -> NDArray[np.int64]:
    """For ``count`` independent uniform U: how many of the ascending thresholds t₀ ≤ t₁ ≤ … are ≤ U.

    ``tops[k]`` is the whole part of t_k·2^64, or one less: top ≤ t·2^64 < top + 2. ``enclosure(k, width)`` is asked
    only where that does not settle the comparison.
    """
    out = np.empty(count, dtype=np.int64)
    for start in range(0, count, _CHUNK):
        words = bits.words(min(_CHUNK, count - start))
        reached = np.searchsorted(tops, words, side="left")
        here = tops[np.minimum(reached, len(tops) - 1)] == words
        before = (reached > 0) & (tops[np.maximum(reached, 1) - 1] + np.uint64(1) == words)
        out[start : start + len(words)] = reached
        for place in np.flatnonzero(here | before):
            uniform = LazyUniform(int(words[place]), bits)
            index = int(np.searchsorted(tops, words[place] - np.uint64(1), side="left")) if before[place] else int(reached[place])
            last = int(np.searchsorted(tops, words[place], side="right"))
            while index < last and not uniform.below(partial(enclosure, index)):
                index += 1
            out[start + place] = index
    return out


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
