"""From the plan to the settled plan: domains as they are coded, noisy sizes, final shares. Post-processing only."""

from __future__ import annotations

from collections.abc import Mapping

from mare.codec import TableCodec, evenly, table_codec
from mare.domain import Domain, Task
from mare.errors import InternalError, PlanError
from mare.graph.groups import GroupColumn, HistoryColumn, Part
from mare.models import get_model
from mare.planning import Plan, PlannedGroup
from mare.privacy.allocation import GroupDemand, allocate
from mare.release import SettledGroup, SettledPlan
from mare.stage import TableNeeds

from .sizes import Sizes


def codecs(plan: Plan, tables: tuple[TableNeeds, ...]) -> dict[str, TableCodec]:
    """The codecs of every table; refuses, all at once, what can be planned but not yet fitted."""
    learned = sorted(f"{g.group.table}.{name}" for g in plan.groups for name in g.learned)
    if learned:
        raise PlanError(
            f"the domain of {', '.join(learned)} is to be learned; that can be planned, but not yet fitted. "
            "Declare it: values for a category, min and max for what has an order."
        )
    heads = [g.name for g in plan.groups if g.group.part == "head"]
    if heads:
        raise PlanError(f"{', '.join(heads)}: columns that pick another row can be planned, but not yet fitted.")
    return {needs.name: _codec(plan, needs) for needs in tables}


def _codec(plan: Plan, needs: TableNeeds) -> TableCodec:
    codec = evenly(table_codec(plan.schema, needs.name, needs.values))
    refused = [f"anchored at {anchor}" for anchor in codec.above]
    refused += [name for name, one in codec.ordered.items() if one.slots.specials]
    refused += [name for name in needs.values if needs.described[name].type in ("time", "duration")]  # type: ignore[attr-defined]
    if refused:
        raise PlanError(f"this schema can be planned, but not yet fitted:\n  - {needs.name}: {', '.join(refused)}")
    return codec


def settle(plan: Plan, tables: tuple[TableNeeds, ...], coded: Mapping[str, TableCodec], sizes: Sizes) -> SettledPlan:
    """The plan with what is now known. Every domain stays within the plan's upper bound."""
    caps = {needs.name: needs.max_rows for needs in tables}
    nodes = {
        (g.group.table, g.group.part, column.name): _size(coded[g.group.table], caps[g.group.table], column)
        for g in plan.groups
        for column in g.group.columns
    }
    domains = {g.name: _domains(g, nodes) for g in plan.groups}
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
    return SettledPlan(sizes.entities, groups)


def _size(codec: TableCodec, cap: int, column: GroupColumn) -> int:
    if column.role == "count":
        return cap + 1
    if column.role == "value" and column.column is not None:
        return codec.columns[column.column].size
    if column.role == "first" and column.column is not None:
        return codec.firsts[column.column].size
    raise PlanError(f"{codec.table}: {column.name} can be planned, but not yet fitted.")


def _domains(planned: PlannedGroup, nodes: Mapping[tuple[str, Part, str], int]) -> tuple[Domain, Domain]:
    columns = Domain.of((c.name, nodes[planned.group.table, planned.group.part, c.name]) for c in planned.group.columns)
    history = Domain.of((str(h), _seen(planned, h, nodes)) for h in planned.group.history)
    for settled, bound in ((columns, planned.columns), (history, planned.history)):
        for name in settled:
            if settled.size(name) > bound.size(name):
                raise InternalError(
                    f"{planned.name}: {name} has {settled.size(name)} codes, the plan promised at most {bound.size(name)}"
                )
    return columns, history


def _seen(planned: PlannedGroup, column: HistoryColumn, nodes: Mapping[tuple[str, Part, str], int]) -> int:
    if column.kind == "free":
        return planned.history.size(str(column))
    # A row before the first of its sequence is a code of its own.
    return nodes[column.table, column.part, column.name] + (column.lag > 0)
