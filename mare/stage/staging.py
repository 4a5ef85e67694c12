"""From a source to truncated, placed tables: read once, own, match, cut, place. What comes out is a `Staged`.

Truncation comes first and cascades: a table is cut before its children are owned, so that nothing later ever sees a row
beyond a cap. Owners come before what they own; one transaction a table.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from mare.errors import InternalError
from mare.ports import Source
from mare.release.public import Texts

from . import truncation
from .associations import load_vocabulary, match_keys
from .database import staging_database
from .loading import load_rows
from .needs import TableNeeds
from .owners import adopt_orphans, note_owned, own_by_reference, place_by_column
from .staged import LocalNotes, Staged, read_table

if TYPE_CHECKING:
    import duckdb

Vocabularies = Mapping[str, Sequence[Texts]]
"""The keys of public tables by who refers to them: `prescriptions` (an association), `labs.itemid` (a reference)."""


@contextmanager
def stage(
    source: Source,
    tables: tuple[TableNeeds, ...],
    key: bytes,
    *,
    folder: Path | None = None,
    vocabularies: Vocabularies | None = None,
) -> Iterator[Staged]:
    """Read the tables from an open source, once, and truncate them. ``key`` is the fit's secret: it decides which rows stay.

    The staging database is gone when this is left, also after an error.
    """
    with staging_database(folder) as connection:
        work = _Work(connection, source, key, tables)
        for name, keys in (vocabularies or {}).items():
            work.vocabulary(name, keys)
        for needs in tables:
            # One transaction a table: a commit per statement would wait for the disk each time, for a file nobody keeps.
            connection.begin()
            work.table(needs)
            connection.commit()
        yield work.staged()


@dataclass(eq=False)
class _Work:
    connection: duckdb.DuckDBPyConnection
    source: Source
    key: bytes
    tables: tuple[TableNeeds, ...]
    entities: int = 0
    hashed: dict[str, str] = field(default_factory=dict)
    """Tables that were read and are not placed yet."""
    placed: dict[str, tuple[str, TableNeeds]] = field(default_factory=dict)
    noted: dict[str, str] = field(default_factory=dict)
    """Where orphans become entities: per table, the rows that belong to somebody, before any were cut."""
    vocabularies: dict[str, str] = field(default_factory=dict)
    read: dict[str, int] = field(default_factory=dict)
    orphans: dict[str, int] = field(default_factory=dict)
    truncated: dict[str, int] = field(default_factory=dict)
    outside: dict[str, int] = field(default_factory=dict)

    def vocabulary(self, name: str, keys: Sequence[Texts]) -> None:
        self.vocabularies[name] = f"vocabulary_{len(self.vocabularies)}"
        load_vocabulary(self.connection, self.vocabularies[name], keys, len(keys[0]) if keys else self._width(name))

    def _width(self, name: str) -> int:
        """How many columns an empty vocabulary has."""
        for needs in self.tables:
            if needs.name == name:
                return len(needs.via)
            for link in needs.links:
                if f"{needs.name}.{link.name}" == name:
                    return len(link.columns)
        raise InternalError(f"nobody refers to the vocabulary {name!r}")

    def table(self, needs: TableNeeds) -> None:
        number = len(self.placed)
        owned, kept, placed = (f"{step}_{number}" for step in ("owned", "kept", "placed"))
        hashed = self._hashed(needs)
        if needs.held_by is not None:
            place_by_column(self.connection, hashed, placed, self.key)
            self.entities = self._rows(placed)
        elif needs.parent is not None:
            mine = self._own(needs, hashed, owned)
            truncation.truncate_rows(self.connection, owned, kept, needs)
            truncation.place_rows(self.connection, kept, placed, needs)
            # Below a row that was made anew for each of its owners, a row may be there more often than it was read.
            self.orphans[needs.name] = max(0, self.read[needs.name] - mine)
            self.truncated[needs.name] = mine - self._rows(placed)
        elif needs.owned_by:
            own_by_reference(self.connection, hashed, placed, needs, self.placed)
            self.orphans[needs.name] = max(0, self.read[needs.name] - self._rows(placed))
        else:
            truncation.place_entities(self.connection, hashed, placed)
            self.entities = self._rows(placed)
        self.placed[needs.name] = (placed, needs)
        if any(table.orphans == "entity" for table in self.tables):
            self.noted[needs.name] = placed if needs.held_by is not None else f"noted_{number}"
            if needs.held_by is None:
                tables = {name: described for name, (_, described) in self.placed.items()}
                note_owned(self.connection, hashed, self.noted[needs.name], needs, self.noted, tables)
        for spent in (owned, kept, *([] if needs.held_by else [hashed])):
            self.connection.execute(f"DROP TABLE IF EXISTS {spent}")

    def _hashed(self, needs: TableNeeds) -> str:
        """The table's rows with their hashes. An entity by column reads the table that holds it; that is read once."""
        if needs.held_by is not None:
            return self._hashed(next(table for table in self.tables if table.name == needs.held_by))
        if needs.name in self.hashed:
            return self.hashed.pop(needs.name)
        number = len(self.read)
        raw, hashed = f"raw_{number}", f"hashed_{number}"
        unread = load_rows(self.connection, raw, needs, self.source.read(needs.name, needs.columns))
        self.outside |= {f"{needs.name}.{name}": count for name, count in unread.items()}
        truncation.hash_rows(self.connection, raw, hashed, self.key)
        truncation.check_unique(self.connection, hashed, needs)
        self.read[needs.name] = self._rows(raw)
        self.connection.execute(f"DROP TABLE {raw}")
        if self.tables[0].held_by == needs.name and not self.placed:
            self.hashed[needs.name] = hashed
        return hashed

    def _own(self, needs: TableNeeds, hashed: str, owned: str) -> int:
        """The rows that belong to somebody, and how many; of an association only those whose public key is known stay."""
        parents = owned if not needs.via else f"{owned}_any"
        assert needs.parent is not None
        if needs.orphans == "entity":
            chain = self._chain(needs.parent)
            self.entities += adopt_orphans(
                self.connection, hashed, parents, needs, chain, self.entities, self.key, self.noted[needs.parent]
            )
        else:
            truncation.own_rows(self.connection, hashed, self.placed[needs.parent][0], parents, needs)
        mine = self._rows(parents)
        if needs.via:
            match_keys(self.connection, parents, self.vocabularies[needs.name], owned, needs)
            self.connection.execute(f"DROP TABLE {parents}")
        return mine

    def _chain(self, table: str) -> list[tuple[str, TableNeeds]]:
        """The placed tables from this one up to the entity."""
        found = [self.placed[table]]
        while found[-1][1].owners:
            found.append(self.placed[found[-1][1].owners[0]])
        return found

    def _rows(self, relation: str) -> int:
        ((count,),) = self.connection.execute(f"SELECT count(*) FROM {relation}").fetchall()
        return int(count)

    def staged(self) -> Staged:
        # Unknown parents may have joined a table after it was placed, so all are read at the end.
        sizes = {name: self._rows(relation) for name, (relation, _) in self.placed.items()}
        tables = {
            name: read_table(self.connection, needs, relation, sizes[needs.parent or name])
            for name, (relation, needs) in self.placed.items()
        }
        notes = LocalNotes(self.read, self.orphans, self.truncated)
        return Staged(self.connection, tables, self.entities, notes, self.vocabularies, outside=self.outside)
