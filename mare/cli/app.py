"""The typer application, the one place where errors become messages and exit codes, and how a run is stopped: Ctrl-C, a polite
kill, a terminal that was closed. Everything unwinds and is cleared away, whenever it comes.

Python raises an interruption wherever it happens to be. Two places are no good. In the middle of an import, a library that can
do without the module takes it for a missing one and goes on, and a lock of the import machinery may stay taken: the next thread
that imports something would wait for ever. And a callback of the garbage collection swallows it. In both cases it is sent again
a moment later. Between a folder that was just made and the `with` that would clear it away there is a gap too: what is left of
this process's own is cleared away at the end.
"""

from __future__ import annotations

import _thread
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from time import sleep
from traceback import format_tb
from types import FrameType
from typing import TYPE_CHECKING, Annotated

import typer
from typer.core import TyperGroup

from mare.cli.telling import print_json
from mare.errors import MareError
from mare.files import discard_own
from mare.installed import __version__
from mare.secrecy import may_hold_password

if TYPE_CHECKING:
    from sys import UnraisableHookArgs


_SIGNALS = ("SIGINT", "SIGTERM", "SIGHUP")
_IMPORTING = "<frozen importlib"
"""How the files of the import machinery are called."""
_A_MOMENT = 0.01
_PATIENCE = 1000
"""How often it is put off: an import that takes longer than this many moments is no import."""


class _Stop:
    """What happens on a signal. The first one unwinds, which clears everything away. One that comes meanwhile must not cut that
    short, or rows of people would stay on the disk; whoever insists ends it at once, and the next run clears away."""

    def __init__(self) -> None:
        self._times = self._put_off = 0
        self._number: int = signal.SIGINT

    def __call__(self, number: int, frame: FrameType | None) -> None:
        if self._times == 0 and self._put_off < _PATIENCE and _importing(frame):
            self._put_off += 1
            _send_again(number)
            return
        self._times += 1
        if self._times == 1:
            self._number = number
            raise self.as_raised()
        if self._times == 2:
            # Not by way of sys.stderr: this may be in the middle of a write to it.
            os.write(2, b"mare: clearing away what was begun. Once more ends at once, and leaves that to the next run.\n")
            return
        signal.signal(number, signal.SIG_DFL)
        signal.raise_signal(number)

    @property
    def asked(self) -> bool:
        """Whether a signal has come, so that everything unwinds."""
        return self._times > 0

    def as_raised(self) -> BaseException:
        return KeyboardInterrupt() if self._number == signal.SIGINT else SystemExit(128 + self._number)

    def swallowed(self, what: type[BaseException]) -> bool:
        """Whether it was the interruption that a callback swallowed: then it comes again."""
        if self._times == 0 or not issubclass(what, KeyboardInterrupt | SystemExit):
            return False
        self._times = 0
        _send_again(self._number)
        return True


def _importing(frame: FrameType | None) -> bool:
    while frame is not None and not frame.f_code.co_filename.startswith(_IMPORTING):
        frame = frame.f_back
    return frame is not None


def _send_again(number: int) -> None:
    # A bare thread: this may be in the middle of anything, and those of `threading` take locks.
    _thread.start_new_thread(_after_a_moment, (number,))


def _after_a_moment(number: int) -> None:
    sleep(_A_MOMENT)
    os.kill(os.getpid(), number)


@contextmanager
def stoppable() -> Iterator[None]:
    """A polite kill unwinds like Ctrl-C does: the staging file goes away and the target stays as it was. Within another one, that
    one counts; what was set to be ignored when mare was started stays ignored (`nohup`, a job in the background)."""
    before: dict[int, object] = {}
    stop, hook = _Stop(), sys.unraisablehook

    def unraisable(failure: UnraisableHookArgs) -> None:
        if not stop.swallowed(failure.exc_type):
            hook(failure)

    for number in [getattr(signal, name) for name in _SIGNALS if hasattr(signal, name)]:
        now = signal.getsignal(number)
        if now is not signal.SIG_IGN and not isinstance(now, _Stop):
            before[number] = signal.signal(number, stop)
    if before:
        sys.unraisablehook = unraisable
    try:
        yield
    except MareError:
        raise
    except Exception:
        # A library that calls back into Python may wrap the interruption in an error of its own (pydantic does).
        if stop.asked:
            raise stop.as_raised() from None
        raise
    finally:
        if stop.asked:
            discard_own()
        for number, handler in before.items():
            signal.signal(number, handler)  # type: ignore[arg-type]
        if before:
            sys.unraisablehook = hook


STOPPED = 130
"""The exit code of what Ctrl-C ended, as shells have it."""


class _Verbs(TyperGroup):
    """The verbs. What cannot be understood is not quoted: `mare init host=h password=…` without quotes is such a thing."""

    def invoke(self, ctx: typer.Context) -> object:  # type: ignore[override]
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as stop:
            # Said here: typer would end without a word.
            _say_stopped(stop)
            raise typer.Exit(STOPPED) from None
        except Exception as error:
            _tell_misuse(error)
            raise

    def parse_args(self, ctx: typer.Context, args: list[str]) -> list[str]:  # type: ignore[override]
        try:
            return super().parse_args(ctx, args)
        except Exception as error:
            _tell_misuse(error)
            raise


def _tell_misuse(error: Exception) -> None:
    """What is not understood: without what may be a password, and as JSON too where that was asked for. typer's own kind of error
    is not always click's: told apart by its message."""
    if not hasattr(error, "message"):
        return
    if may_hold_password(str(error.message)):
        error.message = "an argument is not understood (not shown, it may hold a password). Quote what belongs together."
    if "--json" in sys.argv and hasattr(error, "format_message"):
        print_json({"error": error.format_message(), "kind": "UsageError", "faults": []})


app = typer.Typer(
    name="mare",
    cls=_Verbs,
    help="Turn a sensitive relational database into a synthetic one, with a privacy guarantee per patient.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
)


def _say_version(asked: bool) -> None:
    if asked:
        typer.echo(f"mare {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", help="Say which mare this is.", callback=_say_version, is_eager=True)
    ] = False,
) -> None:
    """Turn a sensitive relational database into a synthetic one, with a privacy guarantee per patient."""


def main() -> None:
    """Run the command line. A `MareError` is a message and exit code 2; anything else is a bug and shows where, with code 1."""
    try:
        with stoppable():
            from mare.cli import commands  # noqa: F401  (registers the verbs)

            app()
    except MareError as error:
        typer.echo(f"mare: {error}", err=True)
        if "--json" in sys.argv:
            from mare.schema.faults import Fault

            faults = [fault.to_json() for fault in getattr(error, "faults", ()) if isinstance(fault, Fault)]
            print_json({"error": str(error), "kind": type(error).__name__, "faults": faults})
        sys.exit(2)
    except KeyboardInterrupt as stop:
        _say_stopped(stop)
        sys.exit(STOPPED)
    except Exception as bug:
        _say_bug(bug)
        sys.exit(1)


def _say_bug(bug: Exception) -> None:
    """Where it broke, in lines of code. What an error says that is not mare's own may quote a value: whoever sits at the screen
    is told, a log is not."""
    says = str(bug) if sys.stderr.isatty() else "(not shown: it may quote a value, and logs are read by many)"
    lines = "".join(format_tb(bug.__traceback__))
    typer.echo(f"{lines}mare: a bug, please report it: {type(bug).__name__}. Internal, not private: {says}", err=True)


def _say_stopped(stop: KeyboardInterrupt) -> None:
    """One line: by the time it is said everything has been cleared away."""
    why = f" {stop}" if str(stop) else ""
    typer.echo(f"mare: stopped. Nothing half-written is left.{why}", err=True)
