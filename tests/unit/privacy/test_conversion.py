"""ρ and (ε, δ): never below the truth, and close to it."""

from __future__ import annotations

from fractions import Fraction
from math import erfc, exp, inf, sqrt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mare.errors import BudgetError
from mare.privacy.budget import Budget
from mare.privacy.conversion import (
    conversion_delta,
    epsilon_from_rho,
    rho_from_budget,
    scale_from_epsilon,
    sigma_from_rho,
    sqrt_up,
)
from tests.zcdp import delta_of_zcdp

EPSILONS = [0.01, 0.1, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0]
DELTAS = [1e-5, 1e-7, 1e-9, 1e-12]

epsilons = st.floats(1e-3, 50)
deltas = st.floats(-40, -1).map(lambda power: 10.0**power)


def gaussian_delta(rho: float, epsilon: float) -> float:
    """The true δ of a Gaussian mechanism whose zCDP is ρ (Balle and Wang 2018, Theorem 8), μ = √(2ρ)."""
    mu = sqrt(2 * rho)

    def upper(x: float) -> float:
        return 0.5 * erfc(x / sqrt(2))

    return upper(epsilon / mu - mu / 2) - exp(epsilon) * upper(epsilon / mu + mu / 2)


def largest_true_rho(epsilon: float, delta: float) -> float:
    low, high = 0.0, 1000.0
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if gaussian_delta(middle, epsilon) <= delta else (low, middle)
    return low


@pytest.mark.parametrize("delta", DELTAS)
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_the_conversion_is_never_below_the_truth(epsilon: float, delta: float) -> None:
    rho = rho_from_budget(Budget(epsilon, delta))
    assert gaussian_delta(rho, epsilon) < delta
    assert delta_of_zcdp(rho, epsilon) > gaussian_delta(rho, epsilon)


@pytest.mark.parametrize("epsilon", [0.1, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0])
@pytest.mark.parametrize(("delta", "excess"), [(1e-9, 1.06), (1e-7, 1.08), (1e-5, 1.11)])
def test_sigma_is_close_to_the_analytic_gaussian(epsilon: float, delta: float, excess: float) -> None:
    """Lemma 2.1 of the NIST paper, which is Balle and Wang's, against ours: σ ∝ 1/√ρ."""
    ours = sigma_from_rho(rho_from_budget(Budget(epsilon, delta)), 1.0)
    analytic = sigma_from_rho(largest_true_rho(epsilon, delta), 1.0)
    assert analytic < ours < analytic * excess


@given(epsilons, deltas)
def test_what_a_budget_grants_stays_within_it(epsilon: float, delta: float) -> None:
    rho = rho_from_budget(Budget(epsilon, delta))
    assert rho > 0
    assert epsilon_from_rho(rho, conversion_delta(Budget(epsilon, delta))) <= epsilon
    assert delta_of_zcdp(rho, epsilon) <= delta
    # and no more than a hair is left lying
    assert epsilon_from_rho(rho * (1 + 1e-6), conversion_delta(Budget(epsilon, delta))) > epsilon


@given(st.floats(1e-6, 50), deltas)
def test_epsilon_and_delta_are_two_sides_of_one_bound(rho: float, delta: float) -> None:
    epsilon = epsilon_from_rho(rho, delta)
    if epsilon > 0:
        assert delta_of_zcdp(rho, epsilon * (1 + 1e-9)) <= delta
        assert delta_of_zcdp(rho, epsilon * (1 - 1e-6)) > delta * (1 - 1e-9)


@given(st.floats(1e-4, 20), st.floats(1e-4, 20))
def test_more_rho_never_costs_less(a: float, b: float) -> None:
    low, high = sorted((a, b))
    assert epsilon_from_rho(low, 1e-9) <= epsilon_from_rho(high, 1e-9) * (1 + 1e-13)


def test_dp_accounting_agrees() -> None:
    """Google's accountant takes the best of a list of orders; ours the best of all: equal or better, never below PLD."""
    rdp = pytest.importorskip("dp_accounting.rdp", reason="the oracle dp-accounting is not installed")
    from dp_accounting import GaussianDpEvent
    from dp_accounting.pld import PLDAccountant

    for noise in (0.7, 3.0, 12.0):
        rho, delta = 1 / (2 * noise**2), 1e-7
        orders = [1 + x / 50 for x in range(1, 5000)]
        theirs = rdp.RdpAccountant(orders).compose(GaussianDpEvent(noise)).get_epsilon(delta)
        truth = PLDAccountant(value_discretization_interval=1e-3).compose(GaussianDpEvent(noise)).get_epsilon(delta)
        assert truth - 2e-3 < epsilon_from_rho(rho, delta) <= theirs * (1 + 1e-9)


def test_nothing_spent_costs_nothing() -> None:
    assert epsilon_from_rho(0.0, 1e-9) == 0.0


@pytest.mark.parametrize("rho", [-1.0, float("nan"), inf])
def test_a_rho_that_is_none_is_refused(rho: float) -> None:
    with pytest.raises(BudgetError, match="rho"):
        epsilon_from_rho(rho, 1e-9)
    with pytest.raises(BudgetError, match="rho"):
        sigma_from_rho(rho, 1.0)


@pytest.mark.parametrize("delta", [0.0, 1.0, float("nan")])
def test_zcdp_needs_a_delta(delta: float) -> None:
    with pytest.raises(BudgetError, match="delta"):
        epsilon_from_rho(1.0, delta)


def test_pure_epsilon_has_no_rho() -> None:
    with pytest.raises(BudgetError, match="pure epsilon"):
        rho_from_budget(Budget(1.0, delta=0))


def test_a_budget_too_small_to_measure_is_refused() -> None:
    with pytest.raises(BudgetError, match="too small"):
        rho_from_budget(Budget(1e-200, 1e-200))


@given(st.floats(1e-6, 100), st.integers(1, 10**6), st.integers(1, 200))
def test_sigma_is_rounded_up(rho: float, cap: int, tables: int) -> None:
    sigma = sigma_from_rho(rho, sqrt_up(cap * cap * tables))
    assert Fraction(cap * cap * tables) / (2 * Fraction(sigma) ** 2) <= Fraction(rho)
    assert sigma == pytest.approx(cap * sqrt(tables / (2 * rho)))


@given(st.floats(1e-6, 100), st.integers(1, 10**6))
def test_the_laplace_scale_is_rounded_up(epsilon: float, l1: int) -> None:
    scale = scale_from_epsilon(epsilon, l1)
    assert Fraction(l1) / Fraction(scale) <= Fraction(epsilon)
    assert scale == pytest.approx(l1 / epsilon)
    assert scale_from_epsilon(Fraction(epsilon), l1) == scale


@given(st.integers(1, 10**12))
def test_roots_are_rounded_up_and_whole_where_they_are_whole(value: int) -> None:
    assert Fraction(sqrt_up(value)) ** 2 >= value
    assert sqrt_up(value * value) == value


def test_scales_that_no_float_holds_are_refused() -> None:
    with pytest.raises(BudgetError, match="too small to measure"):
        scale_from_epsilon(1e-300, 1e300)
    with pytest.raises(BudgetError, match="too small to measure"):
        sigma_from_rho(5e-324, 1e300)
