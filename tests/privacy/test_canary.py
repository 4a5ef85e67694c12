"""The canary audit: correct noise stays below the claim, halved noise rises above it. Seeded throughout, so it never flakes."""

from __future__ import annotations

from dataclasses import replace

import pytest

from mare.audit import CanaryReport, canary_audit, mechanism_audit, session_audit
from mare.planning.planning import plan
from mare.privacy.budget import Budget
from mare.privacy.noise import Noise
from tests.memory_source import MemorySource, hospital_rows
from tests.privacy.mutants import MUTANTS
from tests.privacy.sessions import hospital, pair

HALVED = next(mutant for mutant in MUTANTS if mutant.name == "halved noise")
LOOSE, USUAL, STRICT = Budget(8, 1e-9), Budget(2, 1e-9), Budget(0.5, 1e-9)


def doubled(correct: CanaryReport, halved: CanaryReport) -> None:
    assert correct.passed, correct.render()
    assert not halved.passed, halved.render()
    assert halved.claimed == pytest.approx(correct.claimed, rel=1e-9)
    assert halved.estimated > 1.7 * correct.estimated


OFTEN = pytest.mark.parametrize(
    ("budget", "runs"), [(LOOSE, 150), pytest.param(USUAL, 1000, marks=pytest.mark.slow)], ids=["epsilon 8", "epsilon 2"]
)
"""At ε = 8 halved noise shows within 150 runs, at ε = 2 it takes a thousand."""


@OFTEN
def test_sessions_with_and_without_a_canary_stay_below_the_claim(budget: Budget, runs: int) -> None:
    report = session_audit(*pair(budget=budget), runs=runs, seed=1)
    assert report.passed, report.render()
    # the canary is as heavy as the caps allow, so the estimate is about the claim: the test is not a loose one
    assert report.reach == pytest.approx(report.claimed, rel=0.01)
    assert report.estimated == pytest.approx(report.claimed, rel=0.3)


@OFTEN
def test_halved_noise_rises_above_the_claim(budget: Budget, runs: int, monkeypatch: pytest.MonkeyPatch) -> None:
    HALVED.plant(monkeypatch)
    report = session_audit(*pair(budget=budget), runs=runs, seed=1)
    assert not report.passed, report.render()
    assert report.estimated == pytest.approx(2 * report.claimed, rel=0.25)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("budget", "cap"),
    [(USUAL, 20), (USUAL, 1), (LOOSE, 1), (LOOSE, 20), (STRICT, 1), (STRICT, 20)],
    ids=lambda value: f"cap {value}" if isinstance(value, int) else f"epsilon {value.epsilon:g}",
)
def test_one_gaussian_count_a_million_times(budget: Budget, cap: int, monkeypatch: pytest.MonkeyPatch) -> None:
    correct = mechanism_audit(budget, cap=cap, seed=2)
    assert correct.lower > 0.85 * correct.claimed
    HALVED.plant(monkeypatch)
    doubled(correct, mechanism_audit(budget, cap=cap, seed=2))


@pytest.mark.parametrize("epsilon", [1.0, *(pytest.param(e, marks=pytest.mark.slow) for e in (0.1, 3.0))])
def test_one_laplace_count_a_million_times(epsilon: float, monkeypatch: pytest.MonkeyPatch) -> None:
    correct = mechanism_audit(Budget(epsilon, delta=0), cap=3, seed=2)
    assert correct.unit == "epsilon"
    assert correct.lower > 0.8 * epsilon
    HALVED.plant(monkeypatch)
    doubled(correct, mechanism_audit(Budget(epsilon, delta=0), cap=3, seed=2))


def test_a_tenth_less_noise_than_claimed_is_seen_too(monkeypatch: pytest.MonkeyPatch) -> None:
    original = Noise.draw
    monkeypatch.setattr(Noise, "draw", lambda self, bits: original(replace(self, scale=self.scale * 0.9), bits))
    for budget in (USUAL, Budget(1.0, delta=0)):
        assert not mechanism_audit(budget, cap=5, seed=2).passed


def test_no_noise_at_all_is_seen_whatever_the_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    original = Noise.draw
    monkeypatch.setattr(Noise, "draw", lambda self, bits: 0 * original(self, bits))
    report = session_audit(*pair(), runs=2)
    assert not report.passed
    assert report.lower == float("inf")


def test_the_same_seed_gives_the_same_verdict() -> None:
    assert session_audit(*pair(), runs=5, seed=7) == session_audit(*pair(), runs=5, seed=7)
    assert session_audit(*pair(), runs=5, seed=7) != session_audit(*pair(), runs=5, seed=8)


@pytest.mark.slow
def test_whole_fits_with_and_without_their_heaviest_patient(monkeypatch: pytest.MonkeyPatch) -> None:
    made, source = plan(hospital(), LOOSE), MemorySource.of(hospital_rows(patients=10))
    correct = canary_audit(made, source, runs=100, seed=1, failure=1e-6)
    assert correct.reach > 0.9 * correct.claimed
    HALVED.plant(monkeypatch)
    doubled(correct, canary_audit(made, source, runs=100, seed=1, failure=1e-6))
