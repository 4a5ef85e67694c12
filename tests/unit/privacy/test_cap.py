"""How releases add up under one cap: soundly, usefully, and as people write numbers."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mare.errors import BudgetError
from mare.privacy.budget import Budget
from mare.privacy.cap import Cap, Composed, require
from mare.privacy.conversion import conversion_delta, epsilon_from_rho, order_from_budget, rho_from_budget
from tests.conftest import examples


def taken(cap: Budget, *budgets: Budget) -> Composed:
    """What these releases come to, each of them allowed."""
    spent = Composed(Cap.of(cap))
    for budget in budgets:
        require(spent, budget, "the cap")
        spent = spent.plus(budget, spent.cap.rho_of(budget))
    return spent


epsilons = st.floats(0.01, 10).map(lambda value: round(value, 3))
powers = st.integers(-12, -4).map(lambda power: 10.0**power)
approximate = st.builds(Budget, epsilons, powers)
any_budget = st.one_of(epsilons.map(lambda epsilon: Budget(epsilon, 0)), approximate)


@pytest.mark.parametrize(
    "cap", [Budget(1.0, delta=0), Budget(1.0, 1e-9), Budget(0.1, 1e-5), Budget(10.0, 1e-12), Budget(0.3, delta=0)]
)
def test_a_release_as_large_as_the_cap_fits_once(cap: Budget) -> None:
    spent = taken(cap, cap)
    assert spent.share == 1
    assert spent.left(cap.delta) == 0
    with pytest.raises(BudgetError):
        require(spent, Budget(0.001, cap.delta), "the cap")


def test_ten_releases_with_epsilon_one_cost_far_less_than_ten() -> None:
    spent = taken(Budget(10.0, 1e-8), *[Budget(1.0, 1e-9)] * 10)
    promise = spent.promise
    assert promise is not None
    assert 3.1 < promise.epsilon < 3.2
    assert promise.delta == 1e-8


@pytest.mark.parametrize(("whole", "part", "times"), [(1.0, 0.1, 10), (0.3, 0.1, 3), (0.7, 0.07, 10)])
def test_pure_epsilons_add_up_as_they_are_written(whole: float, part: float, times: int) -> None:
    spent = taken(Budget(whole, delta=0), *[Budget(part, delta=0)] * times)
    assert spent.promise == Budget(whole, delta=0)
    with pytest.raises(BudgetError, match="Nothing is left of it"):
        require(spent, Budget(1e-9, delta=0), "the cap")


def test_the_deltas_of_releases_add_up() -> None:
    spent = taken(Budget(10.0, 1e-9), *[Budget(0.1, 1e-10)] * 10)
    with pytest.raises(BudgetError, match="deltas of its releases add up, and 0 of delta is left"):
        require(spent, Budget(0.1, 1e-10), "the cap")
    assert spent.left(1e-10) == 0


def test_releases_that_are_all_pure_may_fill_a_cap_that_has_a_delta() -> None:
    spent = taken(Budget(1.0, 1e-9), *[Budget(0.25, delta=0)] * 4)
    assert spent.promise == Budget(1.0, delta=0)
    assert spent.share == 1
    with pytest.raises(BudgetError, match="Nothing is left"):
        require(spent, Budget(0.01, 1e-10), "the cap")


def test_many_small_pure_releases_cost_less_than_their_sum() -> None:
    spent = taken(Budget(3.0, 1e-6), *[Budget(0.01, delta=0)] * 400)
    assert spent.epsilon == 4
    promise = spent.promise
    assert promise is not None
    assert promise.epsilon < 1.2
    assert promise.delta == 1e-6


def test_pure_releases_are_mixed_in_at_the_cheaper_of_two_prices() -> None:
    cap = Cap.of(Budget(1.0, 1e-9))
    assert Fraction(cap.rho_of(Budget(0.001, delta=0))) >= Fraction(1, 2 * 10**6)
    assert cap.rho_of(Budget(0.001, delta=0)) == pytest.approx(0.001**2 / 2, rel=1e-9, abs=0)
    assert cap.rho_of(Budget(0.5, delta=0)) == pytest.approx(0.5 / cap.order, rel=1e-9, abs=0)
    spent = taken(Budget(1.0, 1e-9), Budget(0.5, 1e-10), Budget(0.3, delta=0))
    promise = spent.promise
    assert promise is not None
    assert 0.7 < promise.epsilon < 1
    assert promise.delta == 1e-9


def test_a_pure_cap_pays_for_pure_releases_only() -> None:
    with pytest.raises(BudgetError, match="A cap with delta = 0 pays for pure epsilon only"):
        require(Composed(Cap.of(Budget(1.0, delta=0))), Budget(0.1, 1e-12), "the cap")


def test_no_single_release_may_say_more_than_the_cap() -> None:
    """By its rho (1.06, 1e-10) would fit under (1, 1e-9); but nobody should have to explain that."""
    spent = Composed(Cap.of(Budget(1.0, 1e-9)))
    assert spent.plus(Budget(1.06, 1e-10), spent.cap.rho_of(Budget(1.06, 1e-10))).fits
    with pytest.raises(BudgetError, match="pays for epsilon = 1 at most"):
        require(spent, Budget(1.06, 1e-10), "the cap")


def test_a_refusal_names_the_cap_the_wish_and_what_would_fit() -> None:
    spent = taken(Budget(2.0, 1e-8), Budget(1.0, 1e-9), Budget(1.0, 1e-9))
    with pytest.raises(BudgetError) as refused:
        require(spent, Budget(2.0, 1e-9), "hospital 2026")
    message = str(refused.value)
    assert "'hospital 2026' (epsilon = 2, delta = 1e-08)" in message
    assert "epsilon = 2, delta = 1e-09" in message
    assert "Nothing was reserved" in message
    left = spent.left(1e-9)
    assert f"pays for epsilon = {left:g} at most" in message
    require(spent, Budget(left, 1e-9), "hospital 2026")


def test_nothing_taken_promises_nothing() -> None:
    spent = Composed(Cap.of(Budget(1.0, 1e-9)))
    assert spent.promise is None
    assert spent.share == 0
    assert (spent.left(1e-9), spent.left(0.0)) == (1.0, 1.0)


def test_a_cap_that_cannot_pay_for_anything_is_refused() -> None:
    with pytest.raises(BudgetError, match="too small"):
        Cap.of(Budget(1e-200, 1e-200))


@given(approximate)
def test_the_order_of_the_filter_is_worth_the_whole_cap(cap: Budget) -> None:
    """At order α a Rényi divergence of αρ gives (E, D): ε = αρ + (log(1/δ) - log α)/(α - 1) + log(1 - 1/α) ≤ E."""
    from math import log, log1p

    alpha, rho = order_from_budget(cap), rho_from_budget(cap)
    epsilon = alpha * rho - (log(conversion_delta(cap)) + log(alpha)) / (alpha - 1) + log1p(-1 / alpha)
    assert epsilon <= cap.epsilon
    assert epsilon == pytest.approx(epsilon_from_rho(rho, conversion_delta(cap)), rel=1e-9)


@settings(max_examples=examples(30))
@given(any_budget, st.lists(any_budget, max_size=8))
def test_whatever_is_allowed_keeps_the_cap(cap: Budget, wishes: list[Budget]) -> None:
    spent = Composed(Cap.of(cap))
    for wish in wishes:
        if spent.allows(wish):
            spent = spent.plus(wish, spent.cap.rho_of(wish))
        else:
            with pytest.raises(BudgetError, match="Nothing was reserved"):
                require(spent, wish, "the cap")
    promise = spent.promise
    assert spent.fits
    assert 0 <= spent.share <= 1
    if promise is not None:
        assert promise.epsilon <= cap.epsilon
        assert promise.delta <= cap.delta


@settings(max_examples=examples(30))
@given(any_budget, st.lists(any_budget, max_size=3), powers)
def test_what_is_said_to_be_left_can_be_taken_and_hardly_more(cap: Budget, wishes: list[Budget], delta: float) -> None:
    spent = Composed(Cap.of(cap))
    for wish in wishes:
        if spent.allows(wish):
            spent = spent.plus(wish, spent.cap.rho_of(wish))
    for of_delta in (0.0, delta):
        left = spent.left(of_delta)
        if left > 0:
            assert spent.allows(Budget(left, of_delta))
            assert left == cap.epsilon or not spent.allows(Budget(left * 1.003, of_delta))


@settings(max_examples=examples(30))
@given(approximate, st.lists(any_budget, max_size=6))
def test_releases_that_fit_by_plain_addition_fit_here_too(cap: Budget, wishes: list[Budget]) -> None:
    """(Σε, Σδ) is what everybody knows; where releases are all of one kind, the rule is never worse."""
    for kind in (True, False):
        spent = Composed(Cap.of(cap))
        for wish in (w for w in wishes if w.pure == kind):
            if (
                spent.epsilon + wish.epsilon_written <= cap.epsilon_written
                and spent.delta + wish.delta_written <= cap.delta_written
            ):
                assert spent.allows(wish)
                spent = spent.plus(wish, spent.cap.rho_of(wish))
