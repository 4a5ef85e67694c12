"""Planted bugs of a saboteur who had not written the gate: in draws, prices, thresholds, caches and the order of paying."""

from __future__ import annotations

import os
from dataclasses import replace
from math import isqrt
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import mare.privacy.accountant as accountant_module
import mare.privacy.answers.clipping as clipping_module
import mare.privacy.answers.pricing as pricing_module
import mare.privacy.conversion as conversion_module
import mare.privacy.curator as curator_module
import mare.privacy.learner as learner_module
from mare.errors import PrivacyError
from mare.privacy.answers.clipping import Limit
from mare.privacy.answers.judging import judge
from mare.privacy.answers.scoring import exact_scores
from mare.privacy.bits import BitSource, OsBits
from mare.privacy.choosing import Choice
from mare.privacy.noise import Noise, standard_deviation
from mare.privacy.till import Till
from tests.privacy import checks, checks_of_noise, checks_of_prices
from tests.privacy.planting import planted
from tests.privacy.seams import fit_module

Integers = NDArray[np.int64]

# ---------------------------------------------------------------------- draws


@planted(
    "noise that never goes beyond six deviations", checks_of_noise.extreme_bits_draw_extreme_noise, "noise ends .* scales out"
)
def bounded_noise(patch: pytest.MonkeyPatch) -> None:
    """Draws far out are cut, so that some answers rule a count out: that happens far more often than δ (noise and accounting)."""
    original = Noise.draw

    def draw(self: Noise, bits: BitSource) -> Integers:
        farthest = int(6 * standard_deviation(self.mechanism, self.scale))
        return np.clip(original(self, bits), -farthest, farthest)

    patch.setattr(Noise, "draw", draw)


@planted(
    "noise from a generator with a short seed",
    checks_of_noise.system_bits_are_the_systems_own,
    "not the bytes that the operating system gave",
)
def short_seed(patch: pytest.MonkeyPatch) -> None:
    """Two bytes of the operating system's start a generator: whoever tries 65,536 seeds takes the noise off (leak 5)."""

    def words(self: OsBits, count: int) -> NDArray[np.uint64]:
        rng = np.random.default_rng(int.from_bytes(os.urandom(2), "big"))
        return rng.integers(0, 2**64, count, dtype=np.uint64)

    patch.setattr(OsBits, "words", words)


@planted("a choice by floating-point Gumbel noise", checks_of_noise.bits_cover_every_cell, "words were drawn")
def gumbel_choice(patch: pytest.MonkeyPatch) -> None:
    """The law of the choice is right, its randomness is numpy's, from one word (leak 6)."""

    def choose(self: Choice, scores: Integers, bits: BitSource) -> int:
        rng = np.random.default_rng(int(bits.words(1)[0]))
        return int(np.argmax(scores * float(self.steepness) + rng.gumbel(size=scores.size)))

    patch.setattr(Choice, "choose", choose)


@planted(
    "learned values in the order of their true counts",
    checks_of_noise.listed_values_stand_in_canonical_order,
    "values come in the order",
)
def values_in_true_order(patch: pytest.MonkeyPatch) -> None:
    """The list comes most frequent first, by true counts: its order tells them (leak 4)."""

    def canonical(counts: Any) -> tuple[list[str], Integers]:
        values = sorted(counts, key=lambda value: (-counts[value], value))
        return values, np.array([counts[value] for value in values], dtype=np.int64)

    patch.setattr(learner_module, "canonical", canonical)


# ---------------------------------------------------------------------- prices and thresholds


@planted("clip factors rounded up", checks.sessions_pass_the_tape, "one entity moves it by")
def rounded_up(patch: pytest.MonkeyPatch) -> None:
    """A factor is the next larger fixed-point number: an entity adds a hair more than was paid for (sensitivities)."""

    def weights(self: Limit, rows: Integers, norms: Integers | None) -> Integers:
        if self.pure or norms is None:
            return clipping_module._each(rows, lambda n: min(self.unit, -(-self.most // n)) if n else self.unit)
        return clipping_module._each(norms, lambda n: min(self.unit, isqrt(self.most // n) + 1) if n else self.unit)

    patch.setattr(Limit, "weights", weights)


@planted("norms of other tables", checks_of_prices.a_clip_after_a_choice_passes_the_tape, "one entity moves it by")
def stale_norms(patch: pytest.MonkeyPatch) -> None:
    """Norms that a choice left behind are taken for those of the tables that are clipped now (sensitivities)."""
    original = clipping_module.entity_weights

    def weights(till: Till, limit: Limit, marginals: Any, rows: Integers) -> Integers:
        for known in [known for known in till.known_norms if len(known) == len(marginals)]:
            till.known_norms[tuple(marginals)] = till.known_norms.pop(known)
        return original(till, limit, marginals, rows)

    patch.setattr(pricing_module, "entity_weights", weights)


@planted("numerical error that nobody pays", checks_of_prices.deltas_add_up, "off by more than was charged")
def unpaid_error(patch: pytest.MonkeyPatch) -> None:
    """Tables of the Gaussian are not exact, and δ does not know (noise and accounting)."""
    patch.setattr(Noise, "total_variation", property(lambda self: 0.0))


@planted(
    "a threshold for one value where an entity names several", checks_of_prices.deltas_add_up, "get out more often than delta"
)
def threshold_for_one(patch: pytest.MonkeyPatch) -> None:
    """Any of k₀ values may get out, each with the δ that was meant for all of them (leak 2)."""
    original = learner_module.key_threshold
    patch.setattr(learner_module, "key_threshold", lambda sigma, per_entity, delta: original(sigma, 1, delta))


@planted("the whole δ for the conversion, and the rest beside it", checks_of_prices.deltas_add_up, "delta comes to")
def delta_spent_twice(patch: pytest.MonkeyPatch) -> None:
    """ρ is bought with all of δ; what learning and numerical error need comes on top (noise and accounting)."""
    for module in (conversion_module, accountant_module):
        patch.setattr(module, "conversion_delta", lambda budget: budget.delta)


# ---------------------------------------------------------------------- caches, order, words


@planted("scores that are known for good", checks_of_prices.scores_see_the_canary, "without the canary is the one with it")
def scores_of_another_view(patch: pytest.MonkeyPatch) -> None:
    """One cache for all views and fits of a process: what is answered may be the score of other data (one gate)."""
    original, known = Till.__init__, dict[Any, int]()

    def init(self: Till, *args: Any) -> None:
        original(self, *args)
        self.known_scores = known

    patch.setattr(Till, "__init__", init)


@planted(
    "a choice that is worked out before it is paid",
    checks_of_prices.whatever_breaks_down_has_been_paid_for,
    "before anything was paid",
)
def scored_before_paying(patch: pytest.MonkeyPatch) -> None:
    """Scores are counted before the charge: who lacks the budget still learns whether counting broke down (one gate)."""
    original = curator_module.answer_select

    def early(till: Till, candidates: Any, share: float, penalties: Any, weighting: Any) -> Any:
        exact_scores(till, judge(till, candidates, weighting), weighting)
        return original(till, candidates, share, penalties, weighting)

    patch.setattr(curator_module, "answer_select", early)


@planted("the budget file pays when the fit is done", checks_of_prices.the_budget_file_pays_first, "before the budget was taken")
def reserved_afterwards(patch: pytest.MonkeyPatch) -> None:
    """A fit that breaks down half way has seen answers for nothing, as often as one likes (one gate)."""
    original = fit_module.run_fit

    def run(plan: Any, source: Any, options: Any) -> Any:
        release = original(plan, source, replace(options, reserve=None))
        if options.reserve is not None:
            options.reserve(plan.budget, release.ledger.unit)
        return release

    patch.setattr(fit_module, "run_fit", run)


@planted("a refusal that tells a true number", checks_of_prices.refusals_tell_no_number, "a refusal tells")
def telling_refusal(patch: pytest.MonkeyPatch) -> None:
    """The message says how many rows the heaviest entity has, and messages are logged and sent (leak 10)."""

    def assert_cap(self: Till) -> None:
        if (most := self.view.largest_entity()) > self.view.max_rows_per_entity:
            raise PrivacyError(f"{self.where}: the cap does not hold. An entity has {most} rows.")

    patch.setattr(Till, "assert_cap", assert_cap)
