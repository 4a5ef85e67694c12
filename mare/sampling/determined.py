"""Determined columns: worked out from other values of the row, of the rows above it or beside it. Never modelled.

A column is worked out when it is asked for, and asks for those it needs: the schema's checks have found every circle.
"""

from __future__ import annotations

import string
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mare.codec.building_ordinal import named_table
from mare.codec.category import canonical
from mare.codec.parsing import by_distinct
from mare.codec.ticks import DAY_US, microseconds, null_mask
from mare.domain import ranks
from mare.errors import InternalError
from mare.relational.placing import NOWHERE, Index
from mare.relational.public import text as public_text
from mare.schema import Schema
from mare.schema.columns import Column, Listed, Ordinal, Position, Quantity, Text
from mare.schema.columns.ticks import TimeTicks, WholeTicks
from mare.schema.determined import SAME_ROW, Anchor, Determined, Elapsed, Lookup

from .formulas import Formulas, quantities_of, total
from .storing import as_text, numbered, shaped, take

if TYPE_CHECKING:
    from .writing import ChunkValues


_UNITS_US = {"seconds": 1e6, "minutes": 6e7, "hours": 3.6e9, "days": float(DAY_US), "years": 365.25 * DAY_US}
_DECIMALS = 6
"""Of a length of time in a number that does not say how many it has."""


def work_out(block: ChunkValues, schema: Schema, table: str, name: str, column: Column) -> pa.Array:
    """The values of a column that no model generates, NULL only where it may be."""
    if isinstance(column, Position):
        return _counted(block, table, column)
    if column.determined is not None:
        values = _determined(block, schema, table, name, column, column.determined)
    elif isinstance(column, Text) and column.template is not None:
        values = _template(block, schema, table, column.template, column.nullable)
    else:
        raise InternalError(f"{table}.{name} is not worked out from others")
    return shaped(values, column)


def _determined(block: ChunkValues, schema: Schema, table: str, name: str, column: Column, how: Determined) -> pa.Array:
    if how.copy_of is not None or how.expression is not None or how.when is not None:
        return Formulas(block, schema, table, name, column, how).values()
    if how.total is not None:
        return total(block, table, *how.total)
    if how.part is not None:
        return _part_of(_quantity(block, schema, table, how.part.of), how.part.unit, column)
    if how.elapsed is not None:
        since, until = (_quantity(block, schema, table, place) for place in (how.elapsed.since, how.elapsed.until))
        return _elapsed(since, until, how.elapsed, column)
    if how.next is not None:
        return _next(block, table, how.next)
    if how.goes_with is not None:
        return _named_as(block, table, name, how.goes_with)
    if how.lookup is not None:
        return _looked_up(block, schema, table, how.lookup)
    raise InternalError("a determined column does not say how")


def _quantity(block: ChunkValues, schema: Schema, table: str, written: str) -> pa.Array:
    """The values of `column`, `parent.column` or `ancestor.column`, one a row, with special values as NULL."""
    anchor = Anchor.parse(written)
    if anchor.scope == SAME_ROW:
        return quantities_of(block, table, anchor.column)
    home = named_table(schema, table, anchor.scope)
    rows = np.arange(block.rows(table), dtype=np.int64)
    return quantities_of(block, home, anchor.column).take(pa.array(block.placed.climb(rows, table, home)))


def _part_of(values: pa.Array, unit: str, described: Column) -> pa.Array:
    """A part of a date, a moment or a time of day. Weeks begin on Monday, which is 0; 1 where the column begins there."""
    if unit == "date":
        return pc.floor_temporal(values.cast(pa.timestamp("us")), unit="day").cast(pa.date32())
    if unit in ("hour", "minute", "time"):
        clock = microseconds(values) % DAY_US
        nulls = null_mask(values)
        if unit == "time":
            return pa.array(clock, type=pa.int64(), mask=nulls).cast(pa.time64("us"))
        return pa.array(clock // 3_600_000_000 if unit == "hour" else clock // 60_000_000 % 60, type=pa.int64(), mask=nulls)
    moments = values.cast(pa.timestamp("us"))
    if unit == "weekday":
        parts = pc.day_of_week(moments, count_from_zero=not _from_one(described), week_start=1)
    else:
        functions = {"year": pc.year, "quarter": pc.quarter, "month": pc.month, "week": pc.iso_week, "day": pc.day}
        parts = functions[unit](moments)
    return _named(parts.cast(pa.int64()), described, 0 if unit == "weekday" and not _from_one(described) else 1)


def _from_one(described: Column) -> bool:
    return isinstance(described, Quantity) and described.min == 1 and isinstance(described.ticks(), WholeTicks)


def _named(numbers: pa.Array, described: Column, first: int) -> pa.Array:
    """A column that lists names (Mon, Tue …) gets the name in place of the number."""
    if not isinstance(described, Listed) or described.listed is None or not isinstance(described.listed[0], str):
        return numbers
    names = pa.array([str(value) for value in described.listed], type=pa.string())
    return names.take(pc.subtract(numbers, first)) if len(names) in (4, 7, 12) else numbers


def _elapsed(since: pa.Array, until: pa.Array, how: Elapsed, described: Column) -> pa.Array:
    """The time from one to the other: a length, a whole number of units (rounded down), or one with decimals."""
    nulls = null_mask(since) | null_mask(until)
    micros = microseconds(until) - microseconds(since)
    ticks = described.ticks() if isinstance(described, Ordinal) else None
    if isinstance(ticks, TimeTicks):
        if ticks.arrow == "int64":
            return pa.array(micros // ticks.microseconds, type=pa.int64(), mask=nulls)
        return pa.array(micros, type=pa.int64(), mask=nulls).cast(pa.type_for_alias(ticks.arrow))
    units = micros / _UNITS_US[how.unit]
    if isinstance(ticks, WholeTicks):
        return pa.array(np.floor(units).astype(np.int64), mask=nulls)
    return pa.array(np.round(units, _DECIMALS if described.decimals is None else described.decimals), mask=nulls)


def _next(block: ChunkValues, table: str, name: str) -> pa.Array:
    here, there = block.successive(table)
    after = np.full(block.rows(table), NOWHERE, dtype=np.int64)
    after[here] = there
    return take(block.column(table, name), after)


def _named_as(block: ChunkValues, table: str, name: str, of: str) -> pa.Array:
    names, codes = block.related(table).names[name], as_text(block.column(table, of))
    # What is one value for many rows has one name for them: the most frequent.
    one = any(shared.column == of for shared in block.writer.codecs[table].shared)
    return names.draw(codes, np.zeros(len(codes)) if one else block.draws(table, "names").at(name).random())


def _looked_up(block: ChunkValues, schema: Schema, table: str, lookup: Lookup) -> pa.Array:
    public = block.writer.public[lookup.table]
    words = public.vocabulary()
    listed = [_coded_texts(block.column(table, name)) for name in lookup.by]
    # Every combination that occurs is looked up once, however many rows have it.
    combinations, which = np.unique(np.stack([codes for codes, _ in listed]), axis=1, return_inverse=True)
    places = np.full(combinations.shape[1], NOWHERE, dtype=np.int64)
    for number, codes in enumerate(combinations.T.tolist()):
        key = [texts[code] for code, (_, texts) in zip(codes, listed, strict=True)]
        known = words.codes.get(tuple(map(str, key))) if None not in key else None
        if known is not None:
            places[number] = words.places[known]
    return public.take(lookup.column, places[which.reshape(-1)])


def _coded_texts(values: pa.Array) -> tuple[Index, list[str | None]]:
    """Values as numbers, and their texts by number as keys of public tables are compared; the last is NULL."""
    coded = values.dictionary_encode()
    texts = [public_text(value) for value in coded.dictionary.to_pylist()]
    return np.asarray(coded.indices.fill_null(len(texts)), dtype=np.int64), [*texts, None]


def _template(block: ChunkValues, schema: Schema, table: str, template: str, nullable: bool) -> pa.Array:
    """Text with the row's values in braces. A NULL makes all of it NULL where it may be, else it is left out."""
    rows = block.rows(table)
    described = schema.tables[table].columns
    parts: list[pa.Array] = []
    for literal, name, form, _ in string.Formatter().parse(template):
        parts.append(pa.array([literal] * rows, type=pa.string()))
        if name is not None:
            values = block.column(table, name)
            written = as_text(values, described.get(name)) if not form else _formatted(values, form)
            parts.append(written if nullable else pc.fill_null(written, ""))
    parts = parts or [pa.array([""] * rows, type=pa.string())]
    return pc.binary_join_element_wise(*parts, "", null_handling="emit_null")


def _formatted(values: pa.Array, form: str) -> pa.Array:
    def formatted(value: object) -> str:
        try:
            return format(value, form)
        except (ValueError, TypeError):
            return canonical(value)

    return by_distinct(values, formatted, pa.string())


def _counted(block: ChunkValues, table: str, column: Position) -> pa.Array:
    """The place among the siblings, counted anew for each value of other columns."""
    placed, stays = block.placed.tables[table], block.staying(table)
    if column.within is None:
        return pa.array(block.position(table) + column.start)
    keys = [placed.parent] if stays is None else [placed.parent, stays.astype(np.int64)]
    return pa.array(ranks([*keys, *(numbered(block.column(table, name)) for name in column.within)]) + column.start)
