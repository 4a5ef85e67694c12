"""`Rhythm`: how usual each hour of the day and each day of the week is. Clinics are open by day, laboratories work at night too.

A fine histogram of years, or of the time since the last visit, does not tell hours apart: a moment drawn evenly inside a cell of
a month falls on a Sunday night as often as on a Monday morning. So it is drawn inside its cell by the rhythm of its column. And
appointments begin at full quarters of an hour: how many moments are so round (`grains`) is kept too.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from .ticks import Ticks

HOURS, DAYS = 24, 7
RARE = 0.5
"""Of what is usual on average: whatever is rarer is left by as many rows as it is rarer."""

WIDENED = 12
"""So often is a cell in which nothing is usual widened: four times each, from a second to days."""

ROUND = (1, 24, 96, 288, 1440)
"""Parts of a day that moments often lie at the beginning of: the day itself, hours, quarters of them, five minutes, minutes."""

Weights = NDArray[np.float64]
Span = tuple[Ticks, Ticks]


@dataclass(frozen=True)
class Rhythm:
    """Weights of equal stretches that come round for ever: of a day's hours, a week's days, or a week's hours. The first begins
    with the tick 0, which is a Thursday."""

    weights: tuple[float, ...]
    stretch: int
    """How many ticks each lasts."""
    grains: tuple[float, ...] = ()
    """How many moments are a multiple of each grain of a day (`grains_of`), coarse to fine; none where all are of the finest."""

    def __post_init__(self) -> None:
        if self.grains and (len(self.grains) != len(grains_of(self._day)) or not all(0 <= g <= 1 for g in self.grains)):
            raise ValueError("there is a part of all moments for each grain")
        if len(self.weights) not in (HOURS, DAYS, HOURS * DAYS) or self.stretch < 1:
            raise ValueError("a rhythm has a weight for each hour of a day, each day of a week, or each hour of a week")
        if not all(0 <= weight < float("inf") for weight in self.weights) or not any(self.weights):
            raise ValueError("no weight of a rhythm is negative, and not all are zero")

    def draw(self, ticks: Ticks, cells: Span, limits: Span, rng: np.random.Generator) -> Ticks:
        """Ticks of the same cells (first and last, inclusive) in this rhythm.

        A cell in which little is usual (a night, a weekend) is too narrow to be taken at its word: most leave it, and go no
        further than it is wide, or than it takes to find anything usual; never beyond the limits, where ticks stay as they are.
        """
        low, high = cells
        stays, width = rng.random(len(ticks)) * RARE, high - low + 1
        leaves = (self._weight(low, high) < stays * width * self._usual) & (low <= high)
        for _ in range(WIDENED):
            if not leaves.any():
                break
            low = np.where(leaves, np.minimum(np.maximum(low - width, limits[0]), low), low)
            high = np.where(leaves, np.maximum(np.minimum(high + width, limits[1]), high), high)
            width, leaves = np.minimum(4 * width, self._round), leaves & (self._weight(low, high) == 0)
        begins = low - low % self._round
        first, usual = self._reach(low - begins), self._weight(low, high)
        whole, rest = np.divmod(first + rng.random(len(ticks)) * usual, self._reached[-1])
        place = np.clip(np.searchsorted(self._reached, rest, side="right") - 1, 0, len(self.weights) - 1)
        within = np.clip((rest - self._reached[place]) / np.maximum(np.diff(self._reached)[place], 1e-300), 0, 1)
        drawn = begins + whole.astype(np.int64) * self._round + ((place + within) * self.stretch).astype(np.int64)
        moved = np.where((high > low) & (usual > 0), np.clip(drawn, low, high), ticks)
        # A cell of one tick says exactly what it is.
        return np.where(cells[1] > cells[0], self._rounded(moved, limits, rng), moved) if self.grains else moved

    def _rounded(self, ticks: Ticks, limits: Span, rng: np.random.Generator) -> Ticks:
        """Multiples of a grain, drawn by how usual each is: the last before, or the next; as they are where both lie outside."""
        reached = np.cumsum(self.grains)
        grain = np.searchsorted(reached / reached[-1], rng.random(len(ticks)), side="right")
        unit = np.asarray(grains_of(self._day))[np.minimum(grain, len(self.grains) - 1)]
        before = ticks - ticks % unit
        after = before + unit
        return np.where(before >= limits[0], before, np.where(after <= limits[1], after, ticks))

    def _weight(self, low: Ticks, high: Ticks) -> Weights:
        """What lies between the two weighs."""
        begins = low - low % self._round
        weight: Weights = self._reach(np.maximum(high, low) + 1 - begins) - self._reach(low - begins)
        return np.where(weight > 1e-9 * self._reached[-1], weight, 0.0)

    def _reach(self, ticks: Ticks) -> Weights:
        """What all stretches up to here weigh."""
        rounds, rest = np.divmod(ticks, self._round)
        place, part = np.divmod(rest, self.stretch)
        weights: Weights = rounds * self._reached[-1] + self._reached[place]
        return weights + np.asarray(self.weights)[place] * part / self.stretch

    @property
    def _day(self) -> int:
        return self.stretch * (1 if len(self.weights) == DAYS else HOURS)

    @cached_property
    def _usual(self) -> float:
        """What a tick weighs, on average."""
        return float(self._reached[-1]) / self._round

    @cached_property
    def _round(self) -> int:
        return len(self.weights) * self.stretch

    @cached_property
    def _reached(self) -> Weights:
        return np.concatenate([[0.0], np.cumsum(self.weights)])


def hours_of(ticks: Ticks, per_day: int) -> Ticks:
    """Of moments, the hour of the day."""
    return ticks % per_day * HOURS // per_day


def days_of(ticks: Ticks, per_day: int) -> Ticks:
    """Of moments, the day of the week: 0 is a Monday."""
    return (ticks // per_day + 3) % DAYS


def grains_of(per_day: int) -> tuple[int, ...]:
    """The grains of a day of so many ticks, coarse to fine: the last is a tick. Dates have none."""
    return (*(per_day // parts for parts in ROUND if per_day % parts == 0 and per_day > parts), 1) if per_day > 1 else ()


def grain_codes(ticks: Ticks, per_day: int) -> Ticks:
    """Of moments, or times of day, the coarsest grain that they are a multiple of."""
    codes = np.zeros(len(ticks), dtype=np.int64)
    for unit in grains_of(per_day)[:-1]:
        codes += ticks % unit != 0
    return codes


def rhythm_of(hours: tuple[float, ...], days: tuple[float, ...], per_day: int, grains: tuple[float, ...] = ()) -> Rhythm | None:
    """Of the hours of a day, of the days from Monday on, of both, or of how round moments are; none where nothing is told."""
    thursday = (*days[3:], *days[:3])
    if hours and days:
        return Rhythm(tuple(float(f"{day * hour:.4g}") for day in thursday for hour in hours), per_day // HOURS, grains)
    if hours or (grains and not days):
        return Rhythm(hours or (1.0,) * HOURS, per_day // HOURS, grains)
    return Rhythm(thursday, per_day, grains) if days else None
