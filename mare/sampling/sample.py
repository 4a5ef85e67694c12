"""`sample`: synthetic tables from a release alone. Post-processing: it costs nothing and needs no source.

    Release ─► generate codes ─► decode ─► sink

Entities go through in blocks, each through all tables, so memory does not grow with the output.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from mare.errors import PlanError
from mare.finding import Location, open_sink
from mare.ports import Sink, SinkTable
from mare.release import Release, load_release

from .preparation import prepare
from .writing import write_chunk

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

Progress = Callable[[int, int], None]
"""Told how many of how many entities are done."""


def sample(
    release: Release | str | Path,
    to: Location | Sink | None = None,
    *,
    entities: int | None = None,
    seed: int = 0,
    replace: bool = False,
    progress: Progress | None = None,
) -> dict[str, pd.DataFrame] | None:
    """Draw a synthetic database. With ``to``, stream it there; without, return a frame per table.

    ``entities`` is how many to make (as many as the source had, noisily, unless said). The same release, seed and number
    give the same rows. ``replace`` allows to overwrite what is at the target.
    """
    if not isinstance(release, Release):
        release = load_release(release)
    count = release.plan.entities if entities is None else entities
    if count < 0:
        raise PlanError(f"entities is {count}; it must be 0 or more.")
    if to is None:
        return _frames(release, count, seed, progress)
    sink = open_sink(to, replace=replace) if isinstance(to, str | Path | Mapping) else to
    with sink:
        pour(release, sink, count, seed, progress)
    return None


def pour(release: Release, sink: Sink, entities: int, seed: int, progress: Progress | None = None) -> dict[str, int]:
    """Stream a sample into a sink that was entered; how many rows each table got."""
    written = {table.name: 0 for table in release.tables}
    sink.create([SinkTable(table) for table in release.tables])
    for batches in blocks(release, entities, seed, progress):
        for table, batch in batches.items():
            sink.write(table, batch)
            written[table] += batch.num_rows
    return written


def blocks(release: Release, entities: int, seed: int, progress: Progress | None = None) -> Iterator[dict[str, pa.RecordBatch]]:
    """The synthetic rows: public tables and pools first, then a block of entities at a time."""
    ready = prepare(release, seed)
    if ready.apart:
        yield dict(ready.apart)
    starts: dict[str, int] = {}
    # One chunk at least: an empty database still has its tables' columns.
    for first in range(0, max(1, entities), 32768):
        ids = np.arange(first, min(first + 32768, entities), dtype=np.int64)
        chunk = ready.generator.chunk(seed, ids)
        yield write_chunk(ready.writer, chunk, starts, seed)
        starts = {name: starts.get(name, 0) + rows for name, rows in chunk.rows.items()}
        if progress is not None:
            progress(first + len(ids), entities)


def _frames(release: Release, entities: int, seed: int, progress: Progress | None) -> dict[str, pd.DataFrame]:
    frames: dict[str, pd.DataFrame] = {}
    with open_sink(frames) as sink:
        pour(release, sink, entities, seed, progress)
    return frames
