"""`SettledPlan`: the plan with everything that the data had a say in, every bit of it paid for.

Noisy sizes, domains as they are coded, final shares: post-processing of private answers, and stored in the release.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from mare.codec import LearnedDomains
from mare.domain import Domain, OptionValue, Task
from mare.graph.groups import ColumnGroup


@dataclass(frozen=True)
class SettledGroup:
    """One column group as it was fitted."""

    group: ColumnGroup
    model: str
    options: Mapping[str, OptionValue]
    columns: Domain
    history: Domain
    sensitivity: int
    """S: rows that one entity may have here, by caps that were enforced."""
    rows: float
    """n̂: noisy, never the true number."""
    share: float
    """Fraction of the models' budget."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "options", MappingProxyType(dict(self.options)))

    @property
    def name(self) -> str:
        return self.group.name

    @property
    def task(self) -> Task:
        return Task(self.name, self.columns, self.history, self.options, self.group.lags, self.group.counts)


@dataclass(frozen=True)
class SettledPlan:
    """What was fitted, in order."""

    entities: int
    """n̂ of the entities: noisy, at least 1. What `sample` makes unless told otherwise."""
    groups: tuple[SettledGroup, ...]
    chosen: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    """Public keys that were chosen with budget, by who refers to them: a table (its association) or `table.reference`."""

    learned: LearnedDomains = field(default_factory=dict)
    """Domains that were learned with budget: values, bounds, bins and the fine histograms to draw from."""

    def group(self, name: str) -> SettledGroup:
        for settled in self.groups:
            if settled.name == name:
                return settled
        raise KeyError(name)
