"""Coins of irrational bias: floats bracket, integers decide."""

from __future__ import annotations

from fractions import Fraction
from math import exp

import numpy as np
import pytest

from mare.privacy.bits import SeededBits
from mare.privacy.fixed_point import exp_down
from mare.privacy.inversion import Enclosure, coins, exponential_chance
from tests.unit.privacy.listed_view import ScriptedBits

EXPONENTS = [Fraction(0), Fraction(1, 1000), Fraction(1, 3), Fraction(7, 2), Fraction(50)]


def exactly(place: int) -> Enclosure:
    return exponential_chance(EXPONENTS[place % len(EXPONENTS)])


def chances(count: int) -> np.ndarray:
    return np.array([exp(-EXPONENTS[place % len(EXPONENTS)]) for place in range(count)])


def test_the_exact_comparison_decides_as_the_bracket_does(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a bracket of 1 every coin is thrown in integers; none may fall differently."""
    quick = coins(chances(500), exactly, SeededBits(3))
    monkeypatch.setattr("mare.privacy.inversion._BRACKET", 1.0)
    assert coins(chances(500), exactly, SeededBits(3)).tolist() == quick.tolist()


def test_heads_come_up_as_often_as_they_should() -> None:
    heads = coins(chances(500_000), exactly, SeededBits(4)).reshape(-1, len(EXPONENTS))
    for share, exponent in zip(heads.mean(axis=0), EXPONENTS, strict=True):
        chance = exp(-exponent)
        assert abs(share - chance) <= 6 * (chance * (1 - chance) / len(heads)) ** 0.5  # one seed in 5·10⁸


def test_a_wrong_float_decides_nothing() -> None:
    """The float is off by 2^-50; a word between it and the truth falls as the truth says."""
    truth = exp_down(Fraction(1, 3), 64)
    float_says = np.array([exp(-1 / 3) + 2.0**-50])
    assert not coins(float_says, lambda _: exponential_chance(Fraction(1, 3)), ScriptedBits([truth + 2**10]))[0]
    assert coins(float_says - 2.0**-49, lambda _: exponential_chance(Fraction(1, 3)), ScriptedBits([truth - 2**10]))[0]


def test_a_tie_reads_one_more_word() -> None:
    tie = exp_down(Fraction(1, 3), 64)
    bits = ScriptedBits([tie, 0])
    assert coins(np.array([exp(-1 / 3)]), lambda _: exponential_chance(Fraction(1, 3)), bits).tolist() == [True]
    assert bits.used == 2


@pytest.mark.parametrize("exponent", [Fraction(0), Fraction(1, 10**30), Fraction(3), Fraction(10**9)])
def test_enclosures_are_narrow_and_within_zero_and_one(exponent: Fraction) -> None:
    for width in (64, 128, 512):
        low, high = exponential_chance(exponent)(width)
        assert 0 <= low <= high <= min(low + 2, 1 << width)
