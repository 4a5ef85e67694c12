"""Random references to other entities: to any row of any other entity, also of those that are made later.

    other entity ─► `Everyone` of its table ─► a place among all rows ─► the values of the key there

Where the entities themselves are referred to, a key follows from the entity's number, and nothing has to be known beforehand.
Where rows below them are, everything is generated twice: once to know whose rows there are, once to refer to them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mare.domain import RowDraws
from mare.relational.filling import Fresh, Linked
from mare.relational.placing import NOWHERE, Index
from mare.relational.relations import Words
from mare.schema.reflection import ReflectedColumn

from .identifiers import fresh_purpose, fresh_values
from .storing import take

if TYPE_CHECKING:
    from .writing import ChunkValues, Writer


class Everyone(Protocol):
    """The rows of one table, of all entities."""

    @property
    def rows(self) -> int: ...

    def own(self, entity: Index) -> tuple[Index, Index]:
        """Where the rows of entities begin, and how many they are: an entity's rows are a run."""
        ...

    def take(self, column: str, places: Index) -> pa.Array:
        """The values of a column at these places; NULL where a place is negative."""
        ...


@dataclass(frozen=True, eq=False)
class Numbered:
    """The entities themselves: one row each, whose keys follow from their numbers."""

    table: str
    rows: int
    fresh: Mapping[str, tuple[Fresh, ReflectedColumn]]
    seed: int

    def own(self, entity: Index) -> tuple[Index, Index]:
        return entity, np.ones(len(entity), dtype=np.int64)

    def take(self, column: str, places: Index) -> pa.Array:
        filling, stored = self.fresh[column]
        values = fresh_values(filling, stored, np.maximum(places, 0), fresh_purpose(filling, self.table, column, self.seed))
        return values if (places >= 0).all() else pc.if_else(pa.array(places >= 0), values, pa.scalar(None, values.type))


@dataclass(frozen=True, eq=False)
class Collected:
    """Rows that were generated beforehand, to know whose they are."""

    whose: Index
    """Of each row, the number of its entity; ascending."""
    columns: Mapping[str, pa.Array]

    @property
    def rows(self) -> int:
        return len(self.whose)

    def own(self, entity: Index) -> tuple[Index, Index]:
        first = np.searchsorted(self.whose, entity, side="left")
        return first.astype(np.int64), (np.searchsorted(self.whose, entity, side="right") - first).astype(np.int64)

    def take(self, column: str, places: Index) -> pa.Array:
        return take(self.columns[column], places)


def draw_another(everyone: Everyone, entity: Index, nullable: bool, draws: RowDraws) -> Index:
    """A row of another entity, at random. Where there is no other: none, or one of one's own."""
    if not everyone.rows:
        return np.full(len(entity), NOWHERE, dtype=np.int64)
    first, own = everyone.own(entity)
    others = everyone.rows - own
    drawn = draws.integers(0, np.maximum(1, others))
    # An entity's own rows are a run: draw among the others, then step over it.
    places = np.where(drawn >= first, drawn + own, drawn)
    alone = NOWHERE if nullable else np.minimum(first, everyone.rows - 1)
    return np.where(others > 0, places, alone).astype(np.int64)


def referred_at_random(writer: Writer) -> dict[str, set[str]]:
    """The tables that random references to other entities lead to, each with the columns that are copied from there."""
    columns: dict[str, set[str]] = {}
    for table in writer.order:
        for filling in writer.fillings[table].values():
            if isinstance(filling, Linked) and filling.way == "other_entity":
                columns.setdefault(filling.table, set()).add(filling.column)
    return columns


def numbered(writer: Writer, wanted: Mapping[str, set[str]], entities: int, seed: int) -> dict[str, Everyone]:
    """Those tables that need no look beforehand: the entities, where each keeps its row whatever is drawn."""
    entity = writer.order[0]
    if writer.given is not None:
        return {}
    filled = writer.fillings[entity]
    fresh = {name: f for name in wanted.get(entity, ()) if isinstance(f := filled[name], Fresh)}
    if entity not in wanted or set(fresh) != wanted[entity] or not _stays(writer, entity, frozenset()):
        return {}
    stored = {name: (filling, writer.stored[entity, name]) for name, filling in fresh.items()}
    return {entity: Numbered(entity, entities, stored, seed)}


def _stays(writer: Writer, table: str, seen: frozenset[str]) -> bool:
    """Whether no row of a table ever has to go. False where that is not certain."""
    if table in seen or writer.distinct.get(table):
        return False
    for filling in writer.fillings[table].values():
        if not isinstance(filling, Linked) or filling.nullable or filling.way == "pool":
            continue
        words = writer.related[table].reference(filling.reference) if table in writer.related else None
        if filling.way == "public" and isinstance(words, Words) and (words.chosen or words.rest):
            continue
        if filling.way == "owned" and _stays(writer, filling.table, seen | {table}):
            continue
        if filling.way == "other_entity" and filling.table == table == writer.order[0]:
            continue
        return False
    return True


def collected(chunks: Iterator[ChunkValues], wanted: Mapping[str, set[str]]) -> dict[str, Everyone]:
    """Everyone of these tables, from all chunks."""
    whose: dict[str, list[Index]] = {table: [] for table in wanted}
    columns: dict[tuple[str, str], list[pa.Array]] = {(table, c): [] for table, names in wanted.items() for c in names}
    for values in chunks:
        values.alive()  # works out which rows stay
        for table, names in wanted.items():
            rows = values.living(table)
            whose[table].append(values.entities(table)[rows])
            for name in names:
                columns[table, name].append(values.column(table, name).take(pa.array(rows)))
    return {
        table: Collected(np.concatenate(whose[table]), {name: pa.concat_arrays(columns[table, name]) for name in names})
        for table, names in wanted.items()
    }


def with_everyone(writer: Writer, known: Mapping[str, Everyone]) -> Writer:
    return replace(writer, everyone={**writer.everyone, **known})
