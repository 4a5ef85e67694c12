"""`Accountant`: adds up what was spent, and refuses what no longer fits: then nothing is spent.

Under (ε, δ) it adds ρ (zCDP) and turns the sum into ε once, at the end; under pure ε it adds ε. Both sums are exact
fractions. δ is set apart at the start, in three parts that are never mixed: the conversion from ρ, learning that may
fail (approximate zCDP: each such charge brings a δ of its own, and they add up), and the samplers' numerical error.

Costs may be chosen as the answers come in, within these fixed totals: a privacy filter. For pure ε that is Rogers, Roth,
Ullman and Vadhan 2016; for Rényi divergences of a fixed order, hence zCDP, Feldman and Zrnic 2021; for approximate
zCDP Whitehouse, Ramdas, Rogers and Wu 2023. So the promise is the budget, not what happened to be spent of it.

`least_cost`: what a mechanism costs at least. The set is closed: an unknown one is refused, never guessed at (fail closed).

The curator says what it charges; here the charge is worked out again from sensitivity and scale, in exact
fractions, so that neither a slip in the curator nor an edited ledger can pass an answer off as cheaper than it was.

| mechanism | ε under pure ε | ρ under (ε, δ) | why |
|---|---|---|---|
| discrete gaussian | refused | Δ₂²/2σ² | Canonne, Kamath and Steinke 2020, Theorem 14 |
| discrete laplace | Δ₁/b | (Δ₁/b)²/2 | ε-DP is ε²/2-zCDP: Bun and Steinke 2016, Proposition 1.4 |
| exponential choice | ε₀ = 2Δ/b | ε₀²/8 | bounded range (Cesar and Rogers 2021); b scales the Gumbel noise |
| stable keys | refused | Δ₂²/2σ², and its own δ | approximate zCDP: Bun and Steinke 2016, Section 8 |
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from math import exp, inf, isfinite, nextafter
from typing import Literal

from mare.errors import BudgetError, PrivacyError

from .budget import Budget
from .conversion import conversion_delta, epsilon_from_rho, learning_delta, numeric_delta, rho_from_budget, up

Kind = Literal["discrete gaussian", "discrete laplace", "exponential choice", "stable keys"]
Norm = Literal["L1", "L2", "max"]
"""How far one entity moves the answer: summed, Euclidean, or at most (any one quality of a choice)."""


@dataclass(frozen=True)
class _Mechanism:
    norm: Norm
    rho: Callable[[Fraction], Fraction]
    """zCDP, from sensitivity / scale."""
    epsilon: Callable[[Fraction], Fraction] | None = None
    """Pure ε, from sensitivity / scale; None where there is none."""
    learns: bool = False
    """True when it fails with a δ of its own."""


def _half_square(ratio: Fraction) -> Fraction:
    return ratio * ratio / 2


_MECHANISMS: dict[str, _Mechanism] = {
    "discrete gaussian": _Mechanism("L2", _half_square),
    "discrete laplace": _Mechanism("L1", _half_square, lambda ratio: ratio),
    "exponential choice": _Mechanism("max", _half_square, lambda ratio: 2 * ratio),  # (2Δ/b)²/8 = (Δ/b)²/2
    "stable keys": _Mechanism("L2", _half_square, learns=True),
}


def least_cost(kind: str, norm: str, sensitivity: float, scale: float, *, delta: float, pure: bool) -> Fraction:
    """The ε (pure) or ρ that one such answer costs. What cannot be paid for under this budget, or at all, is refused."""
    mechanism = _MECHANISMS.get(kind)
    if mechanism is None:
        raise PrivacyError(f"there is no mechanism {kind!r}. Mechanisms: {', '.join(_MECHANISMS)}.")
    if norm != mechanism.norm:
        raise PrivacyError(f"{kind}: the sensitivity is in {norm}; it must be in {mechanism.norm}.")
    for what, value in (("sensitivity", sensitivity), ("scale", scale)):
        if isinstance(value, bool) or not isinstance(value, int | float) or not isfinite(value) or value <= 0:
            raise PrivacyError(f"{kind}: the {what} is {value!r}; it must be a finite number above 0.")
    if mechanism.learns != (delta > 0):
        wanted = "a delta of its own, above 0" if mechanism.learns else "no delta of its own"
        raise PrivacyError(f"{kind}: it needs {wanted}; it has {delta!r}.")
    ratio = Fraction(sensitivity) / Fraction(scale)
    if not pure:
        return mechanism.rho(ratio)
    if mechanism.epsilon is None:
        raise PrivacyError(f"{kind}: it cannot be paid with pure epsilon. Plan with a delta above 0.")
    return mechanism.epsilon(ratio)


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


Unit = Literal["rho", "epsilon"]

_LARGEST_EXPONENT = 600.0


class Accountant:
    """Spent and left of one budget. It knows numbers only: who spends on what is the ledger's."""

    def __init__(self, budget: Budget, promised: float | None = None) -> None:
        self.budget = budget
        self._promised = budget.epsilon if promised is None else max(budget.epsilon, promised)
        """The ε of the widest promise that this budget is a part of: numerical error is swollen by e to that."""
        self.unit: Unit = "epsilon" if budget.pure else "rho"
        self.total = budget.epsilon_fraction if budget.pure else Fraction(rho_from_budget(budget))
        """All there is to spend, in `unit`."""
        self._spent = Fraction(0)
        self._total_variation = Fraction(0)
        self._learning = Fraction(0)

    @property
    def spent(self) -> Fraction:
        return self._spent

    @property
    def left(self) -> Fraction:
        return self.total - self._spent

    @property
    def learning_left(self) -> Fraction:
        """The part of δ that is left for learning; 0 under pure ε, where nothing can be learned."""
        return Fraction(learning_delta(self.budget)) - self._learning

    def affords_error(self, total_variation: float) -> bool:
        """Can δ still pay for noise that is so far from its distribution? If not, the noise has to be exact."""
        return self._numeric_delta(self._total_variation + Fraction(total_variation)) <= numeric_delta(self.budget)

    def check_cost(self, cost: float) -> None:
        """Refuse what is no number that could be charged."""
        if isinstance(cost, bool) or not isinstance(cost, int | float) or not isfinite(cost) or cost <= 0:
            raise BudgetError(f"a charge of {cost!r} is not one: it must be a finite number above 0.")

    def charge(self, cost: float, total_variation: float = 0.0, delta: float = 0.0) -> None:
        """Spend ``cost`` (in `unit`), the numerical error of its noise, and the ``delta`` with which learning may fail.

        Or refuse, and change nothing.
        """
        self.check_cost(cost)
        if not 0 <= total_variation <= 1:
            raise BudgetError(f"a numerical error of {total_variation!r} is not one: it must be between 0 and 1.")
        if not 0 <= delta < 1:
            raise BudgetError(f"a delta of {delta!r} is not one: it must be at least 0 and below 1.")
        if Fraction(cost) > self.left:
            raise BudgetError(
                f"the budget cannot pay for this: it costs {self.unit} = {cost:.6g}, and {float(self.left):.6g} of "
                f"{float(self.total):.6g} is left. Ask for a smaller share, or plan with a larger budget."
            )
        if not self.affords_error(total_variation):
            raise BudgetError(
                "the numerical error of the noise no longer fits into delta. Plan with a larger delta, or measure fewer cells."
            )
        if Fraction(delta) > self.learning_left:
            raise BudgetError(
                f"the budget cannot pay for this: it needs {delta:.3g} of delta, and {float(self.learning_left):.3g} is left for "
                "learning. Declare the values in the schema, or plan with a larger delta."
            )
        self._spent += Fraction(cost)
        self._learning += Fraction(delta)
        self._total_variation += Fraction(total_variation)

    def totals(self) -> Totals:
        """What was spent so far, in the words of the promise; never below the truth, never above the budget."""
        spent = up(self._spent)
        if self.budget.pure:
            return Totals(epsilon=spent)
        conversion = conversion_delta(self.budget) if self._spent else 0.0
        return Totals(
            epsilon=epsilon_from_rho(spent, conversion) if self._spent else 0.0,
            rho=spent,
            delta_conversion=conversion,
            delta_learning=up(self._learning),
            delta_numeric=self._numeric_delta(self._total_variation),
        )

    def _numeric_delta(self, total_variation: Fraction) -> float:
        """What an error t in each distribution costs: P′ ≤ P + t ≤ e^ε·Q + δ + t ≤ e^ε·(Q′ + t) + δ + t, so (1 + e^ε)·t."""
        if total_variation == 0:
            return 0.0
        if self.budget.pure or self._promised > _LARGEST_EXPONENT:
            return inf
        return up(total_variation * Fraction(nextafter(1 + exp(self._promised), inf) * (1 + 2.0**-50)))
