"""`Feature`: what is compared of a table. Its columns; and what relations make of them: the time since another, the gap to the
row before, the year, the number of children. Points in time stand alone: two patients of the same kind meet at different dates.

Which there are follows from the schema, so that all sides have the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from mare.codec.parsing import is_text_type
from mare.codec.ticks import DAY_US
from mare.evaluation.measured import FeatureKind
from mare.evaluation.sides import Side, in_one_piece
from mare.schema import Schema, Table
from mare.schema.columns import AnyColumn, Duration, Ordinal

from .ranks import Numbers, Ranked

How = Literal["column", "moment", "since", "gap", "year", "children", "referred", "last"]
AT_ONCE = 1 << 15
"""Rows that are worked on at once: what a processor's cache holds."""
FEW = 4
"""Columns of a row that another leads to."""
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
    """Of `since`: the earlier column. Of `referred`: the reference. Of `last`: the table that the last row is of."""

    @property
    def linked(self) -> bool:
        return self.how in ("referred", "last")

    @property
    def paired(self) -> bool:
        return self.how != "moment" and not self.linked


@dataclass(frozen=True, eq=False)
class Values:
    """A feature of one side, row by row: numbers (NaN where there is none), words (-1 where there is none), or both."""

    numbers: Numbers | None = None
    words: NDArray[np.int32] | None = None
    dictionary: tuple[str, ...] = ()

    def __len__(self) -> int:
        held = self.numbers if self.numbers is not None else self.words
        return 0 if held is None else len(held)

    @cached_property
    def ranked(self) -> Ranked:
        """The numbers that are there."""
        held = np.zeros(0) if self.numbers is None else self.numbers
        nulls = np.isnan(held)
        return Ranked(held[~nulls] if nulls.any() else held)


def points_in_time(described: Table, *, kept: bool = False) -> list[str]:
    """Columns that are these and nothing else; those alone that are ``kept``."""
    columns = {name: column for name, column in described.columns.items() if column.kept or not kept}
    return [name for name, column in columns.items() if isinstance(column, Ordinal) and column.has_day and not column.specials]


def features(schema: Schema, table: str, children: tuple[str, ...]) -> tuple[Feature, ...]:
    """Those of one table; ``children`` are the tables below it."""
    described, link, keys = schema.tables[table], schema.parent(table), key_columns(schema, table)
    times = [name for name in points_in_time(described) if name not in keys]
    listed = list(_columns(schema, table, keys, times))
    listed += [Feature(table, f"{late} since {early}", "number", "since", late, early) for early, late in pairwise(times)]
    order = link.order_by[0] if link is not None and link.type == "sequential" and link.order_by else None
    if order is not None and isinstance(described.columns.get(order), Ordinal):
        listed.append(Feature(table, f"{order} since the row before", "number", "gap", order))
    elif times and order is None:
        listed.append(Feature(table, f"year of {times[0]}", "number", "year", times[0]))
    listed += [Feature(table, f"number of {child}", "number", "children", child) for child in children]
    return (*listed, *(Feature(table, name, "number", "moment", name) for name in times))


def _columns(schema: Schema, table: str, keys: set[str], times: list[str]) -> Iterator[Feature]:
    described = schema.tables[table]
    for name, column in described.columns.items():
        if name not in keys and name not in times and column.modelled and column.settled:
            kind: FeatureKind = "number" if isinstance(column, Ordinal) else "category"
            yield Feature(table, name, kind, "column", name)
    for name in public_columns(schema, table):
        if name not in keys and name not in described.columns:
            yield Feature(table, name, "category", "column", name)


def own_columns(side: Side, table: str) -> list[Feature]:
    return [feature for feature in features(side.schema, table, ()) if feature.how == "column"]


def key_columns(schema: Schema, table: str) -> set[str]:
    """Columns that tell rows apart or lead to private ones: made anew, so nothing to compare. A part of a key that is modelled
    (the year of a season) is a value like any other."""
    described = schema.tables[table]
    modelled = {name for name, column in described.columns.items() if column.modelled}
    linked = {c for name, r in described.references.items() if r.kind != "public" for c in described.reference_columns(name)}
    own = set(described.key or ()) - modelled
    return {*own, *schema.parent_columns(table), *linked} - set(public_columns(schema, table))


def public_columns(schema: Schema, table: str) -> tuple[str, ...]:
    """Columns that lead to public rows: categories like any other."""
    described, link = schema.tables[table], schema.parent(table)
    public = [c for name, r in described.references.items() if r.kind == "public" for c in described.reference_columns(name)]
    return tuple(dict.fromkeys((*public, *((link.column_via or ()) if link is not None else ()))))


def values(side: Side, feature: Feature) -> Values:
    """What a side holds of it."""
    table = feature.table
    if feature.how == "referred":
        leads = side.refers.get((table, feature.other))
        rows = np.full(len(side.entity[table]), -1) if leads is None else leads.rows
        return taken(far_values(side, "" if leads is None else leads.table, feature), rows)
    if feature.how == "last":
        return taken(far_values(side, feature.other, feature), last_rows(side, feature.other))
    if feature.how == "children":
        return Values(numbers=children_of(side, feature.column).astype(np.float64))
    if feature.kind == "category":
        words, dictionary = side.words(table, feature.column)
        return Values(words=words, dictionary=dictionary)
    held = side.column(table, feature.column)
    described = side.schema.tables[table].columns[feature.column]
    if feature.how == "year":
        return Values(numbers=_years(held))
    if is_text_type(held.type):
        return _numbers_among_words(*side.words(table, feature.column))
    timed = pa.types.is_temporal(held.type)
    if feature.how in ("since", "gap"):
        earlier = feature.other or feature.column
        before = side.previous(table, 1) if feature.how == "gap" else None
        if timed and pa.types.is_temporal(side.tables[table].column(earlier).type):
            return Values(numbers=_days_between(side.moments(table, feature.column), side.moments(table, earlier), before))
        numbers = _measured(side.column(table, earlier), None)
        return Values(numbers=_measured(held, None) - (numbers if before is None else np.append(numbers, np.nan)[before]))
    if timed:
        ticks, there = side.moments(table, feature.column)
        return Values(numbers=_with_gaps(ticks / (_HOUR_US if pa.types.is_time(held.type) else DAY_US), there))
    return Values(numbers=_measured(held, described))


Moments = tuple[NDArray[np.int64], NDArray[np.bool_]]


def _days_between(later: Moments, earlier: Moments, before: NDArray[np.int32] | None) -> Numbers:
    """Worked out before they are rounded. Where rows ``before`` are given, the earlier ones are those of them."""
    days = np.empty(len(later[0]))
    for start in range(0, len(days), AT_ONCE):
        here = slice(start, start + AT_ONCE)
        at = here if before is None else before[here]
        there = later[1][here] & earlier[1][at]
        if before is not None:
            there &= before[here] >= 0
        days[here] = _with_gaps((later[0][here] - earlier[0][at]) / DAY_US, there)
    return days


def _with_gaps(numbers: Numbers, there: NDArray[np.bool_]) -> Numbers:
    """These numbers, changed: NaN where there is none."""
    np.copyto(numbers, np.nan, where=~there)
    return numbers


def children_of(side: Side, table: str) -> NDArray[np.int64]:
    """Of each row of the table above, how many rows it has here."""
    parent = side.parent[table]
    return np.bincount(parent[parent >= 0], minlength=side.parents(table)).astype(np.int64)


def linked_features(side: Side, table: str, children: tuple[str, ...]) -> tuple[Feature, ...]:
    """A few columns of the rows that a row refers to; and, where a row has children in several tables, of the last in each."""
    listed: list[Feature] = []
    for (owner, name), leads in side.refers.items():
        if owner == table:
            for column, kind in far_columns(side, leads.table)[:FEW]:
                listed.append(Feature(table, f"{leads.table}.{column} by {name}", kind, "referred", column, name))
    for child in children if len(children) > 1 else ():
        for column, kind in far_columns(side, child)[:FEW]:
            listed.append(Feature(table, f"{column} of the last {child}", kind, "last", column, child))
    return tuple(listed)


def far_columns(side: Side, table: str) -> list[tuple[str, FeatureKind]]:
    """What rows that lead to this table can be held against there."""
    if table in side.tables:
        return [(feature.column, feature.kind) for feature in own_columns(side, table)]
    if table not in side.public:
        return []
    keys, listed = side.schema.tables[table].key or (), list[tuple[str, FeatureKind]]()
    for field in side.public[table].schema:
        if field.name not in keys and not pa.types.is_nested(field.type) and not pa.types.is_temporal(field.type):
            number = pa.types.is_integer(field.type) or pa.types.is_floating(field.type)
            listed.append((field.name, "number" if number else "category"))
    return listed


def far_values(side: Side, table: str, feature: Feature) -> Values:
    """A column of the table that rows lead to, row by row there."""
    if table in side.tables:
        return values(side, Feature(table, feature.column, feature.kind, "column", feature.column))
    if table not in side.public or feature.column not in side.public[table].column_names:
        nothing = np.zeros(0)
        return Values(numbers=nothing) if feature.kind == "number" else Values(words=nothing.astype(np.int32))
    held = in_one_piece(side.public[table].column(feature.column))
    if feature.kind == "number":
        return Values(numbers=_measured(held, None))
    coded = held.cast(pa.string()).dictionary_encode()
    return Values(words=np.asarray(coded.indices.fill_null(-1), dtype=np.int32), dictionary=tuple(coded.dictionary.to_pylist()))


def taken(far: Values, rows: NDArray[np.integer]) -> Values:
    """The values at these rows; none where there is no row."""
    if not len(far):
        rows = np.full(len(rows), -1)
    at, nowhere = np.maximum(rows, 0), rows < 0
    numbers = None if far.numbers is None else np.where(nowhere, np.nan, far.numbers[at] if len(far) else np.nan)
    words = None if far.words is None else np.where(nowhere, np.int32(-1), far.words[at] if len(far) else np.int32(-1))
    return Values(numbers, words, far.dictionary)


def some_values(side: Side, feature: Feature, rows: NDArray[np.integer]) -> Values:
    """A column at these rows, without looking at all others."""
    held = side.column(feature.table, feature.column)
    if feature.kind == "category" or is_text_type(held.type) or pa.types.is_temporal(held.type):
        return taken(values(side, feature), rows)  # which are kept, because many ask
    described = side.schema.tables[feature.table].columns[feature.column]
    return Values(numbers=_measured(held.take(pa.array(rows, mask=rows < 0)), described))


def last_rows(side: Side, table: str) -> NDArray[np.int64]:
    """Of each row of the table above, its last row here; -1 where it has none."""
    parent, order = side.parent[table], side.order[table]
    last = np.full(side.parents(table), -1, dtype=np.int64)
    rows = order[parent[order] >= 0]
    last[parent[rows]] = rows  # of several the last is written last
    return last


def unit_of(described: AnyColumn | None) -> str:
    """What the numbers of a feature count."""
    if described is not None and described.has_day:
        return "days"
    if described is not None and described.has_clock:
        return "hours"
    return getattr(described, "unit", None) or ""


def _measured(held: pa.Array, described: object) -> Numbers:
    """Hours of intervals, else the number itself."""
    if pa.types.is_null(held.type):
        return np.full(len(held), np.nan)
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
    if pa.types.is_null(held.type):
        return np.full(len(held), np.nan)
    return np.asarray(pc.year(held).cast(pa.float64()).to_numpy(zero_copy_only=False), dtype=np.float64)
