"""Tables that agree on every column they share, at every level of it (NIST 2018, section 3.2 and Algorithm 5; recipe, step 12).

Every table says something about the distribution of each of its axes. What they say is brought together by inverse-variance
weights, coarse levels are brought together with fine ones, and the tables are raked to it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import sqrt
from typing import TYPE_CHECKING

import numpy as np

from mare.domain import Axis, Coarsenings, Task, norm_subtract

from .candidates import Family
from .children import settled_children
from .measured import Measured
from .rehearsed import Rehearsed
from .settings import Settings
from .tables import Table, conditional, one_axis, rake, shrink, strongest_first, weighted_mean

if TYPE_CHECKING:
    from mare.privacy.curator import NoisyCounts

Said = dict[Axis, list[tuple[Table, float]]]
"""By axis: distributions as measured (some cells may be negative), each with the variance of its cells."""


def agreed_conditionals(
    task: Task,
    settings: Settings,
    coarsenings: Coarsenings,
    families: Sequence[Family],
    singles: Sequence[Measured],
    counted: Sequence[Measured],
) -> dict[Axis, Table]:
    """By what it draws, each family's conditional table."""
    said: Said = {}
    for single in singles:
        said.setdefault(single.counts.marginal.axes[0], []).append((single.fractions, single.variance))
    for family, table in zip(families, counted, strict=True):
        for place, axis in enumerate(family.marginal.axes):
            cells = table.fractions.size / table.fractions.shape[place]
            said.setdefault(axis, []).append((one_axis(table.fractions, place), cells * table.variance))
    rehearsed = Rehearsed(task, coarsenings)
    margins = settled_margins(said, coarsenings, task.counts)
    margins |= {axis: rehearsed.table((axis,)) for axis in said if rehearsed.knows((axis,))}
    return {
        family.child: _carried(table.counts)
        if family.repeats or family.child.new_since
        else _conditional(settings, family, table, margins, rehearsed)
        for family, table in zip(families, counted, strict=True)
    }


def settled_margins(said: Said, coarsenings: Coarsenings, counts: frozenset[str]) -> dict[Axis, Table]:
    """One distribution per axis. Levels of one column agree: the coarse ones are sums of the fine one."""
    means = {axis: weighted_mean(estimates) for axis, estimates in said.items()}
    margins: dict[Axis, Table] = {}
    for axis, (mean, variance) in means.items():
        if axis.level or axis.new_since or axis.same_as_lag:
            continue
        # The most general first: what follows does not undo it. Whether a column repeats is no level of the column.
        coarse = sorted((one for one in means if one.level and replace(one, level=0) == axis), key=lambda one: -one.level)
        for one in coarse:
            mean = _brought_together(mean, variance, coarsenings[one.column][one.level - 1].codes, *means[one])
        margins[axis] = settled_children(mean, sqrt(variance)) if axis.column in counts else norm_subtract(mean)
        for one in coarse:
            level = coarsenings[one.column][one.level - 1]
            margins[one] = np.asarray(np.bincount(level.codes, weights=margins[axis], minlength=level.size), dtype=np.float64)
    return {**{axis: norm_subtract(mean) for axis, (mean, _) in means.items() if axis not in margins}, **margins}


def _brought_together(fine: Table, variance: float, codes: np.ndarray, coarse: Table, coarse_variance: float) -> Table:
    """The fine distribution, moved so that its sums are the weighted mean of what both say; each cell by the same amount."""
    members = np.bincount(codes, minlength=len(coarse))
    sums = np.bincount(codes, weights=fine, minlength=len(coarse))
    own, other = 1 / np.maximum(members * variance, 1e-300), 1 / max(coarse_variance, 1e-300)
    wanted = (own * sums + other * coarse) / (own + other)
    return np.asarray(fine + ((wanted - sums) / np.maximum(members, 1))[codes])


def _conditional(
    settings: Settings, family: Family, measured: Measured, margins: Mapping[Axis, Table], rehearsed: Rehearsed
) -> Table:
    child = margins[family.child]
    if not family.parents:
        return child[None, :]
    believed = _believed(measured.counts.rows, measured.counts.rows_deviation, child)
    if rehearsed.knows(family.parents):
        joint = (believed * rehearsed.table(family.parents)[..., None]).reshape(-1, len(child))
        return conditional(rake(joint, [joint.sum(axis=1), child], settings.raking), child)
    joint = believed * norm_subtract(measured.fractions.sum(axis=-1))[..., None]
    return conditional(rake(joint, [margins[axis] for axis in family.marginal.axes], settings.raking), child)


def _carried(counts: NoisyCounts) -> Table:
    """Different or the same, given that there is a previous row; or the value, given that it is new.

    What cannot be is not looked at: of the first table the rows without a previous one, of the second those that repeat it.
    """
    table = counts.rows[..., :-1]
    seen = table.reshape(-1, table.shape[-1]).sum(axis=0)
    child = norm_subtract(seen / max(float(seen.sum()), counts.rows_deviation * sqrt(table.size), 1e-9))
    believed = _believed(table, counts.rows_deviation, child)
    return np.asarray(believed.reshape(-1, table.shape[-1]))


def _believed(table: Table, deviation: float, child: Table) -> Table:
    """The conditionals, whatever the order in which the parents were found."""
    order = [*strongest_first(table, deviation, child), table.ndim - 1]
    return np.asarray(shrink(table.transpose(order), deviation, child).transpose(np.argsort(order)))
