"""Train on synthetic, test on real: five classifiers, once with an entity's own columns and once with what its rows come to.

Beside each stands the same classifier trained on real entities, and zero-rule, which always gives the most frequent answer. All
are asked about the same real people, whom none was trained on but, without a hold-out, the generator.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np

from mare.evaluation.learners import design_matrices, learners, predicted
from mare.evaluation.rates import Rate, share
from mare.evaluation.vectors import Features, Floats, Ints

TARGETS, CLASSES = 3, 10
"""So many columns are predicted, of at most so many values."""

Given = Literal["own columns", "own columns and rows below"]


@dataclass(frozen=True)
class Learned:
    """One classifier that predicts one column. Internal, not private."""

    target: str
    given: Given
    classifier: str
    synthetic: Rate
    """How often it is right about real people, trained on synthetic ones …"""
    real: Rate
    """… trained on real ones …"""
    zero_rule: Rate
    """… and without looking."""


def train_and_test(
    train_real: Features, train_synthetic: Features, test: Features, *, seed: int, targets: int = TARGETS
) -> Iterator[Learned]:
    """For each target and each set of features, all five classifiers."""
    for name, column, split_at in _targets(train_real, test, targets):
        labels = [_labels(side, column, split_at) for side in (train_real, train_synthetic, test)]
        truth = labels[2]
        source = name.split(",")[0]
        usable = [c for c, feature in enumerate(test.columns) if c != column and feature.name.split(",")[0] != source]
        own = tuple(c for c in usable if test.columns[c].own)
        sets: list[tuple[Given, tuple[int, ...]]] = [("own columns", own), ("own columns and rows below", tuple(usable))]
        zero = np.bincount(labels[0]).argmax() if len(labels[0]) else 0
        for given, columns in sets:
            if not columns or (given != "own columns" and columns == own):
                continue
            matrices = [design_matrices((side, test), columns) for side in (train_real, train_synthetic)]
            for classifier, learner in learners(seed).items():
                answers = [predicted(learner(), x, y, at) for (x, at), y in zip(matrices, labels[:2], strict=True)]
                yield Learned(
                    target=name,
                    given=given,
                    classifier=classifier,
                    synthetic=_right(answers[1], truth),
                    real=_right(answers[0], truth),
                    zero_rule=_right(np.full(len(truth), zero), truth),
                )


def _targets(train: Features, test: Features, most: int) -> list[tuple[str, int, float | None]]:
    """Categories of a few values, the entity's own first; where there are none, whether a number is above its median."""
    targets: list[tuple[str, int, float | None]] = []
    for column in sorted(test.categories, key=lambda c: not test.columns[c].own):
        if 2 <= len(np.unique(train.code(column))) <= CLASSES and len(np.unique(test.code(column))) > 1:
            targets.append((test.columns[column].name, column, None))
    for column in test.numbers if not targets else ():
        known = train.finite(column)
        if len(np.unique(known)) > 1:
            targets.append((f"{test.columns[column].name}, above its median", column, float(np.median(known))))
    return targets[:most]


def _labels(side: Features, column: int, split_at: float | None) -> Ints:
    if split_at is None:
        return side.code(column)
    numbers: Floats = side.number(column)
    return (numbers > split_at).astype(np.int64)


def _right(answers: Ints, truth: Ints) -> Rate:
    return share(int(np.count_nonzero(answers == truth)), len(truth))
