"""A chunk of entities through all tables, as codes: contexts decide how many children there are, models fill them in.

Which rows there are is decided here: one for every reference that has a row of its own, so many children as the context says, and
the rows of an unrolled association with their public keys. No parent and no entity has more rows than the source's could have:
the models have learned numbers that were cut by the same caps, so little is left to cut, and it is cut as the stage does it, of
one parent's rows some at random, of an entity's lists whole ones.

Mare-2024, IV.B. Sequences advance one position at a time for all parents that still need a row. Of associations it says: "For
each context row, the columns with true or non-null values are unrolled to create partial child rows containing the public
relationship and derived columns. Then, the child table model is sampled to fill in the missing common columns."
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from mare.codec.ticks import Mask
from mare.domain import CodeArray, Codes, Keys, RowDraws, child_keys, purpose_of, repeated, smallest_dtype
from mare.graph.groups import Part
from mare.graph.modelled import presence
from mare.relational.coding import told_rooms
from mare.relational.filling import VIA
from mare.relational.placing import NOWHERE, Index, Placed, PlacedTables
from mare.relational.relations import Ranked
from mare.relational.unrolling import Unrolling
from mare.release import SettledGroup

from .fitted_tables import Chunk, FittedTables
from .possible_codes import REDRAWS
from .row_filling import fill_context, fill_rows, is_looked_at
from .run import Coded, Run, make_room, placed_under


def generate_chunk(
    made: FittedTables, seed: int, entities: Index, tables: tuple[str, ...] | None = None, *, some: bool = False
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


def _beyond_the_entity(run: Run, table: str, counts: Index) -> Mask:
    """Parents whose list is dropped whole, so that their entity has no more rows than it may."""
    cap, owner = run.made.entity_caps.get(table), run.made.owners[table][0]
    if cap is None:
        return np.zeros(len(counts), dtype=np.bool_)
    draws = RowDraws(run.keys[owner], purpose_of(f"lists of {table}"))
    return beyond_the_entity(counts, run.whose(owner, np.arange(len(counts), dtype=np.int64)), cap, draws)


def beyond_the_entity(counts: Index, entity: Index, cap: int, draws: RowDraws) -> Mask:
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


def _nothing_to_refer_to(run: Run, table: str, above: int) -> Mask:
    """Parents that can have no row here: the row would have to refer to one that its entity does not have."""
    closed = np.zeros(above, dtype=np.bool_)
    parent = run.made.owners[table][0]
    for reference in (run.related(table).references or {}).values():
        if isinstance(reference, Ranked) and not reference.nullable:
            entity = run.whose(parent, np.arange(above, dtype=np.int64))
            closed |= run.crowd(reference.table).count[entity] == 0
    return closed


@dataclass(frozen=True, eq=False)
class UnrolledRows:
    """The rows that a context asks for, sorted by parent."""

    parent: Index
    key: Index
    """The code of the public key; `NOWHERE` for rows of the rest, whose key is still to be drawn."""
    derived: Mapping[str, NDArray[np.int64]]
    """Codes of the derived columns; -1 where they are still to be drawn."""

    def take(self, index: Index) -> UnrolledRows:
        return UnrolledRows(self.parent[index], self.key[index], {n: v[index] for n, v in self.derived.items()})


def agree_on_absence(
    unrolling: Unrolling,
    context: dict[str, CodeArray],
    sizes: Mapping[str, int],
    redraw: Callable[[Index, str], Codes],
    draws: RowDraws,
) -> None:
    """Several derived columns of one slot are there or not together: the first says which.

    Where another is missing although the row is there, the model is asked again, until it draws a value.
    """
    if len(unrolling.derived) < 2:
        return
    names = list(context)
    columns = [unrolling.labels(f"{name}({unrolling.key})", names) for name in unrolling.derived]
    for first, *others in zip(*columns, strict=True):
        absent = context[first] == sizes[first] - 1
        for label in others:
            codes, none = context[label], sizes[label] - 1
            for attempt in range(REDRAWS):
                lost = np.flatnonzero(~absent & (codes == none)).astype(np.int64)
                if not len(lost):
                    break
                codes[lost] = redraw(lost, f"{label} {attempt}")[label]
            lost = np.flatnonzero(~absent & (codes == none)).astype(np.int64)
            codes[lost] = draws.at(f"{label} any", lost).integers(0, max(1, none))
            codes[absent] = none


def unroll(unrolling: Unrolling, context: Mapping[str, CodeArray], sizes: Mapping[str, int], draws: RowDraws) -> UnrolledRows:
    """The rows of all parents. ``sizes`` holds how many codes each context column has, ``draws`` the parents' numbers."""
    names = list(context)
    parents, keys = list[Index](), list[Index]()
    derived: dict[str, list[Index]] = {name: [] for name in unrolling.derived}

    def add(parent: Index, key: Index, values: Mapping[str, NDArray[np.integer]]) -> None:
        parents.append(parent.astype(np.int64))
        keys.append(key.astype(np.int64))
        for name, column in derived.items():
            column.append(values[name].astype(np.int64) if name in values else np.full(len(parent), -1, dtype=np.int64))

    if unrolling.derived:
        columns = {name: unrolling.labels(f"{name}({unrolling.key})", names) for name in unrolling.derived}
        first = columns[unrolling.derived[0]]
        for slot, label in enumerate(first):
            there = np.flatnonzero(context[label] != sizes[label] - 1)
            key = np.full(len(there), unrolling.chosen[slot // unrolling.multiplicity])
            add(there, key, {name: context[labels[slot]][there] for name, labels in columns.items()})
    else:
        for number, label in enumerate(unrolling.labels(f"exists({unrolling.key})", names)):
            there = np.repeat(np.arange(len(context[label])), context[label])
            add(there, np.full(len(there), unrolling.chosen[number]), {})
    rest = _rest(unrolling, context, names, draws)
    add(*rest, {})
    parent, key = np.concatenate(parents), np.concatenate(keys)
    order = np.argsort(parent, kind="stable")
    rows = UnrolledRows(parent, key, {name: np.concatenate(values) for name, values in derived.items()})
    return rows.take(order.astype(np.int64))


def at_most(rows: UnrolledRows, cap: int, above: Keys) -> UnrolledRows:
    """No parent with more rows than the cap: of more, some at random. ``above`` are the keys of the parents."""
    counts = np.bincount(rows.parent, minlength=len(above))
    if not len(rows.parent) or int(counts.max(initial=0)) <= cap:
        return rows
    place = np.arange(len(rows.parent), dtype=np.int64) - (np.cumsum(counts) - counts)[rows.parent]
    keys = child_keys(above, rows.parent, place, purpose_of("before the cap"))
    order = np.lexsort((RowDraws(keys, 0).random(), rows.parent))
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = place  # sorted by parent before and after: the ranks of a parent's rows are 0, 1, 2 … again
    return rows.take(np.flatnonzero(rank < cap).astype(np.int64))


def _rest(unrolling: Unrolling, context: Mapping[str, CodeArray], names: list[str], draws: RowDraws) -> tuple[Index, Index]:
    """Rows whose key has no column: to be drawn by the head, or any of its group that is not there yet."""
    if unrolling.rest == "rows" and (unrolling.slot < 0).any():
        parent = np.repeat(np.arange(len(context["count"])), context["count"])
        return parent, np.full(len(parent), NOWHERE)
    parents, keys = [np.zeros(0, dtype=np.int64)], [np.zeros(0, dtype=np.int64)]
    if unrolling.rest == "hierarchy":
        own = unrolling.labels(f"exists({unrolling.key})", names)
        grouped = [label for label in names if label.startswith("exists(") and label not in own]
        for group, label in enumerate(sorted(grouped, key=_number)):
            members = unrolling.members(group)
            times = np.minimum(context[label], len(members) * unrolling.multiplicity).astype(np.int64)
            parent = np.repeat(np.arange(len(times)), times)
            at = np.arange(len(parent)) - np.repeat(np.cumsum(times) - times, times)
            if len(members):
                # One draw a parent, then on through the group: a key does not come more often than it may.
                start = draws.at(label).integers(0, len(members), size=len(times))[parent]
                parents.append(parent)
                keys.append(members[(start + at) % len(members)])
    return np.concatenate(parents), np.concatenate(keys)


def _number(label: str) -> int:
    number = label.rpartition("#")[2]
    return int(number) if number.isdecimal() else 0
