"""What is known of one attribute given its parents, exactly: the posterior predictive of conjugate models, one row left out.

A network says which attributes each attribute follows from. A number follows linearly with normal noise under a normal–inverse-
gamma prior; a category has a table of its own for each combination of its parents, under a Dirichlet prior of total mass 1. For
both, the chance of a further row given the rows met is a closed form, and taking one of those rows out is a rank-one step back:
no sampling of parameters, so nothing to converge.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from mare.evaluation.vectors import Features, Floats, Ints, binned

PRIOR_PRECISION = 0.1
"""Of each coefficient, for standardised columns: as much as a tenth of a row says."""
PRIOR_SHAPE = PRIOR_SCALE = 1.0
"""Of the inverse-gamma prior of the variance of the noise, for standardised columns."""
PARENT_BINS, PARENT_CATEGORIES = 5, 20
"""How finely a parent is told apart: bins of a number in a table, categories in a regression or a table."""

Network = tuple[tuple[int, ...], ...]
"""The parents of each column."""


@dataclass(frozen=True)
class Cells:
    """Rows, guess by guess: for each column an array (rows, guesses), where a column that is not guessed has one guess."""

    numbers: Mapping[int, Floats]
    """Standardised."""
    codes: Mapping[int, Ints]
    """Categories as they are."""
    coarse: Mapping[int, Ints]
    """Numbers and categories as parents of tables."""


class Regression:
    """A number given its parents. Rows of ``x`` begin with a 1."""

    def __init__(self, x: Floats, t: Floats) -> None:
        self._inverse = np.linalg.inv(PRIOR_PRECISION * np.eye(x.shape[1]) + x.T @ x)
        self._mean = self._inverse @ (x.T @ t)
        self._shape = PRIOR_SHAPE + len(t) / 2
        self._scale = PRIOR_SCALE + (float(t @ t) - float(self._mean @ (x.T @ t))) / 2

    def log_predictive(self, x: Floats, t: Floats, left_out: tuple[Floats, Floats] | None) -> Floats:
        """Of rows x (n, guesses, p) with targets t (n, guesses), up to a constant; ``left_out`` is one row met for each n."""
        spread = np.sum((x @ self._inverse) * x, axis=-1)
        mean = x @ self._mean
        shape, scale = self._shape, np.full((x.shape[0], 1), self._scale)
        if left_out is not None:
            gone_x, gone_t = left_out
            pull = gone_x @ self._inverse
            rest = np.maximum(1 - np.sum(pull * gone_x, axis=1), 1e-12)[:, None]
            residual = (gone_t - gone_x @ self._mean)[:, None]
            overlap = np.einsum("ngp,np->ng", x, pull)
            spread = spread + overlap**2 / rest
            mean = mean - overlap * residual / rest
            shape = shape - 0.5
            scale = np.maximum(scale - residual**2 / rest / 2, 1e-12)
        variance = scale / shape * (1 + spread)
        return np.asarray(-0.5 * np.log(variance) - (shape + 0.5) * np.log1p((t - mean) ** 2 / (2 * shape * variance)))


class Table:
    """A category given its parents, counted in cells that were met, so that 10,000 categories cost what they fill."""

    def __init__(self, parents: Ints, codes: Ints, categories: int) -> None:
        self._categories = categories
        self._cells, self._counts = np.unique(parents * categories + codes, return_counts=True)
        self._parents, self._totals = np.unique(parents, return_counts=True)

    def log_predictive(self, parents: Ints, codes: Ints, left_out: tuple[Ints, Ints] | None) -> Floats:
        """Of cells (n, guesses); ``left_out`` is one row met for each n."""
        counts = _looked_up(self._cells, self._counts, parents * self._categories + codes)
        totals = _looked_up(self._parents, self._totals, parents)
        if left_out is not None:
            same_parents = parents == left_out[0][:, None]
            totals = totals - same_parents
            counts = counts - (same_parents & (codes == left_out[1][:, None]))
        return np.asarray(np.log(counts + 1 / self._categories) - np.log(totals + 1.0))


class Coding:
    """How columns enter the models. It follows the synthetic rows, which the adversary holds, and nothing else but the number
    of categories."""

    def __init__(self, real: Features, synthetic: Features, others: Sequence[Features] = ()) -> None:
        self._synthetic = synthetic
        self._scales: dict[int, tuple[float, float]] = {}
        for column in synthetic.numbers:
            known = synthetic.finite(column)
            spread = float(known.std()) if len(known) else 0.0
            self._scales[column] = (float(np.mean(known)) if len(known) else 0.0, spread if spread > 0 else 1.0)
        parts = (real, synthetic, *others)
        self.categories = {c: 1 + max(int(part.code(c).max(initial=0)) for part in parts) for c in synthetic.categories}

    def standardised(self, column: int, numbers: Floats) -> Floats:
        middle, spread = self._scales[column]
        return np.nan_to_num((numbers - middle) / spread)

    def spread(self, column: int) -> float:
        return self._scales[column][1]

    def cells(self, features: Features, columns: Iterable[int], guessed: Mapping[int, Floats | Ints]) -> Cells:
        """These columns of the rows as they are, with the guesses (rows, guesses) in place of the guessed columns."""
        numbers, codes, coarse = {}, {}, {}
        for column in columns:
            held = guessed.get(column, features.values[column][:, None])
            flat = Features((features.columns[column],), (held.ravel(),), held.size)
            bins = PARENT_BINS if features.is_number(column) else PARENT_CATEGORIES
            (codes_of_bins,) = binned([flat], 0, bins, self._synthetic.select([column]))
            coarse[column] = codes_of_bins.reshape(held.shape)
            if features.is_number(column):
                numbers[column] = self.standardised(column, held.astype(np.float64))
            else:
                codes[column] = held.astype(np.int64)
        return Cells(numbers, codes, coarse)


def design(cells: Cells, parents: Sequence[int], rows: int, guesses: int) -> Floats:
    """The rows of a regression (rows, guesses, p): 1, numbers, and an indicator for each category but the first."""
    ones = np.ones((rows, guesses))
    columns = [ones]
    for parent in parents:
        if parent in cells.numbers:
            columns.append(cells.numbers[parent] * ones)
        else:
            coarse = cells.coarse[parent]
            columns += [(coarse == category) * ones for category in range(1, PARENT_CATEGORIES + 1)]
    return np.stack(columns, axis=-1)


def combination(cells: Cells, parents: Sequence[int], rows: int, guesses: int) -> Ints:
    """One number for each combination of the parents' codes (rows, guesses)."""
    numbers = np.zeros((rows, guesses), np.int64)
    for parent in parents:
        numbers = numbers * (PARENT_CATEGORIES + 2) + cells.coarse[parent]
    return numbers


def _looked_up(keys: Ints, counts: Ints, wanted: Ints) -> Ints:
    if not len(keys):
        return np.zeros(wanted.shape, np.int64)
    place = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    return np.where(keys[place] == wanted, counts[place], 0).astype(np.int64)
