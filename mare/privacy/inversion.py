"""Drawing by comparison: is a uniform number U below a threshold, and how many thresholds does it reach?

U is read lazily: 64 bits first, for all draws at once. Where those do not settle a comparison, more bits are read
for that one draw until they do. So a draw has exactly the distribution that its thresholds say, although they may
be irrational, at the price of one word a draw.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import NDArray

from .bits import BitSource, Words

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
        found = np.searchsorted(tops, words, side="left")
        here = tops[np.minimum(found, len(tops) - 1)] == words
        before = (found > 0) & (tops[np.maximum(found, 1) - 1] + np.uint64(1) == words)
        out[start : start + len(words)] = found
        for place in np.flatnonzero(here | before):
            uniform = LazyUniform(int(words[place]), bits)
            index = int(np.searchsorted(tops, words[place] - np.uint64(1), side="left")) if before[place] else int(found[place])
            last = int(np.searchsorted(tops, words[place], side="right"))
            while index < last and not uniform.below(partial(enclosure, index)):
                index += 1
            out[start + place] = index
    return out
