"""Counter-based randomness: a stream for every (seed, purpose, block of entities), whatever ran before it.

The sampling seed is free: nothing here touches the privacy guarantee, a sample is post-processing of the release.
"""

from __future__ import annotations

from hashlib import blake2b

import numpy as np

BLOCK = 4096
"""Entities that share a stream. A constant of the method, not a setting: another one gives other rows."""


def stream(seed: int, purpose: str, block: int) -> np.random.Generator:
    """The generator of one purpose (a column group, the decoding of a table) for one block of entities."""
    key = int.from_bytes(blake2b(f"mare\x00{seed}\x00{purpose}".encode(), digest_size=16).digest(), "little")
    # The block is in the upper half of Philox's counter: streams of 2^128 draws each, which never meet.
    return np.random.Generator(np.random.Philox(key=key, counter=block << 128))
