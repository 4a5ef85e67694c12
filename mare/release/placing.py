"""`Placed`: coded rows that know where they stand, and the one rule by which a row looks at others.

The fit looks back over true rows and the sampler over synthetic ones; both gather history here, so that a model meets
the same thing twice. History is never materialised as a table: a parent's column is a gather (n:1, upward), a previous
row is a shift (design.md, Data).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mare.domain import CodeArray, Codes, Domain, smallest_dtype
from mare.errors import InternalError
from mare.graph.groups import ColumnGroup, HistoryColumn, Part

Index = NDArray[np.int64]


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


def place_children(counts: Index) -> tuple[Index, Index, Index]:
    """Parent, position and siblings of the rows that parents with so many children have."""
    parent = np.repeat(np.arange(len(counts), dtype=np.int64), counts)
    siblings = counts[parent]
    starts = np.cumsum(counts) - counts
    return parent, np.arange(len(parent), dtype=np.int64) - starts[parent], siblings


@dataclass(frozen=True, eq=False)
class Rooms:
    """All tables of an entity, placed, and who is whose parent."""

    parents: Mapping[str, str | None]
    tables: Mapping[str, Placed]

    def space(self, table: str, part: Part) -> str:
        """The table whose rows a part has one row for: a context belongs to the parent's."""
        if part != "context":
            return table
        parent = self.parents[table]
        if parent is None:
            raise InternalError(f"table {table!r} has a context but no parent")
        return parent

    def climb(self, index: Index, start: str, end: str) -> Index:
        """From rows of a table to the rows of an ancestor that they belong to."""
        here: str | None = start
        while here != end:
            if here is None or self.parents[here] is None:
                raise InternalError(f"{end!r} is not above {start!r}, so its columns cannot be joined to it")
            index = self.tables[here].parent[index]
            here = self.parents[here]
        return index

    def look(self, group: ColumnGroup, column: HistoryColumn, size: int, index: Index) -> CodeArray:
        """What the rows ``index`` of a group see in one history column. A row that is not there is the last code."""
        if column.kind in ("same_item", "reference"):
            raise InternalError(f"history of kind {column.kind!r} is not gathered yet")
        space = self.space(column.table, column.part)
        at = self.climb(index, self.space(group.table, group.part), space)
        target = self.tables[space]
        if column.kind == "free":
            return self._free(column.name, self.tables[column.table], size, at)
        source = self.tables[column.table].codes[column.part][column.name]
        if column.lag == 0:
            return source[at].astype(smallest_dtype(size))
        missing = target.position[at] < column.lag
        seen = source[np.where(missing, 0, at - column.lag)] if len(source) else np.zeros(len(at), dtype=np.uint8)
        return np.where(missing, size - 1, seen).astype(smallest_dtype(size))

    def _free(self, name: str, table: Placed, size: int, at: Index) -> CodeArray:
        if name == "position":
            known = table.position[at]
        elif name == "remaining":
            known = table.siblings[at] - 1 - table.position[at]
        else:
            raise InternalError(f"free history {name!r} is not known yet")
        return np.minimum(known, size - 1).astype(smallest_dtype(size))

    def history(self, group: ColumnGroup, domain: Domain, index: Index) -> Codes:
        """All that a model may look at for these rows of its group."""
        return Codes(len(index), {str(h): self.look(group, h, domain.size(str(h)), index) for h in group.history})
