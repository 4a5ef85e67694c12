"""Sources made of another: without one entity, with every entity many times over, or with everything in another order.

`WithoutEntity` is D′ from D, whatever the source is. Adjacency is add or remove, with every owned row. The rows also come in
another order: a database promises none, so a release that depends on it leaks.
`Repeated`: the answers that leave are the recorded ones, so the fit must not notice that there are now so many more. Removing one
entity moves a true number of entities by one, which a logarithm, a clamp or a rounding hides; this moves it by a factor.
`Reordered`: a database promises no order of rows, batches or columns, so nothing at all may follow from it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import ceil
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mare.finding import HeldSource
from mare.ports import COMPARED, RemovedRows
from mare.relational.placing import Index
from mare.schema.reflection import Reflection
from mare.stage import TableNeeds

from .entities import Key, Ownership, Removal, places_text

if TYPE_CHECKING:
    from mare.schema.reflection import Reflection


@dataclass(frozen=True, eq=False)
class KeptSource(HeldSource):
    """Keeps in memory what it has read, for a thousand fits of the same small data."""

    kept: dict[tuple[str, ...], list[pa.RecordBatch]] = field(default_factory=dict)

    def read(self, table: str, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        asked = (table, *columns)
        if asked not in self.kept:
            self.kept[asked] = list(self.reader.read(table, columns))
        yield from self.kept[asked]


@dataclass(frozen=True, eq=False)
class WithoutEntity(HeldSource):
    """The same source, had that one entity never been there."""

    owners: Ownership
    removal: Removal

    def read(self, table: str, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        needs = self._needs(table)
        if needs is None:
            yield from self.reader.read(table, columns)
            return
        for batch, gone in self._marked(needs, columns):
            kept = [place for place in range(batch.num_rows) if place not in gone]
            yield batch.select(list(columns)).take(pa.array(kept[::-1], type=pa.int64()))

    def removed(self) -> dict[str, RemovedRows]:
        """Of every table that loses rows, which: for making a copy without them."""
        removed = {}
        for table in self.owners.tables:
            needs = None if table.held_by is not None else self._needs(table.name)
            if needs is None:
                continue
            places, rows, asked = list[int](), 0, tuple[str, ...]()
            for batch, gone in self._marked(needs, ()):
                places += [rows + place for place in sorted(gone)]
                rows += batch.num_rows
                asked = tuple(name.partition(COMPARED)[0] for name in batch.schema.names)
            removed[needs.name] = RemovedRows(asked, frozenset(places), rows)
        return removed

    def _needs(self, table: str) -> TableNeeds | None:
        """None where the table stays as it is: rows of one's own are nobody's once nobody refers to them, and the stage drops
        them with the row that did."""
        needs = next((needs for needs in self.owners.tables if needs.name == table), None)
        return None if needs is None or needs.owned_by else needs

    def _marked(self, needs: TableNeeds, columns: Sequence[str]) -> Iterator[tuple[pa.RecordBatch, set[int]]]:
        """The batches with at least these columns, and in each the places of the rows that go."""
        table = needs.name
        probe = replace(needs, key=needs.key if needs.parent is None else (), order=(), values=(), via=(), links=())
        whole = self.removal.lone is not None and self.removal.lone[0] == table
        wider = needs if whole else probe
        wanted = list(dict.fromkeys((*columns, *self.owners.reading(wider).columns(wider))))
        lost = self._lost(needs)
        alone = [self.removal.lone[1]] if whole and self.removal.lone is not None else []
        for batch in self.reader.read(table, wanted):
            gone = {place for place, key in enumerate(self.owners.text_of(batch, probe)) if key in lost}
            if alone:
                for place, (content,) in enumerate(self.owners.text_of(batch, needs, content=True)):
                    if [content] == alone:  # the same row may be there twice, as two entities: one of them goes
                        gone.add(place)
                        alone = []
            yield batch, gone

    def _lost(self, needs: TableNeeds) -> frozenset[Key]:
        """The keys (of the entity) or foreign keys whose rows go."""
        if needs.parent is None:
            return self.removal.keys[needs.name, tuple(range(len(needs.key)))]
        # A foreign key that is NULL leads nowhere.
        lost = {key for key in self.removal.keys[needs.parent, needs.refers] if None not in key}
        if self.removal.dangling is not None and self.removal.dangling[:2] == (needs.parent, places_text(needs)):
            lost |= {self.removal.dangling[2]} if needs.orphans == "entity" else set()
        return frozenset(lost)


MANY = 20_000
"""Entities that a repeated source has at least: beyond the 10,000 below which shares and numbers of bins stay as they are."""
_TOGETHER = 32_768
"""Rows that come in one batch."""
_LARGEST = 1 << 62
_WHOLE = "^(0|-?[1-9][0-9]{0,17})$"
"""A text that is a whole number as the stage writes one: it refers to a number of the same value."""


@dataclass(frozen=True, eq=False)
class Repeated(HeldSource):
    """Every entity of a source ``times`` over, with all its rows. The copies have keys of their own."""

    fresh: Mapping[str, frozenset[str]]
    """Of each table, the columns by which rows know each other: they are others in each copy."""
    times: int
    step: int | None
    """How far the numbers of one copy are from those of the next; None where only texts have room for more."""

    def read(self, table: str, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        if table not in self.fresh:
            yield from self.reader.read(table, columns)
            return
        for batch in self.reader.read(table, columns):
            together = max(1, _TOGETHER // max(1, batch.num_rows))
            for first in range(0, self.times, together):
                yield self._copies(batch, self.fresh[table], np.arange(first, min(first + together, self.times)))

    def _copies(self, batch: pa.RecordBatch, fresh: frozenset[str], copies: Index) -> pa.RecordBatch:
        rows = batch.take(pa.array(np.tile(np.arange(batch.num_rows), len(copies))))
        copy = np.repeat(copies, batch.num_rows)
        arrays = [
            _renamed(array, copy, self.step) if field.name.partition(COMPARED)[0] in fresh else array
            for field, array in zip(rows.schema, rows.columns, strict=True)
        ]
        return pa.RecordBatch.from_arrays(arrays, names=rows.schema.names)


def repeated(reader: HeldSource, owners: Ownership, times: int | None = None) -> Repeated:
    """So often, or else as often as makes many of them: at least twice."""
    ((entities,),) = owners.connection.execute(f"SELECT count(DISTINCT entity) FROM {owners.relations[0]}").fetchall()
    times = times or max(2, ceil(MANY / max(1, entities)))
    largest = 1
    for relation, needs in zip(owners.relations, owners.tables, strict=True):
        for name in (*(f"k{i}" for i in range(len(needs.key))), *(f"f{i}" for i in range(len(needs.foreign)))):
            asked = f"SELECT max(abs(TRY_CAST({name} AS HUGEINT))) FROM {relation}"
            ((number,),) = owners.connection.execute(asked).fetchall()
            largest = max(largest, int(number or 0))
    step = 2 * largest + 1
    return Repeated(reader.reader, _fresh(owners.tables), times, step if step * (times + 1) < _LARGEST else None)


def _fresh(tables: Sequence[TableNeeds]) -> dict[str, frozenset[str]]:
    """Keys and whatever refers to them. What leads to a public table is not one's own, nor is a key that is made of it."""
    public: dict[str, set[str]] = {}
    for needs in tables:
        outside = [column for link in needs.links if link.kind == "public" for column in link.columns]
        public[needs.name] = {*needs.via, *outside}
    for _ in tables:  # a reference may lead to a table further on
        for needs in tables:
            for columns, places, above in _references(needs):
                keys = next((table.key for table in tables if table.name == above), ())
                public[needs.name] |= {column for column, at in zip(columns, places, strict=True) if keys[at] in public[above]}
    own = {
        needs.name: {*needs.key, *needs.foreign, *(column for link in needs.links for column in link.columns)} for needs in tables
    }
    return {needs.name: frozenset(own[needs.name] - public[needs.name]) for needs in tables if needs.held_by is None}


def _references(needs: TableNeeds) -> Iterator[tuple[Sequence[str], Sequence[int], str]]:
    if needs.parent is not None:
        yield needs.foreign, needs.refers, needs.parent
    for link in needs.links:
        if link.kind != "public":
            yield link.columns, link.refers, link.table


def _renamed(array: pa.Array, copy: Index, step: int | None) -> pa.Array:
    """The keys of these copies, in one type for all. Times and truth values stay: another part of the key differs."""
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    kind = array.type
    if pa.types.is_temporal(kind) or pa.types.is_boolean(kind):
        return array
    away = pa.array(copy * (step or 0))
    if step is not None and (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
        wide = pa.int64() if pa.types.is_integer(kind) else pa.float64()
        return pc.add(array.cast(wide), away.cast(wide))
    text = array.cast(pa.binary() if pa.types.is_binary(kind) else pa.string()).cast(pa.string())
    renamed = pc.if_else(pa.array(copy == 0), text, pc.binary_join_element_wise(text, pa.array(copy).cast(pa.string()), "~"))
    if step is None:
        return renamed
    whole = pc.match_substring_regex(text, _WHOLE)
    numbers = pc.if_else(whole, text, pa.scalar(None, pa.string())).cast(pa.int64())
    return pc.if_else(whole, pc.add(numbers, away).cast(pa.string()), renamed)


@dataclass(frozen=True, eq=False)
class Reordered(HeldSource):
    """The same source with its rows, batches, tables and columns in another order. Public tables keep their rows in place:
    they are released as they stand."""

    private: frozenset[str]
    seed: int = 0
    batch_rows: int = 1009

    def reflect(self) -> Reflection:
        catalogue = self.reader.reflect()
        return replace(catalogue, tables=tuple(replace(table, columns=table.columns[::-1]) for table in catalogue.tables[::-1]))

    def read(self, table: str, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        batches = [batch.select(list(columns)) for batch in self.reader.read(table, list(columns)[::-1])]
        if table not in self.private or not batches:
            yield from batches
            return
        whole = pa.Table.from_batches(batches)
        order = np.random.default_rng(self.seed).permutation(whole.num_rows)
        yield from whole.take(pa.array(order)).combine_chunks().to_batches(max_chunksize=self.batch_rows) or batches[:1]


def reordered(reader: HeldSource, owners: Ownership, seed: int) -> Reordered:
    return Reordered(reader.reader, frozenset(needs.name for needs in owners.tables), seed)
