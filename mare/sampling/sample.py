"""`sample`: synthetic tables from a release alone. Post-processing: it costs nothing and needs no source.

    Release ─► generate codes ─► decode ─► sink

Entities go through in chunks, each through all tables, so memory does not grow with the output.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from mare.errors import PlanError
from mare.finding import Location, open_sink
from mare.ports import Sink, SinkTable
from mare.release import Release, load_release
from mare.release.linking import linked_columns
from mare.schema.reflection import ReflectedTable

from .preparation import prepare
from .streaming import Job, Progress, chunk_size, ranges, stream_batches, who_there_is

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa


def default_threads() -> int:
    """As many as there are processors, up to four: beyond that the writing of one sink is what takes time."""
    return min(4, os.process_cpu_count() or 1) if hasattr(os, "process_cpu_count") else min(4, os.cpu_count() or 1)


def sample(
    release: Release | str | Path,
    to: Location | Sink | None = None,
    *,
    entities: int | None = None,
    seed: int = 0,
    replace: bool = False,
    threads: int | None = None,
    progress: Progress | None = None,
) -> dict[str, pd.DataFrame] | None:
    """Draw a synthetic database. With ``to``, stream it there; without, return a frame per table.

    ``entities`` is how many to make (as many as the source had, noisily, unless said). The same release, seed and number
    give the same rows, with any number of ``threads`` (as many as there are processors, up to four, unless said). ``replace``
    allows to overwrite what is at the target.
    """
    if not isinstance(release, Release):
        release = load_release(release)
    count = release.plan.entities if entities is None else entities
    if count < 0:
        raise PlanError(f"entities is {count}; it must be 0 or more.")
    if to is None:
        return _frames(release, count, seed, progress, threads)
    sink = open_sink(to, replace=replace) if isinstance(to, str | Path | Mapping) else to
    with sink:
        pour(release, sink, count, seed, progress, threads)
    return None


def pour(
    release: Release, sink: Sink, entities: int, seed: int, progress: Progress | None = None, threads: int | None = None
) -> dict[str, int]:
    """Stream a sample into a sink that was entered; how many rows each table got."""
    written = {table.name: 0 for table in release.tables}
    sink.create([SinkTable(table, _later(release, table)) for table in release.tables])
    for made in batches(release, entities, seed, progress, default_threads() if threads is None else threads):
        for table, batch in made.items():
            sink.write(table, batch)
            written[table] += batch.num_rows
    return written


def _later(release: Release, table: ReflectedTable) -> tuple[tuple[str, ...], ...]:
    """The foreign keys to other entities: those may come later than the row that refers to them."""
    if release.schema.tables[table.name].public:
        return ()
    links = linked_columns(release.schema, table.name).items()
    found = {stored.name for name, link in links if link.way == "other_entity" and (stored := table.column(name)) is not None}
    return tuple(key.columns for key in table.foreign_keys if set(key.columns) <= found)


def batches(
    release: Release,
    entities: int,
    seed: int,
    progress: Progress | None = None,
    threads: int = 1,
    chunk: int | None = None,
) -> Iterator[dict[str, pa.RecordBatch]]:
    """The synthetic rows: public tables and pools first, then a chunk of entities at a time. How large a chunk is, and how
    many threads there are, changes nothing but time and memory."""
    ready = prepare(release, seed)
    if ready.apart:
        yield dict(ready.apart)
    done, size = 0, chunk or chunk_size(release, ready.generator)
    job = who_there_is(Job(ready.generator, ready.writer, seed), entities, size)
    for number, found in stream_batches(job, ranges(entities, size), threads):
        yield found
        done += number
        if progress is not None:
            progress(done, entities)


def _frames(
    release: Release, entities: int, seed: int, progress: Progress | None, threads: int | None
) -> dict[str, pd.DataFrame]:
    frames: dict[str, pd.DataFrame] = {}
    with open_sink(frames) as sink:
        pour(release, sink, entities, seed, progress, threads)
    return frames
