"""`mare models`: the models that are installed here, mare's own and others'."""

from __future__ import annotations

import typer

from mare.cli.app import app
from mare.cli.options import AsJson
from mare.cli.telling import print_json


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
