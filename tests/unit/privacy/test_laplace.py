"""The tables of the discrete Laplace say exactly what they should, and nothing is beyond reach."""

from __future__ import annotations

from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest

from mare.privacy.bits import SeededBits
from mare.privacy.laplace import LARGEST_SCALE, SATURATION, GeometricTable, _tables, discrete_laplace, geometric
from tests.unit.privacy.listed_view import ScriptedBits

SCALES = [0.001, 0.3, 1.0, 7.77, 1000.0, 1025.0, 123456.7, LARGEST_SCALE]


def true_threshold(table: GeometricTable, index: int) -> Decimal:
    def reached(steps: int) -> Decimal:
        return 1 - (Decimal(-steps) * Decimal(table.rate.numerator) / Decimal(table.rate.denominator)).exp()

    return reached(index + 1) / (Decimal(1) if table.modulus is None else reached(table.modulus))


def sampled_indices(table: GeometricTable) -> list[int]:
    return sorted({0, 1, len(table.tops) // 2, len(table.tops) - 1} & set(range(len(table.tops))))


@pytest.mark.parametrize("scale", SCALES)
def test_tops_and_enclosures_surround_the_true_thresholds(scale: float) -> None:
    digits, last = _tables(scale)
    with localcontext() as context:
        context.prec = 200
        for table in (*digits, last):
            assert np.all(np.diff(table.tops.astype(object)) >= 0)
            for index in sampled_indices(table):
                truth = true_threshold(table, index)
                assert 0 <= truth * 2**64 - int(table.tops[index]) < 2
                for width in (64, 128, 320):
                    low, high = table.enclosure(index, width)
                    assert low <= truth * 2**width <= high <= low + 4


@pytest.mark.parametrize("scale", SCALES)
def test_the_digits_of_a_scale_multiply_up_to_it(scale: float) -> None:
    digits, last = _tables(scale)
    assert last.modulus is None
    assert last.rate == Fraction(1024 ** len(digits)) / Fraction(scale)
    assert [table.rate for table in digits] == [Fraction(1024**i) / Fraction(scale) for i in range(len(digits))]
    assert len(last.tops) < 20_000


def test_a_draw_beyond_the_table_starts_again_one_table_further() -> None:
    _, last = _tables(2.0)
    size = len(last.tops)
    top = 2**64 - 1
    assert geometric(2.0, 1, ScriptedBits([top, top, 0])).tolist() == [2 * size]


def test_magnitudes_are_unbounded_up_to_saturation(monkeypatch: pytest.MonkeyPatch) -> None:
    assert SATURATION == 2**62
    monkeypatch.setattr("mare.privacy.laplace.SATURATION", 2**50)
    assert geometric(LARGEST_SCALE, 1, ScriptedBits([2**64 - 1] * 1000)).tolist() == [2**50]


def test_minus_zero_is_drawn_again() -> None:
    zero, minus, plus = 0, 2**64 - 1, 0
    bits = ScriptedBits([zero, minus, zero, plus])
    assert discrete_laplace(1.0, 1, bits).tolist() == [0]
    assert bits.used == 4


def test_the_same_seed_draws_the_same() -> None:
    assert discrete_laplace(3.0, 50, SeededBits(1)).tolist() == discrete_laplace(3.0, 50, SeededBits(1)).tolist()


@pytest.mark.parametrize("scale", [0.0, -1.0, float("nan"), float("inf"), LARGEST_SCALE * 2])
def test_a_scale_that_is_none_is_refused(scale: float) -> None:
    with pytest.raises(ValueError, match="scale"):
        discrete_laplace(scale, 1, SeededBits(1))
