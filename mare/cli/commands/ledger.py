"""`mare ledger`: what was spent, on what, and what is promised: of one release, or of all releases under a budget file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from mare.cli.app import app


@app.command()
def ledger(
    file: Annotated[Path, typer.Argument(help="A release file, or a budget file.")],
    summary: Annotated[bool, typer.Option("--summary", help="One line for each part of the data, not for each answer.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="The ledger as JSON, and nothing else.")] = False,
) -> None:
    """Show the privacy ledger of a release, or what was taken out of a budget file."""
    from mare.cli.telling import page_width, warn_status
    from mare.privacy.budget_file import BudgetFile, is_budget_file
    from mare.release import load_release

    if is_budget_file(file):
        account = BudgetFile(file).read()
        typer.echo(account.to_json() if as_json else account.render(page_width()), nl=as_json)
        return
    loaded = load_release(file)
    typer.echo(loaded.ledger.to_json() if as_json else loaded.ledger.render(page_width(), summary=summary), nl=as_json)
    warn_status(loaded)
