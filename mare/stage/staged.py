"""`Staged`: the truncated tables of one fit, and the views that the curator may ask.

    source ─► **stage** ─► views ─► curator

Only the stage door (`mare.stage_door`) and the audit come here. Everything in this room is exact, hence secret.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mare.codec import Points, ReadTable, Siblings, TableCodec, code_table
from mare.codec import read_table as read_values
from mare.codec.elapsed import elapsed_name
from mare.domain import Coarsenings, CodeArray, Domain, smallest_dtype
from mare.errors import InternalError
from mare.graph.groups import ColumnGroup, Part
from mare.relational.placing import NOWHERE, Index, Placed, PlacedTables, seen_columns
from mare.relational.relations import Ranked, Stepped, TableRelations, Words, back_codes, previous_of_item, rank_codes
from mare.relational.unrolling import FoldedContext, Unrolling
from mare.schema.relative import Anchor

from .needs import TableNeeds
from .references import find_keys, find_rows
from .truncation import Cuts
from .view import StagedView

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

KEY = "key"
"""The one column of a view that public keys are chosen by."""


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


@dataclass(frozen=True, eq=False)
class StagedTable:
    """One truncated table: where its rows stand, and the database that still holds their values."""

    needs: TableNeeds
    relation: str
    """Where the rows stand, with their keys and references."""
    raw: str
    """What was read, values included, by row."""
    row: Index
    """Of each row, its row there; `NOWHERE` for one that stands in for a missing one."""
    entity: Index
    """Of each row, its entity."""
    parent: Index
    position: Index
    parents: int
    """Rows of the parent table; for the entity table, its own."""
    unknown: NDArray[np.bool_] | None = None
    """Rows that stand in for a missing parent; None where there are none."""
    owner: Index | None = None
    """Of each row, which of several references owns it."""
    key: Index | None = None
    """Associative: of each row, the code of its public key."""

    @property
    def counts(self) -> Index:
        """Children of every parent row, zero included."""
        return np.bincount(self.parent, minlength=self.parents).astype(np.int64)


@dataclass(frozen=True, eq=False)
class Staged:
    """All tables of the entity, truncated and placed. Lives as long as the staging database does."""

    connection: duckdb.DuckDBPyConnection
    tables: dict[str, StagedTable]
    """Owners before what they own."""
    entities: int
    notes: LocalNotes
    vocabularies: Mapping[str, str] = field(default_factory=dict)
    """Public keys by who refers to them: the relation that holds them."""
    _placed: dict[str, Placed] = field(default_factory=dict)
    _points: dict[str, Mapping[str, Points]] = field(default_factory=dict)
    """Of each encoded table, where its ordered columns stand: tables below may be anchored there."""
    _rest: dict[str, Index] = field(default_factory=dict)
    """Of an association whose rest are ordinary rows, those rows."""
    outside: dict[str, int] = field(default_factory=dict)
    """By column: values that no domain holds, as far as tables are encoded."""
    _reads: dict[str, ReadTable] = field(default_factory=dict)
    """Tables that were read, bins still open, and are not encoded yet."""

    @property
    def owners(self) -> dict[str, tuple[str, ...]]:
        return {name: table.needs.owners for name, table in self.tables.items()}

    @property
    def placed(self) -> PlacedTables:
        return PlacedTables(self.owners, self._placed)

    def entity_view(self, name: str, table: str) -> StagedView:
        """The entities themselves, one row each: for their number. Orphans are protected, but are none of them."""
        known = self.tables[table].entity[self._known(table)]
        return StagedView(name, Domain((), ()), 1, len(known), known, {})

    def count_view(self, name: str, table: str, most_rows: int) -> StagedView:
        """How many children the parents of a table have: one row per parent row."""
        staged = self.tables[table]
        size = staged.needs.max_rows + 1
        known = self._known(self._space(table, "context"))
        codes = np.minimum(staged.counts, size - 1).astype(smallest_dtype(size))[known]
        owner = self._owner(table, "context")[known]
        return StagedView(name, Domain(("count",), (size,)), most_rows, self.entities, owner, {"count": codes})

    def key_view(self, name: str, table: str, reference: str | None, keys: int, most_rows: int) -> StagedView:
        """Which public keys the rows of a table refer to; the last code is none of them."""
        staged = self.tables[table]
        if reference is None:
            found = staged.key
        else:
            number, link = staged.needs.link(reference)
            columns = [f"r{number}_{i}" for i in range(len(link.columns))]
            found = find_keys(self.connection, staged.relation, columns, self.vocabularies[f"{table}.{reference}"])
        if found is None:
            raise InternalError(f"table {table!r} refers to no public key")
        codes = np.where(found < 0, keys, found).astype(smallest_dtype(keys + 1))
        known = self._known(table)
        return StagedView(name, Domain((KEY,), (keys + 1,)), most_rows, self.entities, staged.entity[known], {KEY: codes[known]})

    def encode(self, table: str, codec: TableCodec, related: TableRelations | None = None) -> None:
        """Values into codes, from here on all that is left of the table."""
        staged, related = self.tables[table], related or TableRelations()
        rows = len(staged.parent)
        coded, targets = dict[str, CodeArray](), dict[str, Index]()
        self._encode_references(staged, related, coded, targets)
        # What was read when the bins were placed is what they are now filled with: bins change codes, never what is read.
        read = self._reads.pop(table, None) or self._read(staged, codec, related, coded)
        encoded = code_table(codec, read, _siblings(staged))
        coded |= encoded.rows
        for name, count in encoded.outside.items():
            self.outside[f"{table}.{name}"] = self.outside.get(f"{table}.{name}", 0) + count
        counts, context = staged.counts, dict[str, CodeArray]()
        free = {elapsed_name(name): codes for name, codes in encoded.elapsed.items()}
        folded: Mapping[str, CodeArray] = context
        if staged.needs.parent is not None:
            size = staged.needs.max_rows + 1
            context |= {f"first({name})": codes for name, codes in encoded.firsts.items()}
            context["count"] = np.minimum(counts, size - 1).astype(smallest_dtype(size))
        if related.unrolling is not None and staged.key is not None:
            folded = self._fold(staged, codec, related, coded, free)
        self._placed[table] = Placed(
            rows,
            staged.parent,
            staged.position,
            counts[staged.parent] if not staged.needs.owned_by else np.ones(rows, dtype=np.int64),
            {"rows": coded, "head": coded, "context": folded},
            owner=staged.owner,
            free=free,
            targets=targets,
            same_item=previous_of_item(staged.parent, [coded[item] for item in related.items]) if related.items else None,
            unknown=staged.unknown,
        )

    def read(self, table: str, codec: TableCodec, related: TableRelations | None = None) -> None:
        """Ticks and codes of a table whose bins may still be open, kept until it is encoded. Tables above it have been read."""
        staged, related = self.tables[table], related or TableRelations()
        given = dict[str, CodeArray]()
        self._encode_references(staged, related, given, {})
        self._reads[table] = self._read(staged, codec, related, given)

    def as_read(self, table: str) -> ReadTable:
        """What `read` found."""
        if table not in self._reads:
            raise InternalError(f"table {table!r} is measured before it is read")
        return self._reads[table]

    def _read(
        self, staged: StagedTable, codec: TableCodec, related: TableRelations, references: Mapping[str, CodeArray]
    ) -> ReadTable:
        table, given = staged.needs.name, dict(references)
        if related.unrolling is not None and staged.key is not None:
            given[related.unrolling.key] = _known_key(related.unrolling, staged.key)
        found = read_values(codec, self._values(staged), _siblings(staged), self._above(table, codec), given)
        self._points[table] = found.points
        return found

    def _above(self, table: str, codec: TableCodec) -> dict[Anchor, Points]:
        """Where the columns above stand that this table is anchored at, gathered for each of its rows."""
        staged = self.tables[table]
        places = {name: Placed(len(t.parent), t.parent, t.position, t.position, {}, t.owner) for name, t in self.tables.items()}
        rows = np.arange(len(staged.parent), dtype=np.int64)
        climb = PlacedTables(self.owners, places).climb
        return {a: self._points[a.scope][a.column].take(climb(rows, table, a.scope)) for a in codec.above}

    def _encode_references(
        self, staged: StagedTable, related: TableRelations, coded: dict[str, CodeArray], targets: dict[str, Index]
    ) -> None:
        table = staged.needs.name
        for number, link in enumerate(staged.needs.links):
            says = related.reference(link.name)
            if isinstance(says, Words):
                columns = [f"r{number}_{i}" for i in range(len(link.columns))]
                keys = find_keys(self.connection, staged.relation, columns, self.vocabularies[f"{table}.{link.name}"])
                coded[link.name] = says.encode(keys)
            elif isinstance(says, Ranked):
                there = self.tables[link.table]
                found = find_rows(self.connection, staged.relation, number, link, there.relation, within="entity")
                targets[link.name] = found
                coded[link.name] = rank_codes(found, staged.entity, there.entity, says.size, says.nullable)
            elif isinstance(says, Stepped):
                found = find_rows(self.connection, staged.relation, number, link, staged.relation, within="parent")
                coded[link.name] = back_codes(found, says.back, says.itself)
            elif link.name in related.exists:
                there = self.tables[link.table]
                edge = there.needs.owned_by.index((table, link.name))
                mine = there.parent if there.owner is None else there.parent[there.owner == edge]
                has = np.zeros(len(staged.parent), dtype=np.uint8)
                has[mine] = 1
                coded[f"exists({link.name})"] = has

    def _fold(
        self,
        staged: StagedTable,
        codec: TableCodec,
        related: TableRelations,
        coded: dict[str, CodeArray],
        free: dict[str, CodeArray],
    ) -> FoldedContext:
        unrolling = related.unrolling
        if unrolling is None or staged.key is None:
            raise InternalError(f"table {staged.needs.name!r} is no association")
        free[unrolling.key] = _known_key(unrolling, staged.key)
        coded[unrolling.key] = free[unrolling.key]
        derived = {}
        for name in unrolling.derived:
            reference = related.reference(name)
            derived[name] = (coded[name], codec.columns[name].size if reference is None else reference.size)
            free[name] = coded[name]
        if unrolling.rest == "rows":
            self._rest[staged.needs.name] = np.flatnonzero(unrolling.slot[staged.key] < 0).astype(np.int64)
        return FoldedContext(unrolling, staged.parents, staged.parent, staged.key, derived, staged.needs.max_rows)

    def view(
        self, group: ColumnGroup, columns: Domain, history: Domain, most_rows: int, coarsenings: Coarsenings | None = None
    ) -> StagedView:
        """The view of one column group, history joined upwards. It may look back as far as the group's own history does."""
        placed = self.placed
        memory = max((h.lag for h in group.history if (h.table, h.part) == (group.table, group.part)), default=0)
        space = placed.space(group.table, group.part)
        counted = self._known(space)
        if group.part == "head" and group.table in self._rest:
            # The unrolled rows have their key from the context; the head generates the others'.
            counted = self._rest[group.table]
        everyone = len(counted) == placed.tables[space].rows
        codes = placed.tables[group.table].codes[group.part]

        def look(name: str) -> CodeArray:
            if name in columns:
                return codes[name] if everyone else codes[name][counted]
            return placed.look(group, *seen_columns(group, history)[name], history.size(name), counted)

        owner, position = self._owner(group.table, group.part)[counted], placed.tables[space].position[counted]
        domain = history.merge(columns)
        return StagedView(group.name, domain, most_rows, self.entities, owner, {}, look, memory, position, coarsenings or {})

    def _space(self, table: str, part: Part) -> str:
        return PlacedTables(self.owners, {}).space(table, part)

    def _owner(self, table: str, part: Part) -> Index:
        return self.tables[self._space(table, part)].entity

    def _known(self, table: str) -> Index:
        """The rows that are counted: all but those that stand in for a missing one."""
        staged = self.tables[table]
        if staged.unknown is None:
            return np.arange(len(staged.parent), dtype=np.int64)
        return np.flatnonzero(~staged.unknown).astype(np.int64)

    def values(self, table: str) -> dict[str, pa.Array]:
        """The modelled columns of a table, as staged."""
        return self._values(self.tables[table])

    def known(self, table: str) -> Index:
        """The rows that are counted: all but those that stand in for a missing one."""
        return self._known(table)

    def _values(self, staged: StagedTable) -> dict[str, pa.Array]:
        names = staged.needs.values
        if not names:
            return {}
        columns = ", ".join(f"v{i}" for i in range(len(names)))
        table = self.connection.sql(f"SELECT {columns} FROM {staged.raw}").to_arrow_table()
        return {name: _taken(table.column(i), staged.row) for i, name in enumerate(names)}


def _taken(values: pa.ChunkedArray, rows: Index) -> pa.Array:
    """The values of these rows; NULL where there is no row. Texts have wide offsets: a column of them may exceed 2 GB."""
    import pyarrow as pa

    if pa.types.is_large_string(values.type):
        # Few texts stand in many rows: moving their numbers is faster than moving them.
        values = values.dictionary_encode()
    found = values.combine_chunks().take(pa.array(rows, mask=rows < 0))
    return found.dictionary_decode() if pa.types.is_dictionary(found.type) else found


def _siblings(staged: StagedTable) -> Siblings:
    """Rows with a parent stand beside each other; a row that references own stands alone."""
    if staged.needs.owned_by:
        rows = len(staged.parent)
        return Siblings(rows, np.arange(rows, dtype=np.int64), staged.position)
    return Siblings(staged.parents, staged.parent, staged.position)


def _known_key(unrolling: Unrolling, key: Index) -> CodeArray:
    return unrolling.known_as(key).astype(smallest_dtype(len(unrolling.vocabulary)))


def read_table(connection: duckdb.DuckDBPyConnection, needs: TableNeeds, relation: str, raw: str, parents: int) -> StagedTable:
    """Where the rows of a placed relation stand."""
    names = ["entity", "parent", "position", "unknown"]
    names += ["owner"] if len(needs.owned_by) > 1 else []
    # What stands in for a missing row has no key; nobody counts it, so any will do.
    asked = [f"coalesce(row, {NOWHERE}) AS row", *names, *(["coalesce(vk, 0) AS vk"] if needs.via else [])]
    arrays = connection.sql(f"SELECT {', '.join(asked)} FROM {relation} ORDER BY place").fetchnumpy()
    entity, parent, position = (np.asarray(arrays[name], dtype=np.int64) for name in names[:3])
    if not needs.owners:
        # An entity has no parent: every row stands alone, as its own.
        parent = np.arange(len(entity), dtype=np.int64)
    unknown = np.asarray(arrays["unknown"], dtype=np.bool_)
    return StagedTable(
        needs,
        relation,
        raw,
        np.asarray(arrays["row"], dtype=np.int64),
        entity,
        parent,
        position,
        parents,
        unknown if unknown.any() else None,
        np.asarray(arrays["owner"], dtype=np.int64) if "owner" in names else None,
        np.asarray(arrays["vk"], dtype=np.int64) if needs.via else None,
    )
