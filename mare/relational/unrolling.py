"""`Unrolling`: how an associative table becomes columns of its context, one per public key (mare-2024, III.C and IV).

The stage folds true rows into these columns and the sampler unfolds synthetic ones; both read the same noun. A key's
*slot* is one of its `multiplicity` places under a parent row. What is in no column of its own is the rest.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from mare.domain import CodeArray, smallest_dtype
from mare.errors import PlanError
from mare.schema import Schema

from .placing import Index
from .public import PublicTables, Vocabulary, text

Rest = Literal["rows", "hierarchy", "drop"]


@dataclass(frozen=True, eq=False)
class Unrolling:
    """One association, with the keys that have columns."""

    columns: tuple[str, ...]
    """The foreign key to the public table."""
    vocabulary: Vocabulary
    chosen: tuple[int, ...]
    """Codes of the keys that have columns of their own, ascending."""
    multiplicity: int
    derived: tuple[str, ...]
    """Columns (or references) that are unrolled with the key; none: existence alone."""
    rest: Rest | None
    """What becomes of the other keys; None where every key has a column."""
    groups: tuple[int, ...] = ()
    """With `rest: hierarchy`: of each key of the vocabulary, its group."""

    @property
    def key(self) -> str:
        """What the key is called in the names of group columns."""
        return ", ".join(self.columns)

    @property
    def group_count(self) -> int:
        return max(self.groups, default=-1) + 1

    @cached_property
    def slot(self) -> Index:
        """Of each key of the vocabulary, its place among the chosen ones, or -1."""
        slots = np.full(len(self.vocabulary), -1, dtype=np.int64)
        slots[list(self.chosen)] = np.arange(len(self.chosen))
        return slots

    def labels(self, name: str, names: Sequence[str]) -> list[str]:
        """The context columns that ``name`` has become among these."""
        return [name] if name in names else [label for label in names if label.rpartition("#")[0] == name]

    def known_as(self, codes: Index) -> Index:
        """The key as the rest of the row sees it: among all keys, or among those that are left."""
        return self.slot[codes] if self.rest == "drop" else codes

    def members(self, group: int) -> Index:
        """With `rest: hierarchy`: the keys of a group that have no column of their own."""
        rest = self.slot < 0
        return np.flatnonzero(rest & (np.asarray(self.groups) == group)).astype(np.int64)


def unrolling(schema: Schema, table: str, public: PublicTables, chosen: Sequence[int] | None = None) -> Unrolling | None:
    """The unrolling of an associative table; None for any other. Without ``chosen`` every key has a column."""
    link = schema.parent(table)
    if link is None or link.type != "associative" or link.via is None:
        return None
    described, large = schema.tables[table], link.vocabulary
    vocabulary = public[link.via].vocabulary()
    columns = link.column_via or ()
    if len(columns) != len(vocabulary.columns):
        raise PlanError(
            f"table {table!r}: {len(columns)} columns ({', '.join(columns)}) refer to {len(vocabulary.columns)} of {link.via} "
            f"({', '.join(vocabulary.columns)}). Name one in column_via for each."
        )
    keys = tuple(range(len(vocabulary))) if chosen is None else tuple(sorted(chosen))
    rest: Rest | None = None if large is None else large.rest
    groups: tuple[int, ...] = ()
    if rest == "hierarchy" and large is not None and large.hierarchy is not None:
        groups = _groups(public, link.via, large.hierarchy, vocabulary)
    derived = tuple(c for c in link.derived if c in described.columns or c in described.references)
    return Unrolling(columns, vocabulary, keys, link.multiplicity, derived, rest, groups)


def _groups(public: PublicTables, via: str, hierarchy: str, vocabulary: Vocabulary) -> tuple[int, ...]:
    """Of each key, its group: numbered as they come in the order of the keys; keys without a group form one too."""
    values = public[via].take(hierarchy, vocabulary.places).to_pylist()
    named: dict[str | None, int] = {}
    return tuple(named.setdefault(None if value is None else text(value), len(named)) for value in values)


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
        values = np.full(self.parents, size, dtype=smallest_dtype(size + 1))
        values[parent[mine]] = codes[rows[mine]]
        return values

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
