"""A chunk of entities through all tables, as codes: contexts decide how many children there are, models fill them in.

Which rows there are is decided here: one for every reference that has a row of its own, so many children as the context says, and
the rows of an unrolled association with their public keys. No parent and no entity has more rows than the source's could have:
the models have learned numbers that were cut by the same caps, so little is left to cut, and it is cut as the stage does it, of
one parent's rows some at random, of an entity's lists whole ones.

Mare-2024, IV.B. Sequences advance one position at a time for all parents that still need a row.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from mare.domain import CodeArray, Codes, RowDraws, purpose_of, repeated, smallest_dtype
from mare.graph.groups import Part
from mare.graph.modelled import presence
from mare.relational.coding import told_rooms
from mare.relational.filling import VIA
from mare.relational.placing import NOWHERE, Index, Placed, PlacedTables
from mare.relational.relations import Ranked
from mare.release import SettledGroup

from .associations import UnrolledRows, agree_on_absence, at_most, unroll
from .fitted_tables import Chunk, FittedTables
from .possible_codes import REDRAWS
from .row_filling import fill_context, fill_rows, is_looked_at
from .run import Coded, Run, make_room, placed_under


def generate_chunk(
    made: FittedTables,
    seed: int,
    entities: Index,
    tables: tuple[str, ...] | None = None,
    *,
    some: bool = False,
) -> Chunk:
    """The coded rows of the entities with these numbers; of all tables, or of the first few. ``some`` says that the numbers are
    some of many: an entity is the same then whoever else is among them."""
    placed: dict[str, Placed] = {}
    given = {} if made.given is None else made.given.chunk(entities)
    chunk = Chunk(PlacedTables(made.owners, placed), {}, entities, given)
    run = Run(made, chunk, placed, seed, some)
    for table in made.order if tables is None else tables:
        _table(run, table)
    return chunk


def _table(run: Run, table: str) -> None:
    """The rows of one table: given, or placed and filled."""
    codes: Coded = {"rows": {}, "head": {}, "context": {}}
    if run.made.given is not None and table in run.chunk.given:
        owner = run.made.owners[table][0] if run.made.owners[table] else None
        run.place(table, run.made.given.place(table, owner, run.chunk.given))
        return
    if table in run.made.owned_by:
        _place_owned(run, table, codes)
    elif not run.made.owners[table]:
        run.place(table, placed_under(np.ones(len(run.entities), dtype=np.int64), codes))
    else:
        _place_children(run, table, codes)
    fill_rows(run, table)


def _place_owned(run: Run, table: str, codes: Coded) -> None:
    """One row for every reference that has one."""
    parents, edges = [], []
    for edge, (owner, reference) in enumerate(run.made.owned_by[table]):
        rows = np.arange(run.tables[owner].rows, dtype=np.int64)
        if reference in run.related(owner).exists:
            name = presence(reference)
            part: Part = "rows" if name in run.tables[owner].codes["rows"] else "head"
            rows = np.flatnonzero(run.tables[owner].codes[part][name]).astype(np.int64)
        parents.append(rows)
        edges.append(np.full(len(rows), edge, dtype=np.int64))
    parent, edge_of = np.concatenate(parents), np.concatenate(edges)
    several = len(parents) > 1
    ones = np.ones(len(parent), dtype=np.int64)
    placed = Placed(len(parent), parent, ones * 0, ones, codes, owner=edge_of if several else None)
    if several:
        # Sorted by entity, as every table is.
        run.tables[table] = placed
        order = np.lexsort((parent, edge_of, run.whose(table, np.arange(len(parent), dtype=np.int64))))
        placed = Placed(len(parent), parent[order], ones * 0, ones, codes, owner=edge_of[order])
    run.place(table, placed)


def _tell_room(run: Run, table: str, owner: str) -> None:
    """How much time there is below the rows of the parent, before it is drawn how many rows they have."""
    made, related = run.made, run.related(table)
    if any(is_looked_at(made, owner, name) for name in related.rooms):
        rooms = told_rooms(made.codecs[table], related, run.placed, lambda above: made.decoded(run.chunk, above).points)
        run.tables[owner] = replace(run.tables[owner], free={**run.tables[owner].free, **rooms})


def _place_children(run: Run, table: str, codes: Coded) -> None:
    """As many rows under every parent as its context says, none where there can be none."""
    owner = run.made.owners[table][0]
    above, keys = run.tables[owner].rows, run.keys[owner]
    # The context is generated before the table has rows: it stands on the parent's.
    run.tables[table] = placed_under(np.zeros(0, dtype=np.int64), codes)
    settled = run.group(table, "context")
    _tell_room(run, table, owner)
    if settled is not None:
        fill_context(run, settled, codes["context"], above)
    closed = _nothing_to_refer_to(run, table, above)
    unrolling = run.related(table).unrolling
    if unrolling is None or settled is None:
        counts = codes["context"].get("count", np.zeros(above, dtype=np.uint8)).astype(np.int64)
        if table in run.made.never_empty:
            counts = np.clip(counts, 1, run.made.entity_caps.get(table))
        counts[closed] = 0
        counts[_beyond_the_entity(run, table, counts)] = 0
        if settled is not None:
            _write_counts(run, table, settled, codes["context"], counts)
        run.place(table, placed_under(counts, codes))
        return
    sizes = dict(zip(settled.columns.names, settled.columns.sizes, strict=True))
    draws = RowDraws(keys, purpose_of(f"unroll {table}"))

    def redraw(rows: Index, label: str) -> Codes:
        return run.sample(settled, rows, label)

    agree_on_absence(unrolling, codes["context"], sizes, redraw, draws)
    unrolled = at_most(unroll(unrolling, codes["context"], sizes, draws), run.made.caps[table], keys)
    unrolled = unrolled.take(np.flatnonzero(~closed[unrolled.parent]).astype(np.int64))
    gone = _beyond_the_entity(run, table, np.bincount(unrolled.parent, minlength=above).astype(np.int64))
    _place_unrolled(run, table, unrolled.take(np.flatnonzero(~gone[unrolled.parent]).astype(np.int64)), codes, above)


def _beyond_the_entity(run: Run, table: str, counts: Index) -> NDArray[np.bool_]:
    """Parents whose list is dropped whole, so that their entity has no more rows than it may."""
    cap, owner = run.made.entity_caps.get(table), run.made.owners[table][0]
    if cap is None:
        return np.zeros(len(counts), dtype=np.bool_)
    draws = RowDraws(run.keys[owner], purpose_of(f"lists of {table}"))
    return beyond_the_entity(counts, run.whose(owner, np.arange(len(counts), dtype=np.int64)), cap, draws)


def beyond_the_entity(counts: Index, entity: Index, cap: int, draws: RowDraws) -> NDArray[np.bool_]:
    """Parents whose whole list goes, because the lists of their entity are too long together: in a random order, those that
    end beyond the cap."""
    gone = np.zeros(len(counts), dtype=np.bool_)
    totals = np.bincount(entity, weights=counts) if len(entity) else np.zeros(0)
    if not (totals > cap).any():
        return gone
    lists = np.flatnonzero((counts > 0) & (totals[entity] > cap))
    order = lists[np.lexsort((draws.at("lists", lists).random(), entity[lists]))]
    reached = np.cumsum(counts[order])
    begins = np.r_[True, entity[order][1:] != entity[order][:-1]]
    before = np.maximum.accumulate(np.where(begins, reached - counts[order], 0))
    gone[order[reached - before > cap]] = True
    return gone


def _write_counts(run: Run, table: str, settled: SettledGroup, codes: dict[str, CodeArray], counts: Index) -> None:
    """What was decided since the model drew: a list that is not there has no first values either."""
    if "count" not in codes:
        return
    closed = (counts == 0) & (codes["count"] > 0)
    codes["count"] = np.minimum(counts, settled.columns.size("count") - 1).astype(codes["count"].dtype)
    for name, first in run.made.codecs[table].firsts.items():
        if f"first({name})" in codes:
            codes[f"first({name})"][closed] = first.size - 1
    for shared in run.made.codecs[table].shared:
        if shared.name in codes:
            codes[shared.name][closed] = run.made.codecs[table].columns[shared.column].size


def _place_unrolled(run: Run, table: str, rows: UnrolledRows, codes: Coded, above: int) -> None:
    """Rows with their public keys. The head draws the keys of the rest; what comes too often is dropped."""
    related = run.related(table)
    unrolling = related.unrolling
    assert unrolling is not None
    run.place(table, placed_under(np.bincount(rows.parent, minlength=above).astype(np.int64), codes))
    free: dict[str, CodeArray] = {}
    head = run.group(table, "head")
    key = rows.key
    if head is not None and unrolling.key in head.columns:
        rest = np.flatnonzero(key == NOWHERE).astype(np.int64)
        key, gone = _draw_rest(run, table, head, rows, rest, codes["head"])
        if len(gone):
            kept = run.drop(table, gone)
            rows, key = rows.take(kept), key[kept]
            codes = {part: dict(columns) for part, columns in run.tables[table].codes.items()}
    size = smallest_dtype(max(1, len(unrolling.vocabulary)))
    free[unrolling.key] = unrolling.known_as(key).astype(size)
    for name, values in rows.derived.items():
        drawn = codes["head"].get(name)
        free[name] = (values if drawn is None else np.where(values < 0, drawn, values)).astype(np.uint32)
    run.tables[table] = replace(run.tables[table], codes=codes, free=free, targets={VIA: unrolling.vocabulary.places[key]})


def _draw_rest(
    run: Run, table: str, head: SettledGroup, rows: UnrolledRows, rest: Index, codes: dict[str, CodeArray]
) -> tuple[Index, Index]:
    """The keys of all rows, those of the rest drawn; and the rows that have a key too many."""
    unrolling = run.related(table).unrolling
    assert unrolling is not None
    draws = RowDraws(run.keys[table], purpose_of(f"{head.name} of the rest"))
    make_room(head, codes, len(rows.parent))
    run.draw(head, codes, np.arange(len(rows.parent), dtype=np.int64), "at first")
    own = np.flatnonzero(unrolling.slot < 0)
    key = np.where(rows.key == NOWHERE, codes[unrolling.key].astype(np.int64), rows.key)
    for attempt in range(REDRAWS + 1):
        often = repeated(rows.parent, [key.astype(np.uint64)], unrolling.multiplicity)
        wrong = np.intersect1d(np.union1d(rest[unrolling.slot[key[rest]] >= 0], often), rest)
        if not len(wrong) or attempt == REDRAWS:
            break
        run.draw(head, codes, wrong, f"again {attempt}")
        if attempt > REDRAWS // 2:
            codes[unrolling.key][wrong] = own[draws.at(str(attempt), wrong).integers(0, len(own))]
        key[wrong] = codes[unrolling.key][wrong]
    codes[unrolling.key][:] = key
    for name, values in rows.derived.items():
        codes[name] = np.where(values < 0, codes[name], values).astype(codes[name].dtype)
    return key, np.union1d(wrong, repeated(rows.parent, [key.astype(np.uint64)], unrolling.multiplicity))


def _nothing_to_refer_to(run: Run, table: str, above: int) -> NDArray[np.bool_]:
    """Parents that can have no row here: the row would have to refer to one that its entity does not have."""
    closed = np.zeros(above, dtype=np.bool_)
    parent = run.made.owners[table][0]
    for reference in (run.related(table).references or {}).values():
        if isinstance(reference, Ranked) and not reference.nullable:
            entity = run.whose(parent, np.arange(above, dtype=np.int64))
            closed |= run.crowd(reference.table).count[entity] == 0
    return closed
