"""How many entities go through all tables at once. What comes out does not depend on it: only time, memory and what is told.

A full chunk is as large as memory likes. The first is smaller where a full one takes a while, so that the time left is known
soon; but a step along a sequence costs the same for few rows as for some hundred, so a chunk that is too small would cost more
than it tells. Reckoned from the plan and its noisy sizes alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from mare.release import Release

from .fitted_tables import FittedTables
from .randomness import BLOCK, draws_row_by_row

ROWS = 1 << 18
"""Rows of a full chunk, about: enough to work through at once, little enough to hold several of."""
MOST = 1 << 16
"""Entities of a chunk, however few rows they have."""
CELLS = 1 << 18
"""Values of the first chunk: a fraction of a second's work."""
STEP = 500
"""Values that are drawn in the time that a step takes for one column, whatever the rows: 0.13 ms against 0.2 µs, measured."""
AHEAD = 8
"""The first chunk is worth so many times what it costs to have one more."""


@dataclass(frozen=True)
class ChunkSizes:
    """Entities of the first chunk and of a full one; in between each is at most twice the one before."""

    first: int
    full: int

    def __iter__(self) -> Iterator[int]:
        now = min(self.first, self.full)
        while True:
            yield now
            now = min(self.full, 2 * now)


def chunk_sizes(release: Release, generator: FittedTables, asked: int | None = None) -> ChunkSizes:
    """Chunks of about as many entities as asked, else by how much there is of one, as far as the noisy sizes tell."""
    plan = release.plan
    rows = sum(settled.rows for settled in plan.groups if settled.group.part != "context") / max(1, plan.entities)
    cells = sum(settled.rows * len(settled.group.columns) for settled in plan.groups) / max(1, plan.entities)
    full = asked or min(MOST, max(1, int(ROWS / max(1.0, rows))))
    first = asked or max(1, int(max(CELLS, AHEAD * STEP * _steps(release, generator)) / max(1.0, cells)))
    # A block of entities shares a plain generator, and is never split.
    whole = 1 if all(draws_row_by_row(model) for model in generator.models.values()) else BLOCK
    return ChunkSizes(*(max(1, size // whole) * whole for size in (first, full)))


def _steps(release: Release, generator: FittedTables) -> int:
    """Columns, each as often as it is drawn one position after the other."""
    steps = 0
    for settled in release.plan.groups:
        table = settled.group.table
        owners = generator.owners.get(table, ()) if settled.group.part == "context" else (table,)
        steps += len(settled.group.columns) * max((_positions(release, generator, owner) for owner in owners), default=1)
    return steps


def _positions(release: Release, generator: FittedTables, table: str) -> int:
    """Rows that a parent may have one after the other."""
    link = release.schema.tables[table].parent if table in release.schema.tables else None
    return generator.caps.get(table, 1) if link is not None and link.type == "sequential" else 1
