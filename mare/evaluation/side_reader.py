"""`SideReader`: the rows of one source, read as the stage reads them into a staging database of their own, and placed: whose each
is, what stands above it, where it stands among its siblings. Nothing is cut, and nothing that is missing stops it: it is noted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from mare.errors import MareError
from mare.ports import Forgiving, Source
from mare.relational.public import PublicTable
from mare.schema import Schema
from mare.schema.reflection import ReflectedTable, Reflection
from mare.stage.loading import Reading, load_rows, order_columns, reading_of
from mare.stage.needs import Link, TableNeeds

from .sides import Lost, Rows, Side
from .whole_tables import whole_tables

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa


@dataclass(eq=False)
class SideReader:
    schema: Schema
    reader: Source
    reflection: Reflection
    connection: duckdb.DuckDBPyConnection
    tables: tuple[TableNeeds, ...] = ()
    raw: dict[str, str] = field(default_factory=dict)
    """Relations with the rows as they were read, by table."""
    placed: dict[str, str] = field(default_factory=dict)
    """Relations with row, parent and entity of each row, and the keys."""
    values: dict[str, pa.Table] = field(default_factory=dict)
    entity: dict[str, Rows] = field(default_factory=dict)
    parent: dict[str, Rows] = field(default_factory=dict)
    order: dict[str, Rows] = field(default_factory=dict)
    orphans: dict[tuple[str, ...], int] = field(default_factory=dict)
    """Entities that a missing parent stands for, by its table and key."""
    entities: int = 0
    keys: pa.Array | None = None
    lost: dict[str, Lost] = field(default_factory=dict)
    repeated: dict[str, int] = field(default_factory=dict)
    missing: set[str] = field(default_factory=set)
    unread: dict[str, int] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def side(self) -> Side:
        self.tables = whole_tables(self.schema)
        for table in self.tables:
            self._table(table)
        public = self._public()
        self._references(public)
        if isinstance(self.reader, Forgiving):
            for name, count in self.reader.unread.items():
                self.unread[name] = self.unread.get(name, 0) + count
        self.notes += [
            f"{n:,} values of {name} cannot be read as the schema says, and are NULL" for name, n in self.unread.items()
        ]
        return Side(
            self.reader.label, self.schema, self.values, self.entity, self.parent, self.order, self.entities, self.keys,
            public, self.lost, self.repeated, frozenset(self.missing), self.unread, tuple(self.notes),
        )  # fmt: skip

    # ------------------------------------------------------------------ one table

    def _table(self, table: TableNeeds) -> None:
        raw, placed = self._raw(table), f"placed_{len(self.placed)}"
        self.placed[table.name] = placed
        held = [f"k{i}" for i in range(len(table.key))]
        held += [f"r{n}_{i}" for n, link in enumerate(table.links) for i in range(len(link.columns))]
        if table.held_by is not None:
            values = f"SELECT f0 AS k0, min(rowid) AS first FROM {raw} WHERE f0 IS NOT NULL GROUP BY f0"
            number = "row_number() OVER (ORDER BY first) - 1"
            self._execute(
                f"CREATE TABLE {placed} AS SELECT {number} AS row, -1 AS parent, {number} AS entity, k0 FROM ({values})"
            )
            self._name_entities(placed, 1)
            return
        if self.schema.tables[table.name].pool is not None:
            self._execute(f"CREATE TABLE {placed} AS SELECT {', '.join(['rowid AS row', *held])} FROM {raw}")
            return
        order = order_columns(table)
        asked = ", ".join(["r.rowid AS row", *(f"r.{name}" for name in (*held, *order))])
        if table.owners:
            above = self._above(table)
            self._execute(
                f"CREATE TABLE {placed} AS SELECT {asked}, coalesce(p.row, -1) AS parent, coalesce(p.entity, -1) AS entity "
                f"FROM {raw} r LEFT JOIN ({above[0]}) p ON {above[1]}"
            )
            if table.orphans == "entity":
                self._adopt(table, raw, placed)
        else:
            self._execute(f"CREATE TABLE {placed} AS SELECT {asked}, -1 AS parent, r.rowid AS entity FROM {raw} r")
            self._name_entities(placed, len(self.schema.table(table.name).key or ()))
        self._take(table, raw, placed, order)

    def _take(self, table: TableNeeds, raw: str, placed: str, order: Sequence[str]) -> None:
        name = table.name
        rows = self._numbers(f"SELECT row, parent, entity FROM {placed}")
        size = len(rows["row"])
        self.parent[name], self.entity[name] = np.empty(size, np.int64), np.empty(size, np.int64)
        self.parent[name][rows["row"]], self.entity[name][rows["row"]] = rows["parent"], rows["entity"]
        by = ", ".join(["entity", "parent", *(f"{column} NULLS LAST" for column in order), "row"])
        self.order[name] = self._numbers(f"SELECT row FROM {placed} ORDER BY {by}")["row"]
        if table.parent is not None and table.foreign:
            there = " AND ".join(f"f{i} IS NOT NULL" for i in range(len(table.foreign)))
            ((filled,),) = self._execute(f"SELECT count(*) FROM {raw} WHERE {there}").fetchall()
            self.lost[f"{name}.parent"] = Lost(int(filled) - int((self.parent[name] >= 0).sum()), int(filled))
        key = self.schema.tables[name].key
        for columns in (key, *self.schema.tables[name].unique):
            if columns and all(column in table.key for column in columns):
                places = [f"k{table.key.index(column)}" for column in columns]
                there = " AND ".join(f"{place} IS NOT NULL" for place in places)
                distinct = f"SELECT count(*) FROM (SELECT DISTINCT {', '.join(places)} FROM {raw} WHERE {there})"
                ((filled, kept),) = self._execute(f"SELECT count(*) FILTER ({there}), ({distinct}) FROM {raw}").fetchall()
                # NULL repeats nothing, but a key that is NULL is none.
                self.repeated[f"{name}({', '.join(columns)})"] = (size if columns == key else int(filled)) - int(kept)
        self.values[name] = self._values(table, raw)
        self._execute(f"DROP TABLE {raw}")

    def _values(self, table: TableNeeds, raw: str) -> pa.Table:
        """The described columns in the schema's order, then the keys that nobody described."""
        import pyarrow as pa

        staged = {name: f"v{i}" for i, name in enumerate(table.values)}
        keys = [
            *((f"k{i}", name) for i, name in enumerate(table.key)),
            *((f"f{i}", name) for i, name in enumerate(table.foreign)),
        ]
        keys += [(f"a{i}", name) for i, name in enumerate(table.via)]
        keys += [(f"r{n}_{i}", name) for n, link in enumerate(table.links) for i, name in enumerate(link.columns)]
        for column, name in keys:
            staged.setdefault(name, column)
        described = [name for name in self.schema.tables[table.name].columns if name in staged]
        names = [*described, *(name for name in staged if name not in described)]
        if not names:
            ((rows,),) = self._execute(f"SELECT count(*) FROM {raw}").fetchall()
            return pa.table({"row": np.arange(rows)}).select([])
        listed = ", ".join(f"{staged[name]} AS c{i}" for i, name in enumerate(names))
        held = self.connection.sql(f"SELECT {listed} FROM {raw}").to_arrow_table().rename_columns(names)
        for name in self.schema.tables[table.name].columns:
            if name not in staged:
                held = held.append_column(name, pa.nulls(held.num_rows))
        return _without_nan(held)

    def _raw(self, table: TableNeeds) -> str:
        if table.held_by is not None:
            return self._raw(next(t for t in self.tables if t.name == table.held_by))
        if table.name in self.raw:
            return self.raw[table.name]
        raw = self.raw[table.name] = f"raw_{len(self.raw)}"
        stored = self.reflection.table(table.name)
        if not self._is_there(table, stored):
            load_rows(self.connection, raw, table, [], reading=Reading())
            return raw
        there = self._with_columns(table, stored)
        # Types that somebody inferred from values are taken at their word here: nothing that is released follows from them.
        reading = replace(reading_of(there, self.tables, self.reflection, {}), inferred=frozenset())
        asked = reading.columns(there)
        batches = self.reader.read(table.name, asked) if asked else []
        unread = load_rows(self.connection, raw, there, batches, reading=reading, hashed=False).unread
        self.unread |= {f"{table.name}.{name}": count for name, count in unread.items() if count}
        return self._in_place(raw, table, there)

    def _in_place(self, raw: str, table: TableNeeds, there: TableNeeds) -> str:
        """Values by their places among all that the schema describes, also where the side lacks some."""
        if table.values == there.values:
            return raw
        held = {name: f"v{i}" for i, name in enumerate(there.values)}
        renamed = ", ".join(f"{held[name]} AS w{i}" if name in held else f"NULL AS w{i}" for i, name in enumerate(table.values))
        kept = f"* EXCLUDE ({', '.join(held.values())})" if held else "*"
        self._execute(f"CREATE TABLE {raw}_whole AS SELECT {kept}, {renamed} FROM {raw}")
        for i in range(len(table.values)):
            self._execute(f"ALTER TABLE {raw}_whole RENAME w{i} TO v{i}")
        self._execute(f"DROP TABLE {raw}")
        self.raw[table.name] = f"{raw}_whole"
        return self.raw[table.name]

    def _is_there(self, table: TableNeeds, stored: ReflectedTable | None) -> bool:
        if stored is None:
            self.missing.add(table.name)
            self.notes.append(f"the table {table.name!r} is not there")
            return False
        linked = [column for link in table.links for column in link.columns]
        if lacking := [c for c in dict.fromkeys((*table.key, *table.foreign, *table.via, *linked)) if stored.column(c) is None]:
            self.missing.add(table.name)
            self.notes.append(
                f"the table {table.name!r} has no {', '.join(lacking)}: it cannot be placed, and counts as not there"
            )
            return False
        return True

    def _with_columns(self, table: TableNeeds, stored: ReflectedTable | None) -> TableNeeds:
        assert stored is not None
        lacking = {name for name in (*table.values, *table.order) if stored.column(name) is None}
        for name in sorted(lacking):
            self.missing.add(f"{table.name}.{name}")
            self.notes.append(f"the table {table.name!r} has no column {name!r}")
        for name in table.values:
            column = stored.column(name)
            if column is not None and not column.inferred and (clash := table.described[name].clash(column)) is not None:
                self.notes.append(f"{table.name}.{name}: {clash[0]}")
        values = tuple(name for name in table.values if name not in lacking)
        return replace(table, values=values, order=tuple(name for name in table.order if name not in lacking))

    # ------------------------------------------------------------------ who belongs to whom

    def _above(self, table: TableNeeds) -> tuple[str, str]:
        """Rows of the table above by key, each key once; and how a row ``r`` finds them ``p``."""
        if table.parent is not None:
            keys = [f"k{place}" for place in table.refers]
            join = " AND ".join(f"r.f{i} = p.{key}" for i, key in enumerate(keys))
            return _first(self.placed[table.parent], keys), join
        parts, columns, single = list[str](), list[str](), len({owner for owner, _ in table.owned_by}) == 1
        for owner, reference in table.owned_by:
            at, link = next(t for t in self.tables if t.name == owner).link(reference)
            columns = [f"k{place}" for place in sorted(link.refers)]
            listed = ", ".join(f"r{at}_{i} AS k{place}" for i, place in enumerate(link.refers))
            parts.append(f"SELECT {'row' if single else '-1 AS row'}, entity, {listed} FROM {self.placed[owner]}")
        join = " AND ".join(f"r.{key} = p.{key}" for key in columns)
        return _first(f"({' UNION ALL BY NAME '.join(parts)})", columns), join

    def _name_entities(self, placed: str, columns: int) -> None:
        ((self.entities,),) = self._execute(f"SELECT count(*) FROM {placed}").fetchall()
        if columns:
            key = " || ' ' || ".join(f"coalesce(k{i}, '')" for i in range(columns))
            named = self.connection.sql(f"SELECT {key} AS key FROM {placed} ORDER BY row").to_arrow_table()
            self.keys = named["key"].combine_chunks()

    def _adopt(self, table: TableNeeds, raw: str, placed: str) -> None:
        """Rows whose parent is missing are entities where the schema says so: those that share a missing key one, others each."""
        foreign = ", ".join(f"r.f{i}" for i in range(len(table.foreign)))
        alone = f"SELECT r.rowid, {foreign} FROM {raw} r JOIN {placed} p ON p.row = r.rowid WHERE p.entity < 0 ORDER BY 1"
        adopted: list[tuple[int, int]] = []
        for row, *key in self._execute(alone).fetchall():
            name = (table.name, str(row)) if None in key else (str(table.parent), str(table.refers), *map(str, key))
            if name not in self.orphans:
                self.orphans[name] = self.entities
                self.entities += 1
            adopted.append((row, self.orphans[name]))
        if adopted:
            import pyarrow as pa

            rows, entities = zip(*adopted, strict=True)
            self.connection.register("adopted", pa.table({"row": pa.array(rows), "entity": pa.array(entities)}))
            self._execute(f"UPDATE {placed} p SET entity = a.entity FROM adopted a WHERE a.row = p.row")
            self.connection.unregister("adopted")

    # ------------------------------------------------------------------ public tables and references

    def _public(self) -> dict[str, pa.Table]:
        import pyarrow as pa

        public: dict[str, pa.Table] = {}
        for name, table in self.schema.tables.items():
            if not table.public or table.ignore:
                continue
            stored = self.reflection.table(name)
            if stored is None:
                self.notes.append(f"the public table {name!r} is not there")
                continue
            left_out = {c.name for c in map(stored.column, table.ignore_columns) if c is not None}
            batches = list(self.reader.read(stored.name, [c.name for c in stored.columns if c.name not in left_out]))
            if batches:
                public[name] = pa.Table.from_batches(batches).unify_dictionaries()
        return public

    def _references(self, public: Mapping[str, pa.Table]) -> None:
        for table in self.tables:
            if table.held_by is not None or table.name not in self.values:
                continue
            for number, link in enumerate(table.links):
                here = [f"r.r{number}_{i}" for i in range(len(link.columns))]
                target = self._target(table, link, public)
                if target is None:
                    continue
                relation, there = target
                filled = " AND ".join(f"{column} IS NOT NULL" for column in here)
                same = " AND ".join(f"{mine} = t.{theirs}" for mine, theirs in zip(here, there, strict=True))
                kept = f"SELECT count(*) FROM {self.placed[table.name]} r WHERE {filled}"
                ((of,),) = self._execute(kept).fetchall()
                ((met,),) = self._execute(f"{kept} AND EXISTS (FROM {relation} t WHERE {same})").fetchall()
                self.lost[f"{table.name}.{link.name}"] = Lost(int(of) - int(met), int(of))

    def _target(self, table: TableNeeds, link: Link, public: Mapping[str, pa.Table]) -> tuple[str, list[str]] | None:
        if link.kind != "public":
            return (self.placed[link.table], [f"k{place}" for place in link.refers]) if link.table in self.placed else None
        if link.table not in public:
            return None
        import pyarrow as pa

        declared = self.schema.tables[table.name].references.get(link.name)
        columns = (declared.column if declared is not None else None) or self.schema.tables[link.table].key or ()
        try:
            keys = [key for key in PublicTable(link.table, public[link.table]).texts(columns) if key is not None]
        except MareError as error:
            self.notes.append(str(error))
            return None
        names = [f"x{i}" for i in range(len(columns))]
        listed = {name: pa.array([key[i] for key in keys], type=pa.string()) for i, name in enumerate(names)}
        relation = f"public_{table.name.encode().hex()}_{link.name.encode().hex()}"
        self.connection.register("keys_given", pa.table(listed))
        self._execute(f"CREATE TABLE {relation} AS SELECT DISTINCT * FROM keys_given")
        self.connection.unregister("keys_given")
        return relation, names

    # ------------------------------------------------------------------ the staging database

    def _execute(self, statement: str) -> duckdb.DuckDBPyConnection:
        return self.connection.execute(statement)

    def _numbers(self, query: str) -> dict[str, Rows]:
        return {name: np.asarray(column, dtype=np.int64) for name, column in self._execute(query).fetchnumpy().items()}


def _first(relation: str, keys: Sequence[str]) -> str:
    """Of the rows that share a key, the first."""
    there, listed = " AND ".join(f"{key} IS NOT NULL" for key in keys), ", ".join(keys)
    return f"SELECT {listed}, min(row) AS row, arg_min(entity, row) AS entity FROM {relation} WHERE {there} GROUP BY {listed}"


def _without_nan(table: pa.Table) -> pa.Table:
    """NaN is how pandas writes NULL."""
    import pyarrow as pa
    import pyarrow.compute as pc

    for i, column in enumerate(table.columns):
        if pa.types.is_floating(column.type) and pc.any(pc.is_nan(column)).as_py():
            table = table.set_column(i, table.column_names[i], pc.if_else(pc.is_nan(column), None, column))
    return table
