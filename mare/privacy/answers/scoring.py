"""Scores of candidates: the true ones, which are secret, and the noisy ones of many candidates at once.

`selecting` picks by the true scores; `answer_scores` releases all of them with noise, for a model that wants to look at the whole
matrix (PrivBayes 2018: all pairs, one charge).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import prod

import numpy as np
from numpy.typing import NDArray

from mare.domain import Marginal
from mare.errors import InternalError, PrivacyError
from mare.privacy import scores
from mare.privacy.gaussian import LARGEST_SIGMA
from mare.privacy.laplace import LARGEST_SCALE
from mare.privacy.noise import Mechanism
from mare.privacy.qualities import UNIT, WEIGHT_BITS, Candidate, Distance, NormRank, Tvd, TvdToReleased, Weighting
from mare.privacy.till import Quote, Till, described_charge, described_query

from .asking import checked_table
from .judging import MOST_SCORED, Judged, cross_tabs, fingerprint, in_units, judge, named, weight_units

Integers = NDArray[np.int64]

MOST_BITS = 12
"""Bits of a released score: fewer only where the noise, told in such small units, would be beyond its sampler."""


@dataclass(frozen=True, eq=False)
class NoisyScores:
    """The scores of these candidates, paid for by one charge. May be negative: that is noise."""

    candidates: tuple[Candidate | None, ...]
    values: NDArray[np.int64]
    """One per candidate, in units of 1/denominator of an entity (or of a row, where rows were weighed)."""
    mechanism: Mechanism
    scale: float
    sensitivity: float
    """Of all scores together, in the mechanism's norm, in the same units."""
    cost: float
    denominator: int
    """Units of an entity."""

    @property
    def entities(self) -> NDArray[np.float64]:
        """The scores in entities (or rows)."""
        return self.values / np.float64(self.denominator)


def answer_scores(till: Till, candidates: Sequence[Candidate | None], share: float, weighting: Weighting) -> NoisyScores:
    """All scores with noise. Score i moves by at most Δ_i: together √(ΣΔ_i²) in L2 (Δ√m), ΣΔ_i in L1 (Δm)."""
    judged = judge(till, candidates, weighting)
    quote, bits = _quote(till, judged, share)
    noise = till.noise(quote, len(judged))
    till.assert_cap()
    marginals = cross_tabs(judged)
    query = described_query(till, quote, noise.scale, f"scores of {named(judged)}", marginals, unit=1 << bits)
    query = replace(query, public=fingerprint(judged, np.zeros(0, dtype=np.int64)))
    till.pay(query, described_charge(query, len(judged), noise.total_variation), quote.portion)
    exact = exact_scores(till, judged, weighting) >> (WEIGHT_BITS - bits)
    (released,) = till.release_dense(query, noise, [exact])
    return NoisyScores(tuple(candidates), released, noise.mechanism, noise.scale, query.sensitivity, query.cost, 1 << bits)


def _quote(till: Till, judged: Sequence[Judged], share: float) -> tuple[Quote, int]:
    """The price, with scores told in as many bits as their noise can be drawn in."""
    largest = LARGEST_SCALE if till.pure else LARGEST_SIGMA
    bits = MOST_BITS
    while True:
        # rounding down to a coarser unit costs nothing as long as the sensitivity is a whole number of those (see `scores`)
        distances = [-(-entry.sensitivity >> (WEIGHT_BITS - bits)) for entry in judged]
        quote = till.quote(sum(distances) ** 2 if till.pure else sum(distance * distance for distance in distances), share)
        if quote.scale <= largest or not bits:
            return quote, bits
        bits -= 1


def exact_scores(till: Till, judged: Sequence[Judged], weighting: Weighting) -> Integers:
    """The true scores: secret, and paid for already. Cross-tabs are counted in batches, so that memory stays bounded."""
    rows = till.view.rows_per_entity()
    # One unit per entity, spread over its rows and rounded down: an entity weighs at most one unit.
    weights = UNIT // np.maximum(rows, 1) if weighting == "entity" else None
    scale = 1 if weighting == "entity" else UNIT
    mass = int(rows.sum() if weights is None else rows @ weights)
    exact = [0] * len(judged)  # of any size: a sum of scores must not overflow unseen
    tabled = []
    for place, entry in ((place, part) for place, whole in enumerate(judged) for part in whole.scored):
        if isinstance(entry.candidate, NormRank):
            exact[place] = _rank(till, entry.candidate, rows)
        elif (entry.candidate, weighting) in till.known_scores:
            exact[place] += till.known_scores[entry.candidate, weighting]
        elif entry.marginal is not None:
            tabled.append((place, entry, entry.marginal))
    for batch in _batches(tabled):
        marginals = list({marginal: None for _, _, marginal in batch})
        answers = till.view.counts(marginals, weights)
        if len(answers) != len(marginals):
            raise InternalError(f"{till.where} answered {len(answers)} cross-tabs where {len(marginals)} were asked")
        tables = dict(zip(marginals, answers, strict=True))
        for place, entry, marginal in batch:
            table = checked_table(till, tables[marginal], entry.shape, mass)
            if table.max(initial=0) >= scores.LARGEST // scale:
                raise PrivacyError(f"{till.where}: a count is too large to be scored exactly, and is not answered.")
            exact[place] += (score := _score(entry, table * scale))
            if not isinstance(entry.candidate, Distance):  # its reference is another one every time
                till.known_scores[entry.candidate, weighting] = score
    return np.array([_within(till, score) for score in exact], dtype=np.int64)


def _batches(tabled: list[tuple[int, Judged, Marginal]]) -> list[list[tuple[int, Judged, Marginal]]]:
    batches: list[list[tuple[int, Judged, Marginal]]] = []
    room = 0
    for entry in tabled:
        if not batches or entry[1].cells > room:
            batches.append([])
            room = MOST_SCORED
        batches[-1].append(entry)
        room -= entry[1].cells
    return batches


def _score(entry: Judged, table: Integers) -> int:
    candidate = entry.candidate
    if isinstance(candidate, Distance):
        return scores.distance(table, in_units(candidate.reference, ""), weight_units(candidate, ""), WEIGHT_BITS)
    if isinstance(candidate, Tvd):
        given = prod(entry.shape[1 + len(candidate.parents) :])
        sliced = table.reshape(entry.shape[0], -1, given)
        return scores.merged_tvd(sliced) if candidate.merged else scores.tvd(sliced)
    flat = table.reshape(entry.shape[0], -1)
    if isinstance(candidate, TvdToReleased):
        return scores.tvd_to_released(flat, np.array(candidate.released, dtype=np.int64))
    return scores.f_score(flat)


def _rank(till: Till, candidate: NormRank, rows: Integers) -> int:
    marginals, known = candidate.marginals, till.known_norms
    if marginals not in known:
        # Those of an earlier choice are of no use any more.
        known.clear()
        known[marginals] = till.view.squared_norms(marginals) if marginals else rows * rows
    # norm > C, where the norm is √(Σ‖h‖²/k): whole numbers on the left, so the right may be cut to one
    limit = int(Fraction(candidate.clip) ** 2 * max(1, len(marginals)))
    return scores.rank_distance(known[marginals], limit, round(candidate.rank)) * UNIT


def _within(till: Till, score: int) -> int:
    if abs(score) >= scores.LARGEST:
        raise PrivacyError(f"{till.where}: a score is beyond 2^61: it overflowed, and is not answered.")
    return score
