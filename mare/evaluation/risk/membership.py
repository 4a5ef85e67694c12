"""Was this person in the data? Judged by how near the synthetic entities come, beside a hold-out that was never in it.

A hold-out is what makes the question fair: people of the training data and of the hold-out are alike, so whoever cannot tell them
apart by the synthetic rows has learned about people, not about one person.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from mare.evaluation.features import Features, Floats, nearest
from mare.evaluation.rates import independent_number

from .attacks import Attack, Game, against_a_coin

UNUSUAL = 0.1
"""This share of each side, the farthest from everybody else, is attacked once more by itself: averages hide them."""


def membership(game: Game) -> Iterator[Attack]:
    """Of pairs of a member and a person of the hold-out, the one nearer to a synthetic entity is called the member."""
    rng, holdout = np.random.default_rng(game.seed), game.people[1]
    size = min(side.rows for side in game.people)
    pair = [side.sample(size, rng) for side in game.people]
    scale = (*pair, game.synthetic)
    distances = [nearest(side, game.synthetic, scale=scale)[1].min(axis=1, initial=1.0) for side in pair]
    lonely = [_isolation(side, holdout.sample(1000, rng), scale) for side in pair]
    for about, share in (("everybody, by distance", 1.0), (f"the {UNUSUAL:.0%} most unusual, by distance", UNUSUAL)):
        chosen = [np.argsort(-alone, kind="stable")[: round(share * size)] for alone in lonely]
        member, other = (side[rng.permutation(rows)] for side, rows in zip(distances, chosen, strict=True))
        right, details = _nearer(member, other, rng), _medians(member, other)
        yield against_a_coin("membership", about, right, game.confidence, details)


def distance_to_closest_record(game: Game) -> Attack:
    """Of synthetic entities, how many are nearer to a member than to anybody of a hold-out of the same size: a half, if none is
    a copy. Also how many are somebody exactly, of the training data and of the hold-out."""
    rng, scale = np.random.default_rng(game.seed), (*game.people, game.synthetic)
    size = min(side.rows for side in game.people)
    closest = [nearest(game.synthetic, side.sample(size, rng), scale=scale) for side in game.people]
    to_member, to_other = (distances.min(axis=1, initial=1.0) for _, distances in closest)
    details = _medians(to_member, to_other) | {
        "exactly a member": float((to_member == 0).mean()) if len(to_member) else None,
        "exactly one of the hold-out": float((to_other == 0).mean()) if len(to_other) else None,
    }
    right = _nearer(to_member, to_other, rng)
    # Whoever is nearest to many synthetic entities decides about all of them.
    deciding = np.where(right, closest[0][0].sum(axis=1), size + closest[1][0].sum(axis=1))
    worth = independent_number(deciding)
    return against_a_coin("distance to the closest record", "synthetic entities", right, game.confidence, details, worth)


def _nearer(member: Floats, other: Floats, rng: np.random.Generator) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Ties are decided by a coin."""
    return np.where(member == other, rng.random(len(member)) < 0.5, member < other)


def _medians(member: Floats, other: Floats) -> dict[str, object]:
    return {
        f"{name}, {which}": float(np.quantile(values, share)) if len(values) else None
        for which, values in (("members", member), ("hold-out", other))
        for name, share in (("median distance", 0.5), ("5 % distance", 0.05))
    }


def _isolation(people: Features, crowd: Features, scale: Sequence[Features]) -> Floats:
    """How far the nearest other person of the hold-out is."""
    _, distances = nearest(people, crowd, 2, scale=scale)
    if distances.shape[1] < 2:
        return np.zeros(people.rows)
    return np.where(distances[:, 0] == 0, distances[:, 1], distances[:, 0])
