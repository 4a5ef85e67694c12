"""`Room`: what there is room for between the anchors of a value and the end of the data, and how a draw is fitted into it.

A distance is drawn without knowing of an end. One that leads past it is drawn again from where it came; what still does not fit
is shared out evenly over what is left. So nothing is moved onto the last day, and no row is lost.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from .ticks import Mask, Ticks

Draws = np.random.Generator

REDRAWS = 6
"""How often a value that there is no room for is drawn again."""
WIDEST = 1 << 52
"""Wider rooms are cut: a double counts their ticks."""


@dataclass(frozen=True, eq=False)
class Room:
    """For each row, the first and the last tick that it may have."""

    first: Ticks
    last: Ticks
    remaining: Ticks | None = None
    """How many rows of the sequence still have to find room after it."""
    nearest: Ticks | None = None
    """The earliest that the draw can be. Where rows follow, a later one is taken the more rarely the less it leaves them: as
    often as some even draws from the room would all lie after it. As many as rows follow would be too many: these often come
    in bursts, and the bin that the draw comes from has seen rows that were followed by others."""
    asked: Mask | None = None
    """Rows that need a value at all; of the others nothing is drawn twice."""

    def holds(self, ticks: Ticks) -> Mask:
        inside: Mask = (ticks >= self.first) & (ticks <= self.last)
        return inside if self.asked is None else inside | ~self.asked

    def takes(self, ticks: Ticks, rng: Draws) -> Mask:
        """Which of these draws stay."""
        inside = self.holds(ticks)
        if self.remaining is None or self.nearest is None:
            return inside
        left, whole = (np.maximum(self.last - start, 0) + 1.0 for start in (ticks, self.nearest))
        likely: Mask = rng.random(len(ticks)) < np.minimum(left / whole, 1.0) ** (np.sqrt(self.remaining) / 2)
        return inside & (likely if self.asked is None else likely | ~self.asked)


def fitted(draw: Callable[[], Ticks], room: Room, rng: Draws, *, from_the_end: bool = False) -> Ticks:
    """Draws that there is room for; ``from_the_end`` where they are counted back from it."""
    ticks = nearest = draw()
    taken = room.takes(ticks, rng)
    for _ in range(REDRAWS):
        if taken.all():
            return ticks
        again = draw()
        nearer = room.holds(again) & (~room.holds(nearest) | (again < nearest))
        nearest, takes = np.where(nearer, again, nearest), room.takes(again, rng)
        ticks, taken = np.where(~taken & takes, again, ticks), taken | takes
    ticks = np.where(taken, ticks, nearest)
    if (held := room.holds(ticks)).all():
        return ticks
    # The first of as many even draws as rows are to come, this one included.
    part = rng.random(len(ticks)) ** (1 / (1.0 + (0 if room.remaining is None else room.remaining)))
    width = np.clip(room.last - room.first, 0, WIDEST)
    steps = ((part if from_the_end else 1 - part) * (width + 1)).astype(np.int64)
    return np.where(held, ticks, room.first + np.minimum(steps, width))
