"""Noisy numbers and tables, and what they are taken for: post-processing that fits and every model use, and that costs no budget.

A number of children needs care, for noise in the tail of a count multiplies rows (`settled_children`). Forty empty cells with a
little noise each make more rows than all others together; but what stands in the tail is rows too, and cutting it off loses
them. So the tail is neither kept nor cut: beyond the cells that stand clear of the noise it is taken to fall geometrically,
which two numbers say, and two numbers can be read off forty noisy cells.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import sqrt

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
SURE = 3.0
"""Deviations at which it counts as seen that entities have rows."""
AGREES = 0.5
"""Deviations of a mean within which another one is taken for the same."""
WITHIN, QUIET = 0.1, 0.25
"""What is not known of rows within such cells, in parts of all; and how many rows an entity noise may make on average."""
HARDLY = 0.01
"""The part of all that is hardly anybody."""
ANCHORS = 4
"""Of the cells that stand clear, how many of the last the tail has to continue."""
_RATIOS = np.linspace(0.0, 0.98, 99)


def settled_children(noisy: Table, deviation: float) -> Table:
    """A distribution over 0, 1, 2 … children, from noisy fractions (as measured: some may be negative) of this deviation.

    The last cell holds all that was cut at the cap: it belongs to the tail only where it does not stand clear itself.
    """
    beyond = unclear_children(noisy, deviation)
    if not len(beyond):
        return norm_subtract(noisy)
    tail = _tail(noisy, int(beyond[0]) - 1, beyond, deviation)
    # The tail cannot have more than what is there, and what is clear keeps its proportions.
    mass = min(float(tail.sum()), 0.5)
    settled = np.zeros_like(noisy)
    settled[beyond] = tail * (mass / max(float(tail.sum()), 1e-300))
    body = np.setdiff1d(np.arange(len(noisy)), beyond)
    settled[body] = norm_subtract(noisy[body], 1.0 - mass)
    return settled


def unclear_children(noisy: Table, deviation: float) -> Places:
    """The numbers of children beyond those that stand clear of the noise: the tail."""
    beyond = np.arange(_last_clear(noisy, deviation) + 1, len(noisy) - 1)
    capped = noisy[-1] >= FAR * deviation
    return beyond if capped or not len(beyond) else np.append(beyond, len(noisy) - 1)


def rare_children(noisy: Table, deviation: float, settled: Table) -> Places:
    """Those of them that hardly anybody has: what many have depends on who they are, seen clearly or not."""
    beyond = unclear_children(noisy, deviation)
    return beyond[np.cumsum(settled[::-1])[::-1][beyond] <= HARDLY]


def with_one_tail(rows: Table, deviation: float, settled: Table, tail: Places) -> Table:
    """A table of numbers of children (the last axis) with its tail as one code, the last one.

    Of hundreds of cells in which nothing is, some stand clear by chance, in some rows of a large table: parents of up to five
    children had two hundred. So the tail is what it is of all rows together (``settled``), unless all of it stands clear.
    """
    body = np.delete(rows, tail, axis=-1)
    share = min(float(settled[tail].sum()), 0.5)
    usual = np.maximum(body.sum(axis=-1), 0.0) * share / (1 - share)
    seen = rows[..., tail].sum(axis=-1)
    own = seen - usual > FAR * deviation * sqrt(len(tail))
    return np.concatenate([body, np.where(own, seen, usual)[..., None]], axis=-1)


def with_mean(settled: Table, deviation: float, mean: Estimate, unsure: float) -> Table:
    """A distribution of numbers of children whose mean agrees with one that was measured apart.

    What is read off single cells may lose a heavy tail that no cell of it shows, or make one of noise. Where the two differ by
    more than noise, its mean counts by how little noise all of them may hide, and those whose number is in doubt get more or
    fewer. ``unsure`` is the deviation of the share of those who have any.
    """
    numbers = np.arange(len(settled), dtype=np.float64)
    most, some, own = float(len(settled) - 1), float(settled[1:].sum()), float(settled @ numbers)
    if most == 0:
        return settled
    if not have_children(settled, unsure):
        # The mean is nearly all that is known. Who has children has between one and what the cap allows.
        wanted = min(max(mean.value, 0.0), most)
        have = min(max(some if some > unsure else wanted / sqrt(most), wanted / most), wanted, 1.0)
        return _tilted(np.append(1.0 - have, np.full(len(settled) - 1, have / most)), wanted)
    if abs(own - mean.value) <= AGREES * mean.deviation:
        return settled
    tail = numbers > np.max(numbers[settled >= CLEAR * deviation], initial=0.0)
    hidden = min(_hidden(settled, deviation, tail), some * most / sqrt(12) + deviation * own / some)
    sure, other = 1 / max(hidden**2, 1e-24), 1 / max(mean.deviation**2, 1e-24)
    wanted = (own * sure + mean.value * other) / (sure + other)
    # Fewer have some, as far as noise may explain it.
    have = min(some, max(mean.value + mean.deviation, some - CLEAR * unsure))
    settled = np.append(settled[0] + (some - have), settled[1:] * (have / some))
    wanted = min(max(wanted, have), have * most)
    # The tail goes first, and may be longer than it seemed. Only what it cannot reach bends what stands clear.
    tail = numbers > np.max(numbers[settled >= CLEAR * deviation], initial=0.0)
    longer = np.where(tail, float(settled[tail].sum()) / max(1, int(tail.sum())), settled)
    return _tilted(_tilted(longer, wanted, tail), wanted)


def _hidden(settled: Table, deviation: float, tail: NDArray[np.bool_]) -> float:
    """How far the mean of single cells may be off: by the noise of those that stand clear, and by where in the tail those are who
    are there. How many these are, the others tell: a cap that nobody reaches hides no more than they leave."""
    numbers, most = np.arange(len(settled), dtype=np.float64), float(len(settled) - 1)
    body, beyond = deviation * float(np.sqrt((numbers[~tail] ** 2).sum())), deviation * float(np.sqrt((numbers[tail] ** 2).sum()))
    there = float(settled[tail].sum()) + deviation * sqrt(float((~tail).sum()))
    return float(np.hypot(body, min(beyond, there * most / sqrt(3))))


def have_children(noisy: Table, deviation: float) -> bool:
    """Whether it stands clear of the noise that anybody has."""
    return 1.0 - float(noisy[0]) >= SURE * deviation


def _tilted(settled: Table, mean: float, moved: NDArray[np.bool_] | None = None) -> Table:
    """The same share of those without children; the others' numbers, or those that may be moved, weighed by e^(λk), so that the
    mean is the wanted one, or as near to it as they can bring it."""
    numbers = np.flatnonzero((settled > 0) if moved is None else (settled > 0) & moved)
    numbers = numbers[numbers > 0]
    some, share = settled[numbers], float(settled[numbers].sum())
    wanted = mean - float(settled @ np.arange(len(settled))) + float(some @ numbers)
    if share <= 0 or abs(float(some @ numbers) - wanted) <= 1e-9 * max(wanted, 1.0):
        return settled
    weights, low, high = some, -20.0, 20.0
    for _ in range(60):
        middle = (low + high) / 2
        # Counted from the one that weighs most, so that nothing overflows and something is left.
        weights = some * np.exp(middle * (numbers - (numbers[-1] if middle > 0 else numbers[0])))
        low, high = (middle, high) if float(weights @ numbers) * share < wanted * float(weights.sum()) else (low, middle)
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
    if seen < size - FAR * deviation and len(continued) > 1:
        # It ends sooner, so it does not thin out more slowly: of hundreds of empty cells the sum is noise, and a long tail of it.
        return _geometric(noisy, beyond, float(continued[1] / continued[0]))
    return continued if seen <= size + FAR * deviation else _of_mass(noisy, beyond, mass)


def _geometric(noisy: Table, used: Places, slowest: float = 1.0) -> Table:
    """a·r^k for these cells, by least squares: a is given by r, and r is looked for on a grid."""
    shapes = _RATIOS[slowest + 1e-9 >= _RATIOS, None] ** (used - used[0])[None, :]
    height = np.maximum((shapes @ noisy[used]) / (shapes**2).sum(axis=1), 0.0)
    return _nearest(noisy[used], height[:, None] * shapes)


def _of_mass(noisy: Table, used: Places, mass: float) -> Table:
    """The same where their sum is known."""
    shapes = _RATIOS[:, None] ** (used - used[0])[None, :]
    return _nearest(noisy[used], mass * shapes / shapes.sum(axis=1, keepdims=True))


def _nearest(noisy: Table, tails: Table) -> Table:
    return np.asarray(tails[int(np.argmin(((noisy[None, :] - tails) ** 2).sum(axis=1)))])


@dataclass(frozen=True, eq=False)
class ChildrenInCells:
    """Which part of all has how many children, in cells that grow, measured apart."""

    starts: tuple[int, ...]
    """Where each cell begins: none, one, two and three …"""
    fractions: Table
    deviation: float


def in_agreement(settled: Table, deviation: float, cells: ChildrenInCells) -> Table:
    """A distribution of numbers of children that agrees with how many there are in cells: noise falls once on each of these, and
    on every number of a table. Within a cell the numbers stay as they are to each other. The mean stays, too: what noise adds to
    a cell of many children is many rows."""
    codes = np.searchsorted(cells.starts, np.arange(len(settled)), side="right") - 1
    members = np.bincount(codes, minlength=len(cells.starts))
    own = np.bincount(codes, weights=settled, minlength=len(cells.starts))
    clear = np.flatnonzero(cells.fractions >= FAR * cells.deviation)
    told = np.arange(len(own)) <= (clear[-1] if len(clear) else -1)
    sure, other = 1 / np.maximum(members * deviation**2, 1e-300), told / max(cells.deviation**2, 1e-300)
    wanted = np.where(members > 0, (sure * own + other * cells.fractions) / (sure + other), 0.0)[codes]
    agreed = np.where(own[codes] > 0, wanted * settled / np.maximum(own[codes], 1e-300), wanted / np.maximum(members[codes], 1))
    return _tilted(agreed / agreed.sum(), float(settled @ np.arange(len(settled)))) if agreed.sum() > 0 else settled


@dataclass(frozen=True, eq=False)
class RowsEach:
    """How many entities have how many rows of a table, noisy, in cells that grow; and how many rows that makes."""

    noisy: Table
    deviation: float
    starts: tuple[int, ...]
    """Where each cell begins, and one more for where the last one ends: none, one, two and three …"""
    entities: Estimate

    @cached_property
    def total(self) -> Estimate:
        """How many rows there are, without those that noise may have made: few rather than many.

        Noise in a cell of entities with a hundred rows each makes a hundred times as many rows. So cells count up to the last
        that stands clear, or, if these hold few of those who have rows, as far as noise makes few rows in any case; and who is
        beyond them is in the next.
        """
        held, typical = self._held, self._typical[: len(self._held)]
        rows = float(held @ typical)
        return Estimate(rows, float(np.hypot(self.deviation * np.sqrt((typical**2).sum()), WITHIN * rows)))

    @property
    def in_cells(self) -> ChildrenInCells:
        """As parts of all entities: none where noise may have made those who are there."""
        held = np.zeros(len(self.noisy))
        held[1 : 1 + len(self._held)] = self._held / max(self.entities.value, 1.0)
        held[0] = max(0.0, 1.0 - float(held.sum()))
        return ChildrenInCells(self.starts[:-1], held / held.sum(), self.deviation / max(self.entities.value, 1.0))

    @property
    def astray(self) -> float:
        """How far that may be off because it is not known how many rows those have who are beyond: any number that caps allow."""
        beyond = len(self._held) - 1 - self._reach
        return float(self._held[-1]) * (self.starts[-1] - 1) / sqrt(12) if beyond else 0.0

    @cached_property
    def _reach(self) -> int:
        """The last cell that counts as it is."""
        last = self._last_clear
        few = float(self.noisy[1 : last + 2].sum()) < self._with_rows[0] / 2
        return max(last, self._last_quiet) if few else last

    @cached_property
    def _held(self) -> Table:
        """Entities in the cells that count, and in the next one all who are beyond."""
        cells, reach = self.noisy[1:], self._reach
        some, unsure = self._with_rows
        held, beyond = cells[: reach + 1], len(cells) - 1 - reach
        if beyond:
            here, there = beyond * self.deviation**2, unsure**2 + (reach + 1) * self.deviation**2
            left = (float(cells[reach + 1 :].sum()) / here + (some - float(held.sum())) / there) / (1 / here + 1 / there)
            held = np.append(held, left)
        return norm_subtract(held, some) if some else np.zeros_like(held)

    @property
    def clear(self) -> bool:
        """Whether it stands clear of the noise that anybody has rows."""
        some, unsure = self._with_rows
        return some >= CLEAR * unsure

    @cached_property
    def _with_rows(self) -> tuple[float, float]:
        """Entities that have rows, told from both sides, and the deviation of that."""
        here = max((len(self.noisy) - 1) * self.deviation**2, 1e-300)
        there = max(self.deviation**2 + self.entities.deviation**2, 1e-300)
        several = float(self.noisy[1:].sum()) / here + (self.entities.value - float(self.noisy[0])) / there
        return max(0.0, several / (1 / here + 1 / there)), sqrt(1 / (1 / here + 1 / there))

    @property
    def _last_clear(self) -> int:
        """The last cell, counted from those with one row, up to which entities surely have rows: -1 where there is none."""
        cells, deviation = self.noisy[1:], self.deviation
        # The more rows a cell makes, the surer it has to be: caps allow many such cells.
        far = np.flatnonzero(cells >= np.where(np.arange(len(cells)) <= self._last_quiet + 1, SURE, FAR) * deviation)
        last = int(far[-1]) if len(far) else -1
        while last + 1 < len(cells) and cells[last + 1] >= CLEAR * deviation:
            last += 1
        return last

    @property
    def _last_quiet(self) -> int:
        """The last cell, counted so, whose noise and that of the next makes few rows."""
        noise = self.deviation * np.sqrt(np.cumsum(self._typical**2))
        return int(np.count_nonzero(noise <= QUIET * self.entities.value)) - 2

    @cached_property
    def _typical(self) -> Table:
        """Rows of an entity in each cell but the first: as many on each part of a logarithmic scale."""
        first = np.array(self.starts[1:-1], dtype=np.float64)
        beyond = np.array(self.starts[2:], dtype=np.float64)
        return np.where(beyond - first > 1, (beyond - first) / np.log((beyond - 0.5) / (first - 0.5)), first)
