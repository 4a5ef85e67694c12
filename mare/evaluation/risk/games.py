"""The linkability game (Stadler et al.; decomposed-noise 2025, 4.3.2): do all synthetic rows tell whether the target was there?

A challenger synthesises many times, with and without one target and all its rows. The adversary, who can do the same, summarises
each synthetic data set by a few numbers and learns which summaries come with the target. Three summaries:

    naive         mean, median, variance; number of categories, the most and the least frequent one
    histogram     the share of each bin or category
    correlation   pairwise correlations, categories as indicators

Who holds the real data itself is always right, so what synthetic data gains in privacy is 1 less the adversary's advantage. It
takes many fits: `mare study` can afford them, an evaluation of one synthetic data set cannot.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from mare.evaluation.entity_features import entity_features
from mare.evaluation.features import Features, Floats, binned, joined
from mare.evaluation.learners import design_matrices, forest, predicted
from mare.evaluation.rates import CONFIDENCE
from mare.evaluation.sides import Side

from .attacks import Attack, against_a_coin

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
            known = features.known(column)
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
