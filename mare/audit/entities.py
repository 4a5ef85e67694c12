"""Which rows belong to which entity, and which entities are worth taking out.

The stage works out the first too, while it truncates. Here it is done on its own, on the rows as they are read, before anything
is cut, so that a slip there cannot excuse itself: a row belongs to the entity that its foreign keys lead up to; a row of one's
own belongs to everyone who refers to it; where the schema calls orphans entities, those that share a dangling key are one, and
each row with a NULL key is one. Worth taking out are the heavy, the rare, the extreme, orphans, and some others.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

import duckdb
import pyarrow as pa

from mare.errors import PlanError, SourceError
from mare.ports import Source
from mare.schema import Schema
from mare.schema.columns import Listed
from mare.schema.reflection import Reflection
from mare.stage import TableNeeds
from mare.stage.intake import staging_database
from mare.stage.loading import Reading, load_rows, reading_of, staged_columns

Key = tuple[str | None, ...]
"""A key as the stage compares it: as text."""

PLAIN, DANGLING, LONE = "entity", "dangling", "lone"
"""The first part of an entity's name: a row of its own (or a value of the entity's column), a missing parent, an orphan row."""

_CONTENT = "coalesce(length(CAST({c} AS VARCHAR)) || ':' || CAST({c} AS VARCHAR), '-')"


@dataclass(frozen=True)
class Removal:
    """What goes when one entity goes. True values: internal, not private."""

    keys: Mapping[tuple[str, tuple[int, ...]], frozenset[Key]]
    """Per table, and places of its key that others refer to: what is there in its rows, and in no row of anybody else."""
    dangling: tuple[str, str, Key] | None = None
    """Of orphans that share a key: the table that lacks it, the places of the key, the key."""
    lone: tuple[str, str] | None = None
    """Of an orphan row with a NULL key: its table and all it holds."""


@dataclass(frozen=True, eq=False)
class Ownership:
    """Every owned row with its entity. Lives as long as its database does."""

    connection: duckdb.DuckDBPyConnection
    tables: tuple[TableNeeds, ...]
    """Owners before what they own; the entity first, with its key."""
    reflection: Reflection

    def reading(self, needs: TableNeeds) -> Reading:
        """In which form its columns are asked for and compared."""
        return reading_of(needs, self.tables, self.reflection, {})

    @property
    def relations(self) -> list[str]:
        return [owned(number) for number in range(len(self.tables))]

    def removal(self, entity: Sequence[str]) -> Removal:
        """What goes with this entity. Refuses one that is not there."""
        held: dict[tuple[str, tuple[int, ...]], frozenset[Key]] = {}
        owned_rows = 0
        for relation, needs in zip(self.relations, self.tables, strict=True):
            mine = f"FROM {relation} WHERE entity = $1"
            ((rows,),) = self.connection.execute(f"SELECT count(*) {mine}", [list(entity)]).fetchall()
            owned_rows += rows
            # What somebody else owns too stays, with all that depends on it: only this entity's copy of it goes.
            # Whoever refers to a part of a key refers to all rows that have it.
            for places in {tuple(range(len(needs.key))), *(t.refers for t in self.tables if t.parent == needs.name)}:
                listed = ", ".join(f"k{place}" for place in places)
                alone = f"SELECT {listed} {mine} EXCEPT SELECT {listed} FROM {relation} WHERE entity <> $1"
                keys = self.connection.execute(alone, [list(entity)]).fetchall() if places else []
                held[needs.name, places] = frozenset(tuple(row) for row in keys)
        if not owned_rows:
            raise SourceError(f"{self.tables[0].name!r}: an entity that was to be removed for the audit is not in the source.")
        kind, *rest = entity
        dangling = (rest[0], rest[1], tuple(rest[2:])) if kind == DANGLING else None
        return Removal(held, dangling, (rest[0], rest[1]) if kind == LONE else None)

    def text_of(self, batch: pa.RecordBatch, needs: TableNeeds, *, content: bool = False) -> list[Key]:
        """Of each row, its key (of an entity) or else its foreign key; or, as one text, everything that is staged of it."""
        names = [f"k{i}" for i in range(len(needs.key))] if needs.parent is None else [f"f{i}" for i in range(len(needs.foreign))]
        if content:
            names = [content_of(needs)]
        load_rows(self.connection, "probe", needs, [batch], reading=self.reading(needs))
        rows = self.connection.execute(f"SELECT {', '.join(names)} FROM probe ORDER BY rowid").fetchall()
        self.connection.execute("DROP TABLE probe")
        return [tuple(row) for row in rows]


def owned(number: int) -> str:
    return f"owned_{number}"


def content_of(needs: TableNeeds) -> str:
    return " || ',' || ".join(_CONTENT.format(c=name) for name, _, _ in staged_columns(needs)) or "''"


@contextmanager
def ownership(reader: Source, schema: Schema, tables: Sequence[TableNeeds]) -> Iterator[Ownership]:
    """Read the tables from an open source and work out who owns what."""
    chain = (_named(schema, tables[0]), *tables[1:])
    reflection = reader.reflect()
    with staging_database() as connection:
        for number, needs in enumerate(chain):
            # An entity by column has no table: its values are those of the table that holds it.
            holder = next(table for table in chain if table.name == (needs.held_by or needs.name))
            reading = reading_of(holder, chain, reflection, {})
            load_rows(connection, "raw", holder, reader.read(holder.name, reading.columns(holder)), reading=reading)
            connection.execute(f"CREATE TABLE {owned(number)} AS {_select(needs, chain)}")
            connection.execute("DROP TABLE raw")
        yield Ownership(connection, chain, reflection)


def _select(needs: TableNeeds, chain: Sequence[TableNeeds]) -> str:
    """The rows of ``raw`` that somebody owns, with the entity."""
    places = {table.name: number for number, table in enumerate(chain)}
    if needs.held_by is not None:
        return f"SELECT DISTINCT f0 AS k0, ['{PLAIN}', f0] AS entity FROM raw WHERE f0 IS NOT NULL"
    if needs.owned_by:
        return " UNION ALL ".join(_by_reference(chain[places[table]], places[table], name) for table, name in needs.owned_by)
    if needs.parent is None:
        # Others may refer to more than tells entities apart, and that may be NULL.
        keys = [f"k{i}" for i in (needs.uniques[0] if len(needs.uniques) == 1 else range(len(needs.key)))]
        there = " AND ".join(f"{key} IS NOT NULL" for key in keys)
        return f"SELECT *, ['{PLAIN}', {', '.join(keys)}] AS entity FROM raw WHERE {there}"
    foreign = [f"f{i}" for i in range(len(needs.foreign))]
    join = " AND ".join(f"r.{name} = p.k{place}" for name, place in zip(foreign, needs.refers, strict=True))
    above = owned(places[needs.parent])
    joined = f"SELECT r.*, p.entity FROM raw r JOIN {above} p ON {join}"
    if needs.orphans == "drop":
        return joined
    there = " AND ".join(f"r.{name} IS NOT NULL" for name in foreign)
    shared = f"['{DANGLING}', '{_quoted(needs.parent)}', '{places_text(needs)}', {', '.join(f'r.{name}' for name in foreign)}]"
    alone = f"['{LONE}', '{_quoted(needs.name)}', content, CAST(row_number() OVER (PARTITION BY content) AS VARCHAR)]"
    lone = f"SELECT *, {content_of(needs)} AS content FROM raw r WHERE NOT ({there})"
    return (
        f"{joined} UNION ALL SELECT r.*, {shared} FROM raw r WHERE {there} AND NOT EXISTS (SELECT 1 FROM {above} p WHERE {join}) "
        f"UNION ALL SELECT * EXCLUDE (content), {alone} FROM ({lone})"
    )


def places_text(needs: TableNeeds) -> str:
    """Which columns of the missing parent the orphans name: others may miss the same row by other columns."""
    return ",".join(str(place) for place in needs.refers)


def _by_reference(owner: TableNeeds, number: int, reference: str) -> str:
    at, link = owner.link(reference)
    join = " AND ".join(f"r.k{place} = p.r{at}_{i}" for i, place in enumerate(link.refers))
    return f"SELECT r.*, p.entity FROM raw r JOIN {owned(number)} p ON {join}"


def _quoted(name: str) -> str:
    return name.replace("'", "''")


def _named(schema: Schema, entity: TableNeeds) -> TableNeeds:
    key = entity.key or schema.table(entity.name).key
    if not key:
        raise PlanError(
            f"table {entity.name!r} has no key, so no entity can be named and taken out. Name its key in the schema to audit it."
        )
    return replace(entity, key=tuple(key))


@dataclass(frozen=True)
class Chosen:
    """An entity that is to be removed. What names it is a true value: internal, not private, and never printed."""

    entity: tuple[str, ...]
    why: str


def named(key: object) -> Chosen:
    """The entity of that key: a value, or a tuple where the key has several columns."""
    parts = key if isinstance(key, tuple) else (key,)
    return Chosen((PLAIN, *(str(part) for part in parts)), "as asked")


def worth_removing(owners: Ownership, random: int, seed: int) -> list[Chosen]:
    """Each kind once and so many at random; an entity that is several is removed once, for all its reasons."""
    candidates = [heaviest(owners), rarest(owners), extreme(owners), orphan(owners), *at_random(owners, random, seed)]
    reasons: dict[tuple[str, ...], list[str]] = {}
    for chosen in candidates:
        if chosen is not None and chosen.why not in reasons.setdefault(chosen.entity, []):
            reasons[chosen.entity].append(chosen.why)
    return [Chosen(entity, " and ".join(why)) for entity, why in reasons.items()]


def heaviest(owners: Ownership) -> Chosen | None:
    """The one with most rows in all: where a cap that is not enforced shows."""
    return _first(
        owners, f"SELECT entity FROM ({_everywhere(owners)}) GROUP BY entity ORDER BY count(*) DESC, entity", "the heaviest"
    )


def rarest(owners: Ownership) -> Chosen | None:
    """The one whose categories fewest others share: where a domain or an order from the data shows."""
    parts = []
    for table, column in _values(owners, categories=True):
        seen = f"SELECT DISTINCT entity, {column} AS v FROM {table} WHERE {column} IS NOT NULL"
        parts.append(f"SELECT entity, 1.0 / count(*) OVER (PARTITION BY v) AS rarity FROM ({seen})")
    if not parts:
        return None
    order = "max(rarity) DESC, sum(rarity) DESC, entity"
    return _first(owners, f"SELECT entity FROM ({' UNION ALL '.join(parts)}) GROUP BY entity ORDER BY {order}", "rare values")


def extreme(owners: Ownership) -> Chosen | None:
    """The one that holds most smallest and largest values: where bounds from the data show."""
    parts = [
        f"(SELECT min(entity) AS entity FROM {table} WHERE {column} = (SELECT {side}({column}) FROM {table}))"
        for table, column in _values(owners, categories=False)
        for side in ("min", "max")
    ]
    if not parts:
        return None
    held = f"SELECT entity FROM ({' UNION ALL '.join(f'SELECT * FROM {part}' for part in parts)}) WHERE entity IS NOT NULL"
    return _first(owners, f"{held} GROUP BY entity ORDER BY count(*) DESC, entity", "extreme values")


def orphan(owners: Ownership) -> Chosen | None:
    """The heaviest of those that are entities because their parent is missing; where the schema calls them so."""
    apart = f"SELECT entity FROM ({_everywhere(owners)}) WHERE entity[1] <> '{PLAIN}'"
    return _first(owners, f"{apart} GROUP BY entity ORDER BY count(*) DESC, entity", "an orphan")


def at_random(owners: Ownership, count: int, seed: int) -> list[Chosen]:
    """The same ones for the same seed."""
    asked = (
        f"SELECT entity FROM (SELECT DISTINCT entity FROM ({_everywhere(owners)})) "
        f"ORDER BY sha256($1 || entity::VARCHAR), entity LIMIT {int(count)}"
    )
    return [Chosen(tuple(entity), "at random") for (entity,) in owners.connection.execute(asked, [f"{seed}:"]).fetchall()]


def _everywhere(owners: Ownership) -> str:
    return " UNION ALL ".join(f"SELECT entity FROM {relation}" for relation in owners.relations)


def _values(owners: Ownership, *, categories: bool) -> Iterator[tuple[str, str]]:
    for relation, needs in zip(owners.relations, owners.tables, strict=True):
        for i, name in enumerate(needs.values):
            if isinstance(needs.described[name], Listed) is categories:
                yield relation, f"v{i}"


def _first(owners: Ownership, query: str, why: str) -> Chosen | None:
    row = owners.connection.execute(f"{query} LIMIT 1").fetchone()
    return None if row is None else Chosen(tuple(row[0]), why)
