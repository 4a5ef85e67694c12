"""The preview: what each group will get of the budget and what is left of its counts under the noise.

It uses the functions that `fit` uses (`allocate`, ρ ↔ (ε, δ), σ from ρ), with declared or assumed sizes in place of
noisy ones. The verdict is the θ-usefulness of PrivBayes as used at NIST (privbayes-nist-2018): a cross-tab is worth
measuring when it has at most τ = n̂ / (4·noise) cells, that is when a cell's mean count is at least four times the noise.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import pi, sqrt

from mare.models import Workload
from mare.privacy.allocation import AllocationRule, GroupDemand, allocate
from mare.privacy.budget import Budget
from mare.privacy.conversion import rho_from_budget, scale_from_epsilon, sigma_from_rho, sqrt_up

from .plan import GroupPreview, Phases, PlannedGroup, Verdict

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
) -> tuple[GroupPreview, ...]:
    """One line per group, in the same order."""
    demands = [
        GroupDemand(g.name, len(g.columns), len(g.history), rows[g.name], g.sensitivity, max(1, workloads[g.name].largest))
        for g in groups
    ]
    shares = allocate(demands, rule, pure=budget.pure)
    total = total_cost(budget) * phases.models
    return tuple(_group(g, workloads[g.name], rows[g.name], shares[g.name], total * shares[g.name], budget) for g in groups)


def _group(group: PlannedGroup, work: Workload, rows: float, share: float, cost: float, budget: Budget) -> GroupPreview:
    noise = noise_per_cell(budget, cost, group.sensitivity, max(1, work.histograms))
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
