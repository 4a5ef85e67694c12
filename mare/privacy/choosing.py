"""Choosing one of many candidates by a score from the data: the exponential mechanism and the noisy maximum, exactly.

With d_i = max(u) - u_i and λ = ε/2Δ both come down to coins of bias e^(-λ·d_i), so no floating-point Gumbel noise is needed:

- exponential mechanism, P(i) ∝ e^(λ·u_i): draw a candidate uniformly, throw its coin, again until one falls on heads;
- noisy maximum, u_i + exponential noise of scale 1/λ: the same *without* putting candidates back (permute and flip, McKenna and
  Sheldon 2020; that it is the noisy maximum, Ding et al. 2021). Never worse than the exponential mechanism at the same ε.

Either is ε-DP if one entity moves every score by at most Δ. Under zCDP the exponential mechanism costs ε²/8, for its log odds
move within a range of ε (Cesar and Rogers 2021); the noisy maximum has no such range and costs ε²/2. So: exponential mechanism
for budgets (ε, δ), noisy maximum for pure ε.

The contract: scores are whole numbers in units of a public grid, and Δ is in the same units. Who rounds real-valued scores to the
grid adds what rounding can add (one unit) to Δ beforehand. The candidates are public.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from math import isfinite
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from mare.errors import PrivacyError

from .bits import BitSource, Words
from .inversion import Enclosure, coins, exponential_chance

Rule = Literal["exponential mechanism", "noisy maximum"]

_RULES: tuple[Rule, ...] = ("exponential mechanism", "noisy maximum")

MOST_CANDIDATES = 10**6
LARGEST_SCORE = 2**61

_STEEPEST = Fraction(2**64)
"""λ beyond this is lowered to it: more private, and the best score wins anyhow."""


@dataclass(frozen=True)
class Choice:
    """One choice: by which rule, at which ε, for scores that one entity moves by how much."""

    rule: Rule
    epsilon: Fraction
    sensitivity: Fraction
    """Δ, in units of the scores."""

    @property
    def steepness(self) -> Fraction:
        """λ = ε/2Δ."""
        return min(self.epsilon / (2 * self.sensitivity), _STEEPEST)

    def choose(self, scores: NDArray[np.int64], bits: BitSource) -> int:
        """The place of the candidate that was chosen."""
        _check_scores(scores)
        behind = scores.max() - scores
        if self.rule == "exponential mechanism":
            return _with_replacement(behind, self.steepness, bits)
        return _without_replacement(behind, self.steepness, bits)


def prepare_choice(rule: Rule, epsilon: float | Fraction, sensitivity: int | Fraction) -> Choice:
    """Checked before anything is charged."""
    if rule not in _RULES:
        raise PrivacyError(f"there is no rule {rule!r} to choose by. Rules: {', '.join(_RULES)}.")
    if not (isfinite(epsilon) and epsilon > 0):
        raise PrivacyError(f"a choice with epsilon = {epsilon} was asked; it must be a finite number above 0.")
    if not (isfinite(sensitivity) and sensitivity > 0):
        raise PrivacyError(f"the sensitivity of the scores is {sensitivity}; it must be a finite number above 0.")
    return Choice(rule, Fraction(epsilon), Fraction(sensitivity))


def _with_replacement(behind: NDArray[np.int64], steepness: Fraction, bits: BitSource) -> int:
    while True:
        # so many at once that the best, whose coin always falls on heads, is likely among them
        drawn = _uniform(len(behind), len(behind) + 64, bits)
        heads = _coins(behind[drawn], steepness, bits)
        if heads.any():
            return int(drawn[heads.argmax()])


def _without_replacement(behind: NDArray[np.int64], steepness: Fraction, bits: BitSource) -> int:
    order = _permutation(len(behind), bits)
    return int(order[_coins(behind[order], steepness, bits).argmax()])


def _coins(behind: NDArray[np.int64], steepness: Fraction, bits: BitSource) -> NDArray[np.bool_]:
    heads = coins(np.exp(-float(steepness) * behind), partial(_exactly, behind, steepness), bits)
    return np.asarray(heads | (behind == 0))


def _exactly(behind: NDArray[np.int64], steepness: Fraction, place: int) -> Enclosure:
    return exponential_chance(steepness * int(behind[place]))


def _uniform(below: int, count: int, bits: BitSource) -> NDArray[np.int64]:
    """Up to ``count`` (half of them, on average, at worst) uniform numbers below this: those beyond it are thrown away."""
    if below == 1:
        return np.zeros(count, dtype=np.int64)
    drawn = bits.words(count) >> np.uint64(64 - (below - 1).bit_length())
    return drawn[drawn < below].astype(np.int64)


def _permutation(size: int, bits: BitSource) -> NDArray[np.int64]:
    """Every order is as likely as any other: that of random words, drawn again if two of them are equal."""
    while True:
        words: Words = bits.words(size)
        order = np.argsort(words)
        ordered = words[order]
        if (ordered[1:] > ordered[:-1]).all():
            return order


def _check_scores(scores: NDArray[np.int64]) -> None:
    """Messages name no score: they may end up in a log."""
    if scores.dtype != np.int64 or scores.ndim != 1:
        raise PrivacyError(f"scores are one int64 array, on a public grid, not {scores.dtype} of shape {scores.shape}.")
    if not 1 <= len(scores) <= MOST_CANDIDATES:
        raise PrivacyError(f"a choice has 1 to {MOST_CANDIDATES:,} candidates, not {len(scores):,}.")
    if scores.min() <= -LARGEST_SCORE or scores.max() >= LARGEST_SCORE:
        raise PrivacyError("a score is beyond 2^61: it overflowed, and nothing is chosen.")
