"""The five classifiers of scikit-learn that attacks and the utility share, with their own settings, over vectors of entities."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from mare.errors import MissingExtra

from .vectors import Features, Floats, Ints, binned

INDICATORS = 20
"""The most frequent categories of a column have an indicator each."""


class Learner(Protocol):
    """What is asked of a classifier."""

    def fit(self, x: Floats, y: Ints) -> object: ...

    def predict(self, x: Floats) -> NDArray[np.int64]: ...


def learners(seed: int) -> Mapping[str, Callable[[], Learner]]:
    """By name: Naive Bayes, support vectors, nearest neighbours, random forest, logistic regression."""
    return {
        "naive Bayes": lambda: _made("sklearn.naive_bayes", "GaussianNB"),
        "support vectors": lambda: _made("sklearn.svm", "SVC", random_state=seed),
        "nearest neighbours": lambda: _made("sklearn.neighbors", "KNeighborsClassifier"),
        "random forest": lambda: _made("sklearn.ensemble", "RandomForestClassifier", random_state=seed),
        "logistic regression": lambda: _made("sklearn.linear_model", "LogisticRegression", max_iter=1000),
    }


def forest(seed: int) -> Learner:
    return learners(seed)["random forest"]()


def predicted(learner: Learner, x: Floats, y: Ints, at: Floats) -> Ints:
    """Learned on x, y and asked at ``at``. Where there is one class or no row to learn from, the answer is that class, or 0."""
    classes = np.unique(y)
    if len(classes) < 2 or not x.shape[1] or not len(at):
        return np.full(len(at), classes[np.bincount(np.searchsorted(classes, y)).argmax()] if len(classes) else 0, np.int64)
    if getattr(learner, "n_neighbors", 0) > len(y):
        learner.n_neighbors = len(y)  # type: ignore[attr-defined]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a learner that has not converged is as good as it is
        learner.fit(x, y)
        return np.asarray(learner.predict(at), np.int64)


def design_matrices(parts: tuple[Features, ...], columns: tuple[int, ...]) -> list[Floats]:
    """Numbers standardised by the first part, with an indicator of NULL; frequent categories of the first part as indicators."""
    blocks: list[list[Floats]] = [[] for _ in parts]
    for column in columns:
        if parts[0].is_number(column):
            known = parts[0].finite(column)
            middle, spread = (float(np.mean(known)), float(np.std(known)) or 1.0) if len(known) else (0.0, 1.0)
            nulls = any(np.isnan(part.number(column)).any() for part in parts)
            for block, part in zip(blocks, parts, strict=True):
                numbers = part.number(column)
                block.append(np.clip(np.nan_to_num((numbers - middle) / spread), -20, 20)[:, None])
                if nulls:
                    block.append(np.isnan(numbers).astype(np.float64)[:, None])
        else:
            codes = binned(parts, column, INDICATORS, parts[0])
            width = 1 + max(int(code.max(initial=0)) for code in codes)
            for block, code in zip(blocks, codes, strict=True):
                block.append(np.eye(width)[code])
    return [np.hstack(block) if block else np.empty((part.rows, 0)) for block, part in zip(blocks, parts, strict=True)]


def _made(module: str, name: str, **options: object) -> Learner:
    try:
        learner_class = getattr(import_module(module), name)
    except ImportError as error:
        raise MissingExtra("risk and utility with classifiers (scikit-learn)", "evaluate") from error
    made: Learner = learner_class(**options)
    return made
