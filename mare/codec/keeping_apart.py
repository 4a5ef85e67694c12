"""Rows of one parent that have to differ, while their values are drawn: before anything is anchored at them.

A value that an earlier sibling has is drawn again, with the same code. A narrow bin soon has no other: then siblings make room
for each other (`move_apart`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from mare.domain import CodeArray, drawing, move_apart, repeated

from .building import TableCodec
from .ordinal import NULL, ORDINARY, Kinds, OrdinalCodec
from .relative import RelativeCodec
from .siblings import Above, Index, interval_of, is_open
from .ticks import FURTHEST, Ticks

ATTEMPTS = 8
"""Of drawing a value again with its code."""


@dataclass(frozen=True, eq=False)
class Free:
    """A column whose values may be changed."""

    again: Callable[[Index, Ticks, np.random.Generator], Ticks]
    """Other values of these rows, which have those given."""
    low: Ticks
    """Of each row, the first value that it may have."""
    high: Ticks


@dataclass(frozen=True, eq=False)
class Apart:
    """The sets of a table that its rows differ in, while their values are drawn."""

    codec: TableCodec
    rows: Mapping[str, CodeArray]
    drawn: Mapping[str, tuple[Ticks, Kinds]]
    """Of the ordered columns, as far as they have values: changed in place."""
    parent: Index
    rng: np.random.Generator
    above: Above

    def standing(self, label: str) -> bool:
        """Sets whose parts stand for themselves; whether there was anything to change."""
        changed = False
        for number, names in enumerate(self._sets()):
            columns = {name: self.codec.columns.get(name) for name in names}
            free = {name: self._of_its_bin(column) for name, column in columns.items() if isinstance(column, OrdinalCodec)}
            if not any(isinstance(column, RelativeCodec) for column in columns.values()):
                changed |= self._set(names, free, f"apart {number} {label}")
        return changed

    def placed(self, name: str, free: Free) -> None:
        """Sets of which this relative column is the last that gets its values."""
        relative = [column for column, codec in self.codec.ordered.items() if isinstance(codec, RelativeCodec)]
        for number, names in enumerate(self._sets()):
            if name in names and not set(relative[relative.index(name) + 1 :]) & set(names):
                self._set(names, {name: free}, f"apart {number}")

    def _sets(self) -> list[tuple[str, ...]]:
        return [names for names in self.codec.apart if set(names) <= set(self.rows)]

    def _of_its_bin(self, column: OrdinalCodec) -> Free:
        low, high = (np.full(len(self.parent), end, dtype=np.int64) for end in (column.bins.low, column.bins.high))
        everyone = np.arange(len(self.parent), dtype=np.int64)
        if (interval := interval_of(column.within, column.scale, self.above, everyone)) is not None:
            linked = ~is_open(interval[0])
            low = np.where(linked, np.maximum(low, interval[0]), low)
            high = np.where(linked, np.minimum(high, interval[1]), high)

        def again(rows: Index, ticks: Ticks, rng: np.random.Generator) -> Ticks:
            other = column.drawn(column.bins.assign(ticks), rng)
            return np.where((other < low[rows]) | (other > high[rows]), ticks, other)

        return Free(again, low, high)

    def _set(self, names: tuple[str, ...], columns: Mapping[str, Free], label: str) -> bool:
        # What many rows share stays the same in all of them.
        shared = {held.column for held in self.codec.shared}
        free = {name: column for name, column in columns.items() if name not in shared}
        values, known = self._values(names)
        # NULL is like nothing, as databases have it.
        among = np.flatnonzero(known).astype(np.int64)

        def alike() -> Index:
            return among[repeated(self.parent[among], [column[among] for column in values.values()])]

        again = alike()
        if not free or not len(again):
            return False
        among = among[np.isin(self.parent[among], self.parent[again])]
        for attempt in range(ATTEMPTS):
            for name, column in free.items():
                mine = again[self.drawn[name][1][again] == ORDINARY]
                values[name][mine] = column.again(mine, values[name][mine], drawing(self.rng, f"{label} {attempt} {name}", mine))
            again = alike()
            if not len(again):
                break
        ends = {name: (column.low, column.high) for name, column in free.items()}
        move_apart(self.parent, values, ends, among, drawing(self.rng, label))
        for name in free:
            ticks, kinds = self.drawn[name]
            there = kinds == ORDINARY
            ticks[there] = values[name][there]
        return True

    def _values(self, names: tuple[str, ...]) -> tuple[dict[str, Index], np.ndarray[tuple[int], np.dtype[np.bool_]]]:
        """What tells rows apart, as numbers; and the rows that have all of it."""
        values, known = dict[str, Index](), np.ones(len(self.parent), dtype=np.bool_)
        for name in names:
            column = self.codec.columns.get(name)
            if name in self.drawn:
                ticks, kinds = self.drawn[name]
                # What is no ordinary value stands where none is.
                values[name] = np.where(kinds == ORDINARY, ticks, FURTHEST + kinds.astype(np.int64))
                known &= kinds != NULL
            else:
                values[name] = self.rows[name].astype(np.int64)
                if column is not None and getattr(column, "nullable", False):
                    known &= self.rows[name] != column.size - 1
        return values, known
