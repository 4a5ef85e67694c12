"""From a source to truncated, placed tables: read once, own, match, cut, place. What comes out is a `Staged`.

Truncation comes first and cascades: a table is cut before its children are owned, so that nothing later ever sees a row
beyond a cap. Owners come before what they own.

True rows live in the staging database and nowhere else, and not for long: DuckDB in memory, with a private, temporary folder for
what memory cannot hold, readable by its owner alone and removed when the stage is left, whatever happened. Extensions are never
installed or loaded: staging reaches neither the network nor other files.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa

from mare.errors import InternalError, SourceError, is_a_stop
from mare.files import hold_folder
from mare.ports import Forgiving, Source
from mare.relational.placing import Index
from mare.relational.public import Texts

from .loading import Collations, load_by_column, load_rows, reading_of
from .needs import TableNeeds
from .staged import LocalNotes, Staged
from .staged_tables import StagedTable, load_vocabulary, read_places
from .truncation import (
    Cuts,
    OwnedRows,
    adopt_orphans,
    check_entities,
    count_rows,
    count_shared,
    entities_themselves,
    note_owned,
    owned_by_parent,
    owned_by_reference,
    positions,
    sorted_rows,
    truncate_rows,
    with_public_keys,
)

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
    collations: Collations | None = None,
) -> Iterator[Staged]:
    """Read the tables from an open source, once, and truncate them. ``key`` is the fit's secret: it decides which rows stay.
    The keys of ``vocabularies`` are in the form that ``collations`` names.

    The staging database is gone when this is left, also after an error.
    """
    with staging_database(folder) as connection:
        work = _Work(connection, source, key, tables, collations or {})
        for name, keys in (vocabularies or {}).items():
            work.vocabulary(name, keys)
        for needs in tables:
            work.table(needs)
        yield work.staged()


@dataclass(eq=False)
class _Work:
    connection: duckdb.DuckDBPyConnection
    source: Source
    key: bytes
    tables: tuple[TableNeeds, ...]
    collations: Collations = field(default_factory=dict)
    entities: int = 0
    raw: dict[str, str] = field(default_factory=dict)
    """Tables as they were read: the values stay there."""
    placed: dict[str, tuple[str, TableNeeds]] = field(default_factory=dict)
    standing: dict[str, tuple[OwnedRows, Index]] = field(default_factory=dict)
    """Of each placed table, its rows and their positions."""
    reread: set[str] = field(default_factory=set)
    """Tables that got rows after they were placed."""
    noted: dict[str, str] = field(default_factory=dict)
    """Where orphans become entities: per table, the rows that belong to somebody, before any were cut."""
    vocabularies: dict[str, str] = field(default_factory=dict)
    read: dict[str, int] = field(default_factory=dict)
    orphans: dict[str, int] = field(default_factory=dict)
    truncated: dict[str, Cuts] = field(default_factory=dict)
    outside: dict[str, int] = field(default_factory=dict)
    undecoded: dict[str, int] = field(default_factory=dict)
    copies: dict[str, int] = field(default_factory=dict)

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
        raw, placed = self._raw(needs), f"placed_{len(self.placed)}"
        if needs.parent is not None:
            rows = sorted_rows(self.connection, raw, self._owned(needs, raw), needs)
            kept, cut = truncate_rows(rows, needs)
            self._place(needs, raw, placed, kept, positions(kept.parent))
            self.orphans[needs.name] = self._without_parent(needs, raw, len(rows))
            # Below a row that was made anew for each of its owners, a row may be there more often than it was read.
            above = max(0, self.read[needs.name] - self.orphans[needs.name] - len(rows))
            self.truncated[needs.name] = replace(cut, above=above)
        elif needs.owned_by:
            rows = sorted_rows(self.connection, raw, owned_by_reference(raw, needs, self.placed), needs)
            rows = rows.take(np.lexsort((rows.parent, rows.owner, rows.entity)))  # type: ignore[arg-type]
            self._place(needs, raw, placed, rows, np.zeros(len(rows), dtype=np.int64))
            self.orphans[needs.name] = max(0, self.read[needs.name] - len(rows))
        else:
            rows = sorted_rows(self.connection, raw, entities_themselves(raw), needs)
            rows = replace(rows, entity=np.arange(len(rows), dtype=np.int64))
            self._place(needs, raw, placed, rows, np.zeros(len(rows), dtype=np.int64))
            self.entities = len(rows)
        self.placed[needs.name] = (placed, needs)
        if any(table.orphans == "entity" for table in self.tables):
            self.noted[needs.name] = f"noted_{len(self.placed)}"
            tables = {name: described for name, (_, described) in self.placed.items()}
            note_owned(self.connection, raw, self.noted[needs.name], needs, self.noted, tables)

    def _place(self, needs: TableNeeds, raw: str, target: str, rows: OwnedRows, position: Index) -> None:
        """What other tables look for (where a row stands, its keys, its references) as a table; where rows stand as arrays."""
        self.standing[needs.name] = (rows, position)
        thin = {
            "row": rows.row,
            "entity": rows.entity,
            "parent": rows.parent,
            "position": position,
            "place": np.arange(len(rows), dtype=np.int64),
            "unknown": np.zeros(len(rows), dtype=np.bool_),
        }
        thin |= {name: codes for name, codes in (("owner", rows.owner), ("vk", rows.key)) if codes is not None}
        keys = needs.found_by
        select = f"SELECT t.*{''.join(f', r.{key}' for key in keys)} FROM thin t"
        self.connection.register("thin", pa.table(thin))
        self.connection.execute(f"CREATE TABLE {target} AS {select}" + (f" JOIN {raw} r ON r.rowid = t.row" if keys else ""))
        self.connection.unregister("thin")

    def _raw(self, needs: TableNeeds) -> str:
        """The table's rows as read, each with its hash. Those of an entity by column come from the table that holds it."""
        if needs.held_by is not None:
            holder = self._raw(next(table for table in self.tables if table.name == needs.held_by))
            self.raw[needs.name] = f"raw_{len(self.raw)}"
            load_by_column(self.connection, holder, self.raw[needs.name], self.key)
        elif needs.name not in self.raw:
            raw = self.raw[needs.name] = f"raw_{len(self.raw)}"
            reading = reading_of(needs, self.tables, self.source.reflect(), self.collations)
            batches = self.source.read(needs.name, reading.columns(needs))
            odd = load_rows(self.connection, raw, needs, batches, self.key, reading)
            self.outside |= {f"{needs.name}.{name}": count for name, count in odd.unread.items()}
            self.undecoded |= {f"{needs.name}.{name}": count for name, count in odd.undecoded.items()}
            if not needs.owners:
                check_entities(self.connection, raw, needs)
            self.read[needs.name] = count_rows(self.connection, raw)
        return self.raw[needs.name]

    def _owned(self, needs: TableNeeds, raw: str) -> str:
        """The rows that belong to somebody, as a query; of an association with the codes of their public keys."""
        assert needs.parent is not None
        if needs.orphans == "entity":
            chain = self._chain(needs.parent)
            target = f"owned_{len(self.placed)}"
            self.entities += adopt_orphans(
                self.connection, raw, target, needs, chain, self.entities, self.key, self.noted[needs.parent]
            )
            self.reread |= {above.name for _, above in chain}
            owned = f"FROM {target}"
        else:
            self.copies[needs.name] = count_shared(self.connection, raw, self.placed[needs.parent][0], needs)
            owned = owned_by_parent(raw, self.placed[needs.parent][0], needs)
        return with_public_keys(owned, raw, self.vocabularies[needs.name], needs) if needs.via else owned

    def _without_parent(self, needs: TableNeeds, raw: str, owned: int) -> int:
        """Rows whose parent is not in the source. One whose parent a cap took away is none of them: it is cut with its parent."""
        gone = self.read[needs.name] - owned
        above = self.raw.get(needs.parent or "")
        if gone <= 0 or above is None:
            return max(0, gone)
        counted = f"SELECT count(*) FROM {raw} r WHERE EXISTS (FROM {above} p WHERE {needs.joins_parent})"
        ((there,),) = self.connection.execute(counted).fetchall()
        return self.read[needs.name] - int(there)

    def _chain(self, table: str) -> list[tuple[str, TableNeeds]]:
        """The placed tables from this one up to the entity."""
        chain = [self.placed[table]]
        while chain[-1][1].owners:
            chain.append(self.placed[chain[-1][1].owners[0]])
        return chain

    def staged(self) -> Staged:
        # Unknown parents may have joined a table after it was placed, so sizes are known at the end.
        sizes = {name: count_rows(self.connection, relation) for name, (relation, _) in self.placed.items()}
        tables = {
            name: self._staged_table(needs, relation, sizes[needs.parent or name])
            for name, (relation, needs) in self.placed.items()
        }
        unread = dict(self.source.unread) if isinstance(self.source, Forgiving) else {}
        notes = LocalNotes(self.read, self.orphans, self.truncated, self.outside, unread, self.copies, undecoded=self.undecoded)
        return Staged(self.connection, tables, self.entities, notes, self.vocabularies)

    def _staged_table(self, needs: TableNeeds, relation: str, parents: int) -> StagedTable:
        raw = self.raw[needs.name]
        if needs.name in self.reread:
            return read_places(self.connection, needs, relation, raw, parents)
        rows, position = self.standing[needs.name]
        # An entity has no parent: every row stands alone, as its own.
        parent = rows.parent if needs.owners else np.arange(len(rows), dtype=np.int64)
        owner = rows.owner if len(needs.owned_by) > 1 else None
        return StagedTable(needs, relation, raw, rows.row, rows.entity, parent, position, parents, None, owner, rows.key)


@contextmanager
def staging_database(folder: Path | None = None) -> Iterator[duckdb.DuckDBPyConnection]:
    """A fresh staging database. ``folder`` is where the temporary folder is made, if not where the system makes them."""
    try:
        # Also takes away the rows that a killed fit left there.
        held = hold_folder(folder or Path(tempfile.gettempdir()), "mare-stage-")
    except OSError as error:
        raise SourceError(
            f"no temporary folder for staging can be made ({error.strerror}). Set TMPDIR to one with room."
        ) from None
    private = held.path
    try:
        connection = duckdb.connect(
            ":memory:",
            config={
                "autoinstall_known_extensions": "false",
                "autoload_known_extensions": "false",
                "allow_unsigned_extensions": "false",
                "enable_external_access": "false",
                "temp_directory": str(private / "spill"),
                # Values are fetched by row: a table comes out in the order in which it went in.
                "preserve_insertion_order": "true",
                # A text column may be longer than the 2 GB that 32-bit offsets reach.
                "arrow_large_buffer_size": "true",
            },
        )
        # In a notebook or a shell DuckDB would draw bars of its own between those of whoever listens.
        connection.execute("SET enable_progress_bar = false")
        try:
            with _translated():
                yield connection
        finally:
            connection.close()
    finally:
        held.discard()


@contextmanager
def _translated() -> Iterator[None]:
    """DuckDB's errors as ours. Their text may quote a value of the source, so none of it is passed on."""
    try:
        yield
    except duckdb.OutOfMemoryException:
        raise SourceError("staging ran out of memory or of disk. Set TMPDIR to a disk with more room.") from None
    except duckdb.IOException:
        raise SourceError("the staging file cannot be written: the disk may be full. Set TMPDIR to one with more room.") from None
    except duckdb.Error as error:
        if is_a_stop(error):
            raise KeyboardInterrupt from None
        raise SourceError(f"staging failed ({type(error).__name__}).") from None
    except RuntimeError as error:
        if is_a_stop(error):
            raise KeyboardInterrupt from None
        raise
