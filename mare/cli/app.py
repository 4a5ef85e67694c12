"""The typer application and the one place where errors become messages and exit codes."""

from __future__ import annotations

import sys
from typing import Annotated

import typer
from typer.core import TyperGroup

from mare.cli.telling import print_json
from mare.errors import MareError
from mare.installed import __version__
from mare.secrecy import may_hold_password

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
        except Exception as error:  # typer's own kind of error is not always click's: told apart by its message
            if may_hold_password(str(getattr(error, "message", ""))):
                word = "an argument is not understood (not shown, it may hold a password). Quote what belongs together."
                error.message = word  # type: ignore[attr-defined]
            raise


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
    """Run the command line. A `MareError` is a message and exit code 2; anything else is a bug and shows where."""
    from mare.cli.stopping import stoppable

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


def _say_stopped(stop: KeyboardInterrupt) -> None:
    """One line: by the time it is said everything has been cleared away."""
    why = f" {stop}" if str(stop) else ""
    typer.echo(f"mare: stopped. Nothing half-written is left.{why}", err=True)
