"""`mare ledger`: what a release has spent, on what, and what it promises."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from mare.cli.app import app


@app.command()
def ledger(
    release: Annotated[Path, typer.Argument(help="The release file.")],
    as_json: Annotated[bool, typer.Option("--json", help="The ledger as JSON, and nothing else.")] = False,
) -> None:
    """Show the privacy ledger of a release."""
    from mare.cli.telling import warn_status
    from mare.release import load_release

    loaded = load_release(release)
    typer.echo(loaded.ledger.to_json() if as_json else loaded.ledger.render())
    warn_status(loaded)
