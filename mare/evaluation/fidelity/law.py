"""`Law`: what (nearly) all real rows keep though no schema says it; and the row beside which a row is held for it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mare.evaluation.sides import Side

from .features import Feature, features

KEPT = 0.999
"""Of the real rows that a law is about, those that keep it."""
FEWEST = 50
"""Rows from which a rule is no chance."""
SAMPLE = 1000
"""Rows that are looked at first: most of what could be a law is none."""

Place = NDArray[np.integer] | None
"""Of each row, the row beside which it is held; None for itself."""
Found = tuple[int, int]
"""Rows that break it, and rows that it is about."""


@dataclass(frozen=True)
class Law:
    where: str
    what: str
    """What breaks it."""
    real: Found
    broken: Callable[[Side], Found]
    about: str = ""
    """Of several that say nearly the same, because they are about the same column, the one that is broken most is told."""


def place_of(side: Side, table: str, home: str) -> Place:
    if home == table:
        return None
    if home in (above := side.ancestors(table)):
        return above[home]
    rows, owner = np.full(side.entities + 1, -1, dtype=np.int64), side.entity[home]  # the last stands for -1, which is nobody
    kept = np.flatnonzero(owner >= 0)[::-1]
    rows[owner[kept]] = kept
    return np.asarray(rows[side.entity[table]])


def own_columns(side: Side, table: str) -> list[Feature]:
    return [feature for feature in features(side.schema, table, ()) if feature.how == "column"]
