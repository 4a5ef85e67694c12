"""The normaliser of the discrete Gaussian lies between its two bounds, whichever of the two sums it came from."""

from __future__ import annotations

from decimal import Decimal, localcontext
from fractions import Fraction

import pytest

from mare.privacy.fixed_point import gaussian_mass, pi_between

PI = "3.14159265358979323846264338327950288419716939937510582097494459230781640628620899862803482534211706798214808651"


def decimal_mass(sigma: float) -> Decimal:
    variance = Fraction(sigma) ** 2
    scale = Decimal(variance.denominator) / Decimal(2 * variance.numerator)
    return 1 + 2 * sum(((-(k * k) * scale).exp() for k in range(1, int(25 * sigma) + 40)), Decimal(0))


def decimal(value: Fraction) -> Decimal:
    return Decimal(value.numerator) / Decimal(value.denominator)


@pytest.mark.parametrize("width", [8, 64, 200, 320])
def test_pi_lies_between_two_neighbours(width: int) -> None:
    low, high = pi_between(width)
    with localcontext() as context:
        context.prec = 140
        assert low <= Decimal(PI) * 2**width <= high <= low + 2


@pytest.mark.parametrize("sigma", [2.0**-10, 0.2, 0.5, 0.99, 1.0, 1.0 + 2**-52, 1.3, 3.3, 40.0])
@pytest.mark.parametrize("width", [64, 128, 256])
def test_the_mass_lies_between_its_bounds(sigma: float, width: int) -> None:
    low, high = gaussian_mass(sigma, width)
    assert 0 <= high - low < Fraction(1, 2**width)
    with localcontext() as context:
        context.prec = 110
        # 25σ out, what the reference leaves away is below 10^-130
        assert decimal(low) - Decimal(10) ** -100 <= decimal_mass(sigma) <= decimal(high) + Decimal(10) ** -100


def test_a_wide_gaussian_weighs_what_its_integral_does() -> None:
    low, high = gaussian_mass(2.0**30, 128)
    assert high - low < Fraction(1, 2**128)
    with localcontext() as context:
        context.prec = 110
        assert decimal(low) <= 2**30 * (2 * Decimal(PI)).sqrt() <= decimal(high)


def test_more_bits_narrow_the_same_number() -> None:
    coarse, fine = gaussian_mass(5.5, 40), gaussian_mass(5.5, 400)
    assert coarse[0] <= fine[0] < fine[1] <= coarse[1]
