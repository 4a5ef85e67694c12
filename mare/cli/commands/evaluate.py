"""`mare evaluate`: how close synthetic rows come to real ones. Internal, not private."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from mare.cli.app import app
from mare.cli.options import Quiet, SchemaName
from mare.errors import ReleaseError


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
    as_json: Annotated[
        Path | None, typer.Option("--json", metavar="FILE", help="Write every figure into this file. Not to be handed over.")
    ] = None,
    replace: Annotated[bool, typer.Option("--replace", help="Overwrite the file if there is one.")] = False,
    seed: Annotated[int, typer.Option(min=0, help="Of the independent draw and the shuffled sequences beside it.")] = 0,
    quiet: Quiet = False,
) -> None:
    """Hold a synthetic database against the real one, and say what is close, what is not, and what is broken.

    It reads true rows and spends no budget, so whatever it says is internal, not private: nothing of it may go out with a
    release, or decide which release goes out.
    """
    import json

    from mare.cli.outputs import check_like, check_path, write_output
    from mare.cli.telling import remark
    from mare.evaluation.evaluate import evaluate as hold_against
    from mare.evaluation.evaluation import INTERNAL
    from mare.evaluation.verdict import verdict

    from .fit import keep_off

    if as_json is not None:
        check_path(as_json, "a file for the figures", ReleaseError, overwrite=replace)
        check_like(as_json, "an evaluation", ReleaseError, lambda beginning: INTERNAL.encode() in beginning[:200])
        for source in filter(None, (real, synthetic, holdout)):
            keep_off(source, {"the figures": as_json})
    watching = sys.stderr.isatty()
    evaluation = hold_against(
        schema,
        real,
        synthetic,
        holdout=holdout,
        questions=questions,
        utility=utility,
        risk=risk,
        audit=audit,
        seed=seed,
        watch=lambda step: remark(f"mare: {step} …", quiet or not watching),
    )
    if as_json is not None:
        write_output(as_json, json.dumps(evaluation.to_json(), ensure_ascii=False) + "\n", private=True)
    typer.echo(verdict(evaluation))
    if as_json is not None:
        remark(f"Every figure is in {as_json} ({INTERNAL}).", quiet)
