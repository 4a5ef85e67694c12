"""A sensitive column, attacked by someone who knows a few others (the key): GCAP and five classifiers, key length by key length.

GCAP (Hittmeir et al. 2022, eq. 1): among the synthetic entities that agree with the target in the most key columns, the share
with the target's true value. The classifiers learn the sensitive column from the key on the synthetic side and are asked about
real people. Zero-rule, the most frequent synthetic value for everybody, is what needs no key at all.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations

import numpy as np

from mare.evaluation.features import Features, Floats, Ints, binned
from mare.evaluation.learners import design_matrices, learners, predicted
from mare.evaluation.rates import CONFIDENCE

from .attacks import Attack, counted

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


def gcap_attacks(
    real: Features,
    synthetic: Features,
    control: Features | None,
    secret: int,
    known: Sequence[int],
    *,
    most_keys: int = MOST_KEYS,
    confidence: float = CONFIDENCE,
) -> Iterator[Attack]:
    """One for each key length; a target's score is its mean over keys of that length."""
    people = [real] if control is None else [real, control]
    coded = {c: binned([synthetic, *people], c, KEY_BINS if real.is_number(c) else 10**9, synthetic) for c in {*known, secret}}
    zero_rule = _zero_rule(coded[secret][0], coded[secret][1])
    for keys in _keys(known, most_keys):
        scores = [np.zeros(part.rows) for part in people]
        on_itself = np.zeros(real.rows)
        for key in keys:
            (made, *asked) = (np.stack([coded[c][side] for c in key], axis=1) for side in range(len(people) + 1))
            for side in range(len(people)):
                scores[side] += gcap(asked[side], coded[secret][side + 1], made, coded[secret][0]) / len(keys)
            on_itself += gcap(asked[0], coded[secret][1], asked[0], coded[secret][1]) / len(keys)
        itself = {"from the real data itself": float(on_itself.mean()) if real.rows else None}
        yield _by_length("gcap", real.columns[secret].name, keys, scores, zero_rule, confidence, itself)


def classifier_attacks(
    real: Features,
    synthetic: Features,
    control: Features | None,
    secret: int,
    known: Sequence[int],
    *,
    most_keys: int = 1,
    seed: int = 0,
    confidence: float = CONFIDENCE,
) -> Iterator[Attack]:
    """One for each key length: the mean success of the five classifiers, each by itself in the details."""
    people = [real] if control is None else [real, control]
    made, *truth = binned([synthetic, *people], secret, KEY_BINS if real.is_number(secret) else 10**9, synthetic)
    zero_rule = _zero_rule(made, truth[0])
    for keys in _keys(known, most_keys):
        right = [np.zeros(part.rows) for part in people]
        each: dict[str, float] = {}
        for name, learner in learners(seed).items():
            before = float(right[0].sum())
            for key in keys:
                x, *at = design_matrices((synthetic, *people), key)
                answers = predicted(learner(), x, made, np.concatenate(at))
                for side, answer in enumerate(np.split(answers, np.cumsum([part.rows for part in people])[:-1])):
                    right[side] += (answer == truth[side]) / len(keys) / len(learners(seed))
            each[name] = (float(right[0].sum()) - before) * len(learners(seed)) / max(1, real.rows)
        yield _by_length("classifiers", real.columns[secret].name, keys, right, zero_rule, confidence, each)


def _keys(known: Sequence[int], most_keys: int) -> Iterator[list[tuple[int, ...]]]:
    """Some of each length."""
    for length in range(1, len(known) + 1):
        yield list(combinations(known, length))[:most_keys]


def _by_length(
    kind: str,
    secret: str,
    keys: Sequence[tuple[int, ...]],
    scores: Sequence[Floats],
    zero_rule: Hits,
    confidence: float,
    details: Mapping[str, float | None],
) -> Attack:
    """On the real people, and beside them on those of the control, where there are some."""
    length, control = len(keys[0]), scores[1] if len(scores) > 1 else None
    about = {"key length": length, "keys": len(keys), **details}
    return counted(kind, f"{secret} by {length} known", scores[0], zero_rule, control, confidence=confidence, details=about)


def _zero_rule(synthetic: Ints, truth: Ints) -> Hits:
    return np.zeros(len(truth), np.bool_) if not len(synthetic) else truth == np.bincount(synthetic).argmax()
