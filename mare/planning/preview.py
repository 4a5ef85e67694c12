"""The preview: what each group will get of the budget and what is left of its counts under the noise.

It uses the functions that `fit` uses (`allocate`, ρ ↔ (ε, δ), σ from ρ), with declared or assumed sizes in place of
noisy ones. The verdict is the θ-usefulness of PrivBayes as used at NIST (privbayes-nist-2018): a cross-tab is worth
measuring when it has at most τ = n̂ / (4·noise) cells, that is when a cell's mean count is at least four times the noise.

A preview needs sizes before anything may be measured (`assume_rows`): declared, or assumed and said so, never read. `fit` works
the shares out again with noisy sizes, so a wrong assumption here misleads nobody but the reader, who is told each one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil, pi, sqrt

from mare.graph.dag import DatasetDag
from mare.graph.groups import Part
from mare.models import Workload
from mare.privacy.allocation import AllocationRule, GroupDemand, allocate
from mare.privacy.budget import Budget
from mare.privacy.conversion import rho_from_budget, scale_from_epsilon, sigma_from_rho, sqrt_up
from mare.schema import Schema
from mare.schema.caps import most_children

from .plan import GroupPreview, Phases, PlannedGroup, Verdict
from .sensitivity import RowBound

ASSUMED_ENTITIES = 10_000
"""Entities where nothing says otherwise: the small end of what `recipe.md` measured, so the preview errs towards noise."""
_SAY_BETTER = "Say better with --entities N, or with rows: in the schema if the number is public."


@dataclass(frozen=True)
class AssumedRows:
    """Rows per table for the preview, and where every number is from."""

    entities: float
    guessed: bool
    """Whether nothing at all says how many entities there are."""
    tables: Mapping[str, float]
    assumptions: tuple[str, ...]

    def of(self, schema: Schema, table: str, part: Part) -> float:
        """Rows of a group's view: a context has one per parent row."""
        return self.tables[(schema.parent_name(table) or table) if part == "context" else table]


def _per_entity(schema: Schema, dag: DatasetDag, bounds: Mapping[str, RowBound]) -> dict[str, float]:
    """Assumed mean rows per entity of every table, from the caps alone. ``bounds`` comes parents first."""
    means: dict[str, float] = {}
    for table, bound in bounds.items():
        above = [means[edge.owner] for edge in dag.owners(table)]
        if dag.node(table).role == "private":
            # Between one child and the cap, on a log scale: caps are set generously.
            means[table] = min(above[0] * sqrt(most_children(schema, table)), bound.rows)
        else:
            means[table] = sum(above) if above else 1.0
    return means


def assume_rows(schema: Schema, dag: DatasetDag, bounds: Mapping[str, RowBound], entities: int | None = None) -> AssumedRows:
    """Rows of every table of the entity: declared where the schema does, otherwise from the caps."""
    means = _per_entity(schema, dag, bounds)
    assumptions: list[str] = []
    count, scale = _entities(schema, means, entities, assumptions)
    nobody_said = entities is None and all(schema.table(table).rows is None for table in bounds)
    rows: dict[str, float] = {}
    by_caps = False
    for table, bound in bounds.items():
        if table == dag.entity.name:
            rows[table] = count
            continue
        declared = schema.tables[table].rows
        if declared is None:
            rows[table] = max(1.0, count * means[table])
            assumptions.append(
                f"{table}: {rows[table]:,.0f} rows, assumed: {means[table]:.3g} per entity of at most {bound.rows:,}."
            )
            by_caps = True
            continue
        wanted = declared * scale
        rows[table] = max(1.0, min(wanted, _kept(schema, dag, table, bound, count, rows)))
        times = f", times {scale:.3g} as for the entities" if scale != 1 else ""
        kept = f"; the caps keep at most {rows[table]:,.0f}" if rows[table] < wanted else ""
        assumptions.append(f"{table}: {wanted:,.0f} rows, declared{times}{kept}.")
    if by_caps:
        assumptions.append("A parent row is assumed to have the square root of its cap in children, where nothing is declared.")
    return AssumedRows(count, nobody_said, rows, tuple(assumptions))


def _kept(schema: Schema, dag: DatasetDag, table: str, bound: RowBound, entities: float, rows: Mapping[str, float]) -> float:
    """The most rows that truncation can leave, given the rows of the owners."""
    each = most_children(schema, table) if dag.node(table).role == "private" else 1
    return min(entities * bound.rows, sum(rows[edge.owner] for edge in dag.owners(table)) * each)


def _entities(schema: Schema, means: Mapping[str, float], asked: int | None, assumptions: list[str]) -> tuple[float, float]:
    """The number of entities, and the factor by which declared rows are scaled when the caller asks for another number."""
    name = schema.entity_name or "entities"
    own = schema.table(name).rows if schema.entity_name is not None else None
    # The table nearest to the entity tells most; the name breaks ties, so that the order of the file does not matter.
    declared = {table: rows for table in means if table in schema.tables and (rows := schema.tables[table].rows) is not None}
    implied = sorted((means[table], table, rows / means[table]) for table, rows in declared.items())
    known = own if own is not None else implied[0][2] if implied else None
    if asked is not None:
        assumptions.append(f"{name}: {asked:,} entities, as asked for.")
        return float(asked), (asked / known if known else 1.0)
    if own is not None:
        assumptions.append(f"{name}: {own:,} entities, declared.")
        return float(own), 1.0
    if known is not None:
        assumptions.append(f"{name}: {known:,.0f} entities, assumed from the declared rows of {implied[0][1]}. {_SAY_BETTER}")
        return max(1.0, known), 1.0
    assumptions.append(f"{name}: {ASSUMED_ENTITIES:,} entities, assumed. {_SAY_BETTER}")
    return float(ASSUMED_ENTITIES), 1.0


CLEAR_OF_NOISE = 4.0
"""θ: how many times the noise a mean count has to be."""
_MEAN_OF_HALF_NORMAL = sqrt(2 / pi)
_LARGEST_FLOAT = 10**300
"""An upper bound of cells may be beyond what a float holds; there it no longer matters by how much."""


def total_cost(budget: Budget) -> float:
    """The whole budget in its own unit: ρ of zCDP where δ > 0, else ε."""
    return budget.epsilon if budget.pure else rho_from_budget(budget)


def noise_per_cell(budget: Budget, cost: float, sensitivity: int, histograms: int) -> float:
    """Standard deviation of the noise when k cross-tabs of a view are measured together at this cost.

    An entity changes each of them by at most S: S√k together in L2 (Gaussian), kS in L1 (Laplace).
    """
    if budget.pure:
        return sqrt(2) * scale_from_epsilon(cost, float(histograms * sensitivity))
    return sigma_from_rho(cost, sqrt_up(sensitivity * sensitivity * histograms))


def judge(per_cell: float, noise: float) -> Verdict:
    if per_cell >= CLEAR_OF_NOISE * noise:
        return "fine"
    return "noisy" if per_cell >= noise else "drowns"


def preview(
    groups: Sequence[PlannedGroup],
    workloads: Mapping[str, Workload],
    rows: Mapping[str, float],
    budget: Budget,
    rule: AllocationRule,
    phases: Phases,
    entities: float,
) -> tuple[GroupPreview, ...]:
    """One line per group, in the same order."""
    demands = [
        GroupDemand(g.name, len(g.columns), len(g.history), rows[g.name], g.sensitivity, max(1, workloads[g.name].largest))
        for g in groups
    ]
    shares = allocate(demands, rule, pure=budget.pure)
    total = total_cost(budget) * phases.models
    parts = [(g, workloads[g.name], rows[g.name], shares[g.name]) for g in groups]
    return tuple(_group(g, work, many, share, total * share, budget, entities) for g, work, many, share in parts)


def clipped(sensitivity: int, rows: float, entities: float) -> int:
    """How many rows of an entity are counted in full, about: models scale down whoever has more than most, so that caps that
    nobody reaches add no noise."""
    return min(sensitivity, max(1, ceil(rows / max(entities, 1.0))))


def _group(
    group: PlannedGroup, work: Workload, rows: float, share: float, cost: float, budget: Budget, entities: float
) -> GroupPreview:
    noise = noise_per_cell(budget, cost, clipped(group.sensitivity, rows, entities), max(1, work.histograms))
    largest = float(min(max(1, work.largest), _LARGEST_FLOAT))
    per_cell = rows / largest
    # half the L1 distance that noise adds: ½ · cells · E|noise| / n
    error = 0.5 * largest * noise * _MEAN_OF_HALF_NORMAL / rows
    return GroupPreview(
        name=group.name,
        rows=rows,
        share=share,
        cost=cost,
        histograms=work.histograms,
        largest=work.largest,
        cells=work.cells,
        noise=noise,
        per_cell=per_cell,
        relative_error=min(1.0, error),
        verdict=judge(per_cell, noise),
    )
