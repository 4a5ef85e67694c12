"""Values as 64 bits that look random: rows with the same values get the same sum, and others hardly ever do."""

from __future__ import annotations

from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from .features import AT_ONCE, Values

Hashes = NDArray[np.uint64]
_FIRST, _SECOND = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9)


def hashed_values(held: Values, column: str) -> Hashes:
    """Of each row, a number of its value in this column: the same value in another has another."""
    hashed = np.zeros(len(held), dtype=np.uint64)
    if held.numbers is not None:
        salt = np.uint64(_hashed("", column))
        for start in range(0, len(held), AT_ONCE):
            numbers = held.numbers[start : start + AT_ONCE] + 0.0  # one zero, and below one NaN
            np.copyto(numbers, np.nan, where=np.isnan(numbers))
            hashed[start : start + AT_ONCE] = scrambled(numbers.view(np.uint64) ^ salt)
    if held.words is not None:
        words = np.array([_hashed(word, column) for word in (*held.dictionary, "")], dtype=np.uint64)
        hashed = hashed + words[held.words]  # the last stands for -1, which is NULL
    return hashed


def scrambled(bits: Hashes) -> Hashes:
    """Every bit decided by every other."""
    mixed: Hashes = bits >> np.uint64(31)
    mixed ^= bits
    mixed *= _SECOND
    mixed ^= mixed >> np.uint64(29)
    mixed *= _FIRST
    return mixed


def _hashed(word: str, column: str) -> int:
    return int.from_bytes(blake2b(f"{column}\0{word}".encode(), digest_size=8).digest(), "little")
