"""How far each synthetic column is expected to be from the real one, told from the release alone.

An error is a total-variation distance: the part of the rows that would have to get another value. It has parts that are
unrelated, so that their squares add up: noise in how often each code occurs, noise in where values lie within a bin, what a
learned list does not hold, chance in drawing. What a release cannot tell of itself (entities with many rows count less where
they were scaled down, and errors of sequences add up) has an allowance, measured on the worlds of `tests/benchmarks`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from math import hypot, inf, pi, sqrt

import numpy as np

from mare.codec import LearnedDomain, LearnedOrder, LearnedScales, LearnedValues
from mare.codec.bins import Bins
from mare.codec.building_ordinal import ordinal_codec
from mare.codec.ordinal import OrdinalCodec
from mare.codec.relative import FirstCodec, RelativeCodec
from mare.codec.scales import TimeScale, scale_of, ticks_of_a_day
from mare.graph.groups import Role
from mare.models.clarity import Margin
from mare.privacy.ledger import LEARNING, MODELS, SIZES, Charge
from mare.privacy.noise import standard_deviation
from mare.relational.filling import VIA, FromAbove, Linked, Modelled, Numbered, WorkedOut, fillings
from mare.release import Release, SettledGroup
from mare.schema.columns import Ordinal
from mare.schema.determined import PARENT_ROW, PREVIOUS_ROW, SAME_ROW, Anchor

MEAN_NOISE = sqrt(2 / pi)
"""E|x| of noise, in deviations."""
CLEAR = 3.0
"""Deviations at which a cell stands clear of the noise."""
DROWNED = 0.5
"""A table the noise of which, as the root of the sum of squares, is this part of its rows."""
BINS = 20
"""Of the yardstick: errors are meant in as many quantiles of the real column, as the benchmarks measure them."""
BELOW, SCALED = 0.03, 0.03
"""Allowance for rows of tables below the entity: what drawing lists of rows may cost, and, as far as entities with many rows were
scaled down, that they count less."""
ALONG, ENDED, STEP, SURE = 0.16, 0.11, 0.055, 0.9
"""Allowance for times that follow the previous row: their errors add up along a sequence. It alone is too much to call them
coarse, because on half of the worlds they are not. It is not where the schema says by when all rows have come: then they are
coarse, if nothing else is wrong. Where sequences have less than one row after their first on average, or end near where they
begin, or this part of these rows comes one certain distance later, little adds up: it is less then, but too much for them to be
trusted."""
FAR = 1 / 3
"""Sequences that lead further than this, in standard deviations of where they begin, do not end near there."""
HEAVY, EVENLY, NARROW = 1.5 / BINS, 0.35, 3.0
"""Where more rows than this are in one cell, of more than one value, nothing is known of their place in it: they are drawn
evenly, and so many of them may be wrong."""

ON_END = 0.05
"""The part of the rows from which on a declared end that they lie on is taken for what lies beyond it."""

NOT_LISTED, MOVED, BEYOND, WITHIN, OFTEN, DRAWN, ROWS, IN_ALL, ORDER, OTHERS = (
    "values that the learned list does not hold",
    "values on the very end of the declared range, which may lie beyond it",
    "values beyond the range that was learned",
    "where values lie within their bins",
    "how often each value occurs",
    "chance in drawing so few rows",
    "an allowance for lists of rows",
    "how many rows there are in all",
    "an allowance for long sequences",
    "columns that it follows",
)


HELP = {
    NOT_LISTED: "list the values (`values: […]`) or name a public `vocabulary`, if they may be known; or spend more",
    MOVED: "declare a wider range (`min`, `max`)",
    BEYOND: "declare the range (`min`, `max` or `within`), if it may be known; or spend more",
    WITHIN: "spend more, or fit more people; if the values are few and may be known, list them (`values: […]`)",
    OFTEN: "spend more, or fit more people",
    DRAWN: "spend more, or fit more people",
    IN_ALL: "spend more, or fit more people",
    ORDER: "say by when all rows have come (`max`), if it may be known; the distance from the row before is good without",
}
"""What helps against each part. None against allowances for lists; what follows others is as good as these are."""


@dataclass(frozen=True)
class Expected:
    """The expected error of a column, and what it is made of."""

    parts: tuple[tuple[str, float], ...]
    """In words, largest first."""
    cells: int = 0
    """Codes of its own table; 0 where it has none."""
    clear: int = 0
    """Of these, how many stand clear of the noise."""

    @property
    def error(self) -> float:
        return min(1.0, sqrt(sum(part**2 for _, part in self.parts)))

    @property
    def distance(self) -> float | None:
        """Of a value that follows others, the error of its distance from them."""
        alone = [part for what, part in self.parts if what not in (ORDER, OTHERS)]
        return min(1.0, sqrt(sum(part**2 for part in alone))) if 0 < len(alone) < len(self.parts) else None

    @property
    def mainly(self) -> str:
        return self.parts[0][0] if self.parts and self.parts[0][1] > 0 else ""

    @property
    def help(self) -> str:
        """Against most of it, if anything helps: where a sequence has an end, nothing does."""
        return "" if self.mainly == ORDER and self.parts[0][1] <= ENDED else HELP.get(self.mainly, "")


def noise_error(margin: Margin) -> float:
    """Expected error of a one-way table. A cell is off by its noise, but hardly by more than what it holds: the rest of the noise
    is taken off when negative cells go. With it may go what is truly there, in all cells that do not stand clear as much as their
    sum is off. Where the noise of all cells drowns the rows, what is left says nothing."""
    cells, noise = len(margin.fractions), MEAN_NOISE * margin.deviation
    if margin.deviation * sqrt(cells) > DROWNED:
        return min(1.0, cells * noise / 2)
    held = float(np.minimum(noise, margin.fractions).sum()) / 2
    return min(1.0, hypot(held, noise * sqrt(cells - _clear_cells(margin))))


class ExpectedErrors:
    """Of all columns of a release; each is worked out once."""

    def __init__(self, release: Release) -> None:
        self._release, self._schema = release, release.schema
        self._known: dict[tuple[str, str], Expected | None] = {}

    def of(self, table: str, column: str) -> Expected | None:
        """None where there is nothing to be wrong: what is made up, constant or public."""
        place = (table, column)
        if place not in self._known:
            self._known[place] = None  # what leads back to itself, along a sequence, adds nothing more
            self._known[place] = self._worked_out(table, column)
        return self._known[place]

    def children(self, table: str) -> Expected | None:
        """Of how many rows of this table a row of its parent has."""
        counts = [margin for role, margin in self._margins.get((table, ""), []) if role == "count"]
        if not counts:
            return None
        parts = [(OFTEN, noise_error(counts[0])), (DRAWN, _chance(counts[0])), (ROWS, BELOW), (IN_ALL, self._in_all(table))]
        return _from_parts(parts, counts[0])

    def unrolled(self, table: str) -> float:
        """How many rows a table has of which each key is a column of the list above, noisily; 0 where it is none."""
        lists = sum(s.rows for s in self._release.plan.groups if s.group.table == table and s.group.part == "context")
        kinds = [margin for (of, _), held in self._margins.items() if of == table for role, margin in held if role == "exists"]
        return float(lists * sum(margin.fractions[1:].sum() for margin in kinds))

    def _in_all(self, table: str) -> float:
        """How far the rows in all may be off, here and above: numbers of children are made to agree with them."""
        views = {f"{name}.sizes" for name in (table, self._schema.parent_name(table)) if name != self._schema.entity_name}
        charges = [c for c in self._release.ledger.charges if c.phase == SIZES and c.view in views]
        return MEAN_NOISE * sqrt(sum(_deviation(c) ** 2 for c in charges)) / max(1, self._release.plan.entities)

    def _worked_out(self, table: str, column: str) -> Expected | None:
        described = self._schema.tables[table]
        filling = fillings(self._schema, table).get(column) if not described.public and not described.ignore else None
        match filling:
            case Modelled():
                return self._modelled(table, column, column)
            case Linked(way="via" | "public" | "position" | "interval"):
                return self._modelled(table, column, column if filling.reference == VIA else filling.reference)
            case FromAbove(above, there):
                upper = self.of(above, there)
                return None if upper is None else _from_parts([*upper.parts, (ROWS, BELOW)])
            case Numbered():
                return self.children(table)
            case WorkedOut():
                return self._from_others(table, column)
            case _:
                return None

    def _from_others(self, table: str, column: str) -> Expected | None:
        """What is worked out of several columns is wrong where any of them is, and where they do not go together."""
        described = self._schema.tables[table].columns
        how = described[column].determined
        errors = [other.error for other in self._followed(table, column) if other is not None]
        if how is not None and how.looks_back(described):
            errors.append(self._along(table, column))
        return _from_parts([(OTHERS, min(1.0, sum(errors)))]) if errors else None

    def _modelled(self, table: str, column: str, name: str) -> Expected | None:
        measured = self._margins.get((table, name), [])
        unrolled = [margin for role, margin in measured if role == "exists"]
        single = [margin for role, margin in measured if role not in ("exists", "first")]
        margins = [*single, *(margin for role, margin in measured if role == "first")] or unrolled
        if not margins:
            return None
        if unrolled and not single:
            # Each key has a table of its own: what they are off by together, of all rows that there are.
            there = sum(float(margin.fractions[1:].sum()) for margin in unrolled)
            often = min(1.0, sum(map(noise_error, unrolled)) / max(there, 1e-9))
        else:
            often = max(map(noise_error, margins))
        parts = [(OFTEN, often), (DRAWN, _chance(margins[0])), *self._within(table, name, margins)]
        if self._schema.parent(table) is not None:
            parts.append((ROWS, BELOW + SCALED * self._scaled(table)))
        declared = self._schema.tables[table].columns.get(column)
        if isinstance(declared, Ordinal):
            share = self._placed(f"{table}.{name}", margins[0])
            parts += [(OTHERS, share * other.error) for other in self._followed(table, column) if other is not None]
            if any(anchor.scope == PREVIOUS_ROW for anchor in declared.anchors.values()):
                parts.append((ORDER, self._along(table, name)))
        return _from_parts(parts, margins[0])

    def _within(self, table: str, name: str, margins: list[Margin]) -> Iterator[tuple[str, float]]:
        """What is lost within codes: bins that were placed with noise, codes that share a place, the rest of a list."""
        fractions, own = margins[0].fractions, f"{table}.{name}"
        for label, margin in ((own, margins[0]), (f"{table}.first({name})", margins[-1])):
            learned, looks = self._release.plan.learned.get(label), self._looks(label)
            if isinstance(learned, LearnedValues):
                yield from _unlisted(learned, looks, margin)
            elif isinstance(learned, LearnedOrder | LearnedScales) and looks:
                share, orders = self._placed(label, margin), _orders(learned)
                yield MOVED, share * self._on_ends(table, name, learned)
                # Where each value has a code of its own, there is nothing within.
                wide = [order.bins for order in orders if order.bins is not None and order.bins.weights]
                total = max(1.0, sum(sum(bins.weights) for bins in wide) if wide else margin.rows)
                if wide:
                    codes = sum(bins.count for bins in wide) / len(wide)
                    yield WITHIN, share * min(1.0, _within_codes(codes) * _look_error(looks[-1], total))
                    yield WITHIN, EVENLY * share * sum(_in_heavy_cells(bins, total) for bins in wide)
                # What lies outside was seen by the roughest look alone, and an end hides nothing where its noise is above zero.
                ends = max((order.low is not None) + (order.high is not None) for order in orders)
                yield BEYOND, share * min(1.0, MEAN_NOISE / 2 * sqrt(ends) * max(map(_deviation, looks)) / total)
        chosen = self._release.plan.chosen.get(own)
        if chosen is not None and len(chosen) < len(fractions):
            yield NOT_LISTED, float(fractions[len(chosen)])
        declared = self._schema.tables[table].columns.get(name)
        if not isinstance(declared, Ordinal) or declared.bins is None or own in self._release.plan.learned:
            return
        if (declared.distinct_values or inf) > len(fractions):
            # A narrow bin that the schema declared is nearly even within; of a wide one nothing is known. NULL is no bin.
            held = fractions[: declared.bins if isinstance(declared.bins, int) else len(declared.bins) + 1]
            yield WITHIN, EVENLY * float((held * np.minimum(1.0, NARROW * held)).sum())

    def _on_ends(self, table: str, name: str, learned: LearnedOrder | LearnedScales) -> float:
        """The part of a date's rows that lie on a declared end. Numbers lie on one by themselves: nothing paid, all of it."""
        column = self._schema.tables[table].columns.get(name)
        if not isinstance(learned, LearnedOrder) or learned.bins is None or not isinstance(column, Ordinal) or column.anchors:
            return 0.0
        declared = zip(learned.bins.on_ends, (learned.low, learned.high), strict=True)
        held = [share for share, found in declared if found is None and share >= ON_END]
        return sum(held) if ticks_of_a_day(scale_of(column, learned)) else 0.0

    def _placed(self, label: str, margin: Margin) -> float:
        """The share of the rows that have a place on a scale: NULL and special values are codes of their own."""
        learned = self._release.plan.learned.get(label)
        bins = [order.bins.count for order in _orders(learned) if order.bins is not None]
        return min(1.0, float(margin.fractions[: max(bins)].sum())) if bins else 1.0

    def _along(self, table: str, column: str) -> float:
        """The allowance for sequences as long, and with steps as sure, as noisy answers say that they are here."""
        parts = {s.group.part: s.rows for s in self._release.plan.groups if s.group.table == table}
        counts = [margin for role, margin in self._margins.get((table, ""), []) if role == "count"]
        if not counts or "rows" not in parts or "context" not in parts:
            return ALONG
        begun = max(1.0, parts["context"] * (1 - float(counts[0].fractions[0])))
        later = max(0.0, parts["rows"] - begun)
        if self._surest_step(table, column) * parts["rows"] > SURE * later:
            return STEP
        codec = self._codec(table, column)
        ends = isinstance(codec, RelativeCodec) and (codec.placing.high is not None or codec.placing.before is not None)
        free = ALONG * min(1.0, later / begun, self._walked(table, column, later / begun) / FAR)
        return max(STEP, min(free, ENDED if ends else ALONG))

    def _walked(self, table: str, column: str, steps: float) -> float:
        """How far a sequence comes in so many steps from what its first row follows, in standard deviations of that (or of the
        first value, which may follow nothing); without end where it cannot be told."""
        codec = self._codec(table, column)
        gap = self._ticks(table, column, "value")
        if not isinstance(codec, RelativeCodec) or codec.placing.by_parts or codec.first is None or gap is None:
            return inf
        first = self._ticks(table, column, "first") if codec.first.placing.anchors else (0.0, 0.0)
        spread = self._spread(table, column, isinstance(codec.scale, TimeScale))
        return inf if first is None or not spread else (first[0] + steps * gap[0]) / spread

    def _spread(self, table: str, column: str, of_time: bool) -> float:
        """The standard deviation of a column; of what follows another one, of that. 0 where nothing is known, or where a number
        follows a time."""
        codec = self._codec(table, column)
        if codec is None or isinstance(codec.scale, TimeScale) is not of_time:
            return 0.0
        start = codec.first if isinstance(codec, RelativeCodec) and codec.first is not None else codec
        for anchor in start.placing.anchors if isinstance(start, RelativeCodec | FirstCodec) else ():
            return 0.0 if anchor.scope == PREVIOUS_ROW else self._spread(anchor.scope or table, anchor.column, of_time)
        known = self._ticks(table, column, "first" if isinstance(start, FirstCodec) else "value")
        return 0.0 if known is None else known[1]

    def _ticks(self, table: str, column: str, role: Role) -> tuple[float, float] | None:
        """Mean and standard deviation, in the unit of the scale, as far as the rows have a bin."""
        codec = self._codec(table, column)
        binned = codec.first if role == "first" and isinstance(codec, RelativeCodec) else codec
        held = [margin.fractions for of, margin in self._margins.get((table, column), []) if of == role]
        if binned is None or len(held) != 1:
            return None
        shares, ticks = held[0][: binned.bins.count], binned.bins.means * float(binned.scale.unit)
        shares = shares / max(float(shares.sum()), 1e-12)
        mean = float(shares @ ticks)
        return mean, sqrt(float(shares @ (ticks - mean) ** 2))

    def _codec(self, table: str, column: str) -> OrdinalCodec | RelativeCodec | None:
        """The very codec that the fit has used; None of what is no number or time on a scale of its own."""
        declared, labels = self._schema.tables[table].columns.get(column), (column, f"first({column})", f"elapsed({column})")
        if not isinstance(declared, Ordinal) or declared.determined is not None or getattr(declared, "by", None) is not None:
            return None
        known = [self._release.plan.learned.get(f"{table}.{label}") for label in labels]
        return ordinal_codec(
            self._schema, table, declared, *(k if isinstance(k, LearnedOrder) else LearnedOrder() for k in known)
        )

    def _surest_step(self, table: str, column: str) -> float:
        """The share of all rows that come the most common distance after the row before, where each distance has a code."""
        steps = [margin.fractions for role, margin in self._margins.get((table, column), []) if role == "value"]
        declared = self._schema.tables[table].columns.get(column)
        told_apart = isinstance(declared, Ordinal) and declared.bins is None and not declared.nullable
        if len(steps) != 1 or not told_apart or f"{table}.{column}" in self._release.plan.learned:
            return 0.0
        return float(np.max(steps[0][:-1], initial=0.0))  # the last is that of first rows

    def _scaled(self, table: str) -> float:
        """The part of a table's rows that scaling took away, as far as it is known."""
        parts = [settled for settled in self._release.plan.groups if settled.group.table == table]
        rows = [settled.rows for settled in parts if settled.group.part == "rows"]
        measured = [several for (owner, _), several in self._margins.items() if owner == table]
        counted = [margin.rows for several in measured for role, margin in several if role == "value"]
        return max(0.0, 1 - min(counted) / max(rows)) if rows and counted else 0.0

    def _looks(self, label: str) -> list[Charge]:
        charges = self._release.ledger.charges
        return [c for c in charges if c.phase == LEARNING and c.view == label and c.mechanism in _NOISY]

    def _followed(self, table: str, column: str) -> Iterator[Expected | None]:
        """The columns that this one is anchored to or worked out from, as far as they are others."""
        declared = self._schema.tables[table].columns.get(column)
        if declared is None:
            return
        own = self._schema.tables[table].columns
        anchors: list[Anchor] = list(declared.anchors.values()) if isinstance(declared, Ordinal) else []
        if declared.determined is not None:
            anchors += declared.determined.looks_at(own)
            if declared.determined.next is not None:
                anchors.append(Anchor(SAME_ROW, declared.determined.next))
            if (total := declared.determined.total) is not None:
                yield self.children(total[1])
                yield self.of(total[1], total[2]) if total[2] is not None else None
        for anchor in dict.fromkeys(anchors):
            if anchor.scope == PREVIOUS_ROW:
                continue  # errors along a sequence have an allowance
            scope = self._schema.parent_name(table) if anchor.scope == PARENT_ROW else anchor.scope
            where = table if scope == SAME_ROW else scope
            if where in self._schema.tables and (where, anchor.column) != (table, column):
                yield self.of(where, anchor.column)

    @cached_property
    def _margins(self) -> dict[tuple[str, str], list[tuple[Role, Margin]]]:
        """By table and column (or reference; none for the number of children): what was measured of it. The first value of a
        sequence is measured apart; what unrolls a vocabulary once for each key."""
        margins: dict[tuple[str, str], list[tuple[Role, Margin]]] = {}
        for settled in self._release.plan.groups:
            clarity = getattr(self._release.model(settled.name), "clarity", None)
            measured = clarity.margins if clarity is not None else _by_the_ledger(self._release, settled)
            for part in settled.group.columns:
                place = (part.table or settled.group.table, part.column or "")
                unrolled = [name for name in settled.columns if name.rpartition("#")[0] == part.name]
                names = [part.name] if part.name in settled.columns else unrolled
                margins.setdefault(place, []).extend((part.role, measured[name]) for name in names if name in measured)
        return margins


_NOISY = ("discrete gaussian", "discrete laplace")


def _from_parts(parts: list[tuple[str, float]], margin: Margin | None = None) -> Expected:
    cells = 0 if margin is None else len(margin.fractions)
    clear = 0 if margin is None else _clear_cells(margin)
    return Expected(tuple(sorted(parts, key=lambda part: -part[1])), cells, clear)


def _clear_cells(margin: Margin) -> int:
    return int((margin.fractions > CLEAR * margin.deviation).sum())


def _chance(margin: Margin) -> float:
    """What the drawing of as many rows adds."""
    cells = min(max(2, len(margin.fractions)), BINS)
    return min(1.0, MEAN_NOISE / 2 * sqrt(cells / max(margin.rows, 1.0)))


def _in_heavy_cells(bins: Bins, total: float) -> float:
    """The share of the rows that lie in cells which hold much and are more than one value wide."""
    cells = zip(pairwise(bins.cells), bins.weights, strict=True)
    return sum(weight for (low, high), weight in cells if high - low > bins.step and weight > HEAVY * total) / total


def _orders(learned: LearnedDomain | None) -> tuple[LearnedOrder, ...]:
    if isinstance(learned, LearnedScales):
        return learned.items
    return (learned,) if isinstance(learned, LearnedOrder) else ()


def _unlisted(learned: LearnedValues, looks: list[Charge], margin: Margin) -> Iterator[tuple[str, float]]:
    """Of a learned list: the rest, and codes that share a place."""
    listed, places = len(learned.values), len(learned.values) + len(learned.shared)
    rest, others = float(margin.fractions[places : places + 1].sum()), sum(learned.other_counts)
    known = others / max(1.0, others + sum(learned.counts))
    yield NOT_LISTED, max(0.0, rest - known)
    # Each of the others stands clear of the noise: what is off in how frequent it is, is a small part of it.
    yield WITHIN, min(rest, known) * MEAN_NOISE / 2 * len(learned.others) / max(1.0, others)
    if learned.shared and looks:
        yield WITHIN, min(float(margin.fractions[listed:places].sum()), _look_error(looks[-1], sum(learned.counts)))


def _within_codes(codes: float) -> float:
    """The part of the noise of a look that is left where rows are moved within so many codes alone: how many rows each code has
    is told by its table."""
    return sqrt(max(0.0, 1 - codes / BINS))


def _look_error(look: Charge, total: float) -> float:
    """Of the last and finest look at where values lie. Noise of cells that are finer than the yardstick partly cancels."""
    cells = look.cells if look.cells <= BINS else sqrt(BINS * look.cells)
    return MEAN_NOISE / 2 * cells * _deviation(look) / max(total, 1.0)


def _deviation(charge: Charge) -> float:
    return standard_deviation("discrete laplace" if charge.mechanism == "discrete laplace" else "discrete gaussian", charge.scale)


def _by_the_ledger(release: Release, settled: SettledGroup) -> dict[str, Margin]:
    """Of a model that does not say how clear its tables are: the worst that its charges allow, spread evenly."""
    charges = [c for c in release.ledger.charges if c.phase == MODELS and c.view == settled.name and c.mechanism in _NOISY]
    tables = [c for c in charges if c.histograms] or charges
    if not tables:
        return {}
    noise = max(map(_deviation, tables))
    clips = [c.clip for c in tables if c.clip is not None]
    rows = max(1.0, min([settled.rows, *(release.plan.entities * clip for clip in clips)]))
    sizes = zip(settled.columns.names, settled.columns.sizes, strict=True)
    return {name: Margin(np.full(size, 1 / size), noise / rows, rows) for name, size in sizes}
