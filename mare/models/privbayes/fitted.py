"""A fitted network: conditional tables, and how rows are drawn from them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import prod

import numpy as np
from numpy.typing import NDArray

from mare.domain import Codes, Task, smallest_dtype
from mare.errors import ReleaseError

from .network import Family
from .tables import Table


@dataclass(frozen=True, eq=False)
class FittedPrivBayes:
    """One conditional table per column, in the order of generation."""

    sizes: Mapping[str, int]
    """Codes of every column and of the history."""
    families: tuple[Family, ...]
    conditionals: Mapping[str, Table]
    """By column: one row per combination of its parents, one column per code."""
    _ladders: dict[str, NDArray[np.float64]] = field(default_factory=dict)

    @property
    def looks_at(self) -> frozenset[str]:
        """The history that any column hangs on: nothing else has to be gathered."""
        return frozenset(parent for family in self.families for parent in family.parents)

    def sample(self, history: Codes, rng: np.random.Generator) -> Codes:
        """One row per row of history. One uniform number per row and column, in the order of the network."""
        drawn: dict[str, NDArray[np.integer]] = {}
        for family in self.families:
            row = np.zeros(history.rows, dtype=np.int64)
            for parent in family.parents:
                codes = drawn[parent] if parent in drawn else history[parent]
                row = row * self.sizes[parent] + codes
            size = self.sizes[family.child]
            # All distributions stand on one ladder, distribution r between r and r + 1: one search finds all codes.
            found = np.searchsorted(self._ladder(family.child), row + rng.random(history.rows), side="right")
            drawn[family.child] = np.clip(found - row * size, 0, size - 1).astype(smallest_dtype(size))
        return Codes(history.rows, drawn)  # type: ignore[arg-type]

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
            links = [names.index(family.child), *(names.index(parent) for parent in family.parents)]
            found[f"family.{place}"] = np.array(links, dtype=np.int32)
            found[f"table.{place}"] = self.conditionals[family.child].astype(np.float32)
        return found


def load_fitted(task: Task, arrays: Mapping[str, NDArray[np.generic]]) -> FittedPrivBayes:
    """The network back from its arrays; refuses what is not one for this task."""
    domain = task.domain
    sizes = dict(zip(domain.names, domain.sizes, strict=True))
    families, conditionals = [], {}
    known = set(task.history)
    for place in range(len(task.columns)):
        links, table = arrays.get(f"family.{place}"), arrays.get(f"table.{place}")
        if links is None or table is None or links.ndim != 1 or not len(links):
            raise ReleaseError(f"group {task.group!r}: part {place} of its network is missing.")
        if links.min() < 0 or links.max() >= len(domain):
            raise ReleaseError(f"group {task.group!r}: part {place} of its network names a column that is not there.")
        child, *parents = (domain.names[int(link)] for link in links)
        if child not in task.columns or child in conditionals or not set(parents) <= known:
            raise ReleaseError(f"group {task.group!r}: its network is not in an order that rows can be drawn in.")
        shape = (prod(sizes[parent] for parent in parents), sizes[child])
        weights = table.astype(np.float64)
        if weights.shape != shape or not np.isfinite(weights).all() or (weights < 0).any() or (weights.sum(1) <= 0).any():
            raise ReleaseError(f"group {task.group!r}: the table of {child!r} is damaged.")
        families.append(Family(child, tuple(parents)))
        conditionals[child] = weights
        known.add(child)
    return FittedPrivBayes(sizes, tuple(families), conditionals)
