"""The true scores of candidates, over a view: secret, for `selecting` alone, which adds the noise."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import prod

import numpy as np

from mare.domain import Marginal
from mare.errors import PrivacyError

from . import scores
from .judging import MOST_CELLS, Judged, in_units, weight_units
from .qualities import UNIT, WEIGHT_BITS, Distance, NormRank, Tvd, TvdToReleased, Weighting
from .view import Integers, PrivateView


def exact_scores(judged: Sequence[Judged], view: PrivateView, weighting: Weighting) -> Integers:
    """The true scores: secret. Cross-tabs are counted in batches, so that memory follows the largest one."""
    weights = _unit_weights(view.rows_per_entity()) if weighting == "entity" else None
    scale = 1 if weighting == "entity" else UNIT
    found = np.zeros(len(judged), dtype=np.int64)
    norms: dict[tuple[Marginal, ...], Integers] = {}
    tabled = []
    for place, one in enumerate(judged):
        if isinstance(one.candidate, NormRank):
            found[place] = _checked(_rank(one.candidate, view, norms), view)
        elif one.marginal is not None:
            tabled.append((place, one, one.marginal))
    for batch in _batches(tabled):
        tables = view.counts([marginal for _, _, marginal in batch], weights)
        for (place, one, _), table in zip(batch, tables, strict=True):
            if table.max(initial=0) >= scores.LARGEST // scale:
                raise PrivacyError(f"view {view.name!r}: a count is beyond what scores are worked out for; it is not answered.")
            found[place] = _checked(_score(one, table * scale), view)
    return found


def _unit_weights(rows: Integers) -> Integers:
    """One unit per entity, spread over its rows, rounded down: the mass of an entity is at most one unit."""
    return UNIT // np.maximum(rows, 1)


def _batches(tabled: list[tuple[int, Judged, Marginal]]) -> list[list[tuple[int, Judged, Marginal]]]:
    batches: list[list[tuple[int, Judged, Marginal]]] = []
    room = 0
    for entry in tabled:
        if not batches or entry[1].cells > room:
            batches.append([])
            room = MOST_CELLS
        batches[-1].append(entry)
        room -= entry[1].cells
    return batches


def _score(one: Judged, table: Integers) -> int:
    candidate = one.candidate
    if isinstance(candidate, Distance):
        reference = in_units(candidate.reference, "reference")
        return scores.distance(table, reference, weight_units(candidate, "candidate"), WEIGHT_BITS)
    size, given = one.shape[0], prod(one.shape[1 + len(candidate.parents) :]) if isinstance(candidate, Tvd) else 1
    sliced = table.reshape(size, -1, given)
    if isinstance(candidate, Tvd):
        return scores.tvd(sliced)
    flat = sliced[:, :, 0]
    if isinstance(candidate, TvdToReleased):
        return scores.tvd_to_released(flat, np.array(candidate.released, dtype=np.int64))
    return scores.f_score(flat)


def _rank(candidate: NormRank, view: PrivateView, known: dict[tuple[Marginal, ...], Integers]) -> int:
    marginals = candidate.marginals
    if marginals not in known:
        rows = view.rows_per_entity()
        known[marginals] = view.squared_norms(marginals) if marginals else rows * rows
    limit = int(Fraction(candidate.clip) ** 2 * max(1, len(marginals)))
    return scores.rank_distance(known[marginals], limit, round(candidate.rank)) * UNIT


def _checked(score: int, view: PrivateView) -> int:
    if abs(score) >= scores.LARGEST:
        raise PrivacyError(f"view {view.name!r}: a score is beyond 2^61: it overflowed, and is not answered.")
    return score
