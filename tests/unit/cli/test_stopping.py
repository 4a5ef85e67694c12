"""An interruption arrives, wherever Python happens to be when it comes."""

from __future__ import annotations

import importlib
import signal
import sys
import weakref
from contextlib import suppress
from pathlib import Path
from time import monotonic, sleep

import pytest

from mare.cli import app as stopping
from mare.cli.app import stoppable
from mare.errors import SourceError
from mare.files import hold_folder

pytestmark = pytest.mark.usefixtures("signals_as_at_a_terminal")

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


MODULE = """
import signal
from time import sleep

signal.raise_signal(signal.SIGINT)
for _ in range(100):
    sleep(0.001)
whole = True
"""


def interrupted_importing() -> None:
    """As libraries do it that can do without a module: whatever keeps it from being imported, they go on."""
    with stoppable():
        with suppress(BaseException):
            importlib.import_module("interrupted_module")
        wait_for_it()


def test_in_the_middle_of_an_import_it_waits_until_that_is_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "interrupted_module.py").write_text(MODULE)
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(KeyboardInterrupt):
        interrupted_importing()
    assert sys.modules.pop("interrupted_module").whole  # type: ignore[attr-defined]


def test_an_import_that_never_ends_can_be_stopped_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "endless_module.py").write_text(MODULE.replace("range(100)", "iter(int, 1)"))
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(stopping, "_PATIENCE", 5)
    with pytest.raises(KeyboardInterrupt), stoppable():
        importlib.import_module("endless_module")


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


def wrapped(number: signal.Signals, error: Exception) -> None:
    with stoppable():
        try:
            signal.raise_signal(number)
        except BaseException as stop:
            raise error from stop


@pytest.mark.parametrize(("number", "kind"), [(signal.SIGINT, KeyboardInterrupt), (signal.SIGTERM, SystemExit)])
def test_an_error_that_a_library_makes_of_it_is_still_the_interruption(number: signal.Signals, kind: type[BaseException]) -> None:
    """pydantic does, where the signal comes while it calls back into Python."""
    with pytest.raises(kind):
        wrapped(number, ValueError("something of the library's own"))


def test_errors_of_mares_own_and_those_that_nobody_stopped_stay_what_they_are() -> None:
    with pytest.raises(SourceError, match="said so"):
        wrapped(signal.SIGINT, SourceError("it is said so"))
    with pytest.raises(ValueError, match="mine"), stoppable():
        raise ValueError("mine")


def stopped_between_two_steps(folder: Path) -> None:
    with stoppable():
        hold_folder(folder, "mare-stage-")
        signal.raise_signal(signal.SIGINT)


def test_what_a_stop_left_between_two_steps_is_cleared_away(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        stopped_between_two_steps(tmp_path)
    assert list(tmp_path.iterdir()) == []
