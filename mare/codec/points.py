"""`Points`: a column as something that others are anchored at. Every row has a place, also where the value is missing.

A NULL stands where its own anchor stands, so that a sequence goes on from there. A NULL that depends on nothing stands as
early as can be for what comes after it, and as late as can be for what comes before it: it binds nobody.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .ticks import Mask, Side, Ticks, TickScale, convert_ticks


@dataclass(frozen=True, eq=False)
class Points:
    """One place a row, in the column's own ticks."""

    scale: TickScale
    lower: Ticks
    """Nothing that comes after the row is before this."""
    upper: Ticks
    """Nothing that comes before the row is after this."""
    known: Mask
    """False where neither the value nor anything that it depends on is there."""

    def take(self, index: NDArray[np.int64]) -> Points:
        return Points(self.scale, self.lower[index], self.upper[index], self.known[index])

    def bound(self, side: Side, target: TickScale) -> Ticks:
        """The places as ticks of another column, which comes ``after`` or ``before`` them."""
        return convert_ticks(self.lower if side == "after" else self.upper, self.scale, target, side)


def standing(scale: TickScale, ticks: Ticks, there: Mask, low: int, high: int) -> Points:
    """The points of a column that depends on nothing."""
    return Points(scale, np.where(there, ticks, low), np.where(there, ticks, high), there)
