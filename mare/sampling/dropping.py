"""Rows that cannot be: a key that no value is left for, what comes after the end of its sequence or of the data, or a reference
that must hold and leads to such a row.

They are few, and they go with all that depends on them. Everything else of the block stays as it is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from mare.codec import OrdinalCodec, RelativeCodec
from mare.codec.slots import ORDINARY
from mare.codec.ticks import Mask, null_mask
from mare.domain import RowDraws, as_generator, move_apart, repeated
from mare.relational.filling import Linked, Modelled
from mare.relational.placing import NOWHERE, Index

from .ending import after_the_end
from .linking import draw_from_pool, draw_other_entity, pool_size
from .possible_codes import REDRAWS
from .storing import numbered

if TYPE_CHECKING:
    from .writing import ChunkValues


def living_rows(block: ChunkValues) -> dict[str, Mask]:
    """Per table, the rows that stay; a table that loses none is left out."""
    alive = {table: np.ones(block.rows(table), dtype=np.bool_) for table in block.writer.order}
    for table, sets in block.writer.distinct.items():
        for columns in sets if table not in block.chunk.given else ():
            alive[table][_still_alike(block, table, columns)] = False
        block.chunk.lost[table] += int((~alive[table]).sum())
    for table in alive:
        if block.placed.owners[table] and table not in block.chunk.given and (past := block.decoded(table).past) is not None:
            alive[table][past] = False
    for table, condition in block.writer.endings.items():
        if table in alive and table not in block.chunk.given:
            alive[table][after_the_end(block, table, condition, alive[table])] = False
    changed = True
    while changed:
        changed = False
        for table in block.writer.order:
            if table in block.chunk.given:
                continue  # what the user gives stays
            mask = alive[table] & _owned(block, table, alive)
            for link in block.links(table):
                mask &= _refers(block, table, link, alive)
            changed |= bool((mask != alive[table]).any())
            alive[table] = mask
    return {table: mask for table, mask in alive.items() if not mask.all()}


def _owned(block: ChunkValues, table: str, alive: dict[str, Mask]) -> Mask:
    placed, owners = block.placed.tables[table], block.placed.owners[table]
    living = np.ones(placed.rows, dtype=np.bool_)
    for edge, owner in enumerate(owners):
        mine = slice(None) if placed.owner is None else placed.owner == edge
        living[mine] = alive[owner][placed.parent[mine]]
    return living


def _refers(block: ChunkValues, table: str, link: Linked, alive: dict[str, Mask]) -> Mask:
    """Where a reference holds. One that may be NULL lets go of a row that is gone."""
    places = block.places(table, link)
    # A row of another entity is one that was found alive.
    there = alive.get(link.table) if link.way != "other_entity" else None
    gone = places < 0
    if there is not None and len(there):
        gone |= ~there[np.maximum(places, 0)]
    if link.nullable:
        if there is not None and (gone & (places >= 0)).any():
            block.set_places(table, link, np.where(gone, NOWHERE, places))
        return np.ones(len(places), dtype=np.bool_)
    return ~gone


def _still_alike(block: ChunkValues, table: str, columns: tuple[str, ...]) -> Index:
    """Draw values again until the rows of one parent differ in these columns; the rows that still do not."""
    for attempt in range(REDRAWS):
        rows = _alike(block, table, columns)
        if not len(rows) or not _draw_again(block, table, columns, rows, attempt):
            return rows
    _share_out_pools(block, table, columns)
    return _alike(block, table, columns)


def _alike(block: ChunkValues, table: str, columns: tuple[str, ...]) -> Index:
    """The rows that have an earlier one of the same parent with the same values, as they are stored. NULL is like nothing, as
    databases have it."""
    values, whole = _whole(block, table, columns)
    return whole[repeated(block.placed.tables[table].parent[whole], [column[whole] for column in values.values()])]


def _whole(block: ChunkValues, table: str, columns: tuple[str, ...]) -> tuple[dict[str, Index], Index]:
    """Equal values as equal numbers, by column; and the rows that have all of them."""
    values = {name: block.stored_column(table, name) for name in columns}
    whole = np.flatnonzero(~np.logical_or.reduce([null_mask(column) for column in values.values()])).astype(np.int64)
    return {name: numbered(column) for name, column in values.items()}, whole


def _share_out_pools(block: ChunkValues, table: str, columns: tuple[str, ...]) -> None:
    """What chance does not find in a pool that is hardly larger than the list: the rows that no sibling refers to yet."""
    for name in columns:
        filling = block.writer.fillings[table][name]
        if isinstance(filling, Linked) and filling.way == "pool":
            values, whole = _whole(block, table, columns)
            values[name] = block.places(table, filling).copy()
            first = np.zeros(block.rows(table), dtype=np.int64)
            ends = {name: (first, first + pool_size(block, filling) - 1)}
            draws = block.draws(table, f"apart {', '.join(columns)} of {name}")
            move_apart(block.placed.tables[table].parent, values, ends, whole, as_generator(draws))
            block.set_places(table, filling, values[name])


def _draw_again(block: ChunkValues, table: str, columns: tuple[str, ...], rows: Index, attempt: int) -> bool:
    """Values of the same codes, drawn once more; whether there was anything to draw."""
    draws = block.draws(table, f"apart {', '.join(columns)} {attempt}")
    drawn = False
    for name in columns:
        filling = block.writer.fillings[table][name]
        if isinstance(filling, Modelled):
            codec = block.writer.codecs[table].columns[name]
            if not isinstance(codec, OrdinalCodec) or _is_anchor(block, table, name):
                continue
            drawn |= _draw_other_values(block, table, name, codec, rows, draws)
        elif isinstance(filling, Linked) and filling.way in ("pool", "other_entity"):
            places = block.places(table, filling).copy()
            again = draw_from_pool if filling.way == "pool" else draw_other_entity
            places[rows] = again(block, table, filling, rows, attempt + 1)
            block.set_places(table, filling, places)
            drawn = True
    return drawn


def _draw_other_values(block: ChunkValues, table: str, name: str, codec: OrdinalCodec, rows: Index, draws: RowDraws) -> bool:
    """Other values of the same bins for these rows; whether any of them has one. Values that order siblings stay in order."""
    kinds, points = codec.slots.kinds_of(block.codes(table)[name], codec.bins.count), block.decoded(table).points[name]
    there, ticks = kinds == ORDINARY, points.lower.copy()
    again = rows[there[rows]]
    ticks[again] = codec.bins.draw(codec.bins.assign(ticks[again]), as_generator(draws.at(name, again)))
    if name in block.writer.ordered_by.get(table, ()):
        at = np.flatnonzero(there)
        ticks[at] = ticks[at][np.lexsort((ticks[at], block.placed.tables[table].parent[at]))]
    block.set_ordered(table, name, codec, ticks, kinds)
    return bool(len(again))


def _is_anchor(block: ChunkValues, table: str, name: str) -> bool:
    """Whether other values depend on this one, or the order of others: then it stays where it is."""
    ordered_by = block.writer.ordered_by.get(table, ())
    if name in ordered_by and len(ordered_by) > 1:
        return True
    for other, codec in block.writer.codecs.items():
        for ordered in codec.ordered.values():
            if isinstance(ordered, RelativeCodec):
                for anchor in ordered.anchors:
                    here = anchor.scope == table or (other == table and anchor.scope in ("", "previous"))
                    if here and anchor.column == name:
                        return True
    return False
