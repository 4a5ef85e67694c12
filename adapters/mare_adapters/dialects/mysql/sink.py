"""`MysqlSink`: tables in a MySQL or MariaDB database. They cannot be created in a transaction, so they are renamed into place.

Rows go into tables of another name (``__mare_…``), where the server checks every key; one RENAME TABLE then shows all of them at
once, and only after that the old ones are dropped. What a killed run has left is dropped by the next: each run holds a named
lock, which the server lets go of when the run ends, however it ends. Where all tables are there and empty, they are filled
as they are, in one transaction. Their foreign keys are checked row by row, but a row may refer to one that comes later: then they
are checked here, over all rows, before the commit.
"""

from __future__ import annotations

import re
import secrets
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

import pyarrow as pa

from mare.errors import SinkError
from mare.ports import Place, SinkTable
from mare.schema.reflection import ReflectedForeignKey, ReflectedTable, StorageKind
from mare_adapters.boundary import connecting, writing
from mare_adapters.dialects import Dialect, driver_connection
from mare_adapters.sinks.target import ServerTarget, Step, dangling, entered, has_mark, is_mark, mark_of, refuse_unmarked, seconds
from mare_adapters.sinks.target_tables import EVERY_ACTION, Limits, TargetTables, WriteOrder, target_tables, unfit

from .wording import WORDING, changed, create_table, foreign_key, without_lost_indexes

if TYPE_CHECKING:
    from pymysql.connections import Connection

_LIMITS = Limits(
    "MySQL",
    length=64,
    folds_case=True,
    dialect="mysql",
    actions=frozenset(action for action in EVERY_ACTION if "DEFAULT" not in action),
    looks_at_nulls=True,
)
_SESSION = (
    "sql_mode = 'STRICT_ALL_TABLES,NO_AUTO_VALUE_ON_ZERO,NO_ZERO_DATE,NO_ZERO_IN_DATE,ERROR_FOR_DIVISION_BY_ZERO,"
    "NO_ENGINE_SUBSTITUTION'",
    "time_zone = '+00:00'",
    "foreign_key_checks = 1",
    "unique_checks = 1",
    "lock_wait_timeout = 60",  # somebody who reads the old tables is waited for, but not forever
)
_HELD = "SELECT TABLE_NAME, TABLE_TYPE, TABLE_COMMENT FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE()"
_REFERENCES = """
SELECT DISTINCT IF(TABLE_SCHEMA = DATABASE(), '', TABLE_SCHEMA), TABLE_NAME, REFERENCED_TABLE_NAME
  FROM information_schema.KEY_COLUMN_USAGE WHERE REFERENCED_TABLE_SCHEMA = DATABASE()
"""
"""Also from other databases of the server."""
_KEYS = """
SELECT CONSTRAINT_NAME, TABLE_NAME, COLUMN_NAME, REFERENCED_TABLE_NAME, REFERENCED_COLUMN_NAME, REFERENCED_TABLE_SCHEMA
  FROM information_schema.KEY_COLUMN_USAGE WHERE TABLE_SCHEMA = DATABASE() AND REFERENCED_TABLE_NAME IS NOT NULL
 ORDER BY TABLE_NAME, CONSTRAINT_NAME, ORDINAL_POSITION
"""
_NAMES = """
SELECT CONSTRAINT_NAME FROM information_schema.TABLE_CONSTRAINTS
 WHERE CONSTRAINT_SCHEMA = DATABASE() AND CONSTRAINT_TYPE IN ('FOREIGN KEY', 'CHECK')
"""
_COLUMNS = """
SELECT TABLE_NAME, COLUMN_NAME, IS_NULLABLE = 'NO' AND COLUMN_DEFAULT IS NULL AND EXTRA NOT LIKE '%auto_increment%'
       AND UPPER(EXTRA) NOT LIKE '%GENERATED%', REPLACE(UPPER(EXTRA), 'DEFAULT_GENERATED', ''), LOWER(PRIVILEGES), DATA_TYPE,
       COLUMN_TYPE
  FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = DATABASE() ORDER BY TABLE_NAME, ORDINAL_POSITION
"""
_DAYS = frozenset({"date", "datetime", "timestamp"})
_NUMBERS = frozenset(["tinyint", "smallint", "mediumint", "int", "bigint", "decimal", "float", "double", "bit", "year"])
_HOLDS_NO: dict[StorageKind, frozenset[str]] = {
    **dict.fromkeys(("boolean", "integer", "number", "duration"), _DAYS),
    **dict.fromkeys(("date", "datetime"), _NUMBERS | {"time"}),
    **dict.fromkeys(("time", "uuid"), _NUMBERS | _DAYS),
}
"""By kind, the types that take no value of it."""
_STAGED = re.compile(r"__mare_([0-9a-f]{8})_\d+")


@dataclass(frozen=True)
class _Key:
    """A foreign key that the target has."""

    table: str
    name: str
    schema: str
    """Of the table that it refers to."""
    key: ReflectedForeignKey

    @property
    def dangling(self) -> str:
        """Asks for a row that refers to none."""
        return dangling(WORDING, self.table, self.key, self.schema)


class MysqlSink(ServerTarget):
    """A MySQL or MariaDB database, as a `mare.ports.Sink`."""

    def __init__(self, location: str | Path, *, replace: bool = False, dialect: Dialect | None = None) -> None:
        super().__init__(location, replace=replace, dialect=dialect)
        self._connection: Connection | None = None
        self._mariadb = False
        self._token = ""
        self._staged: dict[str, str] = {}
        """What each table is called for now. Empty where the tables are filled as they are."""
        self._old: list[str] = []
        self._taken: set[str] = set()
        """Names of constraints that are in use: those of tables that are replaced stay until the new ones have appeared."""
        self._unchecked: list[_Key] = []
        """Foreign keys of tables that are filled as they are, which the server does not check while rows come."""

    def __enter__(self) -> Self:
        if not self._location.database:
            raise SinkError(f"{self.label} names no database. Write it after the last /: mysql://user@host/database.")
        return super().__enter__()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        done = False
        try:
            if error is None and self._targets.tables:
                self._finish()
                done = True
        finally:
            if not done:
                self._drop_staged()
            self._connection, self._staged = None, {}
            self._stack.close()

    def expect(self, tables: Sequence[str]) -> None:
        with writing(self._location, "the target"):
            self._make_sure()
            if not self._room_for(tables)[1]:
                self._try_rights()

    def foresee(self, tables: Sequence[SinkTable]) -> tuple[str, ...]:
        try:
            self.create(tables)
            for step in self._key_steps():
                with writing(self._location, step.what):
                    self._run(step.statement)
            return self.notes
        finally:
            self._drop_staged()
            self._targets, self._staged, self._unchecked = TargetTables(()), {}, []
            with suppress(Exception):  # what ended the connection is told already
                self._run("SET SESSION foreign_key_checks = 1")

    def create(self, tables: Sequence[SinkTable], release: str = "") -> None:
        targets = target_tables(tables, _LIMITS)
        with writing(self._location, "the target"):
            self._make_sure()
            self._sweep()
            self._old, kept = self._room_for([table.name for table in targets.tables])
            if not kept:
                self._try_rights()
        self._targets = targets
        if kept:
            with writing(self._location, "the target"):
                self._refuse_unfit(self._unfit_tables(targets.tables))
            self._wait_with_keys(kept, WriteOrder.of(tables))
            return
        made, lost = without_lost_indexes(targets.tables, mariadb=self._mariadb)
        self._notes = (*targets.notes, *changed(made, mariadb=self._mariadb), *lost)
        self._staged = {table.name: self._new_name(number) for number, table in enumerate(targets.tables)}
        self._taken = {str(name).casefold() for (name,) in self._rows(_NAMES)}
        for table in made:
            named = [(key.name or "", f"{table.name} ({', '.join(key.columns)})") for key in table.foreign_keys]
            named += [(check.name, table.name) for check in table.checks]
            renamed = (f"{where}: {name} got another name" for name, where in named if name and not self._free(name))
            self._notes += tuple(f"{words}: a table to be replaced has it until the end" for words in renamed)
        for table in made:
            with writing(self._location, f"table {table.name}"):
                mark = mark_of(table.name, release, self._where())
                self._run(create_table(table, self._staged[table.name], mark, self._free, mariadb=self._mariadb))

    def _free(self, name: str) -> bool:
        return name.casefold() not in self._taken

    def _write(self, table: ReflectedTable, batch: pa.RecordBatch) -> None:
        names = WORDING.names(column.name for column in table.columns)
        into = f"INSERT INTO {WORDING.name(self._staged.get(table.name, table.name))} ({names})".replace("%", "%%")
        with self._open.cursor() as cursor:
            cursor.executemany(f"{into} VALUES ({', '.join(['%s'] * len(table.columns))})", list(_rows(batch)))

    @property
    def _open(self) -> Connection:
        return entered(self._connection)

    def _connect(self) -> None:
        import pymysql

        self._stack.close()
        connection = driver_connection(self._location, self._stack)
        if not isinstance(connection, pymysql.connections.Connection):
            raise SinkError("mare writes to MySQL through PyMySQL. Write mysql://… in the URL, without another driver.")
        self._connection = connection
        connection.autocommit(False)
        for setting in _SESSION:
            self._run(f"SET SESSION {setting}")
        self._mariadb = "mariadb" in str(connection.get_server_info()).lower()
        self._token = secrets.token_hex(4)
        self._rows(f"SELECT GET_LOCK('mare_{self._token}', 0)")

    def _make_sure(self) -> None:
        """A fit takes its time, and a server may close what is idle: nothing was begun yet, so the connection may be another."""
        import pymysql

        try:
            self._open.ping(reconnect=False)
        except pymysql.Error:
            with connecting(self._location, SinkError):
                self._connect()

    def _run(self, statement: str) -> None:
        with self._open.cursor() as cursor:
            cursor.execute(statement)

    def _rows(self, query: str) -> list[tuple[object, ...]]:
        with self._open.cursor() as cursor:
            cursor.execute(query)
            return list(cursor.fetchall())

    def _new_name(self, number: int) -> str:
        return f"__mare_{self._token}_{number}"

    def _room_for(self, names: Sequence[str]) -> tuple[list[str], list[str]]:
        """The tables that are to be replaced, and those to be filled as they are. Refuses what is neither."""
        ((folding,),) = self._rows("SELECT @@lower_case_table_names")
        wanted = {name.casefold() if folding else name: name for name in names}
        there = [(str(name), str(kind), mark) for name, kind, mark in self._rows(_HELD)]
        there = [(name, kind, mark) for name, kind, mark in there if (name.casefold() if folding else name) in wanted]
        self._refuse_what_is_no_table([f"{name} ({kind.lower()})" for name, kind, _ in there if kind != "BASE TABLE"])
        held = [name for name, _, _ in there]
        where = self._where()
        foreign = [name for name, _, mark in there if not is_mark(mark, name, where)]
        filled = [n for n in (foreign if self._replace else held) if self._rows(f"SELECT 1 FROM {WORDING.name(n)} LIMIT 1")]
        # One RENAME shows all tables at once: some that are made anew cannot appear together with some that are only filled.
        mixed = self._replace and len(foreign) < len(held)
        self._refuse_tables_in_the_way(filled or (foreign if mixed else []))
        if self._replace and not foreign:
            self._refuse_referred(held)
            return held, []
        if held and len(held) < len(wanted):
            missing = [name for key, name in wanted.items() if key not in {h.casefold() if folding else h for h in held}]
            raise SinkError(
                f"{self.label} holds {', '.join(held)}, without rows, but not {', '.join(missing)}. "
                "Create all of them, or drop those that are there."
            )
        return [], held

    def _try_rights(self) -> None:
        """There is no asking for rights, only trying: all that is done in the end, now, on two tables without rows.

        To drop comes first, when nothing is there: who may create but not drop would leave something behind.
        """
        parent, child, moved = (WORDING.name(self._new_name(number)) for number in range(3))
        self._run(f"DROP TABLE IF EXISTS {child}, {moved}, {parent}")
        try:
            mark = mark_of("a trial", "")
            self._run(f"CREATE TABLE {parent} (a INT PRIMARY KEY) COMMENT = '{mark}'")
            self._run(f"CREATE TABLE {child} (a INT PRIMARY KEY) COMMENT = '{mark}'")  # a server may demand a key of every table
            self._run(f"ALTER TABLE {child} ADD FOREIGN KEY (a) REFERENCES {parent} (a)")
            self._run(f"INSERT INTO {parent} VALUES (1)")
            self._run(f"RENAME TABLE {child} TO {moved}")
        finally:
            self._run(f"DROP TABLE IF EXISTS {child}, {moved}, {parent}")

    def _refuse_referred(self, held: Sequence[str]) -> None:
        others = [(name, table, to) for name, table, to in self._rows(_REFERENCES) if to in held and (name or table not in held)]
        outside = [f"{f'{name}.' if name else ''}{table} (to {to})" for name, table, to in others]
        if outside:
            raise SinkError(
                f"{self.label}: other tables refer to those to be replaced: {', '.join(outside)}. Drop their foreign keys first."
            )

    def _refuse_new_owner(self) -> None:
        """What is to be replaced was mare's when the write began. Somebody may have put a table of theirs in its place."""
        where, held = self._where(), self._rows(_HELD)
        refuse_unmarked(self.label, [str(n) for n, _, mark in held if n in self._old and not is_mark(mark, str(n), where)])

    def _where(self) -> str:
        """What tells this database from all others: CREATE TABLE … LIKE and a dump take comments along, but not this."""
        return repr(sorted(map(str, self._place().own)))

    def _place(self) -> Place:
        return self._location.dialect.place(self._rows, self._location, ())

    def _wait_with_keys(self, kept: Sequence[str], order: WriteOrder) -> None:
        """Check the foreign keys of these tables at the end, where rows lead ahead."""
        keys: dict[tuple[str, str], _Key] = {}
        for name, table, column, other, there, schema in self._rows(_KEYS):
            if table in kept:
                at = (str(table), str(name))
                held = keys.get(at, _Key(*at, str(schema), ReflectedForeignKey((), str(other), ())))
                key = replace(held.key, columns=(*held.key.columns, str(column)), references=(*held.key.references, str(there)))
                keys[at] = replace(held, key=key)
        # As the server names them: it may fold their case.
        named = {str(name).casefold(): str(name) for name in order.place}
        if any(
            order.leads_ahead(named[k.table.casefold()], k.key.columns, named.get(k.key.table.casefold(), ""))
            for k in keys.values()
        ):
            self._unchecked = list(keys.values())
            self._run("SET SESSION foreign_key_checks = 0")

    def _unfit_tables(self, tables: Sequence[ReflectedTable]) -> Iterator[str]:
        """Why tables that are there could not be filled, in words."""
        rows = [tuple(map(str, row)) for row in self._rows(_COLUMNS)]
        for table in tables:
            own = [row for row in rows if row[0].casefold() == table.name.casefold()]
            needs = [name for _, name, needed, *_ in own if needed == "1"]
            writable = [name for _, name, _, extra, rights, *_ in own if "insert" in rights and "GENERATED" not in extra.upper()]
            yield from unfit(table, [row[1] for row in own], needs, writable)
            types = {row[1]: (row[-2], row[-1]) for row in own}
            for column in (column for column in table.columns if column.name in types):
                kind, words = types[column.name]
                if kind in _HOLDS_NO.get(column.kind, ()):
                    yield f"{table.name}.{column.name} is {words}, which holds no {column.kind}"
                listed = [value for value in column.values or () if WORDING.constant(str(value)) not in words]
                if kind == "enum" and listed:
                    yield f"{table.name}.{column.name} is {words}, which does not hold {', '.join(map(repr, listed))}"

    def _check_key(self, key: _Key) -> None:
        with writing(self._location, "the target"):
            rows = self._rows(key.dangling)
        if rows:
            raise SinkError(
                f"{self.label}: table {key.table} cannot be written: the target found a reference to a row that is not there "
                f"(table {key.table}, constraint {key.name}). It was left as it was."
            )

    def _sweep(self) -> None:
        """Drop what a killed run has left: staged tables whose run holds its lock no more. What only looks so has no mark."""
        left: dict[str, list[str]] = defaultdict(list)
        for name, _, mark in self._rows(_HELD):
            if (match := _STAGED.fullmatch(str(name))) and has_mark(mark):
                left[match[1]].append(str(name))
        for token, names in left.items():
            if self._rows(f"SELECT IS_FREE_LOCK('mare_{token}')") == [(1,)]:
                self._drop(names)

    def _drop(self, names: Sequence[str]) -> None:
        # In any order: what refers to them goes away with them.
        self._run("SET SESSION foreign_key_checks = 0")
        self._run(f"DROP TABLE IF EXISTS {WORDING.names(names)}")
        self._run("SET SESSION foreign_key_checks = 1")

    def _drop_staged(self) -> None:
        """After a failure. Where even that fails, the next run does it."""
        with suppress(Exception):
            if self._connection is not None:
                self._open.rollback()
        if not self._staged:
            return
        for again in (False, True):
            with suppress(Exception):
                if again:
                    self._connect()
                self._drop(list(self._staged.values()))
                return

    def _key_steps(self) -> list[Step]:
        return [
            Step(
                f"the foreign keys of table {table.name}",
                (table.name,),
                f"ALTER TABLE {WORDING.name(self._staged[table.name])} "
                f"ADD {foreign_key(foreign, self._targets.table(foreign.table), self._staged[foreign.table], self._free)}",
            )
            for table in (self._targets.tables if self._staged else ())
            for foreign in table.foreign_keys
        ]

    def _finish(self) -> None:
        steps = self._key_steps()
        checks = {Step(f"the foreign keys of table {key.table}", (key.table,), key.dangling): key for key in self._unchecked}
        for step in self._finishing.over([*steps, *checks]):
            if step in checks:
                self._check_key(checks[step])
                continue
            with writing(self._location, step.what):
                self._run(step.statement)
        with writing(self._location, "the target"):
            self._open.commit()
            if self._staged:
                self._refuse_new_owner()
                aside = {name: self._new_name(len(self._staged) + number) for number, name in enumerate(self._old)}
                moves = [*aside.items(), *((staged, name) for name, staged in self._staged.items())]
                self._run(f"RENAME TABLE {', '.join(f'{WORDING.name(a)} TO {WORDING.name(b)}' for a, b in moves)}")
                self._staged = {}
                if aside:
                    with suppress(Exception):  # the new tables are there; what remains of the old goes with the next run
                        self._drop(list(aside.values()))


def _rows(batch: pa.RecordBatch) -> Iterator[tuple[object, ...]]:
    columns = [seconds(column) if pa.types.is_duration(column.type) else column for column in batch.columns]
    return zip(*(column.to_pylist() for column in columns), strict=True)
