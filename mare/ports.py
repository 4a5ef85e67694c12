"""`Source` and `Sink`: how mare speaks with the outside world. Adapters implement them; mare knows none by name.

A source is read once, in one consistent snapshot. A sink appears complete or not at all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Protocol, Self, runtime_checkable

if TYPE_CHECKING:
    import pyarrow as pa

    from mare.schema.reflection import Peek, ReflectedTable, Reflection


class Source(Protocol):
    """A database or a folder. Entering it opens one consistent, read-only snapshot; leaving it closes everything."""

    @property
    def label(self) -> str:
        """The source's name for people: never a password."""
        ...

    def __enter__(self) -> Self: ...
    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None: ...

    def reflect(self) -> Reflection:
        """What the catalogue tells. Reads no row."""
        ...

    def read(self, table: str, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Stream these columns of a table, in batches."""
        ...

    def peek(self, table: str, column: str, max_values: int) -> Peek:
        """Look at the values of one column. Only ever called on the user's explicit request."""
        ...


@runtime_checkable
class Sized(Protocol):
    """A source that knows before it is read how long that will take. For whoever waits, on their screen: nothing else may hang
    on it, because it is a true number."""

    def about(self, table: str) -> int | None:
        """How many rows a table has, about, as far as statistics or a file's head tell. None where only reading would."""
        ...


@dataclass(frozen=True)
class RemovedRows:
    """Rows that a copy of a table is to lack, for audits."""

    columns: tuple[str, ...]
    """A database may give other columns in another order of rows."""
    places: frozenset[int]
    """Of the rows as they came when these columns were read, the first being 0."""
    rows: int
    """How many came."""


@dataclass(frozen=True)
class SinkTable:
    """A table that a sink is to create: types, keys and foreign keys."""

    table: ReflectedTable
    """Names, types, key, foreign keys, indexes. Foreign keys name tables of the same write."""
    later: tuple[tuple[str, ...], ...] = ()
    """Columns of foreign keys whose rows may come in a later batch than the row that refers to them."""


class Sink(Protocol):
    """A target. Entering it begins one write; leaving it without an error commits, with one rolls everything back."""

    @property
    def label(self) -> str:
        """The target's name for people: never a password."""
        ...

    @property
    def notes(self) -> tuple[str, ...]:
        """What of the tables' types and constraints the target could not be given, a sentence each. Known after `create`."""
        ...

    def __enter__(self) -> Self: ...
    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None: ...

    def expect(self, tables: Sequence[str]) -> None:
        """Refuse now what `create` would refuse of tables with these names: before a budget is spent. Changes nothing."""
        ...

    def create(self, tables: Sequence[SinkTable]) -> None:
        """Create these tables, parents before children. Refuses a target that already holds one, unless told to replace."""
        ...

    def write(self, table: str, batch: pa.RecordBatch) -> None:
        """Add rows to a created table. Parents of a row come before it, or in the same batch."""
        ...


@dataclass(frozen=True)
class WorkStep:
    """One step of a longer work that is told as it begins, in things that the steps go over: rows, or values."""

    what: str
    """In words, as in: the foreign keys of table stays."""
    before: int
    """Of the steps that are done."""
    here: int
    total: int


Watch = Callable[[WorkStep], None]


@runtime_checkable
class Finishes(Protocol):
    """A sink that tells how far it is after the last row: indexes, keys and constraints of many rows take their time."""

    def tell_finishing(self, watch: Watch) -> None:
        """Tell every step as it begins, from now on."""
        ...


Options = Mapping[str, object]
