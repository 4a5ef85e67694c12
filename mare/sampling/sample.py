"""`sample`: synthetic tables from a release alone. Post-processing: it costs nothing and needs no source.

    Release ─► generate codes ─► decode ─► sink

Entities go through in chunks, each through all tables, so memory does not grow with the output.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from mare.errors import PlanError, ReleaseError, SinkError
from mare.finding import Location, open_sink
from mare.ports import Sink, SinkTable, Watch
from mare.relational.filling import distinct_sets, linked_columns
from mare.release import Release, load_release
from mare.schema import Schema
from mare.schema.reflection import ReflectedTable

from .conditions import entity_condition
from .from_release import get_ready
from .given import take_given
from .given_columns import Given, refuse_given_in
from .streaming import ChunkSizes, Job, Meter, Progress, chunk_sizes, stream_batches, who_there_is

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class SampleOptions:
    """What is asked for."""

    entities: int | None = None
    """How many; as many as the source had, noisily, unless said."""
    seed: int = 0
    where: str | None = None
    """A condition on columns of the entity: only those that satisfy it come out."""
    threads: int | None = None
    """As many as there are processors, up to four, unless said. Changes nothing but the time."""
    given: Given = field(default_factory=dict)
    """Rows that the user gives, by table: frames or files. What belongs to them is drawn."""
    chunk: int | None = None
    """Entities that are made at once, about; by the rows they have, unless said. Changes nothing but time and memory."""

    def __post_init__(self) -> None:
        wishes = (("entities", self.entities), ("seed", self.seed), ("threads", self.threads), ("chunk", self.chunk))
        for name, number in wishes:
            if number is not None and not (hasattr(number, "__index__") and not isinstance(number, bool)):
                raise PlanError(f"{name} is {number!r}; it must be a whole number.")
        if self.entities is not None and self.entities < 0:
            raise PlanError(f"entities is {self.entities}; it must be 0 or more.")
        if self.given and (self.entities is not None or self.where is not None):
            asked = "how many entities" if self.entities is not None else "which entities (where)"
            raise PlanError(f"the given rows say {asked} there are: leave out one of the two.")
        for name, number in (("threads", self.threads), ("chunk", self.chunk)):
            if number is not None and number < 1:
                raise PlanError(f"{name} is {number}; it must be 1 or more.")


@dataclass(frozen=True, eq=False)
class Sampling:
    """A sample that can begin: everything that was asked for has been understood."""

    release: Release
    job: Job
    apart: Mapping[str, pa.RecordBatch]
    """Tables that come out before any entity."""
    entities: int
    chunks: ChunkSizes
    threads: int
    notes: tuple[str, ...] = ()
    """What the person at the keyboard should know."""

    def batches(self, progress: Progress | None = None, lost: Counter[str] | None = None) -> Iterator[dict[str, pa.RecordBatch]]:
        """The synthetic rows: public tables and pools first, then a chunk of entities at a time. ``lost`` is told, by table, how
        many could not be told from their siblings, and so are not there."""
        meter = Meter(self.entities, progress)
        meter.came_out(0)
        if self.apart:
            yield dict(self.apart)
        job, meter = who_there_is(self.job, meter, self.chunks)
        yield from stream_batches(job, meter, self.chunks, self.threads)
        if lost is not None:
            lost.update(meter.lost)


def start(release: Release, options: SampleOptions | None = None, watch: Watch | None = None) -> Sampling:
    """Understand what is asked for, or say why not. Nothing is drawn yet but the pools. ``watch`` is told the steps in which
    rows that are given are taken."""
    asked = options or SampleOptions()
    entities = release.plan.entities if asked.entities is None else asked.entities
    # What is given may refer to any row that a pool has had in an earlier sample: then all are made.
    ready = get_ready(release, asked.seed, None if asked.given else entities)
    notes = _orphans(release)
    if asked.given:
        given = take_given(release, ready, asked.given, watch)
        ready = replace(ready, fitted=replace(ready.fitted, given=given), writer=replace(ready.writer, given=given))
        entities, notes = given.entities, (*given.notes, *notes)
    condition = None
    if asked.where is not None:
        entity = release.schema.entity_name or ""
        condition = entity_condition(asked.where, release.schema, ready.writer.codecs.get(entity))
    job = Job(ready.fitted, ready.writer, asked.seed, condition)
    # Beyond four threads the writing of one sink is what takes time.
    threads = min(4, os.cpu_count() or 1) if asked.threads is None else asked.threads
    sizes = chunk_sizes(release, ready.fitted, asked.chunk)
    return Sampling(release, job, ready.apart, entities, sizes, threads, notes)


def _orphans(release: Release) -> tuple[str, ...]:
    """A note for each table whose orphans were entities of their own: their number would have cost budget, so it is not known."""
    tables = [n for n, t in release.schema.tables.items() if t.parent is not None and t.parent.orphans == "entity"]
    return tuple(
        f"{name}: every row that comes out has a parent. Rows without one took part in the fit as entities of their own "
        "(orphans: entity), but how many there were was not measured, so none are made."
        for name in tables
    )


def sample(
    release: Release | str | Path,
    to: Location | Sink | None = None,
    *,
    entities: int | None = None,
    seed: int = 0,
    where: str | None = None,
    given: Given | None = None,
    replace: bool = False,
    threads: int | None = None,
    progress: Progress | None = None,
) -> dict[str, pd.DataFrame] | None:
    """Draw a synthetic database. With ``to``, stream it there; without, return a frame per table.

    ``entities`` is how many to make (as many as the source had, noisily, unless said), ``where`` a condition on columns of the
    entity that all of them satisfy (``"age >= 65 and sex = 'F'"``). ``given`` holds rows of one's own, a frame or the path of a
    CSV or Parquet file per table: they come out as they are, and everything that belongs to them is drawn. The same release, seed
    and wishes give the same rows, with any number of ``threads``. ``replace`` allows to overwrite what is at the target, where
    mare created it: a release knows nothing of its source, so the mark that targets of mare carry decides. ``progress`` is told
    how many of how many entities are done.
    """
    if isinstance(release, str | Path):
        release = load_release(release)
    if not isinstance(release, Release):
        what = type(release).__name__
        raise ReleaseError(f"sample takes a release, not a {what}. Give what mare.fit returns, or the path of its file.")
    options = SampleOptions(entities, seed, where, threads, given or {})
    if to is None:
        frames: dict[str, pd.DataFrame] = {}
        with open_sink(frames) as sink:
            pour(start(release, options), sink, progress)
        return frames
    if not isinstance(to, str | Path | Mapping) and not hasattr(to, "create"):
        raise SinkError(
            f"a {type(to).__name__} is no target. Give a URL (postgresql://…), a database file or a folder, new or made by mare, "
            "or a dictionary for frames."
        )
    with open_sink(to, replace=replace) if isinstance(to, str | Path | Mapping) else to as sink:
        refuse_given_in(sink, options.given)
        pour(start(release, options), sink, progress)
    return None


@dataclass(frozen=True)
class Poured:
    """What came out."""

    rows: Mapping[str, int]
    notes: tuple[str, ...] = ()


def pour(sampling: Sampling, sink: Sink, progress: Progress | None = None) -> Poured:
    """Stream a sample that was started into a sink that was entered."""
    release = sampling.release
    written = {table.name: 0 for table in release.tables}
    sink.create(sink_tables(release.schema, release.tables), release.id)
    lost = Counter[str]()
    for batches in sampling.batches(progress, lost):
        for table, batch in batches.items():
            sink.write(table, batch)
            written[table] += batch.num_rows
    return Poured(written, (*sampling.notes, *_lost_rows(release.schema, written, lost)))


def _lost_rows(schema: Schema, written: Mapping[str, int], lost: Mapping[str, int]) -> tuple[str, ...]:
    """A note for each table that has fewer rows than were drawn for it, because a key holds."""
    notes = []
    for table, rows in lost.items():
        if rows:
            sets = [wanted.columns for wanted in distinct_sets(schema, table)]
            keys = " or ".join(f"[{', '.join(columns)}]" for columns in sets)
            notes.append(
                f"{table}: {rows:,} of {rows + written[table]:,} rows that were drawn are left out, with all that depends on "
                f"them: no value of {keys} was left that no other row of the same parent has. A wider range or a longer list "
                "leaves room; where a value follows the row before, `strict: true` does."
            )
    return tuple(notes)


def sink_tables(schema: Schema, tables: Sequence[ReflectedTable]) -> list[SinkTable]:
    """The tables that come out, as a sink is told of them."""
    return [SinkTable(table, _later(schema, table)) for table in tables]


def _later(schema: Schema, table: ReflectedTable) -> tuple[tuple[str, ...], ...]:
    """The foreign keys to other entities: those may come later than the row that refers to them."""
    if schema.tables[table.name].public:
        return ()
    links = linked_columns(schema, table.name).items()
    columns = {stored.name for name, link in links if link.way == "other_entity" and (stored := table.column(name)) is not None}
    return tuple(key.columns for key in table.foreign_keys if set(key.columns) <= columns)
