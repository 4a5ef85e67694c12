"""`mare audit`: does one entity show through the fit of this schema to this source? Internal, not private."""

from __future__ import annotations

import json
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mare.cli.app import app
from mare.cli.options import DEFAULT_DELTA, Delta, SchemaName, Source
from mare.cli.outputs import check_output
from mare.cli.progress import count_bar
from mare.errors import ReleaseError
from mare.files import write_whole
from mare.installed import __version__
from mare.privacy.budget import Budget
from mare.privacy.occasion import utc

from .fit import keep_off

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
) -> None:
    """Fit with and without some entities, and see whether one shows. Releases nothing; what it says is internal, not private."""
    from mare.audit import source_audit
    from mare.fitting import FitOptions
    from mare.planning.planning import plan

    _check_report(output, replace)
    made = plan(schema, Budget(epsilon, delta))
    keep_off(source, {"the report": output})
    with count_bar("auditing", quiet) as watch:
        audited = source_audit(
            made, source, random=entities, seed=seed, options=FitOptions(unsafe_peeked=unsafe_peeked), watch=watch
        )
    if output is not None:
        _write(audited, made, output)
    typer.echo(audited.render() if sys.stdout.isatty() and not quiet else _verdict(audited, output))
    if not audited.report.passed:
        raise typer.Exit(FAILED)


def _verdict(audited: SourceAudit, output: Path | None) -> str:
    """What a pipe is told: it may end in a log, which many may read, and the report holds true distances."""
    from mare.audit import INTERNAL

    head, *_ = audited.report.render().splitlines()
    where = "The report is shown on a terminal; --output FILE writes it." if output is None else f"The report is in {output}."
    return f"{head}\n{audited.how} ({INTERNAL})\n{where} ({INTERNAL})"


def _check_report(output: Path | None, replace: bool) -> None:
    """A report is written over another report alone: never over the data that is audited."""
    from mare.audit.report import KIND

    starts = (_HEAD.encode(), f'{{\n  "{KIND}"'.encode())
    what, like = "a file for the report", "the report of an audit"
    check_output(output, what, like, ReleaseError, lambda beginning: beginning.startswith(starts), overwrite=replace)


_HEAD = "INTERNAL, NOT PRIVATE: not to be handed over with a release."


def _write(audited: SourceAudit, plan: Plan, file: Path) -> None:
    """For its owner's eyes only; with what it takes to file it beside a release."""
    from mare.audit import audit_document
    from mare.schema.yaml_writing import schema_hash

    if file.suffix == ".json":
        facts = {"how": audited.how, "made": utc(datetime.now(UTC)), "mare": __version__, "schema": schema_hash(plan.schema)}
        claimed = {"epsilon": plan.budget.epsilon, "delta": plan.budget.delta}
        document = audit_document(audited.report, None, **facts, **claimed)
        write_whole(file, json.dumps(document, indent=2, ensure_ascii=False) + "\n", private=True)
        return
    lines = [
        f"Made: {utc(datetime.now(UTC))}, with mare {__version__}",
        f"Schema SHA-256: {schema_hash(plan.schema)} (as in the ledger of a release)",
        f"Fitted with: epsilon = {plan.budget.epsilon:g}, delta = {plan.budget.delta:g}; the fits were thrown away",
        "How to read it: moved is how far an entity's absence moves the exact answer, paid is the distance that the noise was "
        "made for, both in the norm that is named (L1, L2, or the largest change). A ratio above 1 would be a broken promise.",
    ]
    write_whole(file, "\n".join([_HEAD, *lines, "", audited.render(), ""]), private=True)
