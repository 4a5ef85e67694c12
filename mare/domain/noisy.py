"""Noisy numbers and tables, and what they are taken for: post-processing that fits and every model use, and that costs no budget.

A number of children needs care, for noise in the tail of a count multiplies rows (`settled_children`). Forty empty cells with a
little noise each make more rows than all others together; but what stands in the tail is rows too, and cutting it off loses
them. So the tail is neither kept nor cut: beyond the cells that stand clear of the noise it is taken to fall geometrically,
which two numbers say, and two numbers can be read off forty noisy cells.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Estimate:
    """A number that was paid for, with the standard deviation of its noise."""

    value: float
    deviation: float


Table = NDArray[np.float64]


def norm_subtract(noisy: Table, total: float = 1.0) -> Table:
    """The nearest table (in L2) that is nowhere negative and sums to ``total``: one amount off every cell that stays."""
    flat = noisy.ravel()
    descending = np.sort(flat)[::-1]
    excess = (np.cumsum(descending) - total) / np.arange(1, len(flat) + 1)
    kept = np.flatnonzero(descending > excess)
    if total <= 0 or not len(kept):
        return np.full(noisy.shape, max(total, 0.0) / noisy.size)
    return np.asarray(np.maximum(flat - excess[kept[-1]], 0.0).reshape(noisy.shape))


UNCLEAR = 3.0
"""Deviations below which a code that is in doubt is taken for noise."""


def without_unclear(noisy: Table, codes: Sequence[int], deviation: float) -> Table:
    """A noisy distribution of one column in which these codes do not occur, where they do not stand clear of the noise.

    Which values occur is what somebody listed; whether NULL does is often just not known (a file tells nothing of it), and a NULL
    in three rows of a thousand, in a column that has none, is the first thing that anybody sees.
    """
    unclear = [code for code in codes if noisy[code] < UNCLEAR * deviation]
    if not unclear:
        return noisy
    without = noisy.copy()
    without[unclear] = -np.inf
    return without


Places = NDArray[np.int64]

CLEAR, FAR = 2.0, 4.0
"""Deviations at which a cell counts as seen: where the cell before it does too; and anywhere."""
ANCHORS = 4
"""Of the cells that stand clear, how many of the last the tail has to continue."""
_RATIOS = np.linspace(0.0, 0.98, 99)


def settled_children(noisy: Table, deviation: float) -> Table:
    """A distribution over 0, 1, 2 … children, from noisy fractions (as measured: some may be negative) of this deviation.

    The last cell holds all that was cut at the cap: it belongs to the tail only where it does not stand clear itself.
    """
    last = _last_clear(noisy, deviation)
    beyond = np.arange(last + 1, len(noisy) - 1)
    if not len(beyond):
        return norm_subtract(noisy)
    capped = noisy[-1] >= FAR * deviation
    if not capped:
        beyond = np.append(beyond, len(noisy) - 1)
    tail = _tail(noisy, last, beyond, deviation)
    # The tail cannot have more than what is there, and what is clear keeps its proportions.
    mass = min(float(tail.sum()), 0.5)
    settled = np.zeros_like(noisy)
    settled[beyond] = tail * (mass / max(float(tail.sum()), 1e-300))
    body = np.setdiff1d(np.arange(len(noisy)), beyond)
    settled[body] = norm_subtract(noisy[body], 1.0 - mass)
    return settled


WITHIN = 2.0
"""Deviations within which a mean of a settled distribution is believed."""


def with_mean(settled: Table, blocks: Table, deviations: Table, codes: Places) -> Table:
    """A distribution of numbers of children whose mean agrees with the noisy masses of ``blocks`` of numbers, each with its
    deviation; ``codes`` say which block a number is in.

    What is read off single cells may lose a heavy tail that no cell of it shows, or make one of noise; a few wide blocks tell
    how many rows there are in all. Where the two disagree by more than noise, those who have children get more or fewer of them.
    """
    numbers = np.arange(len(settled), dtype=np.float64)
    held, size = np.bincount(codes, weights=settled), np.bincount(codes)
    middle = np.bincount(codes, weights=numbers) / np.maximum(size, 1)
    typical = np.where(held > 0, np.bincount(codes, weights=settled * numbers) / np.maximum(held, 1e-300), middle)
    mean, doubt = float(blocks @ typical), WITHIN * float(np.sqrt(((typical * deviations) ** 2).sum()))
    wanted = min(max(float(settled @ numbers), mean - doubt), mean + doubt)
    return _tilted(settled, wanted)


def _tilted(settled: Table, mean: float) -> Table:
    """The same share of those without children; the others' numbers weighed by e^(λk), so that the mean is the wanted one."""
    numbers = np.flatnonzero(settled[1:]) + 1
    some, share = settled[numbers], float(settled[1:].sum())
    if share <= 0 or abs(float(some @ numbers) - mean) <= 1e-9 * max(mean, 1.0):
        return settled
    weights, low, high = some, -20.0, 20.0
    for _ in range(60):
        middle = (low + high) / 2
        # Counted from the one that weighs most, so that nothing overflows and something is left.
        weights = some * np.exp(middle * (numbers - (numbers[-1] if middle > 0 else numbers[0])))
        low, high = (middle, high) if float(weights @ numbers) * share < mean * float(weights.sum()) else (low, middle)
    tilted = settled.copy()
    tilted[numbers] = weights / weights.sum() * share
    return tilted


def _last_clear(noisy: Table, deviation: float) -> int:
    """The last cell that is more than noise; the cap's own cell apart."""
    mode = int(np.argmax(noisy[:-1])) if len(noisy) > 1 else 0
    last = mode
    while last + 1 < len(noisy) - 1 and noisy[last + 1] >= CLEAR * deviation:
        last += 1
    far = np.flatnonzero(noisy[:-1] >= FAR * deviation)
    return max(last, int(far[-1])) if len(far) else last


def _tail(noisy: Table, last: int, beyond: Places, deviation: float) -> Table:
    """What the cells beyond hold: they continue the last clear ones, unless they say clearly that they do not.

    Nothing continues those who have no child at all: whether there is one, and how many, are two questions. Then the tail is
    what the others leave of the whole, which is known far better than the sum of its cells.
    """
    # The whole is 1, so both sides tell what is beyond; each by how little noise it has.
    clear = len(noisy) - len(beyond)
    left, within = 1.0 - float(np.delete(noisy, beyond).sum()), float(noisy[beyond].sum())
    mass = max(0.0, (left * len(beyond) + within * clear) / len(noisy))
    first = max(int(np.argmax(noisy[: last + 1])), last + 1 - ANCHORS, 1)
    if first > last:
        return _of_mass(noisy, beyond, mass)
    continued = _geometric(noisy, np.concatenate([np.arange(first, last + 1), beyond]))[last + 1 - first :]
    size = float(np.sqrt((continued**2).sum()))
    seen = float(continued @ noisy[beyond]) / max(size, 1e-300)
    return continued if abs(seen - size) <= FAR * deviation else _of_mass(noisy, beyond, mass)


def _geometric(noisy: Table, used: Places) -> Table:
    """a·r^k for these cells, by least squares: a is given by r, and r is looked for on a grid."""
    shapes = _RATIOS[:, None] ** (used - used[0])[None, :]
    height = np.maximum((shapes @ noisy[used]) / (shapes**2).sum(axis=1), 0.0)
    return _nearest(noisy[used], height[:, None] * shapes)


def _of_mass(noisy: Table, used: Places, mass: float) -> Table:
    """The same where their sum is known."""
    shapes = _RATIOS[:, None] ** (used - used[0])[None, :]
    return _nearest(noisy[used], mass * shapes / shapes.sum(axis=1, keepdims=True))


def _nearest(noisy: Table, tails: Table) -> Table:
    return np.asarray(tails[int(np.argmin(((noisy[None, :] - tails) ** 2).sum(axis=1)))])
