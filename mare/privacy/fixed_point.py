"""Powers of e as integers, with a counted error: what the samplers' tables are made of.

A fixed-point number with F bits is an integer x that stands for x·2^-F. Python's integers do not overflow and do not
round, so every error below is one that a floor made, and is counted in units of the last place (ulp = 2^-F).

`gaussian_mass` is Σ_k e^(-k²/2σ²) over all integers k, what the discrete Gaussian is divided by, between two fractions. The
sparse mechanism needs this number itself (a table or a rejection does not), for σ from 2^-10 to 2^30, to any
precision. Summing term by term takes about σ terms; Poisson's formula turns the sum into one that converges the
faster the larger σ is, and of the two never more than a few terms are needed:

    Σ_k e^(-k²/2σ²) = σ√(2π)·Σ_j e^(-2π²σ²j²)
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from math import isqrt

_GUARD = 64


def exp_down(exponent: Fraction, bits: int) -> int:
    """e^-exponent in fixed point, rounded down: true value - 2 ulp < result ≤ true value. ``exponent`` ≥ 0."""
    if exponent < 0:
        raise ValueError(f"the exponent must not be negative, it is {exponent}")
    if exponent > bits + 1:  # e^-x < 2^-x: less than half an ulp
        return 0
    work = bits + _GUARD
    halvings = max(0, exponent.numerator.bit_length() - exponent.denominator.bit_length() + 3)
    reduced = (exponent.numerator << work) // (exponent.denominator << halvings)  # below 1/4
    # e^-x = Σ (-x)^i / i!: fewer than work/3 + 2 terms, each off by less than 3 units of the working precision
    term, total, index = 1 << work, 0, 0
    while term:
        total += -term if index % 2 else term
        index += 1
        term = ((term * reduced) >> work) // index
    for _ in range(halvings):  # e^-x = (e^-x/2)²: an error at most doubles, plus one
        total = (total * total) >> work
    # all of it together is below 2^(halvings + 1)·(work + 2) units, which the 2^64 of the guard bits make next to nothing
    slack = (work + 2) << (halvings + 1)
    return max(0, (total - slack) >> _GUARD)


def powers_down(base_exponent: Fraction, count: int, bits: int) -> list[int]:
    """e^(-k·base_exponent) for k = 0 … count-1. Entry k is at most its true value, and less than 3k + 1 ulp below it."""
    base = exp_down(base_exponent, bits)
    value, powers = 1 << bits, []
    for _ in range(count):
        powers.append(value)
        value = (value * base) >> bits
    return powers


_MASS_GUARD = 40


@lru_cache(maxsize=64)
def gaussian_mass(sigma: float, width: int) -> tuple[Fraction, Fraction]:
    """low ≤ Σ_k e^(-k²/2σ²) ≤ high, less than 2^-width apart, for σ up to 2^30."""
    variance = Fraction(sigma) ** 2
    if sigma <= 1:
        return _theta(1 / (2 * variance), 1 / (2 * variance), width + _MASS_GUARD)
    work = width + 2 * _MASS_GUARD
    pi_low, pi_high = (Fraction(value, 1 << work) for value in pi_between(work))
    low, high = _theta(2 * pi_low**2 * variance, 2 * pi_high**2 * variance, work)
    return low * _root_down(2 * pi_low * variance, work), high * (
        _root_down(2 * pi_high * variance, work) + Fraction(1, 1 << work)
    )


def pi_between(width: int) -> tuple[int, int]:
    """Integers around π·2^width, at most 2 apart, by Machin's formula π = 16·arctan(1/5) - 4·arctan(1/239)."""
    work = width + _MASS_GUARD
    value = 16 * _arctan_of_inverse(5, work) - 4 * _arctan_of_inverse(239, work)
    # each series has fewer than work/2 terms, each off by less than 2 units: in all below 20·work, far below 2^40
    return (value - 20 * work) >> _MASS_GUARD, ((value + 20 * work) >> _MASS_GUARD) + 1


def _arctan_of_inverse(x: int, work: int) -> int:
    """arctan(1/x) = Σ (-1)^i / ((2i + 1)·x^(2i + 1)) in fixed point."""
    power, total, index = (1 << work) // x, 0, 0
    while power:
        total += (-power if index % 2 else power) // (2 * index + 1)
        power //= x * x
        index += 1
    return total


def _theta(lowest: Fraction, highest: Fraction, width: int) -> tuple[Fraction, Fraction]:
    """Σ_k e^(-x·k²) for an x ≥ 1/2 that is only known to lie between the two (it falls with x)."""
    low, high, k = 1 << width, 1 << width, 1
    while lowest * k * k <= width + 1:
        low += 2 * exp_down(highest * k * k, width)
        high += 2 * (exp_down(lowest * k * k, width) + 2)
        k += 1
    # what is left weighs at most 2·e^(-xk²)/(1 - e^(-x(2k + 1))) < 2·2^-(width + 1)/(1 - e^(-3/2)) < 2 ulp
    return Fraction(low, 1 << width), Fraction(high + 2, 1 << width)


def _root_down(value: Fraction, width: int) -> Fraction:
    """√value, at most 2^-width too low."""
    return Fraction(isqrt((value.numerator << (2 * width)) // value.denominator), 1 << width)
