"""`PrivBayesModel`: measure one-way tables, choose a network, measure its families, make them agree."""

from __future__ import annotations

from collections.abc import Mapping
from math import inf, sqrt
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from mare.domain import Marginal, OptionValue, Task, norm_subtract
from mare.models.protocol import FittedModel, Workload

from .agreement import agreed_conditionals, clarity_of
from .candidates import Candidates, carried_columns
from .fitted import Beginning, FittedPrivBayes, first_task, load_fitted, row_before
from .network import Evidence, GreedySearch
from .noisy_scores import NoisyScoreSearch
from .noisy_tables import Measured, measured_together
from .rehearsed import rehearses_all
from .settings import OPTIONS, Settings

if TYPE_CHECKING:
    from mare.privacy.curator import ChosenClip, Curator

_ENTITIES = 0.005
"""Share for n̂: the penalties of the search need it."""
_FEWEST = 50.0
"""Entities, as far as noise can tell."""
_ROWS_A_CELL = 4.0
"""A table whose cells have fewer rows than this on average shows chance as much as dependence: a coarser one may tell more."""
_CLEAR_OF_NOISE = 20.0
"""A table whose average cell is below so many deviations of its noise is counted pair by pair, where it can be."""
_CLEAR_BEGINNING = 500.0
"""First rows have tables of their own where so many cells of one would stand clear of the noise."""
_LONG = 2.0
"""Of shorter sequences first rows are most of all: the tables of all rows tell enough of them. So they do of numbers of
children, whatever the length."""
_RATES = 0.005
"""Share for how often columns repeat their previous value."""


class PrivBayesModel:
    """The default: a Bayesian network over the group's columns and their history."""

    name: ClassVar[str] = "privbayes"
    summary: ClassVar[str] = (
        "A Bayesian network, chosen and measured privately: keeps correlations in rows, upwards and along time."
    )
    options: ClassVar[Mapping[str, OptionValue]] = OPTIONS

    def workload(self, task: Task) -> Workload:
        """The one-way tables: the least that has to survive the noise. Families are no larger than the noise lets them be."""
        Settings.of(task)  # options that make no sense are told while nothing is paid
        sizes = task.columns.sizes
        return Workload(histograms=len(sizes), largest=max(sizes, default=0), cells=sum(sizes))

    def fit(self, curator: Curator, task: Task) -> FittedModel:
        return _network(curator, task, Settings.of(task))

    def load(self, task: Task, arrays: Mapping[str, NDArray[np.generic]]) -> FittedModel:
        return load_fitted(task, arrays)


def _network(curator: Curator, task: Task, settings: Settings) -> FittedPrivBayes:
    """Of the rows that the curator is for."""
    sizes = dict(zip(task.domain.names, task.domain.sizes, strict=True))
    if not len(task.columns):
        return FittedPrivBayes(sizes, (), {})
    entities = max(_FEWEST, float(curator.entities(_ENTITIES, with_rows=True).value))
    singles = _one_way(curator, task, settings)
    exact = [single for single in singles if not single.counts.marginal.axes[0].level]
    one_way = {single.counts.marginal.axes[0].column: norm_subtract(single.fractions) for single in exact}
    beginning = _beginning(curator, task, settings, entities, exact[-1])
    carried = carried_columns(curator, task, settings, one_way, _RATES, _clip(curator, settings))
    rest = max(1e-9, curator.remaining - settings.structure)
    rows = max([entities, *task.told_by.values()])
    noise = min(_expected_noise(task, settings, single, rest) for single in exact)
    evidence = Evidence(entities, one_way, noise, rows, bool(task.lags))
    room = min(evidence.clear_cells, rows / _ROWS_A_CELL)
    apart_above = evidence.clear_cells / _CLEAR_OF_NOISE if _in_pairs(task, settings) else inf
    candidates = Candidates(task, settings, curator.coarsenings, carried, room, apart_above, evidence.tau)
    search = GreedySearch if settings.search == "greedy" else NoisyScoreSearch
    families = search(curator, candidates, settings, evidence).run()
    carried = {family.column: carried[family.column] for family in families if family.repeats}
    # What the search did not use goes to the families.
    asked = [candidates.parts(family) for family in families]
    counted = curator.counts([part for parts in asked for part in parts], curator.remaining, _clip(curator, settings))
    together = iter(measured_together(counted, task.rows))
    tables = [[next(together) for _ in parts] for parts in asked]
    conditionals = agreed_conditionals(task, settings, curator.coarsenings, families, singles, tables)
    looked_at = {axis for family in families for axis in family.parents if axis.level}
    levels = {axis: curator.coarsenings[axis.column][axis.level - 1].codes for axis in looked_at}
    clarity = clarity_of(task, curator.coarsenings, singles, tables)
    drawn = settings.replacement, beginning
    return FittedPrivBayes(sizes, tuple(families), conditionals, levels, carried, *drawn, clarity)


def _beginning(curator: Curator, task: Task, settings: Settings, entities: float, single: Measured) -> Beginning | None:
    """A network of the first rows of sequences alone, where the noise leaves room for one.

    In the tables of all rows the row before explains nearly everything, and what an entity is like explains the little that is
    left: the longer the sequences, the less of it. But whoever begins in the wrong place stays there.
    """
    previous = row_before(task)
    if previous is None or not curator.memory or not settings.first_rows:
        return None
    if task.counts or (task.length is not None and task.length < _LONG):
        return None
    if entities < _CLEAR_BEGINNING * _noise_of_first_rows(task, settings, single):
        return None
    network = _network(curator.beginnings(settings.first_rows), first_task(task), settings)
    return Beginning(network, previous, task.history.size(previous) - 1)


def _noise_of_first_rows(task: Task, settings: Settings, single: Measured) -> float:
    """What a cell of their tables will be off by, in rows: an entity has one of them."""
    counts, tables = single.counts, len(task.columns)
    unit, more = counts.standard_deviation / counts.sensitivity, settings.one_way / settings.first_rows
    return unit * tables * more if counts.mechanism == "discrete laplace" else unit * sqrt(tables * more)


def _in_pairs(task: Task, settings: Settings) -> bool:
    """Whether families may be counted pair by pair: it must be known how their parents come out together. A number of children is
    nearly alone in its group: four pairs instead of its one table would have twice the noise."""
    return settings.search == "greedy" and rehearses_all(task) and not task.counts & set(task.columns)


def _clip(curator: Curator, settings: Settings) -> ChosenClip | None:
    """One factor per entity, chosen with budget; an entity with one row has nothing to clip."""
    from mare.privacy.curator import Clip

    if curator.max_rows_per_entity == 1 or settings.clip_portion == 0:
        return None
    return Clip.chosen(portion=settings.clip_portion, bias=settings.clip_bias)


def _one_way(curator: Curator, task: Task, settings: Settings) -> list[Measured]:
    """Numbers of children on their own, for what is wrong with them is wrong many times over; the other columns together."""
    singles: list[Measured] = []
    counts = [name for name in task.columns if name in task.counts]
    others = [name for name in task.columns if name not in counts]
    for share, asked in ((settings.children, counts), (settings.one_way, others)):
        together = curator.counts([*map(Marginal.of, asked)], share, _clip(curator, settings)) if asked else []
        singles += measured_together(together, task.rows)
    return singles


def _expected_noise(task: Task, settings: Settings, single: Measured, share: float) -> float:
    """What a cell of the families will be off by, all measured together with this share, as a fraction of all rows.

    Told from a table that was measured: noise goes with √(tables / share) under (ε, δ), with tables / share under pure ε. Tables
    that were measured apart have clips of their own, and in families rows fall into more cells than in any of them: the narrowest
    clip is nearest to theirs. A wide one may be a bad choice: where nobody has rows enough to be cut, all wide ones look alike.
    """
    counts = len(task.counts & set(task.columns))
    own = single.counts.marginal.axes[0].column in task.counts
    measured = counts / settings.children if own else (len(task.columns) - counts) / settings.one_way
    more = len(task.columns) / share / measured
    return sqrt(single.variance) * (more if single.counts.mechanism == "discrete laplace" else sqrt(more))
