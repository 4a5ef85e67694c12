"""Intervals, worked out by hand; what exceeds a reference; and when nothing can be said."""

from __future__ import annotations

import numpy as np
import pytest

from mare.evaluation.rates import Rate, excess, mean, share, shared_confidence
from mare.evaluation.risk.attacks import Game
from tests.people import vectors


def test_a_share_has_wilsons_interval() -> None:
    # Of 10 tries 3 succeed, z = 1.96: the interval in textbooks is 0.1078 … 0.6032.
    rate = share(3, 10)
    assert rate.lower == pytest.approx(0.1078, abs=1e-4)
    assert rate.upper == pytest.approx(0.6032, abs=1e-4)
    assert share(0, 10).lower == pytest.approx(0)
    assert share(0, 10).upper > 0.2


def test_a_mean_of_equal_numbers_is_not_certain() -> None:
    rate = mean(np.full(100, 0.25))
    assert rate.value == 0.25
    assert 0 < rate.error < 0.05


def test_an_interval_covers_the_truth_about_as_often_as_it_says() -> None:
    rng = np.random.default_rng(0)
    held = [share(int(rng.binomial(200, 0.1)), 200) for _ in range(2000)]
    covered = np.mean([rate.lower <= 0.1 <= rate.upper for rate in held])
    assert 0.93 < covered < 0.975  # 4 standard deviations: wrong with a chance of 1e-4, and the seed is fixed


@pytest.mark.parametrize(
    ("attack", "reference", "verdict"),
    [
        (share(900, 1000), share(100, 1000), "above the baseline"),
        (share(501, 1000), share(500, 1000), "no sign"),
        (share(4, 8), share(4, 8), "too wide to say"),
        (share(1, 1000), share(999, 1000), "no sign"),
        (share(0, 0), share(4, 8), "not measured"),
        (share(0, 0), share(0, 0), "not measured"),
    ],
)
def test_the_verdict_says_so_when_nothing_can_be_said(attack: Rate, reference: Rate, verdict: str) -> None:
    assert excess(attack, reference).verdict == verdict
    assert excess(attack, reference).to_json()["verdict"] == verdict


def test_the_excess_is_a_share_of_what_was_left_to_gain() -> None:
    found = excess(Rate(0.8, 0.0, 100), Rate(0.6, 0.0, 100))
    assert found.value == found.lower == found.upper == pytest.approx(0.5)


def test_intervals_that_must_hold_together_are_wider() -> None:
    assert shared_confidence(1) == pytest.approx(0.95)
    assert share(5, 50, shared_confidence(10)).error > share(5, 50).error


def test_who_guesses_better_is_shown_nothing() -> None:
    """27 % right, 24 % of the hold-out, 33 % by guessing: whoever attacks so learns nothing."""
    right, others, guessed = (np.arange(20_000) < 20_000 * part for part in (0.27, 0.24, 0.33))
    game = Game(vectors(age=[1.0]), vectors(age=[1.0]))
    assert game.counted("inference", "age", [right, others], guessed).verdict == "no sign"
    assert game.counted("inference", "age", [right, others], others).verdict == "above the baseline"
