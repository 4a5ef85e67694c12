"""Bars on a terminal, plain lines in a pipe, nothing where silence was asked for. All of it on the error stream.

A bar shows the time left and goes away when it is done. Lines come after two seconds, and then when there is something new to
say; never with a number from the data: a pipe may end in a file. Entities that are made are public, so their lines tell the time
left too.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, Thread
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Task

    from mare.ports import Watch

    from .progress import FitProgress, Shown

FIRST, EVERY = 2.0, 10.0
"""Seconds before the first plain line, and between two: what was soon over needs no line, and a log should not be full."""
_WIDTH = 20


@contextmanager
def fit_bar(progress: FitProgress, quiet: bool) -> Iterator[None]:
    """Shows how far the fit is, as long as this is open."""
    with _shown(progress, quiet, lambda: progress.place):
        yield


@contextmanager
def count_bar(what: str, quiet: bool) -> Iterator[Callable[[float, int], None]]:
    """A bar over things that are counted, in public numbers. Yields what to tell it: done, total."""
    from time import monotonic

    from .progress import CountProgress

    progress = CountProgress(what, monotonic)
    with _shown(progress, quiet, lambda: with_time_left(progress)):
        yield progress.tell


@contextmanager
def step_bar(what: str, each: float, quiet: bool, *, true_sizes: bool = False) -> Iterator[Watch]:
    """A bar over steps that are told as they begin; ``each`` is how many seconds one of the things they go over takes, about.
    Where their sizes are those of the source (``true_sizes``), the time left is for the screen alone. Yields what to tell it."""
    from time import monotonic

    from .progress import StepProgress

    progress = StepProgress(what, each, monotonic)
    with _shown(progress, quiet, lambda: progress.doing if true_sizes else with_time_left(progress)):
        yield progress.tell


@contextmanager
def wait_bar(what: str, quiet: bool = False) -> Iterator[None]:
    """For one question to a database, whose answer nobody can tell the time of: what is done, and for how long already."""
    with count_bar(what, quiet):
        yield


@contextmanager
def _shown(progress: Shown, quiet: bool, line: Callable[[], str]) -> Iterator[None]:
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


def with_time_left(progress: Shown) -> str:
    """What is done, in a line."""
    left = progress.left()
    return progress.doing if left is None else f"{progress.doing}, about {in_words(left)} left"


def in_words(seconds: float) -> str:
    """Time left as people say it: nobody needs the seconds of an hour."""
    if seconds < 60:
        return f"{max(1, round(seconds))} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60:02d} min"


@contextmanager
def _drawn(progress: Shown) -> Iterator[None]:
    """Read anew ten times a second: what a step takes is only known when it is over."""
    from rich.console import Console
    from rich.progress import Progress, ProgressColumn
    from rich.progress_bar import ProgressBar
    from rich.table import Column
    from rich.text import Text

    class What(ProgressColumn):
        def render(self, task: Task) -> Text:
            return Text(progress.doing, no_wrap=True, overflow="ellipsis")

    class Bar(ProgressColumn):
        def render(self, task: Task) -> ProgressBar:
            done = progress.fraction()
            return ProgressBar(total=1.0, completed=done or 0.0, width=_WIDTH, pulse=done is None, animation_time=task.get_time())

    class Left(ProgressColumn):
        def render(self, task: Task) -> Text:
            left, spent = progress.left(), task.elapsed or 0.0
            if left is None:
                return Text(f"{in_words(spent)} so far" if spent > FIRST else "")
            return Text(f"about {in_words(left)} left")

    # What is done may be long, and is cut where there is no room: a bar is one line, and the time left stands whole.
    whole = (Column(no_wrap=True), Column(no_wrap=True))
    with Progress(Bar(whole[0]), Left(whole[1]), What(), console=Console(stderr=True), transient=True) as bar:
        bar.add_task("", total=None)
        yield
