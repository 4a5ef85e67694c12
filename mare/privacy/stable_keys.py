"""Stable keys: a list of values can be learned without anybody's own value getting into it, but with probability δ.

Each entity names at most k₀ of its distinct values, each once. A value that only one entity holds counts 1 in D′ and is no
candidate in D; it gets out if 1 + noise > T. T is such that any of the k₀ does so with probability at most δ:

    P(noise > T - 1) ≤ q = 1 - (1 - δ)^(1/k₀)

The noise is a discrete Gaussian, X, and P(X ≥ T) ≤ P(N(0, σ²) ≥ T - 1): Σ_{k≥T} e^(-k²/2σ²) is at most the integral from T - 1,
and Σ_k e^(-k²/2σ²) over all k is at least σ√2π (Poisson). The noise is drawn without any numerical error, because how many
values get some is a secret of the data, and an error counted per draw would tell it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from math import erfc, expm1, log1p, sqrt

import numpy as np
from numpy.typing import NDArray

from mare.errors import PrivacyError

Integers = NDArray[np.int64]

SMALLEST_DELTA = 1e-290
_CAREFUL = 1 + 2.0**-40
"""What floating point may be off by here, and far more."""


def key_threshold(sigma: float, per_entity: int, delta: float) -> int:
    """T: a value is released where its noisy count is above. The smallest that the bound above allows."""
    if not SMALLEST_DELTA <= delta < 1:
        raise PrivacyError(f"a list of values cannot be learned with a delta of {delta!r}. Nothing was charged.")
    chance = -expm1(log1p(-delta) / per_entity) / _CAREFUL
    low, high = 0, 1
    while _tail(high, sigma) > chance:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if _tail(middle, sigma) <= chance else (middle, high)
    return high


def _tail(threshold: int, sigma: float) -> float:
    """At least P(X ≥ threshold)."""
    return 0.5 * erfc((threshold - 1) / (sigma * sqrt(2)) / _CAREFUL) * _CAREFUL


def canonical(counts: Mapping[str, int]) -> tuple[list[str], Integers]:
    """The values in one order that depends on nothing but themselves, and their counts."""
    values = sorted(counts)
    return values, np.array([counts[value] for value in values], dtype=np.int64)


def kept_keys(values: Sequence[str], noisy: Integers, threshold: int, most: int) -> tuple[list[str], Integers]:
    """Those above the threshold; of too many, those with the largest noisy counts. In canonical order, as they came."""
    above = np.flatnonzero(noisy > threshold)
    largest = above[np.argsort(-noisy[above], kind="stable")][:most]
    kept = np.sort(largest)
    return [values[place] for place in kept], noisy[kept]


def identifiers(values: Sequence[str]) -> Integers:
    """A number for each value, for the tape, which keeps numbers."""
    digests = [hashlib.blake2b(value.encode(errors="surrogatepass"), digest_size=8).digest() for value in values]
    return np.array([int.from_bytes(digest, "big", signed=True) for digest in digests], dtype=np.int64)


def as_numbers(values: Sequence[str]) -> Integers:
    """Texts as an array of numbers: what crosses the mechanism boundary is arrays."""
    return np.frombuffer(json.dumps(list(values)).encode(), dtype=np.uint8).astype(np.int64)


def as_texts(numbers: Integers) -> tuple[str, ...]:
    return tuple(json.loads(numbers.astype(np.uint8).tobytes().decode()))
