"""A fitted network: conditional tables, and how rows are drawn from them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import prod

import numpy as np
from numpy.typing import NDArray

from mare.domain import Axis, Codes, Task, smallest_dtype
from mare.errors import ReleaseError

from .candidates import Family
from .tables import Table

Integers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class FittedPrivBayes:
    """One conditional table per column, in the order of generation."""

    sizes: Mapping[str, int]
    """Codes of every column and of the history."""
    families: tuple[Family, ...]
    conditionals: Mapping[str, Table]
    """By column: one row per combination of its parents, one column per code; of a column that carries its previous value along,
    the last is "the same as before"."""
    levels: Mapping[Axis, Integers] = field(default_factory=dict)
    """The parents that are looked at more coarsely: what each code of the column becomes."""
    carried: Mapping[str, str] = field(default_factory=dict)
    """Columns that carry their previous value along: its name in the history."""
    replacement: bool = True
    """False: of rows that are drawn together, every value gets its quota, up to one row."""
    _ladders: dict[str, NDArray[np.float64]] = field(default_factory=dict)

    @property
    def looks_at(self) -> frozenset[str]:
        """The history that any column hangs on: nothing else has to be gathered."""
        parents = {parent.column for family in self.families for parent in family.parents}
        return frozenset(parents | set(self.carried.values()))

    @property
    def row_by_row(self) -> bool:
        """Whether a row hangs on its own numbers alone. A quota hangs on the rows that are drawn beside it."""
        return self.replacement

    def sample(self, history: Codes, rng: np.random.Generator) -> Codes:
        """One row per row of history. One uniform number per row and column, in the order of the network."""
        drawn: dict[str, NDArray[np.integer]] = {}
        for family in self.families:
            row = np.zeros(history.rows, dtype=np.int64)
            for parent in family.parents:
                codes = drawn[parent.column] if parent.column in drawn else history[parent.column]
                row = row * self._size(parent) + (self.levels[parent][codes] if parent.level else codes)
            uniform = rng.random(history.rows) if self.replacement else quotas(row, rng)
            name = family.column
            if name in self.carried:
                codes = self._carry(name, row, uniform, history[self.carried[name]].astype(np.int64))
            else:
                codes = self._find(name, row, uniform)
            drawn[name] = codes.astype(smallest_dtype(self.sizes[name]))
        return Codes(history.rows, drawn)  # type: ignore[arg-type]

    def _find(self, child: str, row: Integers, uniform: NDArray[np.float64]) -> Integers:
        # All distributions stand on one ladder, distribution r between r and r + 1: one search finds all codes.
        size = self.conditionals[child].shape[1]
        found: Integers = np.searchsorted(self._ladder(child), row + uniform, side="right").astype(np.int64)
        return np.asarray(np.clip(found - row * size, 0, size - 1))

    def _carry(self, child: str, row: Integers, uniform: NDArray[np.float64], before: Integers) -> Integers:
        """The same as before, or else a value: never the one before, and never "the same" where there is none before."""
        size = self.sizes[child]
        steps = self._ladder(child).reshape(-1, size + 1) - np.arange(len(self.conditionals[child]))[:, None]
        impossible = np.minimum(before, size)
        below = np.where(impossible > 0, steps[row, np.maximum(impossible - 1, 0)], 0.0)
        missing = np.maximum(steps[row, impossible] - below, 0.0)
        moved = uniform * (1 - missing)
        moved = np.where(moved >= below, np.minimum(moved + missing, np.nextafter(1.0, 0.0)), moved)
        codes = self._find(child, row, moved)
        first = before >= size
        codes = np.where(~first & ((codes == size) | (codes == before)), before, codes)
        return np.where(first, np.minimum(codes, size - 1), codes)

    def _size(self, axis: Axis) -> int:
        return int(self.levels[axis].max()) + 1 if axis.level else self.sizes[axis.column]

    def _ladder(self, child: str) -> NDArray[np.float64]:
        if child not in self._ladders:
            table = self.conditionals[child]
            steps = np.cumsum(table, axis=1)
            steps /= steps[:, -1:]
            # The last code that can occur ends at 1 exactly: rounding never selects an impossible one.
            last = table.shape[1] - 1 - np.argmax(table[:, ::-1] > 0, axis=1)
            steps[np.arange(table.shape[1])[None, :] >= last[:, None]] = 1.0
            self._ladders[child] = (steps + np.arange(len(table))[:, None]).ravel()
        return self._ladders[child]

    def arrays(self) -> dict[str, NDArray[np.generic]]:
        """The order and the parents as numbers into the task's own names, and the tables: nothing but arrays."""
        names = list(self.sizes)
        found: dict[str, NDArray[np.generic]] = {}
        for place, family in enumerate(self.families):
            links = [names.index(family.column), *(names.index(parent.column) for parent in family.parents)]
            found[f"family.{place}"] = np.array(links, dtype=np.int32)
            found[f"table.{place}"] = self.conditionals[family.column].astype(np.float32)
            if family.column in self.carried:
                found[f"carried.{place}"] = np.array([names.index(self.carried[family.column])], dtype=np.int32)
            for number, parent in enumerate(family.parents):
                if parent.level:
                    found[f"level.{place}.{number}"] = self.levels[parent].astype(np.int32)
        if not self.replacement:
            found["quotas"] = np.ones(1, dtype=np.int32)
        return found


def quotas(row: Integers, rng: np.random.Generator) -> NDArray[np.float64]:
    """Uniform numbers that are spread evenly over the rows with the same distribution: sampling without replacement.

    m rows of one distribution stand at (i + u) / m, in random order: a value of probability p gets ⌊mp⌋ or ⌈mp⌉ of them, and
    each row on its own is still uniform (NIST 2018, section 3.3, without a table that is emptied row by row).
    """
    order = rng.permutation(len(row))
    order = order[np.argsort(row[order], kind="stable")]
    size = np.bincount(row, minlength=1)
    start = np.cumsum(size) - size
    rank = np.empty(len(row), dtype=np.int64)
    rank[order] = np.arange(len(row)) - start[row[order]]
    return np.asarray((rank + rng.random(len(size))[row]) / np.maximum(size[row], 1))


def load_fitted(task: Task, arrays: Mapping[str, NDArray[np.generic]]) -> FittedPrivBayes:
    """The network back from its arrays; refuses what is not one for this task."""
    return _Loading(task, arrays).run()


class _Loading:
    """One network while it is read."""

    def __init__(self, task: Task, arrays: Mapping[str, NDArray[np.generic]]) -> None:
        self._task, self._arrays = task, arrays
        self._sizes = dict(zip(task.domain.names, task.domain.sizes, strict=True))
        self._levels: dict[Axis, Integers] = {}
        self._carried: dict[str, str] = {}

    def run(self) -> FittedPrivBayes:
        families: list[Family] = []
        conditionals: dict[str, Table] = {}
        known = set(self._task.history)
        for place in range(len(self._task.columns)):
            child, *parents = self._names(f"family.{place}", f"part {place} of its network")
            if child not in self._task.columns or child in conditionals or not set(parents) <= known:
                raise self._refused("its network is not in an order that rows can be drawn in")
            axes = tuple(self._axis(place, number, name) for number, name in enumerate(parents))
            carried = self._carries(place, child)
            families.append(Family(Axis(child, new_since=1) if carried else Axis(child), axes))
            shape = (prod(self._size(axis) for axis in axes), self._sizes[child] + carried)
            conditionals[child] = self._table(place, child, shape)
            known.add(child)
        with_quotas = "quotas" in self._arrays
        return FittedPrivBayes(self._sizes, tuple(families), conditionals, self._levels, self._carried, not with_quotas)

    def _names(self, key: str, what: str) -> list[str]:
        links, names = self._arrays.get(key), self._task.domain.names
        if links is None or links.ndim != 1 or not len(links) or not np.issubdtype(links.dtype, np.integer):
            raise self._refused(f"{what} is missing")
        if links.min() < 0 or links.max() >= len(names):
            raise self._refused(f"{what} names a column that is not there")
        return [names[int(link)] for link in links]

    def _axis(self, place: int, number: int, name: str) -> Axis:
        codes = self._arrays.get(f"level.{place}.{number}")
        if codes is None:
            return Axis(name)
        whole = np.issubdtype(codes.dtype, np.integer)
        if not whole or codes.shape != (self._sizes[name],) or codes.min() < 0 or codes.max() >= self._sizes[name]:
            raise self._refused(f"a level of {name!r} is damaged")
        known = [axis for axis in self._levels if axis.column == name]
        same = [axis for axis in known if (self._levels[axis] == codes).all()]
        axis = same[0] if same else Axis(name, level=len(known) + 1)
        self._levels[axis] = codes.astype(np.int64)
        return axis

    def _carries(self, place: int, child: str) -> bool:
        if f"carried.{place}" not in self._arrays:
            return False
        before = self._names(f"carried.{place}", f"what {child!r} carries along")[0]
        if before not in self._task.history or self._sizes[before] != self._sizes[child] + 1:
            raise self._refused(f"{child!r} cannot carry {before!r} along")
        self._carried[child] = before
        return True

    def _table(self, place: int, child: str, shape: tuple[int, int]) -> Table:
        table = self._arrays.get(f"table.{place}")
        if table is None:
            raise self._refused(f"the table of {child!r} is missing")
        weights = table.astype(np.float64)
        if weights.shape != shape or not np.isfinite(weights).all() or (weights < 0).any() or (weights.sum(1) <= 0).any():
            raise self._refused(f"the table of {child!r} is damaged")
        return weights

    def _size(self, axis: Axis) -> int:
        return int(self._levels[axis].max()) + 1 if axis.level else self._sizes[axis.column]

    def _refused(self, why: str) -> ReleaseError:
        return ReleaseError(f"group {self._task.group!r}: {why}.")
