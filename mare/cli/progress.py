"""How far a verb is, for the person who runs it: a bar on a terminal, plain lines in a pipe, nothing where silence was asked
for. All of it on the error stream.

What is done has a name, and a count where there is one; the time left comes from the rate so far. A bar goes away when it is
done. Lines come after two seconds, and then when there is something new to say. How many rows a source has are true numbers: they
are shown on a terminal and nowhere else, because a pipe may end in a file.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cached_property
from threading import Event, Thread
from time import monotonic
from typing import TYPE_CHECKING

from mare.finding import HeldSource
from mare.ports import Forgiving, Sized, Watch, WorkStep

if TYPE_CHECKING:
    import pyarrow as pa

    from mare.planning import Plan

FIRST, EVERY = 2.0, 10.0
"""Seconds before the first plain line, and between two: what was soon over needs no line, and a log should not be full."""
_WIDTH = 20


@dataclass(eq=False)
class Progress:
    """What is done now, and how many of how many where that is known. ``clock`` tells seconds."""

    what: str
    clock: Callable[[], float] = monotonic
    done: float = 0.0
    total: int | None = None
    _begun: float = 0.0
    """When the count began with nothing done: whatever came before says nothing about the rest."""
    _shown_at: float = 0.0

    def __post_init__(self) -> None:
        self._begun = self._shown_at = self.clock()

    def show(self, what: str, done: float = 0.0, total: int | None = None) -> None:
        """What is done from now on."""
        self.what, self.done, self.total, self._shown_at = what, done, total, self.clock()
        if not done:
            self._begun = self._shown_at

    def fraction(self) -> float | None:
        return min(1.0, self.done / self.total) if self.total else None

    def spent(self) -> float:
        """Seconds since the count began."""
        return self.clock() - self._begun

    def left(self) -> float | None:
        """Seconds, at the rate so far; None where there is none yet, or it has not been kept."""
        if not self.total or not self.done:
            return None
        left = (self.total - self.done) * (self._shown_at - self._begun) / self.done - (self.clock() - self._shown_at)
        return left if left > 0 else None

    @property
    def line(self) -> str:
        """What a pipe is told."""
        left = self.left()
        return self.what if left is None else f"{self.what}, about {in_words(left)} left"


@dataclass(eq=False)
class FitProgress:
    """The steps of one fit, told as they begin: public, and fixed by the plan. While reading, rows are counted: true numbers."""

    plan: Plan
    shown: Progress = field(default_factory=lambda: Progress("starting"))
    step: str = "starting"

    @cached_property
    def steps(self) -> list[str]:
        """All of them, in order, as the fit calls them."""
        tables = dict.fromkeys(planned.group.table for planned in self.plan.groups)
        encoding, fitting = [f"encoding {table}" for table in tables], [f"fitting {group.name}" for group in self.plan.groups]
        return ["reading", "measuring sizes", "learning domains", *encoding, *fitting]

    def tell(self, what: str) -> None:
        """The next step begins. Those of a kind are counted: all tables are encoded, all groups are fitted."""
        self.step = what
        alike = [step for step in self.steps if step.split()[0] == what.split()[0]]
        if what in alike and len(alike) > 1:
            self.shown.show(f"{what} ({alike.index(what) + 1} of {len(alike)})", alike.index(what), len(alike))
        else:
            self.shown.show(what)

    def reading(self, table: str, rows: int, about: int | None) -> None:
        """So many rows of a table were read, of about so many."""
        self.shown.show(f"reading {table}, {rows:,} rows", rows, about)

    @property
    def line(self) -> str:
        """Where the fit is, without a number from the data."""
        return (
            f"{self.step} (step {self.steps.index(self.step) + 1} of {len(self.steps)})" if self.step in self.steps else self.step
        )


@dataclass(frozen=True, eq=False)
class CountedSource(HeldSource):
    """An open source that tells how many rows of it were read."""

    progress: FitProgress

    def read(self, table: str, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        rows, about = 0, self._about(table)
        self.progress.reading(table, rows, about)
        for batch in self.reader.read(table, columns):
            rows += batch.num_rows
            self.progress.reading(table, rows, about)
            yield batch

    @property
    def unread(self) -> Mapping[str, int]:
        return self.reader.unread if isinstance(self.reader, Forgiving) else {}

    def _about(self, table: str) -> int | None:
        """Rows of a table, as far as the source tells without reading it: a true number."""
        # A budget may have been taken by now: that nobody can tell how long it lasts must not cost it, whoever made the source.
        with suppress(Exception):
            return self.reader.about(table) if isinstance(self.reader, Sized) else None
        return None


@contextmanager
def fit_bar(progress: FitProgress, quiet: bool) -> Iterator[None]:
    """Shows how far the fit is, as long as this is open."""
    with _shown(progress.shown, quiet, lambda: progress.line):
        yield


@contextmanager
def count_bar(what: str, quiet: bool, *, of_the_source: bool = False) -> Iterator[Callable[[float, int], None]]:
    """A bar over things that are counted, in public numbers. Where the time they take is that of the source's rows
    (``of_the_source``), the time left is for the screen alone. Yields what to tell it: done, total; who is never told anything
    says what is done, and for how long already (one question to a database)."""
    progress = Progress(what)

    def tell(done: float, total: int) -> None:
        progress.show(f"{what} ({int(done):,} of {total:,})", done, total)

    with _shown(progress, quiet, lambda: progress.what if of_the_source else progress.line):
        yield tell


@contextmanager
def step_bar(what: str, quiet: bool) -> Iterator[Watch]:
    """A bar over steps that are told as they begin. Yields what to tell it."""
    progress = Progress(what)

    def tell(step: WorkStep) -> None:
        progress.show(f"{what}: {step.what}", step.before, step.total)

    with _shown(progress, quiet, lambda: progress.line):
        yield tell


@contextmanager
def _shown(progress: Progress, quiet: bool, line: Callable[[], str]) -> Iterator[None]:
    """On a terminal as a bar, in a pipe as this line."""
    if quiet:
        yield
    elif not sys.stderr.isatty():
        with plain_lines(line):
            yield
    else:
        with _drawn(progress):
            yield


@contextmanager
def plain_lines(text: Callable[[], str]) -> Iterator[None]:
    """Says it in lines, as long as this is open."""
    stop = Event()
    thread = Thread(target=say_lines, args=(text, _line, stop.wait), daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def say_lines(text: Callable[[], str], say: Callable[[str], None], stopped: Callable[[float], bool]) -> None:
    """A line whenever there is something new; ``stopped`` waits so many seconds, and tells whether all is over."""
    last, wait = "", FIRST
    while not stopped(wait):
        if (now := text()) != last:
            say(now)
            last = now
        wait = EVERY


def _line(text: str) -> None:
    sys.stderr.write(f"mare: {text}\n")
    sys.stderr.flush()


def in_words(seconds: float) -> str:
    """Time as people say it: nobody needs the seconds of an hour."""
    if seconds < 60:
        return f"{max(1, round(seconds))} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60:02d} min"


@contextmanager
def _drawn(progress: Progress) -> Iterator[None]:
    """Read anew ten times a second."""
    from rich.console import Console
    from rich.live import Live
    from rich.progress_bar import ProgressBar
    from rich.table import Column, Table
    from rich.text import Text

    def line() -> Table:
        done, left, spent = progress.fraction(), progress.left(), progress.spent()
        time = f"about {in_words(left)} left" if left is not None else f"{in_words(spent)} so far" if spent > FIRST else ""
        # What is done may be long, and is cut where there is no room: a bar is one line, and the time left stands whole.
        table = Table.grid(Column(no_wrap=True), Column(no_wrap=True), Column(), padding=(0, 1))
        bar = ProgressBar(total=1.0, completed=done or 0.0, width=_WIDTH, pulse=done is None, animation_time=monotonic())
        table.add_row(bar, time, Text(progress.what, no_wrap=True, overflow="ellipsis"))
        return table

    with Live(get_renderable=line, console=Console(stderr=True), transient=True, refresh_per_second=10):
        yield
