"""How sure a number is: rates with their intervals, what exceeds a baseline, and "too wide to say".

Every attack and every score of the evaluation ends here. A rate is never shown alone: it stands beside the rate of someone
who did without the synthetic data, and beside the rate against people who were not in the data at all.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite, sqrt
from statistics import NormalDist
from typing import Literal

import numpy as np
from numpy.typing import NDArray

CONFIDENCE = 0.95
TOO_WIDE = 0.2
"""No sign of an excess is worth saying where more than this is ruled out."""

Verdict = Literal["above the baseline", "no sign", "too wide to say", "not measured"]


@dataclass(frozen=True)
class Rate:
    """A share or a mean between 0 and 1, with the half-width of its interval."""

    value: float
    error: float
    n: int
    """How many targets it was measured on."""

    @property
    def lower(self) -> float:
        return max(0.0, self.value - self.error)

    @property
    def upper(self) -> float:
        return min(1.0, self.value + self.error)

    def to_json(self) -> dict[str, object]:
        return {"value": self.value, "lower": self.lower, "upper": self.upper, "n": self.n}


@dataclass(frozen=True)
class Excess:
    """What an attack gains over the reference, as a share of what was left to gain: (attack - reference) / (1 - reference)."""

    value: float
    lower: float
    upper: float

    @property
    def verdict(self) -> Verdict:
        if not isfinite(self.value):
            return "not measured"
        if self.lower > 0:
            return "above the baseline"
        return "no sign" if self.upper <= TOO_WIDE else "too wide to say"

    def to_json(self) -> dict[str, object]:
        numbers = {"value": self.value, "lower": self.lower, "upper": self.upper}
        return {name: number if isfinite(number) else None for name, number in numbers.items()} | {"verdict": self.verdict}


def shared_confidence(figures: int, confidence: float = CONFIDENCE) -> float:
    """The confidence of each of so many intervals, so that all of them hold together with ``confidence`` (Bonferroni)."""
    return 1 - (1 - confidence) / max(1, figures)


def share(successes: int, n: int, confidence: float = CONFIDENCE, *, worth: float | None = None) -> Rate:
    """A share of successes with Wilson's interval, which stays honest at 0 and 1 and for small n. Where outcomes depend on each
    other, they are ``worth`` fewer independent ones (`independent_number`)."""
    if n == 0:
        return Rate(0.5, 0.5, 0)
    z, size, p = _z(confidence), n if worth is None else worth, successes / n
    middle = (p * size + z * z / 2) / (size + z * z)
    return Rate(middle, z / (size + z * z) * sqrt(size * p * (1 - p) + z * z / 4), n)


def independent_number(groups: NDArray[np.int64]) -> float:
    """How many independent outcomes those of groups are worth that come out alike: n² / Σ size²."""
    sizes = np.unique(groups, return_counts=True)[1].astype(np.float64)
    return float(sizes.sum() ** 2 / (sizes @ sizes)) if len(sizes) else 0.0


def mean(values: NDArray[np.float64], confidence: float = CONFIDENCE) -> Rate:
    """A mean of numbers between 0 and 1, as wide as Wilson's interval would be: never 0, also where all numbers are the same."""
    n = len(values)
    if n == 0:
        return Rate(0.5, 0.5, 0)
    z = _z(confidence)
    return Rate(float(values.mean()), z / (n + z * z) * sqrt(n * float(values.var()) + z * z / 4), n)


def excess(attack: Rate, reference: Rate) -> Excess:
    """With the errors of both rates propagated to first order, as if they were independent."""
    if not attack.n or not reference.n:
        return Excess(float("nan"), float("nan"), float("nan"))
    room = max(1.0 - reference.value, 1e-9)
    value = (attack.value - reference.value) / room
    error = sqrt((attack.error / room) ** 2 + (reference.error * (1 - attack.value) / room**2) ** 2)
    value, lower, upper = (min(max(bound, -1.0), 1.0) for bound in (value, value - error, value + error))
    return Excess(value, lower, upper)


def _z(confidence: float) -> float:
    return NormalDist().inv_cdf(0.5 + confidence / 2)
