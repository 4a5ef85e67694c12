"""From the schema's columns to their codecs. A domain comes from the declaration, or from what was learned and paid for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from graphlib import CycleError, TopologicalSorter

from mare.domain import Coarsening
from mare.errors import InternalError, PlanError
from mare.schema import Schema
from mare.schema.columns import DEFAULT_MAX_VALUES, AnyColumn, Code, Listed, Ordinal, Quantity
from mare.schema.determined import PREVIOUS_ROW, SAME_ROW, Anchor
from mare.schema.layout import Shared, public_parts, shared_columns

from .bins import Bins, OpenBins, make_bins, neighbours
from .building_ordinal import Refused, ordinal_codec
from .by_item import ScaledCodec, scaled_codec
from .category import CategoryCodec, CodeCodec, canonical
from .learned_domains import LearnedDomains, LearnedOrder, LearnedScales, LearnedValues
from .ordinal import OrdinalCodec, SpecialValues
from .relative import FirstCodec, RelativeCodec, whole_bins
from .scales import scale_of


@dataclass(frozen=True)
class OpenCodec:
    """A codec that waits for values to be learned: its own, or those of the columns that it depends on."""

    waits_for: tuple[str, ...] = ()
    """Columns of the same row; none where its own values are to be learned."""
    most: int = DEFAULT_MAX_VALUES
    """Values to be kept at most."""
    listed: tuple[str, ...] = ()
    """All values, where the schema lists more than are to be kept."""
    among_public: bool = False
    """Whether they are among codes that everybody knows: those listed, or those of a public vocabulary."""

    @property
    def size(self) -> int:
        raise InternalError("the values of a column were asked for before they were learned")


OrderedCodec = OrdinalCodec | RelativeCodec
ValueCodec = CategoryCodec | CodeCodec
Labels = tuple[str | None, ...]
"""What each code of a column means, as text; None for NULL."""
ColumnCodec = ValueCodec | OrderedCodec | ScaledCodec | OpenCodec


@dataclass(frozen=True)
class TableCodec:
    """The codecs of a table's modelled columns, anchors and items before the columns that depend on them."""

    table: str
    columns: Mapping[str, ColumnCodec]
    shared: tuple[Shared, ...] = ()
    """Those of the columns that are the same in many rows: their codes are in a context."""
    apart: tuple[tuple[str, ...], ...] = ()
    """Sets of columns and references that the rows of one parent differ in."""

    @property
    def firsts(self) -> dict[str, FirstCodec]:
        """The codecs of the first values that live in the context."""
        return {
            name: codec.first
            for name, codec in self.ordered.items()
            if isinstance(codec, RelativeCodec) and codec.first is not None
        }

    @property
    def ordered(self) -> dict[str, OrderedCodec]:
        return {name: codec for name, codec in self.columns.items() if isinstance(codec, OrdinalCodec | RelativeCodec)}

    @property
    def above(self) -> tuple[Anchor, ...]:
        """The columns of tables above that something here is anchored at."""
        anchors = [a for codec in self.ordered.values() if isinstance(codec, RelativeCodec) for a in codec.anchors]
        return tuple(dict.fromkeys(anchor for anchor in anchors if anchor.scope not in (SAME_ROW, PREVIOUS_ROW)))

    @property
    def open(self) -> bool:
        """Whether anything is still to be learned."""
        if any(isinstance(codec, OpenCodec) for codec in self.columns.values()):
            return True
        placed = [codec.placed for codec in (*self.ordered.values(), *self.firsts.values())]
        placed += [first.lasting for first in self.firsts.values() if isinstance(first.lasting, OpenBins)]
        placed += [item.placed for codec in self.columns.values() if isinstance(codec, ScaledCodec) for item in codec.items]
        return any(isinstance(bins, OpenBins) for bins in placed)

    def coarsenings(self) -> dict[str, tuple[Coarsening, ...]]:
        """Public levels of its columns, fine to coarse: kin of codes, neighbouring bins."""
        coarsenings: dict[str, tuple[Coarsening, ...]] = {}
        for name, codec in self.columns.items():
            if isinstance(codec, CodeCodec):
                coarsenings[name] = codec.coarsenings()
            elif isinstance(codec, OrdinalCodec | RelativeCodec):
                coarsenings[name] = neighbours(codec.bins.count, codec.size)
        for name, first in self.firsts.items():
            coarsenings[f"first({name})"] = neighbours(first.bins.count, first.size)
            coarsenings[f"elapsed({name})"] = neighbours(first.elapsed.count, first.elapsed.count)
            if first.pacing is not None:
                coarsenings[f"pace({name})"] = neighbours(first.pacing.count, first.pacing.count)
        for shared in self.shared:
            if isinstance(codec := self.columns[shared.column], OrdinalCodec) and shared.holder == self.table:
                coarsenings[shared.name] = neighbours(codec.bins.count, codec.size + 1)
        return {name: levels for name, levels in coarsenings.items() if levels}


def table_codec(
    schema: Schema,
    table: str,
    columns: Iterable[str],
    learned: LearnedDomains | None = None,
    labels: Mapping[str, Labels] | None = None,
) -> TableCodec:
    """The codecs of these columns of a table, or an error that names every column that cannot be coded.

    ``labels`` are what the codes of references mean, by reference: a number's scale may depend on one.
    """
    names, known = list(columns), learned or {}
    codecs: dict[str, ColumnCodec] = {}
    refused: list[str] = []
    scaled = [name for name in names if _scaled(schema, table, name) is not None]
    for name in [*(n for n in names if n not in scaled), *scaled]:
        try:
            codecs[name] = _codec(schema, table, name, known, codecs, labels or {})
        except Refused as why:
            refused.append(f"{table}.{name}: {why}")
    for name, codec in codecs.items():
        for anchor in codec.anchors if isinstance(codec, RelativeCodec) else ():
            if anchor.scope in (SAME_ROW, PREVIOUS_ROW) and not isinstance(codecs.get(anchor.column), OrderedCodec):
                refused.append(f"{table}.{name}: its anchor {anchor.column!r} is not a modelled number, date or time")
    if refused:
        listed = "\n".join(f"  - {fault}" for fault in refused)
        raise PlanError(f"this schema can be planned, but not yet fitted:\n{listed}")
    shared = tuple(s for s in shared_columns(schema, table) if s.column in codecs)
    return TableCodec(table, {name: codecs[name] for name in _in_order(table, codecs)}, shared)


def _in_order(table: str, codecs: Mapping[str, ColumnCodec]) -> list[str]:
    """Anchors of the same row first, items before their numbers; otherwise as they came."""
    needs: dict[str, list[str]] = {name: [] for name in codecs}
    for name, codec in codecs.items():
        if isinstance(codec, RelativeCodec):
            needs[name] = [anchor.column for anchor in codec.anchors if anchor.scope == SAME_ROW]
        elif isinstance(codec, ScaledCodec):
            needs[name] = [item for item in codec.by if item in codecs]
    try:
        return list(TopologicalSorter(needs).static_order())
    except CycleError as error:
        raise PlanError(f"table {table!r}: columns depend on each other in a circle: {' → '.join(error.args[1])}.") from None


def _codec(
    schema: Schema,
    table: str,
    name: str,
    known: LearnedDomains,
    codecs: Mapping[str, ColumnCodec],
    labels: Mapping[str, Labels],
) -> ColumnCodec:
    column, learned = schema.tables[table].columns.get(name), known.get(f"{table}.{name}")
    if column is None:
        raise Refused("references are not fitted yet")
    if isinstance(column, Code):
        return _code(column, learned)
    if isinstance(column, Listed):
        return _listed(column, learned)
    if not isinstance(column, Ordinal):
        raise Refused(f"type {column.type!r} has no codec")
    if (scaled := _scaled(schema, table, name)) is not None:
        return _by_items(schema, table, scaled, learned, codecs, labels)
    first, elapsed = known.get(f"{table}.first({name})"), known.get(f"{table}.elapsed({name})")
    return ordinal_codec(schema, table, column, _order(learned), _order(first), _order(elapsed))


def _order(learned: object) -> LearnedOrder:
    return learned if isinstance(learned, LearnedOrder) else LearnedOrder()


def _listed(column: Listed, learned: object) -> ColumnCodec:
    values, outside = column.possible, column.outside
    if values is None:
        if not isinstance(learned, LearnedValues):
            return OpenCodec(most=column.most_values)
        # Noise may have left nothing of a list; then everything is the rest.
        if outside is None:
            of_list = (learned.values, column.nullable, None, (), True, column.redraws, learned.counts)
            return CategoryCodec(*of_list, learned.others, learned.other_counts)
        values = learned.values if outside in learned.values else (*learned.values, outside)
    return CategoryCodec(values, column.nullable, outside, tuple(column.spellings.items()))


def _code(column: Code, learned: object) -> ColumnCodec:
    prefix = column.hierarchy.prefix if column.hierarchy is not None else ()
    word = None if column.outside is None else canonical(column.outside)
    if isinstance(learned, LearnedValues):
        if word is None:
            of_list = (learned.values, learned.shared, column.nullable, prefix, learned.levels)
            return CodeCodec(*of_list, within=learned.within, has_rest=True, redraws=column.redraws, weights=learned.counts)
        extra, known = [word] * (word not in learned.values), len(learned.values)
        levels = tuple((*level[:known], *extra, *level[known:]) for level in learned.levels)
        return CodeCodec((*learned.values, *extra), learned.shared, column.nullable, prefix, levels, word, learned.within)
    if column.values is None:
        return OpenCodec(most=column.most_values, among_public=column.vocabulary is not None)
    listed = tuple(canonical(value) for value in column.values)
    if column.max_values is not None and column.max_values < len(listed):
        return OpenCodec(most=column.max_values, listed=listed, among_public=True)
    listed = listed if word is None or word in listed else (*listed, word)
    return CodeCodec(listed, (), column.nullable, prefix, (), word)


def _scaled(schema: Schema, table: str, name: str) -> Quantity | None:
    column = schema.tables[table].columns.get(name)
    return column if isinstance(column, Quantity) and column.by is not None else None


def _by_items(
    schema: Schema,
    table: str,
    column: Quantity,
    learned: object,
    codecs: Mapping[str, ColumnCodec],
    labels: Mapping[str, Labels],
) -> ColumnCodec:
    if column.anchors:
        raise Refused("it depends on another column (by) and on an anchor too; say one of them")
    by = tuple(_node(schema, table, item) for item in column.by or ())
    # Public keys, known once the public tables are read.
    drawn = (part.name for part in public_parts(schema, table))
    elsewhere = (*schema.tables[table].references, *drawn, _association(schema, table))
    item_labels: list[Labels] = []
    for item in by:
        codec = codecs.get(item)
        if isinstance(codec, OpenCodec) or (codec is None and item not in labels and item in elsewhere):
            return OpenCodec(waits_for=by)
        if not isinstance(codec, ValueCodec) and item not in labels:
            raise Refused(f"its scale depends on {item!r}, which no model generates")
        item_labels.append(codec.labels if isinstance(codec, ValueCodec) else labels[item])
    return scaled_codec(column, by, item_labels, learned if isinstance(learned, LearnedScales) else None)


def _node(schema: Schema, table: str, column: str) -> str:
    """The name under which a column is generated: its own, that of its reference, or that of the association's key."""
    described, parent = schema.tables[table], schema.tables[table].parent
    if column in described.columns:
        return column
    if parent is not None and column in (parent.column_via or ()):
        return _association(schema, table)
    return next(
        (part.name for part in public_parts(schema, table) if column in part.columns), described.reference_of(column) or column
    )


def _association(schema: Schema, table: str) -> str:
    """What the public key of an association is called; nothing where the table is none."""
    parent = schema.tables[table].parent
    return "" if parent is None else ", ".join(parent.column_via or ())


def is_kept_as_text(column: AnyColumn) -> bool:
    """Whether words stand among its numbers or times, so that it can only be read as text."""
    if not isinstance(column, Ordinal) or not column.specials:
        return False
    return SpecialValues(scale_of(column), column.specials).are_text


# Bins of equal width (or logarithm) where none were learned: for pools, whose rows are made up, and for schemas alone.


def even_bins(placed: Bins | OpenBins) -> Bins | OpenBins:
    """Equal bins between bounds that are known. Bounds that are to be learned stay open."""
    if isinstance(placed, Bins) or placed.low is None or placed.high is None:
        return placed
    return whole_bins(placed.most) if placed.closes else make_bins(placed.low, placed.high, placed.wanted, placed.scale)


def evenly(codec: TableCodec) -> TableCodec:
    """The same codecs, with even bins wherever bins were left to be learned."""
    return replace(codec, columns={name: _even(column) for name, column in codec.columns.items()})


def _even(codec: ColumnCodec) -> ColumnCodec:
    if isinstance(codec, OrdinalCodec):
        return replace(codec, placed=even_bins(codec.placed))
    if isinstance(codec, RelativeCodec):
        if (first := codec.first) is not None:
            lasting = None if first.lasting is None else even_bins(first.lasting)
            first = replace(first, placed=even_bins(first.placed), lasting=lasting)
        return replace(codec, placed=even_bins(codec.placed), first=first)
    if isinstance(codec, ScaledCodec):
        return replace(codec, items=tuple(replace(item, placed=even_bins(item.placed)) for item in codec.items))
    return codec
