"""`SqliteSink`: a SQLite file that appears complete or not at all.

Everything is written to a new file beside the target; when SQLite itself has found all keys and foreign keys in order,
the file is renamed into place. Foreign keys are part of CREATE TABLE and checked at the end, so that cycles are no matter.
The mark of a table stands in its CREATE TABLE, which SQLite keeps as it was written, and the file's application_id says "mare".
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from mare.errors import InternalError, SinkError
from mare.ports import Place, SinkTable, Watch
from mare.schema.reflection import ReflectedColumn, ReflectedTable
from mare.whereabouts import file_place
from mare_adapters.boundary import writing
from mare_adapters.locations import sql_location

from .beside import Beside, refuse_others, refuse_what_is_there
from .finishing import Finishing, Step
from .layout import Layout, Limits, lay_out
from .marks import is_mark, mark_of
from .types import SQLITE, changed_types, own_type, sized
from .values import fitted, seconds
from .wording import Wording, index_names

if TYPE_CHECKING:
    import pyarrow as pa

_LIMITS = Limits("SQLite", folds_case=True)
_LONGEST_TEXT = 1_000_000_000
_APPLICATION = int.from_bytes(b"mare")
_TABLES = "SELECT name, sql FROM sqlite_master WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'"


class SqliteSink:
    """A SQLite file, as a `mare.ports.Sink`."""

    def __init__(self, location: str | Path, *, replace: bool = False) -> None:
        self._target = Path(sql_location(location, SinkError).database)
        self._replace = replace
        self._new: Beside | None = None
        self._connection: sqlite3.Connection | None = None
        self._layout = Layout(())
        self._finishing = Finishing()

    def __repr__(self) -> str:
        return f"SqliteSink({self.label!r})"

    @property
    def label(self) -> str:
        return str(self._target)

    @property
    def notes(self) -> tuple[str, ...]:
        return (*self._layout.notes, *changed_types(self._layout.tables, "sqlite", _type))

    def __enter__(self) -> Self:
        if self._target.is_dir():
            raise SinkError(f"{self._target} is a folder. Give the path of a file.")
        if not self._replace:
            refuse_what_is_there(self._target, self._held(), replace=False)
        self._new = Beside(self._target)
        with self._new.opening(self.label):
            self._connection = sqlite3.connect(self._new.path, isolation_level=None)
            # No other process can see the file, and it is thrown away on any error: a journal would protect nothing.
            self._connection.execute("PRAGMA journal_mode = OFF")
            self._connection.execute("PRAGMA synchronous = OFF")
            self._connection.execute(f"PRAGMA application_id = {_APPLICATION}")
            self._connection.execute("BEGIN")
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        try:
            if error is None and self._layout.tables:
                with writing(self.label, "the file"):
                    self._finish()
        finally:
            self._discard()

    def place(self) -> Place:
        return file_place(self._target, within_folder=False)

    def expect(self, tables: Sequence[str]) -> None:
        held = self._held()
        refuse_others(self._target, list(held), tables, "the tables")
        refuse_what_is_there(self._target, held, replace=self._replace)

    def create(self, tables: Sequence[SinkTable], release: str = "") -> None:
        self.expect([one.table.name for one in tables])
        self._layout = lay_out(tables, _LIMITS)
        for table in self._layout.tables:
            with writing(self.label, f"table {table.name}"):
                self._open.execute(create_table(table, mark_of(table.name, release)))

    def write(self, table: str, batch: pa.RecordBatch) -> None:
        laid = self._layout.table(table)
        if not laid.columns:
            return
        names, marks = WORDING.names(column.name for column in laid.columns), ", ".join("?" * len(laid.columns))
        with writing(self.label, f"table {table}"):
            self._open.executemany(f"INSERT INTO {WORDING.name(table)} ({names}) VALUES ({marks})", _rows(fitted(batch, laid)))
        self._finishing.rows[table] += batch.num_rows

    def tell_finishing(self, watch: Watch) -> None:
        self._finishing.watch = watch

    @property
    def _open(self) -> sqlite3.Connection:
        if self._connection is None:
            raise InternalError("a sink was written to before it was entered")
        return self._connection

    def _held(self) -> dict[str, bool]:
        """What the file at the target holds, and whether mare created it. One that is not SQLite's is nobody's to overwrite."""
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
        """Let the database check its own keys, then make the file appear."""
        connection = self._open
        for step in self._finishing.over(list(self._steps())):
            broken = connection.execute(step.statement).fetchone()
            if broken is not None:
                raise SinkError(
                    f"table {broken[0]!r} refers to rows of {broken[2]!r} that are not there. {self._target} was left as it was."
                )
        connection.close()
        self._connection = None
        if self._new is None:
            raise InternalError("a sink was finished before it was entered")
        self.expect([table.name for table in self._layout.tables])  # what is there now: somebody may have come meanwhile
        if self._target.exists() and self._target.stat().st_size:
            with closing(self._old("rw")) as old:
                # A log beside the old file would be taken for the new one's: this writes it back and removes it.
                old.execute("PRAGMA journal_mode = DELETE").fetchall()
        self._new.appear()

    def _steps(self) -> Iterator[Step]:
        names = index_names(self._layout.tables)
        for table in self._layout.tables:
            for columns in table.indexes:
                index = f"CREATE INDEX {WORDING.name(names[table.name, columns])} ON {WORDING.name(table.name)}"
                yield Step(f"the indexes of table {table.name}", (table.name,), f"{index} ({WORDING.names(columns)})")
        for table in self._layout.tables:
            if table.foreign_keys:
                check = f"PRAGMA foreign_key_check({WORDING.name(table.name)})"
                yield Step(f"the foreign keys of table {table.name}", (table.name,), check)
        yield Step("the file", tuple(self._finishing.rows), "COMMIT")

    def _discard(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None
        if self._new is not None:
            self._new.discard()
            self._new = None


def _type(column: ReflectedColumn, table: ReflectedTable) -> str:
    own = own_type(column, table, "sqlite")
    return own or sized(column, SQLITE, "DECIMAL", "VARCHAR", _LONGEST_TEXT)


WORDING = Wording(type_of=_type, booleans=("0", "1"))


def create_table(table: ReflectedTable, mark: str) -> str:
    """The statement that creates it, with its key, uniques and foreign keys: SQLite can add none later."""
    extra = [*WORDING.key(table), *map(WORDING.unique, table.uniques)]
    extra += [f"{WORDING.foreign_key(foreign)} DEFERRABLE INITIALLY DEFERRED" for foreign in table.foreign_keys]
    return WORDING.create_table(table, extra=extra, remark=mark)


def _rows(batch: pa.RecordBatch) -> Iterator[tuple[object, ...]]:
    return zip(*(_values(column) for column in batch.columns), strict=True)


def _values(column: pa.Array) -> list[object]:
    """As SQLite stores them: dates and moments as ISO text, booleans as 0 and 1, durations in seconds."""
    import pyarrow as pa

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
    import pyarrow as pa
    import pyarrow.compute as pc

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
