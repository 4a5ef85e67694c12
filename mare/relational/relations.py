"""`Relations`: how the links of the tables are coded, beyond what a column's codec says. The fit and the sampler read the same.

    schema + public tables + keys chosen with budget ─► **Relations** ─► codes of references and associations

A reference to a public table is the place of its key; to a row of the same entity, that row's place among the entity's own;
to an earlier row, how many rows back it lies. The stage codes true references and the sampler given ones by the same rules.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from mare.codec import LearnedDomain, LearnedDomains, LearnedValues, TableCodec
from mare.codec.building import Labels
from mare.codec.category import Names, Redrawn
from mare.domain import CodeArray, smallest_dtype
from mare.graph.dag import DatasetDag
from mare.graph.modelled import goes_along, table_parts
from mare.planning.domains import row_bounds
from mare.schema import Schema
from mare.schema.columns import PACES, AnyColumn, Identifier
from mare.schema.condition_grammar import Condition, parse_condition
from mare.schema.layout import Above, PublicPart, going_with, part_above, public_parts
from mare.schema.links import EarlierReference, PublicReference, SameEntityReference

from .conditions_met import CodedEnding
from .placing import NOWHERE, STRANGER, Index
from .public import PublicTable, PublicTables, Texts, Vocabulary
from .unrolling import Unrolling, unrolling


@dataclass(frozen=True, eq=False)
class Words:
    """A reference to a public table: code i is the i-th of the chosen keys; then the rest, keys that were not chosen and those
    that the table does not have; the last one is NULL where it may be NULL."""

    vocabulary: Vocabulary
    chosen: tuple[int, ...]
    nullable: bool = False
    redraws: bool = True
    """Whether the rest is drawn again among the chosen keys when rows are written; else it is NULL."""
    weights: tuple[float, ...] = ()
    """How frequent the chosen keys are, where that was counted."""
    others: tuple[float, ...] | None = None
    """How frequent the keys are that were not chosen, as far as that is known, where the rest is drawn among them."""

    @property
    def size(self) -> int:
        """Of what models see. Codes from here on are those of the other keys: rows are written with them."""
        return len(self.chosen) + 1 + self.nullable

    @property
    def rest(self) -> Redrawn | None:
        """What is drawn again when rows are written."""
        if self.redraws and self.others is not None and len(self._others):
            return Redrawn(len(self.chosen), self.others, range(self.size, self.size + len(self._others)))
        return Redrawn(len(self.chosen), self.weights) if self.redraws and self.chosen else None

    @cached_property
    def _others(self) -> Index:
        """The keys of the table that were not chosen."""
        return np.setdiff1d(np.arange(len(self.vocabulary), dtype=np.int64), self.chosen)

    def encode(self, keys: Index) -> CodeArray:
        """Codes of public keys, as `find_keys` found them. NULL in a reference that has none is the rest too."""
        slots = np.full(len(self.vocabulary) - STRANGER, len(self.chosen), dtype=np.int64)
        slots[NOWHERE] = self.size - 1
        slots[list(self.chosen)] = np.arange(len(self.chosen))
        return slots[keys].astype(smallest_dtype(self.size))

    def of_codes(self) -> tuple[int | None, ...]:
        """Of each code that rows are written with, the key; None for NULL and for a rest that was not drawn again."""
        return (*self.chosen, *([None] * (self.size - len(self.chosen))), *self._others.tolist())

    def decode(self, codes: NDArray[np.integer]) -> Index:
        """Places of the keys' rows in the public table; `NOWHERE` for NULL, and for a rest that there is no key to draw from."""
        chosen, others = (self.vocabulary.places[keys] for keys in (list(self.chosen), self._others))
        places = np.concatenate([chosen, np.full(self.size - len(chosen), NOWHERE), others])
        return places[codes.astype(np.int64)].astype(np.int64)


@dataclass(frozen=True)
class Ranked:
    """A reference to a row of the same entity by its place among the entity's own; the last code is NULL where nullable.

    ``onward``: a sequence that goes along those rows in time says how many of them it goes on from the last one that it referred
    to. So what it has learned of one entity holds for another that has more of them.
    """

    table: str
    size: int
    nullable: bool
    onward: bool = False


@dataclass(frozen=True)
class Stepped:
    """A reference to an earlier row: code i is i + 1 rows back; then the row itself, where allowed; last none."""

    back: int
    itself: bool
    nullable: bool

    @property
    def size(self) -> int:
        return self.back + self.itself + 1


Reference = Words | Ranked | Stepped


@dataclass(frozen=True, eq=False)
class WholeKey:
    """A key of several columns, each of which is drawn by itself, or comes from a row above."""

    columns: tuple[str, ...]
    """The columns here."""
    keys: Vocabulary
    parts: tuple[str | Above, ...]
    """Of each of the columns, what it is drawn as."""

    @cached_property
    def order(self) -> tuple[int, ...]:
        """Places of the columns: what comes from above before what gives way."""
        return tuple(sorted(range(len(self.parts)), key=lambda place: isinstance(self.parts[place], str)))

    @cached_property
    def listed(self) -> tuple[Mapping[str, int], ...]:
        """The values that keys have, numbered, column by column in that order."""
        return tuple({text: number for number, text in enumerate(sorted({key[p] for key in self.keys.keys}))} for p in self.order)

    @cached_property
    def numbers(self) -> NDArray[np.int64]:
        """The keys, each as the numbers of its values."""
        pairs = list(zip(self.order, self.listed, strict=True))
        return np.array([[number[key[place]] for place, number in pairs] for key in self.keys.keys], dtype=np.int64)


@dataclass(frozen=True, eq=False)
class TableRelations:
    """The links of one table."""

    unrolling: Unrolling | None = None
    references: Mapping[str, Reference] | None = None
    """Those that a model generates."""
    items: tuple[str, ...] = ()
    """What `history_by` tells items apart by."""
    exists: tuple[str, ...] = ()
    """Identifiers, and references to a pool or to a row of one's own, that may be missing: whether they are is modelled."""
    runs: frozenset[str] = frozenset()
    """Identifiers of those that rows which follow each other may share."""
    rooms: Mapping[str, str] = field(default_factory=dict)
    """Free history of the context, by name: the column that the time below a row of the parent is for."""
    ending: Condition | None = None
    """What ends a sequence, where that stands in the context."""
    columns: Mapping[str, AnyColumn] | None = None
    """Those that it may be about."""
    wholes: tuple[WholeKey, ...] = ()
    """Keys of public tables that have several columns."""
    names: Mapping[str, Names] = field(default_factory=dict)
    """Columns that go with others, and what is known of them."""

    def coded_ending(self, codec: TableCodec) -> CodedEnding | None:
        return None if self.ending is None else CodedEnding(self.ending, self.columns or {}, codec)

    def reference(self, name: str) -> Reference | None:
        return (self.references or {}).get(name)


Relations = Mapping[str, TableRelations]


def relations(
    schema: Schema,
    public: PublicTables,
    chosen: Mapping[str, Sequence[int]],
    counts: Mapping[str, Sequence[float]] | None = None,
    learned: LearnedDomains | None = None,
) -> dict[str, TableRelations]:
    """Of every table of the entity. ``chosen`` holds the keys that were selected with budget: of an association by its
    table's name, of a reference by `table.reference`; where it is silent, all keys count. ``counts`` are their noisy counts;
    ``learned`` holds, by `table.reference`, keys that the public table does not have."""
    dag = DatasetDag.of(schema)
    bounds, _ = row_bounds(schema, dag)
    related = {}
    for name in dag.tables("entity", "private", "owned"):
        described, parts = schema.tables[name], table_parts(schema, dag, name)
        modelled = {c.column for c in (*parts.context, *parts.head, *parts.rows) if c.role in ("value", "derived")}
        references: dict[str, Reference] = {}
        for part in public_parts(schema, name):
            declared = described.references[part.reference]
            if isinstance(declared, PublicReference) and part.name in modelled:
                at = f"{name}.{part.name}"
                strangers = (learned or {}).get(at)
                table = public[declared.table]
                references[part.name] = _words(part, declared, table, chosen.get(at), (counts or {}).get(at, ()), strangers)
        for reference, declared in described.references.items():
            if reference not in modelled:
                continue
            if isinstance(declared, SameEntityReference):
                link = schema.parent(name)
                size, onward = bounds[declared.table].rows + declared.nullable, link is not None and goes_along(link, declared)
                references[reference] = Ranked(declared.table, size, declared.nullable, onward)
            elif isinstance(declared, EarlierReference):
                references[reference] = Stepped(declared.back, declared.itself, declared.nullable)
        exists = tuple(c.column for c in (*parts.head, *parts.rows) if c.role == "exists" and c.column is not None)
        ending = parse_condition(described.ends.when) if described.ends and any(c.role == "ends" for c in parts.context) else None
        unrolled = unrolling(schema, name, public, chosen.get(name))
        rooms = {room: room.removeprefix(f"room({name}.").removesuffix(")") for room in parts.rooms}
        runs = frozenset(c for c in exists if isinstance(kind := described.columns.get(c), Identifier) and kind.runs)
        wholes = _whole_keys(schema, name, public)
        pairs = {c: (of, (learned or {}).get(f"{name}.{c}")) for c, of in going_with(described, described.columns).items()}
        names = {
            c: Names(of, learned if isinstance(learned, LearnedValues) else LearnedValues(()))
            for c, (of, learned) in pairs.items()
        }
        own = (ending, described.columns, wholes, names)
        related[name] = TableRelations(unrolled, references, parts.items, exists, runs, rooms, *own)
    return related


def _words(
    part: PublicPart,
    reference: PublicReference,
    table: PublicTable,
    chosen: Sequence[int] | None,
    counts: Sequence[float],
    strangers: LearnedDomain | None,
) -> Words:
    vocabulary = _vocabulary(reference, table, part.there)
    keys = tuple(range(len(vocabulary))) if chosen is None else tuple(chosen)
    others = None
    if isinstance(strangers, LearnedValues):
        vocabulary = vocabulary.with_strangers(strangers.values, table.rows.num_rows) if strangers.values else vocabulary
        others = strangers.within[0] if strangers.within else None
    return Words(vocabulary, keys, reference.nullable, reference.rest is not None, tuple(counts), others)


def _vocabulary(reference: PublicReference, table: PublicTable, columns: Sequence[str]) -> Vocabulary:
    vocabulary = table.vocabulary(columns, reference.where)
    if reference.learn and not len(vocabulary):
        # An excerpt may lack a whole domain: then it restricts nothing, and which keys occur is learned all the same.
        vocabulary = table.vocabulary(columns)
    return vocabulary


def _whole_keys(schema: Schema, name: str, public: PublicTables) -> tuple[WholeKey, ...]:
    """The references whose columns are drawn one by one, or come from above."""
    described, drawn, wholes = schema.tables[name], {p.columns[0]: p.name for p in public_parts(schema, name)}, list[WholeKey]()
    for reference, declared in described.references.items():
        here = described.reference_columns(reference)
        if not isinstance(declared, PublicReference) or len(here) < 2:
            continue
        above = {column: up for column in here if (up := part_above(schema, name, column)) is not None}
        if set(here) <= {*drawn, *above} and not set(here) <= set(above):
            table = public[declared.table]
            keys = _vocabulary(declared, table, declared.column or table.key)
            wholes.append(WholeKey(here, keys, tuple(above.get(column) or drawn[column] for column in here)))
    return tuple(wholes)


NONE, NEW, SAME = 0, 1, 2
"""Codes of an identifier: there is none, a new one, or that of the row before."""


def run_codes(values: NDArray[np.int64], there: NDArray[np.bool_], parent: Index, *, nullable: bool) -> CodeArray:
    """Whether each row has an identifier, and whether it is that of the row before it under the same parent."""
    same = np.zeros(len(values), dtype=np.bool_)
    same[1:] = (values[1:] == values[:-1]) & (parent[1:] == parent[:-1]) & there[1:] & there[:-1]
    return np.where(same, SAME, np.where(there | (not nullable), NEW, NONE)).astype(np.uint8)


def run_starts(codes: CodeArray, position: Index) -> Index:
    """Of each row, the row whose identifier it has: its own, or that of the row that began the run."""
    before = np.r_[NONE, codes[:-1]] if len(codes) else codes
    begins = (codes != SAME) | (position == 0) | (before == NONE)
    return np.maximum.accumulate(np.where(begins, np.arange(len(codes), dtype=np.int64), 0))


def rank_codes(target: Index, entity: Index, there: Index, size: int, nullable: bool, onward: Index | None = None) -> CodeArray:
    """A same-entity reference as the place of its row among the entity's own: ``there`` holds the entity of each target row.

    Of a reference that goes ``onward``, the parent of each row: counted from the last row that a sibling before it referred to.
    """
    ranks = target - np.searchsorted(there, entity)
    if onward is not None:
        ranks = np.maximum(ranks - _reached(np.where(target < 0, NOWHERE, ranks), onward), 0)
    none = size - 1 if nullable else 0
    codes = np.where(target < 0, none, np.minimum(ranks, size - 1 - nullable))
    return codes.astype(smallest_dtype(size))


def pace_codes(ahead: Index, remaining: Index) -> CodeArray:
    """How many rows a sequence still has to go along for each of its own that is to come, by powers; the first code: none."""
    power = np.round(2 * np.log2(np.maximum(ahead, 1) / (remaining + 1.0))).astype(np.int64)
    return np.where(ahead <= 0, 0, np.clip(power + PACES // 2, 1, PACES - 1)).astype(smallest_dtype(PACES))


def paces_along(target: Index, entity: Index, there: Index, parent: Index) -> CodeArray:
    """The same of rows that are all there; ``there`` holds the entity of each target row."""
    first, counts = np.searchsorted(there, entity), np.bincount(parent)
    reached = _reached(np.where(target < 0, NOWHERE, target - first), parent)
    position = np.arange(len(parent), dtype=np.int64) - (np.cumsum(counts) - counts)[parent]
    return pace_codes(np.searchsorted(there, entity, side="right") - first - 1 - reached, counts[parent] - 1 - position)


def _reached(ranks: Index, parent: Index) -> Index:
    """Of each row, the furthest rank that a sibling before it has; 0 where none has any."""
    before = np.where(np.r_[True, parent[1:] != parent[:-1]], NOWHERE, np.r_[NOWHERE, ranks[:-1]])[: len(ranks)]
    # Parents follow each other: what one of them reached is less than anything of the next.
    step = int(ranks.max(initial=0)) + 2
    furthest = np.maximum.accumulate(before + 1 + parent * step) - parent * step - 1 if len(ranks) else before
    reached: Index = np.maximum(furthest, 0)
    return reached


def back_codes(target: Index, back: int, itself: bool) -> CodeArray:
    """An earlier reference as how many rows back; then the row itself, where allowed; last "none, or further"."""
    distance = np.arange(len(target), dtype=np.int64) - target
    none = back + itself
    codes = np.full(len(target), none, dtype=np.int64)
    near = (target >= 0) & (distance >= 1) & (distance <= back)
    codes[near] = distance[near] - 1
    if itself:
        codes[(target >= 0) & (distance == 0)] = back
    return codes.astype(smallest_dtype(none + 1))


def previous_of_item(parent: Index, items: Sequence[CodeArray]) -> Index:
    """Of each row, the previous row of the same parent with the same items, or `NOWHERE`. Rows come in order."""
    rows = len(parent)
    order = np.lexsort((np.arange(rows), *items, parent))
    same = np.zeros(rows, dtype=bool)
    if rows:
        same[1:] = parent[order][1:] == parent[order][:-1]
        for item in items:
            same[1:] &= item[order][1:] == item[order][:-1]
    previous = np.full(rows, NOWHERE, dtype=np.int64)
    previous[order[same]] = order[np.flatnonzero(same) - 1]
    return previous


def reference_labels(related: TableRelations) -> Mapping[str, Labels]:
    """By reference, or by the key of an association: of each code, the public key; None for NULL."""
    labels: dict[str, Labels] = {}
    for name, reference in (related.references or {}).items():
        if isinstance(reference, Words):
            chosen = _joined([reference.vocabulary.keys[key] for key in reference.chosen])
            labels[name] = (*chosen, *([None] * (reference.size - len(chosen))))
    if (unrolling := related.unrolling) is not None:
        keys = unrolling.vocabulary.keys
        labels[unrolling.key] = _joined([keys[key] for key in unrolling.chosen] if unrolling.rest == "drop" else keys)
    return labels


def _joined(keys: Sequence[Texts]) -> Labels:
    return tuple(", ".join(key) for key in keys)
