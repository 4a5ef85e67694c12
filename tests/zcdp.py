"""The δ that ρ-zCDP gives at an ε (Canonne, Kamath and Steinke 2020, Proposition 12): the other side of `epsilon_from_rho`.

Written a second time, for tests: mare itself only ever asks for the ε of a δ.
"""

from __future__ import annotations

from math import exp, log, log1p


def delta_of_zcdp(rho: float, epsilon: float) -> float:
    """The least of all orders α: log δ = (α - 1)(αρ - ε) + α·log(1 - 1/α) - log(α - 1), rounded up."""
    # the derivative of log δ in α, (2α - 1)ρ - ε + log(1 - 1/α), grows with α: its root is the best α
    low, high = 1.0, (epsilon + 1.0) / (2.0 * rho) + 2.0
    while low < (alpha := low + (high - low) / 2) < high:
        if (2 * alpha - 1) * rho - epsilon + log1p(-1 / alpha) < 0:
            low = alpha
        else:
            high = alpha
    first, second, third = (high - 1) * (high * rho - epsilon), high * log1p(-1 / high), log(high - 1)
    # what rounding can hide: a few ulps of each term before it cancels
    slack = 2.0**-49 * ((high - 1) * (high * rho + epsilon) + abs(second) + abs(third) + 1)
    return min(1.0, exp(min(0.0, first + second - third + slack)) * (1 + 2.0**-50))
