"""`read_side`: one side of a comparison (real, synthetic, hold-out), read once, typed as the schema says, every row placed.

Rows are read as the stage reads them, but none is cut: what a cap would have taken away is part of what is compared. A table or a
column that a side lacks is empty there and named in its notes, so that two sides can always be held against each other.
True rows, outside the gate: internal, not private.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property, wraps
from typing import Concatenate, ParamSpec, TypeVar, cast

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from mare.codec.ticks import microseconds, null_mask
from mare.errors import PlanError
from mare.finding import Location, open_source
from mare.graph.dag import DatasetDag
from mare.planning.planning import open_questions
from mare.ports import Source
from mare.schema import Schema
from mare.schema.checks import settled_or_raise
from mare.schema.faults import describe
from mare.stage.intake import staging_database

Rows = NDArray[np.int64]


@dataclass(frozen=True)
class Lost:
    """Of a foreign key: rows that lead nowhere, among those that lead somewhere at all."""

    rows: int
    of: int


@dataclass(frozen=True, eq=False)
class Referred:
    """Of a reference: its columns, the table that it leads to, and of each row its row there, -1 where there is none."""

    columns: tuple[str, ...]
    table: str
    rows: Rows


P = ParamSpec("P")
T = TypeVar("T")


def kept(work: Callable[Concatenate[Side, P], T]) -> Callable[Concatenate[Side, P], T]:
    """Worked out once for a side and a question, because many ask."""

    @wraps(work)
    def answered(side: Side, /, *args: P.args, **kwargs: P.kwargs) -> T:
        question = (work.__name__, *args)
        if question not in side._answers:
            side._answers[question] = work(side, *args, **kwargs)
        return cast(T, side._answers[question])

    return answered


@dataclass(eq=False)
class Side:
    """One side, whole. Internal, not private."""

    label: str
    schema: Schema
    tables: dict[str, pa.Table] = field(default_factory=dict)
    """The tables of the entity, owners before what they own. Columns that the schema describes have its types; keys and foreign
    keys that it does not describe are whole numbers or texts, as they were read."""
    entity: dict[str, Rows] = field(default_factory=dict)
    """Of each row, the number of its entity; -1 where it belongs to nobody."""
    parent: dict[str, Rows] = field(default_factory=dict)
    """Of each row, the row of the table above (`above`); -1 where there is none. Below an entity by column: its number."""
    order: dict[str, Rows] = field(default_factory=dict)
    """The rows by entity, parent row and, within a sequence, its order: siblings stand together, the previous one before."""
    entities: int = 0
    """Numbers of entities run from 0 to this. Where a table holds them, its row is the number; orphans that the schema calls
    entities come after."""
    keys: pa.Array | None = None
    """Of each entity that a table or a column names, its key: whether two sides share entities."""
    public: dict[str, pa.Table] = field(default_factory=dict)
    """Public tables, as they are."""
    lost: dict[str, Lost] = field(default_factory=dict)
    """By foreign key (`stays.parent`, `labs.itemid`)."""
    repeated: dict[str, int] = field(default_factory=dict)
    """By unique key (`stays(hadm_id)`), rows whose key is NULL or another row's."""
    missing: set[str] = field(default_factory=set)
    """Tables (`labs`) and columns (`labs.value`) that this side does not have."""
    unread: dict[str, int] = field(default_factory=dict)
    """By column (`labs.value`), values that say nothing its type can hold, and are NULL here."""
    notes: dict[str, list[str]] = field(default_factory=dict)
    """What could not be read or compared, in words; and of which tables and columns."""
    refers: dict[tuple[str, str], Referred] = field(default_factory=dict)
    """By table and reference (`labs`, `itemid`), where each row leads. None to other people: that is never learned."""
    _answers: dict[tuple[object, ...], object] = field(default_factory=dict, init=False, repr=False)

    @cached_property
    def dag(self) -> DatasetDag:
        return DatasetDag.of(self.schema)

    def above(self, table: str) -> str | None:
        """The table that the rows' parents stand in: None for the entity, and where references from several tables own rows."""
        owners = dict.fromkeys(edge.owner for edge in self.dag.owners(table))
        return next(iter(owners)) if len(owners) == 1 else None

    def parents(self, table: str) -> int:
        """How many rows could have rows of this table below them."""
        above = self.above(table)
        return len(self.entity[above]) if above in self.entity else self.entities

    @kept
    def ancestors(self, table: str) -> dict[str, NDArray[np.int32]]:
        """Every table above with columns, nearest first: of each row, its row there, -1 where it has none."""
        rows_above: dict[str, NDArray[np.int32]] = {}
        rows, at = self.parent[table], self.above(table)
        if at is None and table != self.dag.entity.name:
            at, rows = self.dag.entity.name, self.entity[table]
        while at is not None and at in self.tables:
            rows_above[at] = np.where(rows < len(self.entity[at]), rows, -1).astype(np.int32)
            if (up := self.above(at)) is not None:
                rows = _followed(self.parent[at], rows_above[at])
            at = up
        return rows_above

    def place_of(self, table: str, home: str) -> NDArray[np.integer] | None:
        """Of each row, its row in ``home``: a table above it, or one that has at most one row an entity. None for itself."""
        if home == table:
            return None
        if home in (above := self.ancestors(table)):
            return above[home]
        rows, owner = np.full(self.entities + 1, -1, dtype=np.int64), self.entity[home]  # the last stands for -1, which is nobody
        kept = np.flatnonzero(owner >= 0)[::-1]
        rows[owner[kept]] = kept
        return np.asarray(rows[self.entity[table]])

    def column(self, table: str, name: str) -> pa.Array:
        return in_one_piece(self.tables[table].column(name))

    @kept
    def words(self, table: str, column: str) -> tuple[NDArray[np.int32], tuple[str, ...]]:
        """A column as texts: of each row its place among the different ones, -1 for NULL; and those."""
        held = self.column(table, column)
        if pa.types.is_null(held.type):
            return np.full(len(held), -1, dtype=np.int32), ()
        coded = held.dictionary_encode()
        indices = np.asarray(coded.indices.fill_null(-1) if held.null_count else coded.indices, dtype=np.int32)
        return indices, tuple(coded.dictionary.cast(pa.string()).to_pylist())

    @kept
    def moments(self, table: str, column: str) -> tuple[Rows, NDArray[np.bool_]]:
        """A column of times in microseconds, and which of them are there."""
        held = self.column(table, column)
        return microseconds(held), ~null_mask(held)

    @kept
    def previous(self, table: str, back: int) -> NDArray[np.int32]:
        """Of each row, the sibling that many rows before it; -1 where there is none."""
        order, parent = self.order[table].astype(np.int32), self.parent[table]
        before = np.full(len(order), -1, dtype=np.int32)
        if back < len(order):
            whose = parent[order]
            here, there = order[back:], order[:-back]
            same = (whose[back:] == whose[:-back]) & (whose[back:] >= 0)
            before[here[same]] = there[same]
        return before

    @kept
    def sibling(self, table: str, seed: int) -> NDArray[np.int32]:
        """Of each row, another row of its parent, drawn so that the order of storage tells nothing; -1 where there is none. Each
        is drawn once: the rows of a parent stand in a circle."""
        parent = self.parent[table]
        mixed = np.random.default_rng(seed).permutation(len(parent)).astype(np.int32)
        order = mixed[np.argsort(parent[mixed], kind="stable")]
        order = order[parent[order] >= 0]
        whose = parent[order]
        begins, ends = (np.flatnonzero(np.diff(whose, **beyond)) for beyond in ({"prepend": -1}, {"append": -1}))
        before = np.roll(order, 1)
        before[begins] = order[ends]
        others = np.full(len(parent), -1, dtype=np.int32)
        others[order] = np.where(before == order, -1, before)
        return others


def in_one_piece(column: pa.ChunkedArray) -> pa.Array:
    """Not copied where it is already."""
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def starts_of(groups: NDArray[np.integer]) -> NDArray[np.int64]:
    """Where each group of equal neighbours begins."""
    return np.flatnonzero(np.diff(groups, prepend=groups[:1] - 1)).astype(np.int64)


def _followed(rows: Rows, places: NDArray[np.int32]) -> Rows:
    """``rows`` at these places, -1 where there is no place."""
    if not len(rows):
        return np.full(len(places), -1, dtype=np.int64)
    return np.where(places >= 0, rows[places], -1)


def read_side(schema: Schema, location: Location | Source | object) -> Side:
    """Read every table of the entity. A schema with open questions is refused as `plan` refuses it."""
    settled_or_raise(schema)
    if faults := open_questions(schema):
        raise PlanError(describe(faults, schema.name or "schema"), faults)
    from .side_reader import SideReader

    pa.default_memory_pool().release_unused()
    with open_source(location) as reader, staging_database() as connection:
        # Keys and words are short, and free text is not read: half the bytes do to say where each begins.
        connection.execute("SET arrow_large_buffer_size = false")
        return SideReader(schema, reader, reader.reflect(), connection, Side(reader.label, schema)).read()
