"""How the verbs that take time speak: progress and remarks on the error stream, results on the output.

A release that is NOT PRIVATE says so wherever it is shown. True numbers are marked "internal, not private"; they go to a
terminal, or into a file that was asked for, never into a pipe: it may end in a log, which many may read.
"""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from mare.fitting import LocalNotes
    from mare.ports import Sink
    from mare.release import Release
    from mare.schema import Schema


@contextmanager
def open_target(to: str, replace: bool, quiet: bool) -> Iterator[Sink]:
    """The target, entered. Leaving it may take its time: indexes are built, constraints are checked, all is made to appear."""
    from mare.finding import open_sink
    from mare.ports import Finishes

    from .bars import step_bar
    from .progress import FINISH

    with ExitStack() as finishing:
        sink = open_sink(to, replace=replace)
        with sink:
            yield sink
            tell = finishing.enter_context(step_bar(f"finishing {sink.label}", FINISH, quiet))
            if isinstance(sink, Finishes):
                sink.tell_finishing(tell)


def page_width() -> int:
    """For pages of text: the terminal's width, within what can be read; 100 in a pipe."""
    return max(60, min(shutil.get_terminal_size((100, 24)).columns, 120))


def remark(text: str, quiet: bool = False) -> None:
    """For the person at the keyboard."""
    if not quiet:
        typer.echo(text, err=True)


def warn_status(release: Release) -> None:
    """Said on every print, also with --quiet: a release that is NOT PRIVATE must not pass for one that is."""
    if release.warning is not None:
        typer.echo(f"mare: {release.warning}", err=True)


UNTOLD = (
    "What was left out of the data, in true numbers, is told on a terminal only: logs are read by many. "
    "--internal-notes FILE writes it into a file."
)


def tell_notes(notes: LocalNotes, quiet: bool, schema: Schema, file: Path | None = None) -> None:
    """What was left out, in true numbers, by which line of the schema, and what to do: on a terminal, and in that file.

    A pipe is told the same whatever the data holds: that anything was left out at all is as much about the data as how much.
    """
    from .left_out import left_out_lines

    lines = list(left_out_lines(notes, schema))
    if file is not None:
        _write_notes(lines, file)
    if sys.stderr.isatty():
        for line in lines:
            remark(line, quiet)
    elif file is None:
        remark(UNTOLD, quiet)


_NOTES = "INTERNAL, NOT PRIVATE: true numbers of what the fit left out. Not to be handed over with the release."


def are_notes(file: Path) -> bool:
    """Whether a file holds the notes of an earlier fit."""
    with file.open("rb") as opened:
        return opened.read(len(_NOTES)) == _NOTES.encode()


def _write_notes(lines: list[str], file: Path) -> None:
    """For its owner's eyes only. The fit is done and paid for by now: a disk that is full must not cost the release."""
    from mare.files import write_whole

    try:
        write_whole(file, "\n".join([_NOTES, *(lines or ["Nothing was left out."]), ""]), private=True)
    except OSError as error:
        typer.echo(f"mare: {file} could not be written ({error.strerror}): what was left out is not told.", err=True)


def describe_release(release: Release, path: str | None = None) -> dict[str, object]:
    """The release in a few public facts, for --json."""
    totals, budget = release.ledger.totals, release.ledger.budget
    return {
        **({"release": path} if path is not None else {}),
        "status": release.status,
        "reasons": list(release.ledger.reasons),
        "epsilon": budget.epsilon,
        "delta": budget.delta,
        "spent": {"epsilon": totals.epsilon, "delta": totals.delta},
        "entities": release.plan.entities,
        "tables": [table.name for table in release.tables],
    }


def print_json(value: Mapping[str, object] | list[dict[str, object]]) -> None:
    typer.echo(json.dumps(value, indent=2, ensure_ascii=False))
