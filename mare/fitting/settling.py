"""From the plan to the settled plan: domains as they are coded, noisy sizes, final shares. Post-processing only."""

from __future__ import annotations

from collections.abc import Mapping

from mare.codec import OpenCodec, TableCodec, evenly, table_codec
from mare.domain import Task
from mare.errors import PlanError
from mare.models import get_model
from mare.planning import Plan
from mare.planning.domains import is_learned
from mare.privacy.allocation import GroupDemand, allocate
from mare.release import SettledGroup, SettledPlan
from mare.release.relations import Relations
from mare.stage import TableNeeds

from .nodes import settled_domains
from .sizes import Sizes


def codecs(plan: Plan, tables: tuple[TableNeeds, ...]) -> dict[str, TableCodec]:
    """The codecs of every table; refuses, all at once, what can be planned but not yet fitted."""
    learned = sorted(
        f"{needs.name}.{name}" for needs in tables for name in needs.values if is_learned(plan.schema, needs.name, name)
    )
    if learned:
        raise PlanError(
            f"the domain of {', '.join(learned)} is to be learned; that can be planned, but not yet fitted. "
            "Declare it: values for a category, min and max for what has an order."
        )
    return {needs.name: TableCodec(needs.name, {}) if needs.held_by is not None else _codec(plan, needs) for needs in tables}


def _codec(plan: Plan, needs: TableNeeds) -> TableCodec:
    codec = evenly(table_codec(plan.schema, needs.name, needs.values))
    refused = [name for name, one in codec.ordered.items() if one.slots.specials]
    refused += [name for name, one in codec.columns.items() if isinstance(one, OpenCodec)]
    refused += [name for name in needs.values if needs.described[name].type in ("time", "duration")]  # type: ignore[attr-defined]
    if refused:
        raise PlanError(f"this schema can be planned, but not yet fitted:\n  - {needs.name}: {', '.join(refused)}")
    return codec


def settle(
    plan: Plan,
    tables: tuple[TableNeeds, ...],
    coded: Mapping[str, TableCodec],
    sizes: Sizes,
    related: Relations | None = None,
    chosen: Mapping[str, tuple[int, ...]] | None = None,
) -> SettledPlan:
    """The plan with what is now known. Every domain stays within the plan's upper bound."""
    caps = {needs.name: needs.max_rows for needs in tables}
    domains = settled_domains(plan, coded, caps, related or {})
    demands = []
    for g in plan.groups:
        columns, history = domains[g.name]
        work = get_model(g.model).workload(Task(g.name, columns, history, g.options))
        rows = sizes.of(g.group.table, g.group.part)
        demands.append(GroupDemand(g.name, len(columns), len(history), rows, g.sensitivity, max(1, work.largest)))
    shares = allocate(demands, plan.allocation, pure=plan.budget.pure)
    groups = tuple(
        SettledGroup(
            group=g.group,
            model=g.model,
            options=g.options,
            columns=domains[g.name][0],
            history=domains[g.name][1],
            sensitivity=g.sensitivity,
            rows=sizes.of(g.group.table, g.group.part),
            share=shares[g.name],
        )
        for g in plan.groups
    )
    return SettledPlan(sizes.entities, groups, chosen or {})
