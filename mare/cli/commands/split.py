"""`mare split`: a source in two, whole entities at a time: what is fitted, and a hold-out. Both hold true rows."""

from __future__ import annotations

from typing import Annotated

import typer

from mare.cli.app import app
from mare.cli.options import AsJson, Quiet, SchemaName, Source
from mare.cli.telling import many, print_json, remark


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
