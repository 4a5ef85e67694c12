"""Entities in chunks, each through all tables, by one thread or several: what comes out is the same.

    numbers of entities ─► generate (codes) ─► number the rows ─► write (values) ─► in order, to the sink

Only the numbering of fresh keys looks at the chunks before. So generating and writing run side by side, and memory holds as many
chunks as there are threads, however many entities there are.

What comes out does not depend on how many entities go through at once: only time, memory and what is told. A full chunk is as
large as memory likes. The first is smaller where a full one takes a while, so that the time left is known soon; but a step along
a sequence costs the same for few rows as for some hundred, so a chunk that is too small would cost more than it tells. Reckoned
from the plan and its noisy sizes alone.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa

from mare.relational.placing import Index
from mare.release import Release

from .conditions import EntityCondition, impossible
from .fitted_tables import Chunk, FittedTables
from .generation import generate_chunk
from .linking import collected, numbered, referred_at_random, with_everyone
from .run import BLOCK, draws_row_by_row
from .writing import ChunkValues, Writer

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
TRIES, RAREST, MOST_AT_ONCE = 200_000, 10_000, 1 << 17
"""Entities that are drawn at least before a condition counts as impossible; how many are drawn for each that satisfies it before
it counts as too rare; and how many at once."""

Progress = Callable[[float, int], None]
"""Told how many of how many entities are done; where everything is made twice, each counts half the first time. Always told by
the thread that asked for the sample."""
Batches = dict[str, pa.RecordBatch]


@dataclass(frozen=True, eq=False)
class Job:
    """What every chunk is made with."""

    fitted: FittedTables
    writer: Writer
    seed: int
    condition: EntityCondition | None = None
    """Only entities that satisfy it come out."""

    def generate(self, entities: Index) -> Chunk:
        return generate_chunk(self.fitted, self.seed, entities, some=self.condition is not None)

    def values(self, chunk: Chunk, starts: Mapping[str, int]) -> ChunkValues:
        return ChunkValues(self.writer, chunk, starts, self.seed)

    def write(self, chunk: Chunk, starts: Mapping[str, int]) -> Batches:
        return self.values(chunk, starts).batches()


@dataclass(eq=False)
class Meter:
    """How many entities have come out of one pass over all of them, and so how far the sample is. It changes no row."""

    entities: int
    progress: Progress | None = None
    base: float = 0.0
    """How much of the whole sample was done before this pass."""
    weight: float = 1.0
    """How much of the whole sample this pass is."""
    lost: Counter[str] = field(default_factory=Counter)
    """By table, the rows that could not be told from their siblings, and so are not there."""
    _out: int = 0

    def halves(self) -> tuple[Meter, Meter]:
        """Two passes in the place of this one."""
        half = self.weight / 2
        return Meter(self.entities, self.progress, self.base, half), Meter(self.entities, self.progress, self.base + half, half)

    def came_out(self, entities: int, lost: Mapping[str, int] | None = None) -> None:
        """So many more entities are done, without rows that had to go. A pass that has to be made again does not count again."""
        self.lost.update(lost or {})
        self._out = min(self.entities, self._out + entities)
        if self.progress is not None:
            self.progress(self.entities * self.base + self.weight * self._out, self.entities)


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


def chunk_sizes(release: Release, fitted: FittedTables, asked: int | None = None) -> ChunkSizes:
    """Chunks of about as many entities as asked, else by how much there is of one, as far as the noisy sizes tell."""
    plan = release.plan
    rows = sum(settled.rows for settled in plan.groups if settled.group.part != "context") / max(1, plan.entities)
    cells = sum(settled.rows * len(settled.group.columns) for settled in plan.groups) / max(1, plan.entities)
    full = asked or min(MOST, max(1, int(ROWS / max(1.0, rows))))
    first = asked or max(1, int(max(CELLS, AHEAD * STEP * _steps(release, fitted)) / max(1.0, cells)))
    # A block of entities shares a plain generator, and is never split.
    whole = 1 if all(draws_row_by_row(model) for model in fitted.models.values()) else BLOCK
    return ChunkSizes(*(max(1, size // whole) * whole for size in (first, full)))


def _steps(release: Release, fitted: FittedTables) -> int:
    """Columns, each as often as it is drawn one position after the other."""
    steps = 0
    for settled in release.plan.groups:
        table = settled.group.table
        owners = fitted.owners.get(table, ()) if settled.group.part == "context" else (table,)
        steps += len(settled.group.columns) * max((_positions(release, fitted, owner) for owner in owners), default=1)
    return steps


def _positions(release: Release, fitted: FittedTables, table: str) -> int:
    """Rows that a parent may have one after the other."""
    link = release.schema.tables[table].parent if table in release.schema.tables else None
    return fitted.caps.get(table, 1) if link is not None and link.type == "sequential" else 1


def who_there_is(job: Job, meter: Meter, sizes: ChunkSizes) -> tuple[Job, Meter]:
    """The same job, where random references to other entities know whom they may lead to; and what is left of the meter."""
    entities = meter.entities
    wanted = referred_at_random(job.writer)
    known = numbered(job.writer, wanted, entities, job.seed)
    job = replace(job, writer=with_everyone(job.writer, known))
    wanted = {table: names for table, names in wanted.items() if table not in known}
    first, second = meter.halves() if wanted else (meter, meter)
    while wanted:
        everyone = collected(_one_by_one(job, first, sizes), wanted)
        empty = {t: rows for t, rows in everyone.items() if not rows.rows and t not in job.writer.everyone}
        if not empty:
            return replace(job, writer=with_everyone(job.writer, everyone)), second
        # Rows that have to refer to an empty table go, and others may have been referring to those.
        job = replace(job, writer=with_everyone(job.writer, empty))
    return job, second


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
    entities, satisfying, tried, waiting, growing = meter.entities, 0, 0, np.zeros(0, dtype=np.int64), iter(sizes)
    enough = next(growing)
    while satisfying < entities:
        if tried >= max(TRIES, RAREST * satisfying):
            raise impossible(condition, satisfying, entities, tried)
        # Whole blocks, as many as are likely to hold what is missing.
        likely = int(1.1 * (entities - satisfying) * tried / max(1, satisfying)) if tried else entities
        numbers = tried + np.arange(-(-min(max(likely, 1), MOST_AT_ONCE) // BLOCK) * BLOCK, dtype=np.int64)
        chunk = generate_chunk(job.fitted, job.seed, numbers, (condition.table,), some=True)
        held = numbers[condition.holds(job.values(chunk, {}))][: entities - satisfying]
        tried, satisfying = tried + len(numbers), satisfying + len(held)
        waiting = np.concatenate([waiting, held])
        while len(waiting) >= enough or (satisfying == entities and len(waiting)):
            yield waiting[:enough]
            waiting, enough = waiting[enough:], next(growing)


def stream_batches(job: Job, meter: Meter, sizes: ChunkSizes, threads: int) -> Iterator[Batches]:
    """The rows of every chunk by table, in order."""
    if threads <= 1:
        yield from (values.batches() for values in _one_by_one(job, meter, sizes))
        return
    pool = ThreadPoolExecutor(threads, thread_name_prefix="mare-sample")
    try:
        yield from _side_by_side(job, meter, chunks_of(job, meter, sizes), pool, threads + 1)
    finally:
        # On Ctrl-C too: what has not begun never does, and nothing runs on behind the caller's back.
        pool.shutdown(wait=True, cancel_futures=True)


def _one_by_one(job: Job, meter: Meter, sizes: ChunkSizes) -> Iterator[ChunkValues]:
    starts: dict[str, int] = {}
    for entities in chunks_of(job, meter, sizes):
        chunk = job.generate(entities)
        yield job.values(chunk, starts)
        meter.came_out(len(entities), chunk.lost)
        starts = _after(starts, chunk)


def _side_by_side(job: Job, meter: Meter, chunks: Iterator[Index], pool: ThreadPoolExecutor, ahead: int) -> Iterator[Batches]:
    starts: dict[str, int] = {}
    generating: deque[Future[Chunk]] = deque()
    writing: deque[tuple[int, Counter[str], Future[Batches]]] = deque()
    more = True
    while True:
        while more and len(generating) + len(writing) < ahead:
            entities = next(chunks, None)
            if entities is None:
                more = False
            else:
                generating.append(pool.submit(job.generate, entities))
        if generating and (not writing or generating[0].done()):
            chunk = generating.popleft().result()
            writing.append((len(chunk.entities), chunk.lost, pool.submit(job.write, chunk, starts)))
            starts = _after(starts, chunk)
        elif writing:
            size, lost, written = writing.popleft()
            yield written.result()
            meter.came_out(size, lost)
        else:
            return


def _after(starts: Mapping[str, int], chunk: Chunk) -> dict[str, int]:
    """How many rows of each table there are up to the end of a chunk: fresh keys go on from there."""
    return {table: starts.get(table, 0) + rows for table, rows in chunk.rows.items()}
