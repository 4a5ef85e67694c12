"""`SqliteSink`: a SQLite file that appears complete or not at all.

Everything is written to a new file beside the target; when SQLite itself has found all keys and foreign keys in order,
the file is renamed into place. An error, or a kill, leaves the target as it was.
"""

from __future__ import annotations

import os
import sqlite3
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from mare.errors import InternalError, SinkError
from mare.ports import SinkTable
from mare.schema.reflection import ReflectedColumn, ReflectedTable, StorageKind

if TYPE_CHECKING:
    import pyarrow as pa

_TYPES: dict[StorageKind, str] = {
    "boolean": "BOOLEAN",
    "integer": "INTEGER",
    "number": "REAL",
    "string": "TEXT",
    "date": "DATE",
    "datetime": "TIMESTAMP",
    "time": "TIME",
    "duration": "INTEGER",
    "uuid": "TEXT",
    "binary": "BLOB",
    "json": "TEXT",
    "other": "TEXT",
    "unknown": "TEXT",
}
_SIDE_FILES = ("-journal", "-wal", "-shm")


class SqliteSink:
    """A SQLite file, as a `mare.ports.Sink`."""

    def __init__(self, location: str | Path, *, replace: bool = False) -> None:
        text = str(location)
        self._target = Path(text.removeprefix("sqlite:///").removeprefix("sqlite://") if "://" in text else text)
        self._replace = replace
        self._new: Path | None = None
        self._connection: sqlite3.Connection | None = None

    @property
    def label(self) -> str:
        return str(self._target)

    def __enter__(self) -> Self:
        if self._target.is_dir():
            raise SinkError(f"{self._target} is a folder. Give the path of a file.")
        if self._target.exists() and not self._replace:
            raise SinkError(f"{self._target} exists already. Give another path, or say --replace to overwrite it.")
        try:
            handle, name = tempfile.mkstemp(prefix=f".{self._target.name}.", suffix=".tmp", dir=self._target.parent)
        except OSError as error:
            raise SinkError(f"{self._target} cannot be written ({error.strerror}).") from None
        os.close(handle)
        self._new = Path(name)
        self._connection = sqlite3.connect(name, isolation_level=None)
        # No other process can see the file, and it is thrown away on any error: a journal would protect nothing.
        self._connection.execute("PRAGMA journal_mode = OFF")
        self._connection.execute("PRAGMA synchronous = OFF")
        self._connection.execute("BEGIN")
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        try:
            if error is None:
                self._finish()
        finally:
            self._discard()
        if isinstance(error, sqlite3.Error):
            raise SinkError(f"{self._target} was not written ({type(error).__name__}: {error}). It was left as it was.") from None

    def create(self, tables: Sequence[SinkTable]) -> None:
        for table in tables:
            self._open.execute(create_table(table.table))

    def write(self, table: str, batch: pa.RecordBatch) -> None:
        if not batch.num_columns:
            return
        names = ", ".join(quoted(name) for name in batch.schema.names)
        marks = ", ".join("?" * batch.num_columns)
        self._open.executemany(f"INSERT INTO {quoted(table)} ({names}) VALUES ({marks})", _rows(batch))

    @property
    def _open(self) -> sqlite3.Connection:
        if self._connection is None:
            raise InternalError("a sink was written to before it was entered")
        return self._connection

    def _finish(self) -> None:
        """Let the database check its own keys, then make the file appear."""
        connection = self._open
        broken = connection.execute("PRAGMA foreign_key_check").fetchone()
        if broken is not None:
            raise SinkError(
                f"table {broken[0]!r} refers to rows of {broken[2]!r} that are not there. {self._target} was left as it was."
            )
        connection.execute("COMMIT")
        connection.close()
        self._connection = None
        new = self._new
        if new is None:
            raise InternalError("a sink was finished before it was entered")
        with new.open("rb") as file:
            os.fsync(file.fileno())
        new.chmod(self._target.stat().st_mode & 0o777 if self._target.exists() else 0o666 & ~_umask())
        try:
            os.replace(new, self._target)
        except OSError as error:
            raise SinkError(f"{self._target} cannot be written ({error.strerror}). It was left as it was.") from None
        self._new = None

    def _discard(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None
        if self._new is not None:
            for file in (self._new, *(Path(f"{self._new}{side}") for side in _SIDE_FILES)):
                with suppress(OSError):
                    file.unlink()
            self._new = None


def quoted(name: str) -> str:
    """A name as SQLite reads it back: `order`, spaces and quotes included."""
    return '"' + name.replace('"', '""') + '"'


def create_table(table: ReflectedTable) -> str:
    """The statement that creates it, with its key and foreign keys."""
    # INTEGER PRIMARY KEY is the row's own number in SQLite: it has to be written on the column.
    single = table.key[0] if len(table.key) == 1 else None
    parts = [_column(column, key=column.name == single) for column in table.columns]
    if len(table.key) > 1:
        parts.append(f"PRIMARY KEY ({', '.join(map(quoted, table.key))})")
    for foreign in table.foreign_keys:
        here, there = (", ".join(map(quoted, names)) for names in (foreign.columns, foreign.references))
        parts.append(f"FOREIGN KEY ({here}) REFERENCES {quoted(foreign.table)} ({there})")
    return f"CREATE TABLE {quoted(table.name)} ({', '.join(parts)})"


def _column(column: ReflectedColumn, *, key: bool) -> str:
    declared = column.sql_type if _is_plain(column.sql_type) else _TYPES[column.kind]
    null = "" if column.nullable and not key else " NOT NULL"
    return f"{quoted(column.name)} {declared}{null}{' PRIMARY KEY' if key else ''}"


def _is_plain(sql_type: str) -> bool:
    """A type that may be part of a statement: words, digits, and a length in brackets. Anything else gets a type of ours."""
    return bool(sql_type) and all(c.isalnum() or c in " _(),." for c in sql_type)


def _rows(batch: pa.RecordBatch) -> Iterator[tuple[object, ...]]:
    return zip(*(_values(column) for column in batch.columns), strict=True)


def _values(column: pa.Array) -> list[object]:
    """As SQLite stores them: dates and moments as ISO text, booleans as 0 and 1."""
    import pyarrow as pa

    values: list[object] = column.to_pylist()
    if pa.types.is_date(column.type):
        return [None if v is None else v.isoformat() for v in values]  # type: ignore[attr-defined]
    if pa.types.is_timestamp(column.type):
        return [None if v is None else v.isoformat(sep=" ") for v in values]  # type: ignore[attr-defined]
    if pa.types.is_boolean(column.type):
        return [None if v is None else int(v) for v in values]  # type: ignore[call-overload]
    return values


def _umask() -> int:
    current = os.umask(0o077)
    os.umask(current)
    return current
