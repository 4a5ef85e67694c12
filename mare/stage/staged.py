"""`Staged`: the truncated tables of one fit, and the views that the curator may ask.

    source ─► **stage** ─► views ─► curator

Only `fit`, the evaluation and the audit come here. Everything in this room is exact, hence secret.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from mare.codec import Siblings, TableCodec, encode_table
from mare.domain import Coarsenings, CodeArray, Domain, smallest_dtype
from mare.errors import InternalError
from mare.graph.groups import ColumnGroup, Part
from mare.ports import Source
from mare.release.placing import Index, Placed, Rooms, seen_columns

from . import truncation
from .database import staging_database
from .loading import load_rows
from .needs import TableNeeds
from .view import StagedView

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa


@dataclass(frozen=True)
class LocalNotes:
    """What staging left out, in true numbers: for the person at the keyboard, never for a released file."""

    read: Mapping[str, int]
    orphans: Mapping[str, int]
    truncated: Mapping[str, int]


@dataclass(frozen=True, eq=False)
class StagedTable:
    """One truncated table: where its rows stand, and the database that still holds their values."""

    needs: TableNeeds
    relation: str
    entity: Index
    """Of each row, its entity."""
    parent: Index
    position: Index
    parents: int
    """Rows of the parent table; for the entity table, its own."""

    @property
    def counts(self) -> Index:
        """Children of every parent row, zero included."""
        return np.bincount(self.parent, minlength=self.parents).astype(np.int64)


@dataclass(frozen=True, eq=False)
class Staged:
    """All tables of the entity, truncated and placed. Lives as long as the staging database does."""

    connection: duckdb.DuckDBPyConnection
    tables: Mapping[str, StagedTable]
    """Parents before children."""
    entities: int
    notes: LocalNotes
    _placed: dict[str, Placed] = field(default_factory=dict)

    @property
    def parents(self) -> dict[str, str | None]:
        return {name: table.needs.parent for name, table in self.tables.items()}

    @property
    def rooms(self) -> Rooms:
        return Rooms({name: () if parent is None else (parent,) for name, parent in self.parents.items()}, self._placed)

    def entity_view(self, name: str, table: str) -> StagedView:
        """The entities themselves, one row each: for their number."""
        staged = self.tables[table]
        return StagedView(name, Domain((), ()), 1, self.entities, staged.entity, {})

    def count_view(self, name: str, table: str, most_rows: int) -> StagedView:
        """How many children the parents of a table have: one row per parent row."""
        staged = self.tables[table]
        size = staged.needs.max_rows + 1
        codes = np.minimum(staged.counts, size - 1).astype(smallest_dtype(size))
        owner = self._owner(table, "context")
        return StagedView(name, Domain(("count",), (size,)), most_rows, self.entities, owner, {"count": codes})

    def encode(self, table: str, codec: TableCodec) -> None:
        """Values into codes, from here on all that is left of the table."""
        staged = self.tables[table]
        values = self._values(staged)
        siblings = Siblings(staged.parents, staged.parent, staged.position)
        encoded = encode_table(codec, values, siblings)
        counts = staged.counts
        context: dict[str, CodeArray] = {f"first({name})": codes for name, codes in encoded.firsts.items()}
        if staged.needs.parent is not None:
            size = staged.needs.max_rows + 1
            context["count"] = np.minimum(counts, size - 1).astype(smallest_dtype(size))
        self._placed[table] = Placed(
            len(staged.parent),
            staged.parent,
            staged.position,
            counts[staged.parent],
            {"rows": dict(encoded.rows), "context": context},
        )

    def view(
        self, group: ColumnGroup, columns: Domain, history: Domain, most_rows: int, coarsenings: Coarsenings | None = None
    ) -> StagedView:
        """The view of one column group, history joined upwards. It may look back as far as the group's own history does."""
        rooms = self.rooms
        memory = max((h.lag for h in group.history if (h.table, h.part) == (group.table, group.part)), default=0)
        position = rooms.tables[rooms.space(group.table, group.part)].position
        codes = rooms.tables[group.table].codes[group.part]
        owner = self._owner(group.table, group.part)
        everyone = np.arange(len(owner), dtype=np.int64)

        def look(name: str) -> CodeArray:
            if name in columns:
                return codes[name]
            return rooms.look(group, *seen_columns(group, history)[name], history.size(name), everyone)

        domain = history.merge(columns)
        return StagedView(group.name, domain, most_rows, self.entities, owner, {}, look, memory, position, coarsenings or {})

    def _owner(self, table: str, part: Part) -> Index:
        if part != "context":
            return self.tables[table].entity
        parent = self.tables[table].needs.parent
        if parent is None:
            raise InternalError(f"table {table!r} has a context but no parent")
        return self.tables[parent].entity

    def _values(self, staged: StagedTable) -> dict[str, pa.Array]:
        names = staged.needs.values
        if not names:
            return {}
        columns = ", ".join(f"v{i}" for i in range(len(names)))
        table = self.connection.sql(f"SELECT {columns} FROM {staged.relation} ORDER BY place").to_arrow_table()
        return {name: table.column(i).combine_chunks() for i, name in enumerate(names)}


@contextmanager
def stage(source: Source, tables: tuple[TableNeeds, ...], key: bytes, *, folder: Path | None = None) -> Iterator[Staged]:
    """Read the tables from an open source, once, and truncate them. ``key`` is the fit's secret: it decides which rows stay.

    The staging database is gone when this is left, also after an error.
    """
    with staging_database(folder) as connection:
        staged: dict[str, StagedTable] = {}
        read: dict[str, int] = {}
        orphans: dict[str, int] = {}
        truncated: dict[str, int] = {}
        for number, needs in enumerate(tables):
            raw, hashed, owned, kept, placed = (f"{step}_{number}" for step in ("raw", "hashed", "owned", "kept", "placed"))
            # One transaction a table: a commit per statement would wait for the disk each time, for a file nobody keeps.
            connection.begin()
            load_rows(connection, raw, needs, source.read(needs.name, needs.columns))
            truncation.hash_rows(connection, raw, hashed, key)
            truncation.check_unique(connection, hashed, needs)
            read[needs.name] = _rows(connection, raw)
            if needs.parent is None:
                truncation.place_entities(connection, hashed, placed)
            else:
                truncation.own_rows(connection, hashed, staged[needs.parent].relation, owned, needs)
                truncation.truncate_rows(connection, owned, kept, needs)
                truncation.place_rows(connection, kept, placed, needs)
                orphans[needs.name] = read[needs.name] - _rows(connection, owned)
                truncated[needs.name] = _rows(connection, owned) - _rows(connection, placed)
            parents = len(staged[needs.parent].entity) if needs.parent is not None else _rows(connection, placed)
            staged[needs.name] = _table(connection, needs, placed, parents)
            for spent in (raw, hashed, owned, kept):
                connection.execute(f"DROP TABLE IF EXISTS {spent}")
            connection.commit()
        entities = len(next(iter(staged.values())).entity)
        yield Staged(connection, staged, entities, LocalNotes(read, orphans, truncated))


def _rows(connection: duckdb.DuckDBPyConnection, relation: str) -> int:
    ((count,),) = connection.execute(f"SELECT count(*) FROM {relation}").fetchall()
    return int(count)


def _table(connection: duckdb.DuckDBPyConnection, needs: TableNeeds, relation: str, parents: int) -> StagedTable:
    arrays = connection.sql(f"SELECT entity, parent, position FROM {relation} ORDER BY place").fetchnumpy()
    entity, parent, position = (np.asarray(arrays[name], dtype=np.int64) for name in ("entity", "parent", "position"))
    if needs.parent is None:
        # An entity has no parent: every row stands alone, as its own.
        parent = np.arange(len(entity), dtype=np.int64)
    return StagedTable(needs, relation, entity, parent, position, parents)
