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

from mare.cli import stopping
from mare.cli.stopping import stoppable

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
