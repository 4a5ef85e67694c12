"""`Staged`: the truncated tables of one fit, and the views that the curator may ask.

    source ─► **stage** ─► views ─► curator

`StagedView` implements `mare.privacy.view.PrivateView`: exact answers over staged codes. Only the stage door
(`mare.stage_door`) and the audit come here. Everything in this room is exact, hence secret.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import duckdb
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from mare.codec import Points, ReadTable, TableCodec
from mare.codec.elapsed import pace_name
from mare.domain import Coarsenings, CodeArray, Domain, Marginal, smallest_dtype
from mare.errors import InternalError
from mare.graph.groups import ColumnGroup
from mare.graph.modelled import presence
from mare.relational.coding import Links, Uncoded, code_rows, points_above, points_linked, read_rows, told_rooms
from mare.relational.placing import STRANGER, Index, Placed, PlacedTables, context_codes, first_rows, rows_above, seen_columns
from mare.relational.relations import Ranked, Stepped, TableRelations, Words, back_codes, paces_along, rank_codes, run_codes
from mare.relational.unrolling import Unrolling
from mare.schema.layout import Shared

from . import kernel
from .needs import Link
from .staged_tables import StagedTable, add_to_vocabulary, find_keys, find_rows, without_rest
from .truncation import Cuts


def _nothing(name: str) -> CodeArray:
    raise InternalError(f"the view has no column {name!r}")


@dataclass(frozen=True, eq=False)
class StagedView:
    """The rows of one column group: one per owned row, each with its entity. Rows are sorted by entity and order."""

    name: str
    domain: Domain
    max_rows_per_entity: int
    """S: the cap that truncation has enforced, as the plan derived it. Not measured here."""
    all_entities: int
    owner: Index
    """Of each row, its entity."""
    columns: Mapping[str, CodeArray]
    look: Callable[[str], CodeArray] = field(default=_nothing)
    """Finds a column that is not among ``columns``: history is gathered when it is asked for, and kept."""
    memory: int = 0
    """How many rows back an axis may look."""
    position: Index | None = None
    """Of each row, its place in its sequence; needed where there is a memory."""
    coarsenings: Coarsenings = field(default_factory=dict)
    most_sequences: int | None = None
    """How many sequences an entity may have, where rows have an order: as many as rows that they belong to."""
    _gathered: dict[str, CodeArray] = field(default_factory=dict)

    def beginnings(self) -> StagedView:
        if self.position is None or self.most_sequences is None:
            raise InternalError(f"view {self.name!r} has no sequences, and so no first rows")
        first = np.flatnonzero(self.position == 0)

        def look(name: str) -> CodeArray:
            return self._codes(name)[first]

        most = min(self.most_sequences, self.max_rows_per_entity)
        name, owner = f"{self.name}, first rows", self.owner[first]
        return StagedView(name, self.domain, most, self.all_entities, owner, {}, look, coarsenings=self.coarsenings)

    def largest_entity(self) -> int:
        return int(self.rows_per_entity().max(initial=0))

    def entities(self) -> int:
        return self.all_entities

    def rows_per_entity(self) -> Index:
        return self._rows_per_entity

    @cached_property
    def _rows_per_entity(self) -> Index:
        return kernel.rows_per_entity(self._coded)

    def squared_norms(self, marginals: Sequence[Marginal]) -> Index:
        return kernel.squared_norms(self._coded, marginals)

    def counts(self, marginals: Sequence[Marginal], weights: Index | None = None) -> list[Index]:
        return kernel.count_dense(self._coded, marginals, weights)

    @cached_property
    def _coded(self) -> kernel.CodedRows:
        position = self.position if self.memory else None
        return kernel.CodedRows(self.domain, self.coarsenings, self.all_entities, self.owner, position, self._codes)

    def _codes(self, name: str) -> CodeArray:
        if name in self.columns:
            return self.columns[name]
        if name not in self._gathered:
            self._gathered[name] = self.look(name)
        return self._gathered[name]


KEY, ROWS = "key", "rows"
"""The one column of a view that public keys are chosen by; and of one that says how many rows entities have."""


@dataclass(frozen=True)
class LocalNotes:
    """What staging left out, in true numbers: for the person at the keyboard, never for a released file."""

    read: Mapping[str, int]
    orphans: Mapping[str, int]
    truncated: Mapping[str, Cuts]
    outside: Mapping[str, int] = field(default_factory=dict)
    """By column: values that no domain holds, which were clamped, made `other` or NULL."""
    unread: Mapping[str, int] = field(default_factory=dict)
    """By column: values that the source could not read as its own type; by table, rows of a file that it left out."""
    copies: Mapping[str, int] = field(default_factory=dict)
    """By table: rows that were made anew because their parents share a key."""
    changed: Mapping[str, int] = field(default_factory=dict)
    """By column that is the same in many rows: rows that say otherwise than the first of them."""
    undecoded: Mapping[str, int] = field(default_factory=dict)
    """By column: values with bytes that are no letters in the encoding that the source was read with."""


@dataclass(eq=False)
class Staged:
    """All tables of the entity, truncated and placed. Lives as long as the staging database does.

    Three verbs change it, in this order: `drop_rest`, `read`, `encode`. All else asks.
    """

    connection: duckdb.DuckDBPyConnection
    tables: dict[str, StagedTable]
    """Owners before what they own."""
    entities: int
    notes: LocalNotes
    vocabularies: Mapping[str, str] = field(default_factory=dict)
    """Public keys by who refers to them: the relation that holds them."""
    _reads: dict[str, tuple[Uncoded, ReadTable]] = field(default_factory=dict)
    """Tables that were read, bins still open, and are not encoded yet."""
    _points: dict[str, Mapping[str, Points]] = field(default_factory=dict)
    """Of each table that was read, where its ordered columns stand: tables below may be anchored there."""
    _placed: dict[str, Placed] = field(default_factory=dict)
    """Tables that are encoded."""
    _rest: dict[str, Index] = field(default_factory=dict)
    """Of an association whose rest are ordinary rows, those rows."""

    @property
    def owners(self) -> dict[str, tuple[str, ...]]:
        return {name: table.needs.owners for name, table in self.tables.items()}

    @property
    def placed(self) -> PlacedTables:
        return PlacedTables(self.owners, self._placed)

    def entity_view(self, name: str, table: str) -> StagedView:
        """The entities themselves, one row each: for their number. Orphans are protected, but are none of them."""
        known = self.tables[table].entity[self.tables[table].counted_rows]
        return StagedView(name, Domain((), ()), 1, len(known), known, {})

    def rows_view(self, name: str, table: str, entity: str, starts: Sequence[int]) -> StagedView:
        """How many rows of a table each entity has, in cells that begin at these numbers: one row per entity."""
        staged, owner = self.tables[table], self.tables[entity].entity[self.tables[entity].counted_rows]
        rows = np.bincount(staged.entity[staged.counted_rows], minlength=self.entities)[owner]
        codes = (np.searchsorted(np.asarray(starts), rows, side="right") - 1).astype(smallest_dtype(len(starts)))
        return StagedView(name, Domain((ROWS,), (len(starts),)), 1, self.entities, owner, {ROWS: codes})

    def key_view(self, name: str, table: str, reference: str | None, keys: int, most_rows: int) -> StagedView:
        """Which public keys the rows of a table refer to; then come those that the public table does not have, and NULL."""
        staged = self.tables[table]
        held = staged.key if reference is None else self._public_keys(staged, *staged.needs.link(reference))
        if held is None:
            raise InternalError(f"table {table!r} refers to no public key")
        size, known = keys + 2, staged.counted_rows
        codes = np.where(held == STRANGER, keys, np.where(held < 0, keys + 1, held)).astype(smallest_dtype(size))
        return StagedView(name, Domain((KEY,), (size,)), most_rows, self.entities, staged.entity[known], {KEY: codes[known]})

    def add_keys(self, name: str, keys: Sequence[str], first: int) -> None:
        """Keys that were learned, though the public table does not have them: with codes from ``first`` on."""
        add_to_vocabulary(self.connection, self.vocabularies[name], keys, first)

    def drop_rest(self, table: str, unrolling: Unrolling) -> None:
        """Drop the rows of an association that the rest of its vocabulary has no place for."""
        self.tables = dict(without_rest(self.connection, self.tables, table, unrolling))

    def read(self, table: str, codec: TableCodec, related: TableRelations | None = None) -> None:
        """Ticks and codes of a table whose bins may still be open, kept until it is encoded. Tables above it have been read."""
        staged, related = self.tables[table], related or TableRelations()
        around = PlacedTables(self.owners, {name: held.uncoded for name, held in self.tables.items()})
        rows = Uncoded(codec, related, self._links(staged, related), around)
        above = points_above(codec, rows.around, self._points.__getitem__)
        linked = points_linked(codec, rows.links.targets, len(staged.entity), self._points.__getitem__)
        read = read_rows(rows, self.values(table), {**above, **linked})
        self._reads[table], self._points[table] = (rows, read), read.points

    def as_read(self, table: str) -> ReadTable:
        """What `read` found."""
        if table not in self._reads:
            raise InternalError(f"table {table!r} is measured before it is read")
        return self._reads[table][1]

    def encode(self, table: str, codec: TableCodec, related: TableRelations | None = None) -> None:
        """Values into codes, from here on all that is left of the table."""
        staged = self.tables[table]
        if table not in self._reads:
            self.read(table, codec, related)
        # What was read when the bins were placed is what they are now filled with: bins change codes, never what is read.
        rows, read = self._reads.pop(table)
        most = staged.needs.max_rows if staged.needs.parent is not None else None
        self._placed[table], outside = code_rows(replace(rows, codec=codec), read, most)
        if rooms := told_rooms(codec, rows.related, self.placed, self._points.__getitem__):
            above = staged.needs.owners[0]
            self._placed[above] = replace(self._placed[above], free={**self._placed[above].free, **rooms})
        before = self.notes.outside
        counted = {f"{table}.{name}": count + before.get(f"{table}.{name}", 0) for name, count in outside.items()}
        self.notes = replace(self.notes, outside={**before, **counted})
        self._share(codec)
        unrolling = rows.related.unrolling
        if unrolling is not None and unrolling.rest == "rows" and staged.key is not None:
            self._rest[table] = np.flatnonzero(unrolling.slot[staged.key] < 0).astype(np.int64)

    def telling(self, shared: Shared) -> NDArray[np.bool_]:
        """Of each row of a table, whether it is the one that tells what is the same in others: the first of them."""
        around = PlacedTables(self.owners, {name: held.uncoded for name, held in self.tables.items()})
        above, tells = rows_above(shared, around), np.zeros(around.tables[shared.table].rows, dtype=np.bool_)
        tells[first_rows(above, len(self.tables[shared.above].parent))[above]] = True
        return tells

    def _share(self, codec: TableCodec) -> None:
        """What is the same in all rows below a row: into the context that holds it, and how many rows contradict it."""
        changed = dict(self.notes.changed)
        for shared in codec.shared:
            codes, size = self._placed[codec.table].codes["rows"][shared.column], codec.columns[shared.column].size
            above = rows_above(shared, self.placed)
            held = context_codes(above, len(self.tables[shared.above].parent), codes, size)
            if shared.holder != codec.table:
                holder = self._placed[shared.holder]
                context = {**holder.codes["context"], shared.name: held}
                self._placed[shared.holder] = replace(holder, codes={**holder.codes, "context": context})
            if shared.drift is None:
                changed[f"{codec.table}.{shared.column}"] = int((held[above] != codes).sum())
        self.notes = replace(self.notes, changed=changed)

    def _links(self, staged: StagedTable, related: TableRelations) -> Links:
        """Where references lead, and what the models are to know of it."""
        codes, free, targets, strangers = dict[str, CodeArray](), dict[str, CodeArray](), dict[str, Index](), dict[str, int]()
        for number, link in enumerate(staged.needs.links):
            coding = related.reference(link.name)
            if isinstance(coding, Words):
                keys = self._public_keys(staged, number, link)
                codes[link.name], strangers[link.name] = coding.encode(keys), int((keys == STRANGER).sum())
            elif isinstance(coding, Ranked):
                there = self.tables[link.table]
                rows = find_rows(self.connection, staged.relation, number, link, there.relation, within="entity")
                targets[link.name] = rows
                onward = staged.parent if coding.onward else None
                codes[link.name] = rank_codes(rows, staged.entity, there.entity, coding.size, coding.nullable, onward)
                if coding.onward:
                    free[pace_name(link.name)] = paces_along(rows, staged.entity, there.entity, staged.parent)
            elif isinstance(coding, Stepped):
                rows = find_rows(self.connection, staged.relation, number, link, staged.relation, within="parent")
                codes[link.name] = back_codes(rows, coding.back, coding.itself)
            elif link.name in related.exists:
                there = self.tables[link.table]
                edge = there.needs.owned_by.index((staged.needs.name, link.name))
                mine = there.parent if there.owner is None else there.parent[there.owner == edge]
                has = np.zeros(len(staged.parent), dtype=np.uint8)
                has[mine] = 1
                codes[presence(link.name)] = has
        codes |= self._present(staged, related.runs)
        return Links(codes, targets, staged.key, free, strangers)

    def _present(self, staged: StagedTable, runs: Collection[str]) -> dict[str, CodeArray]:
        """Whether identifiers and references are there of which nothing else is told."""
        if not (present := staged.needs.present):
            return {}
        there = [" AND ".join(f"e{n}_{i}" for i in range(len(columns))) for n, (_, columns) in enumerate(present)]
        rows = self.connection.sql(f"SELECT {', '.join(there)} FROM {staged.raw}").to_arrow_table()
        taken = [_taken(column, staged.row).fill_null(False) for column in rows.columns]
        codes = {
            presence(name): np.asarray(column.to_numpy(zero_copy_only=False), dtype=np.uint8)
            for (name, _), column in zip(present, taken, strict=True)
        }
        for name in runs:
            # Which one it is nobody asks; only whether it is that of the row before. Rows are sorted by it, so it is staged.
            place = staged.needs.order.index(name)
            texts = self.connection.sql(f"SELECT hash(o{place}, ot{place}) >> 1 FROM {staged.raw}").to_arrow_table()
            values = np.asarray(_taken(texts.column(0), staged.row).fill_null(0).to_numpy(zero_copy_only=False), dtype=np.int64)
            nullable = staged.needs.described[name].nullable
            codes[presence(name)] = run_codes(values, codes[presence(name)] > 0, staged.parent, nullable=nullable)
        return codes

    def _public_keys(self, staged: StagedTable, number: int, link: Link) -> Index:
        columns = [f"r{number}_{i}" for i in range(len(link.columns))]
        return find_keys(self.connection, staged.relation, columns, self.vocabularies[f"{staged.needs.name}.{link.name}"])

    def view(
        self, group: ColumnGroup, columns: Domain, history: Domain, most_rows: int, coarsenings: Coarsenings | None = None
    ) -> StagedView:
        """The view of one column group, history joined upwards. It may look back as far as the group's own history does."""
        placed = self.placed
        memory = max((h.lag for h in group.history if (h.table, h.part) == (group.table, group.part)), default=0)
        space = placed.space(group.table, group.part)
        counted = self.tables[space].counted_rows
        if group.part == "head" and group.table in self._rest:
            # The unrolled rows have their key from the context; the head generates the others'.
            counted = self._rest[group.table]
        everyone = len(counted) == placed.tables[space].rows
        codes = placed.tables[group.table].codes[group.part]

        def look(name: str) -> CodeArray:
            if name in columns:
                return codes[name] if everyone else codes[name][counted]
            return placed.look(group, *seen_columns(group, history)[name], history.size(name), counted)

        owner, position = self.tables[space].entity[counted], placed.tables[space].position[counted]
        domain = history.merge(columns)
        return StagedView(group.name, domain, most_rows, self.entities, owner, {}, look, memory, position, coarsenings or {})

    def values(self, table: str) -> dict[str, pa.Array]:
        """The modelled columns of a table, as staged."""
        staged = self.tables[table]
        names = staged.needs.values
        if not names:
            return {}
        columns = ", ".join(map(staged.needs.value_sql, names))
        rows = self.connection.sql(f"SELECT {columns} FROM {staged.raw}").to_arrow_table()
        return {name: _taken(rows.column(i), staged.row) for i, name in enumerate(names)}


def _taken(values: pa.ChunkedArray, rows: Index) -> pa.Array:
    """The values of these rows; NULL where there is no row. Texts have wide offsets: a column of them may exceed 2 GB."""
    if pa.types.is_large_string(values.type):
        # Few texts stand in many rows: moving their numbers is faster than moving them.
        values = values.dictionary_encode()
    taken = values.combine_chunks().take(pa.array(rows, mask=rows < 0))
    return taken.dictionary_decode() if pa.types.is_dictionary(taken.type) else taken
