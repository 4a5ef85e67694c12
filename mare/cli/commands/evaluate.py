"""`mare evaluate`: how close synthetic rows come to real ones. Internal, not private."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from mare.cli.app import app
from mare.cli.options import Quiet, SchemaName
from mare.cli.outputs import check_output, write_output
from mare.cli.progress import step_bar
from mare.cli.telling import remark
from mare.errors import ReleaseError
from mare.ports import WorkStep
from mare.secrecy import shown

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
        Path | None, typer.Option(help="What mare audit found (its -o audit.json), told in words beside the rest.")
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
    seed: Annotated[int, typer.Option(min=0, help="Of the independent draw and the shuffled sequences beside it.")] = 0,
    quiet: Quiet = False,
) -> None:
    """Hold a synthetic database against the real one, and say what is close, what is not, and what is broken.

    It reads true rows and spends no budget, so whatever it says is internal, not private: nothing of it may go out with a
    release, or decide which release goes out.
    """
    from mare.evaluation.evaluate import evaluate as hold_against
    from mare.evaluation.evaluation import INTERNAL
    from mare.evaluation.verdict import verdict

    from .fit import keep_off

    written = {"the figures": as_json, "the report": output}
    for what, path in written.items():
        check_output(path, f"a file for {what}", "an evaluation", ReleaseError, _is_evaluation, overwrite=replace)
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


def _is_evaluation(beginning: bytes) -> bool:
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
