"""`mare study`: what a larger ε and what history buys, on one's own data. Internal, not private."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from mare.cli.app import app
from mare.cli.options import DEFAULT_DELTA, AsJson, Delta, Quiet, SchemaName, Source
from mare.cli.outputs import check_output, write_output
from mare.cli.telling import print_json, remark
from mare.errors import ReleaseError


@app.command()
def study(
    schema: SchemaName,
    source: Source,
    epsilon: Annotated[str, typer.Option(metavar="LIST", help="The budgets to try, with commas between.")] = "1,2,5,10,100",
    fits: Annotated[int, typer.Option(min=1, help="How many fits of each: one may be lucky.")] = 1,
    delta: Delta = DEFAULT_DELTA,
    seed: Annotated[int, typer.Option(help="Of the hold-out, the noise and the samples, which nobody is given.")] = 0,
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

    from .fit import keep_off
    from .plan import numbers

    check_output(
        output, "a file for the study", "a study", ReleaseError, lambda page: INTERNAL.encode() in page, overwrite=replace
    )
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
