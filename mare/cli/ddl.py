"""`--ddl FILE`: what a source holds besides tables, as statements that a person looks through and applies to the target.

Mare runs none of it: a view or a function is the designer's text, and may do anything.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from mare.errors import SinkError

if TYPE_CHECKING:
    from mare.ports import Source

_HEAD = "-- Written by mare synth --ddl."


def check_ddl(path: Path | None, replace: bool) -> None:
    """Found out before the budget is spent, not after."""
    from mare.cli.outputs import check_like, check_path

    if path is not None:
        check_path(path, "a file for statements", SinkError, overwrite=replace)
        check_like(path, "what mare wrote there", SinkError, lambda text: text.startswith(_HEAD.encode()))


def scripts_of(source: Source) -> tuple[str, ...]:
    """Views, triggers and functions of a source that has such."""
    from mare.ports import Scripted

    return source.scripts() if isinstance(source, Scripted) else ()


def write_ddl(path: Path, scripts: Sequence[str], left_out: Sequence[str], target: str) -> None:
    """The statements, after the list of what the target lacks."""
    from mare.cli.outputs import write_output

    head = [
        f"{_HEAD} Look through it, then apply it to {target}.",
        "-- It is the source's own text: names of its schema or database may have to be changed.",
        *(f"-- not made: {line}" for note in left_out for line in note.splitlines()),
    ]
    write_output(path, "\n".join(head) + "\n\n" + "\n\n".join(scripts) + "\n")
