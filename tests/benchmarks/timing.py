"""Ratios, not seconds: machines differ and are shared, so mare and its reference take turns in one run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from statistics import median
from time import perf_counter

Work = Callable[[], object]
NO_BAR = float("inf")
"""Of a figure that is shown, and asked of nobody."""


@dataclass(frozen=True)
class Ratio:
    """How many times as long mare takes as the reference (median of the rounds), with the bar it should stay under."""

    name: str
    reference: str
    value: float
    bar: float
    seconds: float

    @property
    def met(self) -> bool:
        return self.value <= self.bar


def seconds(work: Work) -> float:
    start = perf_counter()
    work()
    return perf_counter() - start


def compare(name: str, ours: Work, reference: Work, against: str, bar: float, rounds: int = 5) -> Ratio:
    """Warm both up once, then alternate, so that a noisy neighbour hits both."""
    ours()
    reference()
    pairs = [(seconds(ours), seconds(reference)) for _ in range(rounds)]
    return Ratio(name, against, median(a / b for a, b in pairs), bar, median(a for a, _ in pairs))
