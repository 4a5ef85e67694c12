"""What a column may be drawn from: the public rules that every search of a network keeps to.

A parent is an axis: a column or a history column as it is coded, or one of its public coarser levels (NIST 2018, section 3.1).
A family has at most one level of a column. History may be a parent only.

Columns carry their previous value along that repeat it often, and more often than chance (recipe, step 10; `carried_columns`).
Such a column is generated as "the same as before, or else this": its table is measured where the value is new, and all rows that
repeat the value before stand in one cell of it. The stickiness is then one number, not the sum of many noisy ones.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import hypot, inf, prod
from typing import TYPE_CHECKING

import numpy as np

from mare.domain import DIFFERENT, SAME, Axis, Coarsenings, Marginal, Task, axis_size

from .noisy_tables import Table
from .settings import Settings

if TYPE_CHECKING:
    from mare.privacy.curator import ChosenClip, Curator


@dataclass(frozen=True)
class Family:
    """A column and what it is drawn from, in the order of its table's axes."""

    child: Axis
    """The column; or, where it carries its previous value along, first whether it does, then the column where it is new."""
    parents: tuple[Axis, ...]

    @property
    def column(self) -> str:
        return self.child.column

    @property
    def repeats(self) -> bool:
        """Whether it says only if the previous value is repeated."""
        return self.child.same_as_lag > 0

    @property
    def marginal(self) -> Marginal:
        return Marginal((*self.parents, self.child))

    def joined(self, parent: Axis) -> Family:
        """With one parent more. Another level of the same column takes the place of the one that is there."""
        return Family(self.child, (*(other for other in self.parents if other.column != parent.column), parent))


@dataclass(frozen=True, eq=False)
class Candidates:
    """The task, its levels, and which columns are carried."""

    task: Task
    settings: Settings
    coarsenings: Coarsenings
    carried: Mapping[str, str] = field(default_factory=dict)
    """Columns that carry their previous value along: the name of that value in the history."""
    drowning: float = inf
    """Cells of a table whose average cell is no more than its noise, or than chance: a larger one may be coarsened."""
    apart_above: float = inf
    """A family with more cells than this is counted pair by pair: the child with each parent (`pairs`)."""
    roughly_above: float = inf
    """Numbers of children are told roughly where a table of them would have more cells than this."""
    _sizes: dict[Axis, int] = field(default_factory=dict, init=False, repr=False)
    """Of the axes that were asked for: each is asked for in every step."""

    @property
    def columns(self) -> tuple[str, ...]:
        return self.task.columns.names

    def size(self, axis: Axis) -> int:
        if axis not in self._sizes:
            self._sizes[axis] = axis_size(axis, self.task.domain, self.coarsenings)
        return self._sizes[axis]

    def cells(self, family: Family) -> int:
        return prod(map(self.size, (*family.parents, self.told(family))))

    def told(self, family: Family) -> Axis:
        """The child as its table counts it. A number of children has as many codes as there may be children: where noise would
        drown a table of them all and the first parent, it is told roughly, and how a rough number comes out by its one-way table.
        Further parents have to be worth it as it is told then: none makes it rougher."""
        levels = range(len(self.coarsenings.get(family.column, ())) + 1)
        if family.column not in self.task.counts or not family.parents or len(levels) == 1:
            return family.child
        above = self.size(family.parents[0])
        axes = [Axis(family.column, level=level) for level in levels]
        return next((axis for axis in axes if above * self.size(axis) <= self.roughly_above), axes[-1])

    def apart(self, family: Family) -> bool:
        return len(family.parents) > 1 and self.cells(family) > self.apart_above

    def parts(self, family: Family) -> tuple[Marginal, ...]:
        """The tables that a family is counted by: its own, or one for each parent."""
        if not self.apart(family):
            return (Marginal((*family.parents, self.told(family))),)
        return tuple(Marginal((parent, family.child)) for parent in family.parents)

    def counted_cells(self, family: Family) -> int:
        """Of all its tables together."""
        return sum(prod(map(self.size, part.axes)) for part in self.parts(family))

    def repeating(self, name: str) -> Family:
        """What the family begins with that says whether a carried column repeats the previous value: that value."""
        return Family(Axis(name, same_as_lag=1), (Axis(self.carried[name]),))

    def alone(self, name: str) -> Family:
        """What the family of a column begins with: whether there is a row before, where that says which codes it can have; of one
        that is carried, whether it is: else parents would be chosen that tell this, and not which value is new; of a number that
        is close to another one, that one."""
        near = self.task.near.get(name) if self.settings.search == "greedy" else None
        beside = () if near is None else (Axis(near),)
        if name in self.carried:
            return Family(Axis(name, new_since=1), (Axis(name, same_as_lag=1), *beside))
        if beside:
            return Family(Axis(name), beside)
        before = self._row_before if name in self.task.begins else None
        level = None if before is None else presence_level(before, self.task, self.coarsenings)
        return Family(Axis(name), () if before is None or level is None else (Axis(before, level=level),))

    @cached_property
    def _row_before(self) -> str | None:
        """A column of it that has a level for whether it is there."""
        lags = (name for name, (_, lag) in self.task.lags.items() if lag == 1)
        return next((name for name in lags if presence_level(name, self.task, self.coarsenings) is not None), None)

    def allowed(self, family: Family, placed: Sequence[str], *, late: bool | None = None) -> list[Axis]:
        """The axes that may join a family, when these columns have their place; ``late``: those alone that come late
        (`_comes_late`), or all others."""
        room = self.settings.max_cells
        taken = {axis.column for axis in family.parents if not self._is_presence(axis)}
        axes: list[Axis] = []
        for name in (*self.task.history, *placed):
            if name == family.column or name in taken or not self._may_look_back(family.column, name):
                continue
            if late is not None and late != self._comes_late(family.column, name):
                continue
            for axis in self.levels(name):
                cells = self.cells(family.joined(axis))
                axes += [axis] if cells <= room else []
                if cells <= (self.roughly_above if name in self.task.counts else self.drowning):
                    break
        if family.repeats and not late:
            # What repeats together (a visit's name and its number) is told so, not value by value.
            together = [Axis(name, same_as_lag=1) for name in placed if name in self.carried and name not in taken]
            axes += [axis for axis in together if self.cells(family.joined(axis)) <= room]
        return axes

    def levels(self, name: str) -> list[Axis]:
        """A column as it is coded, and its coarser levels; of a large domain these alone, where there are any. Fine to coarse."""
        most = self.settings.coarsen_above
        axes = [Axis(name, level=level) for level in range(len(self.coarsenings.get(name, ())) + 1)] if most else [Axis(name)]
        axes = [axis for axis in axes if not self._is_presence(axis)]
        return [axis for axis in axes if self.size(axis) <= most] or axes[-1:] if most else axes

    def _is_presence(self, axis: Axis) -> bool:
        return axis.level > 0 and presence_level(axis.column, self.task, self.coarsenings) == axis.level

    def _may_look_back(self, child: str, name: str) -> bool:
        """What happened in the row before tells more than one's own value there: a toxicity lowers the next dose. Of rows before
        that, only one's own is worth it: every candidate more makes all choices a little less sharp."""
        if (lag := self.task.lags.get(name)) is None:
            return True
        (column, distance), wish = lag, self.settings.looks_back
        return wish == "all" or (column == child and distance == 1) or (wish == "previous" and (distance == 1 or column == child))

    def _comes_late(self, child: str, name: str) -> bool:
        """Whether this says how far a sequence has come, to a column that does not take it further: the rows before, which are
        drawn better, are asked first."""
        return self.task.adds_up.get(name, child) != child


def presence_level(name: str, task: Task, coarsenings: Coarsenings) -> int | None:
    """The level of an earlier row's column that tells only whether there is such a row (its last code says that there is not)."""
    if name not in task.lags:
        return None
    wanted = np.arange(task.history.size(name)) == task.history.size(name) - 1
    for place, level in enumerate(coarsenings.get(name, ())):
        if level.size == 2 and (level.codes == wanted).all():
            return place + 1
    return None


BEYOND_CHANCE = 0.5
"""Of the agreement that chance does not explain, how much there has to be (Cohen's kappa): a column that is nearly always NULL
repeats itself all the time, and carries nothing."""
MORE_OFTEN = 0.1
"""And by how much the rate has to be above chance: where chance explains nearly everything, the rest is noise."""
SEEN = 4.0
"""Rows with a previous row have to stand so many deviations clear of the noise."""
CLEAR = 2.0
"""And the rate has to lie so many deviations above the one that is asked for."""
FEWEST_CODES = 5
"""A table of d codes by the d + 1 previous ones is no larger than the two that carrying takes, unless d is larger than 4."""


def may_carry(curator: Curator, task: Task, settings: Settings) -> dict[str, str]:
    """The columns whose previous value is in the history, with its name there. Public."""
    if settings.carry >= 1 or not curator.memory:
        return {}
    own = {column: name for name, (column, lag) in task.lags.items() if lag == 1 and column in task.columns}
    return {
        column: name
        for column, name in own.items()
        if task.columns.size(column) >= FEWEST_CODES
        and column not in task.counts
        and task.near.get(column, name) == name
        and 3 * task.history.size(name) <= settings.max_cells
        and task.history.size(name) == task.columns.size(column) + 1
        and presence_level(name, task, curator.coarsenings) is not None
    }


def carried_columns(
    curator: Curator,
    task: Task,
    settings: Settings,
    one_way: Mapping[str, Table],
    share: float,
    clip: ChosenClip | None,
) -> dict[str, str]:
    """Those of them that do, by their noisy rates. Costs the share, unless no column could."""
    possible = may_carry(curator, task, settings)
    if not possible:
        return {}
    answers = curator.counts([Marginal((Axis(column, same_as_lag=1),)) for column in possible], share, clip)
    carried = {}
    for (column, name), answer in zip(possible.items(), answers, strict=True):
        chance = float((one_way[column] ** 2).sum())
        if sticks(float(answer.rows[SAME]), float(answer.rows[DIFFERENT]), answer.rows_deviation, chance, settings.carry):
            carried[column] = name
    return carried


def sticks(same: float, different: float, deviation: float, chance: float, least: float) -> bool:
    """Whether a column is worth carrying, by noisy numbers of rows that repeat the previous value and that do not."""
    later = same + different
    if later <= SEEN * deviation:
        return False
    rate = max(least, chance + max(MORE_OFTEN, BEYOND_CHANCE * (1 - chance)))
    if rate >= 1:
        return False
    # A column that is carried without need forgets the rest of its row; one that is not carried still sees its previous value.
    beyond, noise = same * (1 - rate) - different * rate, deviation * hypot(1 - rate, rate)
    return beyond >= CLEAR * noise
