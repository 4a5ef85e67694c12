"""`allocate`: who gets which share of the budget. One pure function, used by the plan's preview and by the fit.

The preview gives it declared or assumed sizes, the fit noisy ones: never true ones (a true row count in the
split is a leak). A share is a fraction of ρ under zCDP and of ε under pure ε. The sensitivity S goes into the
mechanism (σ ∝ S), so the paper's rule leaves it out of the share.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, fsum, isfinite, log
from typing import Literal, get_args

from mare.errors import BudgetError

AllocationRule = Literal["balanced", "paper", "error"]

RULES: tuple[str, ...] = get_args(AllocationRule)

_FLOOR = -600.0
"""No group gets less than e^-600 of the largest: a share is never 0, however lopsided the demands are."""


@dataclass(frozen=True)
class GroupDemand:
    """What a column group asks for, from public or noisy numbers only."""

    name: str
    columns: int
    """c: columns the model has to fit."""
    history: int
    """h: columns it may look at."""
    rows: float
    """n: declared, assumed or noisy; floored at 1."""
    sensitivity: int
    """S: rows that one entity may have here (the enforced cap)."""
    cells: int
    """Cells of the largest cross-tab that the model will measure."""


def allocate(demands: Sequence[GroupDemand], rule: AllocationRule = "balanced", *, pure: bool = False) -> dict[str, float]:
    """The share of each group, by name: all above 0, adding up to 1.

    "paper" is section V of the MARE paper: c·√(c+h)·√n. It starves small tables beside a large one: 80 products, unrolled, took
    93 % of the budget, and the customers got 0.2 %. "balanced" gives half of it in equal parts, the other half by the paper.
    "error" minimises the summed relative error of the groups: under zCDP ρ ∝ (S·√c·cells/n)^⅔, under pure ε ε ∝ √(S·c·cells/n).
    """
    if rule not in RULES:
        raise BudgetError(f"there is no allocation rule {rule!r}. Rules: {', '.join(RULES)}.")
    if not demands:
        raise BudgetError("there is no column group to share the budget: the schema has nothing to model.")
    names = [demand.name for demand in demands]
    if len(set(names)) != len(names):
        raise BudgetError(f"a column group asks twice for a share: {', '.join(sorted(names))}.")
    weights = [_log_weight(_checked(demand), rule, pure) for demand in demands]
    largest = max(weights)
    raw = [exp(max(weight - largest, _FLOOR)) for weight in weights]
    total = fsum(raw)
    shares = {name: value / total for name, value in zip(names, raw, strict=True)}
    return shares if rule != "balanced" else {name: (share + 1 / len(names)) / 2 for name, share in shares.items()}


def _log_weight(demand: GroupDemand, rule: AllocationRule, pure: bool) -> float:
    # in logarithms, because an upper bound of cells may be far beyond what a float holds
    c, n = log(demand.columns), log(max(demand.rows, 1.0))
    if rule != "error":
        return c + 0.5 * log(demand.columns + demand.history) + 0.5 * n
    per_row = log(demand.sensitivity) + log(demand.cells) - n
    return 0.5 * (per_row + c) if pure else (per_row + 0.5 * c) * 2 / 3


def _checked(demand: GroupDemand) -> GroupDemand:
    if not isfinite(demand.rows):
        raise BudgetError(f"group {demand.name!r}: the number of rows is {demand.rows}; it must be finite.")
    for what, value, least in (
        ("columns", demand.columns, 1),
        ("history columns", demand.history, 0),
        ("sensitivity", demand.sensitivity, 1),
        ("cells", demand.cells, 1),
    ):
        if value < least:
            raise BudgetError(f"group {demand.name!r}: {what} is {value}; it must be at least {least}.")
    return demand
