"""The network of the NIST 2018 entry: noisy scores of all pairs, once; then the network from them, free of charge.

Algorithms 1 to 3 of the paper. A family has at most τ = n̂ / (4σ) cells, so that the average cell is four times its noise. History
is in the network from the start; where there is none, Algorithm 2 finds the columns that the others begin from.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mare.domain import Axis
from mare.privacy.qualities import Tvd

from .candidates import Candidates, Family
from .network import Evidence
from .settings import Settings

if TYPE_CHECKING:
    from mare.privacy.curator import Curator


class NoisyScoreSearch:
    """One search. All of its budget goes into one charge."""

    def __init__(self, curator: Curator, candidates: Candidates, settings: Settings, evidence: Evidence) -> None:
        self._curator, self._candidates, self._settings = curator, candidates, settings
        self._tau = evidence.tau
        self._scores: dict[tuple[str, Axis], float] = {}

    def run(self) -> list[Family]:
        self._measure()
        columns = list(self._candidates.columns)
        families = [] if len(self._candidates.task.history) or len(columns) < 2 else self._beginning()
        while len(families) < len(columns):
            placed = [family.column for family in families]
            left = [name for name in columns if name not in placed]
            # How many rows there are comes first: what is drawn later cannot bend it.
            left = [name for name in left if name in self._candidates.task.counts] or left
            # Ties go to the schema's order; a column that nothing speaks for has a sum of 0.
            families.append(max((self._best(name, placed) for name in left), key=self._sum))
        return [part for family in families for part in (*self._repeating(family), family)]

    def _repeating(self, family: Family) -> list[Family]:
        """Before a column that is carried: whether it repeats the previous value, which depends on that value."""
        return [self._candidates.repeating(family.column)] if family.child.new_since else []

    def _measure(self) -> None:
        """Algorithm 1: each pair once, given whether there is a value to carry along where one is."""
        pairs: list[tuple[str, Axis]] = []
        for name in self._candidates.columns:
            alone = self._candidates.alone(name)
            others = [other for other in self._candidates.columns if other != name]
            pairs += [(name, axis) for axis in self._candidates.allowed(alone, others)]
        starts = {name: self._candidates.alone(name) for name in self._candidates.columns}
        asked = {(name, axis): Tvd(starts[name].child, (axis,), starts[name].parents) for name, axis in pairs}
        # A pair of two columns has one score, whichever is the child.
        distinct: dict[frozenset[Axis], Tvd] = {}
        for tvd in asked.values():
            distinct.setdefault(frozenset((tvd.child, *tvd.parents, *tvd.given)), tvd)
        if not distinct:
            return
        scores = self._curator.scores(list(distinct.values()), self._settings.structure).entities
        by_axes = dict(zip(distinct, scores.tolist(), strict=True))
        self._scores = {pair: by_axes[frozenset((tvd.child, *tvd.parents, *tvd.given))] for pair, tvd in asked.items()}

    def _beginning(self) -> list[Family]:
        """Algorithm 2: the first pair, and what fits around it; all of them depend on one another."""
        sizes = {pair: self._candidates.size(Axis(pair[0])) * self._candidates.size(pair[1]) for pair in self._scores}
        plain = [pair for pair in self._scores if not pair[1].level]
        if not plain:
            return []
        first, second = max(plain, key=lambda pair: self._scores[pair] / sizes[pair])
        families = [self._candidates.alone(second.column), self._candidates.alone(first).joined(second)]
        if self._scores[first, second] <= 0:
            return families[:1]
        left = [name for name in self._candidates.columns if name not in (first, second.column)]
        most = self._settings.parents or len(left) + 1
        while left and len(families) <= most:
            placed = [family.column for family in families]
            name = max(left, key=lambda column: self._normalised(column, placed))
            left.remove(name)
            family = Family(Axis(name), tuple(Axis(parent) for parent in placed))
            if self._fits(family):
                families.append(family)
        return families

    def _best(self, name: str, placed: list[str]) -> Family:
        """Algorithm 3: parents by their score, the largest first, as long as the table is no larger than τ."""
        family = self._candidates.alone(name)
        most = self._settings.parents or len(self._candidates.task.domain)
        for _ in range(most):
            allowed = [axis for axis in self._candidates.allowed(family, placed) if self._fits(family.joined(axis))]
            allowed = [axis for axis in allowed if self._scores.get((name, axis), 0.0) > 0]
            if not allowed:
                break
            family = family.joined(max(allowed, key=lambda axis: self._scores[name, axis]))
        return family

    def _fits(self, family: Family) -> bool:
        return self._candidates.cells(family) <= min(self._tau, self._settings.max_cells)

    def _normalised(self, name: str, others: list[str]) -> float:
        """The scores with these columns, each by the cells of the pair."""
        cells = {other: self._candidates.size(Axis(name)) * self._candidates.size(Axis(other)) for other in others}
        return sum(self._scores.get((name, Axis(other)), 0.0) / cells[other] for other in others)

    def _sum(self, family: Family) -> float:
        return sum(self._scores.get((family.column, axis), 0.0) for axis in family.parents)
