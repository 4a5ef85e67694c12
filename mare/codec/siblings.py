"""`Siblings`: where the rows of a table stand, and what their anchors allow. Encoding and decoding walk the same way.

`Points` is a column as something that others are anchored at. Every row has a place, also where the value is missing. For what
comes after it a NULL stands where its own anchor stands, so that a sequence goes on from there. For what comes before it a NULL
stands as late as it could be: nobody comes before a death that was none. A NULL that depends on nothing binds nobody.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from mare.schema.determined import PREVIOUS_ROW, SAME_ROW, Anchor

from .ordinal import Within
from .relative import Limits, Placing
from .scales import AnyScale
from .ticks import FURTHEST, Mask, Side, Ticks, convert_ticks


@dataclass(frozen=True, eq=False)
class Points:
    """A place for each row, in the column's own ticks; ±FURTHEST where there is no value and nothing says where it could be."""

    scale: AnyScale
    lower: Ticks
    """Nothing that comes after the row is before this."""
    upper: Ticks
    """Nothing that comes before the row is after this."""

    def take(self, index: NDArray[np.int64]) -> Points:
        return Points(self.scale, self.lower[index], self.upper[index])

    def bound(self, side: Side, target: AnyScale) -> Ticks:
        """The places as ticks of another column, which comes ``after`` or ``before`` them."""
        places = self.lower if side == "after" else self.upper
        return np.where(is_open(places), places, convert_ticks(places, self.scale, target, side))


def is_open(ticks: Ticks) -> Mask:
    """Where nothing is known."""
    beyond: Mask = np.abs(ticks) >= FURTHEST
    return beyond


def standing(scale: AnyScale, ticks: Ticks, there: Mask, low: int | None, high: int | None) -> Points:
    """The points of a column that depends on nothing; ``low`` and ``high`` are the ends of its domain, where they are known."""
    earliest, latest = -FURTHEST if low is None else low, FURTHEST if high is None else high
    return Points(scale, np.where(there, ticks, earliest), np.where(there, ticks, latest))


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
    placing: Placing,
    scale: AnyScale,
    points: Mapping[str, Points],
    above: Above,
    siblings: Siblings,
    at: Index,
    within: Within | None = None,
) -> tuple[Limits, Mask]:
    """What the rows ``at`` may be, and where every anchor that they have is somewhere, or a declared bound in its place.

    A declared bound is one as any other: it takes the place of an anchor that is NULL, and of the two the nearer one counts. Who
    was born long before the data begins dies some time after that, which tells more than an age. So does the interval of a
    row that they refer to (``within``).
    """
    low, high = _bound("after", placing, scale, points, above, at), _bound("before", placing, scale, points, above, at)
    end = high if placing.between else None
    if placing.after is not None and not placing.between and placing.high is not None:
        end = np.full(len(at), placing.high + placing.strict)
    if (interval := interval_of(within, scale, above, at)) is not None:
        begin, until = interval
        low = None if low is None else np.where(is_open(begin) | is_open(low), low, np.maximum(low, begin - placing.strict))
        high = until if high is None else np.minimum(high, until)
    if placing.low is not None:
        earliest = np.int64(placing.low - placing.strict)
        if low is None:
            low = None if placing.after is not None else np.full(len(at), placing.low)
        elif not placing.back:
            if placing.reach is not None and not placing.follows:
                furthest = np.where((low < earliest) & ~is_open(low), low + placing.reach, FURTHEST)
                high = furthest if high is None else np.minimum(high, furthest)
            low = np.maximum(low, earliest)
    if placing.high is not None:
        latest = np.full(len(at), placing.high + (placing.strict and placing.before is not None))
        high = latest if high is None else np.minimum(high, latest)
    known = np.ones(len(at), dtype=np.bool_)
    for side, anchor in ((low, placing.after), (high, placing.before)):
        # A distance from the first of two anchors needs no second.
        if side is not None and anchor is not None and (side is low or placing.after is None or placing.by_parts):
            known &= ~is_open(side)
    remaining = siblings.remaining[at] if placing.follows or (placing.leads and placing.after is not None) else None
    if high is not None and remaining is not None and placing.strict and placing.follows:
        # Each of the later rows needs a tick of its own before the end.
        high = high - remaining
    return Limits(low, high, remaining, end), known


def interval_of(within: Within | None, scale: AnyScale, above: Above, at: Index) -> tuple[Ticks, Ticks] | None:
    """The intervals that the references of the rows ``at`` lead to, open where they lead nowhere; None where there are none."""
    if within is None or not set(within.anchors) <= set(above):
        return None
    begin, end = (above[anchor].take(at) for anchor in within.anchors)
    return begin.bound("after", scale), end.bound("before", scale)


def standing_place(
    placing: Placing, scale: AnyScale, points: Mapping[str, Points], above: Above, at: Index, furthest: int | None = None
) -> tuple[Ticks, Ticks]:
    """Where rows stand that have no value of their own: for what comes after them at their anchor, for what comes before them as
    late as they could be. ``furthest`` is the largest distance that was learned, where none is declared."""
    after, before = _bound("after", placing, scale, points, above, at), _bound("before", placing, scale, points, above, at)
    reach = placing.furthest if placing.furthest is not None else furthest
    if after is not None:
        lower = after
    elif before is not None and reach is not None:
        lower = np.where(is_open(before), -FURTHEST, before - reach)
    else:
        lower = np.full(len(at), -FURTHEST)
    upper = np.full(len(at), FURTHEST) if before is None else before
    if after is not None and reach is not None:
        begins = after if placing.low is None or placing.reach is not None else np.maximum(after, placing.low)
        upper = np.minimum(upper, np.where(is_open(after), FURTHEST, begins + reach))
    if placing.low is not None:
        lower = np.where(is_open(lower), placing.low, lower)
    if placing.high is not None:
        upper = np.minimum(upper, placing.high)
    # Whatever a NULL follows, it could be no earlier.
    return lower, np.maximum(upper, lower)


def _bound(side: Side, placing: Placing, scale: AnyScale, points: Mapping[str, Points], above: Above, at: Index) -> Ticks | None:
    anchor = placing.after if side == "after" else placing.before
    if anchor is None:
        return None
    bound = _anchored(anchor, points, above, at).bound(side, scale)
    return np.where(is_open(bound), bound, bound - placing.back) if placing.back else bound


def _anchored(anchor: Anchor, points: Mapping[str, Points], above: Above, at: Index) -> Points:
    if anchor.scope == SAME_ROW:
        return points[anchor.column].take(at)
    if anchor.scope == PREVIOUS_ROW:
        # Before the first row there is none: whatever is taken there, the first value stands in its place.
        return points[anchor.column].take(np.maximum(at - 1, 0))
    return above[anchor].take(at)
