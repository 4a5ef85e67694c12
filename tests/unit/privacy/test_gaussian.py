"""The table of the discrete Gaussian is as close to the truth as it claims; rejection decides exactly."""

from __future__ import annotations

from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

from mare.privacy import gaussian
from mare.privacy.bits import SeededBits
from mare.privacy.gaussian import LARGEST_SIGMA, WIDTH, gaussian_table, rejected_gaussian, table_size
from tests.unit.privacy.listed_view import ScriptedBits

SIGMAS = [0.001, 0.2, 0.5, 1.0, 3.3, 40.0]


def true_weights(sigma: float, most: int) -> list[Decimal]:
    """e^(-k²/2σ²) for k = 0 … most-1, both signs together."""
    variance = Fraction(sigma) ** 2
    scale = Decimal(variance.denominator) / Decimal(2 * variance.numerator)
    return [(-(k * k) * scale).exp() * (1 if k == 0 else 2) for k in range(most)]


@pytest.mark.parametrize("sigma", SIGMAS)
def test_the_table_is_no_further_from_the_truth_than_it_says(sigma: float) -> None:
    table = gaussian_table(sigma)
    size = len(table.thresholds) + 1
    with localcontext() as context:
        context.prec = 150
        weights = true_weights(sigma, 3 * size)
        total = sum(weights)
        edges = [0, *table.thresholds, 1 << WIDTH]
        held = [Decimal(b - a) / Decimal(1 << WIDTH) for a, b in pairwise(edges)]
        held += [Decimal(0)] * (len(weights) - len(held))
        distance = sum(abs(mine - true / total) for mine, true in zip(held, weights, strict=True)) / 2
        claimed = Decimal(table.total_variation.numerator) / Decimal(table.total_variation.denominator)
        assert distance <= claimed
        assert claimed < Decimal((size + 4) << 4) / (1 << WIDTH)


def test_a_large_table_still_claims_next_to_nothing() -> None:
    assert gaussian_table(5000.0).total_variation < Fraction(1, 2**107)


@pytest.mark.parametrize("sigma", SIGMAS)
def test_thresholds_ascend_and_fit_their_width(sigma: float) -> None:
    table = gaussian_table(sigma)
    assert table.thresholds == sorted(table.thresholds)
    assert 0 < table.thresholds[0] <= table.thresholds[-1] < 1 << WIDTH
    assert len(table.thresholds) == len(table.tops) == table_size(sigma)


def test_the_second_word_settles_a_tie() -> None:
    table = gaussian_table(3.3)
    first, second = divmod(table.thresholds[2], 1 << 64)
    heads = 0
    assert table.draw(1, ScriptedBits([first, second, heads])).tolist() == [3]
    assert table.draw(1, ScriptedBits([first, second - 1, heads])).tolist() == [2]
    assert table.draw(1, ScriptedBits([first - 1, heads])).tolist() == [2]


def test_the_coin_gives_the_sign() -> None:
    table = gaussian_table(3.3)
    assert table.draw(1, ScriptedBits([2**63, 0])).tolist() == [2]
    assert table.draw(1, ScriptedBits([2**63, 2**64 - 1])).tolist() == [-2]


def test_the_exact_comparison_decides_as_the_bracket_does(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a bracket of 1 every draw is decided in integers; the draws must not change."""
    quick = rejected_gaussian(12.5, 300, SeededBits(5))
    monkeypatch.setattr("mare.privacy.inversion._BRACKET", 1.0)
    assert rejected_gaussian(12.5, 300, SeededBits(5)).tolist() == quick.tolist()


def test_rejection_reads_more_bits_where_sixty_four_do_not_settle() -> None:
    def kept(bits: ScriptedBits) -> bool:
        return bool(gaussian._kept(np.array([0]), 2, Fraction(1), bits)[0])

    chance = gaussian.exp_down(Fraction(1, 8), 64)  # γ of a draw of 0 with σ = 1, scale 2: (1/2)²/2
    assert kept(ScriptedBits([chance - 1]))
    assert not kept(ScriptedBits([chance + 2]))
    low = ScriptedBits([chance, 0])
    assert kept(low)
    assert low.used == 2


@pytest.mark.parametrize("sigma", [0.0, -1.0, float("nan"), float("inf"), LARGEST_SIGMA * 2])
def test_a_sigma_that_is_none_is_refused(sigma: float) -> None:
    with pytest.raises(ValueError, match="sigma"):
        gaussian_table(sigma)
    with pytest.raises(ValueError, match="sigma"):
        rejected_gaussian(sigma, 1, SeededBits(1))


def test_rejection_works_at_the_largest_sigma() -> None:
    drawn = rejected_gaussian(LARGEST_SIGMA, 2000, SeededBits(2))
    assert np.std(drawn) == pytest.approx(LARGEST_SIGMA, rel=0.1)
