"""Sums that are exact, refusals that charge nothing, totals between the truth and the budget."""

from __future__ import annotations

from fractions import Fraction
from math import exp, inf, nan

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mare.errors import BudgetError
from mare.privacy.accountant import Accountant, Totals
from mare.privacy.budget import Budget
from mare.privacy.conversion import conversion_delta, down, epsilon_from_rho, learning_delta, numeric_delta, rho_from_budget, up

PURE, ZCDP = Budget(1.0, delta=0), Budget(1.0, 1e-9)

budgets = st.one_of(
    st.floats(0.01, 20).map(lambda epsilon: Budget(epsilon, 0)),
    st.builds(Budget, st.floats(0.01, 20), st.floats(-15, -2).map(lambda power: 10.0**power)),
)


def test_a_pure_budget_is_spent_in_epsilon_and_the_other_in_rho() -> None:
    assert (Accountant(PURE).unit, Accountant(PURE).total) == ("epsilon", 1)
    assert (Accountant(ZCDP).unit, Accountant(ZCDP).total) == ("rho", Fraction(rho_from_budget(ZCDP)))


def test_ten_tenths_are_counted_exactly() -> None:
    accountant = Accountant(PURE)
    for _ in range(9):
        accountant.charge(0.1)
    assert accountant.spent == 9 * Fraction(0.1)
    with pytest.raises(BudgetError, match="the budget cannot pay for this"):
        accountant.charge(0.1)  # ten times the float 0.1 is more than 1
    assert accountant.spent == 9 * Fraction(0.1)
    accountant.charge(down(accountant.left))
    assert accountant.totals() == Totals(epsilon=1.0)


def test_a_budget_already_spent_refuses_the_smallest_charge() -> None:
    accountant = Accountant(PURE)
    accountant.charge(1.0)
    with pytest.raises(BudgetError, match="cannot pay"):
        accountant.charge(5e-324)
    assert accountant.left == 0


@pytest.mark.parametrize("cost", [0.0, -0.1, nan, inf, True, "0.1", None])
def test_a_charge_that_is_none_is_refused(cost: object) -> None:
    accountant = Accountant(ZCDP)
    with pytest.raises(BudgetError, match="not one"):
        accountant.charge(cost)  # type: ignore[arg-type]
    assert accountant.spent == 0


@pytest.mark.parametrize("error", [-1e-30, 1.5, nan])
def test_a_numerical_error_that_is_none_is_refused(error: float) -> None:
    with pytest.raises(BudgetError, match="numerical error"):
        Accountant(ZCDP).charge(1e-6, error)


def test_nothing_spent_is_nothing_told() -> None:
    assert Accountant(PURE).totals() == Totals(epsilon=0.0)
    assert Accountant(ZCDP).totals() == Totals(epsilon=0.0, rho=0.0)


def test_rho_is_summed_before_it_is_converted() -> None:
    accountant = Accountant(ZCDP)
    accountant.charge(0.004)
    accountant.charge(0.006)
    totals = accountant.totals()
    assert totals.rho == up(Fraction(0.004) + Fraction(0.006))
    assert totals.epsilon == epsilon_from_rho(totals.rho, totals.delta_conversion)
    assert totals.delta == totals.delta_conversion < 1e-9


def test_numerical_error_is_paid_from_delta_and_swollen_by_e_to_the_epsilon() -> None:
    accountant = Accountant(ZCDP)
    accountant.charge(0.001, 1e-20)
    accountant.charge(0.001, 1e-20)
    totals = accountant.totals()
    assert totals.delta_numeric == pytest.approx(2e-20 * (1 + 2.718281828459045), rel=1e-9, abs=0)
    assert totals.delta_conversion < totals.delta <= 1e-9


def test_learning_is_paid_from_its_own_part_of_delta() -> None:
    accountant = Accountant(ZCDP)
    accountant.charge(0.001, delta=1e-11)
    accountant.charge(0.001, delta=5e-12)
    before = accountant.spent, accountant.learning_left
    with pytest.raises(BudgetError, match="is left for learning"):
        accountant.charge(0.001, delta=1e-12)
    assert (accountant.spent, accountant.learning_left) == before
    totals = accountant.totals()
    assert totals.delta_learning == up(Fraction(1e-11) + Fraction(5e-12))
    assert totals.delta_conversion + totals.delta_learning < totals.delta * (1 + 1e-15) <= 1e-9


@pytest.mark.parametrize("delta", [-1e-30, 1.0, nan])
def test_a_delta_that_is_none_is_refused(delta: float) -> None:
    with pytest.raises(BudgetError, match="a delta of"):
        Accountant(ZCDP).charge(1e-6, delta=delta)


def test_nothing_is_learned_with_pure_epsilon() -> None:
    accountant = Accountant(PURE)
    assert accountant.learning_left == 0
    with pytest.raises(BudgetError, match="left for learning"):
        accountant.charge(0.1, delta=1e-300)
    assert accountant.spent == 0


@pytest.mark.parametrize("delta", [1e-9, 3e-7, 0.1, 0.3])
def test_the_parts_of_delta_never_exceed_it(delta: float) -> None:
    """Each is rounded down, so that their exact sum stays below the number that was written and below the float."""
    budget = Budget(1.0, delta)
    parts = Fraction(conversion_delta(budget)) + Fraction(learning_delta(budget)) + Fraction(numeric_delta(budget))
    assert parts <= budget.delta_fraction
    assert parts > budget.delta_fraction * (1 - Fraction(1, 2**50))


def test_ten_tenths_are_a_whole_as_they_are_written() -> None:
    """Ten budgets of 0.1 together may spend 1, not ten times the float 0.1, which is a hair more."""
    assert sum(Accountant(Budget(0.1, delta=0)).total for _ in range(10)) <= 1


def test_within_a_wider_promise_numerical_error_counts_more() -> None:
    narrow, wide = Accountant(ZCDP), Accountant(ZCDP, promised=3.0)
    for accountant in (narrow, wide):
        accountant.charge(0.001, 1e-20)
    assert narrow.totals().delta_numeric == pytest.approx(1e-20 * (1 + exp(1)), rel=1e-9, abs=0)
    assert wide.totals().delta_numeric == pytest.approx(1e-20 * (1 + exp(3)), rel=1e-9, abs=0)
    assert Accountant(ZCDP, promised=0.5)._promised == 1.0


def test_an_error_that_delta_cannot_pay_is_refused_and_nothing_is_charged() -> None:
    accountant = Accountant(ZCDP)
    assert not accountant.affords_error(1e-12)
    with pytest.raises(BudgetError, match="numerical error"):
        accountant.charge(0.001, 1e-12)
    assert accountant.spent == 0
    assert accountant.affords_error(1e-13)


@pytest.mark.parametrize("budget", [PURE, Budget(650.0, 1e-9), Budget(100.0, 1e-9)], ids=["pure", "e^650", "e^100"])
def test_where_no_error_can_be_paid_noise_must_be_exact(budget: Budget) -> None:
    accountant = Accountant(budget)
    assert accountant.affords_error(0.0)
    assert not accountant.affords_error(1e-38)


@given(budgets, st.lists(st.tuples(st.floats(0.001, 1), st.floats(0, 1e-18)), max_size=30))
def test_totals_never_exceed_the_budget(budget: Budget, wanted: list[tuple[float, float]]) -> None:
    accountant = Accountant(budget)
    for share, error in wanted:
        cost = down(Fraction(share) * accountant.total)
        before = accountant.spent
        try:
            accountant.charge(cost, 0.0 if budget.pure else error)
        except BudgetError:
            assert accountant.spent == before
    totals = accountant.totals()
    assert totals.epsilon <= budget.epsilon
    assert totals.delta <= budget.delta
    assert Fraction(totals.epsilon if budget.pure else totals.rho or 0.0) >= accountant.spent


@given(st.fractions())
def test_rounding_goes_the_private_way(value: Fraction) -> None:
    assert Fraction(down(value)) <= value <= Fraction(up(value))
    assert up(value) - down(value) <= abs(float(value)) * 2.0**-51


def test_the_parts_of_delta_add_up_upwards() -> None:
    totals = Totals(epsilon=1.0, rho=0.1, delta_conversion=1e-9, delta_learning=1e-10, delta_numeric=1e-30)
    assert Fraction(totals.delta) >= Fraction(1e-9) + Fraction(1e-10) + Fraction(1e-30)
    assert totals.delta == pytest.approx(1.1e-9, rel=1e-9, abs=0)
