"""`mare fit`: the only verb that sees data; it spends the budget and writes a release. `mare sample`: a synthetic database from a
release alone; it costs no budget and needs no source. `mare synth`: both in one go.

`--ddl FILE` writes down what a source holds besides tables, as statements that a person looks through and applies to the target.
Mare runs none of it: a view or a function is the designer's text, and may do anything.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mare.cli import options as ask
from mare.cli import telling as say
from mare.cli.app import app
from mare.cli.progress import CountedSource, FitProgress, count_bar, fit_bar, step_bar
from mare.errors import MareError, ReleaseError, SinkError
from mare.finding import open_source, refuse_files_at, refuse_files_in, refuse_overlap
from mare.ports import Foresees, Scripted, Sink
from mare.privacy.budget import Budget, Pledge, plainly
from mare.privacy.budget_file import budget_files_beside
from mare.privacy.occasion import Occasion, utc

if TYPE_CHECKING:
    from mare.planning import Plan
    from mare.release import Release
    from mare.sampling import Poured, SampleOptions
    from mare.schema.loading import SchemaDocument


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
    quiet = quiet or as_json
    begin(made, schema, budget_file, quiet)
    payment = Payment(budget_file, purpose, by, f"fit of {schema} into {output}")
    release = run(made, source, payment, unsafe_peeked, unsafe_seed, internal_notes, quiet)
    save(release, output, replace)
    if as_json:
        say.print_json({**say.describe_release(release, str(output)), "reviews": document.reviews})
    elif not quiet:
        typer.echo(f"{output}: {release.status}, epsilon = {epsilon:g}, delta = {delta:g}")
    say.tell_doubts(release, quiet)
    say.tell_reviews(document, quiet)
    say.warn_status(release)
    say.remark(f"Next: mare sample {output} --to synthetic.sqlite", quiet)


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


def begin(plan: Plan, schema: str, budget_file: Path | None, quiet: bool) -> None:
    """A word about a promise that is none, and about a budget file that is not asked to pay."""
    if (word := plainly(plan.budget.epsilon, plan.budget.delta)) is not None:
        say.remark(f"mare: {word}.", quiet)
    if budget_file is None and Path(schema).is_file():
        for file in budget_files_beside(Path(schema)):
            say.remark(f"mare: {file} is a budget file, and does not pay for this. If it should: --budget-file {file}", quiet)


@dataclass(frozen=True)
class Payment:
    """Who pays, if a budget file does; for what and by whom."""

    budget_file: Path | None
    purpose: str
    by: str
    unless_said: str
    """The purpose that the budget file is told unless there is one."""

    def reserve(self, occasion: Occasion, unsafe: bool, taken: list[str]) -> Callable[[Budget, str], Pledge] | None:
        """That a release was NOT PRIVATE stands in the budget file too: its cap does not cover that one."""
        from mare.fitting.fit import login_name, reserve_from

        if self.budget_file is None:
            return None
        purpose = (self.purpose or self.unless_said) + (" (NOT PRIVATE)" if unsafe else "")
        reserve = reserve_from(self.budget_file, purpose, datetime.fromisoformat(occasion.at), self.by or login_name())

        def reserved(budget: Budget, unit: str) -> Pledge:
            pledge = reserve(budget, unit)
            taken.append("What was taken out of the budget file stays taken.")
            return pledge

        return reserved


def run(
    plan: Plan,
    source: str,
    payment: Payment,
    unsafe_peeked: bool,
    unsafe_seed: int | None,
    internal_notes: Path | None,
    quiet: bool,
) -> Release:
    """The fit, with progress on the error stream."""
    from mare.cli.notes import tell_notes
    from mare.fitting import FitOptions, LocalNotes, run_fit
    from mare.privacy.bits import OsBits, SeededBits

    left_out: list[LocalNotes] = []
    taken: list[str] = []
    occasion = Occasion(utc(datetime.now(UTC)), payment.purpose, payment.by)
    pays = payment.reserve(occasion, unsafe_peeked or unsafe_seed is not None, taken)
    with suppress(OSError):  # told by the stage, in words
        # Python tries the folder with a file of its own, once: now, before the screen shows anything to stop.
        tempfile.gettempdir()
    progress = FitProgress(plan)
    bits = OsBits() if unsafe_seed is None else SeededBits(unsafe_seed)
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

    say.check_output(file, "a file for notes", "a file for notes", ReleaseError, are_notes, overwrite=True)
    if file is not None and output is not None and file.resolve() == output.resolve():
        raise ReleaseError(f"{file} is to hold both the release and what must not be released. Give two paths.")


def check_release(output: Path, replace: bool) -> None:
    """Found out before the budget is spent, not after."""
    from mare.release.archive import refuse_other_file

    say.check_path(output, "a release file", ReleaseError, overwrite=replace)
    refuse_other_file(output)


@app.command()
def sample(
    release: Annotated[Path, typer.Argument(help="The release file.")],
    to: ask.Target,
    entities: ask.Entities = None,
    given: Annotated[
        list[str] | None,
        typer.Option(
            metavar="TABLE=FILE", help="Rows of your own (CSV, Parquet): what belongs to them is drawn. May be repeated."
        ),
    ] = None,
    where: ask.Where = None,
    seed: ask.Seed = 0,
    threads: ask.Threads = None,
    replace: Annotated[bool, typer.Option("--replace", help="Overwrite the target, where it carries the mark of mare.")] = False,
    quiet: ask.Quiet = False,
    as_json: ask.AsJson = False,
) -> None:
    """Draw a synthetic database from a release.

    A release does not know where its data came from. So `--replace` goes by the mark alone that targets of mare carry: anything
    else is refused. Drop it yourself.
    """
    from mare.release import load_release
    from mare.sampling import SampleOptions
    from mare.sampling.given_columns import parse_given, refuse_given_in

    quiet = quiet or as_json
    options = SampleOptions(entities, seed, where, threads, parse_given(given or []))
    loaded = load_release(release)
    with say.open_target(to, replace, quiet) as sink:
        refuse_given_in(sink, options.given)
        poured = pour_with_progress(loaded, sink, options, quiet)
    show(loaded, sink, poured, quiet, as_json)


def pour_with_progress(release: Release, sink: Sink, options: SampleOptions, quiet: bool) -> Poured:
    """The sample, with bars on the error stream. The sink has been entered."""
    from mare.sampling import pour, start

    with step_bar("given rows" if options.given else "preparing the sample", quiet) as watch:
        sampling = start(release, options, watch)
    with count_bar("sampling", quiet) as progress:
        return pour(sampling, sink, progress)


def show(
    release: Release,
    sink: Sink,
    poured: Poured,
    quiet: bool,
    as_json: bool,
    document: SchemaDocument | None = None,
    lacking: Collection[str] = (),
) -> None:
    """What was written, what was left out unless it was foreseen to be ``lacking``, what is in doubt, and the release's status
    when it is not private.

    The schema's ``document`` is there where it was fitted just now: a draft may still ask to be looked at, and nobody has seen
    what the release is good for.
    """
    from mare.verdicts import card as make_card
    from mare.verdicts.card_text import short_lines

    if as_json:
        page: dict[str, object] = {"target": sink.label, "status": release.status, "rows": dict(poured.rows)}
        page |= {"left_out": list(sink.notes), "notes": list(poured.notes), "doubts": say.describe_doubts(release)}
        say.print_json(page if document is None else {**page, "reviews": document.reviews, "card": make_card(release).to_dict()})
    elif not quiet:
        for table, rows in poured.rows.items():
            typer.echo(f"{sink.label}: {table}, {rows:,} rows")
        for note in (*poured.notes, *(note for note in sink.notes if note not in lacking)):
            say.remark(note)
        say.tell_doubts(release, quiet)
        if document is not None:
            say.tell_reviews(document, quiet)
            typer.echo("\n".join(short_lines(make_card(release), say.page_width())))
    say.warn_status(release)


_DDL_HEAD = "-- Written by mare synth --ddl."


@app.command()
def synth(
    schema: ask.SchemaName,
    source: ask.Source,
    to: ask.Target,
    epsilon: ask.Epsilon,
    delta: ask.Delta = ask.DEFAULT_DELTA,
    output: Annotated[Path | None, typer.Option("-o", "--output", help="Also keep the release, in this file.")] = None,
    budget_file: ask.PayingFile = None,
    purpose: ask.Purpose = "",
    by: ask.By = "",
    internal_notes: ask.InternalNotes = None,
    ddl: ask.Ddl = None,
    entities: ask.Entities = None,
    where: ask.Where = None,
    threads: ask.Threads = None,
    seed: ask.Seed = 0,
    replace: Annotated[
        bool, typer.Option("--replace", help="Overwrite the target, where mare created it, and the release file.")
    ] = False,
    unsafe_peeked: ask.UnsafePeeked = False,
    unsafe_seed: ask.UnsafeSeed = None,
    quiet: ask.Quiet = False,
    as_json: ask.AsJson = False,
) -> None:
    """Fit a schema to a source, and fill a synthetic database: `fit` and `sample` in one."""
    from mare.planning.planning import plan
    from mare.release.storage import left_tables, output_tables
    from mare.sampling import SampleOptions
    from mare.sampling.conditions import entity_condition
    from mare.sampling.sample import sink_tables
    from mare.schema.loading import load_document

    if output is not None:
        check_release(output, replace)
    check_notes(internal_notes, output)
    is_ddl = re.compile(_DDL_HEAD.encode()).match
    say.check_output(ddl, "a file for statements", "what mare wrote there", SinkError, is_ddl, overwrite=replace)
    quiet = quiet or as_json
    options = SampleOptions(entities, seed, where, threads)
    document = load_document(schema)
    made = plan(document.schema, Budget(epsilon, delta))
    if where is not None:
        entity_condition(where, made.schema)  # a slip is found before the budget is spent
    release: Release | None = None
    try:
        # The target is entered before the fit: one that cannot be written costs no budget.
        with say.open_target(to, replace, quiet) as sink:
            named = {"the release file": output, "the internal notes": internal_notes, "the budget file": budget_file}
            beside = [(what, path) for what, path in {**named, "the DDL": ddl}.items() if path is not None]
            with open_source(source) as opened:
                refuse_overlap(opened, sink)
                refuse_files_at(opened, beside)
                reflection = opened.reflect()
                outcome = output_tables(made.schema, reflection)
                scripts = opened.scripts() if ddl is not None and isinstance(opened, Scripted) else ()
            refuse_files_in(sink, beside)
            sink.expect([name for name, table in made.schema.tables.items() if not table.ignore])
            foreseen = sink.foresee(sink_tables(made.schema, outcome)) if isinstance(sink, Foresees) else None
            lacking = () if foreseen is None else (*left_tables(made.schema, reflection, scripted=ddl is not None), *foreseen)
            say.tell_left_out(sink.label, lacking, quiet)
            if ddl is not None:
                _write_ddl(ddl, scripts, lacking, sink.label)
            begin(made, schema, budget_file, quiet)
            payment = Payment(budget_file, purpose, by, f"synth of {schema} into {sink.label}")
            release = run(made, source, payment, unsafe_peeked, unsafe_seed, internal_notes, quiet)
            if output is not None:
                save(release, output, replace)
            poured = pour_with_progress(release, sink, options, quiet)
    except BaseException:  # a Ctrl-C too: it stops the sample, but what was paid for is paid for
        if release is not None and output is None:
            rescue(release)
        raise
    show(release, sink, poured, quiet, as_json, document, lacking)
    if output is not None:
        say.remark(f"Next: mare card {output} says why, and -o card.html writes it for others", quiet)


def _write_ddl(path: Path, scripts: Sequence[str], left_out: Sequence[str], target: str) -> None:
    """The statements, after the list of what the target lacks."""
    head = [
        f"{_DDL_HEAD} Look through it, then apply it to {target}.",
        "-- It is the source's own text: names of its schema or database may have to be changed.",
        *(f"-- not made: {line}" for note in left_out for line in note.splitlines()),
    ]
    say.write_output(path, "\n".join(head) + "\n\n" + "\n\n".join(scripts) + "\n")
