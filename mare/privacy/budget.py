"""`Budget`: how much may be told about one entity, in all. Everything behind the gate is paid from one of these.

`Pledge` is what a release says about the budget file that its budget was taken from. `plainly` says what an ε is worth, in words;
its thresholds stand here and are explained once, in docs/guides/for-the-one-who-signs.md ("What ε means").

Who is half sure that somebody is in the data may be 73 % sure after a release at ε = 1, 99.3 % at 5 and 99.995 % at 10
(e^ε / (1 + e^ε)). At 20 the doubt that is left is one in 500 million: a bound that excludes nothing is no promise.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import exp, isfinite

from mare.errors import BudgetError

DEFAULT_DELTA = 1e-9
"""Far below one in the number of entities of any hospital; 0 asks for pure ε instead."""


@dataclass(frozen=True)
class Budget:
    """A promise per entity: adding or removing one changes the chance of any outcome by at most (ε, δ)."""

    epsilon: float
    """ε > 0: the factor e^ε by which any outcome may become more or less likely."""
    delta: float = DEFAULT_DELTA
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


@dataclass(frozen=True)
class Pledge:
    """Public: a label that somebody chose, a number and the cap."""

    label: str
    """Of the budget file."""
    id: str
    """Of the reservation there."""
    cap: Budget
    """What all releases of that file promise together."""


WEAK = 10.0
NEXT_TO_NOTHING = 20.0
LARGE_DELTA = 1e-4
"""Ten thousand patients, one of them told: more than that is no accident."""


def factor(epsilon: float) -> str:
    """e^ε as people read it."""
    return f"{exp(epsilon):.3g}" if epsilon < 700 else f"e^{epsilon:.4g}"


def plainly(epsilon: float, delta: float = 0.0) -> str | None:
    """What must be said about an ε and a δ; None where their numbers may speak for themselves."""
    if delta > LARGE_DELTA:
        word = f"delta = {delta:g} is large: with a chance of that size one person's data may be told as it is"
        return word if (rest := plainly(epsilon)) is None else f"{rest}; and {word}"
    if epsilon > NEXT_TO_NOTHING:
        return (
            f"epsilon = {epsilon:g} promises next to nothing: the odds that somebody is in the data may move by a factor of "
            f"{factor(epsilon)}. The noise still hides something, but nobody can say how much"
        )
    if epsilon > WEAK:
        return f"epsilon = {epsilon:g} is weak: the odds that somebody is in the data may move by a factor of {factor(epsilon)}"
    return None
