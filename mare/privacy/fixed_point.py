"""Powers of e as integers, with a counted error: what the samplers' tables are made of.

A fixed-point number with F bits is an integer x that stands for x·2^-F. Python's integers do not overflow and do not
round, so every error below is one that a floor made, and is counted in units of the last place (ulp = 2^-F).
"""

from __future__ import annotations

from fractions import Fraction

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
