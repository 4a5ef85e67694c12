"""GCAP worked out by hand, and the attacks by key length."""

from __future__ import annotations

import numpy as np
import pytest

from mare.evaluation.risk.attacks import Game
from mare.evaluation.risk.by_key import classifier_attacks, gcap, gcap_attacks
from tests.people import people, vectors


def test_gcap_by_hand() -> None:
    synthetic_key = np.array([[0, 0], [0, 0], [0, 1], [1, 1]])
    synthetic_values = np.array([5, 6, 5, 7])
    key = np.array([[0, 0], [0, 1], [1, 0], [2, 2]])
    truth = np.array([5, 6, 5, 7])
    scores = gcap(key, truth, synthetic_key, synthetic_values)
    # Both of (0, 0) hold 5 or 6; (0, 1) is met once and holds 5; (1, 0) agrees in one place with (0, 0) twice and with (1, 1), of
    # which one holds 5; (2, 2) agrees with nobody, so all four are equally close and one holds 7.
    assert scores == pytest.approx([1 / 2, 0, 1 / 3, 1 / 4])
    assert gcap(key, truth, synthetic_key[:0], synthetic_values[:0]) == pytest.approx([0, 0, 0, 0])
    assert gcap(key[:, :0], truth, synthetic_key[:, :0], synthetic_values) == pytest.approx([1 / 2, 1 / 4, 1 / 2, 1 / 4])


def test_a_longer_key_tells_more_of_copies_and_no_more_of_others() -> None:
    real, control = people(500, 1), people(500, 2)
    attacks = list(gcap_attacks(Game(real, real, control), 4, [0, 1, 2, 3]))
    successes = [attack.success.value for attack in attacks]
    assert successes == sorted(successes)
    assert [attack.details["key length"] for attack in attacks] == [1, 2, 3, 4]
    assert [attack.details["keys"] for attack in attacks] == [4, 6, 4, 1]
    assert attacks[-1].verdict == "above the baseline"
    assert attacks[-1].details["from the real data itself"] == pytest.approx(attacks[-1].success.value)
    sane = list(gcap_attacks(Game(real, people(500, 3), control), 4, [0, 1, 2, 3]))
    assert {attack.verdict for attack in sane} == {"no sign"}


def test_zero_rule_is_the_most_frequent_synthetic_value() -> None:
    real = vectors(key=[0, 0, 1, 1], secret=[1, 1, 1, 0])
    (attack,) = gcap_attacks(Game(real, vectors(key=[0, 1, 1], secret=[1, 1, 0]), None), 1, [0])
    assert attack.guessing is not None
    assert attack.guessing.value == pytest.approx((3 + 1.9207) / (4 + 3.8415), abs=1e-3)  # right about 3 of 4
    assert attack.success.value == pytest.approx((1 + 1 + 1 / 2 + 1 / 2) / 4)


def test_five_classifiers_attack_too() -> None:
    pytest.importorskip("sklearn")
    real = people(150, 1)
    (attack,) = classifier_attacks(Game(real, people(150, 3), people(150, 2)), 2, [0])
    assert {"naive Bayes", "support vectors", "nearest neighbours", "random forest", "logistic regression"} <= set(attack.details)
    assert attack.guessing is not None
    assert attack.success.value > attack.guessing.value  # age tells illness
    assert attack.verdict != "above the baseline"  # of the hold-out as much


def test_odd_columns_are_no_obstacle() -> None:
    pytest.importorskip("sklearn")
    odd = vectors(
        constant=np.full(20, 2.0), nothing=np.full(20, np.nan), many=np.arange(0, 10_000, 500), one=np.zeros(20, np.int64)
    )
    for synthetic in (odd, odd.take([]), odd.take([0])):
        for secret in range(4):
            known = [column for column in range(4) if column != secret]
            assert len(list(gcap_attacks(Game(odd, synthetic, None), secret, known))) == 3
            assert len(list(classifier_attacks(Game(odd, synthetic, odd), secret, known[:1]))) == 1
