"""The network: which columns each column is drawn from, chosen greedily and privately (recipe, step 7).

First the columns that carry their previous value along, and those that say the same of different keys, whose parents are chosen
for all of them at once (`Task.alike`): each is too rare to show alone what they depend on. Then every other column gets a place
in the order and at most one parent, judged by how far the pair is from the released one-way table (sensitivity 1); then further
parents, judged by what they add given those chosen (sensitivity 2). History may be a parent only. A parent pays for the noise
its cells will add and for the dependence that chance alone shows, so "none" is an honest candidate and no threshold is needed.

Where chance hides more than noise does, a conditional score is mostly chance too: the more parents, the more cells. Then a
parent is also offered by what the family leaves unexplained of child and parent alone (`Tvd.merged`), a table of two that chance
hardly moves; and columns with few codes come first, so that those with many are drawn from them.

Where noise drowns the choices themselves, a network would be made of noise, and every table of it larger than it need be. So no
more choices are paid for than can be sharp; a column that none is left for stands alone, and its one-way table gets the budget.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf, log, prod, sqrt
from typing import TYPE_CHECKING

import numpy as np

from mare.domain import Axis
from mare.privacy.qualities import Candidate, Summed, Tvd, TvdToReleased

from .candidates import Candidates, Family
from .noisy_tables import Table
from .settings import Settings

if TYPE_CHECKING:
    from mare.privacy.curator import Curator

MOST_PARENTS = 6
CELLS_A_PARENT = 16
"""One parent more is worth trying for each factor of so many cells that stand clear of the noise (measured: two parents where a
table may have 500 cells, three where it may have 5,000)."""
PARENTS_IN_PAIRS, HEARD_IN_PAIRS = 2, 10.0
"""Pair by pair a parent adds cells and does not multiply them: so many more are worth trying. But pairs are read as they are,
where a large table is drawn towards smaller ones: their noise counts so many times as much."""
FEW_ROWS = 16.0
"""Of noise in a cell, up to which chance hides more than noise does along sequences (measured: half of Berka has 6 at ε = 1,000,
where it is so, and 23 at ε = 100, where it is not)."""
WORTH_SEEING = 0.15
"""A choice is worth paying for where a dependence of this TVD stands out among all that are offered."""
CONSTANT = 1.02
"""Codes that an axis has to chance where nearly all rows have the same: it tells nothing, and would take a parent's place."""
DOUBT = 0.3
"""How much of what chance makes the best of many worthless candidates look like is taken off all of them."""

DOUBT_FOR_ALL = 1.5
"""The same, for columns that are alike: a worthless parent would be in the tables of all of them, or stand beside one that tells
nearly everything."""

_RELEASED_TOTAL = 1_000_000
"""Released distributions are handed back to the curator as whole numbers that sum to about this."""
_SHOWN_BY_CHANCE = 0.4
"""Mean of |N(0,1)|/2: the TVD that noise of standard deviation 1 adds per cell."""


@dataclass(frozen=True)
class Evidence:
    """What is known, and paid for, before the network is chosen."""

    entities: float
    """n̂ of the entities that have rows here."""
    one_way: Mapping[str, Table]
    """Distributions of the columns."""
    noise: float
    """What one cell of a family will be off by, as a fraction of all rows."""
    rows: float = inf
    """n̂ of the rows."""
    feeds_back: bool = False
    """Whether rows are drawn from earlier ones of the same group."""

    @property
    def clear_cells(self) -> float:
        """Cells of a table whose average cell is as large as its noise."""
        return 1 / max(self.noise, 1e-12)

    @property
    def told_by_chance(self) -> bool:
        """Whether a table that has as many cells as there are rows still stands clear of the noise: chance alone limits it. Along
        sequences a parent that chance has chosen misleads row after row, so there a few rows of noise in a cell are no more."""
        return self.noise * self.rows <= (FEW_ROWS if self.feeds_back else 1.0)

    @property
    def parents(self) -> int:
        """How many parents a column may have: as many as its table has cells for. Where noise is less than a row, chance alone
        limits them, and what a parent pays for that says when there are enough."""
        if self.noise * self.rows <= 1:
            return MOST_PARENTS
        return min(max(round(log(max(self.clear_cells, 1.0)) / log(CELLS_A_PARENT)), 1), MOST_PARENTS)

    @property
    def tau(self) -> float:
        """Cells of a table whose average cell is four times its noise (NIST 2018, section 2.4)."""
        return self.clear_cells / 4


class GreedySearch:
    """One greedy search. Every pick costs the same; picks that are not needed are not paid for."""

    def __init__(self, curator: Curator, candidates: Candidates, settings: Settings, evidence: Evidence) -> None:
        self._curator, self._candidates, self._settings, self._evidence = curator, candidates, settings, evidence
        in_pairs = PARENTS_IN_PAIRS if candidates.apart_above < evidence.clear_cells else 0
        self._most = settings.parents or min(evidence.parents + in_pairs, MOST_PARENTS)
        alike = sum(map(len, candidates.task.alike))
        choices = len(candidates.columns) + len(candidates.carried) - alike + len(candidates.task.alike)
        self._left = self._sharp_picks(choices * self._most + alike)
        self._pick = settings.structure / max(1, self._left)
        self._varied: dict[Axis, float] = {}
        self._released = {name: _whole(table) for name, table in evidence.one_way.items()}

    def run(self) -> list[Family]:
        families: list[Family] = []
        placed: list[str] = []
        told_above = {name: self._told_above(name, before) for name, before in self._candidates.carried.items()}
        carried = {name: before for name, before in self._candidates.carried.items() if told_above[name] is None}
        self._candidates = replace(self._candidates, carried=carried)
        for name, parent in told_above.items():
            if parent is not None:
                families.append(self._further(self._candidates.alone(name).joined(parent), placed, self._most - 1))
                placed.append(name)
        for name in (name for name in self._candidates.columns if name in carried):
            families.append(self._further(self._candidates.repeating(name), placed, self._most - 1))
            families.append(self._further(self._candidates.alone(name), placed, self._most))
            placed.append(name)
        for alike in self._candidates.task.alike:
            for start in self._for_all([name for name in alike if name not in placed], placed):
                families.append(self._further(start, placed, 1, DOUBT_FOR_ALL))
                placed.append(start.column)
        # How many rows there are comes first: what is drawn later cannot bend it.
        counts = [name for name in self._candidates.columns if name in self._candidates.task.counts and name not in placed]
        for columns in (counts, [name for name in self._candidates.columns if name not in (*placed, *counts)]):
            for start in self._order(columns, placed):
                begun = len(self._candidates.alone(start.column).parents)
                families.append(self._further(start, placed, self._most + begun - len(start.parents)))
                placed.append(start.column)
        return families

    def _told_above(self, name: str, before: str) -> Axis | None:
        """What, if anything, tells more than the row before of a column that could be carried: who charges at home comes back
        there from wherever they were, and what is new in a row tells that worse than the row itself. Of many that tell nothing
        the best looks better by chance, and a column that is not carried for it would change in every row: so it has to tell
        more than that."""
        alone, lags = Family(Axis(name), ()), self._candidates.task.lags
        others = [axis for axis in self._candidates.allowed(alone, ()) if axis.column not in lags]
        if not self._left or not others:
            return None
        offered = [Axis(before), *others]
        scored: list[Candidate | None] = [TvdToReleased(alone.child, (axis,), self._released[name]) for axis in offered]
        doubt = self._curator.blur(self._pick) * log(len(offered))
        penalties = [self._penalty(alone, axis) + (doubt if place else 0.0) for place, axis in enumerate(offered)]
        picked = self._choose(scored, penalties)
        return offered[picked] if picked else None

    def _sharp_picks(self, wanted: int) -> int:
        """How many choices can be paid for so that each is sharp enough: b entities behind is chosen e times less often, and of m
        candidates that are worth nothing some will look like b·log m."""
        offered = sum(
            len(self._candidates.allowed(start, [other for other in self._candidates.columns if other != start.column]))
            for start in map(self._candidates.alone, self._candidates.columns)
        )
        blur = self._curator.blur(self._settings.structure) * log(max(2, offered))
        sharp = (WORTH_SEEING * self._evidence.entities / blur) ** (1 if self._curator.pure else 2)
        return int(min(wanted, sharp))

    def _order(self, columns: list[str], before: Sequence[str]) -> list[Family]:
        """These columns, each with its first parent or none."""
        placed, left, families = list(before), list(columns), list[Family]()
        one_by_one = len(left) > self._settings.greedy_columns
        if self._evidence.told_by_chance:
            # By doublings: of columns that are about as large the schema's first is first.
            left.sort(key=lambda name: (self._candidates.task.columns.size(name) - 1).bit_length())
            one_by_one = True
        while left:
            options: list[Family] = []
            candidates: list[Candidate | None] = []
            penalties: list[float] = []
            # A number that is near another one of its row is drawn from it, so it comes later.
            ready = [name for name in left if self._candidates.task.near.get(name) not in left]
            for name in ready[:1] if one_by_one else ready:
                alone = self._candidates.alone(name)
                for parent in self._candidates.allowed(alone, placed, late=False):
                    options.append(joined := alone.joined(parent))
                    told = self._candidates.told(joined)
                    candidates.append(TvdToReleased(told, joined.parents, self._released_as(told)))
                    penalties.append(self._penalty(alone, parent))
                options.append(alone)
                # What a family begins with is no choice: the others are judged by what they tell beyond it.
                candidates.append(TvdToReleased(alone.child, alone.parents, self._released[name]) if alone.parents else None)
                penalties.append(0.0)
            if not self._left or len(options) == (1 if one_by_one else len(ready)):
                # Nothing to look at yet, or nothing to pay with: the order of the schema is as good as any, and costs nothing.
                chosen = self._candidates.alone(ready[0])
            else:
                chosen = options[self._choose(candidates, penalties)]
            families.append(chosen)
            placed.append(chosen.column)
            left.remove(chosen.column)
        return families

    def _for_all(self, columns: Sequence[str], placed: Sequence[str]) -> list[Family]:
        """These columns, each with the parents that were chosen for all: the same ones, or each its own previous value."""
        families = [self._candidates.alone(name) for name in columns]
        for step in range(self._most if len(columns) > 1 else 0):
            allowed = [self._candidates.allowed(family, placed) if self._left else [] for family in families]
            shared = [axis for axis in allowed[0] if all(axis in others for others in allowed)]
            offered = [tuple(axis for _ in families) for axis in shared if axis.column not in self._candidates.task.lags]
            if step:
                # The row before explains as much, but for the first row: what is wrong there goes on. So it is not asked first.
                offered += zip(*(self._own(axes, name) for axes, name in zip(allowed, columns, strict=True)), strict=False)
            if not offered:
                continue
            candidates: list[Candidate | None] = [None, *(self._summed(families, parents) for parents in offered)]
            penalties = [0.0, *(sum(map(self._penalty, families, parents)) for parents in offered)]
            moves = len(families) * (2 if families[0].parents else 1)
            index = self._choose(candidates, penalties, moves, DOUBT_FOR_ALL)
            if index:
                families = [family.joined(parent) for family, parent in zip(families, offered[index - 1], strict=True)]
            elif step:
                break
        return families

    def _own(self, axes: Sequence[Axis], name: str) -> list[Axis]:
        return [axis for axis in axes if self._candidates.task.lags.get(axis.column) == (name, 1)]

    def _summed(self, families: Sequence[Family], parents: Sequence[Axis]) -> Summed:
        """What these parents tell beyond those that are chosen already."""
        pairs = zip(families, parents, strict=True)
        if families[0].parents:
            return Summed(tuple(Tvd(family.child, (parent,), family.parents) for family, parent in pairs))
        return Summed(tuple(TvdToReleased(family.child, (parent,), self._released[family.column]) for family, parent in pairs))

    def _further(self, family: Family, placed: Sequence[str], most: int, doubt: float = DOUBT) -> Family:
        """With so many parents more, as long as they tell more than chance; what comes late when nothing else does."""
        sooner = self._joined(family, placed, most, doubt, late=False)
        return self._joined(sooner, placed, most + len(family.parents) - len(sooner.parents), doubt, late=True)

    def _joined(self, family: Family, placed: Sequence[str], most: int, doubt: float, *, late: bool) -> Family:
        for _ in range(most):
            allowed = self._candidates.allowed(family, placed, late=late) if self._left else []
            allowed = [axis for axis in allowed if self._to_chance(axis) > CONSTANT]
            if not allowed:
                break
            told = [self._candidates.told(family.joined(parent)) for parent in allowed]
            scored = [Tvd(child, (parent,), family.parents) for child, parent in zip(told, allowed, strict=True)]
            candidates: list[Candidate | None] = [None, *scored]
            penalties = [0.0, *(self._penalty(family, parent) for parent in allowed)]
            # Numbers of children depend on no more than they must: the more, the less even they come out.
            if self._evidence.told_by_chance and family.column not in self._candidates.task.counts:
                candidates += [Tvd(family.child, (parent,), family.parents, merged=True) for parent in allowed]
                penalties += [self._merged_penalty(family, parent) for parent in allowed]
            index = self._choose(candidates, penalties, 2, doubt)
            if index == 0:
                break
            family = family.joined(allowed[(index - 1) % len(allowed)])
        return family

    def _choose(self, candidates: list[Candidate | None], penalties: list[float], moves: int = 1, doubt: float = DOUBT) -> int:
        """The place of the chosen one. ``moves`` is how far one entity moves a score: so much less sharp is the choice."""
        self._left -= 1
        offered = sum(candidate is not None for candidate in candidates)
        # Of many that are worth nothing one looks best by chance: together they are given no more weight than a few.
        by_chance = doubt * moves * self._curator.blur(self._pick) * log(max(2, offered))
        doubts = [0.0 if candidate is None else by_chance for candidate in candidates]
        doubted = [penalty + doubt for penalty, doubt in zip(penalties, doubts, strict=True)]
        return self._curator.select(candidates, self._pick, doubted).index

    def _penalty(self, family: Family, parent: Axis) -> float:
        n, joined = self._evidence.entities, family.joined(parent)
        added = self._candidates.counted_cells(joined) - self._candidates.counted_cells(family)
        heard = HEARD_IN_PAIRS if self._candidates.apart(joined) else 1.0
        noise = self._settings.noise_penalty * heard * _SHOWN_BY_CHANCE * self._evidence.noise * max(added, 0)
        before, after = (prod(map(self._to_chance, each.parents)) for each in (family, joined))
        freedom = max(0.0, (self._to_chance(self._candidates.told(joined)) - 1) * (after - before))
        return n * (noise + self._settings.sampling_penalty * _SHOWN_BY_CHANCE * sqrt(freedom / self._told_by(family, parent)))

    def _merged_penalty(self, family: Family, parent: Axis) -> float:
        """Chance alone, of a table of the two: noise is no matter where these are offered."""
        n, task = self._evidence.entities, self._candidates.task
        freedom = max(0.0, (self._to_chance(family.child) - 1) * (self._to_chance(parent) - 1))
        return n * _SHOWN_BY_CHANCE * sqrt(freedom / max(n, task.told_by.get(parent.column, n)))

    def _told_by(self, family: Family, parent: Axis) -> float:
        """Rows that tell what a parent does to the child. Rows of one person are alike in what they share with each other, unless
        the row before is known: what is new in a row then is its own."""
        task, n = self._candidates.task, self._evidence.entities
        goes_on = any(axis.column in task.lags for axis in family.parents)
        return max(n, max(task.told_by.values(), default=n) if goes_on else task.told_by.get(parent.column, n))

    def _to_chance(self, axis: Axis) -> float:
        """How many codes an axis has to chance: (Σ√p)², which is all of them where they are equally frequent, and hardly more
        than one where nearly all rows have the same. What is not known of history counts in full."""
        if axis not in self._varied:
            shown, size = self._distribution(axis), float(self._candidates.size(axis))
            self._varied[axis] = size if shown is None else min(size, max(1.0, float(np.sqrt(shown).sum() ** 2)))
        return self._varied[axis]

    def _released_as(self, axis: Axis) -> tuple[int, ...]:
        """What was released of a column, on one of its levels."""
        released = self._released[axis.column]
        if not axis.level:
            return released
        level = self._candidates.coarsenings[axis.column][axis.level - 1]
        return tuple(np.bincount(level.codes, weights=released, minlength=level.size).astype(np.int64).tolist())

    def _distribution(self, axis: Axis) -> Table | None:
        task = self._candidates.task
        column, _ = task.lags.get(axis.column, (axis.column, 0))
        shown = self._evidence.one_way.get(column)
        if shown is None and task.rehearsed is not None and axis.column in task.rehearsed.columns:
            seen = np.bincount(task.rehearsed[axis.column], minlength=task.history.size(axis.column))
            shown = seen / max(1, seen.sum())
        if shown is None or axis.same_as_lag:
            return None
        if not axis.level:
            return shown
        level = self._candidates.coarsenings[axis.column][axis.level - 1]
        # A row that is not there has a code of its own: how many of those there are is not known, and no matter.
        return np.asarray(np.bincount(level.codes[: len(shown)], weights=shown, minlength=level.size))


def _whole(table: Table) -> tuple[int, ...]:
    whole = np.floor(table * _RELEASED_TOTAL).astype(np.int64)
    if not whole.any():
        whole[:] = 1
    return tuple(int(value) for value in whole)
