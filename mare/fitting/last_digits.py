"""The endings of numbers: incomes in thousands, prices in .99, readings to the nearest five, tests without decimals.

A fine histogram rarely resolves single values, and a number drawn evenly inside a cell ends in any digit. So it is looked at
first how round numbers are: the largest step that all are multiples of (a power of ten, or five or twenty-five of it) is what
they are counted in from then on. Then the last two digits are looked at by themselves, from coarse to fine, and where some
endings are more usual than the histogram says, numbers are drawn with these.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from itertools import pairwise

import numpy as np

from mare.codec import Bins
from mare.codec.bins import KINDS, ZERO, roundness, steps_up_to
from mare.privacy.fine_histograms import FineHistogram, Numbers
from mare.privacy.grids import Grid

from .coarse_to_fine import Ask, evenly, looked_at
from .weighing import SURELY, Weighed

SHARE, ROUNDNESS = 0.1, 0.1
"""Of what a column's bins cost: for its last two digits, and for how round it is."""
CLEAR, FINER = 3.5, 3.0
"""Deviations that multiples of a step have to stand clear by; and those of a finer one beside them."""
ODD = 0.02
"""The part of the rows that may be no multiples of the step, whatever the noise."""
SIGNIFICANT = 3
"""Digits that a number without a declared precision has where the noise hides what it ends in."""
FEWEST_TICKS = 50
"""A range of fewer is resolved without."""
TOLD = 0.05
"""Total variation distance from what the histogram says, above the noise, from which on endings count."""
PERIODS = 5
"""Endings come round so often within what was seen, at least: else they only tell again where the values lie."""
RESTS = 100
FIRST = Grid(tuple(float(edge) for edge in range(0, RESTS + 1, 10)), "linear", 1.0)
"""A cell for each last digit."""


def round_grid(ticks: int) -> Grid:
    """A cell for each roundness of numbers up to so many ticks; the last is for zero itself."""
    cells = min(KINDS * len(str(ticks)), ZERO)
    return Grid(tuple(float(edge) for edge in sorted({*range(cells + 1), ZERO, ZERO + 1})), "linear", 1.0)


def step_of(look: FineHistogram) -> int | None:
    """The largest step that nearly all are multiples of; None where the noise hides it. Zero is a multiple of all."""
    rows, noise = look.noisy[:-1], max(look.deviation, 1e-9)
    steps = steps_up_to(len(rows) // KINDS - 2)
    usual = _multiples(len(rows))
    lengths = np.sqrt((usual**2).sum(axis=1))
    fits = usual @ rows / lengths
    best = int(np.argmax(fits))
    if fits[best] < CLEAR * noise:
        return None
    held = float(fits[best] / lengths[best]) * float(usual[best].sum())
    rows = rows * (usual[best] == 0)
    finer = [number for number, step in enumerate(steps) if steps[best] % step == 0 and step < steps[best]]
    for number in sorted(finer, key=lambda number: -steps[number]):
        odd = rows * (usual[number] > 0)
        if odd @ usual[number] / lengths[number] > FINER * noise and odd.sum() > ODD * held:
            best, rows = number, rows * (usual[number] == 0)
    return steps[best]


@cache
def _multiples(cells: int) -> Numbers:
    """How round the first thousand multiples of each step are."""
    counted, steps = np.arange(1, 1001, dtype=np.int64), steps_up_to(cells // KINDS - 2)
    return np.array([np.bincount(roundness(step * counted), minlength=ZERO + 1)[:cells] for step in steps], dtype=np.float64)


def step_unseen(ticks: int, decimals: int) -> int:
    """Where the noise hides it: so many digits of the range, but whole numbers are told apart."""
    return int(10 ** max(0, min(decimals, len(str(ticks)) - SIGNIFICANT)))


def endings(ask: Ask, grids: Sequence[Grid]) -> list[Weighed]:
    """What the last two digits are, of each column that has `FIRST` for its grid."""
    return looked_at(ask, grids, [lambda low, high, _: evenly(low, high, 10)] * len(grids), RESTS)


def with_endings(bins: Bins, weighed: Weighed) -> Bins:
    """The same bins with usual endings, where some are."""
    rows, edges = weighed.histogram.noisy, np.asarray(weighed.histogram.grid.edges, dtype=np.int64)
    if weighed.tree.gain <= SURELY or not bins.cells:
        return bins
    # There the last digit counts tens; here it counts ones.
    seen = np.repeat(rows / np.diff(edges), np.diff(edges)).reshape(10, 10).T.ravel() / rows.sum()
    noise = 0.4 * weighed.histogram.deviation * np.count_nonzero(rows) / float(rows.sum())
    held = np.flatnonzero(bins.weights)
    span, ended = bins.cells[held[-1] + 1] - bins.cells[held[0]] if len(held) else 0, bins
    for rounds in (10, RESTS):
        usual, drawn = _by_rest(seen, rounds), _by_rest(_drawn_endings(ended), rounds)
        if span >= PERIODS * rounds and np.abs(usual - drawn).sum() / 2 > TOLD + noise:
            more = np.divide(usual, drawn, out=np.zeros(rounds), where=drawn > 1e-6)
            digits = np.minimum(_all_rests(ended.digits, rounds) * more, float(rounds))
            rounded = tuple(float(f"{weight:.4g}") for weight in digits.tolist())
            ended = replace(bins, digits=rounded, weights=_reweighted(bins, digits)) if any(rounded) else ended
    return ended


def _by_rest(shares: Numbers, rounds: int) -> Numbers:
    return np.asarray(shares.reshape(-1, rounds).sum(axis=0), dtype=np.float64)


def _all_rests(digits: Sequence[float], rounds: int) -> Numbers:
    return np.tile(np.asarray(digits or (1.0,), dtype=np.float64), rounds // (len(digits) or 1))


def _drawn_endings(bins: Bins) -> Numbers:
    """How usual each ending is among what is drawn from these bins."""
    rests, usual = np.zeros(RESTS), _all_rests(bins.digits, RESTS)
    for (low, high), weight in zip(pairwise(bins.cells), bins.weights, strict=True):
        held = _ticks(low, high, RESTS)
        held = held * usual if (held * usual).any() else held
        rests += weight * held / held.sum()
    return np.asarray(rests / max(float(rests.sum()), 1e-12))


def _ticks(low: int, high: int, rounds: int) -> Numbers:
    """Of each rest, how many ticks from low to high (exclusive) leave it."""
    whole, more = divmod(high - low, rounds)
    held = np.full(rounds, float(whole))
    held[(low + np.arange(more)) % rounds] += 1
    return held


def _reweighted(bins: Bins, digits: Numbers) -> tuple[float, ...]:
    """Cells narrower than the endings come round: what neighbours hold together goes to those that have the usual ones."""
    weights = np.asarray(bins.weights)
    usual = np.array([_ticks(a, b, len(digits)) @ digits / (b - a) for a, b in pairwise(bins.cells)])
    for first, last in _rounds(bins.cells, bins.edges, len(digits)):
        held = weights[first:last] * usual[first:last]
        if last - first > 1 and held.sum() > 0:
            weights[first:last] = held * weights[first:last].sum() / held.sum()
    return tuple(float(f"{weight:.6g}") for weight in weights.tolist())


def _rounds(cells: Sequence[int], edges: Sequence[int], rounds: int) -> list[tuple[int, int]]:
    """Neighbouring cells, as many as it takes for every ending to occur, none across the edge of a bin."""
    ends, first, ranges = set(edges), 0, []
    for last in range(1, len(cells)):
        if cells[last] - cells[first] >= rounds or cells[last] in ends:
            ranges.append((first, last))
            first = last
    return ranges
