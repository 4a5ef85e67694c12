"""Learning domains: what the schema leaves open is found out, and paid for from the learning share.

    open codecs ─► values ─► bounds ─► bins ─► settled codecs

Three rounds, because each hangs on the one before: lists of values (a number's scale may depend on one), bounds (the ticks of a
number hang on its range), bins. What is asked, on which grid and with which share follows from the schema and from answers that
were paid for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from mare.codec import (
    Bins,
    LearnedDomain,
    LearnedOrder,
    LearnedScales,
    OpenBins,
    OpenCodec,
    ReadTable,
    ScaledCodec,
    TableCodec,
    table_codec,
)
from mare.errors import InternalError
from mare.planning.sensitivity import RowBound
from mare.privacy.curator import Gate
from mare.release.labels import reference_labels
from mare.release.public import PublicTables
from mare.release.relations import Relations, TableRelations
from mare.schema import Schema
from mare.stage import Staged
from mare.stage.measured import MeasuredColumn

from .bin_placing import Calendar, calendar_of, cuts_of, equal_bins, fine_grid, placed_bins
from .close_looks import counted_closely
from .learned_bounds import first_grid, learned_order
from .learned_scales import learn_item_bins, learn_item_bounds
from .learned_values import learn_values

BOUNDS, BINS, ELAPSED, VALUES, ITEM_BOUNDS, ITEM_BINS = 0.3, 1.0, 0.3, 4.0, 1.0, 2.0
"""What each answer weighs when the learning share is split. Bounds are read off few cells, bins off many; how far a sequence has
come is looked at, never drawn, so that its bins may be rough. A value is listed where it stands several deviations clear of the
noise, and is lost altogether where it does not."""


@dataclass
class Learning:
    """One fit's learning phase. ``coded`` holds the codecs as they become known."""

    schema: Schema
    columns: Mapping[str, tuple[str, ...]]
    """Per table, parents before children, its modelled columns."""
    gate: Gate
    staged: Staged
    bounds: Mapping[str, RowBound]
    entities: float
    """n̂: noisy."""
    share: float
    """Of the whole budget, for all of it."""
    public: PublicTables = field(default_factory=dict)
    related: Relations = field(default_factory=dict)
    """How references are coded: the scale of a number may depend on one."""
    learned: dict[str, LearnedDomain] = field(default_factory=dict)

    def codec(self, table: str) -> TableCodec:
        """The codecs of a table, as far as they are known."""
        labels = reference_labels(self.related.get(table, TableRelations()))
        return table_codec(self.schema, table, self.columns[table], self.learned, labels)

    def run(self) -> dict[str, TableCodec]:
        """Learn everything that is open. The codecs that come out are settled."""
        units = weight_of([self.codec(table) for table in self.columns])
        if units:
            one = self.share / units
            self._values(one * VALUES)
            self._orders(one)
        settled = {table: self.codec(table) for table in self.columns}
        if any(codec.open for codec in settled.values()):
            raise InternalError("a domain is still open after learning")
        return settled

    def _values(self, share: float) -> None:
        wanted = [(table, name, one) for table in self.columns for name, one in _open_values(self.codec(table))]
        lists = sum(1 for *_, one in wanted if not one.listed and one.vocabulary is None)
        for table, name, one in wanted:
            self.learned[f"{table}.{name}"] = learn_values(
                self.gate, self.staged, self.schema, table, name, one, self.bounds[table].rows, share, lists, self.public
            )

    def _orders(self, share: float) -> None:
        """Bounds first; then everything is read again, in the ticks that it has from now on, and bins are placed."""
        if any(_unbounded(self.codec(table)) for table in self.columns):
            for table, read in self._read():
                self._bounds(table, read, share)
        for table, read in self._read():
            self._bins(table, read, share)

    def _read(self) -> Iterator[tuple[str, ReadTable]]:
        for table in self.columns:
            yield table, self.staged.read(table, self.codec(table), self.related.get(table))

    def _bounds(self, table: str, read: ReadTable, share: float) -> None:
        codec = self.codec(table)
        for name, one in codec.ordered.items():
            if isinstance(one.placed, OpenBins) and None in (one.placed.low, one.placed.high):
                column = self._measured(table, name, read)
                learner = self.gate.learner(column, share * BOUNDS)
                self.learned[f"{table}.{name}"] = learned_order(learner.bounds(first_grid(one, one.placed)), one.placed)
        for name, scaled in _scaled(codec):
            if any(isinstance(item.placed, OpenBins) and item.placed.low is None for item in scaled.items):
                column = self._measured(table, name, read)
                found = learn_item_bounds(self.gate, column, scaled, share * ITEM_BOUNDS)
                self.learned[f"{table}.{name}"] = LearnedScales(found)

    def _bins(self, table: str, read: ReadTable, share: float) -> None:
        codec = self.codec(table)
        for name, one in codec.ordered.items():
            if isinstance(one.placed, OpenBins):
                measured = partial(self._measured, table, name, read)
                self._place(f"{table}.{name}", one.placed, measured, share * BINS, calendar_of(one))
        for name, first in codec.firsts.items():
            if isinstance(first.placed, OpenBins):
                begun = partial(self._first, table, name, read)
                self._place(f"{table}.first({name})", first.placed, begun, share * BINS, calendar_of(first))
            if isinstance(first.lasting, OpenBins):
                elapsed = partial(self._elapsed, table, name, read)
                self._place(f"{table}.elapsed({name})", first.lasting, elapsed, share * ELAPSED, drawn=False)
        for name, scaled in _scaled(codec):
            if any(isinstance(item.placed, OpenBins) for item in scaled.items):
                known = self.learned.get(f"{table}.{name}")
                before = known.items if isinstance(known, LearnedScales) else tuple(LearnedOrder() for _ in scaled.items)
                column = self._measured(table, name, read)
                found = learn_item_bins(self.gate, column, scaled, before, share * ITEM_BINS, self.entities)
                self.learned[f"{table}.{name}"] = LearnedScales(found)

    def _place(
        self,
        name: str,
        placed: OpenBins,
        column: Callable[[], MeasuredColumn],
        share: float,
        calendar: Calendar | None = None,
        *,
        drawn: bool = True,
    ) -> None:
        known = self.learned.get(name)
        before = known if isinstance(known, LearnedOrder) else LearnedOrder()
        if placed.wanted is not None:
            self.learned[name] = LearnedOrder(before.low, before.high, equal_bins(placed))
            return
        grid = fine_grid(placed, self.entities, calendar)
        measured = column()
        offset = MeasuredColumn(
            measured.name, measured.max_rows_per_entity, measured.entities, measured.owner, measured.ticks - (placed.low or 0)
        )
        learner = self.gate.learner(offset, share)
        histogram = counted_closely(learner, grid, cuts_of(placed, calendar)) if drawn else learner.histogram(grid)
        bins = placed_bins(placed, histogram, self.entities)
        self.learned[name] = LearnedOrder(before.low, before.high, bins if drawn else Bins(bins.edges))

    def _measured(self, table: str, name: str, read: ReadTable) -> MeasuredColumn:
        """The rows that have a number, of those that are counted at all."""
        reading, staged = read.readings[name], self.staged.tables[table]
        counted = reading.ordinary if staged.unknown is None else reading.ordinary & ~staged.unknown
        at = np.flatnonzero(counted)
        codec = self.codec(table).columns[name]
        items = codec.item_of(read.codes)[at] if isinstance(codec, ScaledCodec) else None
        rows = self.bounds[table].rows
        return MeasuredColumn(f"{table}.{name}", rows, self.staged.entities, staged.entity[at], reading.measure[at], items)

    def _elapsed(self, table: str, name: str, read: ReadTable) -> MeasuredColumn:
        """How far sequences have come when their rows begin: one number for each row."""
        at, owner = self.staged.known(table), self.staged.tables[table].entity
        rows = self.bounds[table].rows
        return MeasuredColumn(f"{table}.elapsed({name})", rows, self.staged.entities, owner[at], read.elapsed[name][at])

    def _first(self, table: str, name: str, read: ReadTable) -> MeasuredColumn:
        """The first values of the sequences: one for each parent row that has any."""
        first, parent = read.firsts[name], self.staged.tables[table].needs.parent
        if parent is None:
            raise InternalError(f"table {table!r} has sequences but no parent")
        above = self.staged.tables[parent]
        at = first.ordinary if above.unknown is None else first.ordinary & ~above.unknown[first.parents]
        owner = above.entity[first.parents[at]]
        rows = self.bounds[parent].rows if parent in self.bounds else 1
        return MeasuredColumn(f"{table}.first({name})", rows, self.staged.entities, owner, first.measure[at])


def weight_of(codecs: Iterable[TableCodec]) -> float:
    """What all that is open weighs, before anything of it is known: the learning share is split by it."""
    units = 0.0
    for codec in codecs:
        for one in codec.columns.values():
            if isinstance(one, OpenCodec):
                units += ITEM_BOUNDS + ITEM_BINS if one.waits_for else VALUES
        for _, scaled in _scaled(codec):
            placed = [item.placed for item in scaled.items if isinstance(item.placed, OpenBins)]
            units += ITEM_BOUNDS * any(p.low is None for p in placed) + ITEM_BINS * bool(placed)
        orders = [one.placed for one in (*codec.ordered.values(), *codec.firsts.values())]
        units += sum(_units(placed) for placed in orders if isinstance(placed, OpenBins))
        units += ELAPSED * sum(isinstance(first.lasting, OpenBins) for first in codec.firsts.values())
    return units


def _units(placed: OpenBins) -> float:
    return BOUNDS * (None in (placed.low, placed.high)) + BINS * (placed.wanted is None)


def _open_values(codec: TableCodec) -> Iterator[tuple[str, OpenCodec]]:
    for name, one in codec.columns.items():
        if isinstance(one, OpenCodec) and not one.waits_for:
            yield name, one


def _scaled(codec: TableCodec) -> list[tuple[str, ScaledCodec]]:
    return [(name, one) for name, one in codec.columns.items() if isinstance(one, ScaledCodec)]


def _unbounded(codec: TableCodec) -> bool:
    placed = [one.placed for one in codec.ordered.values()]
    placed += [item.placed for _, scaled in _scaled(codec) for item in scaled.items]
    return any(isinstance(p, OpenBins) and None in (p.low, p.high) for p in placed)
