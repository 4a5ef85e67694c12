"""Every test ends: a plugin of pytest that gives each a time limit, for setting it up, for running it and for tearing it down.

An alarm interrupts it (in Python, a socket, a child, a lock, most queries of DuckDB) and leaves everything else running: the
other tests go on, and fixtures stop what they have started. It comes again until the test is over: Hypothesis takes the first one
for a failure and tries the same example again. What swallows every alarm, or never comes back to Python, ends with its process,
which turns the run red. While pytest itself works no alarm is on: one would end the run, with whatever result it has so far.

`pytest-timeout` was tried. It sets one alarm, which Hypothesis swallows, and takes it away after a failure, so that a test may
hang while it is torn down; by its other method a worker of xdist dies, is replaced, and begins with the same test again.
"""

from __future__ import annotations

import faulthandler
import signal
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from types import FrameType

import pytest
from _pytest.faulthandler import fault_handler_stderr_fd_key

USUAL, SLOW = 300.0, 1800.0
"""Seconds for each step of a test, and of one that is marked slow; `@pytest.mark.time_limit(SECONDS)` says otherwise."""
AGAIN = 20.0
"""Seconds between alarms."""
LAST = 600.0
"""Seconds from the first alarm to the end of the process. Hypothesis may take half of it to look for a smaller example."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addini("time_limits", f"limit, then seconds between alarms and to the end ({USUAL:g}, {AGAIN:g}, {LAST:g})", "args")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "time_limit(seconds): for each step of the test")


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> Generator[None, object, object]:
    with _limited(item):
        return (yield)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    with _limited(item):
        return (yield)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_teardown(item: pytest.Item) -> Generator[None, object, object]:
    with _limited(item):
        return (yield)


def limits_of(item: pytest.Item) -> tuple[float, float, float]:
    """Seconds to the first alarm, between alarms, and from the first to the end of the process."""
    usual, again, last = map(float, item.config.getini("time_limits") or (USUAL, AGAIN, LAST))
    marked = item.get_closest_marker("time_limit")
    limit = marked.args[0] if marked else SLOW if item.get_closest_marker("slow") else usual
    return float(limit), again, last


@contextmanager
def _limited(item: pytest.Item) -> Iterator[None]:
    limit, again, last = limits_of(item)

    def over(number: int, frame: FrameType | None) -> None:
        pytest.fail(f"it took longer than its limit of {limit:g} seconds")

    before = signal.signal(signal.SIGALRM, over)
    # Not by way of Python: whatever hangs may hold its lock.
    faulthandler.dump_traceback_later(limit + last, file=item.config.stash[fault_handler_stderr_fd_key], exit=True)
    signal.setitimer(signal.ITIMER_REAL, limit, again)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        faulthandler.cancel_dump_traceback_later()
        signal.signal(signal.SIGALRM, before)
