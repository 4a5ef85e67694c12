"""Was this person in the data? One synthetic data set is judged by how near its entities come, beside a hold-out that was never
in it; many, with and without the person, by whether they can be told apart.

A hold-out is what makes the first question fair: people of the training data and of the hold-out are alike, so an attacker who
cannot tell them apart by the synthetic rows has learned about people, not about one person.

The second is the linkability game (Stadler et al.; decomposed-noise 2025, 4.3.2). A challenger synthesises many times, with and
without one target and all its rows. The adversary, who can do the same, summarises each synthetic data set by a few numbers and
learns which summaries come with the target. Three summaries:

    naive         mean, median, variance; number of categories, the most and the least frequent one
    histogram     the share of each bin or category
    correlation   pairwise correlations, categories as indicators

Who holds the real data itself is always right, so what synthetic data gains in privacy is 1 less the adversary's advantage. It
takes many fits, which an evaluation of one synthetic data set does not have.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from mare.evaluation.learners import design_matrices, forest, predicted
from mare.evaluation.rates import CONFIDENCE, independent_number
from mare.evaluation.sides import Side
from mare.evaluation.vectors import Features, Floats, binned, entity_features, joined, nearest

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


# ------------------------------------------------------------------ the linkability game

Summary = Literal["naive", "histogram", "correlation"]
Synthesise = Callable[[bool, int], Side]
"""Synthesises once: with the target and all its rows in the real data or without, and a seed."""

HISTOGRAM_BINS = 10
_MOST_INDICATORS = 40


def play_linkability(synthesise: Synthesise, *, shadows: int = 40, challenges: int = 40, seed: int = 0) -> tuple[Attack, ...]:
    """``shadows`` runs teach the adversary, ``challenges`` runs ask; half of each hold the target."""
    learning, asking = (2 * (max(2, runs) // 2) for runs in (shadows, challenges))
    there = np.arange(learning + asking) % 2 == 0
    seeds = np.random.SeedSequence(seed).generate_state(len(there))
    sides = [synthesise(bool(inside), int(number)) for inside, number in zip(there, seeds, strict=True)]
    made = entity_features(sides, [np.arange(side.entities) for side in sides])
    return linkability_game(made, there, learning, seed=seed)


def linkability_game(
    made: Sequence[Features], there: NDArray[np.bool_], learning: int, *, seed: int = 0, confidence: float = CONFIDENCE
) -> tuple[Attack, ...]:
    """One attack for each summary, from synthetic data sets of which the target was in those that ``there`` says: the adversary
    learns on the first ``learning`` and is asked about the others, as many with the target as without."""
    attacks = []
    for summary in get_args(Summary):
        x = summaries(made, summary)
        answers = predicted(forest(seed), x[:learning], there[:learning].astype(np.int64), x[learning:])
        right = answers == there[learning:]
        advantage = 2 * float(right.mean()) - 1
        details = {"advantage": advantage, "privacy gain": 1 - advantage, "runs": len(made)}
        attacks.append(against_a_coin("linkability game", f"{summary} summary", right, confidence, details))
    return tuple(attacks)


def summaries(made: Sequence[Features], summary: Summary) -> Floats:
    """A row of numbers for each synthetic data set, comparable between them: bins and categories are those of all together."""
    if summary == "naive":
        return np.array([_naive(data) for data in made])
    if summary == "correlation":
        matrices = design_matrices((joined(made), *made), tuple(range(len(made[0].columns))))[1:]
        return np.array([_correlations(matrix[:, :_MOST_INDICATORS]) for matrix in matrices])
    blocks = []
    for column in range(len(made[0].columns)):
        codes = binned(made, column, HISTOGRAM_BINS if made[0].is_number(column) else 10**9)
        width = 1 + max(int(code.max(initial=0)) for code in codes)
        blocks.append(np.array([np.bincount(code, minlength=width) / max(1, len(code)) for code in codes]))
    return np.hstack(blocks) if blocks else np.zeros((len(made), 0))


def _naive(features: Features) -> list[float]:
    numbers: list[float] = []
    for column in range(len(features.columns)):
        if features.is_number(column):
            known = features.finite(column)
            numbers += [float(known.mean()), float(np.median(known)), float(known.var())] if len(known) else [0.0, 0.0, 0.0]
        else:
            values, counts = np.unique(features.code(column), return_counts=True)
            ends = [float(values[counts.argmax()]), float(values[counts.argmin()])] if len(values) else [0.0, 0.0]
            numbers += [float(len(values)), *ends]
    return numbers


def _correlations(matrix: Floats) -> Floats:
    centred = matrix - matrix.mean(axis=0) if len(matrix) else matrix
    lengths = np.sqrt((centred**2).sum(axis=0))
    covariance = centred.T @ centred
    upper = np.triu_indices(matrix.shape[1], 1)
    return np.asarray((covariance / np.maximum(np.outer(lengths, lengths), 1e-12))[upper])
