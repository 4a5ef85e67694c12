"""What an ε is worth, in words. The thresholds stand here and are explained once, in docs/privacy.md ("What ε means").

Who is half sure that somebody is in the data may be 73 % sure after a release at ε = 1, 99.3 % at 5 and 99.995 % at 10
(e^ε / (1 + e^ε)). At 20 the doubt that is left is one in 500 million: a bound that excludes nothing is no promise.
"""

from __future__ import annotations

from math import exp

WEAK = 10.0
NEXT_TO_NOTHING = 20.0
LARGE_DELTA = 1e-4
"""Ten thousand patients, one of them told: more than that is no accident."""


def factor(epsilon: float) -> str:
    """e^ε as people read it."""
    return f"{exp(epsilon):.3g}" if epsilon < 700 else f"e^{epsilon:.4g}"


def plainly(epsilon: float, delta: float = 0.0) -> str | None:
    """What must be said about an ε and a δ; None where their numbers may speak for themselves."""
    if delta > LARGE_DELTA:
        word = f"delta = {delta:g} is large: with a chance of that size one person's data may be told as it is"
        return word if (rest := plainly(epsilon)) is None else f"{rest}; and {word}"
    if epsilon > NEXT_TO_NOTHING:
        return (
            f"epsilon = {epsilon:g} promises next to nothing: the odds that somebody is in the data may move by a factor of "
            f"{factor(epsilon)}. The noise still hides something, but nobody can say how much"
        )
    if epsilon > WEAK:
        return f"epsilon = {epsilon:g} is weak: the odds that somebody is in the data may move by a factor of {factor(epsilon)}"
    return None
