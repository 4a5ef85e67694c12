"""The network: which columns each column is drawn from, chosen greedily and privately (recipe, step 7).

First the columns that carry their previous value along; then every other column gets a place in the order and at most one
parent, judged by how far the pair is from the released one-way table (sensitivity 1); then further parents, judged by what they
add given those chosen (sensitivity 2). History may be a parent only. A parent pays for the noise its cells will add and for the
dependence that chance alone shows, so "none" is an honest candidate and no threshold is needed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import sqrt
from typing import TYPE_CHECKING

import numpy as np

from mare.domain import Axis
from mare.privacy.qualities import Candidate, Tvd, TvdToReleased

from .candidates import Candidates, Family
from .noisy_tables import Table
from .settings import Settings

if TYPE_CHECKING:
    from mare.privacy.curator import Curator

FEW_ENTITIES = 30_000
"""Below it two parents a column are enough, above it three (recipe, step 7)."""

_RELEASED_TOTAL = 1_000_000
"""Released distributions are handed back to the curator as whole numbers that sum to about this."""
_SHOWN_BY_CHANCE = 0.4
"""Mean of |N(0,1)|/2: the TVD that noise of standard deviation 1 adds per cell."""


@dataclass(frozen=True)
class Evidence:
    """What is known, and paid for, before the network is chosen."""

    entities: float
    """n̂ of the entities."""
    one_way: Mapping[str, Table]
    """Distributions of the columns."""
    noise: float
    """What one cell of a family will be off by, as a fraction of all rows."""

    @property
    def tau(self) -> float:
        """Cells of a table whose average cell is four times its noise (NIST 2018, section 2.4)."""
        return 1 / (4 * max(self.noise, 1e-12))


class GreedySearch:
    """One greedy search. Every pick costs the same; picks that are not needed are not paid for."""

    def __init__(self, curator: Curator, candidates: Candidates, settings: Settings, evidence: Evidence) -> None:
        self._curator, self._candidates, self._settings, self._evidence = curator, candidates, settings, evidence
        self._most = settings.parents or (2 if evidence.entities < FEW_ENTITIES else 3)
        self._pick = settings.structure / max(1, (len(candidates.columns) + len(candidates.carried)) * self._most)
        self._released = {name: _whole(table) for name, table in evidence.one_way.items()}

    def run(self) -> list[Family]:
        families: list[Family] = []
        placed: list[str] = []
        carried = [name for name in self._candidates.columns if name in self._candidates.carried]
        for name in carried:
            families.append(self._further(self._candidates.repeating(name), placed, self._most - 1))
            families.append(self._further(self._candidates.alone(name), placed, self._most))
            placed.append(name)
        # How many rows there are comes first: what is drawn later cannot bend it.
        counts = [name for name in self._candidates.columns if name in self._candidates.task.counts and name not in placed]
        for columns in (counts, [name for name in self._candidates.columns if name not in (*placed, *counts)]):
            for start in self._order(columns, placed):
                families.append(self._further(start, placed, self._most - len(start.parents)))
                placed.append(start.column)
        return families

    def _order(self, columns: list[str], before: list[str]) -> list[Family]:
        """These columns, each with its first parent or none."""
        placed, left, families = list(before), list(columns), list[Family]()
        wide = len(left) > self._settings.greedy_columns
        while left:
            options: list[Family] = []
            candidates: list[Candidate | None] = []
            penalties: list[float] = []
            for name in left[:1] if wide else left:
                alone = self._candidates.alone(name)
                for parent in self._candidates.allowed(alone, placed):
                    options.append(alone.joined(parent))
                    candidates.append(TvdToReleased(alone.child, (parent,), self._released[name]))
                    penalties.append(self._penalty(alone, parent))
                options.append(alone)
                candidates.append(None)
                penalties.append(0.0)
            if all(candidate is None for candidate in candidates):
                # Nothing to look at yet: the order of the schema is as good as any, and costs nothing.
                chosen = options[0]
            else:
                chosen = options[self._curator.select(candidates, self._pick, penalties).index]
            families.append(chosen)
            placed.append(chosen.column)
            left.remove(chosen.column)
        return families

    def _further(self, family: Family, placed: list[str], most: int) -> Family:
        for _ in range(most):
            allowed = self._candidates.allowed(family, placed)
            if not allowed:
                break
            candidates: list[Candidate | None] = [None, *(Tvd(family.child, (parent,), family.parents) for parent in allowed)]
            penalties = [0.0, *(self._penalty(family, parent) for parent in allowed)]
            index = self._curator.select(candidates, self._pick, penalties).index
            if index == 0:
                break
            family = family.joined(allowed[index - 1])
        return family

    def _penalty(self, family: Family, parent: Axis) -> float:
        n, size = self._evidence.entities, self._candidates.size(family.child)
        added = self._candidates.cells(family.joined(parent)) - self._candidates.cells(family)
        noise = self._settings.noise_penalty * _SHOWN_BY_CHANCE * self._evidence.noise * added
        freedom = max(0.0, (size - 1) * (added / size))
        return n * (noise + self._settings.sampling_penalty * _SHOWN_BY_CHANCE * sqrt(freedom / n))


def _whole(table: Table) -> tuple[int, ...]:
    whole = np.floor(table * _RELEASED_TOTAL).astype(np.int64)
    if not whole.any():
        whole[:] = 1
    return tuple(int(value) for value in whole)
