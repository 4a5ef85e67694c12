"""Codes into a whole table: the mirror of `encoding`. Relative values are rebuilt along their sequence, so order holds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import takewhile
from typing import TYPE_CHECKING

import numpy as np

from mare.domain import CodeArray, drawing
from mare.errors import InternalError
from mare.schema.relative import PREVIOUS_ROW, SAME_ROW

from .building import TableCodec, ValueCodec
from .ordinal import OrdinalCodec
from .relative import Limits, RelativeCodec
from .scaled import ScaledCodec
from .siblings import Above, Index, Points, Siblings, limits_of, standing, standing_place
from .slots import FIRST_ROW, NULL, ORDINARY, Kinds
from .ticks import FURTHEST, Ticks

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, eq=False)
class DecodedTable:
    """The values of a table, and what tables below and determined columns need of them."""

    values: Mapping[str, pa.Array]
    points: Mapping[str, Points]
    """Of each ordered column, for the tables below."""
    quantities: Mapping[str, pa.Array]
    """Numbers and times without their special values, which are no quantities: NULL there."""


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
    for name, one in codec.columns.items():
        if isinstance(one, OrdinalCodec):
            drawn[name] = one.draw(rows[name], drawing(rng, name))
            if name == first:
                _hand_out(*drawn[name], siblings)
        elif isinstance(one, ScaledCodec):
            values[name] = one.decode(rows[name], one.item_of(rows), drawing(rng, name))
        elif isinstance(one, ValueCodec):
            values[name] = one.decode(rows[name], drawing(rng, name))
        elif not isinstance(one, RelativeCodec):
            raise InternalError(f"{codec.table}.{name} is decoded before its values are known")
    # Columns that stand for themselves are ordered before anything depends on them; those after a relative one, where none does.
    plain = list(takewhile(lambda name: isinstance(codec.columns.get(name), OrdinalCodec), ordered_by))
    for number in range(1, len(plain)):
        hand_out_among_ties(drawn, ordered_by[:number], plain[number], siblings)
    walk = Walk(codec, siblings, above or {}, drawn, first)
    walk.fill(rows, firsts, rng)
    for number in range(max(1, len(plain)), len(ordered_by)):
        if not set(ordered_by[: number + 1]) <= set(drawn):
            break  # a position: siblings are told apart, and in order
        walk.order_ties(ordered_by[:number], ordered_by[number])
    for name, one in codec.ordered.items():
        ticks, kinds = drawn[name]
        values[name] = one.values.write(ticks, kinds)
        if one.slots.specials:
            quantities[name] = one.scale.to_values(ticks, kinds != ORDINARY)
    return DecodedTable({name: values[name] for name in codec.columns}, walk.points, quantities)


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
        for name, one in codec.ordered.items():
            if isinstance(one, OrdinalCodec):
                ticks, kinds = drawn[name]
                self.points[name] = standing(one.scale, ticks, kinds == ORDINARY, one.bins.low, one.bins.high)
            else:
                count = siblings.rows
                drawn[name] = np.zeros(count, dtype=np.int64), np.full(count, NULL, dtype=np.int16)
                zeros = np.zeros(count, dtype=np.int64)
                self.points[name] = Points(one.scale, zeros, zeros.copy(), np.zeros(count, dtype=np.bool_))

    def fill(self, rows: Mapping[str, CodeArray], firsts: Mapping[str, CodeArray], rng: np.random.Generator) -> None:
        relative = {name: one for name, one in self.codec.ordered.items() if isinstance(one, RelativeCodec)}
        if not relative:
            return
        steps = [np.arange(self.siblings.rows, dtype=np.int64)]
        if any(one.placing.follows for one in relative.values()):
            steps = self.siblings.steps
        for at in steps:
            for name, one in relative.items():
                self.place(name, one, rows[name][at], firsts.get(name), at, rng)
                if name == self.ordered_by and all(a.scope not in (SAME_ROW, PREVIOUS_ROW) for a in one.placing.anchors):
                    self._in_order(name, at)

    def place(
        self, name: str, one: RelativeCodec, codes: CodeArray, firsts: CodeArray | None, at: Index, rng: np.random.Generator
    ) -> None:
        """The rows ``at`` of one column, whose codes are given; what they depend on has its place."""
        limits, _ = limits_of(one.placing, one.scale, self.points, self.above, self.siblings, at)
        ticks, kinds = one.place(codes, limits, drawing(rng, name, at)), one.slots.kinds_of(codes, one.bins.count)
        lower, upper, known = standing_place(one.placing, one.scale, self.points, self.above, at)
        begins = self.siblings.position[at] == 0
        if one.first is not None and firsts is not None and begins.any():
            high = None if limits.high is None else limits.high[begins]
            start = self.start(one, firsts, high, at[begins], drawing(rng, f"first({name})", at[begins]))
            ticks[begins] = lower[begins] = upper[begins] = start
            known = known | begins
        kinds = np.where(kinds == FIRST_ROW, ORDINARY, kinds).astype(np.int16)
        there = kinds == ORDINARY
        self.drawn[name][0][at], self.drawn[name][1][at] = ticks, kinds
        points = self.points[name]
        points.lower[at], points.upper[at] = np.where(there, ticks, lower), np.where(there, ticks, upper)
        points.known[at] = there | known

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
        one, relative = self.codec.ordered[name], [o for o in self.codec.ordered.values() if isinstance(o, RelativeCodec)]
        hanging = {a.column for o in relative for a in o.placing.anchors if a.scope in (SAME_ROW, PREVIOUS_ROW)}
        anchors = one.placing.anchors if isinstance(one, RelativeCodec) else ()
        if name in hanging or any(a.scope in (SAME_ROW, PREVIOUS_ROW) for a in anchors):
            return
        hand_out_among_ties(self.drawn, before, name, self.siblings)
        (ticks, kinds), points = self.drawn[name], self.points[name]
        there = kinds == ORDINARY
        points.lower[there], points.upper[there] = ticks[there], ticks[there]

    @cached_property
    def _latest(self) -> Ticks:
        return np.zeros(self.siblings.rows, dtype=np.int64)

    def start(self, one: RelativeCodec, firsts: CodeArray, before: Ticks | None, at: Index, rng: np.random.Generator) -> Ticks:
        """The first values of sequences that begin with the rows ``at``, held inside whatever these have to stay before."""
        if one.first is None:
            raise InternalError("a sequence without a first value begins")
        from_above, _ = limits_of(one.first.placing, one.scale, self.points, self.above, self.siblings, at)
        ticks = one.first.place(firsts[self.siblings.parent[at]], from_above, rng)
        high = None if before is None else before - one.placing.strict
        return one.placing.held(ticks, Limits(from_above.low, high), one.scale.limits)


def _hand_out(ticks: Ticks, kinds: Kinds, siblings: Siblings) -> None:
    """What the rows of each parent have, smallest first. Special values and NULLs stay where they are."""
    there = np.flatnonzero(kinds == ORDINARY)
    ticks[there] = ticks[there][np.lexsort((ticks[there], siblings.parent[there]))]


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
