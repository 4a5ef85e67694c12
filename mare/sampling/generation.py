"""A chunk of entities through all tables, as codes: contexts decide how many children there are, models fill them in.

Mare-2024, IV.B. Sequences advance one position at a time for all parents that still need a row; the previous rows a model
looks at are the ones just written (the paper's FIFO queue, without the copying). Where a row picks another row first, its
head is drawn before the rest of it, at every step.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from mare.domain import CodeArray, Codes, Keys, RowDraws, child_keys, purpose_of, smallest_dtype
from mare.graph.groups import Part
from mare.release import SettledGroup
from mare.release.linking import VIA
from mare.release.placing import NOWHERE, Index, Placed, Rooms, place_children
from mare.release.relations import Ranked, Stepped, TableRelations

from .associations import UnrolledRows, agree_on_absence, unroll
from .caps import at_most, beyond_the_entity
from .distinct import keep_apart, repeated, without
from .elapsing import elapsing
from .generator import Chunk, Generator
from .randomness import ask, ask_by_block, ask_whole_blocks, draws_row_by_row, entity_keys
from .references import Crowd, LastOfItem, keep_within, rank_limits, rank_targets, step_limits, step_targets, steps_that_stay
from .structure import REDRAWS, make_possible, structural_codes

Coded = dict[Part, dict[str, CodeArray]]
OWN_PARTS: tuple[Part, ...] = ("head", "rows")


def generate_chunk(
    made: Generator, seed: int, entities: Index, tables: tuple[str, ...] | None = None, *, some: bool = False
) -> Chunk:
    """The coded rows of the entities with these numbers; of all tables, or of the first few. ``some`` says that the numbers are
    some of many: an entity is the same then whoever else is among them."""
    placed: dict[str, Placed] = {}
    given = {} if made.given is None else made.given.chunk(entities)
    chunk = Chunk(Rooms(made.owners, placed), {}, entities, given)
    run = _Run(made, chunk, placed, seed, some)
    for table in made.tables if tables is None else tables:
        run.table(table)
    return chunk


@dataclass(eq=False)
class _Run:
    """One chunk while it is made."""

    made: Generator
    chunk: Chunk
    tables: dict[str, Placed]
    """Those of the chunk's rooms, to be filled in."""
    seed: int
    some: bool = False
    crowds: dict[str, Crowd] = field(default_factory=dict)

    @property
    def rooms(self) -> Rooms:
        return self.chunk.rooms

    @property
    def keys(self) -> dict[str, Keys]:
        return self.chunk.keys

    @property
    def entities(self) -> Index:
        return self.chunk.entities

    def table(self, table: str) -> None:
        codes: Coded = {"rows": {}, "head": {}, "context": {}}
        if self.made.given is not None and table in self.chunk.given:
            owner = self.made.owners[table][0] if self.made.owners[table] else None
            self._place(table, self.made.given.place(table, owner, self.chunk.given))
            return
        if table in self.made.owned_by:
            self._place_owned(table, codes)
        elif not self.made.owners[table]:
            self._place(table, _placed(np.ones(len(self.entities), dtype=np.int64), codes))
        else:
            self._place_children(table, codes)
        self._fill_rows(table)

    def _place(self, table: str, placed: Placed) -> None:
        """The rows are there, and have keys from here on."""
        self.tables[table] = placed
        owners, purpose = self.made.owners[table], purpose_of(table)
        if not owners:
            self.keys[table] = entity_keys(self.seed, self.entities)
        elif placed.owner is None:
            self.keys[table] = child_keys(self.keys[owners[0]], placed.parent, placed.position, purpose)
        else:
            keys = np.empty(placed.rows, dtype=np.uint64)
            for edge, owner in enumerate(owners):
                mine = placed.owner == edge
                keys[mine] = child_keys(self.keys[owner], placed.parent[mine], placed.position[mine], purpose + edge)
            self.keys[table] = keys

    def _drop(self, table: str, gone: Index) -> Index:
        """Rows that cannot be, before anything hangs on them; the places of those that stay."""
        before = self.tables[table]
        kept = np.setdiff1d(np.arange(before.rows), gone).astype(np.int64)
        self.tables[table] = after = without(before, gone)
        self.keys[table] = self.keys[table][kept]
        for name, says in (self._related(table).references or {}).items():
            for part in OWN_PARTS:
                held = after.codes[part]
                if isinstance(says, Stepped) and name in held and isinstance(held, dict):
                    held[name] = steps_that_stay(before.codes[part][name], says, kept)
        return kept

    def _whose(self, table: str, index: Index) -> Index:
        return self.rooms.climb(index, table, self.made.tables[0])

    # ------------------------------------------------------------------ which rows there are

    def _place_owned(self, table: str, codes: Coded) -> None:
        """One row for every reference that has one."""
        parents, edges = [], []
        for edge, (owner, reference) in enumerate(self.made.owned_by[table]):
            rows = np.arange(self.tables[owner].rows, dtype=np.int64)
            if reference in self._related(owner).exists:
                name = f"exists({reference})"
                part: Part = "rows" if name in self.tables[owner].codes["rows"] else "head"
                rows = np.flatnonzero(self.tables[owner].codes[part][name]).astype(np.int64)
            parents.append(rows)
            edges.append(np.full(len(rows), edge, dtype=np.int64))
        parent, edge_of = np.concatenate(parents), np.concatenate(edges)
        several = len(parents) > 1
        ones = np.ones(len(parent), dtype=np.int64)
        placed = Placed(len(parent), parent, ones * 0, ones, codes, owner=edge_of if several else None)
        if several:
            # Sorted by entity, as every table is.
            self.tables[table] = placed
            order = np.lexsort((parent, edge_of, self._whose(table, np.arange(len(parent), dtype=np.int64))))
            placed = Placed(len(parent), parent[order], ones * 0, ones, codes, owner=edge_of[order])
        self._place(table, placed)

    def _place_children(self, table: str, codes: Coded) -> None:
        owner = self.made.owners[table][0]
        above, keys = self.tables[owner].rows, self.keys[owner]
        # The context is generated before the table has rows: it stands on the parent's.
        self.tables[table] = _placed(np.zeros(0, dtype=np.int64), codes)
        settled = self._group(table, "context")
        if settled is not None:
            self._fill_context(settled, codes["context"], above)
        closed = self._nothing_to_refer_to(table, above)
        unrolling = self._related(table).unrolling
        if unrolling is None or settled is None:
            counts = codes["context"].get("count", np.zeros(above, dtype=np.uint8)).astype(np.int64)
            if table in self.made.never_empty:
                counts = np.clip(counts, 1, self.made.entity_caps.get(table))
            counts[closed] = 0
            counts[self._beyond_the_entity(table, counts)] = 0
            if settled is not None:
                self._write_counts(table, settled, codes["context"], counts)
            self._place(table, _placed(counts, codes))
            return
        sizes = dict(zip(settled.columns.names, settled.columns.sizes, strict=True))
        draws = RowDraws(keys, purpose_of(f"unroll {table}"))

        def redraw(rows: Index, label: str) -> Codes:
            return self._sample(settled, rows, label)

        agree_on_absence(unrolling, codes["context"], sizes, redraw, draws)
        found = at_most(unroll(unrolling, codes["context"], sizes, draws), self.made.caps[table], keys)
        found = found.take(np.flatnonzero(~closed[found.parent]).astype(np.int64))
        gone = self._beyond_the_entity(table, np.bincount(found.parent, minlength=above).astype(np.int64))
        self._place_unrolled(table, found.take(np.flatnonzero(~gone[found.parent]).astype(np.int64)), codes, above)

    def _beyond_the_entity(self, table: str, counts: Index) -> NDArray[np.bool_]:
        """Parents whose list is dropped whole, so that their entity has no more rows than it may."""
        cap, owner = self.made.entity_caps.get(table), self.made.owners[table][0]
        if cap is None:
            return np.zeros(len(counts), dtype=np.bool_)
        draws = RowDraws(self.keys[owner], purpose_of(f"lists of {table}"))
        return beyond_the_entity(counts, self._whose(owner, np.arange(len(counts), dtype=np.int64)), cap, draws)

    def _write_counts(self, table: str, settled: SettledGroup, codes: dict[str, CodeArray], counts: Index) -> None:
        """What was decided since the model drew: a list that is not there has no first values either."""
        if "count" not in codes:
            return
        closed = (counts == 0) & (codes["count"] > 0)
        codes["count"] = np.minimum(counts, settled.columns.size("count") - 1).astype(codes["count"].dtype)
        for name, first in self.made.codecs[table].firsts.items():
            if f"first({name})" in codes:
                codes[f"first({name})"][closed] = first.size - 1

    def _place_unrolled(self, table: str, found: UnrolledRows, codes: Coded, above: int) -> None:
        """Rows with their public keys. The head draws the keys of the rest; what comes too often is dropped."""
        related = self._related(table)
        unrolling = related.unrolling
        assert unrolling is not None
        self._place(table, _placed(np.bincount(found.parent, minlength=above).astype(np.int64), codes))
        free: dict[str, CodeArray] = {}
        head = self._group(table, "head")
        key = found.key
        if head is not None and unrolling.key in head.columns:
            rest = np.flatnonzero(key == NOWHERE).astype(np.int64)
            key, gone = self._draw_rest(table, head, found, rest, codes["head"])
            if len(gone):
                kept = self._drop(table, gone)
                found, key = found.take(kept), key[kept]
                codes = {part: dict(columns) for part, columns in self.tables[table].codes.items()}
        size = smallest_dtype(max(1, len(unrolling.vocabulary)))
        free[unrolling.key] = unrolling.known_as(key).astype(size)
        for name, values in found.derived.items():
            drawn = codes["head"].get(name)
            free[name] = (values if drawn is None else np.where(values < 0, drawn, values)).astype(np.uint32)
        placed = self.tables[table]
        self.tables[table] = Placed(
            placed.rows,
            placed.parent,
            placed.position,
            placed.siblings,
            codes,
            free=free,
            targets={VIA: unrolling.vocabulary.places[key]},
        )

    def _draw_rest(
        self, table: str, head: SettledGroup, found: UnrolledRows, rest: Index, codes: dict[str, CodeArray]
    ) -> tuple[Index, Index]:
        """The keys of all rows, those of the rest drawn; and the rows that have a key too many."""
        unrolling = self._related(table).unrolling
        assert unrolling is not None
        draws = RowDraws(self.keys[table], purpose_of(f"{head.name} of the rest"))
        _make_room(head, codes, len(found.parent))
        self._draw(head, codes, np.arange(len(found.parent), dtype=np.int64), "at first")
        own = np.flatnonzero(unrolling.slot < 0)
        key = np.where(found.key == NOWHERE, codes[unrolling.key].astype(np.int64), found.key)
        for attempt in range(REDRAWS + 1):
            often = repeated(found.parent, [key.astype(np.uint64)], unrolling.multiplicity)
            wrong = np.intersect1d(np.union1d(rest[unrolling.slot[key[rest]] >= 0], often), rest)
            if not len(wrong) or attempt == REDRAWS:
                break
            self._draw(head, codes, wrong, f"again {attempt}")
            if attempt > REDRAWS // 2:
                codes[unrolling.key][wrong] = own[draws.at(str(attempt), wrong).integers(0, len(own))]
            key[wrong] = codes[unrolling.key][wrong]
        codes[unrolling.key][:] = key
        for name, values in found.derived.items():
            codes[name] = np.where(values < 0, codes[name], values).astype(codes[name].dtype)
        return key, np.union1d(wrong, repeated(found.parent, [key.astype(np.uint64)], unrolling.multiplicity))

    def _nothing_to_refer_to(self, table: str, above: int) -> NDArray[np.bool_]:
        """Parents that can have no row here: the row would have to refer to one that its entity does not have."""
        closed = np.zeros(above, dtype=np.bool_)
        parent = self.made.owners[table][0]
        for says in (self._related(table).references or {}).values():
            if isinstance(says, Ranked) and not says.nullable:
                entity = self._whose(parent, np.arange(above, dtype=np.int64))
                closed |= self._crowd(says.table).count[entity] == 0
        return closed

    # ------------------------------------------------------------------ what is in them

    def _fill_context(self, settled: SettledGroup, codes: dict[str, CodeArray], rows: int) -> None:
        _make_room(settled, codes, rows)
        position = self.tables[self.rooms.space(settled.group.table, "context")].position
        looks_back = any(h.lag > 0 and (h.table, h.part) == (settled.group.table, "context") for h in settled.group.history)
        for step, index in enumerate(_steps(position) if looks_back else [np.arange(rows, dtype=np.int64)]):
            self._draw(settled, codes, index, str(step))

    def _fill_rows(self, table: str) -> None:
        placed, related = self.tables[table], self._related(table)
        groups = [settled for part in OWN_PARTS if (settled := self._group(table, part)) is not None]
        # The head of an association was drawn with its keys.
        groups = [g for g in groups if not (g.group.part == "head" and placed.codes["head"])]
        codes: Coded = {part: dict(placed.codes[part]) for part in ("head", "rows", "context")}
        targets = dict(placed.targets)
        same_item = np.full(placed.rows, NOWHERE, dtype=np.int64) if related.items else None
        ranked = self._ranked(table)
        for name in ranked:
            targets[name] = np.full(placed.rows, NOWHERE, dtype=np.int64)
        elapsed = elapsing(self.made, self.chunk, table)
        free = {**placed.free, **elapsed.free}
        self.tables[table] = placed = Placed(
            placed.rows, placed.parent, placed.position, placed.siblings, codes, placed.owner, free, targets, same_item
        )
        for settled in groups:
            _make_room(settled, codes[settled.group.part], placed.rows)
        if codes["head"] and all(g.group.part != "head" for g in groups):
            self._resolve(table, ranked, codes["head"], targets, np.arange(placed.rows, dtype=np.int64))
        last = self._last_of_item(table, groups)
        steps = [np.arange(placed.rows, dtype=np.int64)]
        if elapsed.advances or _look_back(groups):
            steps = _steps(placed.position)
        for step, index in enumerate(steps):
            elapsed.begin(index)
            for settled in groups:
                self._draw(settled, codes[settled.group.part], index, str(step))
                if settled.group.part == "head":
                    self._resolve(table, ranked, codes["head"], targets, index)
                    if last is not None and same_item is not None:
                        items = tuple(codes["head"][item] for item in related.items)
                        same_item[index] = last.step(placed.parent, placed.position, items, index)
            elapsed.end(index, {**codes["head"], **codes["rows"]})
        self._keep_apart(table, groups)
        self._resolve_steps(table)

    def _last_of_item(self, table: str, groups: list[SettledGroup]) -> LastOfItem | None:
        items = self._related(table).items
        head = next((g for g in groups if g.group.part == "head"), None)
        if not items or head is None:
            return None
        parents = int(self.tables[table].parent.max(initial=-1)) + 1
        return LastOfItem(parents, tuple(head.columns.size(item) for item in items))

    def _ranked(self, table: str) -> dict[str, Ranked]:
        return {name: says for name, says in (self._related(table).references or {}).items() if isinstance(says, Ranked)}

    def _resolve(
        self, table: str, ranked: Mapping[str, Ranked], codes: Mapping[str, CodeArray], targets: dict[str, Index], index: Index
    ) -> None:
        for name, says in ranked.items():
            entity = self._whose(table, index)
            targets[name][index] = rank_targets(codes[name][index], says, self._crowd(says.table), entity)

    def _resolve_steps(self, table: str) -> None:
        placed = self.tables[table]
        rows = np.arange(placed.rows, dtype=np.int64)
        for name, says in (self._related(table).references or {}).items():
            if isinstance(says, Stepped):
                codes = placed.codes["rows"].get(name, placed.codes["head"].get(name))
                if codes is not None and isinstance(placed.targets, dict):
                    placed.targets[name] = step_targets(codes, says, rows)

    def _keep_apart(self, table: str, groups: list[SettledGroup]) -> None:
        """Rows of one parent that came out alike, where a key says that they are not."""
        for number, wanted in enumerate(self.made.distinct.get(table, ())):
            placed = self.tables[table]
            drawn = {g.group.part: g for g in groups if set(wanted.drawn) & set(g.columns.names)}
            codes = {**placed.free, **placed.codes["head"], **placed.codes["rows"]}
            if not self.made.keeps_apart(table, wanted) or not set(wanted.drawn) <= set(codes):
                continue
            label = f"apart {number}"

            def redraw(
                rows: Index,
                attempt: str,
                drawn: Mapping[Part, SettledGroup] = drawn,
                placed: Placed = placed,
                label: str = label,
            ) -> None:
                for part, settled in drawn.items():
                    held = placed.codes[part]
                    if isinstance(held, dict):
                        self._draw(settled, held, rows, f"{label} {attempt}")
                # Another code leads to another row.
                if "head" in drawn and isinstance(placed.targets, dict):
                    self._resolve(table, self._ranked(table), placed.codes["head"], placed.targets, rows)

            # What was unrolled with its key is drawn over its domain at once: its model has spoken for the whole list.
            columns = self.made.codecs[table].columns
            sizes = {name: columns[name].size for name in wanted.drawn if name in columns}
            related = self._related(table)
            coded = {name: related.reference(name) or columns.get(name) for name in wanted.drawn}
            nulls = {name: one.size - 1 for name, one in coded.items() if one is not None and getattr(one, "nullable", False)}
            draws = RowDraws(self.keys[table], purpose_of(f"{label} {table}"))
            gone = keep_apart(placed.parent, codes, wanted.drawn, sizes, redraw, draws, nulls)
            if len(gone):
                self._drop(table, gone)

    def _sample(self, settled: SettledGroup, rows: Index, label: str) -> Codes:
        """What the model of a group draws for these rows, under a name for the occasion."""
        group, model = settled.group, self.made.models[settled.name]
        history = self.rooms.history(group, settled.history, rows, getattr(model, "looks_at", None))
        space, purpose = self.rooms.space(group.table, group.part), f"{settled.name} {label}"
        if draws_row_by_row(model):
            return ask(model, history, RowDraws(self.keys[space][rows], purpose_of(purpose)))
        entities = self.entities[self._whose(space, rows)]
        if self.some and group.table == self.made.tables[0]:
            return ask_whole_blocks(model, history, self.seed, purpose, entities)
        return ask_by_block(model, history, self.seed, purpose, entities)

    def _draw(self, settled: SettledGroup, codes: dict[str, CodeArray], index: Index, label: str) -> None:
        """Draw these rows of a group, mended where a code cannot be. ``label`` names the occasion: another one, other numbers."""
        if not len(index):
            return
        group = settled.group

        def resample(wrong: NDArray[np.bool_], attempt: str) -> Codes:
            return self._sample(settled, index[wrong], f"{label} {attempt}")

        drawn = dict(self._sample(settled, index, label).columns)
        own = group.part != "context"
        space = self.rooms.space(group.table, group.part)
        draws = RowDraws(self.keys[space][index], purpose_of(f"{settled.name} {label} mended"))
        position = self.tables[group.table].position[index] if own else None
        make_possible(drawn, structural_codes(self.made.codecs[group.table], drawn, position), resample, draws)
        for name, says in (self._related(group.table).references or {}).items():
            if name not in drawn or not own:
                continue
            if isinstance(says, Ranked):
                limits = rank_limits(name, says, self._crowd(says.table), self._whose(group.table, index))
                keep_within(drawn, limits, resample, draws)
            elif isinstance(says, Stepped):
                keep_within(drawn, step_limits(name, says, self.tables[group.table].position[index]), resample, draws)
        for name, values in drawn.items():
            codes[name][index] = values

    def _crowd(self, table: str) -> Crowd:
        if table not in self.crowds:
            self.crowds[table] = Crowd.of(self.rooms, table, self.made.tables[0])
        return self.crowds[table]

    def _group(self, table: str, part: Part) -> SettledGroup | None:
        return next((g for g in self.made.plan.groups if (g.group.table, g.group.part) == (table, part)), None)

    def _related(self, table: str) -> TableRelations:
        return self.made.related.get(table, TableRelations())


def _look_back(groups: Sequence[SettledGroup]) -> bool:
    """Whether a row looks at earlier ones that these very groups have written."""
    return any(
        h.table == g.group.table and h.part != "context" and (h.lag > 0 or h.kind == "same_item")
        for g in groups
        for h in g.group.history
    )


def _make_room(settled: SettledGroup, codes: dict[str, CodeArray], rows: int) -> None:
    for name, size in zip(settled.columns.names, settled.columns.sizes, strict=True):
        codes[name] = np.zeros(rows, dtype=smallest_dtype(size))


def _placed(counts: Index, codes: Mapping[Part, Mapping[str, CodeArray]]) -> Placed:
    parent, position, siblings = place_children(counts)
    return Placed(len(parent), parent, position, siblings, codes)


def _steps(position: Index) -> list[Index]:
    """The rows by position: the first of every sequence, the second, and so on."""
    # Sixteen bits are sorted by their digits, several times faster.
    narrow = position.astype(np.uint16) if int(position.max(initial=0)) < 1 << 16 else position
    order = np.argsort(narrow, kind="stable").astype(np.int64)
    ends = np.cumsum(np.bincount(position)) if len(position) else np.zeros(0, dtype=np.int64)
    return [order[start:end] for start, end in zip(np.r_[0, ends[:-1]], ends, strict=True)] if len(position) else []
