"""`mare graph`: the tables and the column groups of a schema, as text or as a picture; before any data is touched."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mare.cli.app import app

if TYPE_CHECKING:
    from mare.schema import Schema

_SUFFIXES = (".svg", ".txt")
_WIDTH = 100
"""Of the text, where no terminal says how wide it is."""


@app.command()
def graph(
    schema: Annotated[str, typer.Argument(help="A schema file, or the name of a ready schema.")],
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Draw into this file: .svg for a picture, .txt for text.")
    ] = None,
) -> None:
    """Draw the tables, the column groups and what each may look at. Reads no data."""
    from mare.errors import SchemaError
    from mare.schema.faults import Fault, describe
    from mare.schema.loading import load_document

    if output is not None:
        _refuse(output)
    document = load_document(schema)
    try:
        drawn = _draw(document.schema, output)
    except SchemaError as error:
        # The graph knows places, the document knows lines.
        faults = tuple(f if f.line else f.at(document.line_of(f.path)) for f in error.faults if isinstance(f, Fault))
        raise SchemaError(describe(faults, document.label), faults) if faults else error from None
    if output is None:
        sys.stdout.flush()
        sys.stdout.buffer.write(drawn.encode(sys.stdout.encoding or "utf-8", errors="replace"))
        sys.stdout.flush()
    else:
        _write(output, drawn)
        typer.echo(f"drew {output}", err=True)
    if document.faults:
        typer.echo(f"{len(document.faults)} of its questions are still open: mare check {schema} lists them.", err=True)


def _draw(schema: Schema, output: Path | None) -> str:
    if output is not None and output.suffix.lower() == ".svg":
        from mare.graph.drawing import draw_svg

        return draw_svg(schema)
    from mare.graph.drawing import draw_text

    terminal = output is None and sys.stdout.isatty()
    return draw_text(schema, shutil.get_terminal_size((_WIDTH, 24)).columns if terminal else _WIDTH)


def _refuse(output: Path) -> None:
    from mare.errors import SinkError
    from mare.secrecy import require_path

    require_path(output, SinkError, "the file of a picture")
    if output.is_dir():
        raise SinkError(f"{output} is a folder. Give the name of a file, as in -o {output / 'graph.svg'}.")
    if output.suffix.lower() not in _SUFFIXES:
        ending = f"ends in {output.suffix}" if output.suffix else "has no ending"
        raise SinkError(f"{output} {ending}. Draw into a .svg file (a picture) or a .txt file (text), as in -o graph.svg.")
    if not output.absolute().parent.is_dir():
        raise SinkError(f"the folder {output.absolute().parent} is not there. Make it first, or draw somewhere else.")
    if output.exists() and output.stat().st_size and not _is_drawing(output):
        raise SinkError(f"{output} is no drawing of a schema: it is not overwritten. Remove it yourself, or draw somewhere else.")


def _is_drawing(file: Path) -> bool:
    """An earlier picture or text is drawn anew; whatever else somebody has called .svg or .txt stays."""
    with file.open("rb") as opened:
        return opened.read(10).startswith((b"<svg ", b"Tables of "))


def _write(output: Path, drawn: str) -> None:
    """The whole file or none: an earlier picture stays until then."""
    from mare.errors import SinkError
    from mare.files import write_whole

    try:
        write_whole(output, drawn)
    except OSError as error:
        raise SinkError(f"{output} cannot be written ({error.strerror}). Nothing was changed.") from None
