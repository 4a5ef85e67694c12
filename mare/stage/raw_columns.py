"""Columns before they have a domain, and what is asked of them then: lists of values, bounds, bins. For the gate alone.

`StagedColumn` and `MeasuredColumn` implement `mare.privacy.view.PrivateColumn`. The first is a list of texts, asked for
with SQL: of a table larger than memory only what entities name comes out. The second holds what was read (`Staged.read`) of an
ordered column: a value, a distance, a fraction. Rows without a number of their own (NULL, special values, the first of a
sequence, rows that stand in for a missing one) are not in it: they would only take weight from the entity's others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from mare.codec import ScaledCodec, TableCodec
from mare.codec.bins import roundness
from mare.codec.category import coded_by_value
from mare.codec.ordinal import FIRST_ROW, ORDINARY
from mare.codec.rhythm import days_of, grain_codes, hours_of
from mare.codec.scales import ticks_of_a_clock
from mare.domain import Domain, smallest_dtype
from mare.errors import InternalError
from mare.relational.placing import Index

from .staged import Staged, StagedView
from .staged_tables import StagedTable

Measure = Literal["values", "first", "elapsed", "roundness", "digits", "hours", "days", "grains"]
"""Of an ordered column: its own numbers, those that its sequences begin with, how far they have come when a row begins, how
round its numbers are, their last two digits, the last one first, or of its moments the hours of the day, the days of the week,
and how round they are."""

CODE = "code"
"""The one column of a view of listed values."""

ITEM = "item"
"""The column of a view that tells items apart."""


@dataclass(frozen=True, eq=False)
class StagedColumn:
    """One modelled column of one staged table."""

    staged: Staged
    table: str
    column: str
    max_rows_per_entity: int
    """S of the table's rows, as the plan derived it. Not measured here."""

    @property
    def name(self) -> str:
        return f"{self.table}.{self.column}"

    def binned(self, edges: Sequence[float], label: str) -> StagedView:
        """A text is no number, whatever it looks like: every row falls into the last cell."""
        cells, owner = len(edges) - 1, self._table.entity
        coded = {label: np.full(len(owner), cells, dtype=smallest_dtype(cells + 1))}
        return StagedView(self.name, Domain((label,), (cells + 1,)), self.max_rows_per_entity, self.staged.entities, owner, coded)

    def keys(self, most: int, key: bytes) -> Mapping[int, Mapping[str, int]]:
        # ``h`` is the row's own keyed hash: an entity's place in the table would change when another one leaves.
        rows = f"{self._table.relation} p JOIN {self._table.raw} r ON r.rowid = p.row"
        held = (
            f"SELECT entity, CAST({self._value} AS VARCHAR) AS value, min(sha256($1 || CAST(h AS VARCHAR))) AS pick "
            f"FROM {rows} WHERE {self._value} IS NOT NULL{self._only} GROUP BY ALL"
        )
        ranked = (
            "SELECT value, row_number() OVER (PARTITION BY entity ORDER BY pick, value) AS rank, "
            f"least(count(*) OVER (PARTITION BY entity), $2) AS named FROM ({held})"
        )
        counts = self.staged.connection.execute(
            f"SELECT named, value, count(*) FROM ({ranked}) WHERE rank <= $2 GROUP BY ALL", [key.hex(), most]
        )
        answer: dict[int, dict[str, int]] = {}
        for named, value, entities in counts.fetchall():
            answer.setdefault(int(named), {})[str(value)] = int(entities)
        return answer

    @property
    def _only(self) -> str:
        """A further condition on the values that are named."""
        return ""

    @property
    def _table(self) -> StagedTable:
        return self.staged.tables[self.table]

    @property
    def _value(self) -> str:
        if self.column not in self._table.needs.values:
            raise InternalError(f"{self.name} is not staged as a modelled column")
        return self._table.needs.value_sql(self.column)


@dataclass(frozen=True, eq=False)
class StrangeKeys(StagedColumn):
    """A reference of one column to a public table: the keys that this table does not have."""

    @property
    def _value(self) -> str:
        number, _ = self._table.needs.link(self.column)
        return f"p.r{number}_0"

    @property
    def _only(self) -> str:
        return f" AND {self._value} NOT IN (SELECT x0 FROM {self.staged.vocabularies[self.name]})"


@dataclass(frozen=True, eq=False)
class MeasuredColumn:
    """Integer ticks of rows, sorted by entity."""

    name: str
    """Table and column: public."""
    max_rows_per_entity: int
    """S, as the plan derived it. Not measured here."""
    entities: int
    owner: Index
    """Of each row, its entity."""
    ticks: NDArray[np.int64]
    items: NDArray[np.int64] | None = None
    """Of each row, which item its number is of, where scales depend on another column."""

    def binned(self, edges: Sequence[float], label: str) -> StagedView:
        """The cell that each row falls into; the last one, for rows without a number, stays empty."""
        cells = len(edges) - 1
        codes = np.searchsorted(_inner(edges), self.ticks, side="right")
        coded = {label: codes.astype(smallest_dtype(cells + 1))}
        return StagedView(self.name, Domain((label,), (cells + 1,)), self.max_rows_per_entity, self.entities, self.owner, coded)

    def by_item(self, edges: Sequence[Sequence[float]], lows: Sequence[int], label: str) -> StagedView:
        """The item of each row, and the cell that it falls into on the grid of its item, counted from the item's low end."""
        if self.items is None:
            raise InternalError(f"{self.name} has no items")
        cells = max(len(own) - 1 for own in edges)
        codes = np.zeros(len(self.ticks), dtype=np.int64)
        for item, (own, low) in enumerate(zip(edges, lows, strict=True)):
            at = np.flatnonzero(self.items == item) if len(edges) > 1 else slice(None)
            codes[at] = np.searchsorted(_inner(own), self.ticks[at] - low, side="right")
        coded = {ITEM: self.items.astype(smallest_dtype(len(edges))), label: codes.astype(smallest_dtype(cells))}
        domain = Domain((ITEM, label), (len(edges), cells))
        return StagedView(self.name, domain, self.max_rows_per_entity, self.entities, self.owner, coded)

    def keys(self, most: int, key: bytes) -> Mapping[int, Mapping[str, int]]:
        raise InternalError(f"{self.name} is a number: it has no list of values to learn")


def _inner(edges: Sequence[float]) -> NDArray[np.int64]:
    """Ticks are whole: one is at least an edge when it is at least the next whole number."""
    return np.ceil(np.asarray(edges[1:-1], dtype=np.float64)).astype(np.int64)


def measured_column(
    staged: Staged, table: str, name: str, measure: Measure, codec: TableCodec, most_rows: int, step: int = 1
) -> MeasuredColumn:
    """One number for each row that has one (of ``first``: for each parent row), with the items of a number whose scale depends on
    another column. The table has been read. ``step``: values and digits are counted in steps of so many ticks."""
    if measure == "elapsed":
        return _elapsed(staged, table, name, most_rows)
    if measure == "first":
        return _first(staged, table, name, most_rows)
    if measure in ("hours", "days", "grains"):
        return _clock(staged, table, name, measure, codec, most_rows)
    column = _values(staged, table, name, codec, most_rows)
    if measure == "values":
        return replace(column, ticks=column.ticks // step)
    ticks = roundness(column.ticks) if measure == "roundness" else last_digits(column.ticks // step)
    return replace(column, name=f"{table}.{measure}({name})", ticks=ticks)


def differences(staged: Staged, table: str, name: str, beside: str | None, codec: TableCodec, most_rows: int) -> MeasuredColumn:
    """Of each row that has both numbers, how far its own is from the one beside it; or from its own in the row before."""
    read, rows = staged.as_read(table), staged.tables[table]
    own, other = read.readings[name], read.readings[beside or name]
    counted = own.ordinary.copy() if rows.unknown is None else own.ordinary & ~rows.unknown
    if beside is None:
        counted[1:] &= counted[:-1]
        counted &= follows_a_row(rows)
    else:
        counted &= other.ordinary
    at = np.flatnonzero(counted)
    apart = own.measure[at] - other.measure[at - 1 if beside is None else at]
    label = f"{table}.change({name})" if beside is None else f"{table}.{name} - {beside}"
    return MeasuredColumn(label, most_rows, staged.entities, rows.entity[at], apart)


def follows_a_row(rows: StagedTable) -> NDArray[np.bool_]:
    """Of each row, whether the row before it has the same parent, hence the same entity."""
    return rows.position > 0


def last_digits(ticks: NDArray[np.int64]) -> NDArray[np.int64]:
    """0 to 99: the last digit counts tens, so that numbers that end alike are neighbours."""
    return ticks % 10 * 10 + ticks // 10 % 10


def listed_view(staged: Staged, table: str, name: str, cells: Mapping[str, int], most_rows: int) -> StagedView:
    """Which cell of a public list each row falls into; then come values outside the list, and NULL."""
    outside = max(cells.values()) + 1
    codes = coded_by_value(staged.values(table)[name], dict(cells), outside, outside + 1, outside + 2).codes
    held = staged.tables[table]
    known = held.counted_rows
    owner, coded = held.entity[known], {CODE: codes[known]}
    return StagedView(f"{table}.{name}", Domain((CODE,), (outside + 2,)), most_rows, staged.entities, owner, coded)


def _values(staged: Staged, table: str, name: str, codec: TableCodec, most_rows: int) -> MeasuredColumn:
    """The rows that have a number."""
    read, rows = staged.as_read(table), staged.tables[table]
    reading, column = read.readings[name], codec.columns[name]
    at = _counted(staged, table, name, codec, reading.ordinary)
    items = column.item_of(read.codes)[at] if isinstance(column, ScaledCodec) else None
    return MeasuredColumn(f"{table}.{name}", most_rows, staged.entities, rows.entity[at], reading.measure[at], items)


def _counted(staged: Staged, table: str, name: str, codec: TableCodec, there: NDArray[np.bool_]) -> Index:
    """Of the rows that have a value, those that are counted; of what is the same in many rows, those that tell it."""
    rows = staged.tables[table]
    counted = there if rows.unknown is None else there & ~rows.unknown
    for shared in codec.shared:
        if shared.column == name:
            counted = counted & staged.telling(shared)
    return np.flatnonzero(counted)


def _clock(staged: Staged, table: str, name: str, measure: Measure, codec: TableCodec, most_rows: int) -> MeasuredColumn:
    """When it is, of rows that have a moment of their own, whatever it is measured from."""
    read = staged.as_read(table)
    there = np.isin(read.readings[name].kinds, (ORDINARY, FIRST_ROW))
    at, per_day = _counted(staged, table, name, codec, there), ticks_of_a_clock(codec.ordered[name].scale)
    codes_of = {"hours": hours_of, "days": days_of, "grains": grain_codes}[measure]
    clock = codes_of(read.points[name].lower[at], per_day)
    return MeasuredColumn(f"{table}.{measure}({name})", most_rows, staged.entities, staged.tables[table].entity[at], clock)


def _elapsed(staged: Staged, table: str, name: str, most_rows: int) -> MeasuredColumn:
    at, owner = staged.tables[table].counted_rows, staged.tables[table].entity
    elapsed = staged.as_read(table).elapsed[name][at]
    return MeasuredColumn(f"{table}.elapsed({name})", most_rows, staged.entities, owner[at], elapsed)


def _first(staged: Staged, table: str, name: str, most_rows: int) -> MeasuredColumn:
    """One for each parent row that has any."""
    first, parent = staged.as_read(table).firsts[name], staged.tables[table].needs.parent
    if parent is None:
        raise InternalError(f"table {table!r} has sequences but no parent")
    above = staged.tables[parent]
    at = first.ordinary if above.unknown is None else first.ordinary & ~above.unknown[first.parents]
    owner = above.entity[first.parents[at]]
    return MeasuredColumn(f"{table}.first({name})", most_rows, staged.entities, owner, first.measure[at])
