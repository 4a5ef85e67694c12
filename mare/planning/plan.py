"""`Plan`: what will be modelled, with which noise, in which order. Public: it is made from the schema alone.

    schema ─► groups ─► **Plan** ─► (fit: noisy sizes, learned domains) ─► SettledPlan

Everything that `fit` does to the data is fixed here, before any data is touched. Sizes are upper bounds where a
domain will be learned; shares and noise are a preview, worked out by the function that `fit` uses with noisy sizes.

`phase_shares` splits the whole budget between the phases of a fit, before the models share the rest:

    sizes ─► learn domains ─► models

How many entities there are, and how many rows each table has, gets a tenth at most, and no more than it needs: with many
entities next to nothing (decision 18). The other numbers are those of the measured recipe (step 2): for learned domains a
quarter where there are 10,000 entities, falling to a tenth at 100,000; and more, up to most of the budget, where few entities
have much to tell: what is not known of a column no model puts right (decision 8). The preview uses the assumed number of
entities, the fit its noisy one.

The same plan gives the same JSON bytes: keys have a fixed order, numbers are in Python's shortest exact form.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from math import log10
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal

from mare.domain import Domain, OptionValue, Task
from mare.graph.groups import ColumnGroup
from mare.notebook import page
from mare.privacy.budget import Budget
from mare.schema.yaml_writing import dump_schema

if TYPE_CHECKING:
    from mare.schema import Schema

Verdict = Literal["fine", "noisy", "drowns"]
"""What the preview expects of a group: its counts stand clear of the noise, or touch it, or vanish in it."""


@dataclass(frozen=True)
class ModelledGroup:
    """One column group, and what its model is told whether it was planned or fitted."""

    group: ColumnGroup
    """Columns and history, as the correlation PDAG gives them."""
    model: str
    """Name of the model, as the registry knows it."""
    options: Mapping[str, OptionValue]
    """The model's options: its defaults overlaid with what the schema says."""
    columns: Domain
    """What the model generates. What unrolls a vocabulary appears once per key: `exists(drug_id)#0`."""
    history: Domain
    """What the model may look at, named as ``str(HistoryColumn)``."""
    sensitivity: int
    """S: rows that one entity may have here at most, by caps that are enforced."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "options", MappingProxyType(dict(self.options)))

    @property
    def name(self) -> str:
        return self.group.name


@dataclass(frozen=True)
class PlannedGroup(ModelledGroup):
    """As it is planned: sizes are upper bounds."""

    learned: frozenset[str]
    """Columns of this group whose domain is learned, and paid for, before the model is fitted."""
    reason: str
    """How S came about: `10 admissions × 10 transfers = 100`."""

    @property
    def task(self) -> Task:
        """What the model is asked to do, in upper bounds."""
        return Task(self.name, self.columns, self.history, self.options, self.group.lags, self.group.counts)


@dataclass(frozen=True)
class GroupPreview:
    """What to expect of one group, with assumed sizes. `fit` works the shares out again with noisy sizes."""

    name: str
    rows: float
    """Rows that the view is assumed to have: declared or assumed, never read."""
    share: float
    """Part of the models' budget, by the allocation rule."""
    cost: float
    """That share in the budget's own unit: ρ of zCDP where δ > 0, else ε."""
    histograms: int
    """Cross-tabs that the model measures together at most."""
    largest: int
    """Cells of the largest of them."""
    cells: int
    """Cells of all of them."""
    noise: float
    """Standard deviation of the noise on every cell, if the contributions were bounded by S alone."""
    per_cell: float
    """Mean count of a cell of the largest cross-tab, under the assumed rows."""
    relative_error: float
    """Expected total-variation distance that noise alone adds to the largest cross-tab (capped at 1)."""
    verdict: Verdict


@dataclass(frozen=True)
class Warned:
    """One thing that a person should know, and what to change: of a plan before the budget is spent, of a release what it does
    not know."""

    where: str
    """A column group, a column, or a path of the schema."""
    what: str
    remedy: str

    def __str__(self) -> str:
        return f"{self.where}: {self.what}. {self.remedy}"


@dataclass(frozen=True)
class Plan:
    """The public plan of a fit. The same schema and budget give the same plan, byte for byte."""

    schema: Schema
    budget: Budget
    groups: tuple[PlannedGroup, ...]
    """In the order in which they are fitted and sampled: history always comes first."""
    tables: tuple[str, ...]
    """Every table that comes out, in generation order: public and pool tables first, parents before children."""
    allocation: Literal["balanced", "paper", "error"]
    """How the budget is split between groups."""
    phases: Phases
    """How the budget is split between sizes, learning and the models, for the assumed number of entities."""
    preview: tuple[GroupPreview, ...]
    """One per group, in the same order."""
    entities: float
    """How many the preview reckons with."""
    entities_guessed: bool
    """Nobody said how many there are, neither the schema nor the caller: the verdicts hold for a guess."""
    assumptions: tuple[str, ...]
    """What the preview takes for granted without having read it."""
    public: tuple[str, ...] = ()
    """What counts as public knowledge: nothing of it is protected."""
    peeked: tuple[str, ...] = ()
    """Paths of the schema that were filled in by looking at the data: `fit` refuses them."""
    warnings: tuple[Warned, ...] = ()
    notes: tuple[str, ...] = ()
    """What is good to know and needs no action."""

    def group(self, name: str) -> PlannedGroup:
        """The group of that name: ``admissions.rows``."""
        return {planned.name: planned for planned in self.groups}[name]

    def _repr_html_(self) -> str:
        """For notebooks."""
        guess = f" if {self.entities:,.0f}" if self.entities_guessed else ""
        pairs = zip(self.groups, self.preview, strict=True)
        rows = [(g.name, len(g.columns), g.sensitivity, f"{100 * p.share:.1f} %", p.verdict + guess) for g, p in pairs]
        title = f"Plan of {self.schema.name or 'a schema'}: ε = {self.budget.epsilon:g}, δ = {self.budget.delta:g}"
        return page(title, ("group", "columns", "S", "share", "verdict"), rows, map(str, self.warnings))

    def to_dict(self) -> dict[str, object]:
        """The plan in lists and mappings, as JSON has them."""
        return {
            "plan": _FORMAT,
            "budget": {"epsilon": self.budget.epsilon, "delta": self.budget.delta},
            # as YAML: JSON would turn the keys of a mapping by value (ranges) into texts
            "schema": dump_schema(self.schema),
            "tables": list(self.tables),
            "groups": [_group_to_dict(group) for group in self.groups],
            "allocation": self.allocation,
            "phases": asdict(self.phases),
            "preview": [asdict(seen) for seen in self.preview],
            "entities": {"count": self.entities, "guessed": self.entities_guessed},
            "assumptions": list(self.assumptions),
            "public": list(self.public),
            "peeked": list(self.peeked),
            "warnings": [asdict(warned) for warned in self.warnings],
            "notes": list(self.notes),
        }

    def to_json(self) -> str:
        """The plan as JSON: the same bytes for the same plan."""
        return json.dumps(self.to_dict(), indent=2, ensure_ascii=False, allow_nan=False) + "\n"


SIZES = 0.11
LEARN_FEW, LEARN_MANY, LEARN_MOST = 0.25, 0.10, 0.60


@dataclass(frozen=True)
class Phases:
    """Fractions of the budget (of ρ under zCDP, of ε under pure ε); they add up to 1."""

    sizes: float
    """The number of entities, and of rows of each table: of a plan the most that it may be, of a fit what it was."""
    learn: float
    """Domains that the schema leaves to be learned, and bins that it leaves to be placed, all together."""
    models: float
    """The column groups, all together."""


@dataclass(frozen=True)
class Needed:
    """What learning needs."""

    share: float = 0.0
    """Of the budget, with which what may stay unknown would be clear of its noise."""
    columns: float = 0.0
    """The part of all columns that may stay unknown: they gain by it, and all of them pay."""


def phase_shares(entities: float, *, learns: bool, sizes: float = SIZES, needed: Needed = Needed()) -> Phases:
    """The split. ``entities`` is declared, assumed or noisy; ``learns``: whether any domain or any bins have to be learned;
    ``sizes``: what they have cost."""
    if not learns:
        return Phases(sizes, 0.0, 1.0 - sizes)
    # linear in the logarithm between the two sizes that were measured
    step = min(1.0, max(0.0, log10(max(entities, 1.0)) - 4.0))
    usual = LEARN_FEW + step * (LEARN_MANY - LEARN_FEW)
    learn = usual + needed.columns * max(0.0, min(needed.share, LEARN_MOST) - usual)
    return Phases(sizes, learn, 1.0 - sizes - learn)


_FORMAT = 1
"""Version of the document."""


def _group_to_dict(planned: PlannedGroup) -> dict[str, object]:
    group = planned.group
    return {
        "table": group.table,
        "part": group.part,
        "columns": [asdict(column) for column in group.columns],
        "history": [asdict(column) for column in group.history],
        "model": planned.model,
        "options": dict(sorted(planned.options.items())),
        "column_sizes": list(zip(planned.columns.names, planned.columns.sizes, strict=True)),
        "history_sizes": list(zip(planned.history.names, planned.history.sizes, strict=True)),
        "learned": sorted(planned.learned),
        "sensitivity": planned.sensitivity,
        "reason": planned.reason,
    }
