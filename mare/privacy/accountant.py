"""`Accountant`: adds up what was spent, and refuses what no longer fits. Nothing is charged on a refusal.

Under (ε, δ) it adds ρ (zCDP) and turns the sum into ε once, at the end; under pure ε it adds ε. Both sums are exact
fractions. δ is set apart at the start, in three parts that are never mixed: the conversion from ρ, learning that may
fail (approximate zCDP: each such charge brings a δ of its own, and they add up), and the samplers' numerical error.

Costs may be chosen as the answers come in, within these fixed totals: a privacy filter. For pure ε that is Rogers, Roth,
Ullman and Vadhan 2016; for Rényi divergences of a fixed order, hence zCDP, Feldman and Zrnic 2021; for approximate
zCDP Whitehouse, Ramdas, Rogers and Wu 2023. So the promise is the budget, not what happened to be spent of it.
"""

from __future__ import annotations

from fractions import Fraction
from math import exp, inf, isfinite, nextafter
from typing import Literal

from mare.errors import BudgetError

from .budget import Budget
from .conversion import conversion_delta, epsilon_from_rho, learning_delta, numeric_delta, rho_from_budget
from .rounding import up
from .totals import Totals

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
                f"{float(self.total):.6g} is left. Nothing was charged. Ask for a smaller share, or plan with a larger budget."
            )
        if not self.affords_error(total_variation):
            raise BudgetError(
                "the numerical error of the noise no longer fits into delta. Nothing was charged. "
                "Plan with a larger delta, or measure fewer cells."
            )
        if Fraction(delta) > self.learning_left:
            raise BudgetError(
                f"the budget cannot pay for this: it needs {delta:.3g} of delta, and {float(self.learning_left):.3g} is left for "
                "learning. Nothing was charged. Declare the values in the schema, or plan with a larger delta."
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
