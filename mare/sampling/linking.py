"""Which row a reference leads to, once rows are there: one function for each way that needs no model, or has used one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from mare.codec.ticks import DAY_US
from mare.errors import InternalError
from mare.relational.filling import VIA, Linked
from mare.relational.placing import NOWHERE, Index
from mare.relational.relations import Words

from .other_entities import draw_another

if TYPE_CHECKING:
    from .writing import ChunkValues

Micros = NDArray[np.int64]


def find_places(block: ChunkValues, table: str, link: Linked) -> Index:
    """Of each row of a table, the place of the row that a reference leads to."""
    placed = block.placed.tables[table]
    if link.way in ("via", "position", "earlier"):
        return placed.targets[VIA if link.way == "via" else link.reference]
    if link.way == "public":
        return _public(block, table, link)
    if link.way == "owned":
        return _owned(block, table, link)
    if link.way == "pool":
        return draw_from_pool(block, table, link)
    if link.way == "other_entity":
        return draw_other_entity(block, table, link)
    return _by_time(block, table, link)


def draw_from_pool(block: ChunkValues, table: str, link: Linked, rows: Index | None = None, attempt: int = 0) -> Index:
    """Any row of a pool; for these rows, or for all."""
    places = block.draws(table, f"refer {link.reference}").at(str(attempt), rows).integers(0, max(1, pool_size(block, link)))
    there = block.present(table, link.reference)
    return places if there is None else np.where(there if rows is None else there[rows], places, NOWHERE)


def pool_size(block: ChunkValues, link: Linked) -> int:
    pool = block.writer.pools.get(link.table)
    return len(next(iter(pool.values()))) if pool is not None else block.rows(link.table)


def _public(block: ChunkValues, table: str, link: Linked) -> Index:
    words = block.related(table).reference(link.reference)
    if isinstance(words, Words):
        return words.decode(block.codes(table)[link.reference])
    # A pool's rows are made up: any key of the public table.
    keys = block.writer.public[link.table].vocabulary((link.column,))
    if not len(keys):
        return np.full(block.rows(table), NOWHERE, dtype=np.int64)
    return keys.places[block.draws(table, f"refer {link.reference}").integers(0, len(keys))]


def _owned(block: ChunkValues, table: str, link: Linked) -> Index:
    """The row that was made for this one."""
    owned = block.placed.tables[link.table]
    edge = block.writer.owned_by[link.table].index((table, link.reference))
    mine = np.arange(owned.rows, dtype=np.int64)
    if owned.owner is not None:
        mine = np.flatnonzero(owned.owner == edge).astype(np.int64)
    places = np.full(block.rows(table), NOWHERE, dtype=np.int64)
    places[owned.parent[mine]] = mine
    return places


def draw_other_entity(block: ChunkValues, table: str, link: Linked, rows: Index | None = None, attempt: int = 0) -> Index:
    """Any row of another entity; for these rows, or for all. While nobody knows yet who there is, a row that will be there."""
    entity = block.entities(table) if rows is None else block.entities(table)[rows]
    everyone = block.writer.everyone.get(link.table)
    if everyone is None:
        return np.zeros(len(entity), dtype=np.int64)
    return draw_another(everyone, entity, link.nullable, block.draws(table, f"refer {link.reference}").at(str(attempt), rows))


def given_to_owned(block: ChunkValues, table: str, name: str) -> pa.Array | None:
    """The column of an owned table by which given rows refer to it, copied from those rows. None for any other column."""
    owners = block.writer.owned_by.get(table, ())
    referring = [
        next((c for c, f in block.writer.fillings[owner].items() if isinstance(f, Linked) and _is(f, reference, name)), None)
        for owner, reference in owners
    ]
    if not any(column is not None and owner in block.chunk.given for (owner, _), column in zip(owners, referring, strict=True)):
        return None
    placed, parts, order = block.placed.tables[table], list[pa.Array](), list[Index]()
    for edge, ((owner, _), column) in enumerate(zip(owners, referring, strict=True)):
        mine = np.arange(placed.rows) if placed.owner is None else np.flatnonzero(placed.owner == edge)
        if column is None:
            raise InternalError(f"{table}.{name} comes from given rows and from others")
        parts.append(block.column(owner, column).take(pa.array(placed.parent[mine])))
        order.append(mine.astype(np.int64))
    back = np.argsort(np.concatenate(order), kind="stable")
    return pa.concat_arrays(parts).take(pa.array(back))


def _is(link: Linked, reference: str, column: str) -> bool:
    return link.way == "owned" and (link.reference, link.column) == (reference, column)


def _by_time(block: ChunkValues, table: str, link: Linked) -> Index:
    """The row that the model chose: this row's time was drawn inside its interval. Where order left no room there, or rows came
    with their times and no reference, the row of the same entity whose interval contains the time: of several, the one that
    began last."""
    time, (begin, end) = block.writer.finders[table, link.reference]
    at, known = moments(block, table, time)
    starts, started = moments(block, link.table, begin)
    ends, ended = moments(block, link.table, end, last=True)
    if (points := block.decoded(table).points.get(time)) is not None and points.scale.whole_days:
        starts = starts // DAY_US * DAY_US  # a day that a row begins on is not before it
    chosen = block.placed.tables[table].targets.get(link.reference)
    if chosen is not None and not len(starts):
        return np.full(len(at), NOWHERE, dtype=np.int64)
    if chosen is not None:
        row = np.maximum(chosen, 0)
        holds = known & started[row] & (starts[row] <= at) & (~ended[row] | (at <= ends[row]))
        if (holds | (chosen < 0)).all():
            return chosen
    entity = block.writer.order[0]
    here = block.placed.climb(np.arange(block.rows(table), dtype=np.int64), table, entity)
    there = block.placed.climb(np.arange(block.rows(link.table), dtype=np.int64), link.table, entity)
    usable = np.flatnonzero(started & ended)
    usable = usable[np.lexsort((starts[usable], there[usable]))]
    places = _latest(usable, there[usable], starts[usable], ends[usable], here, at, known)
    return places if chosen is None else np.where((chosen < 0) | holds, chosen, places)


def _latest(rows: Index, whose: Index, starts: Micros, ends: Micros, here: Index, at: Micros, known: NDArray[np.bool_]) -> Index:
    """``rows`` are sorted by entity and begin. A candidate that has ended gives way to the one before it."""
    places = np.full(len(here), NOWHERE, dtype=np.int64)
    first = np.searchsorted(whose, here, side="left")
    candidate = np.empty(len(here), dtype=np.int64)
    # The last row of the entity that begins no later, by bisection over each entity's own run.
    low, high = first.copy(), np.searchsorted(whose, here, side="right")
    while (open_ := low < high).any():
        middle = (low + high) // 2
        begun = np.zeros(len(here), dtype=np.bool_)
        begun[open_] = starts[middle[open_]] <= at[open_]
        low, high = np.where(open_ & begun, middle + 1, low), np.where(open_ & ~begun, middle, high)
    candidate = low - 1
    waiting = known & (candidate >= first)
    while waiting.any():
        index = np.flatnonzero(waiting)
        inside = ends[candidate[index]] >= at[index]
        places[index[inside]] = rows[candidate[index[inside]]]
        waiting[index[inside]] = False
        candidate[index[~inside]] -= 1
        waiting &= candidate >= first
    return places


def moments(block: ChunkValues, table: str, column: str, *, last: bool = False) -> tuple[Micros, NDArray[np.bool_]]:
    """A date or time as microseconds, and where it is there; a day, where it is the ``last``, until its end."""
    values = block.column(table, column)
    there = ~np.asarray(values.is_null().to_numpy(zero_copy_only=False), dtype=np.bool_)
    points = block.decoded(table).points.get(column) if table in block.writer.codecs else None
    if points is not None:
        # As the codec reads them: also where the source stores texts.
        return points.lower * int(points.scale.unit) + (DAY_US - 1 if last and points.scale.whole_days else 0), there
    if not pa.types.is_temporal(values.type):
        raise InternalError(f"{table}.{column} is no date or time")
    day = pa.types.is_date(values.type)
    micros = values.cast(pa.timestamp("us")).cast(pa.int64()).fill_null(0)
    return np.asarray(micros, dtype=np.int64) + (DAY_US - 1 if last and day else 0), there
