"""An entity with all its rows in all tables, as one row of fixed length: what attacks and classifiers look at.

Own columns stand as they are; of each further table: how many rows, and per column the mean and the last value, or the most
frequent and the last category. Attacks on one table alone underestimate what a whole patient gives away. All sides are coded
alike (`entity_features`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from mare.schema import Schema
from mare.schema.columns import Listed

from .sides import Side

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_AT_ONCE = 100_000
"""Pairs that are compared at once: few enough to stay in the processor's cache."""
_NULL = 3.0
"""Where NULL stands on a scale from 0 to 1: farther from every number than the most that counts."""


@dataclass(frozen=True)
class Feature:
    """One column of the vectors."""

    name: str
    """`patients.sex`, `labs: rows`, `labs.value, mean`."""
    kind: Literal["number", "category"]
    own: bool = True
    """Of the entity's own row; the others are aggregated from rows below it."""


@dataclass(frozen=True)
class Features:
    """Vectors of entities, column by column. Numbers may be NaN (NULL); categories are codes from 0, NULL being one of them."""

    columns: tuple[Feature, ...]
    values: tuple[NDArray[np.float64] | NDArray[np.int64], ...]
    rows: int

    def take(self, rows: NDArray[np.integer] | Sequence[int]) -> Features:
        index = np.asarray(rows, np.int64)
        return Features(self.columns, tuple(column[index] for column in self.values), len(index))

    def select(self, columns: Iterable[int]) -> Features:
        chosen = tuple(columns)
        return Features(tuple(self.columns[c] for c in chosen), tuple(self.values[c] for c in chosen), self.rows)

    def sample(self, size: int, rng: np.random.Generator) -> Features:
        return self if self.rows <= size else self.take(np.sort(rng.choice(self.rows, size, replace=False)))

    def number(self, column: int) -> Floats:
        return np.asarray(self.values[column], np.float64)

    def finite(self, column: int) -> Floats:
        """The numbers that are there."""
        numbers = self.number(column)
        return numbers[np.isfinite(numbers)]

    def code(self, column: int) -> Ints:
        return np.asarray(self.values[column], np.int64)

    def is_number(self, column: int) -> bool:
        return self.columns[column].kind == "number"

    @property
    def numbers(self) -> tuple[int, ...]:
        return tuple(c for c in range(len(self.columns)) if self.is_number(c))

    @property
    def categories(self) -> tuple[int, ...]:
        return tuple(c for c in range(len(self.columns)) if not self.is_number(c))


def joined(parts: Sequence[Features]) -> Features:
    """All rows of vectors with the same columns, one after the other."""
    columns = parts[0].columns
    values = tuple(np.concatenate([part.values[c] for part in parts]) for c in range(len(columns)))
    return Features(columns, values, sum(part.rows for part in parts))


def binned(parts: Sequence[Features], column: int, bins: int, edges_of: Features | None = None) -> list[Ints]:
    """A column as a few codes, the same for all parts: quantiles of a number, with NULL as a bin of its own; the most frequent
    categories, with the others as one. The bins follow ``edges_of``, or else all parts."""
    basis = edges_of if edges_of is not None else joined(parts)
    if basis.is_number(column):
        known = basis.finite(column)
        edges = np.unique(np.quantile(known, np.linspace(0, 1, bins + 1)[1:-1])) if len(known) else np.empty(0)
        codes = []
        for part in parts:
            numbers = part.number(column)
            code = np.searchsorted(edges, numbers, side="left").astype(np.int64)
            code[np.isnan(numbers)] = len(edges) + 1
            codes.append(code)
        return codes
    values, counts = np.unique(basis.code(column), return_counts=True)
    kept = np.sort(values[np.argsort(-counts, kind="stable")[:bins]])
    codes = []
    for part in parts:
        code = part.code(column)
        place = np.minimum(np.searchsorted(kept, code), max(len(kept) - 1, 0))
        met = kept[place] == code if len(kept) else np.zeros(len(code), bool)
        codes.append(np.where(met, place, len(kept)).astype(np.int64))
    return codes


def nearest(
    queries: Features, candidates: Features, neighbours: int = 1, *, scale: Sequence[Features] | None = None
) -> tuple[Ints, Floats]:
    """Of each query the nearest candidates and their distances (queries, neighbours). Of equals, the first.

    Gower's distance: a mean over columns. Numbers differ by their distance as a share of a range, categories by 0 or 1; NULL
    differs from a number by 1, from NULL by nothing. Distances that are held against each other must share their ranges: one
    outlier would move all of one side. Ranges are those of all parts of ``scale``; of queries and candidates unless said."""
    neighbours = min(neighbours, candidates.rows)
    rows, distances = np.zeros((queries.rows, neighbours), np.int64), np.ones((queries.rows, neighbours))
    if not neighbours or not queries.columns:
        return rows, distances
    parts = scale or (queries, candidates)
    scaled = [_scaled(queries, candidates, column, parts) for column in range(len(queries.columns))]
    step = max(1, _AT_ONCE // candidates.rows)
    for start in range(0, queries.rows, step):
        block = slice(start, min(start + step, queries.rows))
        apart = np.zeros((block.stop - start, candidates.rows), np.float32)
        difference = np.empty_like(apart)
        for mine, theirs, beyond_one in scaled:
            np.subtract(mine[block, None], theirs, out=difference)
            np.abs(difference, out=difference)
            if beyond_one:
                np.minimum(difference, 1.0, out=difference)
            apart += difference
        order = apart.argmin(axis=1)[:, None] if neighbours == 1 else np.argsort(apart, axis=1, kind="stable")[:, :neighbours]
        rows[block] = order
        distances[block] = np.take_along_axis(apart, order, axis=1) / len(scaled)
    return rows, distances


def _scaled(
    first: Features, second: Features, column: int, parts: Sequence[Features]
) -> tuple[NDArray[np.float32], NDArray[np.float32], bool]:
    """Both sides on one scale, and whether a difference may exceed 1 there: between categories, and from NULL."""
    if not first.is_number(column):
        return first.code(column).astype(np.float32), second.code(column).astype(np.float32), True
    values = [side.number(column) for side in (first, second)]
    known = np.concatenate([part.finite(column) for part in parts])
    low, width = (float(known.min()), float(np.ptp(known)) or 1.0) if len(known) else (0.0, 1.0)
    mine, theirs = (np.where(np.isfinite(value), (value - low) / width, _NULL).astype(np.float32) for value in values)
    return mine, theirs, any(not np.isfinite(value).all() for value in values)


# ------------------------------------------------------------------ from tables to vectors

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
    numbers = np.asarray(values.cast(pa.float64(), safe=False).to_numpy(), np.float64)
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
