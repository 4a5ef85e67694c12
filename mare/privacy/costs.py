"""What a mechanism costs at least. The set is closed: an unknown one is refused, never guessed at (fail closed).

The curator says what it charges; here the charge is worked out again from sensitivity and scale, in exact
fractions, so that neither a slip in the curator nor an edited ledger can pass an answer off as cheaper than it was.

| mechanism | ε under pure ε | ρ under (ε, δ) | why |
|---|---|---|---|
| discrete gaussian | refused | Δ₂²/2σ² | Canonne, Kamath and Steinke 2020, Theorem 14 |
| discrete laplace | Δ₁/b | (Δ₁/b)²/2 | ε-DP is ε²/2-zCDP: Bun and Steinke 2016, Proposition 1.4 |
| exponential choice | ε₀ = 2Δ/b | ε₀²/8 | bounded range (Cesar and Rogers 2021); b scales the Gumbel noise |
| stable keys | refused | Δ₂²/2σ², and its own δ | approximate zCDP: Bun and Steinke 2016, Section 8 |
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from math import isfinite
from typing import Literal

from mare.errors import PrivacyError

Kind = Literal["discrete gaussian", "discrete laplace", "exponential choice", "stable keys"]
Norm = Literal["L1", "L2", "max"]
"""How far one entity moves the answer: summed, Euclidean, or at most (any one quality of a choice)."""


@dataclass(frozen=True)
class _Mechanism:
    norm: Norm
    rho: Callable[[Fraction], Fraction]
    """zCDP, from sensitivity / scale."""
    epsilon: Callable[[Fraction], Fraction] | None = None
    """Pure ε, from sensitivity / scale; None where there is none."""
    learns: bool = False
    """True when it fails with a δ of its own."""


def _half_square(ratio: Fraction) -> Fraction:
    return ratio * ratio / 2


_MECHANISMS: dict[str, _Mechanism] = {
    "discrete gaussian": _Mechanism("L2", _half_square),
    "discrete laplace": _Mechanism("L1", _half_square, lambda ratio: ratio),
    "exponential choice": _Mechanism("max", _half_square, lambda ratio: 2 * ratio),  # (2Δ/b)²/8 = (Δ/b)²/2
    "stable keys": _Mechanism("L2", _half_square, learns=True),
}


def least_cost(kind: str, norm: str, sensitivity: float, scale: float, *, delta: float, pure: bool) -> Fraction:
    """The ε (pure) or ρ that one such answer costs. What cannot be paid for under this budget, or at all, is refused."""
    mechanism = _MECHANISMS.get(kind)
    if mechanism is None:
        raise PrivacyError(f"there is no mechanism {kind!r}. Mechanisms: {', '.join(_MECHANISMS)}. Nothing was charged.")
    if norm != mechanism.norm:
        raise PrivacyError(f"{kind}: the sensitivity is in {norm}; it must be in {mechanism.norm}. Nothing was charged.")
    for what, value in (("sensitivity", sensitivity), ("scale", scale)):
        if isinstance(value, bool) or not isinstance(value, int | float) or not isfinite(value) or value <= 0:
            raise PrivacyError(f"{kind}: the {what} is {value!r}; it must be a finite number above 0. Nothing was charged.")
    if mechanism.learns != (delta > 0):
        wanted = "a delta of its own, above 0" if mechanism.learns else "no delta of its own"
        raise PrivacyError(f"{kind}: it needs {wanted}; it has {delta!r}. Nothing was charged.")
    ratio = Fraction(sensitivity) / Fraction(scale)
    if not pure:
        return mechanism.rho(ratio)
    if mechanism.epsilon is None:
        raise PrivacyError(f"{kind}: it cannot be paid with pure epsilon. Plan with a delta above 0. Nothing was charged.")
    return mechanism.epsilon(ratio)
