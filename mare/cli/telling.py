"""How verbs speak: progress and remarks on the error stream, results on the output, and of a release that it is NOT PRIVATE
wherever it is shown. And the files that they write: where they may be written is found out before any work, and each appears
whole or not at all. A file is written over its like alone, a schema over a schema: nobody's data is drafted over.
"""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from mare.errors import MareError, PlanError, SchemaError, SinkError
from mare.files import write_whole
from mare.finding import open_sink
from mare.ports import Finishes, Sink
from mare.secrecy import require_path

if TYPE_CHECKING:
    from mare.release import Release
    from mare.schema.loading import SchemaDocument


_SHOWN = 8
"""Lines that are listed; more are not read."""


@contextmanager
def open_target(to: str, replace: bool, quiet: bool) -> Iterator[Sink]:
    """The target, entered. Leaving it may take its time: indexes are built, constraints are checked, all is made to appear."""
    from .progress import step_bar

    with ExitStack() as finishing:
        sink = open_sink(to, replace=replace)
        with sink:
            yield sink
            tell = finishing.enter_context(step_bar(f"finishing {sink.label}", quiet))
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


def tell_left_out(target: str, notes: Sequence[str], quiet: bool) -> None:
    """What a target will not have of its source, before anything is paid."""
    if notes:
        remark(f"mare: {target} will lack this of the source:", quiet)
    for note in notes:
        remark(f"  - {note}", quiet)


def tell_doubts(release: Release, quiet: bool) -> None:
    """What the release does not know, on a terminal and in a pipe alike: it follows from noisy answers."""
    for doubt in release.doubts:
        remark(f"mare: {doubt}", quiet)


def tell_reviews(document: SchemaDocument, quiet: bool) -> None:
    """A draft that nobody has looked through gives what it gives: said once more, after the fit."""
    if lines := document.reviews:
        shown = ", ".join(map(str, lines[:_SHOWN])) + (", …" if len(lines) > _SHOWN else "")
        which = (
            f"{many(len(lines), 'REVIEW comment')} of the draft left in {document.label}, line{'s' * (len(lines) > 1)} {shown}"
        )
        remark(f"mare: {which}: what a person has not looked at may be wrong.", quiet)


def describe_doubts(release: Release) -> list[dict[str, object]]:
    """The same for --json."""
    return [asdict(doubt) for doubt in release.doubts]


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
        "doubts": describe_doubts(release),
    }


def print_json(value: Mapping[str, object] | list[dict[str, object]]) -> None:
    print_utf8(json.dumps(value, indent=2, ensure_ascii=False) + "\n")


def print_utf8(text: str) -> None:
    """On the output as bytes: JSON and YAML are UTF-8, whatever the encoding of the terminal."""
    sys.stdout.flush()
    sys.stdout.buffer.write(text.encode())
    sys.stdout.flush()


def many(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def without_blanks(page: str) -> str:
    """What rich has laid out: it fills its lines up with blanks, which a file or a copied text does not need."""
    return "\n".join(line.rstrip() for line in page.splitlines())


def with_lines(error: PlanError | SchemaError, document: SchemaDocument) -> PlanError | SchemaError:
    """The same faults, each with the line of the file that is meant: graphs and plans know places, a document knows lines."""
    from mare.schema.faults import Fault, describe

    faults = tuple(f if f.line else f.at(document.line_of(f.path)) for f in error.faults if isinstance(f, Fault))
    return type(error)(describe(faults, document.label), faults) if faults else error


_BEGINNING = 1 << 16
"""Bytes that tell what a file is."""


def check_path(path: Path, what: str, error: type[MareError], *, overwrite: bool, option: str = "--replace") -> None:
    """Refuse a path that no file can be written at, or that would be overwritten unasked: ``option`` asks for that."""
    require_path(path, error, what)
    folder = path.absolute().parent
    if path.is_dir():
        raise error(f"{path} is a folder. Give the path of a file.")
    if not folder.is_dir():
        raise error(f"the folder {folder} is not there. Make it first, or give another path.")
    if path.exists() and not overwrite:
        raise error(f"{path} exists already. Give another path, or say {option} to overwrite it.")


def check_output(
    path: Path | None,
    what: str,
    like: str,
    error: type[MareError],
    is_like: Callable[[bytes], object],
    *,
    overwrite: bool,
    option: str = "--replace",
) -> None:
    """The same, and refuse to write over anything but its like, which its beginning tells. Nothing where nothing is written."""
    if path is None:
        return
    check_path(path, what, error, overwrite=overwrite, option=option)
    if path.exists() and path.stat().st_size:
        with path.open("rb") as opened:
            if not is_like(opened.read(_BEGINNING)):
                raise error(f"{path} exists already, and is not {like}. It was left as it was: give another path.")


def write_output(path: Path, text: str, *, private: bool = False) -> None:
    """The whole file or none: an earlier one stays until then. What holds data (``private``) is for its owner's eyes only."""
    try:
        write_whole(path, text, private=private)
    except OSError as error:
        raise SinkError(f"{path} cannot be written ({error.strerror}). Nothing was changed.") from None
