"""How many releases of the same data fit under one promise. Arithmetic only; the file that remembers them is `budget_file`.

A cap with δ = 0 takes pure releases only, and adds their ε. A cap (E, D) with D > 0 takes all kinds, by one rule that is
fixed when the cap is: a Rényi filter at the one order α that is best for (E, D) (Feldman and Zrnic 2021; with events that
fail, Whitehouse, Ramdas, Rogers and Wu 2023). In units of ρ, which are Rényi divergences of order α divided by α:

    a release with (ε, δ) costs its whole ρ;    a pure one costs min(ε/α, ε²/2);    together at most ρ(E, D)
    and the δ of all releases add up to at most D, which pays for their learning and their numerical error

Because the sum is turned into ε once, ten releases with ε = 1 cost far less than ε = 10. Releases that are all pure may
instead add up their ε to E. Allowing either adds nothing to δ: outcomes reached by pure releases alone obey E with δ = 0,
the others obey (E, D), and every outcome is of one kind. Fits may run at the same time: what counts is each single charge, and
those come one after the other whatever fit they belong to.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import floor, log10, sqrt

from mare.errors import BudgetError

from .budget import Budget
from .conversion import conversion_delta, down, epsilon_from_rho, order_from_budget, rho_from_budget, up


@dataclass(frozen=True)
class Cap:
    """What all releases together promise, and the rule by which they add up. The rule is kept with the file, not worked out
    again: another machine's logarithm must not change what was granted."""

    budget: Budget
    rho: float
    """All there is, in units of ρ; 0 under a pure cap, which has none."""
    order: float
    """α of the Rényi filter; 0 under a pure cap."""

    @classmethod
    def of(cls, budget: Budget) -> Cap:
        if budget.pure:
            return cls(budget, 0.0, 0.0)
        return cls(budget, rho_from_budget(budget), order_from_budget(budget))

    def rho_of(self, budget: Budget) -> float:
        """What a release costs, in units of ρ, rounded up."""
        if self.budget.pure:
            return 0.0
        if not budget.pure:
            return rho_from_budget(budget)
        epsilon = budget.epsilon_written
        return up(min(epsilon / Fraction(self.order), epsilon * epsilon / 2))


@dataclass(frozen=True)
class Composed:
    """What releases cost together under one cap."""

    cap: Cap
    epsilon: Fraction = Fraction(0)
    """Σ ε, as if nothing better than adding were known."""
    rho: Fraction = Fraction(0)
    """Σ in units of ρ."""
    delta: Fraction = Fraction(0)
    """Σ δ."""

    def plus(self, budget: Budget, rho: float) -> Composed:
        """With one more release, whether it fits or not."""
        return Composed(
            self.cap, self.epsilon + budget.epsilon_written, self.rho + Fraction(rho), self.delta + budget.delta_written
        )

    @property
    def pure(self) -> bool:
        """True while every release was pure."""
        return self.delta == 0

    @property
    def fits(self) -> bool:
        """Is the cap kept?"""
        cap = self.cap.budget
        if self.pure and self.epsilon <= cap.epsilon_written:
            return True
        return not cap.pure and self.rho <= Fraction(self.cap.rho) and self.delta <= cap.delta_written

    @property
    def promise(self) -> Budget | None:
        """What these releases promise together, rounded up, never more than the cap; None where nothing was released."""
        if self.epsilon == 0:
            return None
        cap = self.cap.budget
        added_up = Budget(min(up(self.epsilon), cap.epsilon), 0.0)
        if cap.pure:
            return added_up
        converted = Budget(min(epsilon_from_rho(up(self.rho), conversion_delta(cap)), cap.epsilon), cap.delta)
        return added_up if self.pure and added_up.epsilon <= converted.epsilon else converted

    @property
    def share(self) -> float:
        """The fraction of the cap that is used up."""
        cap = self.cap.budget
        added_up = self.epsilon / cap.epsilon_written
        if cap.pure:
            return float(added_up)
        filtered = max(self.rho / Fraction(self.cap.rho), self.delta / cap.delta_written)
        return float(min(added_up, filtered) if self.pure else filtered)

    def allows(self, budget: Budget) -> bool:
        """Is the cap still kept with one more release? One that by itself says more than the cap is never allowed."""
        return budget.epsilon <= self.cap.budget.epsilon and self.plus(budget, self.cap.rho_of(budget)).fits

    def left(self, delta: float) -> float:
        """The ε that one more release with this δ may have, in four digits; 0 where none fits."""
        rest = Fraction(self.cap.rho) - self.rho
        bounds = [0.0]
        if delta == 0 and self.pure:
            bounds.append(float(self.cap.budget.epsilon_written - self.epsilon))
        if rest > 0 and delta == 0:
            bounds += [float(rest) * self.cap.order, sqrt(2 * rest)]
        elif rest > 0:
            bounds.append(epsilon_from_rho(down(rest), conversion_delta(Budget(1.0, delta))))
        for candidate in _four_digits(min(max(bounds), self.cap.budget.epsilon)):
            if self.allows(Budget(candidate, delta)):
                return candidate
        return 0.0


def require(spent: Composed, budget: Budget, label: str) -> None:
    """Refuse a release that does not fit, and say how much would."""
    if spent.allows(budget):
        return
    cap = spent.cap.budget
    head = (
        f"the budget {label!r} (epsilon = {cap.epsilon:g}, delta = {cap.delta:g}) cannot pay for epsilon = {budget.epsilon:g}, "
        f"delta = {budget.delta:g}. Nothing was reserved."
    )
    if cap.pure and not budget.pure:
        raise BudgetError(f"{head} A cap with delta = 0 pays for pure epsilon only: fit with delta = 0.")
    if spent.delta + budget.delta_written > cap.delta_written:
        rest = float(cap.delta_written - spent.delta)
        raise BudgetError(f"{head} The deltas of its releases add up, and {rest:.4g} of delta is left.")
    left = spent.left(budget.delta)
    if left == 0:
        raise BudgetError(f"{head} Nothing is left of it.")
    raise BudgetError(f"{head} What is left pays for epsilon = {left:g} at most, at this delta.")


def _four_digits(value: float) -> list[float]:
    """The number in four digits, and a little less; none where there is none above 0."""
    if value <= 0:
        return []
    digits = 3 - floor(log10(value))
    nearest = round(value, digits)
    return [nearest, round(nearest - 10.0**-digits, digits)]
