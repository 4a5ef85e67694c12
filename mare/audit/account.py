"""The account made anew: what left the gate, by the tape, against what the ledger says was paid.

Every answer on the tape has its own charge in the ledger, every charge buys the noise that it got, and the sum fits the
budget. The formulas are written down here a second time on purpose: a slip in the accountant should not excuse itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from mare.privacy.budget import Budget
from mare.privacy.conversion import epsilon_from_rho
from mare.privacy.ledger import Charge, Ledger
from mare.privacy.tape import Query, Record


def account_faults(record: Record, ledger: Ledger, budget: Budget) -> list[str]:
    """Everything that does not add up; empty when all does."""
    queries = [entry.query for entry in record.entries]
    return [
        *_unpaid(queries, ledger.charges),
        *(fault for query in queries for fault in _underpaid(query, pure=budget.pure)),
        *_overspent(queries, budget),
    ]


def _unpaid(queries: Sequence[Query], charges: Sequence[Charge]) -> list[str]:
    """Every answer has its own charge, in the same order and of the same size."""
    paid = [(c.what, c.view, c.mechanism, c.sensitivity, c.scale, c.cost) for c in charges]
    # The tape counts in units of the answer, the ledger in rows.
    unit = [(q.sensitivity / q.denominator, q.scale / q.denominator) for q in queries]
    answered = [(q.what, q.view, q.mechanism, *in_rows, q.cost) for q, in_rows in zip(queries, unit, strict=True)]
    if paid == answered:
        return []
    return [f"{len(answered)} answers left and {len(paid)} charges stand in the ledger, and they are not the same ones"]


def _underpaid(query: Query, *, pure: bool) -> list[str]:
    """What this noise costs by the definition of its mechanism, in fractions, against what was charged."""
    squared = Fraction(query.sensitivity_squared) / Fraction(query.scale) ** 2
    # Under (ε, δ) ρ = (Δ/scale)²/2 for the Gaussian and for a choice; under pure ε Δ/b for the Laplace, 2Δ/b for a choice.
    due = squared * (4 if query.mechanism == "exponential choice" else 1)
    if due <= Fraction(query.cost) ** 2 if pure else squared / 2 <= Fraction(query.cost):
        return []
    return [f"{query.what} of {query.view}: noise of scale {query.scale:.6g} costs more than the {query.cost:.6g} charged"]


def _overspent(queries: Sequence[Query], budget: Budget) -> list[str]:
    """The sum of the charges against the budget of the plan."""
    total = float(sum(Fraction(query.cost) for query in queries))
    spent = total if budget.pure or not queries else epsilon_from_rho(total, budget.delta)
    if spent <= budget.epsilon * (1 + 1e-9):
        return []
    return [f"the charges add up to epsilon {spent:.6g}, the budget is {budget.epsilon:.6g}"]
