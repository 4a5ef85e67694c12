"""An entity with all its rows in all tables, as one row of fixed length: what attacks and classifiers look at.

Own columns stand as they are; of each further table: how many rows, and per column the mean and the last value, or the most
frequent and the last category. Attacks on one table alone underestimate what a whole patient gives away.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_AT_ONCE = 100_000
"""Pairs that are compared at once: few enough to stay in the processor's cache."""
_NULL = 3.0
"""Where NULL stands on a scale from 0 to 1: farther from every number than the most that counts."""


@dataclass(frozen=True)
class Feature:
    """One column of the vectors."""

    name: str
    """`patients.sex`, `labs: rows`, `labs.value, mean`."""
    kind: Literal["number", "category"]
    own: bool = True
    """Of the entity's own row; the others are aggregated from rows below it."""


@dataclass(frozen=True)
class Features:
    """Vectors of entities, column by column. Numbers may be NaN (NULL); categories are codes from 0, NULL being one of them."""

    columns: tuple[Feature, ...]
    values: tuple[NDArray[np.float64] | NDArray[np.int64], ...]
    rows: int

    def take(self, rows: NDArray[np.integer] | Sequence[int]) -> Features:
        index = np.asarray(rows, np.int64)
        return Features(self.columns, tuple(column[index] for column in self.values), len(index))

    def select(self, columns: Iterable[int]) -> Features:
        chosen = tuple(columns)
        return Features(tuple(self.columns[c] for c in chosen), tuple(self.values[c] for c in chosen), self.rows)

    def sample(self, size: int, rng: np.random.Generator) -> Features:
        return self if self.rows <= size else self.take(np.sort(rng.choice(self.rows, size, replace=False)))

    def number(self, column: int) -> Floats:
        return np.asarray(self.values[column], np.float64)

    def known(self, column: int) -> Floats:
        """The numbers that are there."""
        numbers = self.number(column)
        return numbers[np.isfinite(numbers)]

    def code(self, column: int) -> Ints:
        return np.asarray(self.values[column], np.int64)

    def is_number(self, column: int) -> bool:
        return self.columns[column].kind == "number"

    @property
    def numbers(self) -> tuple[int, ...]:
        return tuple(c for c in range(len(self.columns)) if self.is_number(c))

    @property
    def categories(self) -> tuple[int, ...]:
        return tuple(c for c in range(len(self.columns)) if not self.is_number(c))


def joined(parts: Sequence[Features]) -> Features:
    """All rows of vectors with the same columns, one after the other."""
    columns = parts[0].columns
    values = tuple(np.concatenate([part.values[c] for part in parts]) for c in range(len(columns)))
    return Features(columns, values, sum(part.rows for part in parts))


def binned(parts: Sequence[Features], column: int, bins: int, edges_of: Features | None = None) -> list[Ints]:
    """A column as a few codes, the same for all parts: quantiles of a number, with NULL as a bin of its own; the most frequent
    categories, with the others as one. The bins follow ``edges_of``, or else all parts."""
    basis = edges_of if edges_of is not None else joined(parts)
    if basis.is_number(column):
        known = basis.known(column)
        edges = np.unique(np.quantile(known, np.linspace(0, 1, bins + 1)[1:-1])) if len(known) else np.empty(0)
        codes = []
        for part in parts:
            numbers = part.number(column)
            code = np.searchsorted(edges, numbers, side="left").astype(np.int64)
            code[np.isnan(numbers)] = len(edges) + 1
            codes.append(code)
        return codes
    values, counts = np.unique(basis.code(column), return_counts=True)
    kept = np.sort(values[np.argsort(-counts, kind="stable")[:bins]])
    codes = []
    for part in parts:
        code = part.code(column)
        place = np.minimum(np.searchsorted(kept, code), max(len(kept) - 1, 0))
        met = kept[place] == code if len(kept) else np.zeros(len(code), bool)
        codes.append(np.where(met, place, len(kept)).astype(np.int64))
    return codes


def nearest(
    queries: Features, candidates: Features, neighbours: int = 1, *, scale: Sequence[Features] | None = None
) -> tuple[Ints, Floats]:
    """Of each query the nearest candidates and their distances (queries, neighbours). Of equals, the first.

    Gower's distance: a mean over columns. Numbers differ by their distance as a share of a range, categories by 0 or 1; NULL
    differs from a number by 1, from NULL by nothing. Distances that are held against each other must share their ranges: one
    outlier would move all of one side. Ranges are those of all parts of ``scale``; of queries and candidates unless said."""
    neighbours = min(neighbours, candidates.rows)
    rows, distances = np.zeros((queries.rows, neighbours), np.int64), np.ones((queries.rows, neighbours))
    if not neighbours or not queries.columns:
        return rows, distances
    parts = scale or (queries, candidates)
    scaled = [_scaled(queries, candidates, column, parts) for column in range(len(queries.columns))]
    step = max(1, _AT_ONCE // candidates.rows)
    for start in range(0, queries.rows, step):
        block = slice(start, min(start + step, queries.rows))
        apart = np.zeros((block.stop - start, candidates.rows), np.float32)
        difference = np.empty_like(apart)
        for mine, theirs, beyond_one in scaled:
            np.subtract(mine[block, None], theirs, out=difference)
            np.abs(difference, out=difference)
            if beyond_one:
                np.minimum(difference, 1.0, out=difference)
            apart += difference
        order = apart.argmin(axis=1)[:, None] if neighbours == 1 else np.argsort(apart, axis=1, kind="stable")[:, :neighbours]
        rows[block] = order
        distances[block] = np.take_along_axis(apart, order, axis=1) / len(scaled)
    return rows, distances


def _scaled(
    first: Features, second: Features, column: int, parts: Sequence[Features]
) -> tuple[NDArray[np.float32], NDArray[np.float32], bool]:
    """Both sides on one scale, and whether a difference may exceed 1 there: between categories, and from NULL."""
    if not first.is_number(column):
        return first.code(column).astype(np.float32), second.code(column).astype(np.float32), True
    values = [side.number(column) for side in (first, second)]
    known = np.concatenate([part.known(column) for part in parts])
    low, width = (float(known.min()), float(np.ptp(known)) or 1.0) if len(known) else (0.0, 1.0)
    mine, theirs = (np.where(np.isfinite(value), (value - low) / width, _NULL).astype(np.float32) for value in values)
    return mine, theirs, any(not np.isfinite(value).all() for value in values)
