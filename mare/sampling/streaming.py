"""Entities in chunks, each through all tables, by one thread or several: what comes out is the same.

    numbers of entities ─► generate (codes) ─► number the rows ─► write (values) ─► in order, to the sink

Only the numbering of fresh keys looks at the chunks before. So generating and writing run side by side, and memory holds as many
chunks as there are threads, however many entities there are.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from mare.relational.placing import Index

from .chunking import ChunkSizes
from .conditions import EntityCondition, impossible
from .fitted_tables import Chunk, FittedTables
from .generation import generate_chunk
from .meter import ChunkWork, Meter
from .other_entities import collected, numbered, referred_at_random, with_everyone
from .randomness import BLOCK
from .writing import ChunkValues, Writer, write_chunk

if TYPE_CHECKING:
    import pyarrow as pa

TRIES, RAREST, MOST_AT_ONCE = 200_000, 10_000, 1 << 17
"""Entities that are drawn at least before a condition counts as impossible; how many are drawn for each that satisfies it before
it counts as too rare; and how many at once."""
LOOK = 0.1
"""Seconds after which whoever waits for a chunk looks how far it is."""

T = TypeVar("T")
Batches = dict[str, "pa.RecordBatch"]


@dataclass(frozen=True, eq=False)
class Job:
    """What every chunk is made with."""

    generator: FittedTables
    writer: Writer
    seed: int
    condition: EntityCondition | None = None
    """Only entities that satisfy it come out."""

    def generate(self, entities: Index, work: ChunkWork) -> Chunk:
        return generate_chunk(self.generator, self.seed, entities, some=self.condition is not None, work=work)

    def write(self, chunk: Chunk, starts: Mapping[str, int], work: ChunkWork) -> Batches:
        batches = write_chunk(self.writer, chunk, starts, self.seed)
        work.generated(sum(batch.num_rows * batch.num_columns for batch in batches.values()))
        work.decoded()
        return batches


def who_there_is(job: Job, meter: Meter, sizes: ChunkSizes) -> tuple[Job, Meter]:
    """The same job, where random references to other entities know whom they may lead to; and what is left of the meter."""
    entities = meter.entities
    wanted = referred_at_random(job.writer)
    known = numbered(job.writer, wanted, entities, job.seed)
    job = replace(job, writer=with_everyone(job.writer, known))
    wanted = {table: names for table, names in wanted.items() if table not in known}
    first, second = meter.halves() if wanted else (meter, meter)
    while wanted:
        found = collected(_values(job, first, sizes), wanted)
        empty = {t: one for t, one in found.items() if not one.rows and t not in job.writer.everyone}
        if not empty:
            return replace(job, writer=with_everyone(job.writer, found)), second
        # Rows that have to refer to an empty table go, and others may have been referring to those.
        job = replace(job, writer=with_everyone(job.writer, empty))
    return job, second


def _values(job: Job, meter: Meter, sizes: ChunkSizes) -> Iterator[ChunkValues]:
    starts: dict[str, int] = {}
    for entities in chunks_of(job, meter, sizes):
        chunk = job.generate(entities, meter.begin(len(entities)))
        yield ChunkValues(job.writer, chunk, starts, job.seed)
        meter.end()
        starts = _after(starts, chunk)


def chunks_of(job: Job, meter: Meter, sizes: ChunkSizes) -> Iterator[Index]:
    """The numbers of the entities, chunk by chunk. One chunk at least: an empty database still has its tables' columns."""
    entities = meter.entities
    if job.condition is not None and entities:
        yield from _chosen(job, job.condition, meter, sizes)
        return
    first = 0
    for size in sizes:
        last = min(first + size, entities)
        yield np.arange(first, last, dtype=np.int64)
        if last == entities:
            return
        first = last


def _chosen(job: Job, condition: EntityCondition, meter: Meter, sizes: ChunkSizes) -> Iterator[Index]:
    """The first so many entities that satisfy a condition. Only their own rows are drawn to find them; and drawn again, the
    same, with all that belongs to them."""
    entities, found, tried, waiting, growing = meter.entities, 0, 0, np.zeros(0, dtype=np.int64), iter(sizes)
    enough = next(growing)
    while found < entities:
        if tried >= max(TRIES, RAREST * found):
            raise impossible(condition, found, entities, tried)
        # Whole blocks, as many as are likely to hold what is missing.
        likely = int(1.1 * (entities - found) * tried / max(1, found)) if tried else entities
        numbers = tried + np.arange(-(-min(max(likely, 1), MOST_AT_ONCE) // BLOCK) * BLOCK, dtype=np.int64)
        chunk = generate_chunk(job.generator, job.seed, numbers, (condition.table,), some=True)
        held = numbers[condition.holds(ChunkValues(job.writer, chunk, {}, job.seed))][: entities - found]
        tried, found = tried + len(numbers), found + len(held)
        meter.sought(condition.table, found, tried, TRIES)
        waiting = np.concatenate([waiting, held])
        while len(waiting) >= enough or (found == entities and len(waiting)):
            yield waiting[:enough]
            waiting, enough = waiting[enough:], next(growing)


def stream_batches(job: Job, meter: Meter, sizes: ChunkSizes, threads: int) -> Iterator[Batches]:
    """The rows of every chunk by table, in order."""
    if threads <= 1:
        yield from _one_by_one(job, meter, sizes)
        return
    pool = ThreadPoolExecutor(threads, thread_name_prefix="mare-sample")
    try:
        yield from _side_by_side(job, meter, chunks_of(job, meter, sizes), pool, threads + 1)
    finally:
        # On Ctrl-C too: what has not begun never does, and nothing runs on behind the caller's back.
        pool.shutdown(wait=True, cancel_futures=True)


def _one_by_one(job: Job, meter: Meter, sizes: ChunkSizes) -> Iterator[Batches]:
    starts: dict[str, int] = {}
    for entities in chunks_of(job, meter, sizes):
        work = meter.begin(len(entities))
        chunk = job.generate(entities, work)
        yield job.write(chunk, starts, work)
        meter.end()
        starts = _after(starts, chunk)


def _side_by_side(job: Job, meter: Meter, chunks: Iterator[Index], pool: ThreadPoolExecutor, ahead: int) -> Iterator[Batches]:
    starts: dict[str, int] = {}
    generating: deque[tuple[ChunkWork, Future[Chunk]]] = deque()
    writing: deque[Future[Batches]] = deque()
    more = True
    while True:
        while more and len(generating) + len(writing) < ahead:
            entities = next(chunks, None)
            if entities is None:
                more = False
            else:
                work = meter.begin(len(entities), tells=False)
                generating.append((work, pool.submit(job.generate, entities, work)))
        if generating and (not writing or generating[0][1].done()):
            work, generated = generating.popleft()
            chunk = _awaited(generated, meter)
            writing.append(pool.submit(job.write, chunk, starts, work))
            starts = _after(starts, chunk)
        elif writing:
            yield _awaited(writing.popleft(), meter)
            meter.end()
        else:
            return


def _awaited(future: Future[T], meter: Meter) -> T:
    """Until it is there, tell how far things are: from here, because nobody expects to be told by other threads."""
    while not wait([future], timeout=LOOK).done:
        meter.tell()
    meter.tell()
    return future.result()


def _after(starts: Mapping[str, int], chunk: Chunk) -> dict[str, int]:
    """How many rows of each table there are up to the end of a chunk: fresh keys go on from there."""
    return {table: starts.get(table, 0) + rows for table, rows in chunk.rows.items()}
