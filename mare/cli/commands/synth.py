"""`mare synth`: fit and sample in one go."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mare.cli.app import app

from .fit import DEFAULT_DELTA, begin, check_notes, check_output, make_plan, rescue, reserving, run, save
from .sample import pour_with_progress, show

if TYPE_CHECKING:
    from mare.release import Release


@app.command()
def synth(
    schema: Annotated[str, typer.Argument(help="A schema file, or the name of a ready schema.")],
    source: Annotated[str, typer.Option("--from", help="The data: a database URL, a database file or a folder.")],
    to: Annotated[
        str,
        typer.Option(
            "--to", help="The target: a database URL, a database file, a folder of Parquet, or of CSV: FOLDER?format=csv."
        ),
    ],
    epsilon: Annotated[float, typer.Option(help="The budget: how much may be told about one entity.")],
    delta: Annotated[float, typer.Option(help="How often epsilon may not hold; 0 for pure epsilon.")] = DEFAULT_DELTA,
    output: Annotated[Path | None, typer.Option("-o", "--output", help="Also keep the release, in this file.")] = None,
    budget_file: Annotated[
        Path | None, typer.Option("--budget-file", help="Take the budget out of this file's cap first (mare budget create).")
    ] = None,
    purpose: Annotated[str, typer.Option("--purpose", help="What it is for: goes into the ledger and the budget file.")] = "",
    by: Annotated[
        str, typer.Option("--by", help="Who makes it: goes into both. Unless given, your login name, into the budget file alone.")
    ] = "",
    internal_notes: Annotated[
        Path | None,
        typer.Option("--internal-notes", help="Write what was left out, in true numbers, into this file. Not to be handed over."),
    ] = None,
    entities: Annotated[int | None, typer.Option(min=0, help="How many entities to make.")] = None,
    where: Annotated[
        str | None, typer.Option(help="Only entities that satisfy this, as in: age >= 65 and sex = 'F'. So many come out.")
    ] = None,
    threads: Annotated[int | None, typer.Option(min=1, help="Threads of the sample; as many as processors, up to four.")] = None,
    seed: Annotated[int, typer.Option(help="The seed of the sample (the noise has none).")] = 0,
    replace: Annotated[
        bool, typer.Option("--replace", help="Overwrite the target, where mare created it, and the release file.")
    ] = False,
    unsafe_peeked: Annotated[
        bool, typer.Option("--unsafe-peeked", help="Accept a schema that was filled in by looking at the data. NOT PRIVATE.")
    ] = False,
    unsafe_seed: Annotated[int | None, typer.Option(help="Draw the noise from a seed, for tests. NOT PRIVATE.")] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Say nothing but errors and NOT PRIVATE.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON, and nothing else.")] = False,
) -> None:
    """Fit a schema to a source, and fill a synthetic database: `fit` and `sample` in one."""
    from mare.cli.stopping import stoppable
    from mare.cli.telling import open_target
    from mare.finding import open_source
    from mare.sampling import SampleOptions
    from mare.sampling.conditions import entity_condition
    from mare.whereabouts import refuse_files_at, refuse_files_in, refuse_overlap

    if output is not None:
        check_output(output, replace)
    check_notes(internal_notes, output)
    options = SampleOptions(entities, seed, where, threads)
    made = make_plan(schema, epsilon, delta)
    if where is not None:
        entity_condition(where, made.schema)  # a slip is found before the budget is spent
    release: Release | None = None
    try:
        # The target is entered before the fit: one that cannot be written costs no budget.
        with stoppable(), open_target(to, replace, quiet or as_json) as sink:
            named = {"the release file": output, "the internal notes": internal_notes, "the budget file": budget_file}
            beside = [(what, path) for what, path in named.items() if path is not None]
            with open_source(source) as opened:
                refuse_overlap(opened, sink)
                refuse_files_at(opened, beside)
            refuse_files_in(sink, beside)
            sink.expect([name for name, table in made.schema.tables.items() if not table.ignore])
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
    show(release, sink, poured, quiet, as_json)
