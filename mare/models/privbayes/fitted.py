"""A fitted network: conditional tables, and how rows are drawn from them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from math import prod

import numpy as np
from numpy.typing import NDArray

from mare.domain import DIFFERENT, NO_ROW, SAME, Axis, Codes, Domain, Ladder, Task, drawing, smallest_dtype
from mare.errors import ReleaseError
from mare.models.clarity import Clarity, read_clarity

from .candidates import Family
from .noisy_tables import Table

Integers = NDArray[np.int64]

_FIRST = "first."
"""What the names of the arrays begin with that belong to first rows."""
_BELOW_ONE = 1 - 1e-9
"""Far enough below 1 for a sum with the number of any distribution, near enough to lose nothing."""


@dataclass(frozen=True, eq=False)
class FittedPrivBayes:
    """One conditional table per column, in the order of generation."""

    sizes: Mapping[str, int]
    """Codes of every column and of the history."""
    families: tuple[Family, ...]
    conditionals: Mapping[Axis, Table]
    """By what is drawn: one row per combination of its parents, one column per code; "different" and "the same" where it says
    whether the previous value is repeated."""
    levels: Mapping[Axis, Integers] = field(default_factory=dict)
    """The parents that are looked at more coarsely: what each code of the column becomes."""
    carried: Mapping[str, str] = field(default_factory=dict)
    """Columns that carry their previous value along: its name in the history."""
    replacement: bool = True
    """False: of rows that are drawn together, every value gets its quota, up to one row."""
    beginning: Beginning | None = None
    """What first rows of sequences are drawn from, where they have a network of their own."""
    clarity: Clarity | None = None
    _ladders: dict[Axis, Ladder] = field(default_factory=dict)

    @property
    def looks_at(self) -> frozenset[str]:
        """The history that any column depends on: nothing else has to be gathered."""
        parents = {parent.column for family in self.families for parent in family.parents}
        first = {self.beginning.previous, *self.beginning.network.looks_at} if self.beginning is not None else set()
        return frozenset(parents | set(self.carried.values()) | first)

    @property
    def row_by_row(self) -> bool:
        """Whether a row depends on its own numbers alone. A quota depends on the rows that are drawn beside it."""
        return self.replacement

    def sample(self, history: Codes, rng: np.random.Generator) -> Codes:
        """One row per row of history. One uniform number per row and family, in the order of the network."""
        drawn: dict[str, NDArray[np.integer]] = {}
        repeated: dict[str, NDArray[np.bool_]] = {}
        for family in self.families:
            row = np.zeros(history.rows, dtype=np.int64)
            for parent in family.parents:
                row = row * self._size(parent) + self._codes(parent, drawn, repeated, history)
            uniform = rng.random(history.rows) if self.replacement else quotas(row, rng)
            name = family.column
            if family.repeats:
                first = history[self.carried[name]] >= self.sizes[name]
                repeated[name] = (self._find(family.child, row, uniform) == SAME) & ~first
                continue
            if family.child.new_since:
                before = history[self.carried[name]].astype(np.int64)
                codes = np.where(repeated[name], before, self._another(family.child, row, uniform, before))
            else:
                codes = self._find(family.child, row, uniform)
            drawn[name] = codes.astype(smallest_dtype(self.sizes[name]))
        if self.beginning is not None:
            self.beginning.draw(drawn, history, rng)
        return Codes(history.rows, drawn)  # type: ignore[arg-type]

    def _find(self, child: Axis, row: Integers, uniform: NDArray[np.float64]) -> Integers:
        # All distributions stand on one ladder, distribution r between r and r + 1: one search finds all codes.
        size = self.conditionals[child].shape[1]
        # Just below 1 the sum would be rounded up onto the next distribution's ladder, and an impossible code be drawn.
        below: NDArray[np.float64] = np.minimum(uniform, _BELOW_ONE)
        place = self._ladder(child).find(row + below)
        return np.asarray(np.clip(place - row * size, 0, size - 1))

    def _another(self, child: Axis, row: Integers, uniform: NDArray[np.float64], before: Integers) -> Integers:
        """A value, but not the one before: the distribution without it. Where there is no other, it stays."""
        size = self.sizes[child.column]
        steps = self._ladder(child).steps.reshape(-1, size) - np.arange(len(self.conditionals[child]))[:, None]
        same = np.minimum(before, size - 1)
        below = np.where(same > 0, steps[row, np.maximum(same - 1, 0)], 0.0)
        missing = np.where(before < size, np.maximum(steps[row, same] - below, 0.0), 0.0)
        moved = uniform * (1 - missing)
        moved = np.where(moved >= below, moved + missing, moved)
        return self._find(child, row, moved)

    def _codes(
        self,
        parent: Axis,
        drawn: Mapping[str, NDArray[np.integer]],
        repeated: Mapping[str, NDArray[np.bool_]],
        history: Codes,
    ) -> NDArray[np.integer]:
        name = parent.column
        if parent.same_as_lag:
            first = history[self.carried[name]] >= self.sizes[name]
            return np.where(first, NO_ROW, np.where(repeated[name], SAME, DIFFERENT))
        codes = drawn[name] if name in drawn else history[name]
        return self.levels[parent][codes] if parent.level else codes

    def _size(self, axis: Axis) -> int:
        return _axis_size(axis, self.sizes, self.levels)

    def _ladder(self, child: Axis) -> Ladder:
        if child not in self._ladders:
            table = self.conditionals[child]
            steps = np.cumsum(table, axis=1)
            steps /= steps[:, -1:]
            # The last code that can occur ends at 1 exactly: rounding never selects an impossible one.
            last = table.shape[1] - 1 - np.argmax(table[:, ::-1] > 0, axis=1)
            steps[np.arange(table.shape[1])[None, :] >= last[:, None]] = 1.0
            self._ladders[child] = Ladder.of((steps + np.arange(len(table))[:, None]).ravel())
        return self._ladders[child]

    def arrays(self) -> dict[str, NDArray[np.generic]]:
        """The order and the parents as numbers into the task's own names, and the tables: nothing but arrays."""
        names = list(self.sizes)
        arrays: dict[str, NDArray[np.generic]] = {}
        for place, family in enumerate(self.families):
            links = [names.index(family.column), *(names.index(parent.column) for parent in family.parents)]
            arrays[f"family.{place}"] = np.array(links, dtype=np.int32)
            arrays[f"table.{place}"] = self.conditionals[family.child].astype(np.float32)
            if family.repeats or family.child.new_since:
                part = "repeats" if family.repeats else "new"
                arrays[f"{part}.{place}"] = np.array([names.index(self.carried[family.column])], dtype=np.int32)
            for number, parent in enumerate(family.parents):
                if parent.same_as_lag:
                    arrays[f"same.{place}.{number}"] = np.ones(1, dtype=np.int32)
                if parent.level:
                    arrays[f"level.{place}.{number}"] = self.levels[parent].astype(np.int32)
        if not self.replacement:
            arrays["quotas"] = np.ones(1, dtype=np.int32)
        if self.clarity is not None:
            arrays |= self.clarity.arrays(names)
        if self.beginning is not None:
            arrays |= {f"{_FIRST}{name}": array for name, array in self.beginning.network.arrays().items()}
        return arrays


@dataclass(frozen=True, eq=False)
class Beginning:
    """The network of the first rows of sequences."""

    network: FittedPrivBayes
    previous: str
    """A column of the row before, by its name in the history."""
    absent: int
    """Its code where there is no such row."""

    def draw(self, drawn: dict[str, NDArray[np.integer]], history: Codes, rng: np.random.Generator) -> None:
        """Draw the first rows among these anew."""
        rows = np.flatnonzero(history[self.previous] == self.absent)
        if not len(rows):
            return
        seen = Codes(len(rows), {name: history[name][rows] for name in self.network.looks_at if name in history.columns})
        for name, codes in self.network.sample(seen, drawing(rng, "first rows", rows)).columns.items():
            drawn[name][rows] = codes


def _axis_size(axis: Axis, sizes: Mapping[str, int], levels: Mapping[Axis, Integers]) -> int:
    if axis.same_as_lag:
        return 3
    return int(levels[axis].max()) + 1 if axis.level else sizes[axis.column]


def row_before(task: Task) -> str | None:
    """The name of a column of the row before, where rows have one."""
    return next((name for name, (_, lag) in task.lags.items() if lag == 1), None)


def first_task(task: Task) -> Task:
    """What is asked of first rows: nothing was before them."""
    known = [(name, task.history.size(name)) for name in task.history if name not in task.lags]
    near = {name: other for name, other in task.near.items() if other not in task.lags}
    return replace(task, history=Domain.of(known), lags={}, rows=None, rehearsed=None, told_by={}, near=near)


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
    first = {name.removeprefix(_FIRST): array for name, array in arrays.items() if name.startswith(_FIRST)}
    loaded, previous = _Loading(task, arrays).run(), row_before(task)
    if not first:
        return loaded
    if previous is None:
        raise ReleaseError(f"group {task.group!r}: it has tables of first rows, but its rows are no sequences.")
    network = _Loading(first_task(task), first).run()
    return replace(loaded, beginning=Beginning(network, previous, task.history.size(previous) - 1))


class _Loading:
    """One network while it is read."""

    def __init__(self, task: Task, arrays: Mapping[str, NDArray[np.generic]]) -> None:
        self._task, self._arrays = task, arrays
        self._sizes = dict(zip(task.domain.names, task.domain.sizes, strict=True))
        self._levels: dict[Axis, Integers] = {}
        self._carried: dict[str, str] = {}

    def run(self) -> FittedPrivBayes:
        families: list[Family] = []
        conditionals: dict[Axis, Table] = {}
        known = set(self._task.history)
        while len(known) < len(self._task.domain):
            place = len(families)
            name, *parents = self._names(f"family.{place}", f"part {place} of its network")
            child = self._child(place, name)
            own = {name} if child.new_since else set()  # whether it repeats is drawn already
            out_of_order = name in known or child in conditionals or not set(parents) <= known | own
            if out_of_order or (child.new_since and Axis(name, same_as_lag=1) not in conditionals):
                raise self._refused("its network is not in an order that rows can be drawn in")
            axes = tuple(self._axis(place, number, parent) for number, parent in enumerate(parents))
            families.append(Family(child, axes))
            shape = (prod(self._size(axis) for axis in axes), 2 if child.same_as_lag else self._sizes[name])
            conditionals[child] = self._table(place, name, shape)
            known |= set() if child.same_as_lag else {name}
        with_quotas = "quotas" in self._arrays
        clarity = read_clarity(self._task, self._arrays)
        drawn = self._levels, self._carried, not with_quotas
        return FittedPrivBayes(self._sizes, tuple(families), conditionals, *drawn, clarity=clarity)

    def _names(self, key: str, what: str) -> list[str]:
        links, names = self._arrays.get(key), self._task.domain.names
        if links is None or links.ndim != 1 or not len(links) or not np.issubdtype(links.dtype, np.integer):
            raise self._refused(f"{what} is missing")
        if links.min() < 0 or links.max() >= len(names):
            raise self._refused(f"{what} names a column that is not there")
        return [names[int(link)] for link in links]

    def _axis(self, place: int, number: int, name: str) -> Axis:
        if f"same.{place}.{number}" in self._arrays:
            if name not in self._carried:
                raise self._refused(f"{name!r} is taken to repeat, and carries nothing along")
            return Axis(name, same_as_lag=1)
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

    def _child(self, place: int, name: str) -> Axis:
        """The column, or one of the two parts of a column that is carried."""
        for part, child in (("repeats", Axis(name, same_as_lag=1)), ("new", Axis(name, new_since=1))):
            if f"{part}.{place}" in self._arrays:
                before = self._names(f"{part}.{place}", f"what {name!r} carries along")[0]
                if before not in self._task.history or self._sizes[before] != self._sizes[name] + 1:
                    raise self._refused(f"{name!r} cannot carry {before!r} along")
                self._carried[name] = before
                return child
        return Axis(name)

    def _table(self, place: int, child: str, shape: tuple[int, int]) -> Table:
        table = self._arrays.get(f"table.{place}")
        if table is None:
            raise self._refused(f"the table of {child!r} is missing")
        weights = table.astype(np.float64)
        if weights.shape != shape or not np.isfinite(weights).all() or (weights < 0).any() or (weights.sum(1) <= 0).any():
            raise self._refused(f"the table of {child!r} is damaged")
        return weights

    def _size(self, axis: Axis) -> int:
        return _axis_size(axis, self._sizes, self._levels)

    def _refused(self, why: str) -> ReleaseError:
        return ReleaseError(f"group {self._task.group!r}: {why}.")
