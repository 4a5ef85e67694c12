"""From the rows that a user gives to `GivenTables`: which tables may be given, whose rows they are, and in which order."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import count
from typing import TYPE_CHECKING

import numpy as np

from mare.errors import SourceError
from mare.graph.dag import DatasetDag
from mare.graph.ownership import parent_link
from mare.ports import Watch, WorkStep
from mare.relational.filling import FromAbove
from mare.relational.placing import Index, Placed, PlacedTables
from mare.relational.relations import TableRelations
from mare.release import Release
from mare.schema import Schema
from mare.schema.schema import EntityByColumn

from .given import GivenTable, GivenTables, given_table
from .given_columns import Columns, check_unique, given_columns, key_texts, places_of, unknown_columns
from .given_files import Given, read_given
from .given_references import GivenLinks, Surroundings, check_copies, given_links
from .preparation import Prepared

if TYPE_CHECKING:
    import pyarrow as pa

STEPS = ("reading", "taking", "placing", "coding")
"""What is done with each table, in this order."""
Begin = Callable[[str, str], None]
"""Told one of `STEPS` and the table that it goes over, as it begins."""


def take_given(release: Release, ready: Prepared, given: Given, watch: Watch | None = None) -> GivenTables:
    """The given rows, placed and coded; or an error that says what is wrong with them. ``watch`` is told every step."""
    schema, dag = release.schema, DatasetDag.of(release.schema)
    named = {_table(schema, dag, name): rows for name, rows in given.items()}
    for name in named:
        _check_above(schema, dag, name, named)
    numbers, tables = count(), dict[str, "pa.Table"]()

    def begin(step: str, table: str) -> None:
        if watch is not None:
            watch(WorkStep(f"{step} {table}", next(numbers), 1, len(STEPS) * len(named)))

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


class _Taking:
    """The given tables while they are placed, owners before what they own."""

    def __init__(self, release: Release, ready: Prepared, tables: Mapping[str, pa.Table], begin: Begin) -> None:
        self.release, self.schema, self.ready, self.rows = release, release.schema, ready, tables
        self.begin = begin
        self.stored = {table.name: table for table in release.tables}
        self.done: dict[str, GivenTable] = {}
        self.columns: dict[str, Columns] = {}
        self.entities: dict[str, Index] = {}
        self.placing: dict[str, tuple[Index, Index, Index]] = {}
        self.notes: list[str] = []

    def run(self) -> GivenTables:
        made, writer = self.ready.generator, self.ready.writer
        entity = made.tables[0]
        if entity not in self.schema.tables:
            self._entities_by_column(entity)
        order = [name for name in made.tables if name in self.rows]
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
        import pyarrow.compute as pc

        says = self.schema.entity
        if not isinstance(says, EntityByColumn) or says.table not in self.rows:
            named = says.table if isinstance(says, EntityByColumn) else entity
            raise SourceError(f"the entities are told apart by rows of {named}, so give those too.")
        columns = self._columns(says.table)
        values = pc.unique(columns[says.by])
        number = np.arange(len(values), dtype=np.int64)
        self.columns[entity], self.entities[entity] = {says.by: values}, number
        self.placing[entity] = number, number, np.zeros(len(values), dtype=np.int64)
        made = self.ready.generator
        self.done[entity], _ = given_table(made, entity, self.placing[entity], self.columns[entity], GivenLinks(), {})

    def _check_owned(self) -> None:
        """Rows of one's own get the keys by which given rows refer to them: each of one row, and all of them given."""
        import pyarrow as pa

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
            column for column, f in filled.items() if isinstance(f, FromAbove) and f.table in self.ready.generator.owners[name]
        ]
        needed = [*(described.key or ()), *foreign]
        if (extra := unknown_columns(self.stored[name], self.rows[name])) and name not in self.columns:
            self.notes.append(f"given {name}: {', '.join(extra)} is left out, the table has no such column")
        return given_columns(self.stored[name], self.rows[name], filled, described.columns, needed)

    def _place(self, name: str) -> None:
        import pyarrow as pa

        described, filled = self.schema.tables[name], self.ready.writer.fillings[name]
        self.begin("taking", name)
        columns = self._columns(name)
        self.begin("placing", name)
        check_unique(name, columns, [*([described.key] if described.key else []), *described.unique])
        owners = self.ready.generator.owners[name]
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
        link = parent_link(self.schema, name)
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
        import pyarrow as pa

        tables = {
            table: Placed(len(parent), parent, position, position, {}) for table, (_, parent, position) in self.placing.items()
        }
        placed = PlacedTables(self.ready.generator.owners, tables)
        everyone, above = np.arange(len(self.entities[name]), dtype=np.int64), dict[str, "pa.Array"]()
        for column, filling in self.ready.writer.fillings[name].items():
            if isinstance(filling, FromAbove) and filling.column in self.columns.get(filling.table, {}):
                at = placed.climb(everyone, name, filling.table)
                above[column] = self.columns[filling.table][filling.column].take(pa.array(at))
        check_copies(name, self.columns[name], self.ready.writer.fillings[name], above)


def _sorted(parent: Index, columns: list[pa.Array]) -> Index:
    """By parent, then by what orders siblings, NULLs first; otherwise as they came."""
    import pyarrow as pa
    import pyarrow.compute as pc

    arrays = [pa.array(parent)]
    for column in columns:
        arrays += [pc.is_valid(column), column]
    table = pa.table([*arrays, pa.array(np.arange(len(parent)))], names=[str(number) for number in range(len(arrays) + 1)])
    return np.asarray(pc.sort_indices(table, sort_keys=[(name, "ascending") for name in table.column_names]), dtype=np.int64)
