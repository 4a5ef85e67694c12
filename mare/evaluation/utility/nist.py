"""The three scores of NIST's 2018 challenge (privbayes-nist 2018, 4), between 0 and a million, over vectors of entities.

clustering       random 3-way tables: a million less what share of them differs
classification   random statements on a third of the columns: how far the logarithms of their frequencies are apart
regression       by place: the Gini coefficient of an amount, and the rank of the gap between two groups
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import log, sqrt
from typing import Literal

import numpy as np

from mare.evaluation.vectors import Features, Floats, Ints, binned

FULL = 1_000_000
TABLES, STATEMENTS, RESAMPLED, BINS = 100, 300, 30, 10
RAREST = 1e-6
"""A frequency counts as no less."""
MOST_PLACES = 500

ScoreName = Literal["clustering", "classification", "regression"]


@dataclass(frozen=True)
class Score:
    """One score of the synthetic rows, with the interval that its random draws leave, between what is best and what is poor."""

    name: ScoreName
    value: float
    lower: float
    upper: float
    holdout: float | None
    """Of other real entities: as good as it gets."""
    shuffled: float
    """Of the real entities with each column shuffled: every column right, no two together."""
    about: str = ""


def nist_scores(real: Features, synthetic: Features, holdout: Features | None, *, seed: int) -> tuple[Score, ...]:
    """Those that the columns allow."""
    rng = np.random.default_rng(seed)
    shuffled = Features(real.columns, tuple(rng.permutation(column) for column in real.values), real.rows)
    sides = {"synthetic": synthetic, "shuffled": shuffled} | ({} if holdout is None or not holdout.rows else {"holdout": holdout})
    if not real.rows or not synthetic.rows or not real.columns:
        return ()
    scores = [_clustering(real, sides, rng), _classification(real, sides, rng)]
    if (columns := regression_columns(real)) is not None:
        scores.append(_regression(real, sides, columns, rng))
    return tuple(scores)


def _clustering(real: Features, sides: Mapping[str, Features], rng: np.random.Generator) -> Score:
    codes = [binned([real, *sides.values()], column, BINS, real) for column in range(len(real.columns))]
    width = min(3, len(codes))
    draws = np.empty((TABLES, len(sides)))
    for repeat in range(TABLES):
        chosen = rng.choice(len(codes), width, replace=False)
        joint = [_joint([codes[c][side] for c in chosen]) for side in range(len(sides) + 1)]
        draws[repeat] = [1 - three_way_difference(joint[0], other) / 2 for other in joint[1:]]
    return _score("clustering", draws * FULL, sides)


def three_way_difference(real: Ints, other: Ints) -> float:
    """Σ|difference of shares| over the cells of a table, from the cell of each row: 0 the same, 2 nothing in common."""
    size = 1 + max(int(real.max(initial=0)), int(other.max(initial=0)))
    shares = [np.bincount(cells, minlength=size) / max(1, len(cells)) for cells in (real, other)]
    return float(np.abs(shares[0] - shares[1]).sum())


def _classification(real: Features, sides: Mapping[str, Features], rng: np.random.Generator) -> Score:
    """A statement is drawn around a real entity, so that it is true of somebody."""
    width = max(1, len(real.columns) // 3)
    differences = np.empty((STATEMENTS, len(sides)))
    for repeat in range(STATEMENTS):
        row = int(rng.integers(real.rows))
        held = {name: np.ones(side.rows, np.bool_) for name, side in {"real": real, **sides}.items()}
        for column in rng.choice(len(real.columns), width, replace=False):
            values = np.asarray(real.values[column], np.float64)
            if real.is_number(int(column)) and not np.isnan(values[row]):
                low, high = np.sort([values[row], values[int(rng.integers(real.rows))]])
                low, high = (low, high) if not np.isnan(high) else (values[row], np.inf)
                for name, side in {"real": real, **sides}.items():
                    held[name] &= (side.number(int(column)) >= low) & (side.number(int(column)) <= high)
            else:
                met = np.unique(values)
                kept = met[(rng.random(len(met)) < 0.5) | (met == values[row]) | (np.isnan(met) & np.isnan(values[row]))]
                for name, side in {"real": real, **sides}.items():
                    # NULL of a number is NaN, which is equal to nothing.
                    mine = np.asarray(side.values[column], np.float64)
                    held[name] &= np.isin(mine, kept) | (np.isnan(mine) & bool(np.isnan(kept).any()))
        frequency = {name: max(float(mask.mean()) if len(mask) else 0.0, RAREST) for name, mask in held.items()}
        differences[repeat] = [log(frequency[name]) - log(frequency["real"]) for name in sides]
    scores = [_log_score(differences[:, side]) for side in range(len(sides))]
    draws = np.array([[_log_score(differences[part, side]) for side in range(len(sides))] for part in _parts(rng)])
    return _score("classification", draws, sides, scores)


def _log_score(differences: Floats) -> float:
    return FULL * max(0.0, 1 + sqrt(float(np.mean(differences**2))) / log(1 / 1000))


def regression_columns(real: Features) -> tuple[int, int, int] | None:
    """A place (a category of at least three values), an amount (the number that differs most between people and is never
    negative) and two groups. None where there are no such columns."""
    sizes = {column: len(np.unique(real.code(column))) for column in real.categories}
    amounts = [c for c in real.numbers if np.nansum(real.number(c)) > 0 and not (real.number(c) < 0).any()]
    places = [c for c, n in sizes.items() if 3 <= n <= MOST_PLACES]
    groups = [c for c, n in sizes.items() if n == 2]
    if not places or not amounts or not groups:
        return None
    return places[0], max(amounts, key=lambda c: float(np.nanstd(real.number(c)) / np.nanmean(real.number(c)))), groups[0]


def _regression(real: Features, sides: Mapping[str, Features], columns: tuple[int, int, int], rng: np.random.Generator) -> Score:
    names = [real.columns[column].name for column in columns]
    real, sides = real.select(columns), {name: side.select(columns) for name, side in sides.items()}
    places, groups = np.unique(real.code(0)), np.unique(real.code(2))
    mine = _by_place(real, places, groups)

    def score(side: Features) -> float:
        theirs = _by_place(side, places, groups)
        off = np.mean((mine[0] - theirs[0]) ** 2)
        ranks = np.mean(((_ranks(mine[1]) - _ranks(theirs[1])) / max(1, len(places) - 1)) ** 2)
        return FULL * (1 - (sqrt(float(off)) + sqrt(float(ranks))) / 2)

    # Each side as it is, and the same people drawn anew: how far chance moves it.
    draws = [[score(side.take(rng.integers(0, side.rows, side.rows))) for side in sides.values()] for _ in range(RESAMPLED)]
    about = f"{names[1]} by {names[0]}, gap of {names[2]}"
    return _score("regression", np.array(draws), sides, [score(side) for side in sides.values()], about)


def _by_place(side: Features, places: Ints, groups: Ints) -> tuple[Floats, Floats]:
    """Of each place: the Gini coefficient, and the gap between the mean amounts of the two groups."""
    amounts = side.number(1)
    known = np.isfinite(amounts)
    ginis, gaps = [], []
    for code in places:
        here = known & (side.code(0) == code)
        ginis.append(gini(amounts[here]))
        means = [amounts[here & (side.code(2) == which)] for which in groups]
        gaps.append(float(means[0].mean() - means[1].mean()) if all(len(part) for part in means) else 0.0)
    return np.array(ginis), np.array(gaps)


def gini(amounts: Floats) -> float:
    """0 where all have the same, towards 1 where one has all."""
    total = float(amounts.sum())
    if not len(amounts) or total <= 0:
        return 0.0
    ordered = np.sort(amounts)
    n = len(ordered)
    return float((2 * np.arange(1, n + 1) - n - 1) @ ordered / (n * total))


def _ranks(values: Floats) -> Floats:
    return np.argsort(np.argsort(values, kind="stable"), kind="stable").astype(np.float64)


def _joint(codes: list[Ints]) -> Ints:
    cells = np.zeros(len(codes[0]), np.int64)
    for code in codes:
        cells = cells * (BINS + 2) + code
    return cells


def _parts(rng: np.random.Generator, repeats: int = 200) -> list[Ints]:
    return [rng.integers(0, STATEMENTS, STATEMENTS) for _ in range(repeats)]


def _score(
    name: ScoreName, draws: Floats, sides: Mapping[str, Features], values: list[float] | None = None, about: str = ""
) -> Score:
    """Clustering averages its draws; the others are given their values, and draws that say how far these may be off."""
    names = list(sides)
    value = dict(zip(names, values or draws.mean(axis=0).tolist(), strict=True))
    mine = draws[:, names.index("synthetic")]
    spread = 1.96 * float(mine.std(ddof=1)) / (1 if values else sqrt(len(mine)))
    middle = value["synthetic"]
    return Score(
        name, middle, max(0.0, middle - spread), min(FULL, middle + spread), value.get("holdout"), value["shuffled"], about
    )
