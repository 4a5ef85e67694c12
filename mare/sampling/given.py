"""Rows that the user gives: placed and coded like those that mare makes, so that what belongs to them can be drawn.

    tables ─► columns ─► places (parents, order, references) ─► codes and points ─► chunks of entities, beside generated tables

The rows come out as they were given. Codes are only what models look at: a value outside its domain is the nearest one to
them, and stays what it is in the output.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from itertools import count
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mare.codec import DecodedTable, OrdinalCodec, Points, RelativeCodec, Siblings, TableCodec
from mare.codec.natural import naturally
from mare.codec.ordinal import ORDINARY
from mare.codec.siblings import Above, standing, standing_place
from mare.codec.ticks import Mask
from mare.domain import Domain
from mare.errors import SourceError
from mare.graph.dag import DatasetDag
from mare.ports import Watch, WorkStep
from mare.relational.coding import Uncoded, code_rows, points_above, points_linked, read_rows, siblings_in, uncoded_rows
from mare.relational.filling import FromAbove
from mare.relational.placing import Index, Placed, PlacedTables
from mare.relational.relations import TableRelations
from mare.release import Release
from mare.schema import Schema
from mare.schema.layout import shared_columns

from .given_columns import (
    Columns,
    Given,
    GivenLinks,
    Surroundings,
    check_copies,
    check_unique,
    given_columns,
    given_links,
    key_texts,
    places_of,
    read_given,
    unknown_columns,
)

if TYPE_CHECKING:
    from .fitted_tables import FittedTables
    from .from_release import Ready


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
        bounds = {name: np.searchsorted(given.entity, ends) for name, given in self.tables.items()}
        return {name: slice(int(first), int(last)) for name, (first, last) in bounds.items()}

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


STEPS = ("reading", "taking", "placing", "coding")
"""What is done with each table, in this order."""
Begin = Callable[[str, str], None]
"""Told one of `STEPS` and the table that it goes over, as it begins."""


def take_given(release: Release, ready: Ready, given: Given, watch: Watch | None = None) -> GivenTables:
    """The given rows, placed and coded; or an error that says what is wrong with them. ``watch`` is told every step."""
    schema, dag = release.schema, DatasetDag.of(release.schema)
    named = {_table(schema, dag, name): rows for name, rows in given.items()}
    for name in named:
        _check_above(schema, dag, name, named)
        _check_shared(schema, name)
    numbers, tables = count(), dict[str, pa.Table]()

    def begin(step: str, table: str) -> None:
        if watch is not None:
            watch(WorkStep(f"{step} {table}", next(numbers), len(STEPS) * len(named)))

    for name, rows in named.items():
        begin("reading", name)
        tables[name] = read_given(name, rows)
    return _Taking(release, ready, tables, begin).run()


def _table(schema: Schema, dag: DatasetDag, name: str) -> str:
    owned = dag.tables("owned")
    possible = [t for t in schema.tables if t in dag.tables("entity", "private") and not set(dag.ancestors(t)) & set(owned)]
    same = [table for table in possible if table == name] or [t for t in possible if t.casefold() == name.casefold()]
    if len(same) == 1:
        return same[0]
    if name in schema.tables:
        why = {"public": "it comes with the release", "pool": "it is made anew", "owned": "its rows come with their owners'"}
        role = dag.node(name).role if name in dag.tables() else "ignored"
        raise SourceError(
            f"{name} cannot be given: {why.get(role, 'it does not come out')}. Can be given: {', '.join(possible)}."
        )
    raise SourceError(f"there is no table {name!r} to be given. There are: {', '.join(possible)}.")


def _check_above(schema: Schema, dag: DatasetDag, name: str, named: Mapping[str, object]) -> None:
    missing = [above for above in dag.ancestors(name) if above in schema.tables and above not in named]
    if missing:
        raise SourceError(f"given {name}: its rows belong to rows of {', '.join(missing)}, so give those too.")


def _check_shared(schema: Schema, name: str) -> None:
    """What is the same in rows further down is drawn with a list above them; where that is given, nothing draws it."""
    for shared in shared_columns(schema):
        if shared.holder == name != shared.table:
            raise SourceError(
                f"{name} cannot be given: {shared.table}.{shared.column} (same_for: {shared.above}) is drawn with the rows of "
                f"{name}, and given rows do not tell it. Give {shared.above} alone."
            )


class _Taking:
    """The given tables while they are placed, owners before what they own."""

    def __init__(self, release: Release, ready: Ready, tables: Mapping[str, pa.Table], begin: Begin) -> None:
        self.release, self.schema, self.ready, self.rows = release, release.schema, ready, tables
        self.begin = begin
        self.stored = {table.name: table for table in release.tables}
        self.done: dict[str, GivenTable] = {}
        self.columns: dict[str, Columns] = {}
        self.entities: dict[str, Index] = {}
        self.placing: dict[str, tuple[Index, Index, Index]] = {}
        self.notes: list[str] = []

    def run(self) -> GivenTables:
        made, writer = self.ready.fitted, self.ready.writer
        entity = made.order[0]
        if entity not in self.schema.tables:
            self._entities_by_column(entity)
        order = [name for name in made.order if name in self.rows]
        for name in order:
            self._place(name)
        self._check_owned()
        around = Surroundings(self.schema, self.release.public, writer.pools, self.columns, self.entities)
        for name in order:
            self.begin("coding", name)
            related, (_, parent, _) = made.related.get(name, TableRelations()), self.placing[name]
            links = given_links(around, name, writer.fillings[name], related, parent)
            self.done[name], outside = given_table(made, name, self.placing[name], self.columns[name], links, self.done)
            self.notes += [
                f"given {name}.{column}: {count:,} values outside its domain stay as they are; what belongs to them is drawn as "
                "if they were the nearest ones"
                for column, count in outside.items()
                if count
            ]
        listed = ", ".join(order)
        self.notes.append(f"the rows of {listed} are those that were given: the release's guarantee is not about them")
        return GivenTables(entity, self.done, tuple(self.notes))

    def _entities_by_column(self, entity: str) -> None:
        """Every value of the column that tells entities apart is one, in the order in which they come."""
        holder, (by,) = self.schema.entity_holder or entity, self.schema.table(entity).key or ()
        if holder not in self.rows:
            raise SourceError(f"the entities are told apart by rows of {holder}, so give those too.")
        values = pc.unique(self._columns(holder)[by])
        number = np.arange(len(values), dtype=np.int64)
        self.columns[entity], self.entities[entity] = {by: values}, number
        self.placing[entity] = number, number, np.zeros(len(values), dtype=np.int64)
        made = self.ready.fitted
        self.done[entity], _ = given_table(made, entity, self.placing[entity], self.columns[entity], GivenLinks(), {})

    def _check_owned(self) -> None:
        """Rows of one's own get the keys by which given rows refer to them: each of one row, and all of them given."""
        for table, owners in self.ready.writer.owned_by.items():
            given = [(owner, reference) for owner, reference in owners if owner in self.rows]
            others = sorted({owner for owner, _ in owners} - {owner for owner, _ in given})
            if given and others:
                raise SourceError(
                    f"rows of {table} belong to rows of {given[0][0]}, which are given, and of {', '.join(others)}, which are "
                    f"not: their keys could clash. Give {', '.join(others)} too."
                )
            columns = [
                key_texts(self.columns[owner], self.schema.tables[owner].reference_columns(reference))
                for owner, reference in given
            ]
            keys = pa.concat_arrays(columns).drop_null() if columns else pa.array([], type=pa.string())
            if len(keys.unique()) != len(keys):
                raise SourceError(
                    f"given {' and '.join(dict.fromkeys(o for o, _ in given))}: several rows refer to the same row of {table}, "
                    "but each has one of its own. Give every row a key of its own there."
                )

    def _columns(self, name: str) -> Columns:
        described, filled = self.schema.tables[name], self.ready.writer.fillings[name]
        foreign = [
            column for column, f in filled.items() if isinstance(f, FromAbove) and f.table in self.ready.fitted.owners[name]
        ]
        needed = [*(described.key or ()), *foreign]
        if (extra := unknown_columns(self.stored[name], self.rows[name])) and name not in self.columns:
            self.notes.append(f"given {name}: {', '.join(extra)} is left out, the table has no such column")
        return given_columns(self.stored[name], self.rows[name], filled, described.columns, needed)

    def _place(self, name: str) -> None:
        described, filled = self.schema.tables[name], self.ready.writer.fillings[name]
        self.begin("taking", name)
        columns = self._columns(name)
        self.begin("placing", name)
        check_unique(name, columns, [*([described.key] if described.key else []), *described.unique])
        owners = self.ready.fitted.owners[name]
        rows = self.rows[name].num_rows
        if not owners:
            number = np.arange(rows, dtype=np.int64)
            self.placing[name] = number, number, np.zeros(rows, dtype=np.int64)
            self.columns[name], self.entities[name] = columns, number
            return
        owner = owners[0]
        pairs = [(c, f.column) for c, f in filled.items() if isinstance(f, FromAbove) and f.table == owner]
        foreign, there = [c for c, _ in pairs], [c for _, c in pairs]
        parent = places_of(key_texts(columns, foreign), key_texts(self.columns[owner], there))
        lost = int((parent < 0).sum())
        if lost:
            raise SourceError(f"given {name}: {', '.join(foreign)} of {lost:,} rows is not among the rows given for {owner}.")
        link = self.schema.parent(name)
        order_by = [c for c in (link.order_by or () if link is not None and link.type == "sequential" else ()) if c in columns]
        order = _sorted(parent, [columns[c] for c in order_by])
        parent = parent[order]
        counts = np.bincount(parent, minlength=len(self.entities[owner]))
        position = np.arange(rows, dtype=np.int64) - (np.cumsum(counts) - counts)[parent]
        self.columns[name] = {column: values.take(pa.array(order)) for column, values in columns.items()}
        self.entities[name] = self.entities[owner][parent]
        self.placing[name] = self.entities[name], parent, position
        self._check_copies(name)

    def _check_copies(self, name: str) -> None:
        tables = {
            table: Placed(len(parent), parent, position, position, {}) for table, (_, parent, position) in self.placing.items()
        }
        placed = PlacedTables(self.ready.fitted.owners, tables)
        everyone, above = np.arange(len(self.entities[name]), dtype=np.int64), dict[str, pa.Array]()
        for column, filling in self.ready.writer.fillings[name].items():
            if isinstance(filling, FromAbove) and filling.column in self.columns.get(filling.table, {}):
                at = placed.climb(everyone, name, filling.table)
                above[column] = self.columns[filling.table][filling.column].take(pa.array(at))
        check_copies(name, self.columns[name], self.ready.writer.fillings[name], above)


def _sorted(parent: Index, columns: list[pa.Array]) -> Index:
    """By parent, then by what orders siblings, NULLs first; otherwise as they came."""
    arrays = [pa.array(parent)]
    for column in columns:
        arrays += [pc.is_valid(column), naturally(column)]
    table = pa.table([*arrays, pa.array(np.arange(len(parent)))], names=[str(number) for number in range(len(arrays) + 1)])
    return np.asarray(pc.sort_indices(table, sort_keys=[(name, "ascending") for name in table.column_names]), dtype=np.int64)


def given_table(
    made: FittedTables,
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
    parents = known[made.owners[name][0]].placed.rows if made.owners[name] else len(entity)
    counts = np.bincount(parent, minlength=parents).astype(np.int64)
    places = {**{table: given.placed for table, given in known.items()}, name: uncoded_rows(parent, position, counts)}
    around, codec = PlacedTables(made.owners, places), made.codecs[name]
    rows = Uncoded(codec, made.related.get(name, TableRelations()), links, around)
    above = points_above(codec, around, lambda table: known[table].decoded.points)
    linked = points_linked(codec, links.targets, len(parent), lambda table: known[table].decoded.points)
    above = {**above, **linked}
    values = {column: columns[column] for column in codec.columns}
    read = read_rows(rows, values, above)
    settled = next((g for g in made.plan.groups if (g.group.table, g.group.part) == (name, "context")), None)
    domain = Domain((), ()) if settled is None else settled.columns
    placed, outside = code_rows(rows, read, domain.size("count") - 1 if "count" in domain else None if settled is None else 0)
    # A chunk of a context is cut out of it, so that its columns are made now.
    context = {column: placed.codes["context"][column] for column in domain.names}
    placed = replace(placed, codes={**placed.codes, "context": context})
    points = _standing(codec, values, read.points, siblings_in(around, name), above)
    decoded = DecodedTable(values, points, _quantities(codec, values))
    return GivenTable(placed, entity, columns, decoded, links.leads), dict(outside)


def _standing(
    codec: TableCodec, values: Mapping[str, pa.Array], read: Mapping[str, Points], siblings: Siblings, above: Above
) -> dict[str, Points]:
    """Where the ordered columns stand, for what depends on them, as `decode_table` has it: now that all bounds are known, also
    where there is no value."""
    points: dict[str, Points] = {}
    missing: dict[str, Mask] = {}
    for name, ordered in codec.ordered.items():
        held = read[name]
        none = ordered.values.read(values[name])[1] != ORDINARY
        if isinstance(ordered, OrdinalCodec):
            points[name] = standing(ordered.scale, held.lower, ~none, ordered.bins.low, ordered.bins.high)
        else:
            points[name] = Points(held.scale, held.lower.copy(), held.upper.copy())
            if none.any():
                missing[name] = none
    for step, at in enumerate(siblings.steps if missing else ()):
        for name, none in missing.items():
            held, ordered, absent = points[name], codec.ordered[name], at[none[at]]
            if not isinstance(ordered, RelativeCodec) or not len(absent):
                continue
            first = ordered.first if step == 0 else None
            placing = ordered.placing if first is None else first.placing
            if placing.anchors:
                furthest = None if first is not None or placing.by_parts else ordered.bins.high
                held.lower[absent], held.upper[absent] = standing_place(placing, ordered.scale, points, above, absent, furthest)
            elif first is not None:
                held.lower[absent], held.upper[absent] = first.bins.low, first.bins.high
    return points


def _quantities(codec: TableCodec, values: Mapping[str, pa.Array]) -> dict[str, pa.Array]:
    """Ordered columns with special values, as quantities alone."""
    quantities = {}
    for name, ordered in codec.ordered.items():
        if ordered.slots.specials:
            read, kinds = ordered.values.read(values[name])
            quantities[name] = ordered.scale.to_values(read.ticks, kinds != ORDINARY)
    return quantities
