"""`mare card`: what a release is good for, column by column. Public and free: it needs no data."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from mare.cli.app import app
from mare.cli.options import AsJson
from mare.cli.outputs import check_output, write_output
from mare.cli.telling import page_width, print_json, warn_status
from mare.errors import SinkError


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
    from mare.verdicts.words import short_lines

    check_output(output, "a file for the card", "a page of HTML", SinkError, _is_page, overwrite=replace)
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


def _is_page(beginning: bytes) -> bool:
    return beginning.lstrip().lower().startswith(b"<!doctype html")
