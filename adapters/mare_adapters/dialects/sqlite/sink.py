"""`SqliteSink`: a SQLite file that appears complete or not at all.

Everything is written to a new file beside the target; when SQLite itself has found all keys and foreign keys in order,
the file is renamed into place. Foreign keys are part of CREATE TABLE and checked at the end, so that cycles are no matter.
The mark of a table stands in its CREATE TABLE, which SQLite keeps as it was written, and the file's application_id says "mare".
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from mare.errors import SinkError
from mare.schema.reflection import Counting, ReflectedColumn, ReflectedTable
from mare_adapters.locations import sql_location
from mare_adapters.sinks.file_target import FileTarget
from mare_adapters.sinks.target import Step, entered, fitted, is_mark, mark_of, seconds
from mare_adapters.sinks.target_tables import EVERY_ACTION, WAITING, Limits
from mare_adapters.sinks.wording import Wording, changed_types, create_indexes, is_constant, own_type, sized

if TYPE_CHECKING:
    from mare_adapters.dialects import Dialect

_LONGEST_TEXT = 1_000_000_000
_APPLICATION = int.from_bytes(b"mare")
_TABLES = "SELECT name, sql FROM sqlite_master WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'"


class SqliteSink(FileTarget):
    """A SQLite file, as a `mare.ports.Sink`."""

    limits = Limits(
        "SQLite", folds_case=True, dialect="sqlite", actions=EVERY_ACTION | WAITING, comments=False, booleans=("0", "1")
    )

    def __init__(self, location: str | Path, *, replace: bool = False, dialect: Dialect | None = None) -> None:
        file = sql_location(location, SinkError, dialect)
        super().__init__(Path(file.database), replace=replace)
        self._dialect = file.dialect
        self._wording = Wording(type_of=self._type, booleans=("0", "1"), counts=_counts, default=_default)
        self._connection: sqlite3.Connection | None = None

    @property
    def notes(self) -> tuple[str, ...]:
        return (*self._targets.notes, *changed_types(self._targets.tables, self._dialect.name, self._type))

    def _type(self, column: ReflectedColumn, table: ReflectedTable) -> str:
        own = own_type(column, table, self._dialect.name)
        return own or sized(column, self._dialect.words, "DECIMAL", "VARCHAR", _LONGEST_TEXT)

    def _begin(self, path: Path) -> None:
        self._connection = sqlite3.connect(path, isolation_level=None)
        # No other process can see the file, and it is thrown away on any error: a journal would protect nothing.
        self._connection.execute("PRAGMA journal_mode = OFF")
        self._connection.execute("PRAGMA synchronous = OFF")
        self._connection.execute(f"PRAGMA application_id = {_APPLICATION}")
        self._connection.execute("BEGIN")

    def _create(self, table: ReflectedTable) -> None:
        """With its key, uniques and foreign keys: SQLite can add none later."""
        wording = self._wording
        numbered = any(_counts(column, table) for column in table.columns)
        extra = [] if numbered else wording.key(table)
        extra += [wording.unique(table, columns) for columns in table.uniques]
        for foreign in table.foreign_keys:
            own = table.dialect == self._dialect.name
            extra.append(wording.foreign_key(foreign if own else replace(foreign, actions=_waiting(foreign.actions))))
        mark = mark_of(table.name, self._release)
        entered(self._connection).execute(wording.create_table(table, extra=extra, remark=mark))

    def _rehearse(self) -> None:
        real, self._connection = self._connection, sqlite3.connect(":memory:", isolation_level=None)
        try:
            self._connection.execute("BEGIN")
            self._try_out()
        finally:
            self._connection = real

    def _write(self, table: ReflectedTable, batch: pa.RecordBatch) -> None:
        names, marks = self._wording.names(column.name for column in table.columns), ", ".join("?" * len(table.columns))
        insert = f"INSERT INTO {self._wording.name(table.name)} ({names}) VALUES ({marks})"
        entered(self._connection).executemany(insert, zip(*map(_values, fitted(batch, table).columns), strict=True))

    def _held(self) -> dict[str, bool]:
        if not self._target.exists() or not self._target.stat().st_size:
            return {}
        try:
            with closing(self._old("ro")) as connection:
                ours = connection.execute("PRAGMA application_id").fetchone() == (_APPLICATION,)
                return {name: ours and is_mark(sql, name) for name, sql in connection.execute(_TABLES)}
        except sqlite3.Error as error:
            raise SinkError(
                f"{self._target} exists already, and is not a SQLite database that can be replaced ({type(error).__name__}). "
                "Give another path."
            ) from None

    def _old(self, mode: str) -> sqlite3.Connection:
        return sqlite3.connect(f"{self._target.resolve().as_uri()}?mode={mode}", uri=True, timeout=1)

    def _finish(self) -> None:
        """Let the database check its own keys."""
        for step in self._finishing.over(list(self._steps())):
            broken = entered(self._connection).execute(step.statement).fetchone()
            if broken is not None:
                raise SinkError(
                    f"table {broken[0]!r} refers to rows of {broken[2]!r} that are not there. {self._target} was left as it was."
                )

    def _steps(self) -> Iterator[Step]:
        for table, statement in create_indexes(self._targets.tables, self._wording):
            yield Step(f"the indexes of table {table}", (table,), statement)
        for name in (table.name for table in self._targets.tables if table.foreign_keys):
            yield Step(f"the foreign keys of table {name}", (name,), f"PRAGMA foreign_key_check({self._wording.name(name)})")
        yield Step("the file", tuple(self._finishing.rows), "COMMIT")

    def _make_way(self) -> None:
        if self._target.exists() and self._target.stat().st_size:
            with closing(self._old("rw")) as old:
                # A log beside the old file would be taken for the new one's: this writes it back and removes it.
                old.execute("PRAGMA journal_mode = DELETE").fetchall()

    def _let_go(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None


def _counts(column: ReflectedColumn, table: ReflectedTable) -> str:
    """A whole number that is the key counts by itself; the word keeps numbers of removed rows from coming back."""
    own = table.dialect == "sqlite" and column.counter == Counting("auto") and table.key == (column.name,)
    return " PRIMARY KEY AUTOINCREMENT" if own and column.sql_type.upper() == "INTEGER" else ""


def _default(column: ReflectedColumn, table: ReflectedTable) -> str:
    text = column.default or ""
    plain = not text or is_constant(text) or text.upper() in ("CURRENT_TIMESTAMP", "CURRENT_DATE", "CURRENT_TIME")
    return text if plain else f"({text})"


def _waiting(actions: tuple[str, ...]) -> tuple[str, ...]:
    """Of a source that checks its keys in another way: an application's rows may come in any order."""
    return (*(word for word in actions if word not in WAITING), "DEFERRABLE INITIALLY DEFERRED")


def _values(column: pa.Array) -> list[object]:
    """As SQLite stores them: dates and moments as ISO text, booleans as 0 and 1, durations in seconds."""
    types = pa.types
    if types.is_duration(column.type):
        column = seconds(column)
    if types.is_boolean(column.type):
        column = column.cast(pa.int8())
    if types.is_temporal(column.type):
        return _iso(column)
    values: list[object] = column.to_pylist()
    if types.is_decimal(column.type):
        return [None if v is None else _number(v, whole=column.type.scale == 0) for v in values]
    return values


def _iso(column: pa.Array) -> list[object]:
    """As Python's `isoformat` writes them: a fraction of a second only where there is one."""
    if not pa.types.is_timestamp(column.type):
        return [None if v is None else v.isoformat() for v in column.to_pylist()]
    if column.type.tz is None:
        whole = pc.cast(column, pa.timestamp("s"), safe=False)
        if pc.all(pc.equal(pc.cast(whole, column.type), column)).as_py() is not False:
            # No Python value is made for a moment on the second: most of the time of a large table was spent there.
            values: list[object] = pc.cast(whole, pa.string()).to_pylist()
            return values
    return [None if v is None else v.isoformat(" ") for v in column.to_pylist()]


def _number(value: object, *, whole: bool) -> int | float:
    """SQLite counts up to 2^63 exactly; beyond that, and with decimals, it has doubles."""
    number = int(value) if whole else float(value)  # type: ignore[call-overload, arg-type]
    return number if abs(number) < 1 << 63 else float(number)
