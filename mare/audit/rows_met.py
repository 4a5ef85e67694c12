"""What a fit would meet in the rows, before it is paid: for `mare check --read-rows`. True numbers, hence internal, not private.

    schema, source ─► stage (as a fit does it) ─► **what does not read, lies outside, is cut or leads nowhere** ─► the screen

Nothing is measured, nothing is released, no budget is touched. What a value probably means is guessed in `guessing`.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mare.codec import OrdinalCodec, ReadTable, RelativeCodec, ScaledCodec, TableCodec, table_codec
from mare.codec.category import CategoryCodec, CodeCodec
from mare.finding import Location, open_source
from mare.fitting.vocabularies import compared_keys, read_public, stage_vocabularies, undecoded_values
from mare.graph.pdag import column_groups
from mare.ports import Source
from mare.relational.relations import relations
from mare.schema import Schema
from mare.stage import LocalNotes, Staged, needs, stage
from mare.stage.loading import Reading, reading_of
from mare.stage.staged_tables import StagedTable

from .guessing import LOOKED_AT, NO_GUESS, Guess, Whose, guesses

Kind = Literal["unreadable", "outside", "null", "nowhere"]
"""It says nothing that its type can hold; it is none of the values declared; it is NULL and may not be; it refers to nothing."""


@dataclass(frozen=True)
class Met:
    """Something that a fit would meet in one column or reference."""

    table: str
    column: str
    kind: Kind
    rows: int
    of: int
    """Rows that hold something there; for NULL, all rows."""
    guess: Guess = NO_GUESS


@dataclass(frozen=True)
class RowsMet:
    """All that a fit would meet. Internal, not private."""

    met: tuple[Met, ...]
    notes: LocalNotes
    """Rows that are cut or belong to nobody, as a fit notes them."""


def meet_rows(schema: Schema, source: Location) -> RowsMet:
    """Read the rows as a fit would. The schema has no open question."""
    tables = needs(schema, column_groups(schema))
    with open_source(source) as reader:
        reflection = reader.reflect()
        public = read_public(schema, reader, reflection)
        keys, collations = compared_keys(stage_vocabularies(tables, schema, public), reader, reflection)
        # Which of several rows beyond a cap would stay is left to chance, as in a fit.
        with stage(reader, tables, secrets.token_bytes(32), vocabularies=keys, collations=collations) as staged:
            related = relations(schema, public, {})
            met: list[Met] = []
            for name, table in staged.tables.items():
                if table.needs.held_by is not None:
                    staged.read(name, TableCodec(name, {}), related.get(name))
                    continue
                codec = table_codec(schema, name, table.needs.values) if table.needs.values else TableCodec(name, {})
                staged.read(name, codec, related.get(name))
                found = [*_columns(staged, table, codec), *_references(staged, table)]
                reading = reading_of(table.needs, tables, reflection, collations)
                met += _guessed(reader, table, found, _whose(staged, table, reading))
            undecoded = {**undecoded_values(public), **staged.notes.undecoded}
            return RowsMet(tuple(met), replace(staged.notes, outside={}, undecoded=undecoded))


def _columns(staged: Staged, table: StagedTable, codec: TableCodec) -> Iterator[Met]:
    """What the values of a table say, row by row as they were read."""
    name, rows = table.needs.name, staged.notes.read[table.needs.name]
    for number, column in enumerate(table.needs.values):
        declared, coded = table.needs.described[column], codec.columns[column]
        values = staged.connection.sql(f"SELECT v{number} AS v FROM {table.raw}").to_arrow_table()["v"].combine_chunks()
        if pa.types.is_floating(values.type):
            values = pc.if_else(pc.is_nan(values), None, values)  # as pandas writes NULL
        unread = staged.notes.outside.get(f"{name}.{column}", 0)
        there = rows - values.null_count + unread
        outside = 0
        if isinstance(coded, OrdinalCodec):
            reading = coded.read(values)
            unread += reading.outside
            measure, (low, high) = reading.measure[reading.ordinary], coded.declared
            outside = int((measure < low).sum() if low is not None else 0) + int(
                (measure > high).sum() if high is not None else 0
            )
        elif isinstance(coded, RelativeCodec):
            # What it follows is known of rows that are kept; what cannot be read is counted there too.
            outside = staged.as_read(name).readings[column].outside
        elif isinstance(coded, ScaledCodec):
            outside = _beyond_items(staged.as_read(name), column, coded)
        elif isinstance(coded, CategoryCodec | CodeCodec):
            outside = coded.listing(values).outside
        if unread:
            yield Met(name, column, "unreadable", unread, there)
        if outside:
            yield Met(name, column, "outside", outside, there)
        if not declared.nullable and rows > there:
            yield Met(name, column, "null", rows - there, rows)


def _beyond_items(read: ReadTable, column: str, coded: ScaledCodec) -> int:
    """Rows that are kept and lie outside the range of their item, where the schema says it."""
    reading, items = read.readings[column], coded.item_of(read.codes)
    lows = np.array([-np.inf if item.placed.low is None else item.placed.low for item in coded.items])
    highs = np.array([np.inf if item.placed.high is None else item.placed.high for item in coded.items])
    beyond = (reading.measure < lows[items]) | (reading.measure > highs[items])
    return int((reading.ordinary & beyond).sum())


def _references(staged: Staged, table: StagedTable) -> Iterator[Met]:
    """Keys that are nowhere among those of the table that they refer to."""
    for number, link in enumerate(table.needs.links):
        here = [f"r.r{number}_{i}" for i in range(len(link.columns))]
        if link.kind == "public":
            target, there = staged.vocabularies[f"{table.needs.name}.{link.name}"], [f"t.x{i}" for i in range(len(here))]
        else:
            target, there = staged.tables[link.table].raw, [f"t.k{place}" for place in link.refers]
        filled = " AND ".join(f"{column} IS NOT NULL" for column in here)
        same = " AND ".join(f"{mine} = {theirs}" for mine, theirs in zip(here, there, strict=True))
        counted = f"count(*) FILTER (NOT EXISTS (FROM {target} t WHERE {same})), count(*)"
        ((lost, of),) = staged.connection.execute(f"SELECT {counted} FROM {table.raw} r WHERE {filled}").fetchall()
        if lost:
            yield Met(table.needs.name, link.name, "nowhere", int(lost), int(of))


def _whose(staged: Staged, table: StagedTable, reading: Reading) -> Whose:
    """Whose the rows are as they were read, by a key or foreign key that tells them apart."""
    needs = table.needs
    keys = [(f"k{i}", name) for i, name in enumerate(needs.key)] + [(f"f{i}", name) for i, name in enumerate(needs.foreign)]
    kept = table.row >= 0
    entities = np.full(staged.notes.read[needs.name], -1, dtype=np.int64)
    entities[table.row[kept]] = table.entity[kept]
    if not keys:
        return Whose(entities, "")
    at, name = keys[0]
    texts = staged.connection.sql(f"SELECT {at} FROM {table.raw} ORDER BY rowid LIMIT {LOOKED_AT}").fetchall()
    return Whose(entities, reading.forms.get(at, name), [row[0] for row in texts])


def _guessed(reader: Source, table: StagedTable, met: Sequence[Met], whose: Whose) -> list[Met]:
    """The same, with what the texts of such columns probably mean: they are read once more."""
    columns = {m.column: table.needs.described[m.column] for m in met if m.kind in ("unreadable", "outside")}
    found = guesses(reader, table.needs.name, columns, whose)
    return [replace(m, guess=found.get(m.column, m.guess)) if m.kind in ("unreadable", "outside") else m for m in met]
