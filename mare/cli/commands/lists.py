"""What a schema may name. `mare schemas`: the ready schemas, or one of them to redirect and edit. `mare models`: the models that
are installed here, mare's own and others'.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from mare.cli.app import app
from mare.cli.options import AsJson
from mare.cli.telling import print_json, print_utf8
from mare.errors import SchemaError


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
