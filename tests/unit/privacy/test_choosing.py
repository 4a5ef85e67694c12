"""Choosing by score: both rules follow their exact probabilities, cost what they say, and refuse what is no score."""

from __future__ import annotations

from fractions import Fraction
from itertools import permutations
from math import exp, prod

import numpy as np
import pytest
from numpy.typing import NDArray

from mare.errors import PrivacyError
from mare.privacy.bits import SeededBits
from mare.privacy.choosing import LARGEST_SCORE, MOST_CANDIDATES, Choice, Rule, prepare_choice
from tests.chi_squared import chi_squared_excess
from tests.unit.privacy.listed_view import ScriptedBits

RULES: tuple[Rule, ...] = ("exponential mechanism", "noisy maximum")
each_rule = pytest.mark.parametrize("rule", RULES)


def whole(*values: int) -> NDArray[np.int64]:
    return np.array(values, dtype=np.int64)


def law(rule: Rule, scores: list[int], steepness: float) -> list[float]:
    """The probabilities, from the definition of each rule."""
    heads = [exp(-steepness * (max(scores) - score)) for score in scores]
    if rule == "exponential mechanism":
        return [chance / sum(heads) for chance in heads]
    chosen = [0.0] * len(scores)
    orders = list(permutations(range(len(scores))))
    for order in orders:
        for place, candidate in enumerate(order):
            chosen[candidate] += prod(1 - heads[earlier] for earlier in order[:place]) * heads[candidate] / len(orders)
    return chosen


def chosen(choice: Choice, scores: list[int], draws: int, seed: int) -> NDArray[np.int64]:
    bits, array = SeededBits(seed), whole(*scores)
    return np.bincount([choice.choose(array, bits) for _ in range(draws)], minlength=len(scores))


CASES = [([0, 3, 5], 1), ([-7, -7, -7, -7], 2), ([10, 0], 5), ([4, 4, 3, 2, 1, 0, -9], 2)]


@each_rule
@pytest.mark.parametrize(("scores", "sensitivity"), CASES)
def test_choices_follow_their_probabilities(rule: Rule, scores: list[int], sensitivity: int) -> None:
    choice = prepare_choice(rule, 0.8, sensitivity)
    expected = law(rule, scores, 0.8 / (2 * sensitivity))
    assert chi_squared_excess(chosen(choice, scores, 10_000, 31), expected) < 1


@each_rule
@pytest.mark.parametrize("factor", [0.5, 2.0])
def test_a_wrong_epsilon_is_noticed(rule: Rule, factor: float) -> None:
    observed = chosen(prepare_choice(rule, 0.8 * factor, 1), [0, 3, 5], 10_000, 31)
    assert chi_squared_excess(observed, law(rule, [0, 3, 5], 0.4)) > 1


def test_the_two_rules_are_two_distributions() -> None:
    observed = chosen(prepare_choice("noisy maximum", 0.8, 1), [0, 3, 5], 10_000, 31)
    assert chi_squared_excess(observed, law("exponential mechanism", [0, 3, 5], 0.4)) > 1
    assert law("noisy maximum", [0, 3, 5], 0.4)[2] > law("exponential mechanism", [0, 3, 5], 0.4)[2]


@each_rule
@pytest.mark.parametrize("scores", [[0, 0, 0], [5, 2, 0], [1, 0, 0]])
def test_one_entity_moves_no_probability_by_more_than_epsilon(rule: Rule, scores: list[int]) -> None:
    """The law that the draws follow is private: every neighbour, every candidate, both directions."""
    epsilon = 0.8
    here = law(rule, scores, epsilon / 2)
    for move in np.ndindex(3, 3, 3):
        there = law(rule, [score + step - 1 for score, step in zip(scores, move, strict=True)], epsilon / 2)
        assert all(exp(-epsilon) - 1e-12 <= a / b <= exp(epsilon) + 1e-12 for a, b in zip(here, there, strict=True))


@each_rule
def test_a_clear_winner_among_many_wins(rule: Rule) -> None:
    scores = np.zeros(100_000, dtype=np.int64)
    scores[77_777] = 10**6
    bits = SeededBits(32)
    assert {prepare_choice(rule, 1.0, 1).choose(scores, bits) for _ in range(5)} == {77_777}


@each_rule
def test_many_equal_candidates_are_chosen_evenly(rule: Rule) -> None:
    choice, scores, bits = prepare_choice(rule, 1.0, 1), np.full(1000, -5), SeededBits(33)
    tenths = np.bincount([choice.choose(scores, bits) // 100 for _ in range(3000)], minlength=10)
    assert chi_squared_excess(tenths, [0.1] * 10) < 1


@each_rule
def test_a_single_candidate_is_chosen(rule: Rule) -> None:
    assert prepare_choice(rule, 1.0, 1).choose(whole(-3), SeededBits(1)) == 0


@each_rule
def test_extreme_scores_and_epsilons_neither_overflow_nor_wait(rule: Rule) -> None:
    scores = whole(1 - LARGEST_SCORE, LARGEST_SCORE - 1, 0)
    assert prepare_choice(rule, 1e300, 1).choose(scores, SeededBits(1)) == 1
    assert prepare_choice(rule, 1.0, 1).choose(scores, SeededBits(1)) == 1
    tiny = prepare_choice(rule, 1e-300, 1)
    assert {tiny.choose(scores, SeededBits(seed)) for seed in range(40)} == {0, 1, 2}


def test_equal_words_are_no_order_and_are_drawn_again() -> None:
    sure, tails = 0, 2**64 - 1
    choice = prepare_choice("noisy maximum", 1.0, 1)
    bits = ScriptedBits([5, 5, 9, 4, sure, sure])
    assert choice.choose(whole(0, 0), bits) == 1
    assert choice.choose(whole(0, 20), ScriptedBits([1, 2, tails, tails, 0])) == 1


@each_rule
def test_the_exact_coin_agrees_with_the_bracket(rule: Rule, monkeypatch: pytest.MonkeyPatch) -> None:
    choice = prepare_choice(rule, 0.3, 2)
    scores = whole(*range(40))
    quick = [choice.choose(scores, SeededBits(seed)) for seed in range(30)]
    monkeypatch.setattr("mare.privacy.inversion._BRACKET", 1.0)
    assert [choice.choose(scores, SeededBits(seed)) for seed in range(30)] == quick


def test_the_steepness_is_epsilon_over_twice_the_sensitivity() -> None:
    assert prepare_choice("noisy maximum", Fraction(1, 3), Fraction(7, 2)).steepness == Fraction(1, 21)
    assert prepare_choice("noisy maximum", 1e300, 1).steepness == 2**64


# --- refusals -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("value", [0, -1, float("nan"), float("inf")])
def test_epsilons_and_sensitivities_that_are_none_are_refused(value: float) -> None:
    with pytest.raises(PrivacyError, match="epsilon"):
        prepare_choice("noisy maximum", value, 1)
    with pytest.raises(PrivacyError, match="sensitivity"):
        prepare_choice("noisy maximum", 1.0, value)  # type: ignore[arg-type]


def test_an_unknown_rule_is_refused() -> None:
    with pytest.raises(PrivacyError, match="exponential mechanism, noisy maximum"):
        prepare_choice("highest", 1.0, 1)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("scores", "message"),
    [
        (np.array([0.5, 1.0]), "public grid"),
        (np.zeros((2, 2), dtype=np.int64), "public grid"),
        (np.zeros(0, dtype=np.int64), "candidates"),
        (np.zeros(MOST_CANDIDATES + 1, dtype=np.int64), "candidates"),
        (whole(0, LARGEST_SCORE), "overflowed"),
        (whole(-LARGEST_SCORE, 0), "overflowed"),
    ],
    ids=["floats", "two dimensions", "none", "too many", "too high", "too low"],
)
def test_what_is_no_score_is_refused(scores: NDArray[np.int64], message: str) -> None:
    with pytest.raises(PrivacyError, match=message):
        prepare_choice("noisy maximum", 1.0, 1).choose(scores, SeededBits(1))
