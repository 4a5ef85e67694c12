"""`mare sample`: a synthetic database from a release alone. Costs no budget, needs no source."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mare.cli.app import app
from mare.cli.options import AsJson, Entities, Quiet, Seed, Target, Threads, Where
from mare.cli.progress import count_bar, step_bar
from mare.cli.telling import describe_doubts, open_target, page_width, print_json, remark, tell_doubts, tell_reviews, warn_status
from mare.ports import Sink

if TYPE_CHECKING:
    from mare.release import Release
    from mare.sampling import Poured, SampleOptions
    from mare.schema.loading import SchemaDocument


@app.command()
def sample(
    release: Annotated[Path, typer.Argument(help="The release file.")],
    to: Target,
    entities: Entities = None,
    given: Annotated[
        list[str] | None,
        typer.Option(
            metavar="TABLE=FILE", help="Rows of your own (CSV, Parquet): what belongs to them is drawn. May be repeated."
        ),
    ] = None,
    where: Where = None,
    seed: Seed = 0,
    threads: Threads = None,
    replace: Annotated[bool, typer.Option("--replace", help="Overwrite the target, where it carries the mark of mare.")] = False,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Draw a synthetic database from a release.

    A release does not know where its data came from. So `--replace` goes by the mark alone that targets of mare carry: anything
    else is refused. Drop it yourself.
    """
    from mare.release import load_release
    from mare.sampling import SampleOptions
    from mare.sampling.given_files import parse_given, refuse_given_in

    options = SampleOptions(entities, seed, where, threads, parse_given(given or []))
    loaded = load_release(release)
    with open_target(to, replace, quiet or as_json) as sink:
        refuse_given_in(sink, options.given)
        poured = pour_with_progress(loaded, sink, options, quiet or as_json)
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
    told: Collection[str] = (),
    *,
    with_card: bool = False,
) -> None:
    """What was written, what was left out unless it was ``told`` already, what is in doubt, what it is good for, and the
    release's status when it is not private.

    The schema's ``document`` is there where it was fitted just now: a draft may still ask to be looked at.
    """
    from mare.verdicts import card as make_card
    from mare.verdicts.words import short_lines

    card = make_card(release) if with_card and (as_json or not quiet) else None
    if as_json:
        written = {"target": sink.label, "status": release.status, "rows": dict(poured.rows)}
        told = {"left_out": list(sink.notes), "notes": list(poured.notes), "doubts": describe_doubts(release)}
        carded = {"card": card.to_dict()} if card is not None else {}
        print_json({**written, **told, **({"reviews": document.reviews} if document is not None else {}), **carded})
    elif not quiet:
        for table, rows in poured.rows.items():
            typer.echo(f"{sink.label}: {table}, {rows:,} rows")
        for note in (*poured.notes, *(note for note in sink.notes if note not in told)):
            remark(note)
        tell_doubts(release, quiet)
        if document is not None:
            tell_reviews(document, quiet)
        if card is not None:
            typer.echo("\n".join(short_lines(card, page_width())))
    warn_status(release)
