"""`mare fit`: the only verb that sees data. Spends the budget, writes a release."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mare.cli import options as ask
from mare.cli.app import app
from mare.cli.outputs import check_output, check_path
from mare.cli.progress import CountedSource, FitProgress, fit_bar
from mare.cli.telling import describe_release, print_json, remark, tell_doubts, tell_reviews, warn_status
from mare.errors import MareError, ReleaseError
from mare.finding import open_source
from mare.privacy.budget import Budget, Pledge, plainly
from mare.privacy.budget_file import budget_files_beside
from mare.privacy.occasion import Occasion, utc
from mare.whereabouts import refuse_files_at

if TYPE_CHECKING:
    from mare.planning import Plan
    from mare.release import Release

    Reserve = Callable[[Budget, str], Pledge]


@app.command()
def fit(
    schema: ask.SchemaName,
    source: ask.Source,
    epsilon: ask.Epsilon,
    output: Annotated[Path, typer.Option("-o", "--output", help="The release file to write.")],
    delta: ask.Delta = ask.DEFAULT_DELTA,
    budget_file: ask.PayingFile = None,
    purpose: ask.Purpose = "",
    by: ask.By = "",
    internal_notes: ask.InternalNotes = None,
    replace: Annotated[bool, typer.Option("--replace", help="Overwrite the release file, if there is one.")] = False,
    unsafe_peeked: ask.UnsafePeeked = False,
    unsafe_seed: ask.UnsafeSeed = None,
    quiet: ask.Quiet = False,
    as_json: ask.AsJson = False,
) -> None:
    """Fit a schema to a source under a privacy budget, and write the release."""
    from mare.planning.planning import plan
    from mare.schema.loading import load_document

    check_release(output, replace)
    check_notes(internal_notes, output)
    document = load_document(schema)
    made = plan(document.schema, Budget(epsilon, delta))
    keep_off(source, {"the release file": output, "the internal notes": internal_notes})
    occasion = begin(made, schema, purpose, by, budget_file, quiet or as_json)
    unsafe = unsafe_peeked or unsafe_seed is not None
    reserve = reserving(budget_file, occasion, f"fit of {schema} into {output}", unsafe)
    release = run(made, source, unsafe_peeked, unsafe_seed, quiet or as_json, occasion, reserve, internal_notes)
    save(release, output, replace)
    if as_json:
        print_json({**describe_release(release, str(output)), "reviews": document.reviews})
    elif not quiet:
        typer.echo(f"{output}: {release.status}, epsilon = {epsilon:g}, delta = {delta:g}")
    tell_doubts(release, quiet or as_json)
    tell_reviews(document, quiet or as_json)
    warn_status(release)
    remark(f"Next: mare sample {output} --to synthetic.sqlite", quiet or as_json)


def save(release: Release, output: Path, replace: bool) -> None:
    """Where it was asked to be; a release that is paid for is not lost because somebody else was there first."""
    try:
        release.save(output, replace=replace)
    except MareError:
        rescue(release)
        raise


def rescue(release: Release) -> None:
    """The fit is done and paid for: what fails or is stopped after it must not cost the release."""
    name = release.schema.name or "release"
    for file in (Path(f"{name}.rescued{number}.mare") for number in count(1)):
        try:
            release.save(file, replace=False)
        except MareError:
            if file.exists():
                continue
            return  # the disk may be what failed: the first fault is the one to tell
        typer.echo(
            f"mare: the fit was done: its release is kept in {file}; `mare sample {file} --to …` needs no budget.", err=True
        )
        return


def keep_off(source: str, files: Mapping[str, Path | None]) -> None:
    """What is written beside a fit is never written onto what it reads."""
    with open_source(source) as opened:
        refuse_files_at(opened, ((what, path) for what, path in files.items() if path is not None))


def begin(plan: Plan, schema: str, purpose: str, by: str, budget_file: Path | None, quiet: bool) -> Occasion:
    """When, for what and by whom; with a word about a promise that is none, and about a budget file that is not asked to pay."""
    if (word := plainly(plan.budget.epsilon, plan.budget.delta)) is not None:
        remark(f"mare: {word}.", quiet)
    if budget_file is None and Path(schema).is_file():
        for file in budget_files_beside(Path(schema)):
            remark(f"mare: {file} is a budget file, and does not pay for this. If it should: --budget-file {file}", quiet)
    return Occasion(utc(datetime.now(UTC)), purpose, by)


def reserving(budget_file: Path | None, occasion: Occasion, what: str, unsafe: bool) -> Reserve | None:
    """Who pays, if a budget file does. That a release was NOT PRIVATE stands there too: its cap does not cover that one."""
    from mare.fitting.fit import login_name, reserve_from

    if budget_file is None:
        return None
    purpose = occasion.purpose or what
    marked = f"{purpose} (NOT PRIVATE)" if unsafe else purpose
    return reserve_from(budget_file, marked, datetime.fromisoformat(occasion.at), occasion.by or login_name())


def run(
    plan: Plan,
    source: str,
    unsafe_peeked: bool,
    unsafe_seed: int | None,
    quiet: bool,
    occasion: Occasion,
    reserve: Reserve | None = None,
    internal_notes: Path | None = None,
) -> Release:
    """The fit, with progress on the error stream."""
    from mare.cli.notes import tell_notes
    from mare.fitting import FitOptions, LocalNotes, run_fit
    from mare.privacy.bits import OsBits, SeededBits

    left_out: list[LocalNotes] = []
    taken: list[str] = []

    def reserved(budget: Budget, unit: str) -> Pledge:
        assert reserve is not None
        pledge = reserve(budget, unit)
        taken.append("What was taken out of the budget file stays taken.")
        return pledge

    with suppress(OSError):  # told by the stage, in words
        # Python tries the folder with a file of its own, once: now, before the screen shows anything to stop.
        tempfile.gettempdir()
    progress = FitProgress(plan)
    bits = OsBits() if unsafe_seed is None else SeededBits(unsafe_seed)
    pays = None if reserve is None else reserved
    options = FitOptions(unsafe_peeked, bits, tell=progress.tell, notes=left_out.append, occasion=occasion, reserve=pays)
    try:
        with fit_bar(progress, quiet), open_source(source) as opened:
            release = run_fit(plan, CountedSource(opened, progress), options)
    except KeyboardInterrupt:
        raise KeyboardInterrupt(*taken) from None
    for notes in left_out:
        tell_notes(notes, quiet, plan.schema, internal_notes)
    return release


def check_notes(file: Path | None, output: Path | None) -> None:
    """Notes of an earlier fit are replaced: they are no result. What is written beside a release must not be the release."""
    from mare.cli.notes import are_notes

    check_output(file, "a file for notes", "a file for notes", ReleaseError, are_notes, overwrite=True)
    if file is not None and output is not None and file.resolve() == output.resolve():
        raise ReleaseError(f"{file} is to hold both the release and what must not be released. Give two paths.")


def check_release(output: Path, replace: bool) -> None:
    """Found out before the budget is spent, not after."""
    from mare.release.archive import refuse_other_file

    check_path(output, "a release file", ReleaseError, overwrite=replace)
    refuse_other_file(output)
