"""`mare schemas`: the ready schemas, or one of them to redirect and edit."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from mare.cli.app import app


@app.command()
def schemas(
    name: Annotated[str | None, typer.Argument(help="Print this one: `mare schemas mimic-iv-core > my.yaml`.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="The list as JSON.")] = False,
) -> None:
    """List the ready schemas, or print one of them. A name works wherever a path does."""
    from mare.errors import SchemaError
    from mare.schema.ready import find, names

    if name is None:
        _list(as_json)
        return
    if as_json:
        raise typer.BadParameter("a schema is printed as YAML, with its comments. Leave out --json, or leave out the name.")
    path = find(name)
    if path is None:
        raise SchemaError(f"there is no ready schema {name!r}. There are: {', '.join(names())}.")
    # Bytes: the file as it is, whatever the encoding of the terminal.
    sys.stdout.flush()
    sys.stdout.buffer.write(path.read_bytes())


def _list(as_json: bool) -> None:
    from mare.schema.ready import ready_schemas

    ready = ready_schemas()
    if as_json:
        import json

        fields = ("name", "summary", "entity", "tables")
        typer.echo(json.dumps([{field: getattr(one, field) for field in fields} for one in ready], indent=2))
        return
    from rich.console import Console
    from rich.table import Table

    table = Table(title="Ready schemas", caption="mare schemas NAME prints one; a name works wherever a path does.")
    table.add_column("name", no_wrap=True, style="bold")
    table.add_column("fits")
    table.add_column("entity")
    table.add_column("tables", justify="right")
    for one in ready:
        table.add_row(one.name, one.summary, one.entity, str(one.tables))
    Console().print(table)
