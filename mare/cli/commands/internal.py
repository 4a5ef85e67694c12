"""Verbs that read true rows and spend no budget: what they say and write is internal, not private.

`mare audit`: does one entity show through the fit of this schema to this source? `mare split`: a source in two, whole entities at
a time. `mare evaluate`: how close synthetic rows come to real ones. `mare study`: what a larger ε and what history buys.
"""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mare.cli.app import app
from mare.cli.options import DEFAULT_DELTA, AsJson, Delta, Quiet, SchemaName, Source
from mare.cli.progress import count_bar, step_bar
from mare.cli.telling import check_output, many, print_json, remark, write_output
from mare.errors import ReleaseError
from mare.files import write_whole
from mare.installed import __version__
from mare.ports import WorkStep
from mare.privacy.budget import Budget
from mare.privacy.occasion import utc
from mare.secrecy import shown

from .fit import keep_off
from .plan import numbers

if TYPE_CHECKING:
    from mare.audit import SourceAudit
    from mare.planning import Plan

FAILED = 1
"""The exit code where the guarantee does not hold."""


@app.command()
def audit(
    schema: SchemaName,
    source: Source,
    entities: Annotated[int, typer.Option(min=0, help="How many to remove at random, beside those worth removing.")] = 3,
    epsilon: Annotated[float, typer.Option(help="The budget of the fits that are made, and thrown away.")] = 2.0,
    delta: Delta = DEFAULT_DELTA,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o", "--output", help="Write the report into this file, as JSON where it ends in .json. Not to be handed over."
        ),
    ] = None,
    replace: Annotated[bool, typer.Option("--replace", help="Overwrite the file if there is one.")] = False,
    unsafe_peeked: Annotated[
        bool, typer.Option("--unsafe-peeked", help="Also audit a schema that was filled in by looking at the data.")
    ] = False,
    seed: Annotated[int, typer.Option(help="Another seed, other entities and other noise.")] = 0,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Say nothing but the verdict and errors.")] = False,
    as_json: AsJson = False,
) -> None:
    """Fit with and without some entities, and see whether one shows. Releases nothing; what it says is internal, not private."""
    from mare.audit import source_audit
    from mare.audit.report import KIND
    from mare.fitting import FitOptions
    from mare.planning.planning import plan

    # A report is written over another report alone: never over the data that is audited.
    starts = (_HEAD.encode(), f'{{\n  "{KIND}"'.encode())
    what, like = "a file for the report", "the report of an audit"
    check_output(output, what, like, ReleaseError, lambda beginning: beginning.startswith(starts), overwrite=replace)
    made = plan(schema, Budget(epsilon, delta))
    keep_off(source, {"the report": output})
    with count_bar("auditing", quiet or as_json) as watch:
        audited = source_audit(
            made, source, random=entities, seed=seed, options=FitOptions(unsafe_peeked=unsafe_peeked), watch=watch
        )
    if output is not None:
        _write(audited, made, output)
    if as_json:
        print_json(_document(audited, made))
    else:
        typer.echo(audited.render() if sys.stdout.isatty() and not quiet else _verdict(audited, output))
    if not audited.report.passed:
        raise typer.Exit(FAILED)


def _verdict(audited: SourceAudit, output: Path | None) -> str:
    """What a pipe is told: it may end in a log, which many may read, and the report holds true distances."""
    from mare.audit import INTERNAL

    head, *_ = audited.report.render().splitlines()
    where = "The report is shown on a terminal; --output FILE writes it." if output is None else f"The report is in {output}."
    return f"{head}\n{audited.how} ({INTERNAL})\n{where} ({INTERNAL})"


_HEAD = "INTERNAL, NOT PRIVATE: not to be handed over with a release."


def _write(audited: SourceAudit, plan: Plan, file: Path) -> None:
    """For its owner's eyes only; with what it takes to file it beside a release."""
    from mare.schema.yaml_writing import schema_hash

    if file.suffix == ".json":
        write_whole(file, json.dumps(_document(audited, plan), indent=2, ensure_ascii=False) + "\n", private=True)
        return
    lines = [
        f"Made: {utc(datetime.now(UTC))}, with mare {__version__}",
        f"Schema SHA-256: {schema_hash(plan.schema)} (as in the ledger of a release)",
        f"Fitted with: epsilon = {plan.budget.epsilon:g}, delta = {plan.budget.delta:g}; the fits were thrown away",
        "How to read it: moved is how far an entity's absence moves the exact answer, paid is the distance that the noise was "
        "made for, both in the norm that is named (L1, L2, or the largest change). A ratio above 1 would be a broken promise.",
    ]
    write_whole(file, "\n".join([_HEAD, *lines, "", audited.render(), ""]), private=True)


def _document(audited: SourceAudit, plan: Plan) -> dict[str, object]:
    """The report as JSON, true distances among it, for who asks for that."""
    from mare.audit import audit_document
    from mare.schema.yaml_writing import schema_hash

    facts = {"how": audited.how, "made": utc(datetime.now(UTC)), "mare": __version__, "schema": schema_hash(plan.schema)}
    return audit_document(audited.report, None, **facts, epsilon=plan.budget.epsilon, delta=plan.budget.delta)


@app.command()
def split(
    schema: SchemaName,
    source: Source,
    to: Annotated[
        tuple[str, str], typer.Option("--to", metavar="FIRST SECOND", help="Two targets: what is fitted, and the hold-out.")
    ],
    fraction: Annotated[float, typer.Option(help="The hold-out's part of the entities.")] = 0.2,
    seed: Annotated[int, typer.Option(min=0, help="Another seed, other entities.")] = 0,
    replace: Annotated[bool, typer.Option("--replace", help="Overwrite targets that carry the mark of mare.")] = False,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Write the entities of a source, each with all its rows, into two targets. True rows: internal, not private."""
    from mare.evaluation.evaluation import INTERNAL
    from mare.evaluation.splitting import split as split_source

    done = split_source(schema, source, to, fraction=fraction, seed=seed, replace=replace)
    if as_json:
        print_json(
            {
                "status": INTERNAL,
                "entities": list(done.entities),
                "rows": {name: list(rows) for name, rows in done.rows.items()},
                "nobodys": dict(done.nobodys),
                "severed": dict(done.severed),
            }
        )
        return
    first, second = done.targets
    remark(f"{many(done.entities[0], 'entity')} to {first}, {done.entities[1]} to {second}".replace("entitys", "entities"), quiet)
    for name, lost in done.nobodys.items():
        remark(f"mare: {many(lost, 'row')} of {name} belong to nobody, and are in neither.", quiet)
    for name, lost in done.severed.items():
        remark(f"mare: {many(lost, 'reference')} of {name} lead from one part to the other, and are left out.", quiet)
    remark(f"Both hold true rows ({INTERNAL}).", quiet)


_TITLE = 10_000
"""Bytes within which a report's title stands."""


@app.command()
def evaluate(
    schema: SchemaName,
    real: Annotated[str, typer.Option(help="The real rows: a database URL, a database file or a folder.")],
    synthetic: Annotated[str, typer.Option(help="The synthetic rows, wherever they are.")],
    holdout: Annotated[
        str | None, typer.Option(help="Other real entities, which the fit has not seen (mare split): the best that can be.")
    ] = None,
    questions: Annotated[
        Path | None, typer.Option("--sql", help="A file of SELECT statements, each answered on both sides and compared.")
    ] = None,
    utility: Annotated[
        bool, typer.Option("--utility", help="Train classifiers on the synthetic rows and test them on real ones; ask queries.")
    ] = False,
    risk: Annotated[
        bool, typer.Option("--risk", help="Attack the people in the real rows; with a hold-out, beside people who are not.")
    ] = False,
    audit: Annotated[
        Path | None, typer.Option(help="What mare audit found (its -o audit.json), put into words beside the rest.")
    ] = None,
    release: Annotated[
        Path | None, typer.Option("--release", metavar="FILE", help="The release they were drawn from: where its budget went.")
    ] = None,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Write the report as one HTML file. Not to be handed over.")
    ] = None,
    as_json: Annotated[
        Path | None, typer.Option("--json", metavar="FILE", help="Write every figure into this file. Not to be handed over.")
    ] = None,
    replace: Annotated[bool, typer.Option("--replace", help="Overwrite the files if there are some.")] = False,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the independent draw and the shuffled sequences beside it.")] = 0,
    quiet: Quiet = False,
) -> None:
    """Hold a synthetic database against the real one, and say what is close, what is not, and what is broken.

    It reads true rows and spends no budget, so whatever it says is internal, not private: nothing of it may go out with a
    release, or decide which release goes out.
    """
    from mare.evaluation.evaluate import evaluate as hold_against
    from mare.evaluation.evaluation import INTERNAL
    from mare.evaluation.verdict import verdict

    written = {"the figures": as_json, "the report": output}
    for what, path in written.items():
        check_output(path, f"a file for {what}", "an evaluation", ReleaseError, _is_internal, overwrite=replace)
        for source in filter(None, (real, synthetic, holdout) if path is not None else ()):
            keep_off(source, {what: path})
    with step_bar("evaluating", quiet) as tell:
        evaluation = hold_against(
            schema,
            real,
            synthetic,
            holdout=holdout,
            questions=questions,
            utility=utility,
            risk=risk,
            audit=audit,
            release=release,
            seed=seed,
            watch=lambda step: tell(WorkStep(step, 0, 0)),
        )
    if as_json is not None:
        write_output(as_json, json.dumps(evaluation.to_json(), ensure_ascii=False) + "\n", private=True)
    if output is not None:
        files: dict[str, object] = {"holdout": holdout, "sql": questions, "audit": audit, "release": release, "seed": seed}
        command = _again(schema, {"real": real, "synthetic": synthetic, **files, "utility": utility, "risk": risk})
        write_output(output, evaluation.to_html(command), private=True)
    typer.echo(verdict(evaluation))
    if as_json is not None:
        remark(f"Every figure is in {as_json} ({INTERNAL}).", quiet)
    if output is not None:
        remark(f"The report is in {output} ({INTERNAL}).", quiet)


def _is_internal(beginning: bytes) -> bool:
    """An evaluation or a study: its title says so."""
    return b"internal, not private" in beginning[:_TITLE]


def _again(schema: str, options: Mapping[str, object]) -> str:
    """The command that makes the report again. A database is named without its password."""
    words = ["mare", "evaluate", str(schema)]
    for name, value in options.items():
        if value is None or value is False:
            continue
        words.append(f"--{name}")
        if value is not True:
            words.append(shown(value) if isinstance(value, str | Path) else str(value))
    return shlex.join([*words, "-o", "report.html"])


@app.command()
def study(
    schema: SchemaName,
    source: Source,
    epsilon: Annotated[str, typer.Option(metavar="LIST", help="The budgets to try, with commas between.")] = "1,2,5,10,100",
    fits: Annotated[int, typer.Option(min=1, help="How many fits of each: one may be lucky.")] = 1,
    delta: Delta = DEFAULT_DELTA,
    seed: Annotated[int, typer.Option(help="Seed of the hold-out, the noise and the samples; none of them is handed out.")] = 0,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Write the study as one HTML file. Not to be handed over.")
    ] = None,
    replace: Annotated[bool, typer.Option("--replace", help="Overwrite the HTML file, if there is one.")] = False,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Fit with several budgets, and with less history, and hold each sample against the real rows. Every fit is thrown away.

    It reads true rows and spends no budget, so whatever it says is internal, not private: an epsilon that you choose by it was
    chosen by looking at the data, and nobody is charged for that.
    """
    from mare.evaluation.evaluation import INTERNAL
    from mare.evaluation.study import study as make_study

    check_output(output, "a file for the study", "a study", ReleaseError, _is_internal, overwrite=replace)
    if output is not None:
        keep_off(source, {"the study": output})
    watching = sys.stderr.isatty()
    studied = make_study(
        schema,
        source,
        numbers("--epsilon", epsilon, float),
        fits=fits,
        delta=delta,
        seed=seed,
        watch=lambda step: remark(f"mare: {step} …", quiet or not watching),
    )
    if output is not None:
        write_output(output, studied.to_html(), private=True)
    if as_json:
        print_json(studied.to_json())
        return
    typer.echo("\n".join(studied.words()))
    if output is not None:
        remark(f"The study is in {output} ({INTERNAL}).", quiet)
