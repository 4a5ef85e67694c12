"""The arithmetic of the canary audit: bounds that hold, verdicts that follow, refusals."""

from __future__ import annotations

from math import comb, exp, inf, sqrt

import numpy as np
import pytest

from mare.audit import CanaryReport, canary_audit, mechanism_audit, session_audit
from mare.audit.canary import judged_on_mu, rate_at_least, rate_at_most
from mare.errors import BudgetError, PrivacyError, SourceError
from mare.planning.planning import plan
from mare.privacy.budget import Budget
from tests.memory_source import MemorySource, Rows, hospital_rows
from tests.privacy.sessions import PURE, hospital, pair


def binomial_tail(hits: int, draws: int, rate: float) -> float:
    """P(at most so many hits)."""
    return sum(comb(draws, k) * rate**k * (1 - rate) ** (draws - k) for k in range(hits + 1))


@pytest.mark.parametrize(("hits", "draws"), [(0, 10), (3, 10), (10, 10), (7, 40), (40, 40)])
@pytest.mark.parametrize("failure", [0.05, 1e-6])
def test_a_rate_beyond_the_bounds_would_make_the_hits_a_surprise(hits: int, draws: int, failure: float) -> None:
    high, low = rate_at_most(hits, draws, failure), rate_at_least(hits, draws, failure)
    assert low <= hits / draws <= high
    if hits < draws:
        assert binomial_tail(hits, draws, high) <= failure * (1 + 1e-9)
    if hits > 0:
        assert binomial_tail(draws - hits, draws, 1 - low) <= failure * (1 + 1e-9)


def test_the_bounds_close_in_as_the_draws_grow() -> None:
    widths = [rate_at_most(n // 3, n, 1e-9) - rate_at_least(n // 3, n, 1e-9) for n in (100, 10_000, 1_000_000)]
    assert widths[0] > 5 * widths[1] > 25 * widths[2]


@pytest.mark.parametrize("mu", [0.2, 1.0, 3.0])
def test_mu_of_normal_ratios_is_found(mu: float) -> None:
    rng = np.random.default_rng(5)
    there, gone = rng.normal(mu**2 / 2, mu, 20_000), rng.normal(-(mu**2) / 2, mu, 20_000)
    report = judged_on_mu(there, gone, claimed=mu, reach=mu, failure=1e-9)
    assert report.passed
    assert report.estimated == pytest.approx(mu, abs=0.05)
    assert report.lower == pytest.approx(mu, abs=6.1 * sqrt(2 / 20_000 + mu**2 / 80_000) + 0.03)


def test_a_canary_that_moves_nothing_tells_nothing() -> None:
    report = judged_on_mu(np.zeros(5), np.zeros(5), claimed=0.1, reach=0.0, failure=1e-9)
    assert (report.estimated, report.lower, report.passed) == (0.0, 0.0, True)


def test_ratios_without_spread_are_no_noise() -> None:
    report = judged_on_mu(np.ones(5), np.zeros(5), claimed=9.0, reach=1.0, failure=1e-9)
    assert (report.lower, report.passed) == (inf, False)


def test_the_laplace_event_is_e_to_the_epsilon_likelier_with_the_canary() -> None:
    report = mechanism_audit(Budget(0.7, delta=0), cap=4, draws=400_000)
    assert (report.unit, report.claimed, report.runs) == ("epsilon", 0.7, 400_000)
    assert exp(report.estimated) == pytest.approx(exp(0.7), rel=0.02)


def test_a_pure_budget_is_not_judged_on_mu() -> None:
    with pytest.raises(BudgetError, match="mechanism_audit"):
        session_audit(*pair(budget=PURE), runs=2)


@pytest.mark.parametrize("runs", [0, 1])
def test_too_few_runs_are_refused(runs: int) -> None:
    with pytest.raises(PrivacyError, match="at least 2"):
        session_audit(*pair(), runs=runs)
    with pytest.raises(PrivacyError, match="at least 2"):
        mechanism_audit(Budget(1, delta=0), draws=runs)


@pytest.mark.slow
def test_whole_fits_can_be_audited() -> None:
    made, source = plan(hospital(), Budget(4, 1e-9)), MemorySource.of(hospital_rows(4))
    by_default, asked = canary_audit(made, source, runs=2), canary_audit(made, source, canary=1, runs=2)
    assert by_default == asked  # patient 1 is the heaviest
    assert by_default.passed
    assert 0.9 < by_default.reach / by_default.claimed <= 1


def test_a_canary_that_is_not_there_and_a_source_without_any_are_refused() -> None:
    made = plan(hospital(), Budget(4, 1e-9))
    with pytest.raises(SourceError, match="not in the source"):
        canary_audit(made, MemorySource.of(hospital_rows(4)), canary=77, runs=2)
    empty: Rows = {"patients": [], "stays": []}
    with pytest.raises(PrivacyError, match="no entity"):
        canary_audit(made, MemorySource.of(empty), runs=2)


def test_the_report_says_what_it_is_and_what_it_found() -> None:
    good = CanaryReport("mu", 1.0, 0.9, 0.7, 0.95, 1e-9, 1000)
    bad = CanaryReport("epsilon", 1.0, 2.0, 1.9, 1.0, 1e-9, 1000)
    for report, verdict in ((good, "stays below the claim"), (bad, "THE NOISE IS TOO SMALL FOR THE CLAIM")):
        text = report.render()
        assert verdict in text
        assert "internal, not private" in text
    assert "Claimed μ 1; estimated 0.9, at least 0.7 (wrong with a chance of 1e-09)" in good.render()
    assert "Claimed ε 1" in bad.render()
