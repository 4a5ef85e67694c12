"""`RelativeCodec`: a value by where it lies between its anchors, so that order holds by construction (mare-2024, III.C).

After one anchor, or before one: the distance from it. Between two: the distance from the first where something says how far that
may be, held before the second, with a code of its own for a value that is the second; else the fraction of the time that is
left, with an atom at 1 that closes the interval (recipe, step 4). Where a value follows the previous row, the first value of the
sequence lives in the context, and the first row's code says so.

A fraction is exact: the k-th of n ticks is a place from 0 to WHOLE, and comes back. Whatever is drawn, it stays inside. 0 is the
start itself, WHOLE the end: "this closes the interval" is an atom of its own.

A distance is drawn without knowing of an end. One that leads past it is drawn again from where it came (`Room`); what still does
not fit is shared out evenly over what is left. So nothing is moved onto the last day, and no row is lost.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from mare.errors import InternalError
from mare.schema.determined import PREVIOUS_ROW, SAME_ROW, Anchor

from .bins import Bins, OpenBins
from .ordinal import CLOSING, ORDINARY, Binned, BinnedCodec, settled_bins
from .rhythm import Rhythm
from .ticks import FURTHEST, Mask, Ticks

if TYPE_CHECKING:
    from numpy.typing import NDArray


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


BITS = 20
WHOLE = 1 << BITS
LONGEST = 1 << 52
"""Longer intervals are clamped: the products below fit 63 bits."""
_HALF = BITS // 2
PARTS_OF_A_TICK = 1 << 10
"""What a pace is told in: a hundred rows of one day have less than a tick each."""


def fractions_of(parts: Ticks, wholes: Ticks) -> Ticks:
    """⌊WHOLE·k/n⌋ for 0 ≤ k ≤ n; never 0 but for k = 0, and WHOLE for k = n (also where n = 0: nothing is left to close)."""
    whole = np.clip(wholes, 1, LONGEST)
    part = np.clip(parts, 0, whole)
    # long division in two digits of ten bits each: nothing overflows, nothing is rounded
    high, rest = np.divmod(part << _HALF, whole)
    place = (high << _HALF) + (rest << _HALF) // whole
    inside = np.where(part > 0, np.maximum(place, 1), 0)
    return np.where((part >= whole) | (wholes <= 0), WHOLE, inside)


def parts_at(places: Ticks, wholes: Ticks) -> Ticks:
    """The first k whose place is at least this one: the inverse of `fractions_of`, ⌈n·place/WHOLE⌉."""
    whole = np.clip(wholes, 0, LONGEST)
    high, low = whole >> 26, whole & ((1 << 26) - 1)
    first = ((high * places) << (26 - BITS)) - (-(low * places) >> BITS)
    # the place 1 is shared by all that is above the start and below one part of WHOLE
    return np.where(places <= 1, np.minimum(places, whole), first)


def drawn_parts(places: Ticks, lows: Ticks, highs: Ticks, wholes: Ticks) -> Ticks:
    """The k for a place that was drawn between ``lows`` and ``highs`` (exclusive): one of the k that have such a place.

    Where the interval is so short that no tick has one, the nearest.
    """
    wanted = parts_at(places, wholes)
    first = parts_at(lows, wholes)
    last = np.where(highs > WHOLE, np.clip(wholes, 0, LONGEST), parts_at(highs, wholes) - 1)
    return np.clip(np.where(last >= first, np.clip(wanted, first, last), wanted), 0, np.clip(wholes, 0, LONGEST))


@dataclass(frozen=True, eq=False)
class Limits:
    """What a row may be, in the column's own ticks: by its anchors, and on a side without one by the declared bounds. None on a
    side with neither; ±FURTHEST where an anchor is NULL and nothing else says how far it may lie."""

    low: Ticks | None = None
    high: Ticks | None = None
    remaining: Ticks | None = None
    """How many rows of the sequence still have to find room below ``high``; None where none follows."""
    end: Ticks | None = None
    """Of two anchors, where the second is; of a value that comes after one, the declared end."""

    def take(self, index: Mask | NDArray[np.int64]) -> Limits:
        return Limits(*(None if side is None else side[index] for side in (self.low, self.high, self.remaining, self.end)))


@dataclass(frozen=True)
class Placing:
    """How a value depends on its anchors. Anchors name a table, not `parent`: the schema's words were resolved."""

    after: Anchor | None = None
    before: Anchor | None = None
    reach: int | None = None
    """The furthest distance from the anchor, in ticks."""
    strict: bool = False
    low: int | None = None
    """The declared range, where the column has one beside its anchors."""
    high: int | None = None
    leads: bool = False
    """Whether the next row follows it (a discharge, before the next admission)."""
    learns: bool = False
    """Whether the furthest distance is learned, where ``reach`` is None."""
    back: int = 0
    """How many ticks before the anchor a value may lie that is around it: what it comes after is the anchor less these, and its
    distance is still counted from the anchor."""

    @property
    def anchors(self) -> tuple[Anchor, ...]:
        return tuple(anchor for anchor in (self.after, self.before) if anchor is not None)

    @property
    def between(self) -> bool:
        return self.after is not None and self.before is not None

    @property
    def by_parts(self) -> bool:
        """Whether nothing says how far between its two anchors a value may lie: then it is a part of what is between them."""
        return self.between and self.reach is None and not self.learns

    @property
    def furthest(self) -> int | None:
        """The largest distance from the first tick that the anchor allows."""
        return None if self.reach is None else max(0, self.reach - self.strict)

    @property
    def longest(self) -> int | None:
        """The same of what is left between the declared bounds: a distance begins no earlier than the first of them."""
        if self.after is None or self.low is None or self.high is None or self.furthest is None or self.back:
            return self.furthest
        return min(self.furthest, max(0, self.high - self.low))

    @property
    def ends_above(self) -> bool:
        """Whether a sequence has an end that a row above sets."""
        return self.follows and any(anchor.scope not in (SAME_ROW, PREVIOUS_ROW) for anchor in self.anchors)

    @property
    def follows(self) -> bool:
        return any(anchor.scope == PREVIOUS_ROW for anchor in self.anchors)

    def measure(self, ticks: Ticks, limits: Limits) -> tuple[Ticks, Mask]:
        """Distances, or fractions of what is left; and where the value is outside what its anchors allow."""
        low, high = self.ends(limits)
        beyond: Mask | np.bool_ = ticks > _given_limit(high) if self.between else np.False_
        if self.by_parts:
            left = _given_limit(high) - _given_limit(low)
            return fractions_of(ticks - _given_limit(low), left), (ticks < _given_limit(low)) | beyond
        away = ticks - _given_limit(low) if self.after is not None else _given_limit(high) - ticks
        return away - self.back, (away < 0) | beyond | (away > self.furthest if self.furthest is not None else np.False_)

    def closing(self, ticks: Ticks, limits: Limits, a_day: int) -> Mask:
        """Which values are their second anchor, as near as they may come to it, or the declared end, and not what they follow:
        what began on the last day ends there by itself. A day of so many ticks may stand for its midnight, or for its end."""
        away = _given_limit(limits.end) - self.strict - ticks
        there: Mask = away == 0
        if not self.between:
            there = (there | (away == a_day - 1)) & (ticks > _given_limit(limits.low) + self.strict)
        return there

    def place(
        self,
        bins: Bins,
        codes: NDArray[np.integer],
        limits: Limits,
        ends: tuple[int, int],
        rng: Draws,
        asked: Mask | None = None,
        rhythm: Rhythm | None = None,
    ) -> Ticks:
        """Values again: never outside the anchors, and inside the declared range where the anchors leave room for that."""
        ticks = self._placed(bins, codes, limits, ends, rng, asked)
        return ticks if rhythm is None else self._in_rhythm(ticks, bins, limits, ends, rhythm, rng)

    def _in_rhythm(self, ticks: Ticks, bins: Bins, limits: Limits, ends: tuple[int, int], rhythm: Rhythm, rng: Draws) -> Ticks:
        """The same, each moved within the cell of its distance (or fraction)."""
        low, high = self.ends(limits)
        measure, outside = self.measure(ticks, limits)
        first, last = bins.around(measure)
        if self.by_parts:
            left = np.maximum(_given_limit(high) - _given_limit(low), 0)
            last = np.where(last >= WHOLE, left, parts_at(last + 1, left) - 1)
            first, last = _given_limit(low) + parts_at(first, left), _given_limit(low) + last
        elif self.after is not None:
            first, last = _given_limit(low) + self.back + first, _given_limit(low) + self.back + last
        else:
            first, last = _given_limit(high) - last, _given_limit(high) - first
        smallest, largest = self._range(ends)
        least = np.maximum(smallest, np.full(len(ticks), smallest) if low is None else low)
        most = np.minimum(largest, np.full(len(ticks), largest) if high is None else high)
        first, last = np.maximum(first, least), np.minimum(last, most)
        moved = rhythm.draw(ticks, (first, last), (least, most), rng)
        return np.where(outside | (ticks < first) | (ticks > last), ticks, moved)

    def _placed(
        self, bins: Bins, codes: NDArray[np.integer], limits: Limits, ends: tuple[int, int], rng: Draws, asked: Mask | None
    ) -> Ticks:
        low, high = self.ends(limits)
        edges = np.asarray(bins.edges, dtype=np.int64)
        if self.by_parts:
            left = np.maximum(_given_limit(high) - _given_limit(low), 0)
            ticks = _given_limit(low) + drawn_parts(bins.draw(codes, rng), edges[codes], edges[codes + 1], left)
            return self.held(ticks, Limits(low, high), ends)

        def draw() -> Ticks:
            distance = bins.draw(codes, rng) + self.back
            drawn = _given_limit(low) + distance if self.after is not None else _given_limit(high) - distance
            if self.back and (nowhere := np.abs(_given_limit(low)) >= FURTHEST).any():
                # Around nothing is anywhere.
                smallest, largest = self._range(ends)
                drawn = np.where(nowhere, smallest + (rng.random(len(codes)) * (largest - smallest)).astype(np.int64), drawn)
            return drawn

        paced = (self.follows or self.leads) and self.after is not None and high is not None
        nearest = _given_limit(low) + self.back + edges[codes] if paced else None
        return self.inside(draw, replace(limits, low=low, high=high), ends, rng, asked, nearest)

    def inside(
        self,
        draw: Callable[[], Ticks],
        limits: Limits,
        ends: tuple[int, int],
        rng: Draws,
        asked: Mask | None = None,
        nearest: Ticks | None = None,
    ) -> Ticks:
        """Draws that lie inside the limits and the declared range; where these leave no room, the anchors come first."""
        smallest, largest = self._range(ends)
        first = np.maximum(smallest if limits.low is None else limits.low, smallest)
        last = np.minimum(largest if limits.high is None else limits.high, largest)
        room = Room(first, last, limits.remaining, nearest, asked)
        backwards = self.after is None and self.before is not None
        return self.held(fitted(draw, room, rng, from_the_end=backwards), limits, ends)

    def held(self, ticks: Ticks, limits: Limits, ends: tuple[int, int]) -> Ticks:
        """Inside the declared range, the calendar and the anchors; these last, so that order comes before all else."""
        ticks = np.clip(ticks, *self._range(ends))
        if limits.high is not None:
            ticks = np.minimum(ticks, limits.high)
        return ticks if limits.low is None else np.maximum(ticks, limits.low)

    def _range(self, ends: tuple[int, int]) -> tuple[int, int]:
        """The declared range, within what can be written at all."""
        smallest = ends[0] if self.low is None else max(self.low, ends[0])
        return smallest, ends[1] if self.high is None else min(self.high, ends[1])

    def allowed(self, limits: Limits, ends: tuple[int, int], furthest: int | None) -> tuple[Ticks, Ticks] | None:
        """The first and the last value that each row may have, or None. ``furthest`` is the largest distance that was learned."""
        low, high = self.ends(limits)
        smallest, largest = self._range(ends)
        reach = self.furthest if self.furthest is not None else None if self.by_parts else furthest
        if reach is not None and low is not None and self.after is not None:
            high = low + reach if high is None else np.minimum(high, low + reach)
        elif reach is not None and high is not None:
            low = high - reach if low is None else np.maximum(low, high - reach)
        if low is None or high is None:
            return None
        return np.maximum(low, smallest), np.minimum(high, largest)

    def past(self, ticks: Ticks, limits: Limits) -> Mask:
        """Which values lie beyond what nothing may: the declared end, and of a sequence the row above that ends it."""
        past = np.zeros(len(ticks), dtype=np.bool_) if self.high is None else ticks > self.high
        return past if limits.end is None or not self.follows else past | (ticks > limits.end - self.strict)

    def ends(self, limits: Limits) -> tuple[Ticks | None, Ticks | None]:
        """The first and the last tick that the anchors allow."""
        low = None if limits.low is None else limits.low + (self.strict and self.after is not None)
        high = None if limits.high is None else limits.high - (self.strict and self.before is not None)
        if self.between and self.reach is not None:
            high = np.minimum(_given_limit(high), _given_limit(limits.low) + self.reach)
        return low, high


@dataclass(frozen=True)
class FirstCodec(Binned):
    """The first value of a sequence, kept in the context: its bins, then "the parent has no row at all"."""

    placing: Placing = field(default_factory=Placing)
    """Without anchors the value stands for itself; else it is a distance from a row above."""
    lasting: Bins | OpenBins | None = None
    """How far the sequence has come when a later row begins, measured in the same way (`elapsed`); None where nobody asks."""

    pacing: Bins | None = None
    """How much time each row that is still to come has until the calendar's end, in parts of a tick; None where it sets none."""

    @property
    def elapsed(self) -> Bins:
        if self.lasting is None:
            raise InternalError("nothing says how far the sequence may come")
        return settled_bins(self.lasting)

    @property
    def size(self) -> int:
        return self.bins.count + 1

    def measure(self, ticks: Ticks, limits: Limits) -> tuple[Ticks, Mask]:
        return self.placing.measure(ticks, limits) if self.placing.anchors else (ticks, np.zeros(len(ticks), dtype=np.bool_))

    def place(self, codes: NDArray[np.integer], limits: Limits, rng: Draws) -> Ticks:
        """Inside ``limits``: what the row above allows, and what the sequence has to stay before."""
        index = np.minimum(codes, self.bins.count - 1).astype(np.int64)
        if self.placing.anchors:
            return self.placing.place(self.bins, index, limits, self.scale.limits, rng, rhythm=self.rhythm)
        return self.placing.inside(lambda: self.drawn(index, rng), limits, self.scale.limits, rng)


@dataclass(frozen=True)
class RelativeCodec(BinnedCodec):
    """The bins of the distance or fraction; special values; "first row", where it follows the previous one; NULL."""

    placing: Placing
    first: FirstCodec | None = None

    @property
    def first_row(self) -> int:
        """The code of the first row of a sequence: its value is in the context."""
        return self.slots.first_row(self.bins.count)

    @property
    def anchors(self) -> tuple[Anchor, ...]:
        """Of its own values and of the first one."""
        return (*self.placing.anchors, *(self.first.placing.anchors if self.first is not None else ()))

    def place(self, codes: NDArray[np.integer], limits: Limits, rng: Draws) -> Ticks:
        """A value for every row that has one of its own; the others are set by the caller."""
        kinds = self.slots.kinds_of(codes, self.bins.count)
        index = np.where(kinds == ORDINARY, codes, 0).astype(np.int64)
        if not self.slots.closes:
            return self.placing.place(self.bins, index, limits, self.scale.limits, rng, kinds == ORDINARY, self.rhythm)
        away = _given_limit(limits.end) - _given_limit(limits.low) - 2 * self.placing.strict
        # A distance that was learned is that of the others.
        furthest = self.bins.high if self.placing.between or self.placing.reach is not None else FURTHEST
        closes = (kinds == CLOSING) & (away >= 0) & (away <= furthest)
        # An end that is nowhere, or too far, cannot be meant: any of the usual distances.
        usual = self.bins.assign(self.bins.whole.draw(np.zeros(len(codes), dtype=np.int64), rng))
        index = np.where(kinds == CLOSING, usual, index)
        asked = ((kinds == ORDINARY) | (kinds == CLOSING)) & ~closes
        ticks = self.placing.place(self.bins, index, limits, self.scale.limits, rng, asked, self.rhythm)
        ticks[closes] = (_given_limit(limits.end) - self.placing.strict)[closes]
        return self.placing.held(ticks, Limits(*self.placing.ends(limits)), self.scale.limits)


def whole_bins(count: int) -> Bins:
    """Equal bins of a fraction: the last is the end of the interval alone."""
    if count == 1:
        return Bins((0, WHOLE + 1))
    return Bins((*(i * WHOLE // (count - 1) for i in range(count)), WHOLE + 1))


def _given_limit(ticks: Ticks | None) -> Ticks:
    if ticks is None:
        raise InternalError("a value depends on an anchor that was not given")
    return ticks
