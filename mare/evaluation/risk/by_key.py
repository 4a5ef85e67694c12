"""A sensitive column, attacked by someone who knows a few others (the key): GCAP and five classifiers, key length by key length.

GCAP (Hittmeir et al. 2022, eq. 1): among the synthetic entities that agree with the target in the most key columns, the share
with the target's true value. The classifiers learn the sensitive column from the key on the synthetic side and are asked about
real people. Zero-rule, the most frequent synthetic value for everybody, is what needs no key at all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import combinations

import numpy as np

from mare.evaluation.learners import design_matrices, learners, predicted
from mare.evaluation.vectors import Floats, Ints, binned

from .attacks import Attack, Game

KEY_BINS = 10
"""A number in a key is known to one of so many quantiles."""
MOST_KEYS = 10
_AT_ONCE = 100_000
Hits = np.ndarray[tuple[int], np.dtype[np.bool_]]


def gcap(key: Ints, truth: Ints, synthetic_key: Ints, synthetic_values: Ints) -> Floats:
    """Of each target its score, from keys (rows, columns) and values (rows,) as codes."""
    if not len(synthetic_values) or not len(truth):
        return np.zeros(len(truth))
    # Keys that occur are far fewer than rows: each is compared once, with how often each value that is asked for goes with it.
    asked, of = np.unique(key, axis=0, return_inverse=True)
    met, at = np.unique(synthetic_key, axis=0, return_inverse=True)
    values, wanted = np.unique(truth, return_inverse=True)
    counts = np.zeros((len(met), len(values) + 1), np.float32)
    place = np.minimum(np.searchsorted(values, synthetic_values), len(values) - 1)
    np.add.at(counts, (at.ravel(), np.where(values[place] == synthetic_values, place, len(values))), 1)
    held = np.empty((len(asked), len(values) + 1), np.float32)
    step = max(1, _AT_ONCE // len(met))
    for start in range(0, len(asked), step):
        agreed = np.zeros((len(asked[start : start + step]), len(met)), np.int8)
        for column in range(key.shape[1]):
            agreed += asked[start : start + step, column, None] == met[None, :, column]
        held[start : start + step] = (agreed == agreed.max(axis=1, keepdims=True)).astype(np.float32) @ counts
    return np.asarray(held[of.ravel(), wanted] / held.sum(axis=1)[of.ravel()], np.float64)


def gcap_attacks(game: Game, secret: int, known: Sequence[int]) -> Iterator[Attack]:
    """One for each key length."""
    sides = [game.synthetic, *game.people]
    coded = {c: binned(sides, c, _bins(game, c), game.synthetic) for c in {*known, secret}}
    made, *truth = coded[secret]

    def scored(key: Key) -> Scored:
        theirs, *asked = (np.stack([coded[c][side] for c in key], axis=1) for side in range(len(sides)))
        scores = [gcap(mine, values, theirs, made) for mine, values in zip(asked, truth, strict=True)]
        return scores, {"from the real data itself": gcap(asked[0], truth[0], asked[0], truth[0])}

    yield from _by_length(game, "gcap", secret, known, MOST_KEYS, scored, _zero_rule(made, truth[0]))


def classifier_attacks(game: Game, secret: int, known: Sequence[int]) -> Iterator[Attack]:
    """One for each key length, of one key: the mean success of the five classifiers, each by itself in the details."""
    sides = (game.synthetic, *game.people)
    made, *truth = binned(sides, secret, _bins(game, secret), game.synthetic)

    def scored(key: Key) -> Scored:
        x, *at = design_matrices(sides, key)
        asked, answers = np.concatenate(at), np.concatenate(truth)
        right = {name: predicted(learner(), x, made, asked) == answers for name, learner in learners(game.seed).items()}
        scores = np.split(np.mean(list(right.values()), axis=0), [game.real.rows])[: len(at)]
        return scores, {name: hits[: game.real.rows] for name, hits in right.items()}

    yield from _by_length(game, "classifiers", secret, known, 1, scored, _zero_rule(made, truth[0]))


def _bins(game: Game, column: int) -> int:
    """Numbers are told apart by quantile, categories as they are."""
    return KEY_BINS if game.real.is_number(column) else 10**9


Key = tuple[int, ...]
Scored = tuple[list[Floats], Mapping[str, Floats | Hits]]
"""Of each target its score, on the real people and beside them on those of the control, where there are some; and details."""


def _by_length(
    game: Game, kind: str, secret: int, known: Sequence[int], most: int, scored: Callable[[Key], Scored], zero_rule: Hits
) -> Iterator[Attack]:
    """Of each length, some keys: a target's score is its mean over them."""
    for length in range(1, len(known) + 1):
        outcomes = [scored(key) for key in list(combinations(known, length))[:most]]
        success = [np.mean(scores, axis=0) for scores in zip(*(scores for scores, _ in outcomes), strict=True)]
        held = {name: np.array([details[name] for _, details in outcomes]) for name in outcomes[0][1]}
        details: dict[str, object] = {"key length": length, "keys": len(outcomes)}
        details |= {name: float(scores.mean()) if scores.size else None for name, scores in held.items()}
        yield game.counted(kind, f"{game.real.columns[secret].name} by {length} known", success, zero_rule, details)


def _zero_rule(synthetic: Ints, truth: Ints) -> Hits:
    return np.zeros(len(truth), np.bool_) if not len(synthetic) else truth == np.bincount(synthetic).argmax()
