"""`PostgresSink`: tables in a PostgreSQL database, created, loaded by COPY and checked in one transaction.

Tables are loaded bare; keys, uniques, indexes and foreign keys come after, checked by the server over all rows. A commit shows
everything, anything else nothing. A table that is there and empty is filled as it is, under its own constraints: those that rows
could break on the way, by referring to rows that come later, are checked at the end (`deferring`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

import pyarrow as pa

from mare.errors import SinkError
from mare.ports import Place, SinkTable
from mare.schema.reflection import ReflectedTable
from mare_adapters.boundary import connecting, writing
from mare_adapters.dialects import Dialect, driver_connection
from mare_adapters.sinks.target import ServerTarget, Step, csv_rows, entered, is_mark, mark_of, marked
from mare_adapters.sinks.target_tables import EVERY_ACTION, WAITING, Limits, TargetTables, WriteOrder, target_tables
from mare_adapters.sinks.wording import Wording

from .already_there import Deferring, Homes, Types, counted_on, deferring, known_types, settle_homes, unfit_tables
from .definitions import finished, free_names, indexes, lost_names, sequences, settle_domains, shared_on

if TYPE_CHECKING:
    import psycopg

_LIMITS = Limits(
    "PostgreSQL",
    length=63,
    measure=lambda name: len(name.encode()),
    unit="bytes",
    dialect="postgresql",
    actions=EVERY_ACTION | WAITING,
)

_SETTINGS = (
    "TimeZone = 'UTC'",
    "DateStyle = 'ISO'",
    "IntervalStyle = 'postgres'",
    "standard_conforming_strings = on",
    "lock_timeout = '60s'",  # somebody who reads the old tables is waited for, but not forever
)
_HELD = """
SELECT c.relname,
       CASE WHEN EXISTS (SELECT FROM pg_catalog.pg_inherits i WHERE i.inhrelid = c.oid) THEN 'part' ELSE c.relkind::text END,
       pg_catalog.obj_description(c.oid, 'pg_class')
  FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
 WHERE n.nspname = %s AND c.relname = ANY(%s) ORDER BY 1
"""
_KINDS = {
    "part": "a part of another table, which would show its rows",
    "v": "a view",
    "m": "a materialised view",
    "f": "a foreign table",
    "i": "an index",
    "S": "a sequence",
}
_UNSURE = "Where the connection was lost in this moment, look whether the tables are there; otherwise nothing was written."


def _without_computed(table: ReflectedTable) -> ReflectedTable:
    gone = {column.name for _, column in table.computed}
    return replace(
        table,
        computed=(),
        indexes=tuple(index for index in table.indexes if gone.isdisjoint(index)),
        special_indexes=tuple(index for index in table.special_indexes if gone.isdisjoint(index.columns)),
    )


class PostgresSink(ServerTarget):
    """A PostgreSQL database, as a `mare.ports.Sink`."""

    def __init__(self, location: str | Path, *, replace: bool = False, dialect: Dialect | None = None) -> None:
        super().__init__(location, replace=replace, dialect=dialect)
        self._connection: psycopg.Connection[tuple[object, ...]] | None = None
        self._types = Types()
        self._made: list[ReflectedTable] = []
        """The tables that were created here: one that was there already keeps its own constraints."""
        self._counting: list[Step] = []
        self._deferring = Deferring()
        self._homes = Homes()

    @property
    def notes(self) -> tuple[str, ...]:
        return (*self._notes, *self._types.notes)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        try:
            if error is None and self._targets.tables:
                self._finish()
        finally:
            self._connection, self._made = None, []
            self._stack.close()  # closing without a commit rolls back

    def _place(self) -> Place:
        schemas = self._location.schemas or [str(self._schema())]
        return self._location.dialect.place(lambda query: self._open.execute(query).fetchall(), self._location, schemas)

    def expect(self, tables: Sequence[str]) -> None:
        with writing(self._location, "the target"):
            schema, _, old = self._begin(tables)
            if len(self._location.schemas) < 2:  # of several schemas, tables may refer to each other: `foresee` knows all of them
                self._drop([(schema, name) for name in old])
            self._run("ROLLBACK")

    def foresee(self, tables: Sequence[SinkTable]) -> tuple[str, ...]:
        self.create(tables)
        try:
            self._check_and_index()
            return (*self._brought_together(tables), *self.notes)
        finally:
            self._targets, self._made = TargetTables(()), []
            with suppress(Exception):  # what ended the connection is told already
                self._run("ROLLBACK")

    def _brought_together(self, tables: Sequence[SinkTable]) -> tuple[str, ...]:
        """That tables of several schemas come into one, unless the target names them too."""
        spaces = sorted({given.table.namespace for given in tables} - {""})
        if len(spaces) < 2 or len(self._location.schemas) > 1:
            return ()
        return (f"the schemas {', '.join(spaces)}: all tables come into one; ?schema={','.join(spaces)} keeps them apart",)

    def create(self, tables: Sequence[SinkTable], release: str = "") -> None:
        targets = target_tables(tables, _LIMITS)
        with writing(self._location, "the target"):
            schema, kept, old = self._begin([table.name for table in targets.tables])
            self._homes = settle_homes(self._open, targets.tables, self._location.schemas or (schema,), self.label)
            self._drop([*((schema, name) for name in old), *self._old_at_home(kept)])
            bare = [table for table in targets.tables if table.name not in kept]
            self._refuse_unfit(unfit_tables(self._open, schema, [t for t in targets.tables if t.name in kept]))
            domains = settle_domains(self._open, bare, self._homes, release, replaces=self._replace)
            free = free_names(self._open, bare, schema)
            settled, counters = sequences(domains.tables, free)
            made = list(settled)
            self._types = replace(known_types(self._open, made, self._homes, release, replace=self._replace), free=free)
            self._deferring = deferring(self._open, schema, kept, WriteOrder.of(tables))
            for statement in (*self._types.statements, *domains.statements, *counters, *self._deferring.before):
                self._run(statement)
        wording, refused = self._types.wording(), list[str]()
        for number, table in enumerate(made):
            with writing(self._location, f"table {table.name}"):
                if not table.computed:
                    self._run(wording.create_table(table))
                elif not self._may_run(wording.create_table(table)):  # an expression over a type that the target has not
                    names = ", ".join(column.name for _, column in table.computed)
                    refused.append(f"{table.name}: {names}, which the source computes, was not made: the target refused it")
                    table = made[number] = _without_computed(table)
                    self._run(wording.create_table(table))
                home, name = self._homes.of(table.name)
                mark = wording.constant(marked(table.comment, mark_of(name, release, self._where(home))))
                for statement in (f"COMMENT ON TABLE {wording.name(table.name)} IS {mark}", *finished(table)):
                    self._run(statement)
        self._targets, self._made = targets, made
        self._notes = (*targets.notes_on(table.name for table in bare), *domains.notes, *lost_names(made, free), *refused)
        self._counting = [
            Step(f"the counters of table {table}", (table,), statement)
            for table, statement in (*counted_on(self._open, schema, [table.name for table in targets.tables]), *shared_on(made))
        ]

    def _write(self, table: ReflectedTable, batch: pa.RecordBatch) -> None:
        wording = Wording()
        names = wording.names(column.name for column in table.columns)
        statement = f"COPY {wording.name(table.name)} ({names}) FROM STDIN (FORMAT csv, ENCODING 'UTF8')"
        with self._open.cursor() as cursor, cursor.copy(statement) as copy:
            copy.write(csv_rows(batch))

    @property
    def _remedy(self) -> str:
        return self._deferring.remedy

    @property
    def _open(self) -> psycopg.Connection[tuple[object, ...]]:
        return entered(self._connection)

    def _connect(self) -> None:
        import psycopg

        self._stack.close()
        connection = driver_connection(self._location, self._stack)
        if not isinstance(connection, psycopg.Connection):
            raise SinkError("mare writes to PostgreSQL through psycopg. Write postgresql://… in the URL, without another driver.")
        connection.autocommit = True  # transactions are begun and ended here, in words
        self._connection = connection

    def _run(self, statement: str) -> None:
        self._open.execute(statement)

    def _begin(self, names: Sequence[str]) -> tuple[str, list[str], list[str]]:
        """Begin the transaction. Gives the schema, the tables that are filled as they are, and those to be dropped."""
        import psycopg

        self._open  # noqa: B018  (a sink that was not entered)
        try:
            self._run("BEGIN")
        except psycopg.OperationalError:  # a fit takes its time, and a server may close what is idle: nothing was begun yet
            with connecting(self._location, SinkError):
                self._connect()
            self._run("BEGIN")
        for setting in _SETTINGS:
            self._run(f"SET LOCAL {setting}")
        schema = self._enter_schema()
        held = self._held(schema, names)
        kept = [name for name, ours in held.items() if not (self._replace and ours)]
        self._refuse_tables_in_the_way([name for name in kept if self._has_rows(name)])
        may_create = self._open.execute("SELECT pg_catalog.has_schema_privilege(%s, 'CREATE')", (schema,)).fetchone()
        if set(names) - set(kept) and may_create == (False,):
            raise SinkError(
                f"{self.label}: this user may not create tables in schema {schema}. "
                f"Ask for it (GRANT CREATE ON SCHEMA {schema}), or name a schema of your own: ?schema=name."
            )
        return schema, kept, [name for name in held if name not in kept]

    def _drop(self, tables: Sequence[tuple[str, str]]) -> None:
        """All at once: they may refer to each other."""
        if tables:
            self._run(f"DROP TABLE {', '.join('.'.join(map(Wording().name, table)) for table in tables)}")

    def _old_at_home(self, kept: Sequence[str]) -> Iterator[tuple[str, str]]:
        """What is replaced of the tables that belong to another schema than the first: mare's own, and nothing else."""
        by_schema: dict[str, list[str]] = defaultdict(list)
        for schema, name in self._homes.places.values():
            by_schema[schema].append(name)
        self._refuse_tables_in_the_way([name for name in kept if name in self._homes.places])
        for schema, names in by_schema.items():
            held = self._held(schema, names)
            self._refuse_tables_in_the_way([f"{schema}.{name}" for name, ours in held.items() if not (self._replace and ours)])
            yield from ((schema, name) for name in held)

    def _schema(self) -> object:
        """The name of the schema to write to; None where there is none on the search path."""
        asked = self._location.schemas[0] if self._location.schemas else None
        (schema,) = self._open.execute("SELECT coalesce(%s::text, current_schema()::text)", (asked,)).fetchone() or (None,)
        return schema

    def _enter_schema(self) -> str:
        """The schema to write to, made the first place where names are looked up."""
        asked = self._location.schemas[0] if self._location.schemas else None
        schema = self._schema()
        there = self._open.execute("SELECT 1 FROM pg_catalog.pg_namespace WHERE nspname = %s", (schema,)).fetchone()
        if schema is None or there is None:
            word = f"schema {asked}" if asked else "schema on this user's search path"
            raise SinkError(f"{self.label} has no {word}. Create it first, or name another: ?schema=name.")
        path = "SELECT set_config('search_path', quote_ident(%s) || ', ' || current_setting('search_path'), true)"
        self._open.execute(path, (schema,))
        return str(schema)

    def _held(self, schema: str, names: Sequence[str]) -> dict[str, bool]:
        """The tables of these names that are there, and whether mare created them."""
        held = [(str(name), str(kind), mark) for name, kind, mark in self._open.execute(_HELD, (schema, list(names)))]
        others = [f"{name} ({_KINDS.get(kind, 'not a table')})" for name, kind, _ in held if kind not in ("r", "p")]
        self._refuse_what_is_no_table(others)
        where = self._where(schema)
        return {name: is_mark(mark, name, where) for name, _, mark in held}

    def _where(self, schema: str) -> str:
        """What tells this schema from one of the same name in another database: a dump takes comments along, but not this."""
        database = "SELECT oid::text, datname::text FROM pg_catalog.pg_database WHERE datname = pg_catalog.current_database()"
        return " ".join(map(str, (*(self._open.execute(database).fetchone() or ()), schema)))

    def _has_rows(self, name: str) -> bool:
        query = f"SELECT EXISTS (SELECT 1 FROM {Wording().name(name)})"
        return self._open.execute(query).fetchone() == (True,)

    def _finish(self) -> None:
        self._check_and_index()
        with writing(self._location, "the target", after=_UNSURE):
            self._run("COMMIT")

    def _check_and_index(self) -> None:
        """Add what the server is to check, and what it finds rows by."""
        for step in self._finishing.over(list(self._steps())):
            with writing(self._location, step.what):
                if not step.optional:
                    self._run(step.statement)
                elif not self._may_run(step.statement):
                    self._notes = (*self._notes, f"{step.statement} was left out: the target refused it")

    def _may_run(self, statement: str) -> bool:
        """Run what the target may refuse without harm to the rest."""
        import psycopg

        self._run("SAVEPOINT mare_may")
        try:
            self._run(statement)
        except psycopg.OperationalError:
            raise
        except psycopg.Error:
            self._run("ROLLBACK TO SAVEPOINT mare_may")
            return False
        self._run("RELEASE SAVEPOINT mare_may")
        return True

    def _steps(self) -> Iterator[Step]:
        wording = self._types.wording()
        yield from self._counting
        for number, statement in enumerate(self._deferring.after):
            # The first checks all that waited.
            yield Step("the foreign keys of the tables", () if number else tuple(self._finishing.rows), statement)
        for table in self._made:
            what, alter = f"the keys of table {table.name}", f"ALTER TABLE {wording.name(table.name)} ADD"
            for clause in (*wording.key(table), *(wording.unique(table, columns) for columns in table.uniques)):
                yield Step(what, (table.name,), f"{alter} {clause}")
            for statement, optional in indexes(table, wording.free):
                yield Step(f"the indexes of table {table.name}", (table.name,), statement, optional)
        for table in self._made:
            for foreign in table.foreign_keys:
                alter = f"ALTER TABLE {wording.name(table.name)} ADD {wording.foreign_key(foreign)}"
                yield Step(f"the foreign keys of table {table.name}", (table.name,), alter)
        for move in self._homes.moves():
            yield Step("the schemas of the tables", (), move)
