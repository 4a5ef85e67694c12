"""`mare ledger`: what was spent, on what, and what is promised: of one release, or of all releases under a budget file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from mare.cli.app import app
from mare.cli.options import AsJson
from mare.cli.telling import describe_doubts, page_width, print_json, warn_status
from mare.privacy.budget_file import BudgetFile, is_budget_file
from mare.privacy.pages import bullets


@app.command()
def ledger(
    file: Annotated[Path, typer.Argument(help="A release file, or a budget file.")],
    full: Annotated[bool, typer.Option("--full", help="A line for each answer, not for each part of the data.")] = False,
    as_json: AsJson = False,
) -> None:
    """Show what a release promises, what it was spent on and where each column comes from; or what a budget file has paid."""
    from mare.release import load_release
    from mare.release.origins import column_origins, render_origins

    if is_budget_file(file):
        account = BudgetFile(file).read()
        typer.echo(account.to_json() if as_json else account.render(page_width()), nl=as_json)
        return
    loaded = load_release(file)
    origins = column_origins(loaded.schema, loaded.tables)
    if as_json:
        print_json({**json.loads(loaded.ledger.to_json()), "columns": origins, "doubts": describe_doubts(loaded)})
    else:
        width = page_width()
        typer.echo(f"{loaded.ledger.render(width, full=full)}\n{render_origins(origins, width)}", nl=False)
        if loaded.doubts:
            unknown = bullets([str(doubt) for doubt in loaded.doubts], width)
            typer.echo("\n".join(["", "What this release does not know:", *unknown]))
    warn_status(loaded)
