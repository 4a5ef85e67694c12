"""Noisy numbers and tables, and what they are taken for: post-processing that fits and every model use, and that costs no budget.

A number of children needs care, for noise in the tail of a count multiplies rows (`settled_children`). Forty empty cells with a
little noise each make more rows than all others together; but what stands in the tail is rows too, and cutting it off loses
them. So the tail is neither kept nor cut: beyond the cells that stand clear of the noise it is taken to fall geometrically,
which two numbers say, and two numbers can be read off forty noisy cells.
"""

from __future__ import annotations

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


def _last_clear(noisy: Table, deviation: float) -> int:
    """The last cell that is more than noise; the cap's own cell apart."""
    mode = int(np.argmax(noisy[:-1])) if len(noisy) > 1 else 0
    last = mode
    while last + 1 < len(noisy) - 1 and noisy[last + 1] >= CLEAR * deviation:
        last += 1
    far = np.flatnonzero(noisy[:-1] >= FAR * deviation)
    return max(last, int(far[-1])) if len(far) else last


def _tail(noisy: Table, last: int, beyond: Places, deviation: float) -> Table:
    """What the cells beyond hold: they continue the last clear ones, unless they say clearly that they do not."""
    first = max(int(np.argmax(noisy[: last + 1])), last + 1 - ANCHORS)
    continued = _geometric(noisy, np.concatenate([np.arange(first, last + 1), beyond]))[last + 1 - first :]
    size = float(np.sqrt((continued**2).sum()))
    seen = float(continued @ noisy[beyond]) / max(size, 1e-300)
    return continued if abs(seen - size) <= FAR * deviation else _geometric(noisy, beyond)


def _geometric(noisy: Table, used: Places) -> Table:
    """a·r^k for these cells, by least squares: a is given by r, and r is looked for on a grid."""
    shapes = _RATIOS[:, None] ** (used - used[0])[None, :]
    height = np.maximum((shapes @ noisy[used]) / (shapes**2).sum(axis=1), 0.0)
    errors = ((noisy[used][None, :] - height[:, None] * shapes) ** 2).sum(axis=1)
    best = int(np.argmin(errors))
    return np.asarray(height[best] * shapes[best])
