"""From the tables of several sides to vectors of their entities, coded alike (`features`)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mare.schema import Schema
from mare.schema.columns import Listed

from .features import Feature, Features, Floats, Ints
from .sides import Side

MOST_FEATURES = 120
"""Vectors are not longer: own columns come first, then numbers of rows, means and most frequent values, last values."""


def entity_features(sides: Sequence[Side], entities: Sequence[Ints], most: int = MOST_FEATURES) -> tuple[Features, ...]:
    """The vectors of these entities of each side. A column that a side lacks is left out of all."""
    schema = sides[0].schema
    own: list[tuple[Feature, list[Floats | Ints]]] = []
    counts, typical, last = list(own), list(own), list(own)
    for table in sides[0].tables:
        if any(table in side.missing or table not in side.tables for side in sides):
            continue
        is_entity = table == sides[0].dag.entity.name
        chosen = [_rows(side, table, numbers) for side, numbers in zip(sides, entities, strict=True)]
        sizes = [len(numbers) for numbers in entities]
        if not is_entity:
            rows = [np.bincount(at, minlength=n).astype(np.float64) for (_, at), n in zip(chosen, sizes, strict=True)]
            counts.append((Feature(f"{table}: rows", "number", own=False), list(rows)))
        for column in _columns(schema, table):
            if any(f"{table}.{column}" in side.missing or column not in side.tables[table].column_names for side in sides):
                continue
            values, kind = _coded(schema, table, column, [(s.tables[table], r) for s, (r, _) in zip(sides, chosen, strict=True)])
            name = f"{table}.{column}"
            placed = [(held, at, n) for held, (_, at), n in zip(values, chosen, sizes, strict=True)]
            if is_entity:
                own.append((Feature(name, kind), [_last(*each, kind == "number", values) for each in placed]))
            elif kind == "number":
                typical.append((Feature(f"{name}, mean", "number", own=False), [_mean(*each) for each in placed]))
                last.append((Feature(f"{name}, last", "number", own=False), [_last(*each, True, values) for each in placed]))
            else:
                typical.append((Feature(f"{name}, most frequent", kind, own=False), [_mode(*each, values) for each in placed]))
                last.append((Feature(f"{name}, last", kind, own=False), [_last(*each, False, values) for each in placed]))
    kept = [*own, *counts, *typical, *last][:most]
    return tuple(
        Features(tuple(feature for feature, _ in kept), tuple(values[i] for _, values in kept), len(numbers))
        for i, numbers in enumerate(entities)
    )


def some_entities(side: Side, most: int, rng: np.random.Generator) -> Ints:
    """The numbers of all entities, or of so many drawn at random."""
    if side.entities <= most:
        return np.arange(side.entities)
    return np.sort(rng.choice(side.entities, most, replace=False))


def _columns(schema: Schema, table: str) -> Iterator[str]:
    """What a model makes, and the keys of public things that rows are about (drugs, laboratory items)."""
    described = schema.tables[table]
    for name, column in described.columns.items():
        if column.is_drawn:
            yield name
    link = schema.parent(table)
    for name in (link.column_via or ()) if link is not None else ():
        if name not in described.columns:
            yield name
    for name, reference in described.references.items():
        columns = described.reference_columns(name)
        if reference.table in schema.tables and schema.tables[reference.table].public and len(columns) == 1:
            yield from (column for column in columns if column not in described.columns)


def _rows(side: Side, table: str, entities: Ints) -> tuple[Ints, Ints]:
    """The rows of these entities, in the order of their sequences, and each one's place among the entities."""
    places = np.full(side.entities + 1, -1, np.int64)  # what belongs to nobody finds the last
    places[entities] = np.arange(len(entities))
    rows = side.order[table]
    at = places[side.entity[table][rows]]
    return rows[at >= 0], at[at >= 0]


def _coded(
    schema: Schema, table: str, column: str, parts: Sequence[tuple[pa.Table, Ints]]
) -> tuple[list[Floats | Ints], Literal["number", "category"]]:
    held = [part[column].take(pa.array(rows)) for part, rows in parts]
    described = schema.tables[table].columns.get(column)
    types = {part.type for part in held} - {pa.null()}
    is_number = not isinstance(described, Listed) and all(map(_measures, types)) and described is not None
    if is_number:
        return [_numbers(part) for part in held], "number"
    texts = pa.chunked_array([chunk for part in held for chunk in part.cast(pa.string()).chunks], type=pa.string())
    encoded = pc.dictionary_encode(texts, null_encoding="encode").combine_chunks()
    codes = np.asarray(encoded.indices if len(texts) else [], np.int64)
    return list(np.split(codes, np.cumsum([len(part) for part in held])[:-1])), "category"


def _measures(kind: pa.DataType) -> bool:
    return bool(
        pa.types.is_integer(kind)
        or pa.types.is_floating(kind)
        or pa.types.is_decimal(kind)
        or (pa.types.is_temporal(kind) and not pa.types.is_interval(kind))
    )


def _numbers(values: pa.ChunkedArray) -> Floats:
    if pa.types.is_temporal(values.type):
        values = values.cast(pa.int32() if pa.types.is_date32(values.type) or pa.types.is_time32(values.type) else pa.int64())
    numbers = np.asarray(values.cast(pa.float64()).to_numpy(), np.float64)
    return np.where(np.isfinite(numbers), numbers, np.nan)  # what has no place on a scale is as good as NULL


def _mean(values: Floats | Ints, at: Ints, entities: int) -> Floats:
    known = np.isfinite(values)
    counts = np.bincount(at[known], minlength=entities)
    sums = np.bincount(at[known], weights=values[known], minlength=entities)
    return np.asarray(np.where(counts > 0, sums / np.maximum(counts, 1), np.nan))


def _mode(values: Floats | Ints, at: Ints, entities: int, sides: Sequence[Floats | Ints]) -> Ints:
    nothing = _nothing(sides)
    modes = np.full(entities, nothing, np.int64)
    cells, counts = np.unique(at * nothing + values, return_counts=True)
    order = np.lexsort((-cells, counts))  # the most frequent last, and of equals the first code
    cells = cells[order].astype(np.int64)
    modes[cells // nothing] = cells % nothing
    return modes


def _last(values: Floats | Ints, at: Ints, entities: int, is_number: bool, sides: Sequence[Floats | Ints]) -> Floats | Ints:
    latest = np.full(entities, np.nan) if is_number else np.full(entities, _nothing(sides), np.int64)
    latest[at] = values
    return latest


def _nothing(sides: Sequence[Floats | Ints]) -> int:
    """The code of an entity without a row: one that no value has, on no side."""
    return 1 + max((int(side.max()) for side in sides if len(side)), default=0)
