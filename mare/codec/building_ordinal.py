"""Codecs of the ordered types, from their declarations and from what was learned. Nothing here has seen a value.

Anchors are written as people say them and mean rows: `parent` becomes a table, a copy becomes its original.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from mare.schema import Schema
from mare.schema.columns import DEFAULT_BINS, PACES, Ordinal, keeps_each
from mare.schema.columns.ordinal import Ends
from mare.schema.columns.ticks import open_ticks
from mare.schema.determined import PARENT_ROW, PREVIOUS_ROW, SAME_ROW, Anchor, FirstValue
from mare.schema.layout import Layout, most_children

from .bins import Bins, OpenBins, Scale, bins_from_edges, make_bins
from .learned_domains import LearnedOrder
from .ordinal import OrdinalCodec, Slots, Within
from .relative import LONGEST, PARTS_OF_A_TICK, WHOLE, FirstCodec, Placing, RelativeCodec, whole_bins
from .scales import AnyScale, DecimalScale, scale_of

MUCH_LONGER = 1024
"""A sequence that nothing but its interval holds may go on for so many times as long as it can wait for its first value."""


def ordinal_codec(
    schema: Schema,
    table: str,
    column: Ordinal,
    known: LearnedOrder,
    first: LearnedOrder,
    elapsed: LearnedOrder,
) -> OrdinalCodec | RelativeCodec:
    """The codec of a column that stands for itself or depends on anchors. What is not known yet stays open.

    Of a sequence, ``first`` is what was learned of its first value, ``elapsed`` of how far it has come when a row begins.
    """
    anchors = {field: _resolved(schema, table, anchor, str(anchor), 0) for field, anchor in column.anchors.items()}
    after, before = anchors.get("after", anchors.get("during.0")), anchors.get("before", anchors.get("during.1"))
    after = anchors.get("around", after)
    scale = scale_of(column, known)
    low, high = column.bounds(scale)
    name = next(name for name, other in schema.tables[table].columns.items() if other is column)
    within = _within(schema, table, name)
    slots = Slots(column.specials, column.nullable, column.first is not None, column.closes)
    if after is None and before is None:
        ends = settled(low, known.low, column.decimals, scale), settled(high, known.high, column.decimals, scale)
        placed = _placed(column, scale, ends, known.bins)
        return OrdinalCodec(scale, placed, (low, high), known.near, slots=slots, within=within, rhythm=known.rhythm)
    reach = None if column.within is None else scale.reach(column.within)
    placing = Placing(after, before, reach, column.strict, low, high, _leads(schema, table, name), column.learn)
    if column.around is not None and reach is not None:
        placing = replace(placing, reach=2 * reach, back=reach)
        # Fine towards no distance at all, on either side.
        wanted = column.bins if isinstance(column.bins, int) else None
        placed = known.bins or cut(-reach, reach, wanted, "mixed", column.most_bins)
    elif placing.by_parts:
        placed = known.bins or _fractions(column)
    else:
        furthest = settled(placing.longest, known.high, column.decimals, scale)
        placed = _placed(column, scale, (0, None if furthest is None else max(0, furthest)), known.bins)
    if column.first is None:
        return RelativeCodec(scale, placed, placing, slots=slots, within=within, rhythm=known.rhythm)
    start = _first(column, column.first, scale, first.bins, anchors, (low, high))
    lasting = elapsed.bins or _lasting(start, placing, most_children(schema, table))
    pacing = _paces(placing, start) if column.is_paced else None
    start = replace(start, lasting=lasting, pacing=pacing, rhythm=known.rhythm)
    return RelativeCodec(scale, placed, placing, start, slots=slots, within=within, rhythm=known.rhythm)


def _leads(schema: Schema, table: str, name: str) -> bool:
    """Whether something in the next row follows this column."""
    columns = schema.tables[table].columns.values()
    anchors = [anchor for other in columns if isinstance(other, Ordinal) for anchor in other.anchors.values()]
    return Anchor(PREVIOUS_ROW, name) in anchors


def _within(schema: Schema, table: str, name: str) -> Within | None:
    """The reference whose row holds this time, where both ends of it are modelled."""
    for reference, declared in schema.tables[table].references.items():
        if declared.kind == "same_entity" and declared.time == name and declared.interval is not None:
            begin, end = (_original(schema, declared.table, column) for column in declared.interval)
            if begin is not None and end is not None:
                return Within(reference, declared.table, begin, end)
    return None


def _original(schema: Schema, table: str, name: str) -> str | None:
    """The modelled column of a row that a time is, or is the day of."""
    column = schema.tables[table].columns.get(name)
    if not isinstance(column, Ordinal) or column.determined is None:
        return name if isinstance(column, Ordinal) else None
    how = column.determined
    of = how.copy_of if how.part is None else how.part.of if how.part.unit == "date" else None
    anchor = None if of is None else Anchor.parse(of)
    return _original(schema, table, anchor.column) if anchor is not None and anchor.scope == SAME_ROW else None


def settled(declared: int | None, learned: int | None, precision: int | None, scale: AnyScale) -> int | None:
    """A bound in ticks: as declared, else as learned. Then it comes in the ticks that a number has while it is open."""
    if declared is not None or learned is None or not isinstance(scale, DecimalScale):
        return learned if declared is None else declared
    return scale.tick(float(learned * open_ticks(precision).unit))


def _placed(column: Ordinal, scale: AnyScale, ends: Ends, learned: Bins | None) -> Bins | OpenBins:
    if learned is not None:
        return learned
    low, high = ends
    wanted = column.bins if isinstance(column.bins, int) else None
    if low is None or high is None:
        return OpenBins(low, high, column.scale, column.most_bins, wanted)
    high = max(low, high)
    if isinstance(column.bins, tuple):
        return bins_from_edges(low, high, edges_of(scale, column.bins))
    return cut(low, high, wanted, column.scale, column.most_bins)


def cut(low: int, high: int, wanted: int | None, scale: Scale, most: int) -> Bins | OpenBins:
    """Bins where the schema says how many or where values are few; else they stay open."""
    steps = high - low + 1
    if wanted is None and not (steps <= most and keeps_each(steps, linear=scale != "log")):
        return OpenBins(low, high, scale, most)
    return make_bins(low, high, wanted, scale)


def edges_of(scale: AnyScale, edges: Sequence[float]) -> list[int]:
    return [scale.tick(edge, up=True) for edge in edges]


def _fractions(column: Ordinal) -> Bins | OpenBins:
    """Bins of what lies between two anchors. Listed edges are fractions."""
    if isinstance(column.bins, tuple):
        return bins_from_edges(0, WHOLE, [round(edge * WHOLE) for edge in column.bins if 0 < edge <= 1])
    if column.bins is not None:
        return whole_bins(column.bins)
    return OpenBins(0, WHOLE, column.scale, column.most_bins, closes=True)


def _first(
    column: Ordinal, first: FirstValue, scale: AnyScale, learned: Bins | None, anchors: dict[str, Anchor], ends: Ends
) -> FirstCodec:
    most = column.most_first_bins or DEFAULT_BINS
    if first.within is not None:
        placing = Placing(anchors.get("first.after"), anchors.get("first.before"), scale.reach(first.within), False, *ends)
        # The column's own scale is about the distance from the previous row, not about this one.
        return FirstCodec(scale, learned or cut(0, placing.longest or 0, None, "mixed", most), placing)
    low, high = scale.tick(first.min, up=True), scale.tick(first.max)
    placing = Placing(low=ends[0], high=ends[1])
    return FirstCodec(scale, learned or cut(min(low, high), high, None, "linear", most), placing)


def _lasting(first: FirstCodec, placing: Placing, rows: int) -> OpenBins:
    """Where a sequence can be when a row begins: what lies further on counts as the end of that range. Every row but the first
    may take it as far as a row may be from the one before."""
    low, high = first.placed.low or 0, first.placing.furthest or first.placed.high or 0
    if placing.ends_above and not first.placing.anchors:
        return OpenBins(0, high - low, "mixed", DEFAULT_BINS)
    backwards = first.placing.after is None and first.placing.before is not None
    if not backwards and (placing.reach is None or placing.ends_above):
        high = max(1, high) * MUCH_LONGER
    elif not backwards:
        # Cells of a distance are ever smaller towards its beginning, so that a far end costs little; a calendar's are equal.
        high += (placing.reach or 0) * (max(1, rows - 1) if first.placing.anchors else 1)
    limits = first.scale.limits
    return OpenBins(low, min(high, limits[1] - limits[0]), "mixed" if first.placing.anchors else "linear", DEFAULT_BINS)


def _paces(placing: Placing, first: FirstCodec) -> Bins:
    """What one row has until the calendar's end: by powers, from about the whole time down to a hundred thousandth of it."""
    low, high = first.placed.low or 0, first.placed.high or 0
    whole = min(high if first.placing.anchors else (placing.high or high) - low, LONGEST) * PARTS_OF_A_TICK
    edges = {max(1, round(whole * 2 ** (-0.7 * step))) for step in range(PACES - 1)} if whole > 0 else set()
    return Bins((0, *sorted(edges), max(edges, default=0) + 1))


class Refused(Exception):
    """What the schema may say and the plan may hold, but no codec reads. The message is about the schema alone."""


def _resolved(schema: Schema, table: str, anchor: Anchor, written: str, depth: int) -> Anchor:
    """The anchor with a table's name for its scope (or the same row, or the previous one)."""
    here = anchor.scope in (SAME_ROW, PREVIOUS_ROW)
    home = table if here else named_table(schema, table, anchor.scope)
    column = schema.tables[home].columns.get(anchor.column)
    if not isinstance(column, Ordinal) or column.depends_on_items or depth > len(schema.tables):
        raise Refused(f"its anchor {written} is no number, date or time that stands for itself")
    if column.determined is None:
        return anchor if here else Anchor(home, anchor.column)
    if column.determined.copy_of is None:
        raise Refused(f"its anchor {written} is worked out from other values; name one of those")
    copied = Anchor.parse(column.determined.copy_of)
    if copied.scope == PREVIOUS_ROW:
        raise Refused(f"its anchor {written} is taken from the row before; name {copied} instead")
    if copied.scope == SAME_ROW:
        return _resolved(schema, table, Anchor(anchor.scope, copied.column), written, depth + 1)
    # A row above is the same for all siblings: whose copy it is does not matter.
    return _resolved(schema, home, copied, written, depth + 1)


def named_table(schema: Schema, table: str, scope: str) -> str:
    """The table above that a scope names."""
    above = Layout(schema).ancestors(table)
    home = above[0] if scope == PARENT_ROW and above else scope
    if home not in above or home not in schema.tables:
        raise Refused(f"{scope} is no table above {table}")
    return home
