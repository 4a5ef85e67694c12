"""How far a sequence is when a row begins, and how much time each row that is still to come has: free history, for a gap often
depends on all the time before it (recipe, step 9).

Where a row above sets an end, it is what is left until then (the rest of a stay, of a follow-up). Else it is measured as the
first value of the sequence is: from the row above that this depends on (the age at an admission), or as it stands. A row begins
where the previous one ended; the first begins at its own value, which the context knows. The fit looks at the values that rows
have, the sampler at those that it has drawn so far (`Advance`).

Where the calendar ends a sequence (`max:`), its gaps are distances, which know nothing of an end. The pace does: what is left
until then, shared by this row and those after it. So a sequence that is late hurries, and few pass the end.

And how much time there is below a row (`room`), from a date of its own until another of them, or the calendar, ends it: how many
rows there are below it depends on that more than on most. Who came late has had little time.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from mare.domain import CodeArray, drawing, smallest_dtype
from mare.schema.columns import ROOMS
from mare.schema.determined import PREVIOUS_ROW, SAME_ROW

from .bins import Bins
from .building import TableCodec
from .decoding import Walk
from .ordinal import NULL, ORDINARY, OrdinalCodec
from .relative import LONGEST, PARTS_OF_A_TICK, FirstCodec, Limits, Placing, RelativeCodec
from .siblings import Above, Index, Points, Siblings, is_open, limits_of
from .ticks import FURTHEST, Side, Ticks


def elapsed_name(column: str) -> str:
    """What the free history of a sequence's column is called."""
    return f"elapsed({column})"


def pace_name(column: str) -> str:
    return f"pace({column})"


def room_placing(codec: TableCodec, name: str) -> Placing:
    """What a column's first value has to do with the rows above: nothing of its own row, or of one before it, is known yet."""
    column = _relative(codec, name)
    placing = column.placing if column.first is None else column.first.placing
    above = placing.before if placing.before is not None and placing.before.scope not in (SAME_ROW, PREVIOUS_ROW) else None
    return replace(placing, before=above)


def room_codes(codec: TableCodec, name: str, above: Above, rows: int) -> CodeArray:
    """How much time there is below each of so many rows, by powers of the longest that the calendar allows. ``above`` is where
    the anchors of `room_placing` are, for each of them."""
    column, everyone = _relative(codec, name), np.arange(rows, dtype=np.int64)
    begin, end = column.placing.low, column.placing.high
    if begin is None or end is None:
        raise ValueError(f"nothing says between which days {codec.table}.{name} lies")
    alone = Siblings(rows, everyone, np.zeros(rows, dtype=np.int64))
    limits, _ = limits_of(room_placing(codec, name), column.scale, {}, above, alone, everyone)
    first = np.full(rows, -FURTHEST) if limits.low is None else limits.low
    last = np.full(rows, end) if limits.high is None else np.minimum(limits.high, end)
    whole = max(1, end - begin)  # public: what the rows hold must not set the powers
    left = np.where(is_open(first), whole, np.clip(last - first, 0, whole))
    edges = [whole * 2 ** (-0.5 * step) for step in range(ROOMS - 1, 0, -1)]
    return np.searchsorted(edges, left, side="right").astype(smallest_dtype(ROOMS))


def _relative(codec: TableCodec, name: str) -> RelativeCodec:
    column = codec.columns[name]
    if not isinstance(column, RelativeCodec):
        raise ValueError(f"{codec.table}.{name} depends on nothing")
    return column


def elapsed_ticks(
    codec: TableCodec, name: str, points: Mapping[str, Points], above: Above, siblings: Siblings, at: Index
) -> Ticks:
    """Where the rows ``at`` begin. Of ``points``, those of earlier rows are looked at, and of first rows their own."""
    sequence, first = _sequence(codec, name)
    side, _ = _follows(sequence)
    start = _starts(sequence, name, points, siblings, at)
    if sequence.placing.ends_above:
        # The end alone: what comes before the first row is another sequence's.
        end_of = replace(sequence.placing, after=None) if side == "after" else replace(sequence.placing, before=None)
        limits, there = limits_of(end_of, sequence.scale, points, above, siblings, at)
        end = limits.high if side == "after" else limits.low
        measured = np.abs((0 if end is None else end) - start)
        there = there if end is None else there & ~is_open(end)
    else:
        # From the anchor itself, however long before the data begins: an age.
        since = replace(first.placing, low=None) if first.placing.anchors else first.placing
        limits, there = limits_of(since, first.scale, points, above, siblings, at)
        measured, _ = replace(first, placing=since).measure(start, limits)
    # Where a row begins is not known: it counts as the start of the range.
    return np.where(there & ~is_open(start), measured, -FURTHEST)


def pace_ticks(codec: TableCodec, name: str, points: Mapping[str, Points], siblings: Siblings, at: Index) -> Ticks:
    """What is left until the calendar's end where the rows ``at`` begin, for each row that is still to come: in parts of a tick,
    for a day may have many rows."""
    sequence, _ = _sequence(codec, name)
    start = _starts(sequence, name, points, siblings, at)
    end = sequence.placing.high or 0
    left: Ticks = np.clip(end - np.where(is_open(start), end, start), 0, LONGEST)
    return left * PARTS_OF_A_TICK // (siblings.remaining[at] + 1)


def _starts(sequence: RelativeCodec, name: str, points: Mapping[str, Points], siblings: Siblings, at: Index) -> Ticks:
    """Where rows begin: the first at its own value, the others where the previous one ended."""
    side, column = _follows(sequence)
    back = points[column].take(np.maximum(at - 1, 0))
    return np.where(siblings.position[at] == 0, points[name].lower[at], back.bound(side, sequence.scale))


def free_codes(
    codec: TableCodec, name: str, points: Mapping[str, Points], siblings: Siblings, at: Index, elapsed: Ticks
) -> dict[str, CodeArray]:
    """The codes of what is known of a sequence where the rows ``at`` begin, by name of the free history; what lies beyond the
    bins is at their end. Nothing where bins are still open."""
    _, first = _sequence(codec, name)
    codes: dict[str, CodeArray] = {}
    if isinstance(first.lasting, Bins):
        codes[elapsed_name(name)] = first.lasting.assign(elapsed).astype(smallest_dtype(first.lasting.count))
    if first.pacing is not None:
        paces = first.pacing.assign(pace_ticks(codec, name, points, siblings, at))
        codes[pace_name(name)] = paces.astype(smallest_dtype(first.pacing.count))
    return codes


def leading(codec: TableCodec, name: str) -> TableCodec:
    """The codecs of the columns that say where rows begin, and nothing else."""
    sequence, _ = _sequence(codec, name)
    wanted, waiting = {name}, [name, _follows(sequence)[1]]
    while waiting:
        column = waiting.pop()
        wanted.add(column)
        anchored = codec.columns[column]
        for anchor in anchored.placing.anchors if isinstance(anchored, RelativeCodec) else ():
            if anchor.scope in (SAME_ROW, PREVIOUS_ROW) and anchor.column not in wanted:
                waiting.append(anchor.column)
    columns = {column: ordered for column, ordered in codec.ordered.items() if column in wanted}
    return TableCodec(codec.table, columns, apart=codec.apart)


def _sequence(codec: TableCodec, name: str) -> tuple[RelativeCodec, FirstCodec]:
    column = _relative(codec, name)
    if column.first is None:
        raise ValueError(f"{codec.table}.{name} is no sequence with a first value")
    return column, column.first


def _follows(sequence: RelativeCodec) -> tuple[Side, str]:
    """The column of the previous row that a row depends on, and on which side of it the row is."""
    sides: tuple[Side, ...] = ("after", "before")
    for side, anchor in zip(sides, (sequence.placing.after, sequence.placing.before), strict=True):
        if anchor is not None and anchor.scope == PREVIOUS_ROW:
            return side, anchor.column
    raise ValueError("a sequence that does not follow its previous row has no first value")


class Advance:
    """The values of a sequence while its rows are still being drawn, so that a row knows how far the sequence has come.

    Position by position: where rows begin is asked for, they are drawn, their codes are handed in, and the next ones begin there.
    With the same random numbers `decode_table` comes to the same values later. It is one ``column`` that the sequence goes along;
    ``firsts`` holds the codes of its first values, one per parent row.
    """

    def __init__(
        self, codec: TableCodec, column: str, firsts: CodeArray, siblings: Siblings, above: Above, rng: np.random.Generator
    ) -> None:
        self.codec, self.column, self.firsts = leading(codec, column), column, firsts
        self.siblings, self.above, self.rng = siblings, above, rng
        nothing = {
            name: (np.zeros(siblings.rows, dtype=np.int64), np.full(siblings.rows, NULL, dtype=np.int16))
            for name in self.codec.ordered
        }
        self.walk = Walk(self.codec, siblings, above, nothing)

    def begin(self, at: Index) -> Mapping[str, CodeArray]:
        """What is known of the sequences where the rows ``at`` begin. All rows before them have been handed in."""
        begins = at[self.siblings.position[at] == 0]
        if len(begins):
            self._begin_sequences(begins)
        ticks = elapsed_ticks(self.codec, self.column, self.walk.points, self.above, self.siblings, at)
        return free_codes(self.codec, self.column, self.walk.points, self.siblings, at, ticks)

    def gaps(self, at: Index, codes: CodeArray) -> tuple[Ticks, Ticks]:
        """The least that each of the rows ``at`` comes after the one before it, by its code, and what is left until the end
        of the calendar. Nothing of first rows, and of those without a value."""
        sequence, _ = _sequence(self.codec, self.column)
        start, end = _starts(sequence, self.column, self.walk.points, self.siblings, at), sequence.placing.high or 0
        ordinary = sequence.slots.kinds_of(codes, sequence.bins.count) == ORDINARY
        edges = np.asarray(sequence.bins.edges, dtype=np.int64)
        least = edges[np.where(ordinary, codes, 0)] + sequence.placing.strict
        return np.where(ordinary & ~is_open(start), least, 0), np.maximum(end - start, 0)

    def hand_in(self, at: Index, rows: Mapping[str, CodeArray], linked: Above | None = None) -> None:
        """The codes of the rows ``at``, now that they are drawn, and where the intervals are that they refer to."""
        for anchor, points in (linked or {}).items():
            self.above[anchor].lower[at], self.above[anchor].upper[at] = points.lower, points.upper
        for name, codec in self.codec.ordered.items():
            if isinstance(codec, RelativeCodec):
                firsts = self.firsts if name == self.column else None
                self.walk.place(name, codec, rows[name][at], firsts, at, self.rng)
            elif isinstance(codec, OrdinalCodec):
                ticks, kinds = codec.draw(rows[name][at], drawing(self.rng, name, at))
                points, there = self.walk.points[name], kinds == ORDINARY
                points.lower[at] = np.where(there, ticks, codec.bins.low)
                points.upper[at] = np.where(there, ticks, codec.bins.high)

    def _begin_sequences(self, at: Index) -> None:
        (codec, _), points = _sequence(self.codec, self.column), self.walk.points[self.column]
        # What the row itself has to stay before is not drawn yet; what a row above or the calendar sets is known.
        limits = Limits(remaining=self.siblings.remaining[at])
        if codec.placing.follows and (codec.placing.ends_above or codec.placing.high is not None):
            limits, _ = limits_of(codec.placing, codec.scale, self.walk.points, self.above, self.siblings, at)
        start = self.walk.start(codec, self.firsts, limits, at, drawing(self.rng, f"first({self.column})", at))
        points.lower[at] = points.upper[at] = start
