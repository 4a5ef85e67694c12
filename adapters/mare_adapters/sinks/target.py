"""`Target`: what all sinks of databases and files do alike, and what happens after the last row, told step by step.

A step goes over the rows of a table: it builds an index, checks a foreign key. So the rows of all steps are what there is to do
(`mare.ports.Finishes`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self, TypeVar

import pyarrow as pa

from mare.errors import InternalError, SinkError
from mare.ports import Place, Watch, WorkStep
from mare.schema.reflection import ReflectedForeignKey, ReflectedTable
from mare_adapters.boundary import connecting, writing
from mare_adapters.dialects import Dialect
from mare_adapters.locations import sql_location

from .marks import refuse_unmarked
from .target_tables import TargetTables
from .values import fitted
from .wording import Wording

T = TypeVar("T")


@dataclass(frozen=True)
class Step:
    """One thing to do, and the tables whose rows it goes over."""

    what: str
    tables: tuple[str, ...]
    statement: str = ""
    optional: bool = False
    """Whether the target may refuse it: then it is left out, with a note."""


@dataclass(eq=False)
class Finishing:
    """Counts rows as they are written, and tells the steps that go over them."""

    rows: Counter[str] = field(default_factory=Counter)
    watch: Watch | None = None

    def over(self, steps: Sequence[Step]) -> Iterator[Step]:
        """The steps, each told as it begins."""
        sizes = [sum(self.rows[table] for table in step.tables) for step in steps]
        for number, step in enumerate(steps):
            if self.watch is not None:
                self.watch(WorkStep(step.what, sum(sizes[:number]), sum(sizes)))
            yield step


class Target:
    """The part of a `mare.ports.Sink` that no engine changes."""

    def __init__(self, label: str, *, replace: bool) -> None:
        self._label = label
        self._replace = replace
        self._targets = TargetTables(())
        self._finishing = Finishing()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.label!r})"

    @property
    def label(self) -> str:
        return self._label

    @property
    def notes(self) -> tuple[str, ...]:
        return self._targets.notes

    def tell_finishing(self, watch: Watch) -> None:
        self._finishing.watch = watch


class ServerTarget(Target, ABC):
    """A database on a server, over one connection of its driver, which the stack closes."""

    def __init__(self, location: str | Path, *, replace: bool, dialect: Dialect | None) -> None:
        self._location = sql_location(location, SinkError, dialect)
        super().__init__(self._location.label, replace=replace)
        self._stack = ExitStack()
        self._notes: tuple[str, ...] = ()

    @property
    def notes(self) -> tuple[str, ...]:
        return self._notes

    def __enter__(self) -> Self:
        with connecting(self._location, SinkError):
            self._connect()
        return self

    def place(self) -> Place:
        with writing(self._location, "the target"):
            return self._place()

    def write(self, table: str, batch: pa.RecordBatch) -> None:
        target = self._targets.table(table)
        if not target.columns or not batch.num_rows:
            return
        ready = fitted(batch, target)
        with writing(self._location, f"table {table}", after=f"It was left as it was.{self._remedy}"):
            self._write(target, ready)
        self._finishing.rows[table] += batch.num_rows

    @property
    def _remedy(self) -> str:
        """What else to say where a row is refused."""
        return ""

    @abstractmethod
    def _connect(self) -> None:
        """Open the connection; also another one, where a server has closed what was idle and nothing was begun yet."""

    @abstractmethod
    def _place(self) -> Place:
        """Where the tables are."""

    @abstractmethod
    def _write(self, table: ReflectedTable, batch: pa.RecordBatch) -> None:
        """Add rows, which are in the table's own types, to it."""

    def _refuse_what_is_no_table(self, others: Sequence[str]) -> None:
        """``others`` have the name of a table that is to be written: views, say."""
        if others:
            raise SinkError(f"{self.label} already holds {', '.join(others)}. It was left as it was: give another target.")

    def _refuse_unfit(self, faults: Iterable[str]) -> None:
        """``faults``: why tables that are there and empty could not be filled as they are."""
        if listed := list(faults):
            raise SinkError(
                f"{self.label} holds tables that cannot be filled: {'; '.join(listed)}. Nothing was written. "
                "Change them, or drop them and let mare create its own."
            )

    def _refuse_tables_in_the_way(self, tables: Sequence[str]) -> None:
        """``tables`` hold rows, and are not to be replaced: nobody said so, or mare did not create them."""
        if self._replace:
            refuse_unmarked(self.label, tables)
        elif tables:
            raise SinkError(
                f"{self.label} already holds rows in {', '.join(tables)}. It was left as it was: give another target, "
                "or say --replace to drop these tables and write them anew, where mare created them."
            )


def entered(opened: T | None) -> T:
    """What a sink has from the moment that it is entered."""
    if opened is None:
        raise InternalError("a sink was written to before it was entered")
    return opened


def dangling(wording: Wording, table: str, key: ReflectedForeignKey, schema: str = "") -> str:
    """Asks for a row of the table that refers to none."""
    pairs = [(wording.name(here), wording.name(there)) for here, there in zip(key.columns, key.references, strict=True)]
    filled = " AND ".join(f"c.{here} IS NOT NULL" for here, _ in pairs)
    equal = " AND ".join(f"p.{there} = c.{here}" for here, there in pairs)
    parents = f"{wording.name(schema)}.{wording.name(key.table)}" if schema else wording.name(key.table)
    missing = f"NOT EXISTS (SELECT 1 FROM {parents} AS p WHERE {equal})"
    return f"SELECT 1 FROM {wording.name(table)} AS c WHERE {filled} AND {missing} LIMIT 1"
