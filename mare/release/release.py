"""`Release`: everything that sampling needs and nothing that was not paid for. It may leave the house when it is PRIVATE.

`SettledPlan` is the plan with everything that the data had a say in: noisy sizes, domains as they are coded, final shares. All of
it is post-processing of private answers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from mare.codec import LearnedDomains
from mare.domain import Task
from mare.models import FittedModel, get_model
from mare.notebook import page
from mare.planning import Warned
from mare.planning.plan import ModelledGroup
from mare.relational.placing import alike_of, lags_of
from mare.relational.public import PublicTables
from mare.schema import Schema
from mare.schema.reflection import ReflectedTable

if TYPE_CHECKING:
    from mare.privacy.ledger import Ledger

NOT_PRIVATE = "NOT PRIVATE"
Arrays = Mapping[str, NDArray[np.generic]]


@dataclass(frozen=True)
class SettledGroup(ModelledGroup):
    """As it was fitted."""

    rows: float
    """n̂: noisy, never the true number."""
    share: float
    """Fraction of the models' budget."""

    @property
    def task(self) -> Task:
        lags, alike = lags_of(self.group, self.history), alike_of(self.group, self.columns)
        return Task(self.name, self.columns, self.history, self.options, lags, self.group.counts, alike=alike)


@dataclass(frozen=True)
class SettledPlan:
    """What was fitted, in order."""

    entities: int
    """n̂ of the entities: noisy, at least 1. What `sample` makes unless told otherwise."""
    groups: tuple[SettledGroup, ...]
    chosen: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    """Public keys that were chosen with budget, by who refers to them: a table (its association) or `table.reference`."""
    counts: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    """Their noisy counts."""
    learned: LearnedDomains = field(default_factory=dict)
    """Domains that were learned with budget: values, bounds, bins and the fine histograms to draw from."""

    doubts: tuple[Warned, ...] = ()
    """What the fit did not find out: lists that stayed empty, ranges that never stood clear. It follows from noisy answers."""

    def group(self, name: str) -> SettledGroup:
        for settled in self.groups:
            if settled.name == name:
                return settled
        raise KeyError(name)


@dataclass(frozen=True, eq=False)
class Release:
    """A fitted synthesizer. `save` writes it, `load_release` reads it back, `sample` draws from it."""

    schema: Schema
    plan: SettledPlan
    tables: tuple[ReflectedTable, ...]
    """What comes out, parents before children: the source's types, the schema's keys."""
    arrays: Mapping[str, Arrays]
    """Per column group, all that its model knows."""
    ledger: Ledger
    """What was charged, and why the release is private or is not."""
    public: PublicTables = field(default_factory=dict)
    """The public tables, whole: they come out as they are, and others refer to them."""

    @cached_property
    def id(self) -> str:
        """A hash of the release: targets carry it, so that one can tell where they came from."""
        from .archive import release_id

        return release_id(self)

    @property
    def status(self) -> Literal["PRIVATE", "NOT PRIVATE"]:
        return self.ledger.status

    @property
    def warning(self) -> str | None:
        """What every print of this release has to say; None when it is private."""
        if self.status != NOT_PRIVATE:
            return None
        return f"{NOT_PRIVATE}: {'; '.join(self.ledger.reasons)}"

    @property
    def doubts(self) -> tuple[Warned, ...]:
        """What this release does not know, by column, and what to change. Free to tell: it follows from noisy answers."""
        return self.plan.doubts

    def model(self, group: str) -> FittedModel:
        """The fitted model of a column group."""
        settled = self.plan.group(group)
        return get_model(settled.model).load(settled.task, self.arrays[group])

    def save(self, path: str | Path, *, replace: bool = False) -> None:
        """Write the release file, over another release only if told so. It appears complete or not at all."""
        from .archive import save_release

        save_release(self, Path(path), replace=replace)

    def _repr_html_(self) -> str:
        """For notebooks."""
        sizes = [(group.name, len(group.columns), f"{group.rows:,.0f}") for group in self.plan.groups]
        facts = [f"{self.plan.entities:,} entities, noisily", *map(str, self.doubts)]
        return page(str(self)[1:-1], ("group", "columns", "rows, noisily"), sizes, facts)

    def __repr__(self) -> str:
        budget = self.ledger.budget
        return (
            f"<Release {self.schema.name or 'unnamed'}: {len(self.tables)} tables, {len(self.plan.groups)} models, "
            f"ε = {budget.epsilon:g}, δ = {budget.delta:g}, {self.status}>"
        )
