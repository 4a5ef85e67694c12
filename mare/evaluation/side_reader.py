"""`SideReader`: the rows of one source, read as the stage reads them into a staging database of their own, and placed: whose each
is, what stands above it, where it stands among its siblings. Nothing is cut, and nothing that is missing stops it: it is noted.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mare.errors import MareError
from mare.ports import Forgiving, Source
from mare.relational.public import PublicTable
from mare.schema import Schema
from mare.schema.reflection import ReflectedTable, Reflection
from mare.stage.loading import Stretch, empty_columns, order_columns, reading_of, typed_stretches
from mare.stage.needs import Link, TableNeeds, needs

from .key_places import as_text, complete, distinct, matched, order_of
from .sides import Lost, Referred, Rows, Side, in_one_piece


@dataclass(eq=False)
class SideReader:
    schema: Schema
    reader: Source
    reflection: Reflection
    connection: duckdb.DuckDBPyConnection
    side: Side
    """What comes of it."""
    tables: tuple[TableNeeds, ...] = ()
    staged: dict[str, pa.Table] = field(default_factory=dict)
    """Rows by table, their columns as staging names them; of those that are placed, the keys alone."""
    orphans: dict[tuple[str, ...], int] = field(default_factory=dict)
    """Entities that a missing parent stands for, by its table and key."""

    def read(self) -> Side:
        self.tables = whole_tables(self.schema)
        for table in self.tables:
            self._table(table)
        self._public()
        self._references()
        for name, count in self.reader.unread.items() if isinstance(self.reader, Forgiving) else ():
            self._unread(name, count)
        for name, count in self.side.unread.items():
            self._note("values that cannot be read as the schema says, and are NULL", f"{name} ({count:,})")
        return self.side

    def _unread(self, name: str, count: int) -> None:
        if count:
            self.side.unread[name] = self.side.unread.get(name, 0) + count

    def _note(self, what: str, name: str) -> None:
        self.side.notes.setdefault(what, []).append(name)

    # ------------------------------------------------------------------ one table

    def _table(self, table: TableNeeds) -> None:
        name = table.name
        if table.held_by is not None:
            holder = next(t for t in self.tables if t.name == table.held_by)
            named = pc.unique(self._staged(holder)["f0"]).drop_null()
            self.staged[name] = pa.table({"k0": named})
            self.side.entities, self.side.keys = len(named), named
            self.side.parent[name], self.side.entity[name] = np.full(len(named), -1), np.arange(len(named))
            return
        staged = self._staged(table)
        if self.schema.tables[name].pool is not None:
            return
        size = staged.num_rows
        if table.owners:
            above, rows, entities = self._above(table)
            at = matched([self._column(name, column) for column in above], list(above.values()))
            self.side.parent[name] = at if rows is None else np.append(rows, -1)[at]
            self.side.entity[name] = np.append(entities, -1)[at]
            if table.orphans == "entity":
                self._adopt(table)
        else:
            self.side.parent[name], self.side.entity[name] = np.full(size, -1), np.arange(size)
            self._name_entities(name)
        self.side.order[name] = order_of(
            self.side.entity[name], self.side.parent[name], [self._column(name, column) for column in order_columns(table)]
        )
        self._count_keys(table)
        self.side.tables[name] = self._values(table)
        self.staged[name] = staged.select([column for column in staged.column_names if column[0] in "kr"])

    def _column(self, table: str, staged: str) -> pa.Array:
        return in_one_piece(self.staged[table][staged])

    def _count_keys(self, table: TableNeeds) -> None:
        name = table.name
        if table.parent is not None and table.foreign:
            there = complete([self._column(name, f"f{i}") for i in range(len(table.foreign))])
            self.side.lost[f"{name}.parent"] = Lost(there - int((self.side.parent[name] >= 0).sum()), there)
        key = self.schema.tables[name].key
        for columns in (key, *self.schema.tables[name].unique):
            if columns and all(column in table.key for column in columns):
                held = [self._column(name, f"k{table.key.index(column)}") for column in columns]
                # NULL repeats nothing, but a key that is NULL is none.
                rows = len(self.side.entity[name]) if columns == key else complete(held)
                self.side.repeated[f"{name}({', '.join(columns)})"] = rows - distinct(held)

    def _values(self, table: TableNeeds) -> pa.Table:
        """The described columns in the schema's order, then the keys that nobody described."""
        staged = {name: f"v{i}" for i, name in enumerate(table.values)}
        linked = [(link.kind, f"r{n}_{i}", name) for n, link in enumerate(table.links) for i, name in enumerate(link.columns)]
        # Public keys stand as they are written, also where they are a part of the row's own key: that is in the form by which
        # its source compares, and another source has another.
        keys = [
            *((f"a{i}", name) for i, name in enumerate(table.via)),
            *((column, name) for kind, column, name in linked if kind == "public"),
            *((f"k{i}", name) for i, name in enumerate(table.key)),
            *((f"f{i}", name) for i, name in enumerate(table.foreign)),
            *((column, name) for kind, column, name in linked if kind != "public"),
        ]
        for column, name in keys:
            staged.setdefault(name, column)
        described = [name for name in self.schema.tables[table.name].columns if name in staged]
        names = [*described, *(name for name in staged if name not in described)]
        rows = self.staged[table.name]
        held = rows.select([staged[name] for name in names]).rename_columns(names)
        for name in self.schema.tables[table.name].columns:
            if name not in staged:
                held = held.append_column(name, pa.nulls(held.num_rows))
        return _without_nan(held)

    def _staged(self, table: TableNeeds) -> pa.Table:
        """The rows, read once. Values that a side lacks are NULL."""
        if table.name in self.staged:
            return self.staged[table.name]
        stored = self.reflection.table(table.name)
        parts = list[pa.Table]()
        if self._is_there(table, stored):
            there = self._with_columns(table, stored)
            # Types that somebody inferred from values are taken at their word here: nothing that is released follows from them.
            reading = replace(reading_of(there, self.tables, self.reflection, {}), inferred=frozenset())
            asked = reading.columns(there)
            for stretch in typed_stretches(there, self.reader.read(table.name, asked) if asked else [], reading):
                parts.append(self._typed(stretch))
                for name, count in stretch.count_unread(self.connection).items():
                    self._unread(f"{table.name}.{name}", count)
                self.connection.unregister("batch")
            if parts and there is not table:
                held = {f"v{i}": f"v{there.values.index(name)}" for i, name in enumerate(table.values) if name in there.values}
                parts = [_in_place(part, len(table.values), held) for part in parts]
        if not parts:
            types = ", ".join(f"CAST(NULL AS {kind}) AS {staged}" for staged, kind in empty_columns(table))
            parts = [self.connection.sql(f"SELECT {types} LIMIT 0").to_arrow_table()]
        whole = [name for name in parts[0].column_names if len({part[name].type for part in parts}) > 1 and name[0] in "kfr"]
        for name in whole:  # a file stores numbers, and the next one texts
            parts = [part.set_column(part.column_names.index(name), name, as_text(part[name])) for part in parts]
        # In one piece each: columns are looked at many times, and the many small ones would keep their neighbours' room.
        self.staged[table.name] = pa.concat_tables(parts, promote_options="permissive").combine_chunks()
        parts.clear()
        pa.default_memory_pool().release_unused()
        return self.staged[table.name]

    def _typed(self, stretch: Stretch) -> pa.Table:
        """Its staged columns: what has its type already stays where it is, and DuckDB reads the rest."""
        self.connection.register("batch", stretch.rows)
        known = {**stretch.given, **stretch.whole_keys}
        read = {staged: expression for staged, expression in stretch.columns.items() if staged not in known}
        columns = {staged: stretch.rows[column] for staged, column in known.items()}
        if read:
            listed = ", ".join(f"{expression} AS {staged}" for staged, expression in read.items())
            made = self.connection.sql(f"SELECT {listed} FROM {stretch.relation}").to_arrow_table()
            columns |= {staged: made[staged] for staged in read}
        return pa.table({staged: columns[staged] for staged in stretch.columns})

    def _is_there(self, table: TableNeeds, stored: ReflectedTable | None) -> bool:
        if stored is None:
            self.side.missing.add(table.name)
            self._note("not there", table.name)
            return False
        linked = [column for link in table.links for column in link.columns]
        if lacking := [c for c in dict.fromkeys((*table.key, *table.foreign, *table.via, *linked)) if stored.column(c) is None]:
            self.side.missing.add(table.name)
            self._note(
                "tables that lack a key, so that they cannot be placed and count as not there",
                f"{table.name} ({', '.join(lacking)})",
            )
            return False
        return True

    def _with_columns(self, table: TableNeeds, stored: ReflectedTable | None) -> TableNeeds:
        assert stored is not None
        lacking = {name for name in (*table.values, *table.order) if stored.column(name) is None}
        for name in sorted(lacking):
            self.side.missing.add(f"{table.name}.{name}")
            self._note("columns that are not there", f"{table.name}.{name}")
        for name in table.values:
            column = stored.column(name)
            if column is not None and not column.inferred and (clash := table.described[name].clash(column)) is not None:
                self._note(clash[0], f"{table.name}.{name}")
        values = tuple(name for name in table.values if name not in lacking)
        return replace(table, values=values, order=tuple(name for name in table.order if name not in lacking))

    # ------------------------------------------------------------------ who belongs to whom

    def _above(self, table: TableNeeds) -> tuple[dict[str, pa.Array], Rows | None, Rows]:
        """The keys above by the column here that has them; of each, the row that it is of, if not the one as far down; and its
        entity."""
        if table.parent is not None:
            keys = {f"f{i}": self._column(table.parent, f"k{place}") for i, place in enumerate(table.refers)}
            return keys, None, self.side.entity[table.parent]
        parts, rows, owned, single = list[pa.Table](), list[Rows](), list[Rows](), len(dict(table.owned_by)) == 1
        for owner, reference in table.owned_by:
            at, link = next(t for t in self.tables if t.name == owner).link(reference)
            parts.append(pa.table({f"k{place}": self._column(owner, f"r{at}_{i}") for i, place in enumerate(link.refers)}))
            owned.append(self.side.entity[owner])
            rows.append(np.arange(len(owned[-1])) if single else np.full(len(owned[-1]), -1))
        listed = pa.concat_tables(part.select(sorted(parts[0].column_names)) for part in parts)
        keys = {name: in_one_piece(listed[name]) for name in listed.column_names}
        return keys, np.concatenate(rows), np.concatenate(owned)

    def _name_entities(self, name: str) -> None:
        self.side.entities = len(self.side.entity[name])
        parts = [self._column(name, f"k{i}") for i in range(len(self.schema.table(name).key or ()))]
        if len(parts) == 1:
            self.side.keys = parts[0]
        elif parts:
            self.side.keys = pc.binary_join_element_wise(*map(as_text, parts), " ", null_handling="replace", null_replacement="")

    def _adopt(self, table: TableNeeds) -> None:
        """Rows whose parent is missing are entities where the schema says so: those that share a missing key one, others each."""
        alone = np.flatnonzero(self.side.entity[table.name] < 0)
        keys = [self._column(table.name, f"f{i}").take(pa.array(alone)).to_pylist() for i in range(len(table.foreign))]
        for row, *key in zip(alone.tolist(), *keys, strict=True):
            name = (table.name, str(row)) if None in key else (str(table.parent), str(table.refers), *map(str, key))
            if name not in self.orphans:
                self.orphans[name] = self.side.entities
                self.side.entities += 1
            self.side.entity[table.name][row] = self.orphans[name]

    # ------------------------------------------------------------------ public tables and references

    def _public(self) -> None:
        for name, table in self.schema.tables.items():
            if not table.public or table.ignore:
                continue
            stored = self.reflection.table(name)
            if stored is None:
                self._note("public tables that are not there", name)
                continue
            left_out = {c.name for c in map(stored.column, table.ignore_columns) if c is not None}
            batches = list(self.reader.read(stored.name, [c.name for c in stored.columns if c.name not in left_out]))
            if batches:
                self.side.public[name] = pa.Table.from_batches(batches).unify_dictionaries()

    def _references(self) -> None:
        for table in self.tables:
            if table.name not in self.side.tables:
                continue
            for number, link in enumerate(table.links):
                there = self._target(table, link)
                if there is not None:
                    here = [self._column(table.name, f"r{number}_{i}") for i in range(len(link.columns))]
                    rows = matched(here, there)
                    declared = self.schema.tables[table.name].references.get(link.name)
                    if declared is not None and declared.kind == "other_entity":
                        self._note(
                            "where it leads to other people is never learned, and not compared", f"{table.name}.{link.name}"
                        )
                    else:
                        self.side.refers[table.name, link.name] = Referred(link.columns, link.table, rows)
                    of = complete(here)
                    self.side.lost[f"{table.name}.{link.name}"] = Lost(of - int((rows >= 0).sum()), of)

    def _target(self, table: TableNeeds, link: Link) -> list[pa.Array] | None:
        """The keys that a reference may have."""
        if link.kind != "public":
            return [self._column(link.table, f"k{place}") for place in link.refers] if link.table in self.staged else None
        if link.table not in self.side.public:
            return None
        declared = self.schema.tables[table.name].references.get(link.name)
        columns = (declared.column if declared is not None else None) or self.schema.tables[link.table].key or ()
        try:
            keys = PublicTable(link.table, self.side.public[link.table]).texts(columns)
        except MareError as error:
            self._note(str(error), link.table)
            return None
        return [pa.array([None if key is None else key[i] for key in keys], type=pa.string()) for i in range(len(columns))]


def _in_place(staged: pa.Table, values: int, held: Mapping[str, str]) -> pa.Table:
    """Values by their places among all that the schema describes, also where the side lacks some."""
    columns = {name: staged[name] for name in staged.column_names if name[0] != "v"}
    columns |= {f"v{i}": staged[held[f"v{i}"]] if f"v{i}" in held else pa.nulls(staged.num_rows) for i in range(values)}
    return pa.table(columns)


def _without_nan(table: pa.Table) -> pa.Table:
    """NaN is how pandas writes NULL."""
    for i, column in enumerate(table.columns):
        if pa.types.is_floating(column.type) and pc.any(pc.is_nan(column)).as_py():
            table = table.set_column(i, table.column_names[i], pc.if_else(pc.is_nan(column), None, column))
    return table


def whole_tables(schema: Schema) -> tuple[TableNeeds, ...]:
    """What is read of each table: more than a fit reads, for what is worked out, made anew or left NULL is compared and checked
    too. Free text is made up, so there is nothing to compare; pools give their keys alone."""
    known = list(needs(schema, ()))
    keys = {table.name: list(table.key) for table in known}
    for name, pool in schema.tables.items():
        if pool.pool is not None and not pool.ignore:
            keys[name] = list(pool.key or ())
            known.append(TableNeeds(name, None, (), (), (), (), {}))
    whole = []
    for table in known:
        if table.held_by is None:
            described = schema.tables[table.name]
            for columns in described.unique_sets:
                keys[table.name] += [column for column in columns if column not in keys[table.name]]
            if described.pool is None:
                links = (*_whole_links(schema, table), *_further_links(schema, table, keys))
                values = tuple(name for name, column in described.columns.items() if column.kept)
                table = replace(table, values=values, beside={}, links=(*links, *_via(schema, table)))
        whole.append(table)
    return tuple(replace(table, key=tuple(keys[table.name])) for table in whole)


def _whole_links(schema: Schema, table: TableNeeds) -> Iterator[Link]:
    """What a fit looks for column by column, as the references that they are."""
    described = schema.tables[table.name]
    yield from (link for link in table.links if link.kind != "public")
    for name, declared in described.references.items():
        if declared.kind == "public":
            yield Link(name, "public", declared.table, described.reference_columns(name))


def _further_links(schema: Schema, table: TableNeeds, keys: dict[str, list[str]]) -> list[Link]:
    """References that a fit need not look for: to ancestors, to other entities, to pools."""
    names = {link.name for link in table.links}
    links = []
    for name, declared in schema.tables[table.name].references.items():
        there = declared.column or (schema.table(declared.table).key if declared.table in keys else None)
        if name in names or declared.kind == "broken" or not there or declared.table not in keys:
            continue
        keys[declared.table] += [column for column in there if column not in keys[declared.table]]
        places = tuple(keys[declared.table].index(column) for column in there)
        links.append(Link(name, "same_entity", declared.table, schema.tables[table.name].reference_columns(name), places))
    return links


def _via(schema: Schema, table: TableNeeds) -> list[Link]:
    """The public side of an association, as a reference like any other."""
    link = schema.parent(table.name)
    if not table.via or link is None or link.via is None:
        return []
    return [Link("via", "public", link.via, table.via)]
