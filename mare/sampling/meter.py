"""How far a sample is: the work that is done, of the work that is expected. For whoever waits; it changes no row.

    noisy sizes ─► expected ─► as placed (rows, steps) ─► drawn, decoded, written ─► told in entities' worth

What the steps of a chunk cost is reckoned from the plan, and put right for each group when its rows have their places. Only the
chunk that comes out next counts in parts: those behind it wait for it. Work is measured in values that are drawn (`chunking`).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from mare.release import Release, SettledGroup

from .chunking import STEP, positions
from .fitted_tables import FittedTables

Progress = Callable[[float, int], None]
"""Told how many of how many entities are done; those in the making count for the part of the work that is done on them. Always
told by the thread that asked for the sample."""

DECODED, WRITTEN = 0.5, 0.5
"""What it costs to decode a value and to write it, against drawing it: measured on Parquet (0.2) and SQLite (2)."""
LONGEST = 8
"""The longest sequence of many has so many times the rows of the mean one, about."""
DECODING, WRITING = "decoding", "writing"
"""Steps of a chunk beside those that are called after their group."""
TELLINGS = 1000
"""Told this often at most, beside once a chunk."""


@dataclass(frozen=True)
class GroupWork:
    """What is expected of a group."""

    name: str
    table: str
    columns: int
    rows: float
    """For one entity."""
    steps: float
    """For a chunk, however few entities it has."""

    def of(self, entities: int) -> float:
        return cost(self.columns, self.rows * entities, self.steps)


def cost(columns: int, rows: float, steps: float) -> float:
    return columns * (rows + STEP * steps)


def expected_work(release: Release, generator: FittedTables) -> tuple[GroupWork, ...]:
    """Of every group, from noisy sizes alone."""
    above = {g.group.table: g.rows for g in release.plan.groups if g.group.part == "context"}
    found = []
    for settled in release.plan.groups:
        table, one = settled.group.table, settled.rows / max(1, release.plan.entities)
        mean = settled.rows / max(1.0, above.get(table, settled.rows))
        steps = 1.0 if settled.group.part == "context" else min(positions(release, generator, table), LONGEST * mean)
        found.append(GroupWork(settled.name, table, len(settled.columns.names), one, max(1.0, steps)))
    return tuple(found)


@dataclass(eq=False)
class ChunkWork:
    """The work on one chunk, by step. Written by the one thread that works on the chunk, and read by the one that tells."""

    entities: int = 0
    expected: dict[str, float] = field(default_factory=dict)
    done: dict[str, float] = field(default_factory=dict)
    changed: Callable[[], None] | None = None
    """Called after each step, where the thread that works is the one that tells."""

    def placed(self, settled: SettledGroup, rows: int, steps: int) -> None:
        """The rows of a group are known, and in how many steps they will be drawn."""
        self.expected[settled.name] = cost(len(settled.columns.names), rows, steps)

    def drew(self, settled: SettledGroup, rows: int) -> None:
        """One step of a group. What is drawn again does not count."""
        self._add(settled.name, cost(len(settled.columns.names), rows, 1))

    def finished(self, groups: Sequence[str]) -> None:
        """Nothing more will be drawn for these."""
        for name in groups:
            if name in self.expected:
                self._add(name, self.expected[name])

    def generated(self, cells: int) -> None:
        self.expected |= {DECODING: DECODED * cells, WRITING: WRITTEN * cells}

    def decoded(self) -> None:
        self.finished((DECODING,))

    def wrote(self, cells: int) -> None:
        self._add(WRITING, WRITTEN * cells)

    @property
    def share(self) -> float:
        # Copied at once: another thread may be adding to it.
        whole = sum(list(self.expected.values()))
        return min(1.0, sum(list(self.done.values())) / whole) if whole else 0.0

    def _add(self, name: str, work: float) -> None:
        self.done[name] = min(self.expected.get(name, 0.0), self.done.get(name, 0.0) + work)
        if self.changed is not None:
            self.changed()


@dataclass(eq=False)
class Meter:
    """How far one pass over all entities is, and with it the sample."""

    entities: int
    work: tuple[GroupWork, ...] = ()
    progress: Progress | None = None
    base: float = 0.0
    """How much of the whole sample was done before this pass."""
    weight: float = 1.0
    """How much of the whole sample this pass is."""
    _chunks: deque[ChunkWork] = field(default_factory=deque)
    """Those in the making, as they will come out."""
    _out: int = 0
    _sought: float = 0.0
    """Work on finding entities that satisfy a condition, done and in all."""
    _to_seek: float = 0.0
    _told: float = 0.0

    def halves(self) -> tuple[Meter, Meter]:
        """Two passes in the place of this one."""
        half = self.weight / 2
        bases = (self.base, self.base + half)
        first, second = (Meter(self.entities, self.work, self.progress, base, half) for base in bases)
        return first, second

    def begin(self, entities: int, *, tells: bool = True) -> ChunkWork:
        """One more chunk, behind those that have begun. ``tells`` says that this very thread works on it."""
        one = {group.name: group.of(entities) for group in self.work}
        cells = sum(group.columns * group.rows for group in self.work) * entities
        chunk = ChunkWork(entities, {**one, DECODING: DECODED * cells, WRITING: WRITTEN * cells})
        if tells and self.progress is not None:
            chunk.changed = self.tell
        self._chunks.append(chunk)
        return chunk

    def end(self) -> None:
        """The chunk that had to come next is out."""
        self._out += self._chunks.popleft().entities
        self.tell(always=True)

    def wrote(self, cells: int) -> None:
        """Rows of the chunk that comes out next have been taken."""
        if self._chunks:
            self._chunks[0].wrote(cells)
            self.tell()

    def sought(self, table: str, found: int, tried: int, at_most: int) -> None:
        """So many entities were looked at, and some were found. Before there is one, all that may be tried is to be expected."""
        one = sum(group.columns * group.rows for group in self.work if group.table == table) * (1 + DECODED)
        self._sought, self._to_seek = one * tried, one * (self.entities * tried / found if found else at_most)
        self.tell()

    @property
    def worth(self) -> float:
        """How many entities this pass would have done, if all its work went into entities that come out."""
        made = self._out + (self._chunks[0].share * self._chunks[0].entities if self._chunks else 0.0)
        if not self._to_seek or self._out == self.entities:
            return made
        whole = sum(group.of(self.entities) for group in self.work)
        return self.entities * (made / self.entities * whole + self._sought) / (whole + self._to_seek)

    def tell(self, *, always: bool = False) -> None:
        """Where it is worth a word; never less than was told before."""
        worth = min(self.entities, self.entities * self.base + self.weight * self.worth)  # a sum of parts may round up
        done = max(self._told, worth)
        if self.progress is not None and (always or done - self._told >= self.entities / TELLINGS):
            self._told = done
            self.progress(done, self.entities)
