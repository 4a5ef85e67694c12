"""`Dialect`: all that mare knows of one database family, in one object. The only place where families differ.

A family is found by the entry-point group ``mare.dialects``, by the scheme of its URLs (``postgresql``) and the suffixes of its
files (``suffix-sqlite``), so that somebody else's is one file and one entry point:

    [project.entry-points."mare.dialects"]
    firebird = "mare_firebird:Firebird"

Its class derives from `Dialect`, whose members do for any database that SQLAlchemy reads; it says its name and its driver, and
overrides what is special (docs/guides/a-database-of-your-own.md). mare's own are `postgres`, `mysql` and `sqlite`, beside this.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from importlib.metadata import entry_points
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import pyarrow as pa
from sqlalchemy import URL, ColumnElement, Connection, Engine, Inspector, Text, cast, create_engine
from sqlalchemy.pool import NullPool
from sqlalchemy.types import TypeEngine

from mare.errors import SinkError, SourceError
from mare.finding import file_place
from mare.ports import Place, Sink, Source
from mare.schema.reflection import Bound, Check, LeftOut, ReflectedColumn, StorageKind
from mare_adapters.boundary import cause_in_words
from mare_adapters.sources.catalogue import Catalogue, StoredTable, left_out_references, reflect_tables, whole_number_ends
from mare_adapters.sources.checks import apply_checks
from mare_adapters.sources.columnar import Unread
from mare_adapters.sources.table_source import Asked, Question

if TYPE_CHECKING:
    from mare_adapters.locations import SqlLocation

GROUP = "mare.dialects"
Ask = Callable[[str], Sequence[Sequence[object]]]
"""Runs a query."""
Ends = tuple[Bound | None, Bound | None]
"""The least and the greatest value."""


class Dialect:
    """A database family. It has no state: whatever it is asked for, it is handed."""

    name: ClassVar[str]
    """In labels, and as `mare.schema.reflection.ReflectedTable.dialect`: whose words the stored types are."""
    title: ClassVar[str]
    """For people: ``PostgreSQL``."""
    driver: ClassVar[str]
    """SQLAlchemy's name of the usual driver: ``postgresql+psycopg``."""
    extra: ClassVar[str] = ""
    """The extra of mare-synth that installs the driver, where one does."""
    is_file: ClassVar[bool] = False
    """Whether a database is a file: its location is a path, without a user, a host and a password."""
    words: ClassVar[Mapping[StorageKind, str]] = {}
    """The type that a column of each kind gets in a target of this family, where the source's own word is not to be had; what is
    not listed is a string."""
    whole_number_bytes: ClassVar[Mapping[str, int]] = {}
    """The whole numbers that are narrower than 64 bits, in the family's words, lower case."""

    def source(self, location: str | Path) -> Source:
        """The database at this location, to be read."""
        from mare_adapters.sources.sql import SqlSource

        return SqlSource(location, self)

    def sink(self, location: str | Path, *, replace: bool = False) -> Sink:
        """The database at this location, to be written to."""
        raise SinkError(f"mare reads {self.title} databases, but writes none. Write to a folder or to another database.")

    def engine(self, location: SqlLocation) -> Engine:
        """SQLAlchemy's engine for the location: one connection at a time, and values never in a log. A file is only read."""
        url = URL.create(
            location.driver,
            username=location.user or None,
            password=location.password,
            host=location.host or None,
            port=location.port,
            database=location.database or None,
        )
        return create_engine(url, poolclass=NullPool, hide_parameters=True, connect_args=self.connect_arguments(location))

    def connect_arguments(self, location: SqlLocation) -> dict[str, str | bytes | int]:
        """What the driver is handed besides the URL. A silent server should be given up after `PATIENCE` seconds."""
        return dict(location.options)

    def begin(self, connection: Connection, location: SqlLocation) -> tuple[str, ...]:
        """Fix the snapshot now: a transaction that has not read yet would see what others write until it does.

        Gives the schemas to look at, where a database has them.
        """
        return ()

    def reflect(self, connection: Connection, inspector: Inspector, schemas: Sequence[str]) -> Catalogue:
        """The tables that can be read, and what is left out. Reads the catalogue, never a row."""
        stored = [StoredTable(name, None, name) for name in inspector.get_table_names()]
        left_out = [LeftOut(name, "a view: it follows from the tables that it reads") for name in inspector.get_view_names()]
        tables = []
        for table in reflect_tables(inspector, stored, self.kind_of):
            checks = inspector.get_check_constraints(table.name)
            tables.append(apply_checks(table, [Check(str(check["sqltext"])) for check in checks]))
        left_out += left_out_references(inspector, stored)
        return Catalogue(tables, stored, left_out)

    def scripts(self, connection: Connection, schemas: Sequence[str]) -> tuple[str, ...]:
        """Views, triggers and functions, as statements (`mare.ports.Scripted`)."""
        return ()

    def kind_of(self, stored: TypeEngine[object]) -> StorageKind | None:
        """The kind of a type that is the family's own; None where the type is told by SQLAlchemy's generic ones."""
        return None

    def ends_of(self, column: ReflectedColumn) -> Ends:
        """The least and the greatest value that the stored type holds, where its kind goes further (`ReflectedColumn.lowest`)."""
        if column.kind != "integer":
            return None, None
        return whole_number_ends(column.sql_type, self.whole_number_bytes)

    def expression(self, stored: ColumnElement[object], column: ReflectedColumn) -> ColumnElement[object]:
        """How a column is asked for. What has no type of its own in Arrow is asked for as text."""
        return cast(stored, Text) if column.kind in ("other", "json") else stored

    def key_form(self, asked: Asked) -> str:
        """The expression, in SQL, whose texts are the same where the collation calls values equal (`sources.table_source`)."""
        raise SourceError(f"{asked.stored.name}: a {self.name} database compares nothing by the collation {asked.collation!r}.")

    def fast_batches(self, connection: Connection, asked: Question, unread: Unread) -> Iterator[pa.RecordBatch] | None:
        """All rows, where the family has a quicker way than through SQLAlchemy."""
        return None

    def let_go(self, driver_connection: object) -> None:
        """Called when a table was read to its end, or the reader gave up."""

    def rows_of(self, connection: Connection, table: StoredTable) -> int | None:
        """How many rows a table has, about, as far as statistics tell. Errors of SQLAlchemy mean that nobody can tell."""
        return None

    def place(self, ask: Ask, location: SqlLocation, schemas: Sequence[str]) -> Place:
        """Where the tables are, as the server itself tells it: host names, ports, sockets and proxies are ways to get there.

        A false "it is the same" costs another name for the target; a false "it is another" would cost the source. So a copy of
        a server that kept its identity (a restored backup) counts as the same.
        """
        if self.is_file:
            return file_place(location.database)
        return Place(frozenset({(self.name, location.database, schema) for schema in schemas or ("",)}))

    def cause_of(self, error: BaseException) -> str | None:
        """What went wrong, in words that complete «the server …» (`boundary`), or None where that is not known.

        Only codes are looked at, and fixed words where there is no code: what a message says beyond them may be a password.
        """
        return cause_in_words(error)


PATIENCE = 15
"""Seconds to wait for a server that does not answer; ``?connect_timeout=`` in the URL changes it."""


def find_dialect(name: str) -> Dialect | None:
    """The family that has this entry point."""
    point = next((point for point in entry_points(group=GROUP) if point.name == name), None)
    family = None if point is None else point.load()
    return family() if isinstance(family, type) and issubclass(family, Dialect) else None


def known_schemes() -> list[str]:
    """How the URLs of all families begin."""
    return sorted(point.name for point in entry_points(group=GROUP) if not point.name.startswith("suffix-"))


def driver_connection(location: SqlLocation, stack: ExitStack) -> object:
    """The driver's own connection, for what SQLAlchemy has no words for (COPY). It is closed with the stack."""
    engine = location.dialect.engine(location)
    stack.callback(engine.dispose)
    pooled = engine.raw_connection()
    connection = pooled.driver_connection
    pooled.detach()  # the pool would try to reset it in the end, and log that a broken connection cannot be
    stack.callback(_close, connection)
    return connection


def _close(connection: object) -> None:
    with suppress(Exception):  # a connection that broke was told of already
        connection.close()  # type: ignore[attr-defined]
