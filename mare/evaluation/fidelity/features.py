"""`Feature`: what is compared of a table. Its columns; and what relations make of them: the time since another, the gap to the
row before, the year, the number of children. Points in time stand alone: two patients of the same kind meet at different dates.

Which there are follows from the schema, so that all sides have the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from mare.codec.parsing import is_text_type
from mare.codec.ticks import DAY_US, microseconds, null_mask
from mare.evaluation.evaluation import FeatureKind
from mare.evaluation.sides import Side
from mare.schema import Schema
from mare.schema.columns import Date, Datetime, Duration, Ordinal, Time

if TYPE_CHECKING:
    import pyarrow as pa

Numbers = NDArray[np.float64]
How = Literal["column", "moment", "since", "gap", "year", "children"]
_HOUR_US = DAY_US // 24


@dataclass(frozen=True)
class Feature:
    """One thing to compare of the rows of a table."""

    table: str
    name: str
    kind: FeatureKind
    how: How
    column: str
    """Of `children`: the table that they are in."""
    other: str = ""
    """Of `since`: the earlier column."""

    @property
    def paired(self) -> bool:
        return self.how != "moment"


@dataclass(frozen=True, eq=False)
class Values:
    """A feature of one side, row by row: numbers (NaN where there is none), words (-1 where there is none), or both."""

    numbers: Numbers | None = None
    words: NDArray[np.int32] | None = None
    dictionary: tuple[str, ...] = ()

    def __len__(self) -> int:
        held = self.numbers if self.numbers is not None else self.words
        return 0 if held is None else len(held)


def features(schema: Schema, table: str, children: tuple[str, ...]) -> tuple[Feature, ...]:
    """Those of one table; ``children`` are the tables below it."""
    described, link, keys = schema.tables[table], schema.parent(table), key_columns(schema, table)
    times = [
        name
        for name, column in described.columns.items()
        if isinstance(column, Date | Datetime) and not column.specials and name not in keys
    ]
    found = list(_columns(schema, table, keys, times))
    found += [Feature(table, f"{late} since {early}", "number", "since", late, early) for early, late in pairwise(times)]
    order = link.order_by[0] if link is not None and link.type == "sequential" and link.order_by else None
    if order is not None and isinstance(described.columns.get(order), Ordinal):
        found.append(Feature(table, f"{order} since the row before", "number", "gap", order))
    elif times and order is None:
        found.append(Feature(table, f"year of {times[0]}", "number", "year", times[0]))
    found += [Feature(table, f"number of {child}", "number", "children", child) for child in children]
    return (*found, *(Feature(table, name, "number", "moment", name) for name in times))


def _columns(schema: Schema, table: str, keys: set[str], times: list[str]) -> Iterator[Feature]:
    described = schema.tables[table]
    for name, column in described.columns.items():
        if name not in keys and name not in times and column.modelled and column.settled:
            kind: FeatureKind = "number" if isinstance(column, Ordinal) else "category"
            yield Feature(table, name, kind, "column", name)
    for name in public_columns(schema, table):
        if name not in keys and name not in described.columns:
            yield Feature(table, name, "category", "column", name)


def key_columns(schema: Schema, table: str) -> set[str]:
    """Columns that tell rows apart or lead to private ones: made anew, so nothing to compare."""
    described = schema.tables[table]
    linked = {c for name, r in described.references.items() if r.kind != "public" for c in described.reference_columns(name)}
    return {*(described.key or ()), *schema.parent_columns(table), *linked} - set(public_columns(schema, table))


def public_columns(schema: Schema, table: str) -> tuple[str, ...]:
    """Columns that lead to public rows: categories like any other."""
    described, link = schema.tables[table], schema.parent(table)
    public = [c for name, r in described.references.items() if r.kind == "public" for c in described.reference_columns(name)]
    return tuple(dict.fromkeys((*public, *((link.column_via or ()) if link is not None else ()))))


def values(side: Side, feature: Feature) -> Values:
    """What a side holds of it."""
    import pyarrow as pa

    table = feature.table
    if feature.how == "children":
        return Values(numbers=children_of(side, feature.column).astype(np.float64))
    if feature.kind == "category":
        words, dictionary = side.words(table, feature.column)
        return Values(words=words, dictionary=dictionary)
    held = side.tables[table].column(feature.column).combine_chunks()
    described = side.schema.tables[table].columns[feature.column]
    if feature.how == "year":
        return Values(numbers=_years(held))
    if is_text_type(held.type):
        return _numbers_among_words(*side.words(table, feature.column))
    if feature.how == "since":
        return Values(numbers=_between(held, side.tables[table].column(feature.other).combine_chunks()))
    if feature.how == "gap":
        before = side.previous(table, 1)
        earlier = held.take(pa.array(before, mask=before < 0))
        return Values(numbers=_between(held, earlier))
    return Values(numbers=_measured(held, described))


def _between(later: pa.Array, earlier: pa.Array) -> Numbers:
    """Days between points in time, worked out before they are rounded; the difference of numbers."""
    import pyarrow as pa

    if pa.types.is_temporal(later.type) and pa.types.is_temporal(earlier.type):
        there = ~(null_mask(later) | null_mask(earlier))
        return np.where(there, (microseconds(later) - microseconds(earlier)) / DAY_US, np.nan)
    return _measured(later, None) - _measured(earlier, None)


def children_of(side: Side, table: str) -> NDArray[np.int64]:
    """Of each row of the table above, how many rows it has here."""
    parent, above = side.parent[table], side.above(table)
    rows = len(side.entity[above]) if above in side.entity else side.entities
    return np.bincount(parent[parent >= 0], minlength=rows).astype(np.int64)


def unit_of(described: object) -> str:
    """What the numbers of a feature count."""
    if isinstance(described, Date | Datetime):
        return "days"
    if isinstance(described, Time):
        return "hours"
    return getattr(described, "unit", None) or ""


def _measured(held: pa.Array, described: object) -> Numbers:
    """Days of points in time, hours of times of day and of intervals, else the number itself."""
    import pyarrow as pa

    if pa.types.is_null(held.type):
        return np.full(len(held), np.nan)
    if pa.types.is_temporal(held.type):
        unit = _HOUR_US if pa.types.is_time(held.type) else DAY_US
        return np.where(null_mask(held), np.nan, microseconds(held) / unit)
    numbers = np.asarray(held.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False), dtype=np.float64)
    if isinstance(described, Duration) and described.is_interval:
        numbers = numbers / _HOUR_US
    return np.where(np.isfinite(numbers), numbers, np.nan)


def _numbers_among_words(words: NDArray[np.int32], dictionary: tuple[str, ...]) -> Values:
    read = np.array([*map(_number, dictionary), np.nan])
    numbers = read[words]  # the last stands for -1, which is NULL
    return Values(numbers, np.where(np.isnan(numbers), words, -1).astype(np.int32), dictionary)


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return np.nan


def _years(held: pa.Array) -> Numbers:
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_null(held.type):
        return np.full(len(held), np.nan)
    return np.asarray(pc.year(held).cast(pa.float64()).to_numpy(zero_copy_only=False), dtype=np.float64)
