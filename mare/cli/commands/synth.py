"""`mare synth`: fit and sample in one go.

`--ddl FILE` writes down what a source holds besides tables, as statements that a person looks through and applies to the target.
Mare runs none of it: a view or a function is the designer's text, and may do anything.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mare.cli import options as ask
from mare.cli.app import app
from mare.cli.outputs import check_output, write_output
from mare.cli.telling import open_target, remark, tell_left_out
from mare.errors import SinkError
from mare.finding import open_source
from mare.ports import Foresees, Scripted
from mare.privacy.budget import Budget
from mare.whereabouts import refuse_files_at, refuse_files_in, refuse_overlap

from .fit import begin, check_notes, check_release, rescue, reserving, run, save
from .sample import pour_with_progress, show

if TYPE_CHECKING:
    from mare.release import Release

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
    from mare.release.storage import output_tables
    from mare.sampling import SampleOptions
    from mare.sampling.conditions import entity_condition
    from mare.sampling.sample import sink_tables
    from mare.schema.loading import load_document

    if output is not None:
        check_release(output, replace)
    check_notes(internal_notes, output)
    head = _DDL_HEAD.encode()
    check_output(
        ddl, "a file for statements", "what mare wrote there", SinkError, lambda t: t.startswith(head), overwrite=replace
    )
    options = SampleOptions(entities, seed, where, threads)
    document = load_document(schema)
    made = plan(document.schema, Budget(epsilon, delta))
    if where is not None:
        entity_condition(where, made.schema)  # a slip is found before the budget is spent
    release: Release | None = None
    try:
        # The target is entered before the fit: one that cannot be written costs no budget.
        with open_target(to, replace, quiet or as_json) as sink:
            named = {
                "the release file": output,
                "the internal notes": internal_notes,
                "the budget file": budget_file,
                "the DDL": ddl,
            }
            beside = [(what, path) for what, path in named.items() if path is not None]
            with open_source(source) as opened:
                refuse_overlap(opened, sink)
                refuse_files_at(opened, beside)
                outcome = output_tables(made.schema, opened.reflect())
                scripts = opened.scripts() if ddl is not None and isinstance(opened, Scripted) else ()
            refuse_files_in(sink, beside)
            sink.expect([name for name, table in made.schema.tables.items() if not table.ignore])
            told = sink.foresee(sink_tables(made.schema, outcome)) if isinstance(sink, Foresees) else ()
            tell_left_out(sink.label, told, quiet or as_json)
            if ddl is not None:
                _write_ddl(ddl, scripts, told, sink.label)
            occasion = begin(made, schema, purpose, by, budget_file, quiet or as_json)
            unsafe = unsafe_peeked or unsafe_seed is not None
            reserve = reserving(budget_file, occasion, f"synth of {schema} into {sink.label}", unsafe)
            release = run(made, source, unsafe_peeked, unsafe_seed, quiet or as_json, occasion, reserve, internal_notes)
            if output is not None:
                save(release, output, replace)
            poured = pour_with_progress(release, sink, options, quiet or as_json)
    except BaseException:  # a Ctrl-C too: it stops the sample, but what was paid for is paid for
        if release is not None and output is None:
            rescue(release)
        raise
    show(release, sink, poured, quiet, as_json, document, told, with_card=True)
    if output is not None:
        remark(f"Next: mare card {output} says why, and -o card.html writes it for others", quiet or as_json)


def _write_ddl(path: Path, scripts: Sequence[str], left_out: Sequence[str], target: str) -> None:
    """The statements, after the list of what the target lacks."""
    head = [
        f"{_DDL_HEAD} Look through it, then apply it to {target}.",
        "-- It is the source's own text: names of its schema or database may have to be changed.",
        *(f"-- not made: {line}" for note in left_out for line in note.splitlines()),
    ]
    write_output(path, "\n".join(head) + "\n\n" + "\n\n".join(scripts) + "\n")
