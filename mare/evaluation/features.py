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
    told = edges_of if edges_of is not None else joined(parts)
    if told.is_number(column):
        known = told.known(column)
        edges = np.unique(np.quantile(known, np.linspace(0, 1, bins + 1)[1:-1])) if len(known) else np.empty(0)
        codes = []
        for part in parts:
            numbers = part.number(column)
            code = np.searchsorted(edges, numbers, side="left").astype(np.int64)
            code[np.isnan(numbers)] = len(edges) + 1
            codes.append(code)
        return codes
    values, counts = np.unique(told.code(column), return_counts=True)
    kept = np.sort(values[np.argsort(-counts, kind="stable")[:bins]])
    codes = []
    for part in parts:
        code = part.code(column)
        place = np.minimum(np.searchsorted(kept, code), max(len(kept) - 1, 0))
        met = kept[place] == code if len(kept) else np.zeros(len(code), bool)
        codes.append(np.where(met, place, len(kept)).astype(np.int64))
    return codes
