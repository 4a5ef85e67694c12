"""Which columns carry their previous value along: those that repeat it often, and more often than chance (recipe, step 10).

Such a column is generated as "the same as before, or else this": its table is measured where the value is new, and all rows that
repeat the value before stand in one cell of it. The stickiness is then one number, not the sum of many noisy ones.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from mare.domain import DIFFERENT, SAME, Axis, Marginal, Task

from .candidates import presence_level
from .settings import Settings
from .tables import Table

if TYPE_CHECKING:
    from mare.privacy.curator import ChosenClip, Curator

BEYOND_CHANCE = 0.5
"""Of the agreement that chance does not explain, how much there has to be (Cohen's kappa): a column that is nearly always NULL
repeats itself all the time, and carries nothing."""
MORE_OFTEN = 0.1
"""And by how much the rate has to be above chance: where chance explains nearly everything, the rest is noise."""
SEEN = 4.0
"""Rows with a previous row have to stand so many deviations clear of the noise."""
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
    found = {}
    for (column, name), answer in zip(possible.items(), answers, strict=True):
        chance = float((one_way[column] ** 2).sum())
        if sticks(float(answer.rows[SAME]), float(answer.rows[DIFFERENT]), answer.rows_deviation, chance, settings.carry):
            found[column] = name
    return found


def sticks(same: float, different: float, deviation: float, chance: float, least: float) -> bool:
    """Whether a column is worth carrying, by noisy numbers of rows that repeat the previous value and that do not."""
    later = same + different
    if later <= SEEN * deviation:
        return False
    # Noise may take the changes below nothing; but nothing repeats itself more often than always.
    rate = min(1.0, same / later)
    return rate >= least and rate - chance >= max(MORE_OFTEN, BEYOND_CHANCE * (1 - chance))
