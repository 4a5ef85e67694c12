"""`PrivBayesModel`: measure one-way tables, choose a network, measure its families, make them agree."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import sqrt
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from mare.domain import Marginal, OptionValue, Task
from mare.models.protocol import FittedModel, Workload

from .fitted import FittedPrivBayes, load_fitted
from .network import Evidence, Family, NetworkSearch
from .settings import OPTIONS, Settings
from .tables import Table, conditional, consensus, cut_tail, norm_subtract, one_axis, rake, shrink

if TYPE_CHECKING:
    from mare.privacy.curator import ChosenClip, Curator, NoisyCounts

_ENTITIES = 0.005
"""Share for n̂: the penalties of the search need it."""


class PrivBayesModel:
    """The default: a Bayesian network over the group's columns and their history."""

    name: ClassVar[str] = "privbayes"
    summary: ClassVar[str] = (
        "A Bayesian network, chosen and measured privately: keeps correlations in rows, upwards and along time."
    )
    options: ClassVar[Mapping[str, OptionValue]] = OPTIONS

    def workload(self, task: Task) -> Workload:
        """The one-way tables: the least that has to survive the noise. Families are no larger than the noise lets them be."""
        sizes = task.columns.sizes
        return Workload(histograms=len(sizes), largest=max(sizes, default=0), cells=sum(sizes))

    def fit(self, curator: Curator, task: Task) -> FittedModel:
        settings = Settings.of(task)
        sizes = dict(zip(task.domain.names, task.domain.sizes, strict=True))
        if not len(task.columns):
            return FittedPrivBayes(sizes, (), {})
        entities = max(50.0, float(curator.entities(_ENTITIES).value))
        singles = curator.counts([Marginal.of(name) for name in task.columns], settings.one_way, _clip(curator, settings))
        one_way = {name: _distribution(single) for name, single in zip(task.columns, singles, strict=True)}
        rest = 1 - _ENTITIES - settings.one_way - settings.structure
        evidence = Evidence(entities, one_way, _relative_noise(singles[0]) * sqrt(settings.one_way / rest))
        families = NetworkSearch(curator, task, settings, evidence).run()
        # What the search did not use goes to the families.
        marginals = [Marginal.of(*family.parents, family.child) for family in families]
        counted = curator.counts(marginals, curator.remaining, _clip(curator, settings))
        return FittedPrivBayes(sizes, tuple(families), _agreed(task, settings, families, singles, counted))

    def load(self, task: Task, arrays: Mapping[str, NDArray[np.generic]]) -> FittedModel:
        return load_fitted(task, arrays)


def _clip(curator: Curator, settings: Settings) -> ChosenClip | None:
    """One factor per entity, chosen with budget; an entity with one row has nothing to clip."""
    from mare.privacy.curator import Clip

    if curator.max_rows_per_entity == 1 or settings.clip_portion == 0:
        return None
    return Clip.chosen(portion=settings.clip_portion, bias=settings.clip_bias)


def _total(counts: NoisyCounts) -> float:
    """Rows of a noisy table: at least what its noise could hide."""
    noise = counts.rows_deviation * sqrt(counts.values.size)
    return max(float(counts.rows.sum()), noise, 1e-9)


def _distribution(counts: NoisyCounts) -> Table:
    return norm_subtract(counts.rows / _total(counts))


def _relative_noise(counts: NoisyCounts) -> float:
    return counts.rows_deviation / _total(counts)


def _agreed(
    task: Task, settings: Settings, families: Sequence[Family], singles: Sequence[NoisyCounts], counted: Sequence[NoisyCounts]
) -> dict[str, Table]:
    """Conditional tables that agree on every column they share (NIST 2018, Algorithm 5; recipe, step 12)."""
    said: dict[str, list[tuple[Table, float]]] = {}
    for name, single in zip(task.columns, singles, strict=True):
        total = _total(single)
        said.setdefault(name, []).append((single.rows / total, (single.rows_deviation / total) ** 2))
    for family, counts in zip(families, counted, strict=True):
        total, table = _total(counts), counts.rows
        for axis, name in enumerate((*family.parents, family.child)):
            cells = table.size / table.shape[axis]
            said.setdefault(name, []).append((one_axis(table, axis) / total, cells * (counts.rows_deviation / total) ** 2))
    margins = {name: consensus(estimates) for name, estimates in said.items()}
    for name in task.counts & margins.keys():
        precision = sum(1 / max(variance, 1e-300) for _, variance in said[name])
        margins[name] = cut_tail(margins[name], sqrt(1 / precision))
    return {
        family.child: _conditional(settings, family, counts, margins) for family, counts in zip(families, counted, strict=True)
    }


def _conditional(settings: Settings, family: Family, counts: NoisyCounts, margins: Mapping[str, Table]) -> Table:
    child = margins[family.child]
    if not family.parents:
        return child[None, :]
    table, total = counts.rows, _total(counts)
    believed = shrink(table, counts.rows_deviation, child)
    parents = norm_subtract(table.sum(axis=-1), total)
    joint = believed * (parents / total)[..., None]
    names = (*family.parents, family.child)
    return conditional(rake(joint, [margins[name] for name in names], settings.raking), child)
