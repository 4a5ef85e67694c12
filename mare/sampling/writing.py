"""From coded rows to the values of the output tables: decoded, with fresh keys and with references that hold.

A column is worked out when it is first asked for, because tables depend on each other both ways: a child copies its parent's
key, an owner the key of the row that was made for it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from mare.codec import DecodedTable, OrdinalCodec
from mare.codec.ordinal import ORDINARY, Kinds
from mare.codec.siblings import standing
from mare.codec.ticks import Mask, Ticks
from mare.domain import CodeArray, RowDraws, purpose_of
from mare.errors import InternalError
from mare.graph.modelled import presence
from mare.relational.faking import fake_values
from mare.relational.filling import Constant, Faked, Filling, Fresh, FromAbove, Linked, Modelled, Numbered, WorkedOut
from mare.relational.placing import NOWHERE, Index, PlacedTables
from mare.relational.public import PublicTables
from mare.relational.relations import TableRelations, Words, run_starts
from mare.schema import Schema
from mare.schema.condition_grammar import Condition
from mare.schema.reflection import ReflectedColumn, ReflectedTable

from .determined import work_out
from .fitted_tables import Chunk, Decoder, codes_of
from .linking import Everyone, find_places, given_to_owned
from .storing import as_stored, as_text, fresh_purpose, fresh_values, person_purpose, take, within_width

_NOTHING = {"json": "{}", "uuid": "00000000-0000-0000-0000-000000000000"}


@dataclass(frozen=True, eq=False)
class Writer(Decoder):
    """What is the same for every chunk: how columns are filled, and what they may refer to."""

    schema: Schema
    tables: tuple[ReflectedTable, ...]
    """What is made here, referred before referring."""
    fillings: Mapping[str, Mapping[str, Filling]]
    stored: Mapping[tuple[str, str], ReflectedColumn]
    """By table and the schema's word for the column."""
    public: PublicTables
    pools: Mapping[str, Mapping[str, pa.Array]] = field(default_factory=dict)
    """The columns of the pools, once they are made."""
    distinct: Mapping[str, Sequence[tuple[str, ...]]] = field(default_factory=dict)
    """Columns that differ between the rows of one parent, where the models did not see to it."""
    endings: Mapping[str, Condition] = field(default_factory=dict)
    """By table, when a row is the last of its sequence."""
    finders: Mapping[tuple[str, str], tuple[str, tuple[str, str]]] = field(default_factory=dict)
    """Of references by interval, by table and name: the time here, and the two ends there."""
    everyone: Mapping[str, Everyone] = field(default_factory=dict)
    """By table: the rows of all entities, where random references to other entities lead there."""


@dataclass(eq=False)
class ChunkValues:
    """The values of one chunk, each column worked out once."""

    writer: Writer
    chunk: Chunk
    starts: Mapping[str, int]
    """How many rows each table has in the chunks before."""
    seed: int
    _columns: dict[tuple[str, str], pa.Array] = field(default_factory=dict)
    _places: dict[tuple[str, str], Index] = field(default_factory=dict)
    _alive: Mapping[str, Mask] | None = None

    @property
    def placed(self) -> PlacedTables:
        return self.chunk.placed

    def batches(self) -> dict[str, pa.RecordBatch]:
        """The rows of the chunk, table by table: a table comes after those that it refers to."""
        alive = self.alive()
        batches = {}
        for table in self.writer.tables:
            columns = {
                self._stored(table.name, name).name: self.stored_column(table.name, name) for name in self._fillings(table.name)
            }
            batch = pa.record_batch({c.name: within_width(columns[c.name], c, table) for c in table.columns})
            kept = alive.get(table.name)
            batches[table.name] = batch if kept is None else batch.take(pa.array(np.flatnonzero(kept)))
        return batches

    def alive(self) -> Mapping[str, Mask]:
        """Per table, the rows that stay; a table that loses none is left out. From here on, siblings are those that stay."""
        from .dropping import living_rows

        if self._alive is None:
            self._alive = living_rows(self)
            if self._alive:
                self._columns.clear()  # a position, the next row: counted anew, and whatever copies them
        return self._alive

    def staying(self, table: str) -> Mask | None:
        """The rows that stay, once that is known; None where all do."""
        return (self._alive or {}).get(table)

    def living(self, table: str) -> Index:
        """The places of the rows that stay, as far as that is known."""
        stays = self.staying(table)
        return np.arange(self.rows(table), dtype=np.int64) if stays is None else np.flatnonzero(stays).astype(np.int64)

    def successive(self, table: str) -> tuple[Index, Index]:
        """Of the rows that stay, those that another follows in its sequence, and the ones that follow them."""
        placed, at = self.placed.tables[table], self.living(table)
        here, there = at[:-1], at[1:]
        follows = (placed.parent[here] == placed.parent[there]) & (placed.position[here] < placed.position[there])
        return here[follows], there[follows]

    def position(self, table: str) -> Index:
        """Of each row, its place among its siblings; of those that stay, among them."""
        placed, stays = self.placed.tables[table], self.staying(table)
        if stays is None:
            return placed.position
        before: Index = (np.cumsum(stays) - stays).astype(np.int64)
        return before - before[np.arange(placed.rows) - placed.position]

    def entities(self, table: str) -> Index:
        """Of each row, the number of its entity, over all chunks."""
        entity = self.writer.order[0]
        return self.starts.get(entity, 0) + self.placed.climb(np.arange(self.rows(table), dtype=np.int64), table, entity)

    def rows(self, table: str) -> int:
        return self.placed.tables[table].rows

    def column(self, table: str, name: str) -> pa.Array:
        """The values of a column, by the schema's word for it."""
        at = (table, name)
        if at not in self._columns:
            self._columns[at] = self._fill(table, name, self._fillings(table)[name])
        return self._columns[at]

    def stored_column(self, table: str, name: str) -> pa.Array:
        """The values of a column as the source stores them."""
        described = self.writer.schema.tables[table].columns.get(name)
        return as_stored(self.column(table, name), described, self._stored(table, name))

    def set_ordered(self, table: str, name: str, codec: OrdinalCodec, ticks: Ticks, kinds: Kinds) -> None:
        """Replace the values of a column that no other is anchored at: they were drawn again."""
        held = self.decoded(table)
        there = kinds == ORDINARY
        points = standing(codec.scale, ticks, there, codec.bins.low, codec.bins.high)
        quantities = {name: codec.scale.to_values(ticks, ~there)} if name in held.quantities else {}
        self.chunk.decoded[table] = replace(
            held,
            values={**held.values, name: codec.values.write(ticks, kinds)},
            points={**held.points, name: points},
            quantities={**held.quantities, **quantities},
        )
        self._columns.pop((table, name), None)
        for at in self.writer.finders:
            self._places.pop(at, None)  # rows are found by their times
        self._forget_worked_out()

    def _forget_worked_out(self) -> None:
        """Forget what depends on the values of other columns: it is worked out again when it is asked for."""
        for at in list(self._columns):
            filling = self._fillings(at[0]).get(at[1])
            if isinstance(filling, WorkedOut) or (isinstance(filling, Linked) and filling.way == "interval"):
                del self._columns[at]

    def places(self, table: str, link: Linked) -> Index:
        """Of each row, the place of the row that a reference leads to; negative where it leads nowhere."""
        at = (table, link.reference)
        if at not in self._places:
            self._places[at] = find_places(self, table, link)
        return self._places[at]

    def set_places(self, table: str, link: Linked, places: Index) -> None:
        """Replace the places of a reference: they were drawn again, or lead nowhere any more."""
        self._places[table, link.reference] = places
        for name, filling in self._fillings(table).items():
            if isinstance(filling, Linked) and filling.reference == link.reference:
                self._columns.pop((table, name), None)
        self._forget_worked_out()

    def decoded(self, table: str) -> DecodedTable:
        """What the models generated, or the user gave, as values."""
        return self.writer.decoded(self.chunk, table)

    def codes(self, table: str) -> dict[str, CodeArray]:
        """The codes of all columns and references of the rows, wherever they were generated."""
        return codes_of(self.chunk, table)

    def present(self, table: str, name: str) -> Mask | None:
        """Of each row, whether this identifier or reference is there; None where it always is."""
        if name not in self.related(table).exists:
            return None
        described = self.writer.schema.tables[table]
        kept = described.references.get(name) or described.columns[name]
        return (self.codes(table)[presence(name)] > 0) | (not kept.nullable)

    def related(self, table: str) -> TableRelations:
        return self.writer.related.get(table, TableRelations())

    def links(self, table: str) -> list[Linked]:
        """One link of each reference."""
        return list({f.reference: f for f in self._fillings(table).values() if isinstance(f, Linked)}.values())

    def draws(self, table: str, purpose: str) -> RowDraws:
        """Random numbers of the rows of a table."""
        return RowDraws(self.chunk.keys[table], purpose_of(purpose))

    def _fillings(self, table: str) -> Mapping[str, Filling]:
        return self.writer.fillings[table]

    def _stored(self, table: str, name: str) -> ReflectedColumn:
        column = self.writer.stored.get((table, name))
        if column is None:
            raise InternalError(f"{table}.{name} is generated, but no column was made for it")
        return column

    def _fill(self, table: str, name: str, filling: Filling) -> pa.Array:
        placed = self.placed.tables[table]
        if (given := self._given(table, name)) is not None:
            return given
        match filling:
            case Modelled():
                return self.decoded(table).values[name]
            case Fresh():
                numbers = np.arange(placed.rows, dtype=np.int64) + self.starts.get(table, 0)
                fresh = fresh_values(filling, self._stored(table, name), numbers, fresh_purpose(filling, table, name, self.seed))
                there, own = self.present(table, name), np.arange(placed.rows)
                if name in self.related(table).runs:
                    own = run_starts(self.codes(table)[presence(name)], placed.position)
                return fresh if there is None else take(fresh, np.where(there, own, NOWHERE))
            case Faked(kind, locale):
                numbers = np.arange(placed.rows, dtype=np.int64) + self.starts.get(table, 0)
                return fake_values(kind, locale, numbers, person_purpose(table, self.seed))
            case FromAbove(above, column):
                index = self.placed.climb(np.arange(placed.rows, dtype=np.int64), table, above)
                return self.column(above, column).take(pa.array(index))
            case Numbered(first):
                return pa.array(self.position(table) + first)
            case Constant(value):
                return pa.repeat(pa.scalar(self._constant(table, name, value), type=pa.string()), placed.rows)
            case WorkedOut(column):
                return work_out(self, self.writer.schema, table, name, column)
            case Linked():
                return self._linked(table, filling, self.places(table, filling))

    def _given(self, table: str, name: str) -> pa.Array | None:
        """A column that the user gives, or that an owned table copies from the given rows that refer to it."""
        rows = self.chunk.given.get(table)
        if self.writer.given is None:
            return None
        if rows is not None:
            values = self.writer.given.tables[table].columns.get(name)
            return None if values is None else values[rows]
        return given_to_owned(self, table, name)

    def _constant(self, table: str, name: str, value: str | None) -> str | None:
        """A text that the stored type takes: an empty text is neither JSON nor a uuid."""
        return _NOTHING.get(self._stored(table, name).kind, value) if value == "" else value

    def _linked(self, table: str, link: Linked, places: Index) -> pa.Array:
        if link.way == "other_entity":
            return self.writer.everyone[link.table].take(link.column, places)
        if link.table in self.writer.public:
            public, words = self.writer.public[link.table], self.related(table).reference(link.reference)
            held = public.take(link.column, places)
            strangers = words.vocabulary.strangers if isinstance(words, Words) else ()
            return with_strangers(held, strangers, places - public.rows.num_rows) if strangers else held
        pool = self.writer.pools.get(link.table)
        return take(pool[link.column] if pool is not None else self.column(link.table, link.column), places)


def with_strangers(held: pa.Array, strangers: Sequence[str], which: NDArray[np.int64]) -> pa.Array:
    """Keys that the public table does not have, where they were drawn; all as texts, where these are none of its type."""
    texts = pa.array(strangers, type=pa.string())
    try:
        known = texts.cast(held.type)
    except pa.ArrowInvalid:
        held, known = as_text(held), texts
    drawn = which >= 0
    return pc.if_else(pa.array(drawn), known.take(pa.array(np.where(drawn, which, 0))), held)
