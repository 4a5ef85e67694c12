"""Planted bugs in single kinds of answers: clipped, scored, chosen, learned."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import mare.privacy.answers.counts as counts_module
import mare.privacy.answers.judging as judging_module
import mare.privacy.answers.pricing as pricing_module
import mare.privacy.answers.scoring as scoring_module
import mare.privacy.answers.selecting as selecting_module
import mare.privacy.curator as curator_module
import mare.privacy.learner as learner_module
from mare.privacy.answers.clipping import ChosenClip
from mare.privacy.choosing import Choice
from mare.privacy.curator import Clip
from mare.privacy.noise import Noise
from mare.privacy.till import Till
from tests.privacy import checks
from tests.privacy.planting import planted


@planted("the clip is read off the data", checks.sessions_pass_the_tape, "clip was|was asked in the recorded run|what was")
def clip_from_the_data(patch: pytest.MonkeyPatch) -> None:
    """C is the largest number of rows that occurs, so the noise scale tells it (leak 2)."""

    def largest(till: Till, marginals: Any, cells: int, share: float, clip: Any, price: Any) -> Any:
        if not isinstance(clip, ChosenClip):
            return price
        return pricing_module.priced(till, len(marginals), share, Clip(float(till.view.rows_per_entity().max(initial=1))))

    patch.setattr(counts_module, "settled", largest)


@planted("exponential mechanism with half the sensitivity", checks.sessions_pass_the_tape, "one entity moves it by .* in max")
def half_the_sensitivity_of_a_choice(patch: pytest.MonkeyPatch) -> None:
    """The chances of a choice move twice as far as its price says (noise and accounting)."""
    original = selecting_module.quote_choice
    patch.setattr(selecting_module, "quote_choice", lambda till, sensitivity, *args: original(till, sensitivity // 2, *args))


@planted("a sum of scores at the price of one of them", checks.sessions_pass_the_tape, "one entity moves it by .* in max")
def a_sum_at_the_price_of_one(patch: pytest.MonkeyPatch) -> None:
    """A choice for several columns is paid for as for one, and an entity moves it by as much as all of them (sensitivities)."""
    original = judging_module.judge

    def cheap(till: Till, *asked: Any) -> Any:
        judged = original(till, *asked)
        return [replace(whole, sensitivity=max(part.sensitivity for part in whole.scored)) for whole in judged]

    for module in (scoring_module, selecting_module):
        patch.setattr(module, "judge", cheap)


@planted("exponential mechanism without its factor 2", checks.choices_follow_their_law, "the law says")
def twice_as_sharp_a_choice(patch: pytest.MonkeyPatch) -> None:
    """P ∝ e^(εu/Δ) instead of e^(εu/2Δ): twice the ε that was paid for (noise and accounting)."""
    patch.setattr(Choice, "steepness", property(lambda self: self.epsilon / self.sensitivity))


@planted("scores of rows at the price of entities", checks.sessions_pass_the_tape, "one entity moves it by")
def scores_of_rows(patch: pytest.MonkeyPatch) -> None:
    """Rows weigh 1 each where one unit per entity was paid for, so an entity moves a score S times as far (sensitivities)."""
    original = scoring_module.exact_scores
    for module in (scoring_module, selecting_module):
        patch.setattr(module, "exact_scores", lambda till, judged, _: original(till, judged, "row"))


@planted(
    "learned categories without a threshold", checks.a_value_of_one_alone_is_not_learned, "one patient alone holds was learned"
)
def no_threshold(patch: pytest.MonkeyPatch) -> None:
    """A value that one entity alone holds gets out (leak 2)."""
    patch.setattr(learner_module, "key_threshold", lambda sigma, per_entity, delta: 0)


@planted("the clip is not applied", checks.sessions_pass_the_tape, "one entity moves it by")
def clip_not_applied(patch: pytest.MonkeyPatch) -> None:
    """The noise follows C; the entities still add all their rows (sensitivities)."""
    original = counts_module.weighed

    def unclipped(till: Till, marginals: Any, limit: Any) -> object:
        weights, mass = original(till, marginals, limit)
        if limit is None or weights is None:
            return weights, mass
        return np.full_like(weights, limit.unit), int(till.view.rows_per_entity().sum()) * limit.unit

    patch.setattr(counts_module, "weighed", unclipped)


@planted("the clip is applied after the noise", checks.sessions_pass_the_tape, "one entity moves it by")
def clip_after_noise(patch: pytest.MonkeyPatch) -> None:
    """Cutting what is released does not bound what an entity adds to it (sensitivities)."""
    clip_not_applied(patch)
    original = Till.release_dense

    def cut(self: Till, query: Any, noise: Noise, exact: Any) -> Any:
        released = original(self, query, noise, exact)
        return released if query.clip is None else [np.minimum(cells, int(query.clip * query.denominator)) for cells in released]

    patch.setattr(Till, "release_dense", cut)


@planted(
    "each table has a clip factor of its own", checks.clipped_tables_agree, r"P\(A = 1\) is 0.75 in one table, 0.90 in the other"
)
def clip_each_table(patch: pytest.MonkeyPatch) -> None:
    """Tables that are raked together must estimate one distribution; with .90 in one and .75 in the other they do not."""
    original = curator_module.answer_counts

    def each(till: Till, marginals: Any, share: float, clip: Any, **named: Any) -> Any:
        if clip is None:
            return original(till, marginals, share, clip, **named)
        return [answer for m in marginals for answer in original(till, [m], share / len(marginals), clip, **named)]

    patch.setattr(curator_module, "answer_counts", each)
