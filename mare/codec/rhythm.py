"""`Rhythm`: how usual each hour of the day and each day of the week is. Clinics are open by day, laboratories work at night too.

A fine histogram of years, or of the time since the last visit, does not tell hours apart: a moment drawn evenly inside a cell of
a month falls on a Sunday night as often as on a Monday morning. So it is drawn inside its cell by the rhythm of its column.
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

Weights = NDArray[np.float64]
Span = tuple[Ticks, Ticks]


@dataclass(frozen=True)
class Rhythm:
    """Weights of equal stretches that come round for ever: of a day's hours, a week's days, or a week's hours. The first begins
    with the tick 0, which is a Thursday."""

    weights: tuple[float, ...]
    stretch: int
    """How many ticks each lasts."""

    def __post_init__(self) -> None:
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
        return np.where((high > low) & (usual > 0), np.clip(drawn, low, high), ticks)

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


def rhythm_of(hours: tuple[float, ...], days: tuple[float, ...], per_day: int) -> Rhythm | None:
    """Of the hours of a day, of the days from Monday on, or of both; none where neither is told."""
    thursday = (*days[3:], *days[:3])
    if hours and days:
        return Rhythm(tuple(float(f"{day * hour:.4g}") for day in thursday for hour in hours), per_day // HOURS)
    if hours:
        return Rhythm(hours, per_day // HOURS)
    return Rhythm(thursday, per_day) if days else None
