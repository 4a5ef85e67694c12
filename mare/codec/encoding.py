"""A whole table into codes, in two steps: values are read (ticks, distances, fractions), then given the code of their bin.

Between the two, bins may be learned: what is read follows from the schema alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from mare.domain import CodeArray, smallest_dtype
from mare.errors import InternalError

from .building import TableCodec, ValueCodec
from .by_item import ScaledCodec
from .elapsed import elapsed_ticks, free_codes
from .ordinal import CLOSING, FIRST_ROW, NULL, ORDINARY, Kinds, OrdinalCodec, Reading, beyond, unreadable
from .relative import FirstCodec, RelativeCodec
from .scales import ticks_of_a_day
from .siblings import Above, Index, Points, Siblings, limits_of, standing, standing_place
from .ticks import FURTHEST, Mask, Ticks


@dataclass(frozen=True, eq=False)
class FirstReading:
    """The first values of the sequences: one for each parent that has a row."""

    parents: Index
    measure: Ticks
    ordinary: Mask
    """False where the first row has no value, or nothing to measure it from."""


@dataclass(frozen=True, eq=False)
class ReadTable:
    """A table before it has codes: categories coded already, what has an order read."""

    codes: Mapping[str, CodeArray]
    readings: Mapping[str, Reading]
    firsts: Mapping[str, FirstReading]
    points: Mapping[str, Points]
    """Of each ordered column, for the tables below."""
    outside: Mapping[str, int] = field(default_factory=dict)
    """Values that no domain holds. True numbers: secret."""
    elapsed: Mapping[str, Ticks] = field(default_factory=dict)
    """Of each sequence's column, how far the sequence has come when a row begins."""


@dataclass(frozen=True, eq=False)
class EncodedTable:
    """Codes of the rows, and of the first values that live in the context (one per parent row)."""

    rows: Mapping[str, CodeArray]
    firsts: Mapping[str, CodeArray]
    outside: Mapping[str, int] = field(default_factory=dict)
    """Values that were clamped, made `other` or NULL. True numbers: secret."""
    free: Mapping[str, CodeArray] = field(default_factory=dict)
    """What is known of a sequence where a row begins, by name of the free history."""


def read_table(
    codec: TableCodec,
    values: Mapping[str, pa.Array],
    siblings: Siblings,
    above: Above | None = None,
    given: Mapping[str, CodeArray] | None = None,
) -> ReadTable:
    """Everything but the codes of what is binned. Columns that still wait for their values are left out.

    ``above`` holds the columns of tables above that something is anchored at, ``given`` the codes of references that tell items.
    """
    codes: dict[str, CodeArray] = dict(given or {})
    outside: dict[str, int] = {}
    nowhere: dict[str, Mask] = {}
    readings: dict[str, Reading] = {}
    ticks: dict[str, Ticks] = {}
    kinds: dict[str, Kinds] = {}
    for name, column in codec.columns.items():
        if isinstance(column, ValueCodec):
            listing = column.listing(values[name])
            codes[name], outside[name] = listing.codes, listing.outside
            if listing.nowhere is not None:
                nowhere[name] = listing.nowhere
        elif isinstance(column, ScaledCodec):
            readings[name] = column.read(values[name], column.item_of(codes))
        elif isinstance(column, OrdinalCodec):
            readings[name] = column.read(values[name])
            ticks[name], kinds[name] = readings[name].measure, readings[name].kinds
        elif isinstance(column, RelativeCodec):
            read, kinds[name] = column.values.read(values[name])
            ticks[name] = read.ticks
    for name, lost in nowhere.items():
        _spread(codes[name], lost, codec.columns[name].size, [siblings.position, *codes.values(), *ticks.values()])
    walk = _Walk(codec, siblings, above or {}, ticks, kinds)
    firsts = {}
    for name, column in codec.ordered.items():
        if isinstance(column, RelativeCodec):
            readings[name] = walk.reading(name, column, unreadable(values[name], kinds[name]))
            if column.first is not None:
                firsts[name] = walk.first(name, column.first)
    elapsed = {name: elapsed_ticks(codec, name, walk.points, walk.above, siblings, walk.everyone) for name in firsts}
    return ReadTable(codes, readings, firsts, walk.points, outside, elapsed)


_ODD = np.uint64(0x9E3779B97F4A7C15)


def _spread(codes: CodeArray, lost: Mask, size: int, row: Sequence[NDArray[np.integer]]) -> None:
    """Codes for rows that no code is for, by what else the row holds: a function of the row itself, and no value gains all."""
    mixed = np.zeros(int(lost.sum()), dtype=np.uint64)
    for column in row:
        mixed = (mixed ^ column[lost].astype(np.int64).view(np.uint64)) * _ODD
        mixed ^= mixed >> np.uint64(29)
    codes[lost] = (mixed % np.uint64(size)).astype(codes.dtype)


def code_table(codec: TableCodec, read: ReadTable, siblings: Siblings) -> EncodedTable:
    """The codes, once every bin is placed. A row's codes depend on itself, on rows above, and on earlier rows of its sequence."""
    rows: dict[str, CodeArray] = dict(read.codes)
    outside = dict(read.outside)
    for name, column in codec.columns.items():
        if isinstance(column, ValueCodec):
            continue
        reading = read.readings[name]
        outside[name] = reading.outside
        if isinstance(column, ScaledCodec):
            items = column.item_of(rows)
            rows[name] = column.code(reading, items)
            outside[name] += column.beyond(reading, items)
        elif isinstance(column, OrdinalCodec):
            rows[name] = column.code(reading)
            outside[name] += beyond(column.bins, reading)
        elif isinstance(column, RelativeCodec):
            rows[name] = column.code(reading)
        else:
            raise InternalError(f"{codec.table}.{name} is coded before its values are known")
    firsts = {name: _first_codes(first, read.firsts[name], siblings) for name, first in codec.firsts.items()}
    everyone, free = np.arange(siblings.rows, dtype=np.int64), dict[str, CodeArray]()
    for name, elapsed in read.elapsed.items():
        free |= free_codes(codec, name, read.points, siblings, everyone, elapsed)
    return EncodedTable({name: rows[name] for name in codec.columns}, firsts, outside, free)


def _first_codes(first: FirstCodec, reading: FirstReading, siblings: Siblings) -> CodeArray:
    """The first value under every parent; the last code where there is no row."""
    codes = np.full(siblings.parents, first.size - 1, dtype=smallest_dtype(first.size))
    codes[reading.parents] = first.bins.assign(reading.measure)
    return codes


class _Walk:
    """Every ordered column as something to be anchored at, and what its anchors say of each row."""

    def __init__(
        self, codec: TableCodec, siblings: Siblings, above: Above, ticks: Mapping[str, Ticks], kinds: Mapping[str, Kinds]
    ) -> None:
        self.siblings, self.above, self.ticks, self.kinds = siblings, above, ticks, kinds
        self.everyone = np.arange(siblings.rows, dtype=np.int64)
        self.is_first = siblings.position == 0
        self.points: dict[str, Points] = {}
        for name, column in codec.ordered.items():
            # Bounds that are learned may still be open here; a place that is not known is never measured from.
            ends = column.declared if isinstance(column, OrdinalCodec) else (None, None)
            self.points[name] = standing(column.scale, ticks[name].copy(), kinds[name] == ORDINARY, *ends)
        relative = {name: column for name, column in codec.ordered.items() if isinstance(column, RelativeCodec)}
        if any((kinds[name] != ORDINARY).any() for name in relative):
            self._stand(relative)

    def _stand(self, relative: Mapping[str, RelativeCodec]) -> None:
        """Give those without a value a place, position by position, as the sampler does."""
        for position, at in enumerate(self.siblings.steps):
            for name, column in relative.items():
                points = self.points[name]
                missing = at[self.kinds[name][at] != ORDINARY]
                placing = column.first.placing if column.first is not None and position == 0 else column.placing
                if len(missing) and placing.anchors:
                    points.lower[missing], points.upper[missing] = standing_place(
                        placing, column.scale, self.points, self.above, missing
                    )

    def reading(self, name: str, column: RelativeCodec, unread: int) -> Reading:
        limits, known = limits_of(
            column.placing, column.scale, self.points, self.above, self.siblings, self.everyone, column.within
        )
        measure, outside = column.placing.measure(self.ticks[name], limits)
        kinds = self.kinds[name].copy()
        if column.first is not None:
            absent = kinds == NULL if not column.nullable else np.zeros(len(kinds), dtype=np.bool_)
            kinds[self.is_first & ((kinds == ORDINARY) | absent)] = FIRST_ROW
        if column.slots.closes:
            closing = column.placing.closing(self.ticks[name], limits, ticks_of_a_day(column.scale))
            kinds[(kinds == ORDINARY) & known & ~outside & closing] = CLOSING
        ordinary = kinds == ORDINARY
        beyond = self._beyond(name, column) & ((kinds == ORDINARY) | (kinds == FIRST_ROW) | (kinds == CLOSING))
        # What follows something that is nowhere is taken to follow it at once.
        return Reading(np.where(known, measure, 0), kinds, unread + int(((ordinary & known & outside) | beyond).sum()))

    def _beyond(self, name: str, column: RelativeCodec) -> Mask:
        """Which values lie outside the range that is declared beside their anchors: the calendar, mostly."""
        ticks, there = self.ticks[name], self.kinds[name] == ORDINARY
        low, high = column.placing.low, column.placing.high
        below = ticks < low if low is not None else np.zeros(len(ticks), dtype=np.bool_)
        above = ticks > high if high is not None else np.zeros(len(ticks), dtype=np.bool_)
        beyond: Mask = there & (below | above)
        return beyond

    def first(self, name: str, first: FirstCodec) -> FirstReading:
        at = np.flatnonzero(self.is_first).astype(np.int64)
        limits, known = limits_of(first.placing, first.scale, self.points, self.above, self.siblings, at)
        measure, _ = first.measure(self.ticks[name][at], limits)
        ordinary = known & (self.kinds[name][at] == ORDINARY)
        return FirstReading(self.siblings.parent[at], np.where(ordinary, measure, -FURTHEST), ordinary)
