"""`Budget`: how much may be told about one entity, in all. Everything behind the gate is paid from one of these."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import isfinite

from mare.errors import BudgetError


@dataclass(frozen=True)
class Budget:
    """A promise per entity: adding or removing one changes the chance of any outcome by at most (ε, δ)."""

    epsilon: float
    """ε > 0: the factor e^ε by which any outcome may become more or less likely."""
    delta: float = 0.0
    """0 ≤ δ < 1: the chance that the factor does not hold. 0 is pure ε (Laplace noise); above it, zCDP (Gaussian noise)."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", _number("epsilon", self.epsilon))
        object.__setattr__(self, "delta", _number("delta", self.delta))
        if not (isfinite(self.epsilon) and self.epsilon > 0):
            raise BudgetError(f"epsilon is {self.epsilon}; it must be a finite number above 0 (usual values: 0.1 to 10).")
        if not 0 <= self.delta < 1:
            raise BudgetError(
                f"delta is {self.delta}; it must be at least 0 and below 1 (0 for pure epsilon, else well below 1 / number of "
                "entities, such as 1e-9)."
            )

    @property
    def pure(self) -> bool:
        """True when δ is 0: nothing but ε may be spent."""
        return self.delta == 0

    @property
    def epsilon_fraction(self) -> Fraction:
        """ε to spend: pure-ε accounting adds fractions, so nothing is lost to rounding."""
        return min(Fraction(self.epsilon), self.epsilon_written)

    @property
    def delta_fraction(self) -> Fraction:
        return min(Fraction(self.delta), self.delta_written)

    @property
    def epsilon_written(self) -> Fraction:
        """The decimal number that people mean: ten times 0.1 is 1, although ten times the float 0.1 is a hair more."""
        return Fraction(repr(self.epsilon))

    @property
    def delta_written(self) -> Fraction:
        return Fraction(repr(self.delta))


def _number(what: str, value: object) -> float:
    """Anything but a real number is refused here, so that no later comparison can pass by accident (NaN, True, "1")."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise BudgetError(f"{what} is {value!r}; it must be a number.")
    try:
        return float(value)
    except OverflowError:
        raise BudgetError(f"{what} is too large to be a number here; it must be finite.") from None
