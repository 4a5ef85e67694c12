"""A chunk of entities through all tables, as codes: contexts decide how many children there are, models fill them in.

Mare-2024, IV.B. Sequences advance one position at a time for all parents that still need a row.
"""

from __future__ import annotations

import numpy as np

from mare.relational.placing import Index, Placed, PlacedTables

from .generator import Chunk, Generator
from .row_filling import fill_rows
from .row_placing import place_children, place_owned
from .run import Coded, Run, placed_under


def generate_chunk(
    made: Generator,
    seed: int,
    entities: Index,
    tables: tuple[str, ...] | None = None,
    *,
    some: bool = False,
) -> Chunk:
    """The coded rows of the entities with these numbers; of all tables, or of the first few. ``some`` says that the numbers are
    some of many: an entity is the same then whoever else is among them."""
    placed: dict[str, Placed] = {}
    given = {} if made.given is None else made.given.chunk(entities)
    chunk = Chunk(PlacedTables(made.owners, placed), {}, entities, given)
    run = Run(made, chunk, placed, seed, some)
    for table in made.tables if tables is None else tables:
        _table(run, table)
    return chunk


def _table(run: Run, table: str) -> None:
    """The rows of one table: given, or placed and filled."""
    codes: Coded = {"rows": {}, "head": {}, "context": {}}
    if run.made.given is not None and table in run.chunk.given:
        owner = run.made.owners[table][0] if run.made.owners[table] else None
        run.place(table, run.made.given.place(table, owner, run.chunk.given))
        return
    if table in run.made.owned_by:
        place_owned(run, table, codes)
    elif not run.made.owners[table]:
        run.place(table, placed_under(np.ones(len(run.entities), dtype=np.int64), codes))
    else:
        place_children(run, table, codes)
    fill_rows(run, table)
