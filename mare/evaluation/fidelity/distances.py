"""Distances between two histograms or cross-tabs of the same bins, and between two samples of numbers.

Normalised KL and Cramér's V as in the paper (mare-2024, VI); an empty side is at distance 1 from any other, and at 0 from an
empty one.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from .features import Values
from .ranks import Numbers, largest_gap

Counts = NDArray[np.int64]
Table = NDArray[np.integer] | NDArray[np.float64]
"""Counts, or what they are on average."""


def tvd(real: Table, other: Table) -> float:
    """Total variation distance: half the sum of all differences of shares."""
    if not real.sum() or not other.sum():
        return float(bool(real.sum()) != bool(other.sum()))
    return float(0.5 * np.abs(real / real.sum() - other / other.sum()).sum())


def normalised_kl(real: Table, other: Table) -> float:
    """1 / (1 + KL(real || other)), over cells that one of them has. The other gets a tenth of a row in each: a cell that it lacks
    costs much, and not all."""
    p, q = real.ravel().astype(np.float64), other.ravel().astype(np.float64)
    if not p.sum() or not q.sum():
        return float(p.sum() == q.sum())
    kept = (p + q) > 0
    p, q = p[kept] + 1e-9, q[kept] + 0.1
    p, q = p / p.sum(), q / q.sum()
    return float(1 / (1 + np.sum(p * np.log(p / q))))


def cramers_v(table: Table) -> float:
    """How much two columns have to do with each other: 0 nothing, 1 one decides the other."""
    held = table[table.sum(axis=1) > 0][:, table.sum(axis=0) > 0].astype(np.float64)
    total = held.sum()
    if min(held.shape) < 2:
        return 0.0
    expected = np.outer(held.sum(axis=1), held.sum(axis=0)) / total
    return float(np.sqrt(((held - expected) ** 2 / expected).sum() / total / (min(held.shape) - 1)))


def by_chance(real: Counts, rows: int) -> float:
    """The TVD to expect between these rows and so many others from where they come, drawn one by one."""
    total = int(real.sum())
    if not total or not rows:
        return 0.0
    share = real[real > 0] / total
    deviation = np.sqrt(share * (1 - share) * (1 / total + 1 / rows))
    return float(min(1.0, 0.5 * np.sqrt(2 / np.pi) * deviation.sum()))


_AT_ONCE = 1 << 13
"""Rows of a few columns that a processor's cache holds."""


def ks_distance(real: Values, other: Values) -> float:
    """Kolmogorov-Smirnov: the largest distance of the two distribution functions; NULL left out."""
    a, b = real.ranked, other.ranked.known
    if not len(a.known) or not len(b):
        return float(bool(len(a.known)) != bool(len(b)))
    return largest_gap(a, b)


def word_counts(held: Sequence[Values]) -> tuple[list[str], list[Counts]]:
    """All words that one of these columns has, and how often each of them has each; NULL left out."""
    words = list(dict.fromkeys(word for values in held for word in values.dictionary))
    place = {word: i for i, word in enumerate(words)}

    def counted(values: Values) -> Counts:
        if values.words is None or not values.dictionary:
            return np.zeros(len(words), dtype=np.int64)
        by_code = np.bincount(values.words[values.words >= 0], minlength=len(values.dictionary))
        counts = np.zeros(len(words), dtype=np.int64)
        np.add.at(counts, [place[word] for word in values.dictionary], by_code)
        return counts

    return words, [counted(values) for values in held]


def as_different(counts: Counts, rows: int) -> float:
    """How many different values to expect among so many rows, drawn one by one from these."""
    share = counts[counts > 0] / max(1, int(counts.sum()))
    return float((1 - (1 - share) ** rows).sum())


def correlations(columns: list[Numbers]) -> NDArray[np.float64]:
    """Pearson's correlation of every two columns over the rows where both are there; NaN where one does not vary."""
    with np.errstate(invalid="ignore", divide="ignore"):
        # Around a middle of its own each column's squares stay small, so that differences of large sums lose nothing.
        first = [column[:_AT_ONCE][~np.isnan(column[:_AT_ONCE])] for column in columns]
        middle = np.array([[known.mean() if len(known) else 0.0] for known in first])
        rows, sums, squares, products = np.zeros((4, len(columns), len(columns)))
        for start in range(0, len(columns[0]), _AT_ONCE):
            held = np.array([column[start : start + _AT_ONCE] for column in columns]) - middle
            there = (~np.isnan(held)).astype(np.float64)
            np.copyto(held, 0, where=there == 0)
            rows += there @ there.T
            sums += held @ there.T
            products += held @ held.T
            squares += held**2 @ there.T
        variance = squares - sums**2 / rows
        covariance = products - sums * sums.T / rows
        scale = np.sqrt(variance * variance.T)
        return np.where(scale > 1e-12 * (1 + squares), covariance / scale, np.nan)
