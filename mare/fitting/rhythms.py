"""When things happen: the hours of the day and the days of the week of a column that holds moments, as far as they stand clear of
the noise. A few cells first, cut where some hours are more usual than others. And how round moments and times of day are: whole
minutes, full quarters of an hour."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal

import numpy as np

from mare.codec.rhythm import HOURS, Rhythm, grains_of, rhythm_of
from mare.codec.scales import AnyScale, ticks_of_a_clock, ticks_of_a_day
from mare.privacy.grids import Grid

from .coarse_to_fine import Ask, evenly, looked_at
from .weighing import SURELY

Clock = Literal["hours", "days", "grains"]
SHARE: Mapping[Clock, float] = {"hours": 0.06, "days": 0.04, "grains": 0.02}
"""Of what a column's bins cost."""
TOLD = 0.05
"""Total variation distance from an even spread, above the noise, from which on there is a rhythm."""
CLEAR = 3.0
"""Deviations of the noise from which on moments of a grain occur; twice as many have to be there in all."""
_FIRST: Mapping[str, Grid] = {
    "hours": Grid((0.0, 6.0, 12.0, 18.0, 24.0), "linear", 1.0),
    "days": Grid((0.0, 5.0, 7.0), "linear", 1.0),
}
"""Quarters of the day; days that most people work on, and the others."""


def share_of(scale: AnyScale) -> float:
    """What looking for a rhythm costs, of a column with this scale."""
    return sum(SHARE[clock] for clock in _clocks(scale))


def learned_rhythm(asks: Callable[[Clock], Ask], scale: AnyScale) -> Rhythm | None:
    """What is usual. ``asks``: whom to ask."""
    clocks, a_day = _clocks(scale), ticks_of_a_clock(scale)
    hours, days = (_usual(asks(clock), clock) if clock in clocks else () for clock in ("hours", "days"))
    return rhythm_of(hours, days, a_day, _grains(asks("grains"), a_day) if "grains" in clocks else ()) if clocks else None


def _clocks(scale: AnyScale) -> tuple[Clock, ...]:
    """Dates have no hours, times of day no days and hours that their bins tell; what is no time has nothing."""
    a_day, a_clock = ticks_of_a_day(scale), ticks_of_a_clock(scale)
    moments: tuple[Clock, ...] = () if a_day == 0 else ("days",) if a_day % HOURS else ("hours", "days")
    return (*moments, "grains") if len(grains_of(a_clock)) > 2 else moments


def _grains(ask: Ask, a_day: int) -> tuple[float, ...]:
    """By grain, coarse to fine, how many moments are drawn as multiples of it; nothing where (nearly) all are of the finest.

    Of what is drawn as whole minutes some are full hours by chance: these are not counted twice.
    """
    units = grains_of(a_day)
    (histogram,) = ask([Grid(tuple(map(float, range(len(units) + 1))), "linear", 1.0)], 1.0)
    rows = np.where(histogram.noisy > CLEAR * histogram.deviation, histogram.noisy, 0.0)
    if rows.sum() <= 2 * CLEAR * histogram.deviation:
        return ()
    left, drawn = rows / rows.sum(), np.zeros(len(units))
    for place in range(len(units) - 1, -1, -1):
        coarser = [units[place] / unit for unit in units[:place]]
        # Of multiples of this grain, the part that is of none coarser; and of each coarser one, of none coarser still.
        alone = np.diff([0.0, *coarser, 1.0])
        drawn[place] = left[place] / alone[-1]
        left[: place + 1] = np.maximum(left[: place + 1] - drawn[place] * alone, 0.0)
    drawn /= drawn.sum()
    return () if drawn[-1] >= 1 - TOLD else tuple(float(f"{part:.4g}") for part in drawn.tolist())


def _usual(ask: Ask, clock: Clock) -> tuple[float, ...]:
    """How usual each part is, against an even spread; nothing where they are alike as far as the noise tells."""
    parts = int(_FIRST[clock].edges[-1])
    (look,) = looked_at(ask, [_FIRST[clock]], [lambda low, high, _: evenly(low, high, round(high - low))], parts)
    rows, edges = look.histogram.noisy, np.asarray(look.histogram.grid.edges, dtype=np.int64)
    total = float(rows.sum())
    if look.tree.gain <= SURELY or total <= 0:
        return ()
    seen = np.repeat(rows / np.diff(edges), np.diff(edges)) * parts / total
    noise = 0.4 * look.histogram.deviation * len(rows) / total
    return tuple(float(f"{weight:.4g}") for weight in seen.tolist()) if np.abs(seen - 1).sum() / 2 / parts > TOLD + noise else ()
