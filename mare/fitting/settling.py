"""From the plan to the settled plan: domains as they are coded, noisy sizes, final shares. Post-processing only."""

from __future__ import annotations

from collections.abc import Mapping

from mare.codec import LearnedDomains, TableCodec, table_codec
from mare.domain import Task
from mare.models import get_model
from mare.planning import Plan
from mare.privacy.allocation import GroupDemand, allocate
from mare.relational.relations import Relations
from mare.release import SettledGroup, SettledPlan
from mare.stage_door import TableNeeds

from .nodes import settled_domains
from .sizes import Sizes


def open_codecs(plan: Plan, tables: tuple[TableNeeds, ...]) -> dict[str, TableCodec]:
    """The codecs of every table as far as the schema settles them; refuses, all at once, what cannot be coded."""
    held = {needs.name: () if needs.held_by is not None else needs.values for needs in tables}
    return {name: table_codec(plan.schema, name, columns) if columns else TableCodec(name, {}) for name, columns in held.items()}


def settle(
    plan: Plan,
    tables: tuple[TableNeeds, ...],
    coded: Mapping[str, TableCodec],
    sizes: Sizes,
    related: Relations | None = None,
    chosen: Mapping[str, tuple[int, ...]] | None = None,
    learned: LearnedDomains | None = None,
) -> SettledPlan:
    """The plan with what is now known. Every domain stays within the plan's upper bound."""
    caps = {needs.name: needs.max_rows for needs in tables}
    domains = settled_domains(plan, coded, caps, related or {}, sizes.lengths)
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
    return SettledPlan(sizes.entities, groups, chosen or {}, learned or {})
