"""`Placed`: coded rows that know where they stand, and the one rule by which a row looks at others.

The fit looks back over true rows and the sampler over synthetic ones; both gather history here, so that a model meets
the same thing twice. History is never materialised as a table: a parent's column is a gather (n:1, upward), a previous
row is a shift (design.md, Data), and so are the previous row of the same item and the row that a reference leads to.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from mare.domain import CodeArray, Codes, Domain, remaining_codes, smallest_dtype
from mare.errors import InternalError
from mare.graph.groups import ColumnGroup, HistoryColumn, Part
from mare.schema.layout import Shared

Index = NDArray[np.int64]

NOWHERE = -1
"""In place of a row's place: there is no such row."""
STRANGER = -2
"""In place of a public key's place: there is a key, but the public table does not have it."""


@dataclass(frozen=True, eq=False)
class Placed:
    """The rows of one table, sorted by parent and then by order: the previous row of a sequence is the row above."""

    rows: int
    parent: Index
    """Of each row, its parent's place in the parent table."""
    position: Index
    """Of each row, its place among its siblings, from 0."""
    siblings: Index
    """Of each row, how many rows its parent has, itself included."""
    codes: Mapping[Part, Mapping[str, CodeArray]]
    """Codes by part; a context has one row per row of the parent table."""
    owner: Index | None = None
    """Where several references own the rows of a table: of each row, which of them does. Then ``parent`` is a place there."""
    free: Mapping[str, CodeArray] = field(default_factory=dict)
    """What is known of an unrolled row without a model: its public key, its derived values."""
    targets: Mapping[str, Index] = field(default_factory=dict)
    """Per reference, of each row the place of the row that it leads to, or `NOWHERE`."""
    same_item: Index | None = None
    """Of each row, the previous one of the same item in its sequence, or `NOWHERE`."""
    written: Mapping[str, CodeArray] = field(default_factory=dict)
    """Columns and references that come out by other codes than models look at: the rest of a list, drawn again."""
    unknown: NDArray[np.bool_] | None = None
    """Rows that stand in for a parent that is missing from the source: nothing is known of them, and nobody counts them."""


def written_codes(placed: Placed) -> dict[str, CodeArray]:
    """The codes that the columns and references of rows come out by, wherever they were generated."""
    return {**placed.free, **placed.codes["head"], **placed.codes["rows"], **placed.written}


def place_children(counts: Index) -> tuple[Index, Index, Index]:
    """Parent, position and siblings of the rows that parents with so many children have."""
    parent = np.repeat(np.arange(len(counts), dtype=np.int64), counts)
    siblings = counts[parent]
    starts = np.cumsum(counts) - counts
    return parent, np.arange(len(parent), dtype=np.int64) - starts[parent], siblings


def spread(name: str, domain: Domain) -> list[str]:
    """The names of a column in a domain: its own, or `name#0`, `name#1` … where it is unrolled, one per public key."""
    if name in domain:
        return [name]
    known, names = set(domain.names), list[str]()
    while (unrolled := f"{name}#{len(names)}") in known:
        names.append(unrolled)
    return names


@lru_cache(maxsize=4096)
def seen_columns(group: ColumnGroup, domain: Domain) -> Mapping[str, tuple[HistoryColumn, str]]:
    """Per name of a group's history, the column behind it and the name of its codes there."""
    columns: dict[str, tuple[HistoryColumn, str]] = {}
    for column in group.history:
        for label in spread(str(column), domain):
            columns[label] = (column, column.name + label[len(str(column)) :])
    return columns


def lags_of(group: ColumnGroup, domain: Domain) -> dict[str, tuple[str, int]]:
    """Which of a group's history is an earlier row of this very group: its name in the domain → (column, rows back)."""
    seen = seen_columns(group, domain).items()
    return {label: (name, column.lag) for label, (column, name) in seen if str(column) in group.lags}


def alike_of(group: ColumnGroup, domain: Domain) -> tuple[tuple[str, ...], ...]:
    """The columns that one column of the group has become, where it was unrolled into several."""
    unrolled = [column.name for column in group.columns if column.repeat != 1]
    families = (tuple(label for label in domain.names if label.rpartition("#")[0] == name) for name in unrolled)
    return tuple(labels for labels in families if len(labels) > 1)


@dataclass(frozen=True, eq=False)
class PlacedTables:
    """All tables of an entity, placed, and who owns whose rows."""

    owners: Mapping[str, tuple[str, ...]]
    """Per table, its parent; or, where references own its rows, the table of each; of the entity none."""
    tables: Mapping[str, Placed]

    def space(self, table: str, part: Part) -> str:
        """The table whose rows a part has one row for: a context belongs to the parent's."""
        if part != "context":
            return table
        if len(self.owners[table]) != 1:
            raise InternalError(f"table {table!r} has a context but no parent")
        return self.owners[table][0]

    def climb(self, index: Index, start: str, end: str) -> Index:
        """From rows of a table to the rows of an ancestor that they belong to."""
        if start == end:
            return index
        owners, placed = self.owners[start], self.tables[start]
        if not owners:
            raise InternalError(f"{end!r} is not above {start!r}, so its columns cannot be joined to it")
        above = placed.parent[index]
        if placed.owner is None:
            return self.climb(above, owners[0], end)
        which, rows = placed.owner[index], np.zeros(len(index), dtype=np.int64)
        for number, owner in enumerate(owners):
            mine = which == number
            rows[mine] = self.climb(above[mine], owner, end)
        return rows

    def look(self, group: ColumnGroup, column: HistoryColumn, name: str, size: int, index: Index) -> CodeArray:
        """What the rows ``index`` of a group see in one history column. A row that is not there is the last code."""
        own = self.tables[group.table]
        if column.kind == "reference":
            return self._gather(column, name, size, own.targets[column.reference or ""][index])
        if column.kind == "same_item":
            if own.same_item is None:
                raise InternalError(f"table {group.table!r} has no items to tell apart")
            return self._gather(column, name, size, own.same_item[index])
        if column.kind == "beside":
            return self._gather(column, name, size, self._beside(group, column.table, index))
        start, space = self.space(group.table, group.part), self.space(column.table, column.part)
        at = self.climb(index, start, space)
        if column.kind == "free":
            return self._free(column.name, self.tables[column.table], size, at)
        if column.lag:
            at = np.where(self.tables[space].position[at] < column.lag, NOWHERE, at - column.lag)
        elif column.kind == "ancestor" and (unknown := self.tables[column.table].unknown) is not None:
            at = np.where(unknown[self.climb(index, start, column.table)], NOWHERE, at)
        return self._gather(column, name, size, at)

    def _beside(self, group: ColumnGroup, sibling: str, index: Index) -> Index:
        """The row of a sibling that stands at the same place below the parent, or the last; of a context, the last."""
        above = self.climb(index, self.space(group.table, group.part), self.space(sibling, "context"))
        there = self.tables[sibling].parent
        first, end = np.searchsorted(there, above), np.searchsorted(there, above, side="right")
        wanted = end if group.part == "context" else first + self.tables[group.table].position[index]
        return np.where(first < end, np.minimum(wanted, end - 1), NOWHERE)

    def _gather(self, column: HistoryColumn, name: str, size: int, at: Index) -> CodeArray:
        source = self.tables[column.table].codes[column.part][name]
        missing = at < 0
        if not missing.any():
            return source[at].astype(smallest_dtype(size))
        seen = source[np.maximum(at, 0)] if len(source) else np.zeros(len(at), dtype=np.uint8)
        return np.where(missing, size - 1, seen).astype(smallest_dtype(size))

    def _free(self, name: str, table: Placed, size: int, at: Index) -> CodeArray:
        if name in table.free:
            known: NDArray[np.integer] = table.free[name][at]
        elif name == "position":
            known = table.position[at]
        elif name == "remaining":
            known = remaining_codes(table.siblings[at] - 1 - table.position[at], size)
        elif name == "reference" and table.owner is not None:
            known = table.owner[at]
        else:
            raise InternalError(f"free history {name!r} is not known here")
        capped: NDArray[np.integer] = np.minimum(known, size - 1)
        return capped.astype(smallest_dtype(size))

    def history(self, group: ColumnGroup, domain: Domain, index: Index, wanted: Collection[str] | None = None) -> Codes:
        """What a model may look at for these rows of its group; of all that, the ``wanted`` columns, where it says so."""
        seen = seen_columns(group, domain)
        names = seen if wanted is None else [name for name in seen if name in wanted]
        return Codes(len(index), {name: self.look(group, *seen[name], domain.size(name), index) for name in names})


# What is the same for all rows below one row: one code in the context, and all those rows have it. The stage takes it from the
# first row that is kept, the sampler gives it to every row.


def rows_above(shared: Shared, around: PlacedTables) -> Index:
    """Of each row of the column's table, the row above that the value is the same for."""
    return around.climb(np.arange(around.tables[shared.table].rows, dtype=np.int64), shared.table, shared.above)


def first_rows(above: Index, count: int) -> Index:
    """Of each of so many rows above, the first row below; any row where there is none."""
    firsts = np.zeros(count, dtype=np.int64)
    firsts[above[::-1]] = np.arange(len(above), dtype=np.int64)[::-1]  # of several, the one that is written last stays
    return firsts


def context_codes(above: Index, count: int, codes: CodeArray, size: int) -> CodeArray:
    """For each row above, the code of its first row below; the last code where there is none."""
    held = np.full(count, size, dtype=smallest_dtype(size + 1))
    if len(above):
        held[above] = codes[first_rows(above, count)[above]]
    return held
