"""Fractions to floats, always on the private side: what was spent is rounded up, what is granted down."""

from __future__ import annotations

from fractions import Fraction
from math import inf, nextafter


def up(value: Fraction) -> float:
    """The nearest float that is not below."""
    number = float(value)
    return nextafter(number, inf) if Fraction(number) < value else number


def down(value: Fraction) -> float:
    """The nearest float that is not above."""
    number = float(value)
    return nextafter(number, -inf) if Fraction(number) > value else number
