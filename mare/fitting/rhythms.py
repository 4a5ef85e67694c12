"""When things happen: the hours of the day and the days of the week of a column that holds moments, as far as they stand clear of
the noise. A few cells first, cut where some hours are more usual than others."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal

import numpy as np

from mare.codec.rhythm import HOURS, Rhythm, rhythm_of
from mare.privacy.grids import Grid

from .coarse_to_fine import Ask, evenly, looked_at
from .weighing import SURELY

Clock = Literal["hours", "days"]
SHARE: Mapping[Clock, float] = {"hours": 0.06, "days": 0.04}
"""Of what a column's bins cost."""
TOLD = 0.05
"""Total variation distance from an even spread, above the noise, from which on there is a rhythm."""
_FIRST: Mapping[Clock, Grid] = {
    "hours": Grid((0.0, 6.0, 12.0, 18.0, 24.0), "linear", 1.0),
    "days": Grid((0.0, 5.0, 7.0), "linear", 1.0),
}
"""Quarters of the day; days that most people work on, and the others."""


def share_of(ticks: int) -> float:
    """What looking for a rhythm costs, of a column whose days have so many ticks."""
    return sum(SHARE[clock] for clock in _clocks(ticks))


def learned_rhythm(asks: Callable[[Clock], Ask], ticks: int) -> Rhythm | None:
    """What is usual. ``asks``: whom to ask."""
    usual = {clock: _usual(asks(clock), clock) for clock in _clocks(ticks)}
    return rhythm_of(usual.get("hours", ()), usual["days"], ticks)


def _clocks(ticks: int) -> tuple[Clock, ...]:
    """Dates have no hours; what is no moment has neither."""
    return () if ticks == 0 else ("days",) if ticks % HOURS else ("hours", "days")


def _usual(ask: Ask, clock: Clock) -> tuple[float, ...]:
    """How usual each part is, against an even spread; nothing where they are alike as far as the noise tells."""
    parts = int(_FIRST[clock].edges[-1])
    (found,) = looked_at(ask, [_FIRST[clock]], [lambda low, high, _: evenly(low, high, round(high - low))], parts)
    rows, edges = found.histogram.noisy, np.asarray(found.histogram.grid.edges, dtype=np.int64)
    total = float(rows.sum())
    if found.tree.gain <= SURELY or total <= 0:
        return ()
    seen = np.repeat(rows / np.diff(edges), np.diff(edges)) * parts / total
    noise = 0.4 * found.histogram.deviation * len(rows) / total
    return tuple(float(f"{weight:.4g}") for weight in seen.tolist()) if np.abs(seen - 1).sum() / 2 / parts > TOLD + noise else ()
