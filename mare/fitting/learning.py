"""Learning domains: what the schema leaves open is found out, and paid for from the learning share.

    open codecs ─► values ─► bounds ─► bins ─► settled codecs

Three rounds, because each depends on the one before: lists of values (a number's scale may depend on one), bounds (the ticks of a
number depend on its range), bins. What is asked, on which grid and with which share follows from the schema and from answers that
were paid for.

Where the scale of a number depends on another column, every item has its own (`item_scales`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import takewhile

from mare.codec import (
    Bins,
    LearnedDomain,
    LearnedOrder,
    LearnedScales,
    LearnedValues,
    OpenBins,
    OpenCodec,
    OrdinalCodec,
    ScaledCodec,
    TableCodec,
    table_codec,
)
from mare.codec.category import Names
from mare.codec.scales import DecimalScale, TimeScale
from mare.errors import InternalError
from mare.planning import Warned
from mare.planning.domains import RowBound
from mare.planning.learning import BINS, BOUNDS, ELAPSED, ITEM_BINS, ITEM_BOUNDS, VALUES
from mare.privacy.learner import Learner
from mare.relational.relations import Relations, TableRelations, reference_labels
from mare.schema import Schema
from mare.schema.columns import Category, Ordinal
from mare.schema.layout import Layout, going_with, shared_columns
from mare.stage_door import Measure, StageDoor

from . import differences, last_digits, rhythms
from .bin_placing import (
    Calendar,
    calendar_of,
    coarse_grid,
    cuts_of,
    each_value,
    equal_bins,
    few_values,
    in_steps,
    learned_order,
    open_cuts,
    open_grid,
    placed_bins,
    seen_values,
    spacing_of,
    unit_of,
    vague_ends,
)
from .coarse_to_fine import Ask, looked_at
from .code_lists import CodeList
from .item_scales import ItemColumn, Looks, earlier_looks, learn_item_bins, learn_item_bounds
from .range_doubts import doubt_of_items, doubts_of_ends, doubts_of_range
from .tapering import tapered
from .usual_days import usual_days
from .vocabularies import MOST_LISTED, Room, doubt_of_list, learn_codes, learn_values
from .weighing import weighed

CODES_ALONE = 0.5
"""What a list of codes weighs where names go with them: what is left of 1 goes to the pairs."""
_Place = tuple[str, str]
"""A table and a column of it."""
MOST_CELLS = 512
"""Of a column's fine histogram: it travels with the release."""


@dataclass
class Learning:
    """One fit's learning phase. ``learned`` holds the domains as they become known."""

    schema: Schema
    columns: Mapping[str, tuple[str, ...]]
    """Per table, parents before children, its modelled columns."""
    door: StageDoor
    bounds: Mapping[str, RowBound]
    share: float
    """Of the whole budget, for all of it."""
    codes: Mapping[str, CodeList] = field(default_factory=dict)
    """By `table.column`, the public lists that codes are looked for in."""
    related: Relations = field(default_factory=dict)
    """How references are coded: the scale of a number may depend on one."""
    rows_each: Mapping[str, int] = field(default_factory=dict)
    """By table, how many rows an entity has on average: noisy."""
    entities: int = 1
    """Noisily."""
    other_lists: int = 0
    """Lists beside those of columns that share the δ for learning."""
    learned: dict[str, LearnedDomain] = field(default_factory=dict)
    looks: dict[str, Looks] = field(default_factory=dict)
    """What was asked to find bounds: it counts for bins too."""
    guessed: set[str] = field(default_factory=set)
    """Numbers whose range is a guess, as a doubt tells."""
    doubts: list[Warned] = field(default_factory=list)
    """What did not become known, by noisy answers: it is told with the release."""

    def codec(self, table: str) -> TableCodec:
        """The codecs of a table, as far as they are known."""
        labels = reference_labels(self.related.get(table, TableRelations()))
        return table_codec(self.schema, table, self.columns[table], self.learned, labels)

    def run(self) -> dict[str, TableCodec]:
        """Learn everything that is open. The codecs that come out are settled."""
        units = weight_of([self.codec(table) for table in self.columns])
        if units:
            unit_share = self.share / units
            self._values(unit_share * VALUES)
            self._orders(unit_share)
        settled = {table: self.codec(table) for table in self.columns}
        if any(codec.open for codec in settled.values()):
            raise InternalError("a domain is still open after learning")
        return settled

    def _values(self, share: float) -> None:
        wanted = {(table, name): codec for table in self.columns for name, codec in _open_values(self.codec(table))}
        lists = self.other_lists + count_lists(self.codec(table) for table in self.columns)
        tables = self.schema.tables
        going = {
            (table, name): (table, of)
            for table, held in self.columns.items()
            if table in tables  # an entity by column has none
            for name, of in going_with(tables[table], held).items()
        }
        parts = shares_of_pairs(going, [place for place in wanted if ".".join(place) not in self.codes])
        for (table, name), codec in wanted.items():
            at, rows, part = f"{table}.{name}", self.bounds[table].rows, share * parts.get((table, name), 1.0)
            if at in self.codes:
                values, doubts = learn_codes(self.door, table, name, self.codes[at], codec.most, rows, part)
            else:
                each = self.rows_each.get(self._told_by(table, name), 1)
                room = self._room(table, name)
                values = learn_values(self.door, table, name, codec.most, rows, each, part, lists, room)
                doubts = doubt_of_list(at, values, codec.most if room is None else MOST_LISTED)
            self.learned[at] = values
            self.doubts += doubts
        for (table, name), (_, of) in going.items():
            codes, pairs, at = self.learned.get(f"{table}.{of}"), self.learned[f"{table}.{name}"], f"{table}.{of}"
            if isinstance(codes, LearnedValues) and isinstance(pairs, LearnedValues) and (table, of) in parts:
                most = wanted[table, of].most if self._room(table, of) is None else None
                self.learned[at] = Names(of, pairs).with_names(codes, most)
                self.doubts = [doubt for doubt in self.doubts if doubt.where != at or not pairs.values]

    def _room(self, table: str, name: str) -> Room | None:
        """Of a category whose values nobody has limited, and whose rest is drawn again. What tells rows apart, and what the scale
        of a number depends on, has to be listed."""
        described, declared = self.schema.tables[table], self.schema.tables[table].columns[name]
        needed = {column for columns in (described.key or (), *described.unique) for column in columns}
        needed |= {item for column in described.columns.values() for item in getattr(column, "by", None) or ()}
        if not isinstance(declared, Category) or not declared.is_unlimited or name in needed:
            return None
        link = self.schema.parent(table)
        follows = link is not None and link.type == "sequential"
        return Room(self.entities, follows) if declared.redraws and declared.outside is None else None

    def _orders(self, share: float) -> None:
        """Bounds first; then everything is read again, in the ticks that it has from now on, and bins are placed."""
        if any(_unbounded(self.codec(table)) for table in self.columns):
            for table in self.columns:
                self.door.read(table, self.codec(table), self.related.get(table))
                self._bounds(table, share)
        for table in self.columns:
            self.door.read(table, self.codec(table), self.related.get(table))
            self._bins(table, share)

    def _bounds(self, table: str, share: float) -> None:
        codec = self.codec(table)
        for name, ordered in codec.ordered.items():
            placed = ordered.placed
            if isinstance(placed, OpenBins) and None in (placed.low, placed.high):
                learner = self.door.numbers(table, name, "values", codec, self._most_rows(table, name), share * BOUNDS)
                calendar, unit = calendar_of(ordered), unit_of(ordered)
                (look,) = looked_at(asking(learner), [open_grid(calendar, placed, unit)], [open_cuts(calendar)], MOST_CELLS)
                self.learned[f"{table}.{name}"] = learned_order(
                    look, calendar, placed, unit, usual_days(self.schema, table, name)
                )
                self.looks[f"{table}.{name}"] = ordered.scale.unit, [look.looks]
                doubts = doubts_of_range(f"{table}.{name}", look.clear, vague_ends(look, calendar, placed, unit))
                self.guessed |= {doubt.where for doubt in doubts}
                self.doubts += doubts
        for name, scaled in _scaled(codec):
            if any(isinstance(item.placed, OpenBins) and item.placed.low is None for item in scaled.items):
                bounds = learn_item_bounds(self._items(table, name, codec, scaled), share * ITEM_BOUNDS)
                self.learned[f"{table}.{name}"] = LearnedScales(bounds.orders)
                self.looks[f"{table}.{name}"] = scaled.items[0].scale.unit, bounds.looks
                self.doubts += [doubt_of_items(f"{table}.{name}", bounds.unclear, len(scaled.items))] if bounds.unclear else []

    def _bins(self, table: str, share: float) -> None:
        codec = self.codec(table)
        for name, ordered in codec.ordered.items():
            placed, known = ordered.placed, self.learned.get(f"{table}.{name}")
            if isinstance(placed, Bins) and isinstance(known, LearnedOrder) and self._bins_are_open(table, name):
                placed = OpenBins(placed.low, placed.high, "linear", placed.count)
            if isinstance(placed, OpenBins):
                self._place(table, name, "values", placed, share * BINS, calendar_of(ordered))
        for name, first in codec.firsts.items():
            if isinstance(first.placed, OpenBins):
                self._place(table, name, "first", first.placed, share * BINS, calendar_of(first))
            if isinstance(first.lasting, OpenBins):
                self._place(table, name, "elapsed", first.lasting, share * ELAPSED)
        for name, scaled in _scaled(codec):
            if any(isinstance(item.placed, OpenBins) for item in scaled.items):
                known = self.learned.get(f"{table}.{name}")
                before = known.items if isinstance(known, LearnedScales) else tuple(LearnedOrder() for _ in scaled.items)
                column, looks = self._items(table, name, codec, scaled), self.looks.get(f"{table}.{name}")
                item_bins = learn_item_bins(column, before, share * ITEM_BINS, looks)
                self.learned[f"{table}.{name}"] = LearnedScales(item_bins)
        for name in codec.ordered:
            self._near(table, name, share * BINS * differences.SHARE)

    def _nearby(self, table: str, column: str) -> list[str | None]:
        """What it is looked at how near a number is to: its own in the row before (None), and numbers before it in the row."""
        codec, described, link = self.codec(table), self.schema.tables[table], self.schema.parent(table)
        order = () if link is None else link.order_by or ()
        tells_apart = {name for names in (order, described.key or (), *described.unique) for name in names}

        def stands_in_a_bin(name: str) -> bool:
            own = codec.columns[name]
            number = isinstance(own, OrdinalCodec) and not isinstance(own.scale, TimeScale)
            return number and name not in tells_apart and self._bins_are_open(table, name) and self._told_by(table, name) == table

        if not stands_in_a_bin(column):
            return []
        before, unit = takewhile(lambda name: name != column, codec.ordered), codec.ordered[column].scale.unit
        beside = [name for name in before if stands_in_a_bin(name) and codec.ordered[name].scale.unit == unit]
        return [*([None] if Layout(self.schema).is_sequence(table) else []), *beside]

    def _near(self, table: str, column: str, share: float) -> None:
        codec, known = self.codec(table), self.learned.get(f"{table}.{column}")
        nearby = self._nearby(table, column)
        if not nearby or not isinstance(known, LearnedOrder) or known.bins is None or not known.bins.cells:
            return
        others = {name: codec.ordered[name].bins for name in nearby if name is not None and codec.ordered[name].bins.cells}
        rows = self._most_rows(table, column)

        def ask(beside: str | None, center: int, part: float) -> Learner:
            return self.door.differences(table, column, beside, codec, rows, share * part, center)

        near = differences.learned_nearness(ask, known.bins, others, follows=None in nearby)
        self.learned[f"{table}.{column}"] = replace(known, near=near)

    def _place(
        self, table: str, column: str, measure: Measure, placed: OpenBins, share: float, calendar: Calendar | None = None
    ) -> None:
        name = f"{table}.{column}" if measure == "values" else f"{table}.{measure}({column})"
        order = self.learned.get(name)
        before = order if isinstance(order, LearnedOrder) else LearnedOrder()
        if placed.wanted is not None:
            self.learned[name] = replace(before, bins=equal_bins(placed))
            return
        # How far a sequence has come is looked at, never drawn.
        drawn = measure != "elapsed"
        rows, ends = self._most_rows(table, column, measure), measure == "values" and self._has_digits(table, column, placed)
        scale = self.codec(table).ordered[column].scale
        step = self._step(table, column, placed, share * last_digits.ROUNDNESS) if ends else 1
        placed = in_steps(placed, step)
        if name in self.guessed and calendar is None and (placed.low or 0) >= 0:
            # Drawn from evenly, nine tenths of what may lie anywhere up to a thousand would lie above a hundred.
            placed = replace(placed, scale="log")
        told = rhythms.share_of(scale) if measure == "values" else 0.0
        told += last_digits.SHARE + last_digits.ROUNDNESS if ends else 0.0
        told += differences.SHARE if measure == "values" and self._nearby(table, column) else 0.0
        looks = share * (1 - told)
        learner = self.door.numbers(table, column, measure, self.codec(table), rows, looks, placed.low or 0, step)
        known = earlier_looks(self.looks.get(name), [placed], [scale.unit * step])
        if few_values(placed):
            (look,) = asking(learner)([each_value(placed)], 1.0)
            bins = seen_values(placed, weighed([*(known[0] if known else []), look]))
        else:
            grids, cuts = [coarse_grid(placed, calendar)], [cuts_of(placed, calendar)]
            (seen,) = looked_at(asking(learner), grids, cuts, MOST_CELLS, known)
            bins = placed_bins(placed, tapered(seen, spacing_of(placed)))
        if ends and self._has_digits(table, column, placed):
            learner = self.door.numbers(table, column, "digits", self.codec(table), rows, share * last_digits.SHARE, 0, step)
            (counted,) = last_digits.endings(asking(learner), [last_digits.FIRST])
            bins = last_digits.with_endings(bins, counted)
        bins = bins.in_ticks(step)
        self.doubts += doubts_of_ends(f"{table}.{column}", self.codec(table).ordered[column], bins) if measure == "values" else ()
        rhythm = rhythms.learned_rhythm(self._asks(table, column, share), scale) if measure == "values" else None
        self.learned[name] = replace(before, bins=bins if drawn else Bins(bins.edges), rhythm=rhythm)

    def _step(self, table: str, column: str, placed: OpenBins, share: float) -> int:
        """The step in which a number is counted, in ticks."""
        learner = self.door.numbers(table, column, "roundness", self.codec(table), self._most_rows(table, column), share)
        ticks = max(abs(placed.low or 0), abs(placed.high or 0))
        step = last_digits.step_of(learner.histogram(last_digits.round_grid(ticks)))
        scale = self.codec(table).ordered[column].scale
        if step is None and isinstance(scale, DecimalScale) and not scale.fixed:
            step = last_digits.step_unseen(ticks, scale.decimals)
        return step or 1

    def _asks(self, table: str, column: str, share: float) -> Callable[[rhythms.Clock], Ask]:
        rows = self._most_rows(table, column)
        return lambda clock: asking(
            self.door.numbers(table, column, clock, self.codec(table), rows, share * rhythms.SHARE[clock])
        )

    def _bins_are_open(self, table: str, column: str) -> bool:
        declared = self.schema.tables[table].columns[column]
        return isinstance(declared, Ordinal) and declared.bins is None

    def _has_digits(self, table: str, column: str, placed: OpenBins) -> bool:
        """Whether it is a number that stands for itself, of a wide range."""
        codec = self.codec(table).columns[column]
        wide = (placed.high or 0) - (placed.low or 0) >= last_digits.FEWEST_TICKS
        return wide and isinstance(codec, OrdinalCodec) and not isinstance(codec.scale, TimeScale)

    def _most_rows(self, table: str, column: str, measure: Measure = "values") -> int:
        """S: sequences begin once for each row above, and what is the same in many rows stands once for the row above that it is
        the same for; all else is measured of each row."""
        told_by = self._told_by(table, column) if measure != "first" else self.schema.parent_name(table)
        # An entity by column has no table, and stands once for itself.
        return 1 if told_by is None or told_by not in self.schema.tables else self.bounds[told_by].rows

    def _told_by(self, table: str, column: str) -> str:
        """The table that has one value of a column for each of its rows: its own, or one above."""
        return next((s.above for s in shared_columns(self.schema, table) if s.column == column), table)

    def _items(self, table: str, name: str, codec: TableCodec, scaled: ScaledCodec) -> ItemColumn:
        return ItemColumn(self.door, table, name, codec, scaled, self.bounds[table].rows)


def shares_of_pairs(going: Mapping[_Place, _Place], lists: Collection[_Place]) -> dict[_Place, float]:
    """What lists weigh of which one is that of the names of another: these mostly tell the list of codes, too."""
    parts: dict[_Place, float] = {}
    for code in dict.fromkeys(going.values()):
        names = [place for place, of in going.items() if of == code]
        if code in lists:
            parts |= {code: CODES_ALONE, **dict.fromkeys(names, 1 + (1 - CODES_ALONE) / len(names))}
    return parts


def asking(learner: Learner) -> Ask:
    """For `looked_at`: a column by itself."""
    return lambda grids, part: [learner.histogram(grids[0], min(part, learner.remaining))]


def weight_of(codecs: Iterable[TableCodec]) -> float:
    """What all that is open weighs, before anything of it is known: the learning share is split by it."""
    units = 0.0
    for codec in codecs:
        for column in codec.columns.values():
            if isinstance(column, OpenCodec):
                units += ITEM_BOUNDS + ITEM_BINS if column.waits_for else VALUES
        for _, scaled in _scaled(codec):
            placed = [item.placed for item in scaled.items if isinstance(item.placed, OpenBins)]
            units += ITEM_BOUNDS * any(p.low is None for p in placed) + ITEM_BINS * bool(placed)
        orders = [column.placed for column in (*codec.ordered.values(), *codec.firsts.values())]
        units += sum(_units(placed) for placed in orders if isinstance(placed, OpenBins))
        units += ELAPSED * sum(isinstance(first.lasting, OpenBins) for first in codec.firsts.values())
    return units


def _units(placed: OpenBins) -> float:
    return BOUNDS * (None in (placed.low, placed.high)) + BINS * (placed.wanted is None)


def count_lists(codecs: Iterable[TableCodec]) -> int:
    """How many lists of values are to be learned that nobody has written down: they share the δ."""
    open_lists = [codec for table in codecs for _, codec in _open_values(table)]
    return sum(1 for codec in open_lists if not codec.among_public)


def _open_values(codec: TableCodec) -> Iterator[tuple[str, OpenCodec]]:
    for name, column in codec.columns.items():
        if isinstance(column, OpenCodec) and not column.waits_for:
            yield name, column


def _scaled(codec: TableCodec) -> list[tuple[str, ScaledCodec]]:
    return [(name, column) for name, column in codec.columns.items() if isinstance(column, ScaledCodec)]


def _unbounded(codec: TableCodec) -> bool:
    placed = [column.placed for column in codec.ordered.values()]
    placed += [item.placed for _, scaled in _scaled(codec) for item in scaled.items]
    return any(isinstance(p, OpenBins) and None in (p.low, p.high) for p in placed)
