"""Tables that agree on every column they share, at every level of it (NIST 2018, section 3.2 and Algorithm 5; recipe, step 12).

Every table says something about the distribution of each of its axes. What they say is brought together by inverse-variance
weights, coarse levels are brought together with fine ones, and the tables are raked to it. Parents are taken
as they are drawn (`rehearsed`), wherever that is known.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import inf, sqrt
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mare.domain import (
    Axis,
    Coarsenings,
    Task,
    have_children,
    in_agreement,
    norm_subtract,
    rare_children,
    settled_children,
    with_mean,
    with_one_tail,
    without_unclear,
)
from mare.models.clarity import Clarity, ClearTable, Margin

from .balance import flows, in_balance
from .candidates import Family
from .noisy_tables import Measured, Table, conditional, one_axis, rake, shrink, strongest_first, weighted_mean
from .pairs import from_pairs
from .rehearsed import Rehearsed
from .settings import Settings

if TYPE_CHECKING:
    from mare.privacy.curator import NoisyCounts

Estimates = dict[Axis, list[tuple[Table, float]]]
"""By axis: distributions as measured (some cells may be negative), each with the variance of its cells."""


def agreed_conditionals(
    task: Task,
    settings: Settings,
    coarsenings: Coarsenings,
    families: Sequence[Family],
    singles: Sequence[Measured],
    counted: Sequence[Sequence[Measured]],
) -> dict[Axis, Table]:
    """By what it draws, each family's conditional table. A family is counted by one table, or by one for each of its parents."""
    estimates = _estimates(singles, counted)
    rehearsed = Rehearsed(task, coarsenings)
    margins = settled_margins(estimates, coarsenings, task)
    margins |= {axis: rehearsed.table((axis,)) for axis in estimates if rehearsed.knows((axis,))}
    conditionals: dict[Axis, Table] = {}
    repeats: dict[str, tuple[Family, NoisyCounts]] = {}
    for family, parts in zip(families, counted, strict=True):
        if family.repeats or family.child.new_since:
            doubtful = () if family.repeats else task.doubtful.get(family.column, ())
            if family.repeats or family.column not in task.near:
                conditionals[family.child] = _carried(parts[0].counts, doubtful)
                repeats |= {family.column: (family, parts[0].counts)} if family.repeats else {}
            else:
                _renewed(family, parts[0].counts, *repeats[family.column], conditionals, margins, settings, doubtful)
            continue
        noisy, variance = weighted_mean(estimates[family.child])
        # Numbers of children are told by how many there are in all, too.
        clipped = parts[0].counts.clip is not None and family.column not in task.counts
        by_noise = variance if clipped else inf
        if family.column in task.counts and not have_children(noisy, _unsure(task, len(noisy), variance)):
            # Who has rows does not stand clear of the noise: still less does what it depends on.
            conditionals[family.child] = np.tile(margins[family.child], (parts[0].counts.values[..., 0].size, 1))
        elif len(parts) > 1:
            alone = [rehearsed.table((axis,)) for axis in family.parents]
            pairs = [_believed(part.counts.rows, part.counts.rows_deviation, margins[family.child]) for part in parts]
            drawn = [(table @ pair, part.variance * len(table)) for table, pair, part in zip(alone, pairs, parts, strict=True)]
            child = _unbent(margins[family.child], by_noise, drawn)
            conditionals[family.child] = from_pairs(rehearsed.table(family.parents), pairs, child, settings.raking)
        else:
            told = parts[0].counts.marginal.axes[-1]
            near = task.near.get(family.column)
            known, unsure = weighted_mean(estimates[told])
            tail = rare_children(known, sqrt(unsure), margins[told]) if family.column in task.counts else NO_TAIL
            conditionals[family.child] = _conditional(settings, family, parts[0], margins, rehearsed, by_noise, near, tail)
            if told.level:
                codes = coarsenings[told.column][told.level - 1].codes
                conditionals[family.child] = _in_full(conditionals[family.child], codes, margins[family.child])
        rehearsed.draw(family, conditionals[family.child])
    return conditionals


def _renewed(
    renewed: Family,
    counts: NoisyCounts,
    repeating: Family,
    repeated: NoisyCounts,
    conditionals: dict[Axis, Table],
    margins: Mapping[Axis, Table],
    settings: Settings,
    doubtful: tuple[int, ...],
) -> None:
    """What a carried column is where it is new, in balance with whether it repeats the value before."""
    values, before = margins[Axis(renewed.column)], repeating.parents[0]
    flowing = flows(repeated, counts, values)
    conditionals[renewed.child] = _carried(counts, doubtful, flowing.arriving)
    previous = next((place for place, axis in enumerate(renewed.parents) if axis == before), None)
    both = conditionals[repeating.child], conditionals[renewed.child]
    moved = in_balance(flowing, repeated, counts, *both, values, previous, settings.raking)
    conditionals[repeating.child], conditionals[renewed.child] = moved


def clarity_of(
    task: Task, coarsenings: Coarsenings, singles: Sequence[Measured], counted: Sequence[Sequence[Measured]]
) -> Clarity:
    """How far all of that stands clear of the noise."""
    estimates = _estimates(singles, counted)
    settled = settled_margins(estimates, coarsenings, task)
    deviations = {axis: sqrt(weighted_mean(several)[1]) for axis, several in estimates.items()}
    rows = {single.counts.marginal.axes[0]: single.total for single in singles}
    margins = {axis.column: Margin(settled[axis], deviations[axis], total) for axis, total in rows.items() if not axis.level}
    tables = [
        ClearTable(tuple(axis.column for axis in part.counts.marginal.axes), part.counts.values.size, sqrt(part.variance))
        for parts in counted
        for part in parts
    ]
    return Clarity(margins, tuple(tables))


def _estimates(singles: Sequence[Measured], counted: Sequence[Sequence[Measured]]) -> Estimates:
    estimates: Estimates = {}
    for single in singles:
        estimates.setdefault(single.counts.marginal.axes[0], []).append((single.fractions, single.variance))
    for table in (part for parts in counted for part in parts):
        for place, axis in enumerate(table.counts.marginal.axes):
            cells = table.fractions.size / table.fractions.shape[place]
            estimates.setdefault(axis, []).append((one_axis(table.fractions, place), cells * table.variance))
    return estimates


def settled_margins(
    estimates: Estimates,
    coarsenings: Coarsenings,
    task: Task,
) -> dict[Axis, Table]:
    """One distribution per axis. Levels of one column agree: the coarse ones are sums of the fine one."""
    means = {axis: weighted_mean(several) for axis, several in estimates.items()}
    margins: dict[Axis, Table] = {}
    for axis, (mean, variance) in means.items():
        if axis.level or axis.new_since or axis.same_as_lag:
            continue
        # The most general first: what follows does not undo it. Whether a column repeats is no level of the column.
        coarser = sorted(
            (other for other in means if other.level and replace(other, level=0) == axis), key=lambda other: -other.level
        )
        for other in coarser:
            mean = _brought_together(mean, variance, coarsenings[other.column][other.level - 1].codes, *means[other])
        mean = without_unclear(mean, task.doubtful.get(axis.column, ()), sqrt(variance))
        margins[axis] = settled_children(mean, sqrt(variance)) if axis.column in task.counts else norm_subtract(mean)
        if axis.column in task.counts and task.children is not None:
            margins[axis] = with_mean(margins[axis], sqrt(variance), task.children, _unsure(task, len(mean), variance))
        if axis.column in task.counts and task.children_in_cells is not None:
            margins[axis] = in_agreement(margins[axis], sqrt(variance), task.children_in_cells)
        for other in coarser:
            level = coarsenings[other.column][other.level - 1]
            margins[other] = np.asarray(np.bincount(level.codes, weights=margins[axis], minlength=level.size), dtype=np.float64)
    return {**{axis: norm_subtract(mean) for axis, (mean, _) in means.items() if axis not in margins}, **margins}


def _unsure(task: Task, cells: int, variance: float) -> float:
    """The deviation of the share of those who have children, told by those who have none: by their number, and by how many there
    are in all, as the cells together say it and as it may be known."""
    known = 0.0 if task.rows is None else (task.rows.value / max(task.rows.deviation, 1e-9)) ** 2
    return sqrt(variance + 1 / (1 / max(cells * variance, 1e-300) + known))


def _brought_together(fine: Table, variance: float, codes: np.ndarray, coarse: Table, coarse_variance: float) -> Table:
    """The fine distribution, moved so that its sums are the weighted mean of what both say; each cell by the same amount."""
    members = np.bincount(codes, minlength=len(coarse))
    sums = np.bincount(codes, weights=fine, minlength=len(coarse))
    own, other = 1 / np.maximum(members * variance, 1e-300), 1 / max(coarse_variance, 1e-300)
    wanted = (own * sums + other * coarse) / (own + other)
    return np.asarray(fine + ((wanted - sums) / np.maximum(members, 1))[codes])


NO_TAIL = np.zeros(0, dtype=np.int64)


def _conditional(
    settings: Settings,
    family: Family,
    measured: Measured,
    margins: Mapping[Axis, Table],
    rehearsed: Rehearsed,
    by_noise: float,
    close_to: str | None,
    tail: NDArray[np.int64],
) -> Table:
    """``tail``: of a number of children, those that hardly anybody has and that do not stand clear of the noise."""
    axes, rows, deviation = measured.counts.marginal.axes, measured.counts.rows, measured.counts.rows_deviation
    child = whole = margins[axes[-1]]
    if not family.parents:
        return child[None, :]
    if len(tail):
        rows, child = with_one_tail(rows, deviation, whole, tail), np.append(np.delete(whole, tail), whole[tail].sum())
    near = next((place for place, axis in enumerate(family.parents) if axis.column == close_to), None)
    believed = _believed(rows, deviation, child, near)
    if rehearsed.knows(family.parents):
        parents = rehearsed.table(family.parents)
        joint = (believed * parents[..., None]).reshape(-1, len(child))
        child = _unbent(child, by_noise, [(joint.sum(axis=0), measured.variance * parents.size)])
        raked = rake(joint, [joint.sum(axis=1), child], settings.raking)
    else:
        parents = norm_subtract(rows.sum(axis=-1) / measured.total)
        raked = rake(believed * parents[..., None], [*(margins[axis] for axis in axes[:-1]), child], settings.raking)
    # Parents that were not seen together come together nevertheless, along sequences above all: then the child follows those of
    # them that it follows elsewhere. Raking makes nothing of them, or of the little that is there in place of nothing.
    drawn = conditional(np.where(parents[..., None] > 0, raked.reshape(believed.shape), 0.0), believed)
    if not len(tail):
        return drawn
    codes = np.zeros(len(whole), dtype=np.int64)
    codes[tail], codes[np.delete(np.arange(len(whole)), tail)] = len(child) - 1, np.arange(len(child) - 1)
    return _in_full(drawn, codes, whole)


def _unbent(child: Table, by_noise: float, drawn: Sequence[tuple[Table, float]]) -> Table:
    """How a column is distributed, where clipping has bent what its tables say of that.

    Entities with many rows were scaled down, and who orders much may order other things. Among rows with the same parents, how
    many rows there are among these, that is no matter; and parents come out as often as they should. ``drawn`` is how the column
    comes out by its parents, with the variance of its cells: what is further off than noise explains is believed.
    """
    best, most = child, 0.0
    for told, variance in drawn:
        bent = float(((child - told) ** 2).mean()) - by_noise - variance
        if bent > most:
            best, most = child + bent / (bent + variance) * (told - child), bent
    return best


def _in_full(rough: Table, codes: np.ndarray, child: Table) -> Table:
    """The conditionals of all codes from those of a level: what is one there comes out as all rows together have it."""
    members = np.bincount(codes).astype(np.float64)
    whole = np.bincount(codes, weights=child)
    within = np.where(whole[codes] > 0, child / np.maximum(whole[codes], 1e-300), 1 / members[codes])
    return np.asarray(rough[:, codes] * within)


def _carried(counts: NoisyCounts, doubtful: tuple[int, ...], arriving: Table | None = None) -> Table:
    """Different or the same, given that there is a previous row; or the value, given that it is new.

    What cannot be is not looked at: of the first table the rows without a previous one, of the second those that repeat it.
    """
    table = counts.rows[..., :-1]
    seen = table.reshape(-1, table.shape[-1]).sum(axis=0)
    hidden = counts.rows_deviation * sqrt(table.size)
    there = without_unclear(seen, doubtful, hidden / sqrt(table.shape[-1]))
    child = norm_subtract(there / max(float(seen.sum()), hidden, 1e-9))
    if arriving is not None and (known := np.where(np.isfinite(there), arriving, 0.0)).sum() > 0:
        child = known / known.sum()
    believed = np.where(np.isfinite(there), _believed(table, counts.rows_deviation, child), 0.0).reshape(-1, table.shape[-1])
    mass = believed.sum(axis=1, keepdims=True)
    return np.asarray(np.where(mass > 0, believed / np.maximum(mass, 1e-300), child))


def _believed(table: Table, deviation: float, child: Table, near: int | None = None) -> Table:
    """The conditionals, whatever the order in which the parents were found; but a parent that the child is close to is believed
    first: two weights of one day that have come apart would stay so, each where its own was the day before."""
    order = sorted(strongest_first(table, deviation, child), key=lambda parent: parent != near)
    order.append(table.ndim - 1)
    return np.asarray(shrink(table.transpose(order), deviation, child).transpose(np.argsort(order)))
