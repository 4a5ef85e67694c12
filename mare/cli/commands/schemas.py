"""`mare schemas`: the ready schemas, or one of them to redirect and edit."""

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
