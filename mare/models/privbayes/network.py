"""The network: which columns each column is drawn from, chosen greedily and privately (recipe, step 7).

First every column gets a place in the order and at most one parent, judged by how far the pair is from the released one-way
table (sensitivity 1); then further parents, judged by what they add given those chosen (sensitivity 2). History may be a
parent only. A parent pays for the noise its cells will add and for the dependence that chance alone shows, so "none" is an
honest candidate and no threshold is needed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod, sqrt
from typing import TYPE_CHECKING

import numpy as np

from mare.domain import Axis, Task
from mare.privacy.qualities import Candidate, Tvd, TvdToReleased

from .settings import Settings
from .tables import Table

if TYPE_CHECKING:
    from mare.privacy.curator import Curator

_RELEASED_TOTAL = 1_000_000
"""Released distributions are handed back to the curator as whole numbers that sum to about this."""
_SHOWN_BY_CHANCE = 0.4
"""Mean of |N(0,1)|/2: the TVD that noise of standard deviation 1 adds per cell."""


@dataclass(frozen=True)
class Family:
    """A column and what it is drawn from, in the order of its table's axes."""

    child: str
    parents: tuple[str, ...]


@dataclass(frozen=True)
class Evidence:
    """What is known, and paid for, before the network is chosen."""

    entities: float
    """n̂ of the entities."""
    one_way: Mapping[str, Table]
    """Distributions of the columns."""
    noise: float
    """What one cell of a family will be off by, as a fraction of all rows."""


class NetworkSearch:
    """One greedy search. Every pick costs the same; picks that are not needed are not paid for."""

    def __init__(self, curator: Curator, task: Task, settings: Settings, evidence: Evidence) -> None:
        self._curator, self._task, self._settings, self._evidence = curator, task, settings, evidence
        self._most = settings.parents or (2 if evidence.entities < 30_000 else 3)
        self._pick = settings.structure / max(1, len(task.columns) * self._most)
        self._released = {name: _whole(table) for name, table in evidence.one_way.items()}
        self._size = dict(zip(task.domain.names, task.domain.sizes, strict=True))

    def run(self) -> list[Family]:
        order = self._order()
        placed: list[str] = []
        families = []
        for child, first in order:
            families.append(Family(child, self._further(child, first, placed)))
            placed.append(child)
        return families

    def _order(self) -> list[tuple[str, tuple[str, ...]]]:
        """All columns, each with its first parent or none."""
        left, found = list(self._task.columns), list[tuple[str, tuple[str, ...]]]()
        wide = len(left) > self._settings.greedy_columns
        while left:
            placed = [child for child, _ in found]
            options: list[tuple[str, tuple[str, ...]]] = []
            candidates: list[Candidate | None] = []
            penalties: list[float] = []
            for child in left[:1] if wide else left:
                for parent in self._allowed(child, placed, ()):
                    options.append((child, (parent,)))
                    candidates.append(TvdToReleased(Axis(child), (Axis(parent),), self._released[child]))
                    penalties.append(self._penalty(child, (), parent))
                options.append((child, ()))
                candidates.append(None)
                penalties.append(0.0)
            if all(candidate is None for candidate in candidates):
                # Nothing to look at yet: the order of the schema is as good as any, and costs nothing.
                chosen = options[0]
            else:
                chosen = options[self._curator.select(candidates, self._pick, penalties).index]
            found.append(chosen)
            left.remove(chosen[0])
        return found

    def _further(self, child: str, first: tuple[str, ...], placed: list[str]) -> tuple[str, ...]:
        parents = first
        while len(parents) < self._most:
            allowed = self._allowed(child, placed, parents)
            if not allowed:
                break
            given = tuple(Axis(parent) for parent in parents)
            candidates: list[Candidate | None] = [None, *(Tvd(Axis(child), (Axis(parent),), given) for parent in allowed)]
            penalties = [0.0, *(self._penalty(child, parents, parent) for parent in allowed)]
            index = self._curator.select(candidates, self._pick, penalties).index
            if index == 0:
                break
            parents = (*parents, allowed[index - 1])
        return parents

    def _allowed(self, child: str, placed: list[str], parents: tuple[str, ...]) -> list[str]:
        room = self._settings.max_cells // self._cells(child, parents)
        return [
            name
            for name in (*self._task.history, *placed)
            if name != child and name not in parents and self._size[name] <= room and self._may_look_back(child, name)
        ]

    def _may_look_back(self, child: str, name: str) -> bool:
        """Of earlier rows, a column looks at its own previous value only: more is rarely worth the noise (recipe, step 8)."""
        lag = self._task.lags.get(name)
        return lag is None or self._settings.wide_lags or lag == (child, 1)

    def _cells(self, child: str, parents: tuple[str, ...]) -> int:
        return self._size[child] * prod(self._size[parent] for parent in parents)

    def _penalty(self, child: str, parents: tuple[str, ...], parent: str) -> float:
        n, cells = self._evidence.entities, self._cells(child, parents)
        added = cells * self._size[parent] - cells
        noise = self._settings.noise_penalty * _SHOWN_BY_CHANCE * self._evidence.noise * added
        slices = cells / self._size[child]
        freedom = (self._size[child] - 1) * (self._size[parent] - 1) * slices
        return n * (noise + self._settings.sampling_penalty * _SHOWN_BY_CHANCE * sqrt(freedom / n))


def _whole(table: Table) -> tuple[int, ...]:
    whole = np.floor(table * _RELEASED_TOTAL).astype(np.int64)
    if not whole.any():
        whole[:] = 1
    return tuple(int(value) for value in whole)
