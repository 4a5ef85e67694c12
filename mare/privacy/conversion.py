"""From a budget to a noise scale and back: ρ (zCDP) ↔ (ε, δ), σ from ρ, the Laplace scale from ε.

The plan's preview and the curator both use these functions. Every one errs on the private side: what is
reported is never below the truth, what is granted never above it, and a scale is rounded up.

The conversion is that of Canonne, Kamath and Steinke, "The Discrete Gaussian for Differential Privacy" (2020),
Proposition 12: ρ-zCDP gives, for every α > 1, (ε, δ) with

    log δ = (α - 1)(αρ - ε) + α·log(1 - 1/α) - log(α - 1)

Any α is valid, so a minimum that is missed by a little costs a little budget and no privacy.

`up` and `down` turn fractions into floats, also on the private side: what was spent is rounded up, what is granted down.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from math import inf, isfinite, isqrt, log, log1p, nextafter, sqrt

from mare.errors import BudgetError

from .budget import Budget

NUMERIC_RESERVE = 2.0**-10
"""The part of δ that pays for the samplers' numerical error."""
LEARNING_RESERVE = 2.0**-6
"""The part of δ that pays for learning domains. The rest is for the conversion: setting this aside costs 0.1 % of noise."""

_ULP = 2.0**-52


def epsilon_from_rho(rho: float, delta: float) -> float:
    """The ε that ρ-zCDP gives at this δ, rounded up."""
    return 0.0 if rho == 0 else _best(rho, delta)[0]


def order_from_budget(budget: Budget) -> float:
    """The Rényi order α at which `rho_from_budget` is worth this budget: a Rényi divergence of αρ gives its (ε, δ)."""
    return _best(rho_from_budget(budget), conversion_delta(budget))[1]


def _best(rho: float, delta: float) -> tuple[float, float]:
    """The least ε, rounded up, and the order α that gives it."""
    _positive("rho", rho)
    if not 0 < delta < 1:
        raise BudgetError(f"delta is {delta}; zCDP turns into (epsilon, delta) only for a delta between 0 and 1.")
    # {α : ε(α) ≤ e} = {α : log δ(α, e) ≤ log δ} is an interval because log δ is convex in α, so ε(α) falls and then
    # rises; its derivative has the sign of the derivative of log δ at (α, ε(α)).
    low, high = 1.0, 2.0
    while not _rising(high, rho, delta) and high < 1e300:
        low, high = high, high * 2
    best = (_epsilon_at(high, rho, delta), high)
    while low < (alpha := low + (high - low) / 2) < high:
        best = min(best, (_epsilon_at(alpha, rho, delta), alpha))
        if _rising(alpha, rho, delta):
            high = alpha
        else:
            low = alpha
    return max(0.0, best[0]), best[1]


@lru_cache(maxsize=256)
def rho_from_budget(budget: Budget) -> float:
    """The largest ρ whose (ε, δ) stays within this budget, rounded down. δ leaves room for the samplers and for learning."""
    if budget.pure:
        raise BudgetError("a budget with delta = 0 is spent as pure epsilon: it has no rho. Give a delta above 0 for zCDP.")
    delta = conversion_delta(budget)
    low, high = 0.0, 1.0
    while epsilon_from_rho(high, delta) <= budget.epsilon:
        low, high = high, high * 2
    while high - low > low * 2.0**-48:
        middle = low + (high - low) / 2
        if middle <= 1e-300:
            raise BudgetError(f"epsilon {budget.epsilon} with delta {budget.delta} is too small to buy any measurement.")
        if epsilon_from_rho(middle, delta) <= budget.epsilon:
            low = middle
        else:
            high = middle
    # a hair below, so that rounding inside `epsilon_from_rho` cannot report more than was granted
    return low * (1 - 2.0**-40)


def conversion_delta(budget: Budget) -> float:
    """The part of the budget's δ that the conversion from ρ may use."""
    return down(budget.delta_fraction * (1 - Fraction(NUMERIC_RESERVE) - Fraction(LEARNING_RESERVE)))


def learning_delta(budget: Budget) -> float:
    """The part of the budget's δ that learning may use, in all."""
    return down(budget.delta_fraction * Fraction(LEARNING_RESERVE))


def numeric_delta(budget: Budget) -> float:
    """The part of the budget's δ that the samplers' numerical error may use, in all."""
    return down(budget.delta_fraction * Fraction(NUMERIC_RESERVE))


def sigma_from_rho(rho: float, l2_sensitivity: float) -> float:
    """The Gaussian σ that costs ρ at this L2 sensitivity: σ² = Δ²/2ρ, rounded up."""
    _positive("rho", rho)
    _positive("the L2 sensitivity", l2_sensitivity)
    wanted = Fraction(l2_sensitivity) ** 2 / (2 * Fraction(rho))
    sigma = _finite("sigma", l2_sensitivity / sqrt(2 * rho))
    while Fraction(sigma) ** 2 < wanted:
        sigma = nextafter(sigma, inf)
    return _finite("sigma", sigma)


def scale_from_epsilon(epsilon: float | Fraction, l1_sensitivity: float) -> float:
    """The Laplace scale b that costs ε at this L1 sensitivity: b = Δ/ε, rounded up."""
    _positive("epsilon", float(epsilon))
    _positive("the L1 sensitivity", l1_sensitivity)
    wanted = Fraction(l1_sensitivity) / Fraction(epsilon)
    try:
        scale = float(wanted)
    except OverflowError:
        scale = inf
    while isfinite(scale) and Fraction(scale) < wanted:
        scale = nextafter(scale, inf)
    return _finite("the Laplace scale", scale)


def choice_scale(cost: float, sensitivity: float, *, pure: bool) -> float:
    """The Gumbel scale b of an exponential choice that costs this: ε₀ = 2Δ/b, or ρ = ε₀²/8 = Δ²/2b². Rounded up."""
    return scale_from_epsilon(cost, 2 * sensitivity) if pure else sigma_from_rho(cost, sensitivity)


def sqrt_up(value: int) -> float:
    """√value, rounded up: an L2 sensitivity such as S√k = √(S²k) must not lose its last bit."""
    root = float(isqrt(value)) if isqrt(value) ** 2 == value else sqrt(value)
    while Fraction(root) ** 2 < value:
        root = nextafter(root, inf)
    return root


def _epsilon_at(alpha: float, rho: float, delta: float) -> float:
    terms = (alpha * rho, -log(delta) / (alpha - 1), -log(alpha) / (alpha - 1), log1p(-1 / alpha))
    return sum(terms) + 8 * _ULP * (sum(abs(t) for t in terms) + 1e-300)


def _rising(alpha: float, rho: float, delta: float) -> bool:
    return (2 * alpha - 1) * rho - _epsilon_at(alpha, rho, delta) + log1p(-1 / alpha) > 0


def _positive(what: str, value: float) -> None:
    if not (isfinite(value) and value > 0):
        raise BudgetError(f"{what} is {value}; it must be a finite number above 0.")


def _finite(what: str, value: float) -> float:
    if not (isfinite(value) and value > 0):
        raise BudgetError(f"{what} would be {value}: this share of the budget is too small to measure anything.")
    return value


def up(value: Fraction) -> float:
    """The nearest float that is not below."""
    number = float(value)
    return nextafter(number, inf) if Fraction(number) < value else number


def down(value: Fraction) -> float:
    """The nearest float that is not above."""
    number = float(value)
    return nextafter(number, -inf) if Fraction(number) > value else number
