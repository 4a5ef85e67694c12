"""`mare graph`: the tables and the column groups of a schema, as text or as a picture; before any data is touched."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mare.cli.app import app
from mare.cli.options import SchemaName
from mare.cli.outputs import check_output, write_output
from mare.cli.telling import with_lines
from mare.errors import SchemaError, SinkError

if TYPE_CHECKING:
    from mare.schema import Schema

_SUFFIXES = (".svg", ".txt")
_WIDTH = 100
"""Of the text, where no terminal says how wide it is."""


@app.command()
def graph(
    schema: SchemaName,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Draw into this file: .svg for a picture, .txt for text.")
    ] = None,
) -> None:
    """Draw the tables, the column groups and what each may look at. Reads no data."""
    from mare.schema.loading import load_document

    check_output(output, "the file of a picture", "a drawing of a schema", SinkError, _is_drawing, overwrite=True)
    if output is not None and output.suffix.lower() not in _SUFFIXES:
        ending = f"ends in {output.suffix}" if output.suffix else "has no ending"
        raise SinkError(f"{output} {ending}. Draw into a .svg file (a picture) or a .txt file (text), as in -o graph.svg.")
    document = load_document(schema)
    try:
        drawn = _draw(document.schema, output)
    except SchemaError as error:
        raise with_lines(error, document) from None
    if output is None:
        sys.stdout.flush()
        sys.stdout.buffer.write(drawn.encode(sys.stdout.encoding or "utf-8", errors="replace"))
        sys.stdout.flush()
    else:
        write_output(output, drawn)
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


def _is_drawing(beginning: bytes) -> bool:
    """An earlier picture or text is drawn anew; whatever else somebody has called .svg or .txt stays."""
    return beginning.startswith((b"<svg ", b"Tables of "))
