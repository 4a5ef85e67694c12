"""An interruption arrives, wherever Python happens to be when it comes."""

from __future__ import annotations

import signal
import sys
import weakref
from time import monotonic, sleep

import pytest

from mare.cli.stopping import stoppable

SOON = 20.0
"""Seconds in which what is sent again has to arrive: some hundredths are enough, but the machine may be busy."""


def wait_for_it() -> None:
    end = monotonic() + SOON
    while monotonic() < end:
        sleep(0.001)
    pytest.fail("the interruption was lost")


def interrupted(number: signal.Signals = signal.SIGINT) -> None:
    with stoppable():
        signal.raise_signal(number)
        pytest.fail("it went on")


def test_an_interruption_comes_at_once() -> None:
    with pytest.raises(KeyboardInterrupt):
        interrupted()
    with pytest.raises(SystemExit):
        interrupted(signal.SIGTERM)


def interrupted_importing(done: list[str]) -> None:
    """As the import machinery does it: a lock is taken by one call, and given back by another."""
    source = "signal.raise_signal(signal.SIGINT)\ndone.append('released')\n"
    with stoppable():
        exec(compile(source, "<frozen importlib._bootstrap>", "exec"), {"signal": signal, "done": done})
        wait_for_it()


def test_among_the_locks_of_an_import_it_waits_until_they_are_free() -> None:
    done: list[str] = []
    with pytest.raises(KeyboardInterrupt):
        interrupted_importing(done)
    assert done == ["released"]


class Thing:
    pass


def interrupted_collecting(number: signal.Signals) -> None:
    with stoppable():
        thing = Thing()
        reference = weakref.ref(thing, lambda _: signal.raise_signal(number))
        del thing
        assert reference() is None
        wait_for_it()


@pytest.mark.parametrize(("number", "kind"), [(signal.SIGINT, KeyboardInterrupt), (signal.SIGTERM, SystemExit)])
def test_what_a_callback_swallows_comes_again(number: signal.Signals, kind: type[BaseException]) -> None:
    with pytest.raises(kind):
        interrupted_collecting(number)


def test_other_errors_in_callbacks_go_where_they_went(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[type[BaseException]] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda args: told.append(args.exc_type))

    class Thing:
        def __del__(self) -> None:
            raise ValueError

    with stoppable():
        thing = Thing()
        del thing
    assert told == [ValueError]


def test_everything_is_as_it_was_afterwards() -> None:
    before = sys.unraisablehook, signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
    with stoppable(), stoppable():
        assert signal.getsignal(signal.SIGINT) is not before[1]
    assert (sys.unraisablehook, signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)) == before
