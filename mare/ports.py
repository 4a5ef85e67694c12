"""`Source` and `Sink`: how mare speaks with the outside world. Adapters implement them; mare knows none by name.

A source is read once, in one consistent snapshot. A sink appears complete or not at all.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Protocol, Self, runtime_checkable

if TYPE_CHECKING:
    import pyarrow as pa

    from mare.schema.reflection import Compared, Peek, ReflectedTable, Reflection


COMPARED = " COLLATE "


def compared(column: str, collation: str) -> str:
    """How to ask a source for a column in the form by which its collation compares: equal keys are the same text in it."""
    return f"{column}{COMPARED}{collation}"


class Source(Protocol):
    """A database or a folder. Entering it opens one consistent, read-only snapshot; leaving it closes everything.

    **The contract that the guarantee rests on**: each row that is read, its type and its order are a function of that row's own
    entity and of public facts. So a source never
    - infers a type from values (`ReflectedColumn.inferred` says where somebody else did);
    - looks at one row, or one batch, to read another: no join to private rows, no statistics, no clipping to a quantile;
    - refuses a value: reading is total. What cannot be read is NULL, or the nearest that can, by a rule for that value alone,
      and is counted in `unread`. A refusal tells that there is such a value (docs/privacy.md, «Not protected»).
    """

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
        """Stream these columns of a table, in batches. A text column whose reflection names a collation may be asked for in the
        form by which it is compared (`compared`)."""
        ...

    def peek(self, table: str, column: str, max_values: int) -> Peek:
        """Look at the values of one column. Only ever called on the user's explicit request."""
        ...


TRUE_ROWS = "true rows"
"""What a sink is told instead of a release where it gets true rows (`mare split`): its mark must never call them synthetic."""


@runtime_checkable
class Sized(Protocol):
    """A source that knows before it is read how long that will take. For the progress on the screen: nothing else may depend
    on it, because it is a true number."""

    def about(self, table: str) -> int | None:
        """About how many rows a table has, by statistics or a file's head. None where only reading it would tell."""
        ...


@runtime_checkable
class Comparing(Protocol):
    """A source that tells which columns of a table go together in all rows. For drafting a schema, where somebody asks for it;
    never in a fit."""

    def compare(
        self, table: str, columns: Sequence[str], by: str | None, above: tuple[str, str] | None = None
    ) -> Mapping[str, Compared]:
        """By column. ``by``: the column that says whose a row is, where several may be somebody's; ``above``: the table and the
        column there that it refers to."""
        ...


@runtime_checkable
class Headed(Protocol):
    """A source whose names of columns may be somebody's row. It looks at rows to tell: for drafting a schema, never in a fit."""

    def doubts_of_headers(self) -> tuple[str, ...]:
        """What is wrong, in words that show nothing of the row, and what to do."""
        ...


@runtime_checkable
class Forgiving(Protocol):
    """A source that counts what it could not read: true numbers, for internal notes alone."""

    @property
    def unread(self) -> Mapping[str, int]:
        """By table and column (`stays.begins`), values that became NULL; by table, rows that were left out."""
        ...


@dataclass(frozen=True)
class Place:
    """Where data lies, as the system itself tells it, so that no other name for it can hide it (`mare.finding`)."""

    own: frozenset[Hashable]
    """What is read or written: files by device and inode, a schema of a database of a server."""
    around: frozenset[Hashable] = frozenset()
    """What holds it, and must not be what the other one reads or writes: the folders above a file."""

    def overlaps(self, other: Place) -> bool:
        return bool(self.own & other.own or self.own & other.around or self.around & other.own)


@runtime_checkable
class Located(Protocol):
    """A source or a sink that tells where it is, so that a target is never where the data comes from."""

    def place(self) -> Place:
        """Where it is. Asked once it is entered; changes nothing."""
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

    def create(self, tables: Sequence[SinkTable], release: str = "") -> None:
        """Create these tables, parents before children. Refuses a target that already holds one, unless told to replace, and then
        too what no sink of mare's has created: so what is created is marked, with the id of the ``release`` it comes from."""
        ...

    def write(self, table: str, batch: pa.RecordBatch) -> None:
        """Add rows to a created table. Parents of a row come before it, or in the same batch."""
        ...


@runtime_checkable
class Foresees(Protocol):
    """A sink that can tell before a fit what it would leave out or refuse: nobody should pay to find out."""

    def foresee(self, tables: Sequence[SinkTable]) -> tuple[str, ...]:
        """Create these tables as `create` would, with every key and index but without rows, and undo it. Gives the notes."""
        ...


@runtime_checkable
class Scripted(Protocol):
    """A source that holds more than tables."""

    def scripts(self) -> tuple[str, ...]:
        """Its views, triggers and functions, each as a statement in the source's own words, in an order in which they can be
        made. Reads the catalogue, never a row."""
        ...


@dataclass(frozen=True)
class WorkStep:
    """One step of a longer work that is told as it begins, in things that the steps go over: rows, or values."""

    what: str
    """In words, as in: the foreign keys of table stays."""
    before: int
    """Of the steps that are done."""
    total: int


Watch = Callable[[WorkStep], None]


@runtime_checkable
class Finishes(Protocol):
    """A sink that tells how far it is after the last row: indexes, keys and constraints of many rows take their time."""

    def tell_finishing(self, watch: Watch) -> None:
        """Tell every step as it begins, from now on."""
        ...
