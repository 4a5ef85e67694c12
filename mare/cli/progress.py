"""How far a verb is, and how long it will take: for the eyes of whoever runs it.

Entities that are made are counted. The steps of a fit are public and fixed by the plan; what each costs goes with rows,
columns and history. How many rows there are is known as they are read: true numbers, so they are shown on a terminal and
nowhere else. What goes into a pipe, which may end in a file, tells the steps alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from types import TracebackType
from typing import TYPE_CHECKING, Protocol, Self

if TYPE_CHECKING:
    import pyarrow as pa

    from mare.finding import Location
    from mare.planning import Plan
    from mare.ports import Source, WorkStep
    from mare.schema.reflection import Peek, Reflection

_READ, _LEARN, _ENCODE = 0.25e-6, 0.2e-6, 0.02e-6
"""Seconds, roughly, on the machine this was measured on: per row and column. How fast this machine and this source are shows as
it goes, of either by itself: a slow database says nothing about the models."""
_LEARN_COLUMN, _FIT_PAIR, _FIT = 10e-3, 0.4e-3, 0.01e-6
"""Seconds to learn a column, however few rows there are; of a fit, per column and what it may look at, and that per row."""
_TRUST, _TRUST_READING = 0.5, 0.05
"""Seconds of work that have to be seen before what was seen counts as much as what was measured elsewhere. Sources differ more
than processors do."""
FINISH = 0.5e-6
"""Seconds in which a database goes over a row to index or check it."""
PEEK = 0.1e-6
"""Seconds in which a source looks at a value of one column."""
TAKE = 0.05e-6
"""Seconds in which one step goes over a value of the rows that are given."""
_STEP = 0.03
"""Seconds that a step takes at least."""
_GUESS = 0.04
"""Below this part of the work the pace says nothing."""
_SOON = 0.5
"""After so many seconds a guess is better than nothing: two may pass without a word."""
_LATE = 1.5
"""After so many seconds even one from elsewhere is, of a source whose first row is still to come: sources differ much."""
_ALMOST = 0.97
"""A step that takes longer than expected stands here until it is done."""


class Shown(Protocol):
    """What a bar needs to know."""

    @property
    def doing(self) -> str: ...
    def fraction(self) -> float | None: ...
    def left(self) -> float | None: ...


@dataclass(eq=False)
class CountProgress:
    """So many of so many, in public numbers; those in the making count in parts. Between two counts it moves on at the pace so
    far, which is that since the count began with nothing done: whatever came before says nothing about the rest."""

    what: str
    clock: Callable[[], float]
    done: float = 0.0
    total: int | None = None
    _begun: float = 0.0
    _told: float = 0.0
    _stride: float = 0.0

    def __post_init__(self) -> None:
        self._begun = self._told = self.clock()

    def tell(self, done: float, total: int) -> None:
        self._stride, self.done, self.total, self._told = done - self.done, done, total, self.clock()
        if not done:
            self._begun = self._told

    @property
    def doing(self) -> str:
        return self.what if self.total is None else f"{self.what} ({int(self.done):,} of {self.total:,})"

    def fraction(self) -> float | None:
        if not self.total:
            return None
        ahead = min(_ALMOST * self._stride, (self.clock() - self._told) / self._pace) if self._pace else 0.0
        return min(1.0, (self.done + ahead) / self.total)

    def left(self) -> float | None:
        """Seconds, at the pace so far; None as long as that would be a guess."""
        fraction = self.fraction()
        if fraction is None or not self._pace or not self.total:
            return None
        guessed = fraction < _GUESS and self.clock() - self._begun < _SOON
        return None if guessed else (1 - fraction) * self.total * self._pace

    @property
    def _pace(self) -> float:
        """Seconds for one."""
        return (self._told - self._begun) / self.done if self.done else 0.0


def seconds_left(before: tuple[float, float], now: tuple[float, float], to_come: float) -> float:
    """From what the steps before and this one have taken and were expected to take, and what is expected of those to come."""
    (spent, expected), (running, step) = before, now
    pace = (_TRUST + spent) / (_TRUST + expected)
    if running > _ALMOST * pace * step:  # longer than expected: so may be what is to come
        pace = (_TRUST + spent + running) / (_TRUST + expected + step)
    return max((1 - _ALMOST) * pace * step, pace * step - running) + pace * to_come


@dataclass(eq=False)
class StepProgress:
    """Steps that are told as they begin: those of a target after the last row, of rows that are given, of looks at a source. The
    last go over true numbers, from which the time left is worked out."""

    what: str
    each: float
    """Seconds that one of the things takes that the steps go over, roughly. How many it is here shows as it goes."""
    clock: Callable[[], float]
    step: WorkStep | None = None
    _begun: float = 0.0
    _step_begun: float = 0.0
    _shown: float = 0.0

    def __post_init__(self) -> None:
        self._begun = self._step_begun = self.clock()

    def tell(self, step: WorkStep) -> None:
        self._step_begun = self.clock()
        if self.step is None:  # whatever came before the first says nothing about the rest
            self._begun = self._step_begun
        self.step = step

    @property
    def doing(self) -> str:
        return self.what if self.step is None else f"{self.what}: {self.step.what}"

    def fraction(self) -> float | None:
        left = self.left()
        if left is None:
            return None
        spent = self.clock() - self._begun
        self._shown = max(self._shown, spent / (spent + left) if spent else 0.0)
        return self._shown

    def left(self) -> float | None:
        """Seconds; None where no step was told, or there is nothing to go over."""
        if self.step is None or not self.step.total:
            return None
        before, here = self.each * self.step.before, self.each * self.step.here
        to_come = self.each * self.step.total - before - here
        return seconds_left((self._step_begun - self._begun, before), (self.clock() - self._step_begun, here), to_come)


@dataclass(eq=False)
class FitProgress:
    """The steps of one fit, told as they begin, and the rows that were read. ``clock`` tells seconds."""

    plan: Plan
    clock: Callable[[], float]
    step: str = "starting"
    rows: dict[str, int] = field(default_factory=dict)
    """Rows read so far, by table: true numbers."""
    read: set[str] = field(default_factory=set)
    """Tables that were read to their end."""
    about: dict[str, int] = field(default_factory=dict)
    """Rows of tables, about, as far as the source tells before it is read: true numbers too."""
    _begun: float = 0.0
    _computing: float = 0.0
    """When reading was over."""
    _step_begun: float = 0.0
    _shown: float = 0.0

    def __post_init__(self) -> None:
        self._begun = self._computing = self._step_begun = self.clock()

    @cached_property
    def steps(self) -> list[str]:
        """All of them, in order, as the fit calls them."""
        encoding, fitting = (
            [f"encoding {table}" for table in self._tables],
            [f"fitting {group.name}" for group in self.plan.groups],
        )
        return ["reading", "measuring sizes", "learning domains", *encoding, *fitting]

    @property
    def place(self) -> str:
        """Where the fit is, without a number from the data."""
        steps = self.steps
        return f"{self.step} (step {steps.index(self.step) + 1} of {len(steps)})" if self.step in steps else self.step

    @property
    def doing(self) -> str:
        """The step; while reading, the table and how many rows of it were read. True numbers."""
        open_tables = [table for table in list(self.rows) if table not in self.read]  # the fit may be adding one
        if self.step != "reading" or not open_tables:
            return self.step
        return f"reading {open_tables[-1]}, {self.rows[open_tables[-1]]:,} rows"

    def tell(self, what: str) -> None:
        """The next step begins."""
        if self.step == "reading":
            self._computing = self.clock()
        self.step, self._step_begun = what, self.clock()

    def expect(self, table: str, about: Callable[[str], int | None]) -> None:
        """A table is about to be read. With the first that is fitted, all of them are asked after."""
        if table in self._tables and not self.rows.keys() & set(self._tables):
            self.about |= {one: told for one in self._tables if (told := about(one))}
            self._step_begun = self.clock()  # how long it took to find the tables says nothing about their rows

    def fraction(self) -> float | None:
        """How much is done, never less than was shown before. None where nobody can tell yet: how many rows there are."""
        left = self._left()
        if left is None:
            return None
        spent = self.clock() - self._begun
        self._shown = max(self._shown, spent / (spent + left) if spent else 0.0)
        return self._shown

    def left(self) -> float | None:
        """Seconds, at the pace so far; None as long as that would be a guess."""
        begun = any(list(self.rows.values())) or self.clock() - self._begun > _LATE
        return self._left() if self.step != "reading" or begun else None

    def _left(self) -> float | None:
        if self.step not in self.steps or not (self.read & set(self._tables) or self.about):
            return None
        now = self.steps.index(self.step)
        to_come = sum(self._expected(step) for step in self.steps[now + 1 :])
        spent, expected = self.clock() - self._step_begun, self._expected(self.step)
        if self.step == "reading":
            done = self._read_so_far
            pace = (_TRUST_READING + spent) / (_TRUST_READING + done) if done else 1.0
            return pace * max(0.0, expected - done) + to_come
        done = sum(self._expected(step) for step in self.steps[1:now])
        return seconds_left((self._step_begun - self._computing, done), (spent, expected), to_come)

    @property
    def _read_so_far(self) -> float:
        """What the rows that came so far were expected to take."""
        return sum(self._cells(table, self.rows.get(table, 0)) for table in self._tables) * _READ

    def _expected(self, step: str) -> float:
        verb, _, name = step.partition(" ")
        if step == "reading":
            return _STEP + sum(self._cells(table, self._estimated(table)) for table in self._tables) * _READ
        if step == "learning domains":
            columns = sum(self._cells(table, 1) for table in self._tables)
            return columns * _LEARN_COLUMN + sum(self._cells(table, self._estimated(table)) for table in self._tables) * _LEARN
        if verb == "encoding":
            return _STEP + self._cells(name, self._estimated(name)) * _ENCODE
        if verb == "fitting":
            planned = self.plan.group(name)
            pairs = len(planned.columns) * (len(planned.columns) + len(planned.history))
            parent = self._parent(planned.group.table) if planned.group.part == "context" else planned.group.table
            return _STEP + pairs * (_FIT_PAIR + self._estimated(parent) * _FIT)
        return _STEP

    @cached_property
    def _tables(self) -> list[str]:
        return list(dict.fromkeys(planned.group.table for planned in self.plan.groups))

    def _parent(self, table: str) -> str:
        parent = self.plan.schema.tables[table].parent if table in self.plan.schema.tables else None
        return table if parent is None or parent.table is None else parent.table

    def _cells(self, table: str, rows: float) -> float:
        described = self.plan.schema.tables.get(table)
        return rows * (1 + (0 if described is None else len(described.columns)))

    def _estimated(self, table: str) -> float:
        """Rows of a table: as read, as the source tells, or as many as the plan expects beside those."""
        seen, assumed = self.rows.get(table, 0), self._assumed
        if table in self.read:
            return float(seen)
        if table in self.about:
            return float(max(seen, self.about[table]))
        told = {**self.about, **{other: self.rows[other] for other in list(self.read)}}
        known = [other for other in assumed if other in told and assumed[other] > 0]
        scale = told[known[-1]] / assumed[known[-1]] if known else 1.0
        return max(float(seen), assumed.get(table, 0.0) * scale)

    @cached_property
    def _assumed(self) -> dict[str, float]:
        """Rows of the tables that the plan's preview reckons with."""
        seen = zip(self.plan.groups, self.plan.preview, strict=True)
        return {planned.group.table: preview.rows for planned, preview in seen if planned.group.part != "context"}


@dataclass(eq=False)
class CountedSource:
    """The source at a location, opened when it is entered, that tells how many rows of it were read."""

    location: Location
    progress: FitProgress
    _opened: list[Source] = field(default_factory=list)

    @property
    def source(self) -> Source:
        return self._opened[-1]

    @property
    def label(self) -> str:
        return self.source.label

    def __enter__(self) -> Self:
        from mare.finding import open_source

        self._opened.append(open_source(self.location).__enter__())
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._opened.pop().__exit__(kind, error, trace)

    def reflect(self) -> Reflection:
        return self.source.reflect()

    def read(self, table: str, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        rows = self.progress.rows
        self.progress.expect(table, self._about)
        rows[table] = 0
        for batch in self.source.read(table, columns):
            rows[table] += batch.num_rows
            yield batch
        self.progress.read.add(table)

    def peek(self, table: str, column: str, max_values: int) -> Peek:
        return self.source.peek(table, column, max_values)

    @property
    def unread(self) -> Mapping[str, int]:
        from mare.ports import Forgiving

        return self.source.unread if isinstance(self.source, Forgiving) else {}

    def _about(self, table: str) -> int | None:
        return rows_about(self.source, table)


def rows_about(source: Source, table: str) -> int | None:
    """Rows of a table, as far as the source tells without reading it: a true number."""
    from mare.ports import Sized

    # A budget may have been taken by now: that nobody can tell how long it lasts must not cost it, whoever made the source.
    with suppress(Exception):
        return source.about(table) if isinstance(source, Sized) else None
    return None
