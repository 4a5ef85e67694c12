"""`mare budget`: a hard cap for all releases of the same data, kept in a file (`mare fit … --budget-file FILE`)."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from mare.cli.app import app
from mare.cli.options import AsJson
from mare.cli.telling import page_width, remark
from mare.privacy.budget import Budget, plainly
from mare.privacy.budget_file import BudgetFile

DEFAULT_DELTA = 1e-8
"""Ten times what a fit takes unless told otherwise: the deltas of releases add up."""

budget = typer.Typer(help="A hard cap for all releases of the same data, kept in a file.", no_args_is_help=True)
app.add_typer(budget, name="budget")


@budget.command()
def create(
    file: Annotated[Path, typer.Argument(help="The budget file to make; it must not be there yet.")],
    epsilon: Annotated[float, typer.Option(help="The cap: how much all releases together may tell about one entity.")],
    delta: Annotated[
        float, typer.Option(help="How often epsilon may not hold; those of the releases add up. 0 for pure epsilon.")
    ] = DEFAULT_DELTA,
    label: Annotated[
        str | None, typer.Option(help="What releases call it in their ledgers; the file's name unless given.")
    ] = None,
) -> None:
    """Make a budget file with nothing spent."""
    if (word := plainly(epsilon, delta)) is not None:
        remark(f"mare: {word}.", quiet=False)
    made = BudgetFile.create(file, Budget(epsilon, delta), file.stem if label is None else label, datetime.now(UTC))
    typer.echo(f"{file}: {made.read().label}, epsilon = {epsilon:g}, delta = {delta:g} for all releases together")


@budget.command()
def show(
    file: Annotated[Path, typer.Argument(help="The budget file.")],
    as_json: AsJson = False,
) -> None:
    """Show what was taken out of a budget file, by whom and when, and what is left."""
    account = BudgetFile(file).read()
    typer.echo(account.to_json() if as_json else account.render(page_width()), nl=as_json)
