"""`split`: a source in two, whole entities at a time: what is fitted, and a hold-out that the fit has not seen.

Everything is read once, so that each row is the same row whatever is asked of it. Public tables and pools go to both sides; a row
that belongs to nobody goes to neither, as a fit drops it. What leads from one side to the other (a reply to somebody's post) is
NULL; where it may not be NULL, the targets are without that foreign key. Both targets hold true rows: internal, not private.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from mare.errors import PlanError, SourceError
from mare.finding import HeldSource, Location, open_sink, open_source, refuse_overlap
from mare.graph.dag import DatasetDag
from mare.ports import TRUE_ROWS, Located, Sink, SinkTable, Source
from mare.schema import Schema
from mare.schema.loading import load_schema
from mare.schema.reflection import ReflectedTable, Reflection
from mare.stage.loading import reading_of

from .key_places import matched
from .side_reader import whole_tables
from .sides import Side, in_one_piece, read_side

HOLDOUT = 0.2
_BATCH = 1 << 16


@dataclass(frozen=True)
class Split:
    """What went where: rows by table, of the two targets."""

    rows: Mapping[str, tuple[int, int]]
    nobodys: Mapping[str, int]
    """Rows that belong to nobody, and are in neither."""
    entities: tuple[int, int]
    targets: tuple[str, str]
    """What they are called, without a password."""
    severed: Mapping[str, int]
    """By `table.column`, references to rows that are not on the same side: NULL, or without their foreign key."""


def split(
    schema: Schema | str | Path,
    source: Location,
    to: tuple[Location, Location],
    *,
    fraction: float = HOLDOUT,
    seed: int = 0,
    replace: bool = False,
) -> Split:
    """Write the entities of a source into two targets: this ``fraction`` of them, drawn by ``seed``, into the second.

    Both hold true rows.
    """
    if not 0 < fraction < 1:
        raise PlanError(f"the fraction is {fraction:g}; it is the second target's part of the entities, between 0 and 1.")
    if seed < 0:
        raise PlanError(f"the seed is {seed}; it is a whole number from 0 on.")
    if isinstance(schema, str | Path):
        schema = load_schema(schema)
    with ExitStack() as stack:
        stack.enter_context(_for_the_owner_alone())
        reader = stack.enter_context(open_source(source))
        sinks = [stack.enter_context(open_sink(target, replace=replace)) for target in to]
        for sink in sinks:
            refuse_overlap(reader, sink)
        _refuse_twice(*sinks)
        held = _Held.of(schema, reader)
        side = read_side(schema, held)
        second = _drawn(side.entities, fraction, seed)
        severed = _severed(held, side, second)
        tables = held.sink_tables({name for name, cut in severed.items() if not cut.column})
        for sink in sinks:
            sink.create(tables, TRUE_ROWS)
        return _pour(held, side, [table.table.name for table in tables], second, sinks, severed)


@contextmanager
def _for_the_owner_alone() -> Iterator[None]:
    """Files of true rows are nobody else's to read."""
    before = os.umask(0o077)
    try:
        yield
    finally:
        os.umask(before)


def _refuse_twice(first: Sink, second: Sink) -> None:
    if isinstance(first, Located) and isinstance(second, Located) and first.place().overlaps(second.place()):
        raise PlanError(f"both parts would go to {first.label}. Give two targets.")


def _drawn(entities: int, fraction: float, seed: int) -> NDArray[np.bool_]:
    """Which entities go to the second target. The last stands for -1, nobody."""
    wanted = round(entities * fraction)
    if not 0 < wanted < entities:
        raise SourceError(f"there are too few entities to split them so that both parts have some: the fraction is {fraction:g}.")
    drawn = np.zeros(entities + 1, dtype=np.bool_)
    drawn[np.random.default_rng(seed).permutation(entities)[:wanted]] = True
    return drawn


@dataclass(frozen=True, eq=False)
class _Severed:
    """Rows whose foreign key leads to what their side does not hold."""

    rows: NDArray[np.bool_]
    column: str | None
    """A column of it that may be NULL, and that nothing else needs."""


_ForeignKey = tuple[str, tuple[str, ...]]
"""A table, and the columns of one of its foreign keys."""


def _severed(held: _Held, side: Side, second: NDArray[np.bool_]) -> dict[_ForeignKey, _Severed]:
    severed = {}
    for name, logical in held.logical.items():
        stored = held.reflection.table(name)
        if stored is None or logical not in side.entity:
            continue
        for key in stored.foreign_keys:
            there = held.reflection.table(key.table)
            of = side.entity.get(held.logical.get(there.name, "")) if there is not None else None
            if there is None or of is None:
                continue
            ends = key.references or there.key
            matches = matched(
                *([in_one_piece(held.tables[t][c]) for c in cs] for t, cs in ((name, key.columns), (there.name, ends)))
            )
            mine, theirs = side.entity[logical], np.append(of, -1)[matches]
            rows = (matches >= 0) & (mine >= 0) & ((theirs < 0) | (second[mine] != second[theirs]))
            if rows.any():
                others = {c for other in stored.foreign_keys if other != key for c in other.columns}
                free = [c for c in map(stored.column, key.columns) if c is not None and c.nullable]
                kept = {*stored.key, *others}
                severed[name, key.columns] = _Severed(rows, next((c.name for c in free if c.name not in kept), None))
    return severed


def _pour(
    held: _Held,
    side: Side,
    tables: Sequence[str],
    second: NDArray[np.bool_],
    sinks: Sequence[Sink],
    severed: Mapping[_ForeignKey, _Severed],
) -> Split:
    rows: dict[str, tuple[int, int]] = {}
    nobodys: dict[str, int] = {}
    for name in tables:
        whole = _with_nulls(held.columns(name), {c.column: c.rows for (t, _), c in severed.items() if t == name and c.column})
        masks = [np.ones(whole.num_rows, dtype=np.bool_)] * 2
        logical = held.logical.get(name, name)
        if logical in side.entity:
            entity = side.entity[logical]
            masks = [(entity >= 0) & ~second[entity], (entity >= 0) & second[entity]]
            nobodys |= {name: lost} if (lost := int((entity < 0).sum())) else {}
        for sink, mask in zip(sinks, masks, strict=True):
            for batch in whole.filter(mask).to_batches(_BATCH):
                sink.write(name, batch)
        rows[name] = int(masks[0].sum()), int(masks[1].sum())
    cuts = {f"{table}.{', '.join(columns)}": int(cut.rows.sum()) for (table, columns), cut in severed.items()}
    entities = len(second) - 1 - int(second.sum()), int(second.sum())
    return Split(rows, nobodys, entities, (sinks[0].label, sinks[1].label), cuts)


def _with_nulls(whole: pa.Table, where: Mapping[str, NDArray[np.bool_]]) -> pa.Table:
    for name, rows in where.items():
        column = in_one_piece(whole[name])
        whole = whole.set_column(whole.column_names.index(name), name, pc.if_else(pa.array(rows), None, column))
    return whole


@dataclass(frozen=True, eq=False)
class _Held(HeldSource):
    """Every table of the schema, all its columns, in memory: a source that gives the same rows in the same order each time."""

    reflection: Reflection
    tables: dict[str, pa.Table] = field(default_factory=dict)
    """By stored name; columns also in the forms in which they are compared."""
    logical: dict[str, str] = field(default_factory=dict)
    """Stored name → the schema's."""

    @classmethod
    def of(cls, schema: Schema, reader: Source) -> _Held:
        reflection = reader.reflect()
        wanted = whole_tables(schema)
        held = cls(reader, reflection)
        for name in DatasetDag.of(schema).generation_order():
            stored = reflection.table(name)
            if stored is None:
                raise SourceError(f"{reflection.label} has no table {name!r}. It has: {', '.join(t.name for t in reflection)}.")
            needs = next((table for table in wanted if table.name == name), None)
            compared = reading_of(needs, wanted, reflection, {}).columns(needs) if needs is not None else ()
            names = {column.name.casefold() for column in stored.columns}
            asked = [c.name for c in stored.columns] + [c for c in compared if c.casefold() not in names]
            batches = list(reader.read(stored.name, asked))
            if not batches:
                batches = [pa.record_batch([pa.array([], type=pa.string()) for _ in asked], names=asked)]
            held.tables[stored.name] = pa.Table.from_batches(batches).unify_dictionaries()
            held.logical[stored.name] = name
        return held

    def columns(self, name: str) -> pa.Table:
        stored = self.reflection.table(name)
        assert stored is not None
        return self.tables[stored.name].select([column.name for column in stored.columns if not column.generated])

    def sink_tables(self, without: set[_ForeignKey]) -> list[SinkTable]:
        """As the source has them; a foreign key to a table that is not written goes, and rows may come in any order."""
        stored = [table for name in self.tables if (table := self.reflection.table(name)) is not None]
        return [_sink_table(table, set(self.tables), without) for table in stored]

    def read(self, table: str, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        stored = self.reflection.table(table)
        assert stored is not None
        held = self.tables[stored.name]
        folded = {name.casefold(): name for name in held.column_names}
        asked = [name if name in held.column_names else folded[name.casefold()] for name in columns]
        yield from held.select(asked).rename_columns(list(columns)).to_batches(_BATCH)


def _sink_table(table: ReflectedTable, written: set[str], without: set[_ForeignKey]) -> SinkTable:
    kept = tuple(key for key in table.foreign_keys if key.table in written and (table.name, key.columns) not in without)
    computed = tuple((i, column) for i, column in enumerate(table.columns) if column.generated)
    plain = tuple(column for column in table.columns if not column.generated)
    return SinkTable(replace(table, columns=plain, foreign_keys=kept, computed=computed), tuple(key.columns for key in kept))
