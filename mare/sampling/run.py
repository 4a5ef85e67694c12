"""`Run`: one chunk while it is made. Rows get their places and keys here, and models are asked for their codes.

Which rows there are is decided in `generation`, what is in them in `row_filling`.

Randomness is counter-based and keyed by (seed, purpose, entity): chunks and threads change nothing. Every row has a key of its
own, made from its parent's (`mare.domain.draws`). A model that draws one number a row gets those of its rows. One that does not
say so (`row_by_row`) gets a plain generator for each block of entities: a block is never split. The sampling seed is free:
nothing here touches the privacy guarantee, a sample is post-processing of the release.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from mare.codec.ticks import Mask
from mare.domain import (
    CodeArray,
    Codes,
    EvenDraws,
    Keys,
    RowDraws,
    as_generator,
    child_keys,
    even_bits,
    numbered_keys,
    purpose_of,
    smallest_dtype,
)
from mare.errors import PlanError
from mare.graph.groups import Part
from mare.models import FittedModel
from mare.relational.placing import Index, Placed, PlacedTables, place_children
from mare.relational.relations import Ranked, Stepped, TableRelations, pace_codes
from mare.release import SettledGroup

from .fitted_tables import Chunk, FittedTables
from .possible_codes import (
    Crowd,
    keep_within,
    make_possible,
    rank_limits,
    rank_targets,
    step_limits,
    steps_that_stay,
    structural_codes,
)

Coded = dict[Part, dict[str, CodeArray]]
OWN_PARTS: tuple[Part, ...] = ("head", "rows")


@dataclass(eq=False)
class Run:
    """One chunk while it is made."""

    made: FittedTables
    chunk: Chunk
    tables: dict[str, Placed]
    """Those of the chunk, to be filled in."""
    seed: int
    some: bool = False
    crowds: dict[str, Crowd] = field(default_factory=dict)
    onward: dict[tuple[str, str], Index] = field(default_factory=dict)
    """Of references that go onward, by table and name: the rank that the sequence has reached with each row."""

    @property
    def placed(self) -> PlacedTables:
        return self.chunk.placed

    @property
    def keys(self) -> dict[str, Keys]:
        return self.chunk.keys

    @property
    def entities(self) -> Index:
        return self.chunk.entities

    def place(self, table: str, placed: Placed) -> None:
        """Set the rows of a table; from here on they have keys."""
        self.tables[table] = placed
        owners, purpose = self.made.owners[table], purpose_of(table)
        if not owners:
            self.keys[table] = numbered_keys(purpose_of(f"entities of seed {self.seed}"), self.entities)
        elif placed.owner is None:
            self.keys[table] = child_keys(self.keys[owners[0]], placed.parent, placed.position, purpose)
        else:
            keys = np.empty(placed.rows, dtype=np.uint64)
            for edge, owner in enumerate(owners):
                mine = placed.owner == edge
                keys[mine] = child_keys(self.keys[owner], placed.parent[mine], placed.position[mine], purpose + edge)
            self.keys[table] = keys

    def drop(self, table: str, gone: Index) -> Index:
        """Take out rows that cannot be, before anything depends on them. Returns the places of those that stay."""
        before = self.tables[table]
        kept = np.setdiff1d(np.arange(before.rows), gone).astype(np.int64)
        codes: Coded = {part: {name: drawn[kept] for name, drawn in before.codes[part].items()} for part in OWN_PARTS}
        for name, reference in (self.related(table).references or {}).items():
            for part in OWN_PARTS:
                if isinstance(reference, Stepped) and name in codes[part]:
                    codes[part][name] = steps_that_stay(before.codes[part][name], reference, kept)
        self.tables[table] = _only(before, kept, codes)
        self.keys[table] = self.keys[table][kept]
        return kept

    def whose(self, table: str, index: Index) -> Index:
        return self.placed.climb(index, table, self.made.order[0])

    def sample(self, settled: SettledGroup, rows: Index, label: str) -> Codes:
        """What the model of a group draws for these rows, under a name for the occasion."""
        group, model = settled.group, self.made.models[settled.name]
        history = self.placed.history(group, settled.history, rows, getattr(model, "looks_at", None))
        space, purpose = self.placed.space(group.table, group.part), f"{settled.name} {label}"
        if draws_row_by_row(model):
            keys = self.keys[space][rows]
            # What stands once for an entity decides how much there will be of everything else: no noise that can be spared.
            if space == self.made.order[0]:
                size = even_bits(self.made.plan.entities)
                even = EvenDraws(keys, self.entities[rows], purpose_of(purpose), self.seed, size)
                return model.sample(history, as_generator(even))
            return model.sample(history, as_generator(RowDraws(keys, purpose_of(purpose))))
        entities = self.entities[self.whose(space, rows)]
        if self.some and group.table == self.made.order[0]:
            return ask_whole_blocks(model, history, self.seed, purpose, entities)
        return ask_by_block(model, history, self.seed, purpose, entities)

    def draw(self, settled: SettledGroup, codes: Mapping[str, CodeArray], index: Index, label: str) -> None:
        """Draw these rows of a group, mended where a code cannot be. ``label`` names the occasion: another one, other numbers."""
        if not len(index):
            return
        group = settled.group

        def resample(wrong: Mask, attempt: str) -> Codes:
            return self.sample(settled, index[wrong], f"{label} {attempt}")

        drawn = dict(self.sample(settled, index, label).columns)
        own = group.part != "context"
        space = self.placed.space(group.table, group.part)
        draws = RowDraws(self.keys[space][index], purpose_of(f"{settled.name} {label} mended"))
        position = self.tables[group.table].position[index] if own else None
        make_possible(drawn, structural_codes(self.made.codecs[group.table], drawn, position), resample, draws)
        for name, reference in (self.related(group.table).references or {}).items():
            if name not in drawn or not own:
                continue
            if isinstance(reference, Ranked):
                crowd, reached = self.crowd(reference.table), self.reached(group.table, name, index)
                limits = rank_limits(name, reference, crowd, self.whose(group.table, index), reached)
                keep_within(drawn, limits, resample, draws)
            elif isinstance(reference, Stepped):
                keep_within(drawn, step_limits(name, reference, self.tables[group.table].position[index]), resample, draws)
        for name, values in drawn.items():
            codes[name][index] = values

    def crowd(self, table: str) -> Crowd:
        if table not in self.crowds:
            self.crowds[table] = Crowd.of(self.placed, table, self.made.order[0])
        return self.crowds[table]

    def reached(self, table: str, name: str, index: Index) -> Index:
        """Of rows whose reference goes onward, the rank that the row before has reached; 0 for all others."""
        ranks, position = self.onward.get((table, name)), self.tables[table].position[index]
        if ranks is None:
            return np.zeros(len(index), dtype=np.int64)
        return np.where(position > 0, ranks[np.maximum(index - 1, 0)], 0)

    def pace(self, table: str, name: str, reference: Ranked, index: Index) -> CodeArray:
        """Where rows begin whose reference goes onward: how many rows there are still to go along, for each that is to come."""
        placed, ahead = self.tables[table], self.crowd(reference.table).count[self.whose(table, index)] - 1
        return pace_codes(ahead - self.reached(table, name, index), placed.siblings[index] - 1 - placed.position[index])

    def resolve(self, table: str, codes: Mapping[str, CodeArray], targets: Mapping[str, Index], index: Index) -> None:
        """The rows that the references of these rows lead to, now that their codes are drawn."""
        for name, reference in self.ranked(table).items():
            entity, crowd, reached = self.whose(table, index), self.crowd(reference.table), self.reached(table, name, index)
            places = rank_targets(codes[name][index], reference, crowd, entity, reached)
            targets[name][index] = places
            if reference.onward:
                ranks = self.onward.setdefault((table, name), np.zeros(self.tables[table].rows, dtype=np.int64))
                ranks[index] = np.where(places < 0, reached, places - crowd.first[entity])

    def group(self, table: str, part: Part) -> SettledGroup | None:
        return next((g for g in self.made.plan.groups if (g.group.table, g.group.part) == (table, part)), None)

    def related(self, table: str) -> TableRelations:
        return self.made.related.get(table, TableRelations())

    def ranked(self, table: str) -> dict[str, Ranked]:
        references = self.related(table).references or {}
        return {name: reference for name, reference in references.items() if isinstance(reference, Ranked)}


def make_room(settled: SettledGroup, codes: dict[str, CodeArray], rows: int) -> None:
    for name, size in zip(settled.columns.names, settled.columns.sizes, strict=True):
        codes[name] = np.zeros(rows, dtype=smallest_dtype(size))


def placed_under(counts: Index, codes: Mapping[Part, Mapping[str, CodeArray]]) -> Placed:
    parent, position, siblings = place_children(counts)
    return Placed(len(parent), parent, position, siblings, codes)


def _only(placed: Placed, kept: Index, codes: Coded) -> Placed:
    """The rows ``kept`` of a table, with these codes of theirs. Nothing may depend on it yet."""
    counts = np.bincount(placed.parent[kept], minlength=int(placed.parent.max(initial=-1)) + 1).astype(np.int64)
    parent, position, siblings = place_children(counts)
    return replace(
        placed,
        rows=len(kept),
        parent=parent,
        position=position,
        siblings=siblings,
        codes={**codes, "context": placed.codes["context"]},
        free={name: known[kept] for name, known in placed.free.items()},
        targets={name: places[kept] for name, places in placed.targets.items()},
        same_item=None,
        written={name: known[kept] for name, known in placed.written.items()},
    )


def by_position(position: Index) -> list[Index]:
    """The rows by position: the first of every sequence, the second, and so on."""
    # Sixteen bits are sorted by their digits, several times faster.
    narrow = position.astype(np.uint16) if int(position.max(initial=0)) < 1 << 16 else position
    order = np.argsort(narrow, kind="stable").astype(np.int64)
    ends = np.cumsum(np.bincount(position)) if len(position) else np.zeros(0, dtype=np.int64)
    return [order[start:end] for start, end in zip(np.r_[0, ends[:-1]], ends, strict=True)] if len(position) else []


BLOCK = 1024
"""Entities that share a plain generator. A constant of the method, not a setting: another one gives other rows."""


def stream(seed: int, purpose: str, block: int) -> np.random.Generator:
    """A plain generator for one purpose and one block of entities, whatever ran before it."""
    # The block is in the upper half of Philox's counter: streams of 2^128 draws each, which never meet.
    return np.random.Generator(np.random.Philox(key=purpose_of(f"{seed} {purpose}"), counter=block << 128))


def draws_row_by_row(model: FittedModel) -> bool:
    return bool(getattr(model, "row_by_row", False))


def ask_by_block(model: FittedModel, history: Codes, seed: int, purpose: str, entities: Index) -> Codes:
    """What a model draws that knows nothing of rows' own numbers: each block of ``entities`` with its own generator."""
    block = entities // BLOCK
    order = np.argsort(block, kind="stable")
    blocks, starts = np.unique(block[order], return_index=True)
    parts = []
    for number, rows in zip(blocks.tolist(), np.split(order, starts[1:]), strict=True):
        parts.append(model.sample(history.take(rows), stream(seed, purpose, number)))
    back = np.empty(len(order), dtype=np.int64)
    back[order] = np.arange(len(order))
    return Codes(len(order), {n: np.concatenate([part[n] for part in parts])[back] for n in parts[0].columns})


def ask_whole_blocks(model: FittedModel, history: Codes, seed: int, purpose: str, entities: Index) -> Codes:
    """The same, where only some entities of a block are wanted: the whole block is drawn, so that no entity depends on which
    others are asked for."""
    if history.columns:
        raise PlanError(
            "--where: a model of the entity's table draws many rows at once and looks around: conditions need another."
        )
    blocks, which = np.unique(entities // BLOCK, return_inverse=True)
    every = (blocks[:, None] * BLOCK + np.arange(BLOCK)).ravel()
    return ask_by_block(model, Codes(len(every), {}), seed, purpose, every).take(which * BLOCK + entities % BLOCK)
