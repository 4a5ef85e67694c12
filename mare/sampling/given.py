"""Rows that the user gives: placed and coded like those that mare makes, so that what belongs to them can be drawn.

    columns ─► places (parents, order, references) ─► codes and points ─► chunks of entities, beside generated tables

The rows come out as they were given. Codes are only what models look at: a value outside its domain is the nearest one to
them, and stays what it is in the output.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from mare.codec import DecodedTable, OrdinalCodec, Points, RelativeCodec, Siblings, TableCodec, code_table, read_table
from mare.codec.elapsed import elapsed_name
from mare.codec.siblings import Above, standing, standing_place
from mare.codec.slots import ORDINARY
from mare.domain import CodeArray, smallest_dtype
from mare.relational.placing import Index, Placed, PlacedTables
from mare.relational.relations import previous_of_item
from mare.relational.unrolling import FoldedContext

from .given_references import GivenLinks

if TYPE_CHECKING:
    import pyarrow as pa

    from .generator import Generator


@dataclass(frozen=True, eq=False)
class GivenTable:
    """One table, whole: its rows by entity, parent and order."""

    placed: Placed
    entity: Index
    """Of each row, the number of its entity; ascending."""
    columns: Mapping[str, pa.Array]
    decoded: DecodedTable
    leads: Mapping[str, str]
    """Of the references that lead to given rows: to which table."""


@dataclass(frozen=True, eq=False)
class GivenTables:
    """All that is given. The entity is among them."""

    entity: str
    tables: Mapping[str, GivenTable]
    notes: tuple[str, ...] = ()

    def __contains__(self, table: str) -> bool:
        return table in self.tables

    @property
    def entities(self) -> int:
        return self.tables[self.entity].placed.rows

    def chunk(self, entities: Index) -> dict[str, slice]:
        """Per table, the rows of entities with successive numbers."""
        ends = [int(entities[0]), int(entities[-1]) + 1] if len(entities) else [0, 0]
        found = {name: np.searchsorted(given.entity, ends) for name, given in self.tables.items()}
        return {name: slice(int(first), int(last)) for name, (first, last) in found.items()}

    def place(self, table: str, owner: str | None, rows: Mapping[str, slice]) -> Placed:
        """The rows of a table within a chunk, counted from where the chunk begins."""
        given, own = self.tables[table], rows[table]
        above = own if owner is None else rows[owner]
        placed = given.placed
        codes = {name: values[own] for name, values in placed.codes["rows"].items()}
        return Placed(
            own.stop - own.start,
            placed.parent[own] - above.start,
            placed.position[own],
            placed.siblings[own],
            {"rows": codes, "head": codes, "context": {n: values[above] for n, values in placed.codes["context"].items()}},
            free={name: values[own] for name, values in placed.free.items()},
            targets={
                name: _moved(places[own], rows[given.leads[name]].start if name in given.leads else 0)
                for name, places in placed.targets.items()
            },
            same_item=None if placed.same_item is None else _moved(placed.same_item[own], own.start),
        )

    def decoded(self, table: str, rows: slice) -> DecodedTable:
        whole = self.tables[table].decoded
        cut = np.arange(rows.start, rows.stop, dtype=np.int64)
        return DecodedTable(
            {name: values[rows] for name, values in whole.values.items()},
            {name: points.take(cut) for name, points in whole.points.items()},
            {name: values[rows] for name, values in whole.quantities.items()},
        )


def _moved(places: Index, start: int) -> Index:
    return np.where(places < 0, places, places - start).astype(np.int64)


def given_table(
    made: Generator,
    name: str,
    placing: tuple[Index, Index, Index],
    columns: Mapping[str, pa.Array],
    links: GivenLinks,
    known: Mapping[str, GivenTable],
) -> tuple[GivenTable, dict[str, int]]:
    """A table whose rows have their places (entity, parent, position): with codes, points and contexts.

    ``known`` are the tables above it. Also returns how many values lie outside their domains, by column.
    """
    entity, parent, position = placing
    owner = made.owners[name][0] if made.owners[name] else None
    parents = len(entity) if owner is None else known[owner].placed.rows
    counts = np.bincount(parent, minlength=parents).astype(np.int64)
    siblings, codec, related = Siblings(parents, parent, position), made.codecs[name], made.related.get(name)
    bare = Placed(len(parent), parent, position, counts[parent], {"rows": {}, "head": {}, "context": {}})
    around = PlacedTables(made.owners, {**{table: one.placed for table, one in known.items()}, name: bare})
    everyone = np.arange(len(parent), dtype=np.int64)
    above: Above = {a: known[a.scope].decoded.points[a.column].take(around.climb(everyone, name, a.scope)) for a in codec.above}
    values = {column: columns[column] for column in codec.columns}
    coded, free = dict(links.codes), dict[str, CodeArray]()
    unrolling = None if related is None else related.unrolling
    if unrolling is not None and links.key is not None:
        size = smallest_dtype(max(1, len(unrolling.vocabulary)))
        free[unrolling.key] = np.maximum(unrolling.known_as(links.key), 0).astype(size)
        coded[unrolling.key] = free[unrolling.key]
    encoded = code_table(codec, read_table(codec, values, siblings, above, coded), siblings)
    coded |= encoded.rows
    free |= {elapsed_name(column): codes for column, codes in encoded.elapsed.items()}
    context: dict[str, CodeArray] = {}
    settled = next((g for g in made.plan.groups if (g.group.table, g.group.part) == (name, "context")), None)
    if settled is not None and unrolling is not None and links.key is not None and related is not None:
        derived = {}
        for column in unrolling.derived:
            reference = related.reference(column)
            derived[column] = (coded[column], codec.columns[column].size if reference is None else reference.size)
            free[column] = coded[column]
        folded = FoldedContext(unrolling, parents, parent, links.key, derived, made.caps[name])
        context = {column: folded[column] for column in settled.columns.names}
    elif settled is not None:
        context = {f"first({column})": codes for column, codes in encoded.firsts.items()}
        most = settled.columns.size("count") - 1 if "count" in settled.columns else 0
        context["count"] = np.minimum(counts, most).astype(smallest_dtype(most + 1))
    items = () if related is None else related.items
    placed = Placed(
        len(parent),
        parent,
        position,
        counts[parent],
        {"rows": coded, "head": coded, "context": context},
        free=free,
        targets=links.targets,
        same_item=previous_of_item(parent, [coded[item] for item in items]) if items else None,
    )
    decoded = DecodedTable(values, *_stand(codec, values, siblings, above))
    return GivenTable(placed, entity, columns, decoded, links.leads), dict(encoded.outside)


def _stand(
    codec: TableCodec, values: Mapping[str, pa.Array], siblings: Siblings, above: Above
) -> tuple[dict[str, Points], dict[str, pa.Array]]:
    """Where the ordered columns stand, for what depends on them; and those with special values, as quantities alone.

    As `decode_table` has it: a NULL stands where its anchor does, or binds nobody.
    """
    points: dict[str, Points] = {}
    quantities: dict[str, pa.Array] = {}
    relative: dict[str, RelativeCodec] = {}
    for name, one in codec.ordered.items():
        read, kinds = one.values.read(values[name])
        there = kinds == ORDINARY
        if one.slots.specials:
            quantities[name] = one.scale.to_values(read.ticks, ~there)
        if isinstance(one, OrdinalCodec):
            points[name] = standing(one.scale, read.ticks, there, one.bins.low, one.bins.high)
        else:
            relative[name] = one
            points[name] = standing(one.scale, read.ticks.copy(), there, 0, 0)
    if all(points[name].known.all() for name in relative):
        return points, quantities
    for step, at in enumerate(siblings.steps):
        for name, one in relative.items():
            held = points[name]
            missing = at[~held.known[at]]
            placing = one.first.placing if one.first is not None and step == 0 else one.placing
            if len(missing) and placing.anchors:
                held.lower[missing], held.upper[missing], held.known[missing] = standing_place(
                    placing, one.scale, points, above, missing
                )
            elif len(missing) and one.first is not None:
                held.lower[missing], held.upper[missing] = one.first.bins.low, one.first.bins.high
    return points, quantities
