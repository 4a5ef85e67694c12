"""`Estimate`: a noisy number, and how noisy it is."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Estimate:
    """A number that was paid for, with the standard deviation of its noise."""

    value: float
    deviation: float
