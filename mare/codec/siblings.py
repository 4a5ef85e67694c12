"""`Siblings`: where the rows of a table stand, and what their anchors allow. Encoding and decoding walk the same way.

`Points` is a column as something that others are anchored at. Every row has a place, also where the value is missing: a NULL
stands where its own anchor stands, so that a sequence goes on from there. A NULL that depends on nothing stands as early as can
be for what comes after it, and as late as can be for what comes before it: it binds nobody.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from mare.schema.relative import PREVIOUS_ROW, SAME_ROW, Anchor

from .relative import Limits, Placing
from .ticks import Mask, Side, Ticks, TickScale, convert_ticks


@dataclass(frozen=True, eq=False)
class Points:
    """A place for each row, in the column's own ticks."""

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


Index = NDArray[np.int64]
Above = Mapping[Anchor, Points]
"""The points of columns above, one for each row of the table (gathered upwards)."""


@dataclass(frozen=True, eq=False)
class Siblings:
    """Rows sorted by parent and order, so that the previous row of a sequence is the row above."""

    parents: int
    """How many parent rows there are, with and without children."""
    parent: Index
    """Of each row, its parent's place."""
    position: Index
    """Of each row, its place among its siblings, from 0."""

    @property
    def rows(self) -> int:
        return len(self.parent)

    @cached_property
    def remaining(self) -> Index:
        """Of each row, how many siblings come after it."""
        counts = np.bincount(self.parent, minlength=self.parents).astype(np.int64)
        return counts[self.parent] - 1 - self.position

    @cached_property
    def steps(self) -> list[Index]:
        """The rows at each position: what a row depends on has its value before the row needs it."""
        if not self.rows:
            return []
        # Sixteen bits are sorted by their digits, several times faster.
        narrow = self.position.astype(np.uint16) if int(self.position.max()) < 1 << 16 else self.position
        order = np.argsort(narrow, kind="stable").astype(np.int64)
        return np.split(order, np.cumsum(np.bincount(self.position))[:-1])


def limits_of(
    placing: Placing, scale: TickScale, points: Mapping[str, Points], above: Above, siblings: Siblings, at: Index
) -> tuple[Limits, Mask]:
    """What the anchors of the rows ``at`` allow, and where all of these anchors have a place."""
    known = np.ones(len(at), dtype=np.bool_)
    ends: dict[Side, Ticks] = {}
    sides: tuple[tuple[Side, Anchor | None], ...] = (("after", placing.after), ("before", placing.before))
    for side, anchor in sides:
        if anchor is not None:
            stands = _anchored(anchor, points, above, at)
            ends[side] = stands.bound(side, scale)
            known &= stands.known
    high = ends.get("before")
    if high is not None and placing.strict and placing.follows:
        # Each of the later rows needs a tick of its own before the end.
        high = high - siblings.remaining[at]
    return Limits(ends.get("after"), high), known


def standing_place(
    placing: Placing, scale: TickScale, points: Mapping[str, Points], above: Above, at: Index
) -> tuple[Ticks, Ticks, Mask]:
    """Where rows stand that have no value of their own: at their anchor (lower and upper place, and whether it is known)."""
    anchor = placing.after if placing.after is not None else placing.before
    if anchor is None:
        raise ValueError("a value without an anchor stands nowhere")
    stands = _anchored(anchor, points, above, at)
    return stands.bound("after", scale), stands.bound("before", scale), stands.known


def _anchored(anchor: Anchor, points: Mapping[str, Points], above: Above, at: Index) -> Points:
    if anchor.scope == SAME_ROW:
        return points[anchor.column].take(at)
    if anchor.scope == PREVIOUS_ROW:
        # Before the first row there is none: whatever is taken there, the first value stands in its place.
        return points[anchor.column].take(np.maximum(at - 1, 0))
    return above[anchor].take(at)
