"""Codes into a whole table: the mirror of `encoding`. Relative values are rebuilt along their sequence, so order holds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import takewhile

import numpy as np
import pyarrow as pa

from mare.domain import CodeArray, drawing
from mare.errors import InternalError
from mare.schema.determined import PREVIOUS_ROW, SAME_ROW

from .building import TableCodec, ValueCodec
from .by_item import ScaledCodec
from .keeping_apart import Apart, Free
from .nearness import drawn_near
from .ordinal import CLOSING, FIRST_ROW, NULL, ORDINARY, Kinds, OrdinalCodec
from .relative import WIDEST, Limits, RelativeCodec
from .siblings import Above, Index, Points, Siblings, interval_of, is_open, limits_of, standing, standing_place
from .ticks import FURTHEST, Mask, Ticks

ROUNDS = 4
"""Of telling siblings apart: what is handed out in order may bring two of them together again, where a key has several parts."""


@dataclass(frozen=True, eq=False)
class DecodedTable:
    """The values of a table, and what tables below and determined columns need of them."""

    values: Mapping[str, pa.Array]
    points: Mapping[str, Points]
    """Of each ordered column, for the tables below."""
    quantities: Mapping[str, pa.Array]
    """Numbers and times without their special values, which are no quantities: NULL there."""
    past: Mask | None = None
    """Rows that there was no room for: what they follow lies past the end of the data, or of what they lie in."""


def decode_table(
    codec: TableCodec,
    rows: Mapping[str, CodeArray],
    firsts: Mapping[str, CodeArray],
    siblings: Siblings,
    rng: np.random.Generator,
    above: Above | None = None,
    ordered_by: tuple[str, ...] = (),
) -> DecodedTable:
    """The values of every column. ``firsts`` holds the codes of the first values, one per parent row.

    ``ordered_by`` are the columns that order siblings, one after the other. Where the first does not depend on the previous row,
    what was drawn for the rows of one parent is handed out in order; and so is the next one, among rows that are alike in those
    before it.
    """
    first = next(iter(ordered_by), None)
    values: dict[str, pa.Array] = {}
    quantities: dict[str, pa.Array] = {}
    drawn: dict[str, tuple[Ticks, Kinds]] = {}
    everyone = np.arange(siblings.rows, dtype=np.int64)
    for name, column in codec.columns.items():
        if isinstance(column, OrdinalCodec):
            drawn[name] = column.draw(rows[name], drawing(rng, name))
            drawn[name] = into_intervals(name, column, drawn[name][0], above or {}, everyone, rng), drawn[name][1]
        elif isinstance(column, ScaledCodec):
            values[name] = column.decode(rows[name], column.item_of(rows), drawing(rng, name))
        elif isinstance(column, ValueCodec):
            values[name] = column.decode(rows[name], drawing(rng, name))
        elif not isinstance(column, RelativeCodec):
            raise InternalError(f"{codec.table}.{name} is decoded before its values are known")
    # Columns that stand for themselves are ordered before anything depends on them; those after a relative one, where none does.
    plain = list(takewhile(lambda name: isinstance(codec.columns.get(name), OrdinalCodec), ordered_by))
    _hand_out_in_order(codec, drawn, plain, siblings, above or {}, rng)
    _near_to_others(codec, drawn, siblings, rng)
    apart = Apart(codec, rows, drawn, siblings.parent, rng, above or {})
    for attempt in range(ROUNDS):
        if not apart.standing(str(attempt)):
            break
        _hand_out_in_order(codec, drawn, plain, siblings, above or {}, rng)
    walk = Walk(codec, siblings, above or {}, drawn, first)
    walk.fill(rows, firsts, rng, apart)
    for number in range(max(1, len(plain)), len(ordered_by)):
        if not set(ordered_by[: number + 1]) <= set(drawn):
            break  # a position: siblings are told apart, and in order
        walk.order_ties(ordered_by[:number], ordered_by[number])
    for name, column in codec.ordered.items():
        ticks, kinds = drawn[name]
        values[name] = column.values.write(ticks, kinds)
        if column.slots.specials:
            quantities[name] = column.scale.to_values(ticks, kinds != ORDINARY)
    return DecodedTable({name: values[name] for name in codec.columns}, walk.points, quantities, walk.past)


class Walk:
    """Fills the relative columns: a row's anchor has its value before the row needs it."""

    def __init__(
        self,
        codec: TableCodec,
        siblings: Siblings,
        above: Above,
        drawn: dict[str, tuple[Ticks, Kinds]],
        ordered_by: str | None = None,
    ) -> None:
        self.codec, self.siblings, self.above, self.drawn, self.ordered_by = codec, siblings, above, drawn, ordered_by
        self.points: dict[str, Points] = {}
        self.past = np.zeros(siblings.rows, dtype=np.bool_)
        for name, column in codec.ordered.items():
            if isinstance(column, OrdinalCodec):
                ticks, kinds = drawn[name]
                self.points[name] = standing(column.scale, ticks, kinds == ORDINARY, column.bins.low, column.bins.high)
            else:
                count = siblings.rows
                drawn[name] = np.zeros(count, dtype=np.int64), np.full(count, NULL, dtype=np.int16)
                zeros = np.zeros(count, dtype=np.int64)
                self.points[name] = Points(column.scale, zeros, zeros.copy())

    def fill(
        self, rows: Mapping[str, CodeArray], firsts: Mapping[str, CodeArray], rng: np.random.Generator, apart: Apart | None = None
    ) -> None:
        relative = {name: column for name, column in self.codec.ordered.items() if isinstance(column, RelativeCodec)}
        if not relative:
            return
        steps = [np.arange(self.siblings.rows, dtype=np.int64)]
        if any(column.placing.follows for column in relative.values()):
            steps = self.siblings.steps
        for at in steps:
            for name, column in relative.items():
                self.place(name, column, rows[name][at], firsts.get(name), at, rng)
                if apart is not None and len(steps) == 1 and column.first is None and not column.placing.leads:
                    self._tell_apart(name, column, rows[name], at, apart)
                if name == self.ordered_by and all(a.scope not in (SAME_ROW, PREVIOUS_ROW) for a in column.placing.anchors):
                    self._in_order(name, at)

    def place(
        self, name: str, column: RelativeCodec, codes: CodeArray, firsts: CodeArray | None, at: Index, rng: np.random.Generator
    ) -> None:
        """The rows ``at`` of one column, whose codes are given; what they depend on has its place."""
        limits, _ = limits_of(column.placing, column.scale, self.points, self.above, self.siblings, at, column.within)
        differs = self._differs(name, column)
        if differs and limits.high is not None and limits.remaining is not None:
            limits = replace(limits, high=limits.high - limits.remaining)  # each of the later rows needs a tick of its own
        if (
            column.within is not None
            and column.within.until in self.above
            and column.placing.follows
            and not column.placing.by_parts
        ):
            # Who goes along other rows comes before the next that is referred to is over.
            until = self.above[column.within.until].take(at).bound("before", column.scale)
            limits = replace(limits, high=until if limits.high is None else np.minimum(limits.high, until))
        ticks, kinds = column.place(codes, limits, drawing(rng, name, at)), column.slots.kinds_of(codes, column.bins.count)
        furthest = None if column.placing.by_parts else column.bins.high
        lower, upper = standing_place(column.placing, column.scale, self.points, self.above, at, furthest)
        begins = self.siblings.position[at] == 0
        if differs and limits.low is not None:
            ticks = np.where(is_open(limits.low), ticks, np.maximum(ticks, limits.low + 1))
        if column.first is not None and firsts is not None and begins.any():
            start = self.start(column, firsts, limits.take(begins), at[begins], drawing(rng, f"first({name})", at[begins]))
            start = into_intervals(name, column, start, self.above, at[begins], rng, limits.take(begins).high)
            ticks[begins] = lower[begins] = upper[begins] = start
        kinds = np.where((kinds == FIRST_ROW) | (kinds == CLOSING), ORDINARY, kinds).astype(np.int16)
        there = kinds == ORDINARY
        self.past[at] |= there & column.placing.past(ticks, limits)
        self.drawn[name][0][at], self.drawn[name][1][at] = ticks, kinds
        points = self.points[name]
        points.lower[at], points.upper[at] = np.where(there, ticks, lower), np.where(there, ticks, upper)

    def _differs(self, name: str, column: RelativeCodec) -> bool:
        """Whether a row comes after the row before it, and differs in nothing else: then it comes later."""
        after = column.placing.after
        follows = after is not None and (after.scope, after.column) == (PREVIOUS_ROW, name)
        return follows and not column.placing.strict and (name,) in self.codec.apart

    def _tell_apart(self, name: str, column: RelativeCodec, codes: CodeArray, at: Index, apart: Apart) -> None:
        """Siblings that came out alike, and may not: each gets another value that its anchors allow."""
        limits, _ = limits_of(column.placing, column.scale, self.points, self.above, self.siblings, at, column.within)
        (ticks, kinds), points = self.drawn[name], self.points[name]

        def again(rows: Index, _: Ticks, rng: np.random.Generator) -> Ticks:
            return column.place(codes[rows], limits.take(rows), rng)

        if (ends := column.placing.allowed(limits, column.scale.limits, column.bins.high)) is None:
            return
        apart.placed(name, Free(again, *ends))
        there = kinds == ORDINARY
        points.lower[there], points.upper[there] = ticks[there], ticks[there]

    def _in_order(self, name: str, at: Index) -> None:
        """Siblings depend on the same rows above, so whatever one of them may be, another may be too."""
        ticks, kinds = self.drawn[name]
        if len(at) == self.siblings.rows:
            _hand_out(ticks, kinds, self.siblings)
        else:
            # One position at a time: no earlier than the last sibling that has a value.
            later = at[(self.siblings.position[at] > 0) & (kinds[at] == ORDINARY)]
            ticks[later] = np.maximum(ticks[later], self._latest[later - 1])
            before = np.where(self.siblings.position[at] > 0, self._latest[at - 1], -FURTHEST)
            self._latest[at] = np.where(kinds[at] == ORDINARY, ticks[at], before)
        there, points = kinds[at] == ORDINARY, self.points[name]
        points.lower[at] = np.where(there, ticks[at], points.lower[at])
        points.upper[at] = np.where(there, ticks[at], points.upper[at])

    def order_ties(self, before: tuple[str, ...], name: str) -> None:
        """The same for a later column, where rows may change places: nothing in the table depends on it, nor it on its row."""
        anchors = {
            column: [anchor.column for anchor in codec.placing.anchors if anchor.scope in (SAME_ROW, PREVIOUS_ROW)]
            for column, codec in self.codec.ordered.items()
            if isinstance(codec, RelativeCodec)
        }
        if anchors.get(name) or any(name in columns for columns in anchors.values()):
            return
        hand_out_among_ties(self.drawn, before, name, self.siblings)
        (ticks, kinds), points = self.drawn[name], self.points[name]
        there = kinds == ORDINARY
        points.lower[there], points.upper[there] = ticks[there], ticks[there]

    @cached_property
    def _latest(self) -> Ticks:
        return np.zeros(self.siblings.rows, dtype=np.int64)

    def start(self, column: RelativeCodec, firsts: CodeArray, limits: Limits, at: Index, rng: np.random.Generator) -> Ticks:
        """The first values of sequences that begin with the rows ``at``, inside whatever these have to stay before."""
        if column.first is None:
            raise InternalError("a sequence without a first value begins")
        from_above, _ = limits_of(column.first.placing, column.scale, self.points, self.above, self.siblings, at)
        high = from_above.high
        if limits.high is not None:
            before = limits.high - (column.placing.strict and column.placing.before is not None)
            high = before if high is None else np.minimum(high, before)
        return column.first.place(firsts[self.siblings.parent[at]], Limits(from_above.low, high, limits.remaining), rng)


def into_intervals(
    name: str,
    column: OrdinalCodec | RelativeCodec,
    ticks: Ticks,
    above: Above,
    at: Index,
    rng: np.random.Generator,
    last: Ticks | None = None,
) -> Ticks:
    """Values that depend on nothing before them, of rows that refer to another row: those outside that row's interval are drawn
    evenly from it, up to the ``last`` that they may be."""
    if (interval := interval_of(column.within, column.scale, above, at)) is None:
        return ticks
    low, high = interval if last is None else (interval[0], np.minimum(interval[1], last))
    outside = ~is_open(low) & (low <= high) & ((ticks < low) | (ticks > high))
    width = np.clip(high - low, 0, WIDEST)
    part = drawing(rng, f"within({name})", at).random(len(ticks))
    return np.where(outside, low + np.minimum((part * (width + 1)).astype(np.int64), width), ticks)


def _near_to_others(
    codec: TableCodec, drawn: Mapping[str, tuple[Ticks, Kinds]], siblings: Siblings, rng: np.random.Generator
) -> None:
    """Numbers near to those of the row before, and to others of their row, inside of their bins."""
    for name, column in codec.columns.items():
        if not isinstance(column, OrdinalCodec) or not column.near:
            continue
        ticks, kinds = drawn[name]
        everyone = np.arange(siblings.rows, dtype=np.int64)
        for at in siblings.steps if any(near.beside is None for near in column.near) else [everyone]:
            rows = at[kinds[at] == ORDINARY]
            others = []
            for near in column.near:
                beside = rows if near.beside is not None else np.maximum(rows - 1, 0)
                values, theirs = drawn[near.beside or name]
                follows = near.beside is not None or siblings.position[rows] > 0
                others.append((near, values[beside], (theirs[beside] == ORDINARY) & follows))

            def drawing_for(purpose: str, rows: Index = rows, name: str = name) -> np.random.Generator:
                return drawing(rng, f"near({name}) {purpose}", rows)

            ticks[rows] = drawn_near(ticks[rows], others, column.bins, drawing_for)


def _between_linked(
    name: str, column: OrdinalCodec, ticks: Ticks, kinds: Kinds, linked: Mask, siblings: Siblings, rng: np.random.Generator
) -> tuple[Ticks, Kinds]:
    """Rows that come in order and refer to rows in their order: those that refer to none lie between those before and after them
    that do, or handing values out in order would take these out of their intervals."""
    linked = linked & (kinds == ORDINARY)
    at, rows = np.flatnonzero(linked), np.arange(len(ticks))
    ticks[at] = ticks[at][np.lexsort((ticks[at], siblings.parent[at]))]
    before = np.maximum.accumulate(np.where(linked, rows, -1))
    after = np.minimum.accumulate(np.where(linked, rows, len(rows))[::-1])[::-1]
    ends = np.r_[ticks, column.bins.low, column.bins.high]
    parents = np.r_[siblings.parent, -1]
    low = ends[np.where((before >= 0) & (parents[before] == siblings.parent), before, len(rows))]
    high = ends[np.where((after < len(rows)) & (parents[after] == siblings.parent), after, len(rows) + 1)]
    width = np.clip(high - low, 0, WIDEST)
    even = low + (drawing(rng, f"between({name})").random(len(ticks)) * (width + 1)).astype(np.int64)
    return np.where(linked | ((ticks >= low) & (ticks <= high)), ticks, np.minimum(even, low + width)), kinds


def _hand_out(ticks: Ticks, kinds: Kinds, siblings: Siblings) -> None:
    """What the rows of each parent have, smallest first. Special values and NULLs stay where they are."""
    there = np.flatnonzero(kinds == ORDINARY)
    ticks[there] = ticks[there][np.lexsort((ticks[there], siblings.parent[there]))]


def _hand_out_in_order(
    codec: TableCodec,
    drawn: dict[str, tuple[Ticks, Kinds]],
    ordered_by: Sequence[str],
    siblings: Siblings,
    above: Above,
    rng: np.random.Generator,
) -> None:
    """The same for columns that order siblings one after the other, and stand for themselves."""
    for number, name in enumerate(ordered_by):
        if number:
            hand_out_among_ties(drawn, tuple(ordered_by[:number]), name, siblings)
            continue
        column, everyone = codec.columns[name], np.arange(siblings.rows, dtype=np.int64)
        if (
            isinstance(column, OrdinalCodec)
            and (interval := interval_of(column.within, column.scale, above, everyone)) is not None
        ):
            drawn[name] = _between_linked(name, column, *drawn[name], ~is_open(interval[0]), siblings, rng)
        _hand_out(*drawn[name], siblings)


def hand_out_among_ties(drawn: Mapping[str, tuple[Ticks, Kinds]], before: tuple[str, ...], name: str, siblings: Siblings) -> None:
    """The same among the rows of each parent that are alike in the columns before."""
    ticks, kinds = drawn[name]
    there = np.flatnonzero(kinds == ORDINARY)
    alike = [siblings.parent[there]]
    for other in before:
        values, what = drawn[other]
        alike += [np.where(what[there] == ORDINARY, values[there], 0), what[there].astype(np.int64)]
    places = np.lexsort((there, *alike[::-1]))
    ticks[there[places]] = ticks[there[np.lexsort((ticks[there], *alike[::-1]))]]
