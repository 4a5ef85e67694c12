"""Powers of e as integers: rounded down, by less than is claimed. The oracle is the decimal module."""

from __future__ import annotations

from decimal import Decimal, localcontext
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mare.privacy.fixed_point import exp_down, powers_down


def true_exp(exponent: Fraction, bits: int) -> Decimal:
    """e^-exponent in units of 2^-bits, to 100 digits beyond the point that matters."""
    return (Decimal(-exponent.numerator) / Decimal(exponent.denominator)).exp() * Decimal(2) ** bits


exponents = st.one_of(
    st.fractions(0, 200),
    st.floats(1e-12, 1e3).map(Fraction),
    st.integers(0, 40).map(lambda power: Fraction(1, 2**power)),
)


@given(exponents, st.sampled_from([64, 128, 192, 300]))
def test_exp_is_rounded_down_by_less_than_two_units(exponent: Fraction, bits: int) -> None:
    with localcontext() as context:
        context.prec = 200
        missing = true_exp(exponent, bits) - exp_down(exponent, bits)
        assert 0 <= missing < 2


def test_exp_of_nothing_is_one_and_of_much_is_nothing() -> None:
    assert (1 << 128) - exp_down(Fraction(0), 128) in (0, 1)
    assert exp_down(Fraction(1000), 128) == 0


def test_a_negative_exponent_is_refused() -> None:
    with pytest.raises(ValueError, match="negative"):
        exp_down(Fraction(-1), 64)


@given(st.floats(1e-6, 5).map(Fraction))
def test_powers_stay_within_their_counted_error(rate: Fraction) -> None:
    with localcontext() as context:
        context.prec = 200
        for k, power in enumerate(powers_down(rate, 50, 128)):
            assert 0 <= true_exp(rate * k, 128) - power < 3 * k + 1
