"""`FoldedContext`: the rows of an association as the columns of its context: the mirror of unrolling.

The stage folds true rows, to count them; the sampler folds rows that somebody gives it, to draw what belongs to them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mare.domain import CodeArray, smallest_dtype

from .placing import Index
from .unrolling import Unrolling


@dataclass(frozen=True, eq=False)
class FoldedContext(Mapping[str, CodeArray]):
    """The context of an associative table: one row per parent row, a column made when it is asked for."""

    unrolling: Unrolling
    parents: int
    parent: Index
    key: Index
    """Of each row, the code of its public key."""
    derived: Mapping[str, tuple[CodeArray, int]]
    """Derived columns: codes of the rows, and how many codes there are."""
    cap: int
    """Rows that a parent row may have."""

    def __getitem__(self, name: str) -> CodeArray:
        base, number = _numbered(name)
        if base == "count":
            return self._tally(self._rest, self.cap + 1)
        for derived in self.unrolling.derived:
            if base == f"{derived}({self.unrolling.key})":
                return self._slot(derived, number)
        if base == f"exists({self.unrolling.key})":
            return self._tally(self._rows_of(self.unrolling.chosen[number]), self.unrolling.multiplicity + 1)
        if not self.unrolling.groups:
            raise KeyError(name)
        group = np.asarray(self.unrolling.groups)[self.key[self._rest]]
        return self._tally(self._rest[group == number], self.unrolling.multiplicity + 1)

    def _tally(self, rows: Index, size: int) -> CodeArray:
        counts = np.bincount(self.parent[rows], minlength=self.parents)
        return np.minimum(counts, size - 1).astype(smallest_dtype(size))

    def _slot(self, name: str, slot: int) -> CodeArray:
        """The value in one slot of a key; the last code where the key does not occur so often."""
        codes, size = self.derived[name]
        rows = self._rows_of(self.unrolling.chosen[slot // self.unrolling.multiplicity])
        parent = self.parent[rows]
        # Rows are sorted by parent, so those of one key come parent by parent.
        start = np.r_[True, parent[1:] != parent[:-1]] if len(rows) else np.zeros(0, dtype=bool)
        time = np.arange(len(rows)) - np.maximum.accumulate(np.where(start, np.arange(len(rows)), 0))
        mine = time == slot % self.unrolling.multiplicity
        found = np.full(self.parents, size, dtype=smallest_dtype(size + 1))
        found[parent[mine]] = codes[rows[mine]]
        return found

    def _rows_of(self, key: int) -> Index:
        order, starts = self._by_key
        return order[starts[key] : starts[key + 1]]

    @cached_property
    def _by_key(self) -> tuple[Index, Index]:
        order = np.argsort(self.key, kind="stable").astype(np.int64)
        return order, np.searchsorted(self.key[order], np.arange(len(self.unrolling.vocabulary) + 1)).astype(np.int64)

    @cached_property
    def _rest(self) -> Index:
        return np.flatnonzero(self.unrolling.slot[self.key] < 0).astype(np.int64)

    def __iter__(self) -> Iterator[str]:
        raise TypeError("the columns of a context are made by name")

    def __len__(self) -> int:
        raise TypeError("the columns of a context are made by name")


def _numbered(name: str) -> tuple[str, int]:
    """`dose(drug_id)#3` is number 3 of `dose(drug_id)`; what has no number is the first. A key's name may hold a `#` too."""
    base, mark, number = name.rpartition("#")
    return (base, int(number)) if mark and base.endswith(")") and number.isdecimal() else (name, 0)
