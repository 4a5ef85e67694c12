"""Where noise comes from: 64-bit words from the operating system, or, in tests only, from a seed.

Every sampler draws from one of these and from nothing else. A seed that is known takes the noise off again, so
whatever a seeded source touched is NOT PRIVATE, and says so.
"""

from __future__ import annotations

import os
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Words = NDArray[np.uint64]


class BitSource(Protocol):
    """Independent, uniform 64-bit words."""

    @property
    def private(self) -> bool:
        """False when somebody could draw the same words again."""
        ...

    def words(self, count: int) -> Words: ...


class OsBits:
    """The operating system's generator (``os.urandom``): the only source for a release that leaves the house."""

    @property
    def private(self) -> bool:
        return True

    def words(self, count: int) -> Words:
        return np.frombuffer(os.urandom(8 * count), dtype=np.uint64)


class SeededBits:
    """The same words for the same seed. For tests, audits and experiments: it marks the release NOT PRIVATE."""

    def __init__(self, seed: int) -> None:
        self._stream = np.random.Philox(np.random.SeedSequence(seed))

    @property
    def private(self) -> bool:
        return False

    def words(self, count: int) -> Words:
        # random_raw, not a Generator: the words themselves, without numpy's samplers in between
        return np.asarray(self._stream.random_raw(count), dtype=np.uint64)


def coin_flips(count: int, bits: BitSource) -> NDArray[np.bool_]:
    """Fair coins, 64 from each word."""
    words = bits.words(-(-count // 64))
    return np.unpackbits(words.view(np.uint8))[:count].astype(np.bool_)
