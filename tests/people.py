"""Vectors of people for tests of risk and utility, and what a generator may make of them: copies, or a noisy histogram."""

from __future__ import annotations

import numpy as np

from mare.evaluation.vectors import Feature, Features
from tests.drawn_people import drawn_people


def vectors(**columns: list[float] | list[int] | np.ndarray) -> Features:
    """Floats are numbers, whole numbers are categories."""
    values = {name: np.asarray(column) for name, column in columns.items()}
    kinds = tuple(Feature(name, "number" if column.dtype.kind == "f" else "category") for name, column in values.items())
    return Features(kinds, tuple(values.values()), len(next(iter(values.values()))))


def people(n: int, seed: int) -> Features:
    """Six columns that have something to do with each other; nobody is alike."""
    return vectors(**drawn_people(n, seed))


def drawn_apart(real: Features, seed: int) -> Features:
    """Each column drawn by itself, numbers between their quantiles without the ends, which are somebody's: nobody's copy."""
    rng = np.random.default_rng(seed)
    shares = np.linspace(0, 1, 9)
    values = []
    for column, held in enumerate(real.values):
        if real.is_number(column):
            values.append(np.interp(rng.random(real.rows), shares, np.nanquantile(held, 0.02 + 0.96 * shares)))
        else:
            values.append(rng.choice(held, real.rows))
    return Features(real.columns, tuple(values), real.rows)
