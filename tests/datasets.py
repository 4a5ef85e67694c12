"""Made-up rows for any schema, as dirty as real ones: for tests that fit and sample whole schemas.

`dataset(schema, seed)` gives a `MemorySource`. Lists run over their caps, parents dangle, references lead to other people,
values lie outside their domains. Nothing in it follows the schema's order: what must hold has to be made to hold.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta
from typing import Any

import numpy as np
import pyarrow as pa

from mare.graph.dag import DatasetDag
from mare.schema import Schema
from mare.schema.columns import (
    Boolean,
    Category,
    Code,
    Column,
    Date,
    Datetime,
    Duration,
    Identifier,
    Integer,
    Number,
    Position,
    Time,
)
from mare.schema.layout import link_cap
from mare.schema.schema import EntityByColumn
from tests.memory_source import MemorySource

Row = dict[str, Any]
_EPOCH = datetime(2110, 1, 1)


def dataset(schema: Schema, seed: int = 0, entities: int = 30) -> MemorySource:
    """A source with rows for every table that is not ignored."""
    made = _Made(schema, np.random.default_rng(seed))
    made.everything(entities)
    return MemorySource(
        {
            name: pa.Table.from_pylist(
                rows, schema=pa.schema([(column, made.arrow(name, column)) for column in made.columns(name)])
            )
            for name, rows in made.rows.items()
        }
    )


def strange_keys(schema: Schema, entities: int = 30) -> MemorySource:
    """Public references (`tests.relations`), one of them to keys that the public table lacks."""
    tables = dict(dataset(schema, seed=3, entities=entities)._tables)
    takes = tables["takes"]
    strangers = pa.array([99 if row % 4 else 98 for row in range(takes.num_rows)], type=takes["other_id"].type)
    tables["takes"] = takes.set_column(takes.schema.get_field_index("other_id"), "other_id", strangers)
    return MemorySource(tables)


@dataclass
class _Made:
    schema: Schema
    rng: np.random.Generator
    rows: dict[str, list[Row]] = field(default_factory=dict)
    whose: dict[str, list[int]] = field(default_factory=dict)
    """Of each row, its entity."""

    def everything(self, entities: int) -> None:
        dag = DatasetDag.of(self.schema)
        for name in dag.generation_order():
            self.rows[name], self.whose[name] = [], []
        virtual: list[Row] = []
        entity = self.schema.entity
        if isinstance(entity, EntityByColumn):
            virtual = [{entity.by: self._key(entity.table, entity.by, n)} for n in range(entities)]
        for name in dag.generation_order():
            role = dag.node(name).role
            if role in ("public", "pool"):
                self._apart(name, self.schema.tables[name].rows or 5)
            elif role == "entity":
                for n in range(entities):
                    self._row(name, n, {})
            elif role == "private":
                above = self.schema.parent_name(name) or ""
                self._children(name, self.rows.get(above, virtual), self.whose.get(above, list(range(entities))))
            # Rows of one's own were made when their owners referred to them.
            for place, row in enumerate(self.rows[name]):
                self._refer(name, place, row)

    def _apart(self, name: str, rows: int) -> None:
        for n in range(rows):
            self._row(name, n, {})

    def _children(self, name: str, parents: list[Row], owners: list[int]) -> None:
        cap, link = link_cap(self.schema, name), self.schema.parent(name)
        foreign = self.schema.parent_columns(name) or _entity_key(self.schema)
        referred = _entity_key(self.schema)
        if link is not None and link.table is not None and link.table in self.schema.tables:
            referred = link.references or self.schema.tables[link.table].key or ()
        most = min(6, cap.rows + 2 if cap is not None else 3)
        one = set(self.schema.tables[name].key or ()) <= set(foreign) and bool(self.schema.tables[name].key)
        for parent, entity in zip(parents, owners, strict=True):
            for n in range(int(self.rng.integers(0, (1 if one else most) + 1))):
                self._row(name, entity, {f: parent[r] for f, r in zip(foreign, referred, strict=True)}, n)
        for lost in range(2):
            dangling = {f: (None if lost else self._other(name, f)) for f in foreign}
            if not set(self.schema.tables[name].key or ()) & set(foreign):
                self._row(name, -1, dangling, 0)

    def _other(self, name: str, column: str) -> object:
        return "nobody" if pa.types.is_string(self.arrow(name, column)) else 987_654

    def _row(self, name: str, entity: int, given: Mapping[str, object], n: int = 0) -> None:
        table, place = self.schema.tables[name], len(self.rows[name])
        row: Row = {}
        for column in self.columns(name):
            says = table.columns.get(column)
            row[column] = self._key(name, column, place) if says is None else self._value(name, column, says, place, n)
        row |= given
        self.rows[name].append(row)
        self.whose[name].append(entity)

    def _refer(self, name: str, place: int, row: Row) -> None:
        table, entity = self.schema.tables[name], self.whose[name][place]
        for reference, says in table.references.items():
            columns = table.reference_columns(reference)
            there = says.column or (self.schema.tables[says.table].key if says.table in self.schema.tables else None) or ()
            if says.kind == "owned":
                if not says.nullable or self.rng.random() < 0.7:
                    if not self.rows[says.table] or self.rng.random() < 0.9:
                        self._row(says.table, entity, {})
                    target: Row | None = self.rows[says.table][-1]  # now and then one that somebody else has too
                else:
                    target = None
            else:
                target = self._target(name, place, says.kind, says.table, entity)
            if says.nullable and self.rng.random() < 0.2:
                target = None
            for column, other in zip(columns, there, strict=False):
                if column not in self.schema.parent_columns(name):
                    row[column] = None if target is None else target.get(other)
        link = table.parent
        if link is not None and link.via is not None and self.rows[link.via]:
            chosen = self.rows[link.via][int(self.rng.integers(len(self.rows[link.via])))]
            for column, other in zip(link.column_via or (), self.schema.tables[link.via].key or (), strict=True):
                row[column] = chosen[other]

    def _target(self, name: str, place: int, kind: str, table: str, entity: int) -> Row | None:
        rows = self.rows.get(table, [])
        if kind == "same_entity" and self.rng.random() < 0.9:
            rows = [row for row, whose in zip(rows, self.whose[table], strict=True) if whose == entity]
        if kind == "earlier":
            rows = self.rows[name][max(0, place - 3) : place + 1]
        return rows[int(self.rng.integers(len(rows)))] if rows else None

    # ------------------------------------------------------------------ columns

    def columns(self, name: str) -> list[str]:
        """Every column of the table, as a source would list them."""
        table = self.schema.tables[name]
        link = self.schema.parent(name)
        entity = (
            _entity_key(self.schema)
            if isinstance(self.schema.entity, EntityByColumn) and self.schema.entity.table == name
            else ()
        )
        via = link.column_via or () if link is not None else ()
        referred = [c for r in table.references for c in table.reference_columns(r)]
        named = [*(table.key or ()), *self.schema.parent_columns(name), *entity, *via, *referred, *table.columns]
        looked_up = [
            column.determined.lookup.column
            for other in self.schema.tables.values()
            for column in other.columns.values()
            if column.determined is not None and column.determined.lookup is not None and column.determined.lookup.table == name
        ]
        return list(dict.fromkeys([*named, *looked_up]))

    def arrow(self, name: str, column: str) -> pa.DataType:
        """The stored type: of a reference, that of the column it refers to."""
        at = self._referred(name, column)
        if at is not None:
            return self.arrow(*at)
        says = self.schema.tables[name].columns.get(column) if name in self.schema.tables else None
        if says is None or isinstance(says, Identifier):
            texts = name.startswith("i") or (says is not None and says.generate in ("uuid", "pattern"))
            return pa.string() if texts else pa.int64()
        return _TYPES[type(says)](says)

    def _referred(self, name: str, column: str) -> tuple[str, str] | None:
        table = self.schema.tables[name]
        for reference, says in table.references.items():
            columns = table.reference_columns(reference)
            if column in columns and says.table in self.schema.tables:
                there = says.column or self.schema.tables[says.table].key or ()
                if columns.index(column) < len(there):
                    return says.table, there[columns.index(column)]
            entity = self.schema.entity
            if column in columns and isinstance(entity, EntityByColumn) and says.table == self.schema.entity_name:
                return entity.table, entity.by
        link, foreign = self.schema.parent(name), self.schema.parent_columns(name)
        if link is not None and link.via is not None and column in (link.column_via or ()):
            return link.via, (self.schema.tables[link.via].key or ())[(link.column_via or ()).index(column)]
        if link is not None and link.table in self.schema.tables and column in foreign:
            return link.table or "", (link.references or self.schema.tables[link.table or ""].key or ())[foreign.index(column)]
        return None

    def _key(self, name: str, column: str, place: int) -> object:
        return f"K{place:05d}" if pa.types.is_string(self.arrow(name, column)) else 1000 + place

    def _value(self, name: str, column: str, says: Column, place: int, n: int) -> object:
        if isinstance(says, Identifier):
            return self._key(name, column, place)
        if isinstance(says, Position):
            return says.start + n
        nullable = says.nullable or self.rng.random() < 0.05
        if nullable and self.rng.random() < 0.2 and column not in (self.schema.tables[name].key or ()):
            return None
        return _VALUES[type(says)](says, self.rng) if type(says) in _VALUES else "words"


def _entity_key(schema: Schema) -> tuple[str, ...]:
    return (schema.entity.by,) if isinstance(schema.entity, EntityByColumn) else ()


def _category(says: Column, rng: np.random.Generator) -> object:
    assert isinstance(says, Category | Code)
    listed = says.values or tuple("abcdefg")
    value = listed[int(rng.integers(len(listed)))] if rng.random() < 0.95 else "outside"
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _boolean(says: Column, rng: np.random.Generator) -> object:
    assert isinstance(says, Boolean)
    truth = bool(rng.random() < 0.5)
    words = (says.false, says.true)
    return truth if words == (None, None) else str(words[truth])


def _integer(says: Column, rng: np.random.Generator) -> object:
    assert isinstance(says, Integer)
    if says.specials and rng.random() < 0.2:
        return str(says.specials[int(rng.integers(len(says.specials)))])
    value = int(rng.integers((says.min or 0) - 1, (says.max or 100) + 2))
    return str(value) if says.specials else value


def _number(says: Column, rng: np.random.Generator) -> object:
    assert isinstance(says, Number)
    if says.specials and rng.random() < 0.2:
        return str(says.specials[int(rng.integers(len(says.specials)))])
    value = float(rng.uniform(says.min or 0.0, says.max or 100.0))
    return str(value) if says.specials else value


def _day(says: Column, rng: np.random.Generator) -> object:
    low = says.min if isinstance(says, Date) and says.min is not None else date(2110, 1, 1)
    return low + timedelta(days=int(rng.integers(0, min(900, max(1, (date(9999, 1, 1) - low).days)))))


def _moment(says: Column, rng: np.random.Generator) -> object:
    return _EPOCH + timedelta(minutes=int(rng.integers(0, 900_000)))


def _clock(says: Column, rng: np.random.Generator) -> object:
    return time(int(rng.integers(24)), int(rng.integers(60)))


def _span(says: Column, rng: np.random.Generator) -> object:
    return timedelta(minutes=int(rng.integers(0, 20_000)))


_VALUES: dict[type, Callable[[Column, np.random.Generator], object]] = {
    Category: _category,
    Code: _category,
    Boolean: _boolean,
    Integer: _integer,
    Number: _number,
    Date: _day,
    Datetime: _moment,
    Time: _clock,
    Duration: _span,
}
_TYPES: dict[type, Callable[[Any], pa.DataType]] = {
    Integer: lambda says: pa.string() if says.specials else pa.int64(),
    Number: lambda says: pa.string() if says.specials else pa.float64(),
    Boolean: lambda says: pa.bool_() if (says.true, says.false) == (None, None) else pa.string(),
    Date: lambda says: pa.date32(),
    Datetime: lambda says: pa.timestamp("us"),
    Time: lambda says: pa.time64("us"),
    Duration: lambda says: pa.duration("us"),
    Position: lambda says: pa.int64(),
}


class _Texts(dict[type, Callable[[Any], pa.DataType]]):
    def __missing__(self, kind: type) -> Callable[[Any], pa.DataType]:
        return lambda says: pa.string()


_TYPES = _Texts(_TYPES)
