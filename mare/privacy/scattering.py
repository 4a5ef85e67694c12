"""Which of m cells are hit, when each is hit on its own with probability p? m up to 2^63, p as small as it likes.

How many are hit is binomial, which ones is uniform without replacement; both come out here together, exactly, in
ascending order, at a cost that follows the hits and not the cells. Two steps:

1. p is irrational. Hit with a probability a/2^t that is a little larger, and keep each hit with p·2^t/a (`coins`).
2. Cut the cells into blocks of 2^s. The number of hits of a block is Bin(2^s, a/2^t), about a dozen, read from a small
   table by `inversion`; the hits of a block are the first so many distinct numbers of a stream of s-bit numbers, which
   is a uniform choice without replacement. Hits beyond the last cell are dropped: the others do not mind.

Geometric gaps from hit to hit would be exact as well, but take a digit per ten bits of the gap, and a sum that can overflow.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache, partial

import numpy as np
from numpy.typing import NDArray

from .bits import BitSource, Words
from .inversion import Enclosure, LazyUniform, coins, thresholds_reached

LARGEST_TABLE = 2**63
"""Cells: every index still fits into an int64."""

_DIGITS = 8
_FINEST = 320
"""A probability below about 2^-320 is met by a rate of 2^-320, and by a coin that hardly ever falls on heads."""
_AVERAGE_BITS = 4
"""A block expects between 2^(4-1) and 2^4 hits, if it is not all there is."""
_BEYOND = 40
"""The table of a block's hits ends where 2^-40 of the blocks are left: those go on one hit at a time."""
_GUARD = 256
_BLOCKS = 1 << 16
"""Blocks at a time: bounds the memory, changes nothing else."""


@dataclass(frozen=True)
class Rate:
    """The probability numerator / 2^bits."""

    numerator: int
    bits: int

    @property
    def certain(self) -> bool:
        return self.numerator == 1 << self.bits

    @property
    def block_bits(self) -> int:
        """s: a block has 2^s cells."""
        return min(self.bits - _AVERAGE_BITS, 63)


def successes(cells: int, chance: Enclosure, bits: BitSource) -> Iterator[NDArray[np.int64]]:
    """The cells that are hit, ascending, in chunks: each cell on its own, with exactly this probability."""
    rate = rate_above(chance)
    low, high = kept_share(chance, rate, 64)
    share = (low + high) * 2.0**-65
    for hits in scatter(cells, rate, bits):
        kept = coins(np.full(len(hits), share), lambda _: partial(kept_share, chance, rate), bits)
        yield hits[kept]


def rate_above(chance: Enclosure) -> Rate:
    """The smallest a/2^t with a of about eight bits that is not below this probability."""
    highest = max(1, min(chance(_FINEST)[1], 1 << _FINEST))
    # 2^(length - 1) ≤ highest < 2^length, so a is at most 2^8, and at least 2^7
    bits = _FINEST + _DIGITS - highest.bit_length()
    if highest == 1 << _FINEST:
        return Rate(1 << _DIGITS, _DIGITS)
    return Rate(-(-(highest << bits) >> _FINEST), bits)


def kept_share(chance: Enclosure, rate: Rate, width: int) -> tuple[int, int]:
    """The share of the hits at this rate that stay: chance / rate, between two integers."""
    low, high = chance(width + rate.bits)
    return low // rate.numerator, min(-(-high // rate.numerator), 1 << width)


def scatter(cells: int, rate: Rate, bits: BitSource) -> Iterator[NDArray[np.int64]]:
    """The cells that are hit when each is hit with exactly this rate; ascending, in chunks."""
    if not 0 <= cells <= LARGEST_TABLE:
        raise ValueError(f"there can be 0 to 2^63 cells, not {cells}")
    side = rate.block_bits
    blocks = -(-cells >> side)
    for first in range(0, blocks, _BLOCKS):
        count = min(_BLOCKS, blocks - first)
        if rate.certain:
            yield np.arange(first << side, min((first + count) << side, cells), dtype=np.int64)
            continue
        places = _distinct(first, block_table(rate).draw(count, bits), side, bits)
        inside = np.searchsorted(places, np.uint64(cells))
        yield places[:inside].astype(np.int64)


def _distinct(first: int, sizes: NDArray[np.int64], side: int, bits: BitSource) -> Words:
    """For each block as many distinct cells as it was hit, in ascending order."""
    blocks = np.arange(len(sizes), dtype=np.uint64) + np.uint64(first)
    places = np.empty(0, dtype=np.uint64)
    missing = sizes
    while missing.any():
        within = bits.words(int(missing.sum())) >> np.uint64(64 - side)
        drawn = (np.repeat(blocks, missing) << np.uint64(side)) | within
        # a cell that came up twice counts once, and the block draws again: the first n distinct of a uniform stream
        places = np.sort(np.concatenate([places, drawn]))
        places = places[np.concatenate([[True], places[1:] != places[:-1]])]
        owners = (places >> np.uint64(side)) - np.uint64(first)
        missing = sizes - np.bincount(owners.astype(np.int64), minlength=len(sizes))
    return places


@dataclass(frozen=True, eq=False)
class BlockTable:
    """Thresholds of the number N of hits in one block: entry k is P(N ≤ k). For a rate below 1."""

    rate: Rate
    tops: Words

    def draw(self, count: int, bits: BitSource) -> NDArray[np.int64]:
        drawn = thresholds_reached(self.tops, self.enclosure, count, bits)
        for place in np.flatnonzero(drawn == len(self.tops)):
            while drawn[place] < self._cells and not self._stops(int(drawn[place]), bits):
                drawn[place] += 1
        return drawn

    def enclosure(self, index: int, width: int) -> tuple[int, int]:
        """Integers around P(N ≤ index)·2^width."""
        return self.cumulative(index + 1, width)[-1]

    def cumulative(self, most: int, width: int) -> list[tuple[int, int]]:
        """The first thresholds, by P(0) = (1 - p)^n and P(k + 1)/P(k) = (n - k)/(k + 1)·p/(1 - p), floor and ceiling."""
        work = width + _GUARD
        cells, hit, miss = self._cells, self.rate.numerator, self._all - self.rate.numerator
        low = (miss << work) >> self.rate.bits
        high = -((-miss << work) >> self.rate.bits)
        for _ in range(self.rate.block_bits):
            low, high = (low * low) >> work, -((-high * high) >> work)
        sums, below, above = [], 0, 0
        for k in range(most):
            below, above = below + low, above + high
            sums.append((below >> _GUARD, min(-(-above >> _GUARD), 1 << width)))
            low = low * (cells - k) * hit // ((k + 1) * miss)
            high = -(-high * (cells - k) * hit // ((k + 1) * miss))
        return sums

    def hazard(self, hits: int, width: int) -> tuple[int, int]:
        """Integers around P(N = hits | N ≥ hits)·2^width, as 1 / (1 + P(hits + 1)/P(hits) + …)."""
        work = width + 64
        low = high = low_sum = high_sum = 1 << work
        hit, miss = self.rate.numerator, self._all - self.rate.numerator
        k = hits
        while k < self._cells:
            top, bottom = (self._cells - k) * hit, (k + 1) * miss
            low, high = low * top // bottom, -(-high * top // bottom)
            low_sum, high_sum, k = low_sum + low, high_sum + high, k + 1
            if high <= 2 and 2 * top <= bottom:  # from here on every ratio is at most 1/2
                high_sum += high
                break
        return (1 << (width + work)) // high_sum, -(-(1 << (width + work)) // low_sum)

    def _stops(self, hits: int, bits: BitSource) -> bool:
        return LazyUniform(int(bits.words(1)[0]), bits).below(partial(self.hazard, hits))

    @property
    def _cells(self) -> int:
        return 1 << self.rate.block_bits

    @property
    def _all(self) -> int:
        return 1 << self.rate.bits


@lru_cache(maxsize=64)
def block_table(rate: Rate) -> BlockTable:
    empty = BlockTable(rate, np.empty(0, dtype=np.uint64))
    most = min(1 << rate.block_bits, 128)
    tops = [low for low, _ in empty.cumulative(most, 64)]
    enough = [k for k, top in enumerate(tops, start=1) if (1 << 64) - top <= 1 << (64 - _BEYOND)]
    return BlockTable(rate, np.array(tops[: enough[0]] if enough else tops, dtype=np.uint64))
