"""Stable keys: a list of values can be learned without anybody's own value getting into it, but with probability δ.

Each entity names at most k₀ of its distinct values. One that names t of them gives each the weight 1/√t, so that an entity moves
all of them together by 1 in L2, however many it names: who holds one value speaks for it with a full voice, and k₀ can be large.
Weights are whole numbers of a unit, rounded down: t·⌊UNIT/√t⌋² ≤ UNIT².

A value that only one entity holds weighs w_t in D′ and is no candidate in D; it gets out if w_t + noise > T. T is such that for
every t up to k₀ any of the t does so with probability at most δ:

    P(noise > T - w_t) ≤ q_t = 1 - (1 - δ)^(1/t)

The noise is a discrete Gaussian, X, and P(X ≥ x) ≤ P(N(0, σ²) ≥ x - 1): Σ_{k≥x} e^(-k²/2σ²) is at most the integral from x - 1,
and Σ_k e^(-k²/2σ²) over all k is at least σ√2π (Poisson). The noise is drawn without any numerical error, because how many
values get some is a secret of the data, and an error counted per draw would tell it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from functools import lru_cache
from math import erfc, expm1, isqrt, log1p, sqrt

import numpy as np
from numpy.typing import NDArray

from mare.errors import InternalError, PrivacyError

from .noise import LARGEST_COUNT

Integers = NDArray[np.int64]

UNIT = 1 << 12
"""Units of a full voice."""
SMALLEST_DELTA = 1e-290
_CAREFUL = 1 + 2.0**-40
"""What floating point may be off by here, and far more."""


def shared_weight(named: int) -> int:
    """What each value weighs, in units, of an entity that names so many."""
    return isqrt(UNIT * UNIT // named)


@lru_cache(maxsize=256)
def key_threshold(sigma: float, per_entity: int, delta: float) -> int:
    """T: a value is released where its noisy weight is above. The smallest that the bound above allows; σ is in units too."""
    if not SMALLEST_DELTA <= delta < 1:
        raise PrivacyError(f"a list of values cannot be learned with a delta of {delta!r}.")
    return max(shared_weight(named) + _beyond(sigma, named, delta) for named in range(1, per_entity + 1))


def _beyond(sigma: float, named: int, delta: float) -> int:
    """The smallest x for which the bound says: none of so many noises is above x, but with probability δ."""
    chance = -expm1(log1p(-delta) / named) / _CAREFUL
    low, high = -1, 1
    while _tail(high, sigma) > chance:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if _tail(middle, sigma) <= chance else (middle, high)
    return high


def _tail(above: int, sigma: float) -> float:
    """At least P(X > above)."""
    return 0.5 * erfc(above / (sigma * sqrt(2)) / _CAREFUL) * _CAREFUL


def weighed(held: Mapping[int, Mapping[str, int]], per_entity: int) -> dict[str, int]:
    """The weight of each value, from how many entities hold it, by how many values these name."""
    weights: dict[str, int] = {}
    for named, counts in held.items():
        if not 1 <= named <= per_entity:
            raise InternalError(f"an entity names {named} values where it may name 1 to {per_entity}")
        for value, entities in counts.items():
            if not 1 <= entities < LARGEST_COUNT // UNIT:
                raise InternalError("a value is named by nobody, or by more than there can be")
            weights[value] = weights.get(value, 0) + entities * shared_weight(named)
    return weights


def canonical(weights: Mapping[str, int]) -> tuple[list[str], Integers]:
    """The values in one order that depends on nothing but themselves, and their weights."""
    values = sorted(weights)
    return values, np.array([weights[value] for value in values], dtype=np.int64)


def kept_keys(values: Sequence[str], noisy: Integers, threshold: int, most: int) -> tuple[list[str], Integers]:
    """Those above the threshold; of too many, those with the largest noisy weights. In canonical order, as they came."""
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
