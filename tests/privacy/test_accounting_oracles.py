"""The accountant against others: google's dp-accounting (exact privacy-loss distributions, Rényi) and OpenDP's maps.

Random compositions; what mare says is never below the truth, and close to it where zCDP can be.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import erfc, exp, expm1, inf, log, log1p, sqrt
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mare.privacy.accountant import Kind, Norm, least_cost
from mare.privacy.budget import Budget
from mare.privacy.cap import Cap, Composed
from mare.privacy.conversion import (
    choice_scale,
    epsilon_from_rho,
    rho_from_budget,
    scale_from_epsilon,
    sigma_from_rho,
    sqrt_up,
    up,
)
from mare.privacy.ledger import Charge, Ledger
from tests.conftest import examples

PLD_STEP = 1e-3


@pytest.fixture(scope="module")
def pld() -> Any:
    return pytest.importorskip(
        "dp_accounting.pld.privacy_loss_distribution", reason="the oracle dp-accounting is not installed (extra: dev)"
    )


@pytest.fixture(scope="module")
def opendp() -> Any:
    prelude = pytest.importorskip("opendp.prelude", reason="the oracle OpenDP is not installed (extra: dev)")
    prelude.enable_features("contrib")
    return prelude


@dataclass(frozen=True)
class Answer:
    """Something measured, and how one entity moves it in the case that the oracle looks at."""

    kind: Kind
    shifts: tuple[int, ...]
    """By how much it moves each number. Of a choice: the sensitivity alone."""
    scale: float
    tilt: float = 0.5
    """Of a choice: where in its range the likelihood ratio lies."""

    @property
    def norm(self) -> Norm:
        return {"discrete gaussian": "L2", "stable keys": "L2", "discrete laplace": "L1", "exponential choice": "max"}[self.kind]  # type: ignore[return-value]

    @property
    def sensitivity(self) -> float:
        return {"L2": sqrt_up(sum(s * s for s in self.shifts)), "L1": float(sum(self.shifts)), "max": float(self.shifts[0])}[
            self.norm
        ]

    def charge(self, *, pure: bool) -> Charge:
        """What the curator would pay."""
        least = least_cost(self.kind, self.norm, self.sensitivity, self.scale, delta=0.0, pure=pure)
        return Charge("", "view", self.kind, self.norm, self.sensitivity, self.scale, up(least), 1, len(self.shifts))


def losses(answer: Answer, pld: Any) -> list[Any]:
    """Its privacy-loss distributions, rounded down: what they compose to is at most the truth."""
    options = {"value_discretization_interval": PLD_STEP, "pessimistic_estimate": False}
    if answer.kind == "exponential choice":
        # two candidates at the extreme of a bounded range ε₀: the ratios are e^u and e^(u - ε₀)
        whole = 2 * answer.shifts[0] / answer.scale
        u = answer.tilt * whole
        q = -expm1(u - whole) / (exp(u) - exp(u - whole))
        p = q * exp(u)
        lower, upper = {0: log(p), 1: log(1 - p)}, {0: log(q), 1: log(1 - q)}
        return [pld.from_two_probability_mass_functions(lower, upper, symmetric=False, **options)]
    make = pld.from_discrete_gaussian_mechanism if answer.kind == "discrete gaussian" else pld.from_discrete_laplace_mechanism
    first = answer.scale if answer.kind == "discrete gaussian" else 1 / answer.scale
    return [make(first, sensitivity=shift, **options) for shift in answer.shifts]


def truth(answers: list[Answer], delta: float, pld: Any) -> float:
    """The least ε that the composition has at this δ, or a little less."""
    together = None
    for answer in answers:
        for loss in losses(answer, pld):
            together = loss if together is None else together.compose(loss)
    assert together is not None
    return float(together.get_epsilon_for_delta(delta))


def account(answers: list[Answer], budget: Budget) -> Ledger:
    ledger = Ledger(budget, "one row")
    for answer in answers:
        ledger.charge(answer.charge(pure=budget.pure))
    return ledger


shifts = st.lists(st.integers(1, 4), min_size=1, max_size=3).map(tuple)
gaussians = st.builds(
    lambda s, r: Answer("discrete gaussian", s, max(0.6, sqrt(sum(x * x for x in s)) * r)), shifts, st.floats(1, 25)
)
laplaces = st.builds(lambda s, r: Answer("discrete laplace", s, sum(s) * r), shifts, st.floats(2, 40))
choices = st.builds(
    lambda s, r, t: Answer("exponential choice", (s,), s * r, t), st.integers(1, 4), st.floats(3, 60), st.floats(0.1, 0.9)
)
mixed = st.lists(st.one_of(gaussians, laplaces, choices), min_size=1, max_size=5)
deltas = st.sampled_from([1e-5, 1e-7, 1e-9])


@settings(max_examples=examples(80))
@given(mixed, deltas)
def test_what_mare_says_of_a_composition_is_never_below_the_truth(pld: Any, answers: list[Answer], delta: float) -> None:
    totals = account(answers, Budget(50.0, delta)).totals
    assert totals.epsilon >= truth(answers, totals.delta, pld)


@settings(max_examples=examples(25))
@given(st.lists(gaussians, min_size=1, max_size=4), deltas)
def test_of_gaussians_it_is_close_to_the_truth(pld: Any, answers: list[Answer], delta: float) -> None:
    totals = account(answers, Budget(50.0, delta)).totals
    # The optimistic distribution may be a step per number below the truth.
    steps = PLD_STEP * sum(len(answer.shifts) for answer in answers)
    assert totals.epsilon <= (truth(answers, totals.delta, pld) + steps) * 1.16


@settings(max_examples=examples(25))
@given(st.lists(st.one_of(laplaces, choices), min_size=1, max_size=4))
def test_pure_epsilon_is_never_below_the_truth(pld: Any, answers: list[Answer]) -> None:
    totals = account(answers, Budget(50.0, delta=0)).totals
    assert totals.delta == 0
    assert totals.epsilon >= truth(answers, 1e-12, pld)


def test_pure_epsilon_is_the_truth_for_one_answer(pld: Any) -> None:
    """So a scale that is one part in a hundred too small would show."""
    laplace = Answer("discrete laplace", (3,), scale_from_epsilon(0.5, 3.0))
    assert truth([laplace], 1e-12, pld) == pytest.approx(0.5, abs=2 * PLD_STEP)
    choice = Answer("exponential choice", (2,), choice_scale(0.5, 2.0, pure=True), tilt=0.999)
    assert truth([choice], 1e-12, pld) == pytest.approx(0.5, abs=2 * PLD_STEP)


@settings(max_examples=examples(15))
@given(st.lists(gaussians, min_size=1, max_size=3), st.floats(1e-13, 1e-11))
def test_learning_that_fails_costs_its_delta(pld: Any, answers: list[Answer], failing: float) -> None:
    """With probability ``failing`` a key shows that only one entity has. At δ of the conversion alone that is not paid for."""
    ledger = account(answers, Budget(50.0, 1e-9))
    sigma = sigma_from_rho(1e-9, 1.0)
    ledger.charge(Charge("keys", "view", "stable keys", "L2", 1.0, sigma, 1e-9, 1, 1, delta=failing))
    totals = ledger.totals
    assert totals.delta_learning == failing
    with_key, without = {"key": log(failing), "none": log1p(-failing)}, {"none": 0.0}
    revealed = pld.from_two_probability_mass_functions(
        without, with_key, symmetric=False, value_discretization_interval=PLD_STEP, pessimistic_estimate=False
    )
    assert revealed.get_delta_for_epsilon(30.0) == pytest.approx(failing, rel=1e-9, abs=0)
    together = revealed
    for answer in answers:
        for loss in losses(answer, pld):
            together = together.compose(loss)
    assert totals.epsilon >= together.get_epsilon_for_delta(totals.delta)
    assert together.get_epsilon_for_delta(failing * 0.99) == inf  # without its δ there would be no ε at all


releases = st.one_of(
    st.floats(0.05, 3).map(lambda epsilon: Budget(round(epsilon, 3))),
    st.builds(lambda epsilon, delta: Budget(round(epsilon, 3), delta), st.floats(0.05, 3), st.sampled_from([1e-9, 1e-8, 1e-7])),
)


@settings(max_examples=examples(60))
@given(st.sampled_from([Budget(3.0, 1e-6), Budget(1.0, 1e-7), Budget(2.0, delta=0)]), st.lists(releases, min_size=1, max_size=12))
def test_all_releases_under_a_cap_together_keep_it(pld: Any, cap: Budget, wishes: list[Budget]) -> None:
    """Each as bad as its budget lets it be: a Gaussian with all its ρ, or randomised response with all its ε."""
    spent, together = Composed(Cap.of(cap)), None
    options = {"value_discretization_interval": PLD_STEP, "pessimistic_estimate": False}
    for wish in wishes:
        if not spent.allows(wish):
            continue
        spent = spent.plus(wish, spent.cap.rho_of(wish))
        if wish.pure:
            p = exp(wish.epsilon) / (1 + exp(wish.epsilon))
            loss = pld.from_two_probability_mass_functions({0: log(p), 1: log1p(-p)}, {0: log1p(-p), 1: log(p)}, **options)
        else:
            loss = pld.from_gaussian_mechanism(sigma_from_rho(rho_from_budget(wish), 1.0), **options)
        together = loss if together is None else together.compose(loss)
    promise = spent.promise
    if together is not None and promise is not None:
        failing = 2.0**-6 * float(spent.delta)  # what learning may have used up
        assert together.get_delta_for_epsilon(cap.epsilon) + failing <= cap.delta + 1e-15
        assert together.get_epsilon_for_delta(max(promise.delta - failing, 1e-15)) <= promise.epsilon


def test_a_wrong_sensitivity_would_be_seen(pld: Any) -> None:
    """The oracle has teeth: four numbers that move, paid for as one, fall below the truth."""
    honest = Answer("discrete gaussian", (3,) * 4, 30.0)
    cheated = Answer("discrete gaussian", (3,), 30.0)
    totals = account([cheated], Budget(50.0, 1e-9)).totals
    assert totals.epsilon < truth([honest], totals.delta, pld)


@settings(max_examples=examples(30))
@given(st.lists(st.floats(0.8, 40), min_size=1, max_size=6), deltas)
def test_the_renyi_accountant_agrees_on_gaussians(multipliers: list[float], delta: float) -> None:
    """It takes the best of a list of orders; mare the best of all: at most as much, and hardly less."""
    rdp = pytest.importorskip("dp_accounting.rdp", reason="the oracle dp-accounting is not installed (extra: dev)")
    from dp_accounting import GaussianDpEvent, ZCDpEvent

    ledger = Ledger(Budget(200.0, delta), "one row")
    accountant = rdp.RdpAccountant([1 + x / 20 for x in range(1, 4000)])
    for number, multiplier in enumerate(multipliers):
        least = least_cost("discrete gaussian", "L2", 1.0, multiplier, delta=0.0, pure=False)
        ledger.charge(Charge("", "view", "discrete gaussian", "L2", 1.0, multiplier, up(least), 1, 1))
        accountant.compose(ZCDpEvent(float(least)) if number % 2 else GaussianDpEvent(multiplier))
    totals = ledger.totals
    theirs = accountant.get_epsilon(totals.delta_conversion)
    assert theirs * 0.999 < totals.epsilon <= theirs * (1 + 1e-9)


def vectors(opendp: Any) -> Any:
    return opendp.vector_domain(opendp.atom_domain(T=int))


@settings(max_examples=examples(40))
@given(st.floats(1e-6, 3.0), st.integers(1, 200), deltas)
def test_opendp_maps_gaussian_noise_to_what_was_charged(opendp: Any, rho: float, sensitivity: int, delta: float) -> None:
    sigma = sigma_from_rho(rho, float(sensitivity))
    measurement = opendp.m.make_gaussian(vectors(opendp), opendp.l2_distance(T=float), scale=sigma)
    # OpenDP rounds up in each of its steps, mare only at the end
    assert measurement.map(float(sensitivity)) == pytest.approx(rho, rel=1e-12)
    converted = opendp.c.make_zCDP_to_approxDP(measurement).map(float(sensitivity)).epsilon(delta)
    assert epsilon_from_rho(rho, delta) == pytest.approx(converted, rel=1e-6)


@settings(max_examples=examples(40))
@given(st.floats(1e-3, 5.0), st.integers(1, 200))
def test_opendp_maps_laplace_noise_and_choices_to_what_was_charged(opendp: Any, epsilon: float, sensitivity: int) -> None:
    laplace = opendp.m.make_laplace(
        vectors(opendp), opendp.l1_distance(T=int), scale=scale_from_epsilon(epsilon, float(sensitivity))
    )
    assert laplace.map(sensitivity) == pytest.approx(epsilon, rel=1e-12)
    as_zcdp = least_cost(
        "discrete laplace", "L1", float(sensitivity), scale_from_epsilon(epsilon, float(sensitivity)), delta=0.0, pure=False
    )
    assert opendp.c.make_pureDP_to_zCDP(laplace).map(sensitivity) == pytest.approx(float(as_zcdp), rel=1e-12)
    for pure, measure in ((True, opendp.max_divergence()), (False, opendp.zero_concentrated_divergence())):
        scale = choice_scale(epsilon, float(sensitivity), pure=pure)
        choice = opendp.m.make_noisy_max(vectors(opendp), opendp.linf_distance(T=int), measure, scale=scale)
        assert choice.map(sensitivity) == pytest.approx(epsilon, rel=1e-12)


@settings(max_examples=examples(20))
@given(st.lists(st.floats(1e-5, 0.5), min_size=1, max_size=8))
def test_opendp_composes_to_the_same_sum(opendp: Any, costs: list[float]) -> None:
    made = [opendp.m.make_gaussian(vectors(opendp), opendp.l2_distance(T=float), scale=sigma_from_rho(c, 1.0)) for c in costs]
    ledger = Ledger(Budget(100.0, 1e-9), "one row")
    for cost in costs:
        ledger.charge(Charge("", "view", "discrete gaussian", "L2", 1.0, sigma_from_rho(cost, 1.0), cost, 1, 1))
    assert ledger.totals.rho == up(sum(map(Fraction, costs), Fraction(0)))
    assert opendp.c.make_composition(made).map(1.0) == pytest.approx(ledger.totals.rho, rel=1e-12)


def largest_exact_rho(epsilon: float, delta: float) -> float:
    """Lemma 2.1 of the NIST-winning PrivBayes paper: √(2ρ) = √2·(√(χ² + ε) - χ), erfc(χ) - e^ε·erfc(√(χ² + ε)) = 2δ."""
    low, high = -10.0, 10.0
    for _ in range(200):
        chi = (low + high) / 2
        if erfc(chi) - exp(epsilon) * erfc(sqrt(max(chi * chi + epsilon, 0.0))) > 2 * delta:
            low = chi
        else:
            high = chi
    return (sqrt(high * high + epsilon) - high) ** 2


def excess(epsilon: float, delta: float) -> float:
    """How much larger σ is than the lemma's."""
    ours = sigma_from_rho(rho_from_budget(Budget(epsilon, delta)), 1.0)
    return ours / sigma_from_rho(largest_exact_rho(epsilon, delta), 1.0) - 1


@pytest.mark.parametrize("epsilon", [0.1, 0.2, 0.3, 0.5, 1.0, 2.0, 3.0, 5.0, 7.0, 10.0])
def test_sigma_is_within_6_percent_of_lemma_2_1_at_1e_9(epsilon: float) -> None:
    assert 0 < excess(epsilon, 1e-9) < 0.06


@pytest.mark.parametrize("delta", [1e-5, 3e-6, 1e-6, 1e-7, 1e-8, 1e-10, 1e-12, 1e-15])
@pytest.mark.parametrize("epsilon", [0.2, 0.3, 0.5, 1.0, 3.0, 10.0])
def test_sigma_is_within_10_percent_of_lemma_2_1_for_every_smaller_delta(epsilon: float, delta: float) -> None:
    assert 0 < excess(epsilon, delta) < 0.10


def test_at_small_epsilon_and_large_delta_it_is_a_little_more() -> None:
    """The one corner where 10 % is out of zCDP's reach: documented, with this number, in the guide."""
    assert 0.10 < excess(0.1, 1e-5) < 0.107
    assert excess(0.1, 4e-6) < 0.10


@pytest.mark.parametrize(("epsilon", "delta"), [(0.1, 1e-5), (1.0, 1e-5), (1.0, 1e-9)])
def test_no_conversion_from_zcdp_does_better(epsilon: float, delta: float) -> None:
    """A linear programme finds the privacy loss with the largest δ among those whose Rényi divergences are at most αρ.

    It reaches mare's δ: what is lost against the lemma is lost by saying ρ, not by turning it into ε.
    """
    optimize = pytest.importorskip("scipy.optimize", reason="scipy comes with dp-accounting (extra: dev)")
    from tests.zcdp import delta_of_zcdp

    rho = rho_from_budget(Budget(epsilon, delta))
    spread = sqrt(2 * rho)
    loss = np.linspace(-9 * spread, 11 * spread, 2000)
    gaussian = np.exp(-((loss - rho) ** 2) / (4 * rho))  # the unknown is a density relative to it, for the solver's sake
    best = 1 + (epsilon + rho) / (2 * rho)
    orders = np.concatenate([np.linspace(1.05, 3 * best, 60), -np.linspace(0.05, 2 * best, 30)])
    moments = np.exp((orders[:, None] - 1) * loss - (orders * (orders - 1))[:, None] * rho - (loss - rho) ** 2 / (4 * rho))
    gain = np.maximum(0, -np.expm1(epsilon - loss)) * gaussian
    found = optimize.linprog(
        -gain / delta,
        A_ub=moments,
        b_ub=np.ones(len(orders)),
        A_eq=np.vstack([gaussian, np.exp(-loss) * gaussian]),
        b_eq=[1.0, 1.0],
    )
    assert -found.fun * delta == pytest.approx(delta_of_zcdp(rho, epsilon), rel=0.01, abs=0)
