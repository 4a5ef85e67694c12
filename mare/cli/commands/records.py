"""Public, and free: what a release is good for (`mare card`), what it promises and was spent on (`mare ledger`), and a hard cap
for all releases of the same data, kept in a file (`mare budget`), which `mare fit … --budget-file FILE` takes from.

What a schema may name: the ready schemas, or one of them to redirect and edit (`mare schemas`), and the models that are installed
here (`mare models`).
"""

from __future__ import annotations

import json
import re
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from mare.cli.app import app
from mare.cli.options import AsJson
from mare.cli.telling import check_output, describe_doubts, page_width, print_json, print_utf8, remark, warn_status, write_output
from mare.errors import SchemaError, SinkError
from mare.privacy.budget import Budget, plainly
from mare.privacy.budget_file import BudgetFile, is_budget_file
from mare.privacy.pages import bullets


@app.command()
def schemas(
    name: Annotated[str | None, typer.Argument(help="Print this one: `mare schemas mimic-iv-core > my.yaml`.")] = None,
    as_json: AsJson = False,
    json_schema: Annotated[
        bool, typer.Option("--json-schema", help="Print the language itself as JSON Schema, for editors.")
    ] = False,
) -> None:
    """List the ready schemas, or print one of them. A name works wherever a path does."""
    from mare.schema.loading import JSON_SCHEMA, ready_file, ready_folder, ready_names

    if json_schema:
        if name is not None:
            raise typer.BadParameter("the JSON Schema is of the language, not of one schema. Leave out the name.")
        print_utf8((ready_folder() / JSON_SCHEMA).read_text(encoding="utf-8"))
        return
    if name is None:
        _list(as_json)
        return
    if as_json:
        raise typer.BadParameter("a schema is printed as YAML, with its comments. Leave out --json, or leave out the name.")
    path = ready_file(name)
    if path is None:
        raise SchemaError(f"there is no ready schema {name!r}. There are: {', '.join(ready_names())}.")
    print_utf8(path.read_text(encoding="utf-8"))


def _list(as_json: bool) -> None:
    from mare.schema.loading import ready_schemas

    ready = ready_schemas()
    if as_json:
        print_json([asdict(schema) for schema in ready])
        return
    table = Table(title="Ready schemas", caption="mare schemas NAME prints one; a name works wherever a path does.")
    table.add_column("name", no_wrap=True, style="bold")
    table.add_column("fits")
    table.add_column("entity")
    table.add_column("tables", justify="right")
    for schema in ready:
        table.add_row(schema.name, schema.summary, schema.entity, str(schema.tables))
    Console().print(table)


@app.command()
def models(as_json: AsJson = False) -> None:
    """List the models that a schema may name, with their options."""
    from mare.models import DEFAULT_MODEL, get_model, model_names

    installed = [get_model(name) for name in model_names()]
    if as_json:
        print_json(
            [
                {"name": m.name, "summary": m.summary, "options": dict(m.options), "default": m.name == DEFAULT_MODEL}
                for m in installed
            ]
        )
        return
    for model in installed:
        typer.echo(f"{model.name}{' (default)' if model.name == DEFAULT_MODEL else ''}: {model.summary}")
        for option, value in model.options.items():
            typer.echo(f"  {option} = {value}")


_PAGE = re.compile(rb"\s*<!doctype html", re.IGNORECASE)


@app.command()
def card(
    release: Annotated[Path, typer.Argument(help="A release file.")],
    output: Annotated[Path | None, typer.Option("-o", "--output", help="Write the card as one HTML file.")] = None,
    replace: Annotated[bool, typer.Option("--replace", help="Overwrite the HTML file, if there is one.")] = False,
    as_json: AsJson = False,
) -> None:
    """Say which columns of a release to trust, which are coarse and which not to use, by its noise alone. Needs no data."""
    from mare.release import load_release
    from mare.verdicts import card as make_card
    from mare.verdicts.card_text import short_lines

    check_output(output, "a file for the card", "a page of HTML", SinkError, _PAGE.match, overwrite=replace)
    loaded = load_release(release)
    made = make_card(loaded)
    if output is not None:
        write_output(output, made.to_html())
    if as_json:
        print_json(made.to_dict())
    elif output is not None:
        typer.echo("\n".join([*short_lines(made, page_width()), f"The whole card is in {output}"]))
    else:
        typer.echo(made.render(page_width()), nl=False)
    warn_status(loaded)


@app.command()
def ledger(
    file: Annotated[Path, typer.Argument(help="A release file, or a budget file.")],
    full: Annotated[bool, typer.Option("--full", help="A line for each answer, not for each part of the data.")] = False,
    as_json: AsJson = False,
) -> None:
    """Show what a release promises, what it was spent on and where each column comes from; or what a budget file has paid."""
    from mare.relational.filling import column_origins, render_origins
    from mare.release import load_release

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
    as_json: AsJson = False,
) -> None:
    """Make a budget file with nothing spent."""
    if (word := plainly(epsilon, delta)) is not None:
        remark(f"mare: {word}.", quiet=False)
    made = BudgetFile.create(file, Budget(epsilon, delta), file.stem if label is None else label, datetime.now(UTC))
    line = f"{file}: {made.read().label}, epsilon = {epsilon:g}, delta = {delta:g} for all releases together\n"
    typer.echo(made.read().to_json() if as_json else line, nl=as_json)


@budget.command()
def show(
    file: Annotated[Path, typer.Argument(help="The budget file.")],
    as_json: AsJson = False,
) -> None:
    """Show what was taken out of a budget file, by whom and when, and what is left."""
    account = BudgetFile(file).read()
    typer.echo(account.to_json() if as_json else account.render(page_width()), nl=as_json)
