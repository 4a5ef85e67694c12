"""The tables and columns that somebody asks a source for, found in its reflection or refused by name.

Keys and references may be asked for in the form by which their database compares them: how references hold that are spelled
otherwise than their key. MySQL, MariaDB, SQLite's NOCASE and PostgreSQL's citext take `p1` for `P1`, and often for `p1 `; a
foreign key between such texts holds there. mare compares letter by letter, so it asks for keys and references in a form in which
equal ones are the same text (`mare.ports.compared`, `Dialect.key_form`). The database works the form out of the value itself, by
the rule of its own collation. Looking the spelling up in the row that is referred to would make what is read of one patient
depend on another's row.

A key must also not be read as another one. Where a type is read less exactly than it is stored (2.5 among SQLite's INTs, twenty
digits of a numeric), its form is `EXACT`: a text in which only equal ones are the same.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from difflib import get_close_matches
from types import TracebackType
from typing import TYPE_CHECKING, Generic, TypeVar

import pyarrow as pa

from mare.errors import InternalError, SourceError
from mare.ports import COMPARED
from mare.schema.reflection import Compared, Peek, ReflectedColumn, ReflectedTable, Reflection
from mare_adapters.boundary import reading

from .catalogue import StoredTable
from .columnar import Unread, record_batches
from .comparing import compare_columns
from .peeking import peek_batches

if TYPE_CHECKING:
    from mare_adapters.locations import SqlLocation

Batches = Generator[pa.RecordBatch, None, None]

T = TypeVar("T")

EXACT = "EXACT"


@dataclass(frozen=True)
class Asked:
    """A column as it was asked for."""

    stored: ReflectedColumn
    collation: str = ""
    """The rule of its form; empty: the value itself."""

    @property
    def delivered(self) -> ReflectedColumn:
        """What comes: a form is a text."""
        return ReflectedColumn(self.stored.name, "string") if self.collation else self.stored


@dataclass(frozen=True)
class Question:
    """What is asked of one table, and under which names it comes."""

    table: ReflectedTable
    stored: StoredTable
    columns: Sequence[Asked]
    names: Sequence[str]

    @property
    def delivered(self) -> list[ReflectedColumn]:
        return [column.delivered for column in self.columns]


class TableSource(ABC, Generic[T]):
    """The part of a `mare.ports.Source` that no engine changes: what is asked for is found in the reflection, made once.

    ``T`` is what it has open from the moment that it is entered until it is left: a connection, or the files of a folder.
    """

    def __init__(self) -> None:
        self._opened: T | None = None
        self._stack = ExitStack()
        self._reflection: Reflection | None = None
        self.unread: Unread = Unread()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.label!r})"

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._opened, self._reflection = None, None
        self._stack.close()

    @property
    @abstractmethod
    def label(self) -> str: ...

    @property
    def _open(self) -> T:
        if self._opened is None:
            raise InternalError("a source was asked before it was entered")
        return self._opened

    @property
    def _at(self) -> str | SqlLocation:
        """Where errors happen."""
        return self.label

    def reflect(self) -> Reflection:
        if self._reflection is None:
            self._reflection = self._reflect()
        return self._reflection

    def read(self, table: str, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        reflected = find_table(self.reflect(), table)
        return self._batches(reflected, find_columns(self.reflect(), reflected, columns), columns)

    def peek(self, table: str, column: str, max_values: int) -> Peek:
        reflected = find_table(self.reflect(), table)
        wanted = find_columns(self.reflect(), reflected, [column])
        with reading(self._at, f"table {table}"):
            return self._peek(reflected, wanted[0], max_values)

    def compare(
        self, table: str, columns: Sequence[str], by: str | None, above: tuple[str, str] | None = None
    ) -> Mapping[str, Compared]:
        names = [*columns, *(() if by is None or by in columns else (by,))]
        with reading(self._at, f"table {table}"):
            if above is None:
                return compare_columns(self.read(table, names), by)
            whole = [column.name for column in find_table(self.reflect(), above[0]).columns]
            return compare_columns(self.read(table, names), by, (self.read(above[0], whole), above[1]))

    def _peek(self, table: ReflectedTable, column: ReflectedColumn, max_values: int) -> Peek:
        return peek_batches(self._batches(table, [column], [column.name]), column.kind, max_values)

    def _batches(self, table: ReflectedTable, columns: Sequence[ReflectedColumn], names: Sequence[str]) -> Batches:
        """All rows of these columns, under these names. One batch without rows where there is none: the types are always told."""
        empty = True
        with closing(self._stream(table, columns, names)) as stream:
            for batch in stream:
                empty = False
                yield batch
        if empty:
            yield from record_batches([], columns, names, table.name)

    @abstractmethod
    def _reflect(self) -> Reflection: ...

    @abstractmethod
    def _stream(self, table: ReflectedTable, columns: Sequence[ReflectedColumn], names: Sequence[str]) -> Batches:
        """The rows that there are, in batches."""


def find_table(reflection: Reflection, name: str) -> ReflectedTable:
    """The table of this name. Case does not matter where it is unambiguous."""
    table = reflection.table(name)
    if table is None:
        why = next((f" ({left.reason})" for left in reflection.left_out if left.name.casefold() == name.casefold()), "")
        raise SourceError(
            f"{reflection.label} has no table {name!r} that can be read{why}. {_offer(name, [t.name for t in reflection])}"
        )
    return table


def find_columns(reflection: Reflection, table: ReflectedTable, names: Sequence[str]) -> list[ReflectedColumn]:
    """The columns of these names; all that are missing are told at once."""
    columns = {name: table.column(name) for name in names}
    missing = [name for name, column in columns.items() if column is None]
    if missing:
        words = ", ".join(repr(name) for name in missing)
        offer = _offer(missing[0], [column.name for column in table.columns])
        raise SourceError(f"{reflection.label}: table {table.name} has no column {words} that can be read. {offer}")
    return [column for name in names if (column := columns[name]) is not None]


def asked_columns(reflection: Reflection, table: ReflectedTable, names: Sequence[str]) -> list[Asked]:
    """The columns of these names, some of them in their form."""
    parts = []
    for name in names:
        column, mark, collation = name.rpartition(COMPARED)
        as_key = bool(mark) and table.column(name) is None
        parts.append((column, collation) if as_key else (name, ""))
    columns = find_columns(reflection, table, [column for column, _ in parts])
    return [Asked(column, collation) for column, (_, collation) in zip(columns, parts, strict=True)]


def exact_decimal(text: str) -> str:
    """A decimal's form, from the expression of its text: without the zeros that end its decimals."""
    return f"CASE WHEN {text} LIKE '%.%' THEN trim(TRAILING '.' FROM trim(TRAILING '0' FROM {text})) ELSE {text} END"


def _offer(name: str, held: Sequence[str]) -> str:
    close = get_close_matches(name, held, n=1)
    meant = f"Did you mean {close[0]!r}? " if close else ""
    return f"{meant}It has: {', '.join(sorted(held)) or 'none'}."
