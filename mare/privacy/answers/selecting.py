"""Choosing one of many candidates by its true score, privately: which parent a column gets, which table is worth measuring.

The exponential mechanism under (ε, δ), for ρ = ε₀²/8; the noisy maximum under pure ε, for ε₀ (`choosing`). Penalties are public
numbers, taken off the scores before the choice (recipe, step 7); a candidate that is None scores 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from mare.domain import Marginal
from mare.errors import BudgetError, PrivacyError
from mare.privacy.choosing import Choice, Rule, prepare_choice
from mare.privacy.conversion import choice_scale, down
from mare.privacy.qualities import UNIT, Candidate, Weighting
from mare.privacy.tape import Query
from mare.privacy.till import Till, described_charge

from .judging import cross_tabs, fingerprint, in_units, judge, named
from .scoring import exact_scores

Integers = NDArray[np.int64]


@dataclass(frozen=True)
class Selected:
    """What was chosen, and what the choice cost."""

    index: int
    candidate: Candidate | None
    rule: Rule
    scale: float
    """b: a candidate that is behind by b is chosen e times less often, in entities (or rows)."""
    sensitivity: float
    """How far one entity moves any one score, in the same unit."""
    cost: float
    """ρ under (ε, δ), ε under pure ε."""


@dataclass(frozen=True)
class ChoiceQuote:
    """What a share of the budget buys for a choice. Nothing was charged yet."""

    portion: Fraction
    cost: float
    sensitivity: int
    """In units of the scores."""
    scale: float
    choice: Choice


def answer_select(
    till: Till,
    candidates: Sequence[Candidate | None],
    share: float,
    penalties: Sequence[float] | None,
    weighting: Weighting,
) -> Selected:
    """The candidate that was chosen. Every quality moves by at most the largest of their sensitivities."""
    judged = judge(till, candidates, weighting)
    taken_off = in_units(np.zeros(len(judged)) if penalties is None else penalties, f"{till.where}, penalties")
    if taken_off.shape != (len(judged),):
        raise PrivacyError(f"{till.where}: {taken_off.size} penalties were given for {len(judged)} candidates.")
    quote = quote_choice(till, max(entry.sensitivity for entry in judged), share)
    till.assert_cap()
    marginals = cross_tabs(judged)
    what = f"choice among {named(judged)}"
    query = described_choice(till, quote, what, marginals, unit=UNIT, public=fingerprint(judged, taken_off))
    till.pay(query, described_charge(query, len(judged), 0.0), quote.portion)
    index = released_choice(till, query, quote, exact_scores(till, judged, weighting) - taken_off)
    return Selected(index, candidates[index], quote.choice.rule, quote.scale / UNIT, quote.sensitivity / UNIT, quote.cost)


def quote_choice(till: Till, sensitivity: int, share: float) -> ChoiceQuote:
    """How sharply this share lets one choose."""
    portion = till.portion(share)
    cost = down(portion)
    if cost <= 0:
        raise BudgetError(f"{till.where}: this share of the budget is too small to choose anything.")
    scale = choice_scale(cost, float(sensitivity), pure=till.pure)
    rule: Rule = "noisy maximum" if till.pure else "exponential mechanism"
    # e^(u/b) = e^(ε₀·u/2Δ): the ε₀ that the rounded scale stands for is never above the one that was paid
    choice = prepare_choice(rule, 2 * sensitivity / Fraction(scale), sensitivity)
    return ChoiceQuote(portion, cost, sensitivity, scale, choice)


def described_choice(
    till: Till, quote: ChoiceQuote, what: str, marginals: tuple[Marginal, ...], *, unit: int = 1, public: str = ""
) -> Query:
    """The question as the tape keeps it, in units of the scores."""
    return Query(
        what=what,
        view=till.view.name,
        marginals=marginals,
        mechanism="exponential choice",
        norm="max",
        sensitivity=float(quote.sensitivity),
        sensitivity_squared=quote.sensitivity**2,
        scale=quote.scale,
        cost=quote.cost,
        denominator=unit,
        public=public,
    )


def released_choice(till: Till, query: Query, quote: ChoiceQuote, scores: Integers) -> int:
    """The place of the chosen one. The tape keeps the scores, and lets the place alone out."""

    def draw() -> list[Integers]:
        return [np.array([quote.choice.choose(scores, till.bits)], dtype=np.int64)]

    ((place,),) = till.release(query, [scores], draw)
    return int(place)
