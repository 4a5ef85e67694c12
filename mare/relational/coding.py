"""Place and encode: from rows that have their places, and values, to a `Placed` table. One rule, for two who must agree.

    values + places + where references lead ─► read ─► **codes**, context, history without a model ─► `Placed`

The stage codes true rows by it and the sampler those that a user gives; a model has learned from the first and looks at the
second. Reading and coding are two steps, because the stage learns bins between them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from mare.codec import Above, Points, ReadTable, Siblings, TableCodec, code_table, read_table
from mare.codec.elapsed import room_codes, room_placing
from mare.codec.ticks import FURTHEST, Ticks
from mare.domain import CodeArray, smallest_dtype
from mare.graph.groups import Part
from mare.schema.determined import Anchor

from .placing import NOWHERE, Index, Placed, PlacedTables, context_codes
from .relations import Ranked, TableRelations, previous_of_item
from .unrolling import FoldedContext, Unrolling


@dataclass(frozen=True, eq=False)
class Links:
    """Where the references of a table's rows lead, and the codes that tell it."""

    codes: Mapping[str, CodeArray] = field(default_factory=dict)
    """Of those that a model generates, and whether rows of one's own are there."""
    targets: Mapping[str, Index] = field(default_factory=dict)
    """Of each row, the place it leads to."""
    key: Index | None = None
    """Of an association: of each row, the code of its public key."""
    free: Mapping[str, CodeArray] = field(default_factory=dict)
    """What is known of them without a model: how many rows there are still to go along."""
    strangers: Mapping[str, int] = field(default_factory=dict)
    """Of references, how many rows have a key that the public table does not have. True, hence secret."""


@dataclass(frozen=True, eq=False)
class Uncoded:
    """The rows of one table that have their places and their links, but no codes yet."""

    codec: TableCodec
    related: TableRelations
    links: Links
    around: PlacedTables
    """The table itself and those above it; of all that is placed there, only the places are looked at."""

    @property
    def table(self) -> str:
        return self.codec.table


def uncoded_rows(
    parent: Index, position: Index, counts: Index, owner: Index | None = None, unknown: NDArray[np.bool_] | None = None
) -> Placed:
    """Rows that have their places and nothing else; ``counts`` says how many children each parent row has."""
    siblings = counts[parent] if owner is None else np.ones(len(parent), dtype=np.int64)
    return Placed(len(parent), parent, position, siblings, {"rows": {}, "head": {}, "context": {}}, owner, unknown=unknown)


def siblings_in(around: PlacedTables, table: str) -> Siblings:
    """Rows with a parent stand beside each other; a row that one of several references owns stands alone."""
    placed, owners = around.tables[table], around.owners[table]
    if len(owners) == 1:
        return Siblings(around.tables[owners[0]].rows, placed.parent, placed.position)
    return Siblings(placed.rows, np.arange(placed.rows, dtype=np.int64), placed.position)


def points_above(codec: TableCodec, around: PlacedTables, points: Callable[[str], Mapping[str, Points]]) -> Above:
    """Where the columns of tables above stand that a table is anchored at, gathered for each of its rows."""
    rows = np.arange(around.tables[codec.table].rows, dtype=np.int64)
    return {a: points(a.scope)[a.column].take(around.climb(rows, codec.table, a.scope)) for a in codec.above}


def told_rooms(
    codec: TableCodec, related: TableRelations, around: PlacedTables, points: Callable[[str], Mapping[str, Points]]
) -> dict[str, CodeArray]:
    """How much time there is below the rows of the parent, by name of the free history: it is told of them."""
    codes = dict[str, CodeArray]()
    for name, column in related.rooms.items():
        parent = around.space(codec.table, "context")
        rows = np.arange(around.tables[parent].rows, dtype=np.int64)
        anchors = room_placing(codec, column).anchors
        above = {a: points(a.scope)[a.column].take(around.climb(rows, parent, a.scope)) for a in anchors}
        codes[name] = room_codes(codec, column, above, len(rows))
    return codes


def points_linked(
    codec: TableCodec, targets: Mapping[str, Index], rows: int, points: Callable[[str], Mapping[str, Points]]
) -> dict[Anchor, Points]:
    """Where the ends of the intervals stand that rows refer to; open where a reference leads nowhere, or is not drawn yet.
    ``targets`` says by reference where each of the rows leads."""
    bounds: dict[Anchor, Points] = {}
    for column in codec.ordered.values():
        if (within := column.within) is None:
            continue
        leads = (at := targets.get(within.reference, np.full(rows, NOWHERE, dtype=np.int64))) >= 0
        for anchor in within.anchors:
            scale, lower, upper = column.scale, np.full(rows, -FURTHEST), np.full(rows, FURTHEST)
            if leads.any():
                there = points(within.table)[anchor.column]
                scale, lower[leads], upper[leads] = there.scale, there.lower[at[leads]], there.upper[at[leads]]
            bounds[anchor] = Points(scale, lower, upper)
    return bounds


def points_to_come(codec: TableCodec, related: TableRelations, linked: Above, parent: Index) -> Above:
    """What the rows of a sequence have to come before that goes along the intervals it refers to."""
    bounds: dict[Anchor, Points] = {}
    for within in (column.within for column in codec.ordered.values() if column.within is not None):
        reference = related.reference(within.reference)
        if isinstance(reference, Ranked) and reference.onward:
            ends = linked[within.anchors[1]]
            bounds[within.until] = Points(ends.scale, ends.lower, _first_to_come(ends.upper, parent))
    return bounds


def _first_to_come(ends: Ticks, parent: Index) -> Ticks:
    """Of each row, the earliest of its own and all later siblings' ends."""
    order = np.lexsort((ends, parent))  # within a parent, earlier ends first
    rank = np.empty(len(ends), dtype=np.int64)
    rank[order] = np.arange(len(ends))
    # From the last row to the first: ranks of later parents are higher, so that each parent begins anew.
    earliest = np.minimum.accumulate(rank[::-1])[::-1]
    first: Ticks = ends[order][earliest]
    return first


def read_rows(rows: Uncoded, values: Mapping[str, pa.Array], above: Above) -> ReadTable:
    """Ticks and codes of the rows; bins may still be open."""
    given, unrolling, key = dict(rows.links.codes), rows.related.unrolling, rows.links.key
    if unrolling is not None and key is not None:
        given[unrolling.key] = _known_key(unrolling, key)
    return read_table(rows.codec, values, siblings_in(rows.around, rows.table), above, given)


def code_rows(rows: Uncoded, read: ReadTable, most: int | None) -> tuple[Placed, Mapping[str, int]]:
    """The rows with all that models look at; also how many values lie outside their domains, by column.

    ``most`` is the largest number of children that the context tells; None where there is no context.
    """
    related, links, placed = rows.related, rows.links, rows.around.tables[rows.table]
    siblings, unrolling = siblings_in(rows.around, rows.table), related.unrolling
    encoded = code_table(rows.codec, read, siblings)
    coded = {**links.codes, **encoded.rows}
    free = {**encoded.free, **links.free}
    context: Mapping[str, CodeArray] = {}
    if most is not None:
        counts = np.minimum(np.bincount(placed.parent, minlength=siblings.parents), most).astype(smallest_dtype(most + 1))
        context = {**{f"first({name})": codes for name, codes in encoded.firsts.items()}, "count": counts}
        if (ending := related.coded_ending(rows.codec)) is not None:
            context = {**context, "ends": ending.context(coded, placed.parent, siblings.parents)}
        for shared in rows.codec.shared:
            if shared.holder == rows.table:
                size = rows.codec.columns[shared.column].size
                context = {**context, shared.name: context_codes(placed.parent, siblings.parents, coded[shared.column], size)}
    if unrolling is not None and links.key is not None:
        coded[unrolling.key] = _known_key(unrolling, links.key)
        free |= {name: coded[name] for name in (unrolling.key, *unrolling.derived)}
        derived = {name: (coded[name], _size(rows, name)) for name in unrolling.derived}
        context = FoldedContext(unrolling, siblings.parents, placed.parent, links.key, derived, most or 0)
    same_item = previous_of_item(placed.parent, [coded[item] for item in related.items]) if related.items else None
    parts: Mapping[Part, Mapping[str, CodeArray]] = {"rows": coded, "head": coded, "context": context}
    return replace(placed, codes=parts, free=free, targets=links.targets, same_item=same_item), {
        **encoded.outside,
        **links.strangers,
    }


def _size(rows: Uncoded, name: str) -> int:
    """How many codes a derived column or reference has."""
    reference = rows.related.reference(name)
    return rows.codec.columns[name].size if reference is None else reference.size


def _known_key(unrolling: Unrolling, key: Index) -> CodeArray:
    """The public keys as the rest of each row sees them. A key without a column gets the first code: nobody draws it."""
    return np.maximum(unrolling.known_as(key), 0).astype(smallest_dtype(max(1, len(unrolling.vocabulary))))
