"""Which rows belong to which entity, and which entities are worth taking out: the heavy, the rare, the extreme, some others.

The ownership chain is followed on the stage's own text of the keys, before any truncation, in a private temporary
database; so an entity that is removed here is exactly one that the stage would have owned.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from mare.errors import PlanError, SourceError
from mare.ports import Source
from mare.schema import Schema
from mare.schema.columns import Boolean, Category, Code
from mare.stage import TableNeeds
from mare.stage.database import staging_database
from mare.stage.loading import load_rows

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

Key = tuple[str, ...]
"""A key as the stage compares it: as text."""


@dataclass(frozen=True)
class Chosen:
    """An entity that is to be removed. Its key is a true value: internal, not private, and never printed."""

    key: Key
    why: str


@dataclass(frozen=True, eq=False)
class Ownership:
    """Every owned row with its entity. Lives as long as its database does."""

    connection: duckdb.DuckDBPyConnection
    tables: tuple[TableNeeds, ...]
    """Parents before children; the entity table with its key."""

    @property
    def entity(self) -> TableNeeds:
        return self.tables[0]

    def heaviest(self) -> Chosen | None:
        """The one with most rows in all: where a cap that is not enforced shows."""
        each = " UNION ALL ".join(f"SELECT entity, 1 AS n FROM {self._owned(i)}" for i in range(len(self.tables)))
        return self._first(f"SELECT entity FROM ({each}) GROUP BY entity ORDER BY sum(n) DESC, entity", "the heaviest")

    def rarest(self) -> Chosen | None:
        """The one whose categories fewest others share: where a domain or an order from the data shows."""
        parts = []
        for table, column in self._values(categories=True):
            seen = f"SELECT DISTINCT entity, {column} AS v FROM {table} WHERE {column} IS NOT NULL"
            parts.append(f"SELECT entity, 1.0 / count(*) OVER (PARTITION BY v) AS rarity FROM ({seen})")
        if not parts:
            return None
        together = " UNION ALL ".join(parts)
        return self._first(
            f"SELECT entity FROM ({together}) GROUP BY entity ORDER BY max(rarity) DESC, sum(rarity) DESC, entity", "rare values"
        )

    def extreme(self) -> Chosen | None:
        """The one that holds most smallest and largest values: where bounds from the data show."""
        parts = [
            f"(SELECT min(entity) AS entity FROM {table} WHERE {column} = (SELECT {side}({column}) FROM {table}))"
            for table, column in self._values(categories=False)
            for side in ("min", "max")
        ]
        if not parts:
            return None
        held = f"SELECT entity FROM ({' UNION ALL '.join(f'SELECT * FROM {p}' for p in parts)}) WHERE entity IS NOT NULL"
        return self._first(f"{held} GROUP BY entity ORDER BY count(*) DESC, entity", "extreme values")

    def at_random(self, count: int, seed: int) -> list[Chosen]:
        """The same ones for the same seed."""
        asked = f"SELECT DISTINCT entity FROM {self._owned(0)} ORDER BY sha256($1 || entity::VARCHAR), entity LIMIT {int(count)}"
        return [Chosen(tuple(entity), "at random") for (entity,) in self.connection.execute(asked, [f"{seed}:"]).fetchall()]

    def worth_removing(self, random: int, seed: int) -> list[Chosen]:
        """Each kind once and so many at random; an entity that is several is removed once, for all its reasons."""
        found = [self.heaviest(), self.rarest(), self.extreme(), *self.at_random(random, seed)]
        reasons: dict[Key, list[str]] = {}
        for chosen in found:
            if chosen is not None and chosen.why not in reasons.setdefault(chosen.key, []):
                reasons[chosen.key].append(chosen.why)
        return [Chosen(key, " and ".join(why)) for key, why in reasons.items()]

    def keys_of(self, entity: Key) -> Mapping[str, frozenset[Key]]:
        """Per table, the keys of the rows that this entity owns. Refuses one that is not there."""
        held: dict[str, frozenset[Key]] = {}
        for number, needs in enumerate(self.tables):
            if needs.key:
                keys = ", ".join(f"k{i}" for i in range(len(needs.key)))
                rows = self.connection.execute(f"SELECT {keys} FROM {self._owned(number)} WHERE entity = $1", [list(entity)])
                held[needs.name] = frozenset(tuple(row) for row in rows.fetchall())
        if not held[self.entity.name]:
            raise SourceError(f"table {self.entity.name!r}: an entity that was to be removed for the audit is not in the source.")
        return held

    def text_of(self, batch: pa.RecordBatch, needs: TableNeeds) -> list[Key]:
        """Of each row its key, when the table is the entity's, or else its foreign key; as the stage compares them."""
        names = [f"k{i}" for i in range(len(needs.key))] or [f"f{i}" for i in range(len(needs.foreign))]
        load_rows(self.connection, "probe", needs, [batch])
        rows = self.connection.execute(f"SELECT {', '.join(names)} FROM probe ORDER BY rowid").fetchall()
        self.connection.execute("DROP TABLE probe")
        return [tuple(row) for row in rows]

    def _owned(self, number: int) -> str:
        return f"owned_{number}"

    def _values(self, *, categories: bool) -> list[tuple[str, str]]:
        return [
            (self._owned(number), f"v{i}")
            for number, needs in enumerate(self.tables)
            for i, name in enumerate(needs.values)
            if isinstance(needs.described[name], Category | Boolean | Code) is categories
        ]

    def _first(self, query: str, why: str) -> Chosen | None:
        row = self.connection.execute(f"{query} LIMIT 1").fetchone()
        return None if row is None else Chosen(tuple(row[0]), why)


@contextmanager
def ownership(reader: Source, schema: Schema, tables: Sequence[TableNeeds]) -> Iterator[Ownership]:
    """Read the tables from an open source and work out who owns what."""
    entity = _named(schema, tables[0])
    chain = (entity, *tables[1:])
    with staging_database() as connection:
        for number, needs in enumerate(chain):
            load_rows(connection, f"raw_{number}", needs, reader.read(needs.name, needs.columns))
            if number == 0:
                keys = [f"k{i}" for i in range(len(needs.key))]
                there = " AND ".join(f"{key} IS NOT NULL" for key in keys)
                owned = f"SELECT *, [{', '.join(keys)}] AS entity FROM raw_0 WHERE {there}"
            else:
                above = next(i for i, parent in enumerate(chain) if parent.name == needs.parent)
                join = " AND ".join(f"r.f{i} = p.k{i}" for i in range(len(needs.foreign)))
                owned = f"SELECT r.*, p.entity FROM raw_{number} r JOIN owned_{above} p ON {join}"
            connection.execute(f"CREATE TABLE owned_{number} AS {owned}")
            connection.execute(f"DROP TABLE raw_{number}")
        yield Ownership(connection, chain)


def _named(schema: Schema, entity: TableNeeds) -> TableNeeds:
    key = entity.key or schema.tables[entity.name].key or ()
    if not key:
        raise PlanError(
            f"table {entity.name!r} has no key, so no entity can be named and taken out. Name its key in the schema to audit it."
        )
    return replace(entity, key=tuple(key))
