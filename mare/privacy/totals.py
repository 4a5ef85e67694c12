"""`Totals`: what was spent in all, in the words of the promise."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from .rounding import up


@dataclass(frozen=True)
class Totals:
    """Upper bounds, per entity."""

    epsilon: float
    rho: float | None = None
    """The zCDP sum behind ε; None under pure ε, which has none."""
    delta_conversion: float = 0.0
    """From turning ρ into (ε, δ)."""
    delta_learning: float = 0.0
    """From learning domains."""
    delta_numeric: float = 0.0
    """From samplers that are not exactly their distribution."""

    @property
    def delta(self) -> float:
        return up(Fraction(self.delta_conversion) + Fraction(self.delta_learning) + Fraction(self.delta_numeric))
