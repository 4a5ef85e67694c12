"""`plan`: from a schema and a budget to the public plan. Reads no data: there is no argument that could hold any.

schema ─► dataset DAG ─► column groups ─► caps and S ─► domains ─► models ─► shares and noise ─► Plan
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mare.errors import PlanError
from mare.graph.building import column_groups
from mare.graph.dag import DatasetDag
from mare.graph.groups import ColumnGroup
from mare.privacy.budget import Budget
from mare.schema import Schema
from mare.schema.checks import settled_or_raise
from mare.schema.faults import Fault, describe
from mare.schema.schema import peeked_paths

from .assumptions import assume_rows
from .choices import Chosen, choose_models
from .domains import GroupDomains, group_domains, measures_any_bins
from .facts import learning_without_delta, public_facts, vocabulary_notes, warn_of_epsilon, warn_of_peeking
from .phases import phase_shares
from .plan import Plan, PlannedGroup, Warned
from .preview import preview
from .remedies import note_on_clipping, warn_of_noise
from .sensitivity import RowBound, group_bound, row_bounds


def plan(schema: Schema, budget: Budget, *, entities: int | None = None) -> Plan:
    """The plan of a fit, or a `SchemaError` or `PlanError` that lists every fault.

    ``entities`` is how many entities the preview assumes, in place of what the schema says; it changes nothing else.
    """
    if entities is not None and entities < 1:
        raise PlanError(f"entities is {entities}; the preview needs at least 1.")
    settled_or_raise(schema)
    dag = DatasetDag.of(schema)
    groups = column_groups(schema, dag)
    if not groups:
        raise PlanError("there is nothing to model: no table of the entity has a column that is not a key or determined.")
    bounds, faults = row_bounds(schema, dag)
    domains, open_sizes = group_domains(schema, dag, bounds, groups)
    chosen, wrong_models = choose_models(schema, groups)
    faults += [*open_sizes, *wrong_models, *learning_without_delta(schema, groups, budget)]
    if faults:
        raise PlanError(describe(faults, schema.name or "schema"), tuple(faults))
    planned = tuple(_planned(schema, bounds, group, domains[group.name], chosen[group.name]) for group in groups)
    return _previewed(schema, budget, dag, bounds, planned, chosen, entities)


def open_questions(schema: Schema) -> tuple[Fault, ...]:
    """What would stop the plan of a schema without faults whatever the budget: sizes and caps left open, models not there."""
    dag = DatasetDag.of(schema)
    groups = column_groups(schema, dag)
    bounds, faults = row_bounds(schema, dag)
    _, open_sizes = group_domains(schema, dag, bounds, groups)
    _, wrong_models = choose_models(schema, groups)
    return (*faults, *open_sizes, *wrong_models)


def _planned(
    schema: Schema, bounds: Mapping[str, RowBound], group: ColumnGroup, domains: GroupDomains, chosen: Chosen
) -> PlannedGroup:
    bound = group_bound(schema, bounds, group.table, group.part)
    return PlannedGroup(
        group=group,
        model=chosen.model.name,
        options=chosen.options,
        columns=domains.columns,
        history=domains.history,
        learned=domains.learned,
        sensitivity=bound.rows,
        reason=bound.explain,
    )


def _previewed(
    schema: Schema,
    budget: Budget,
    dag: DatasetDag,
    bounds: Mapping[str, RowBound],
    groups: Sequence[PlannedGroup],
    chosen: Mapping[str, Chosen],
    entities: int | None,
) -> Plan:
    sizes = assume_rows(schema, dag, bounds, entities)
    rows = {g.name: sizes.of(schema, g.group.table, g.group.part) for g in groups}
    work = {g.name: chosen[g.name].model.workload(g.task) for g in groups}
    learns = any(g.learned for g in groups) or measures_any_bins(schema, [g.group for g in groups])
    phases = phase_shares(sizes.entities, learns=learns)
    seen = preview(groups, work, rows, budget, schema.allocation, phases)
    peeked = peeked_paths(schema)
    warnings: list[Warned | None] = [warn_of_epsilon(budget), warn_of_peeking(peeked)]
    warnings += [warn_of_noise(schema, budget, g, p) for g, p in zip(groups, seen, strict=True)]
    notes: list[str | None] = list(vocabulary_notes(schema, dag))
    notes.append(note_on_clipping(groups, seen, sizes.entities))
    return Plan(
        schema=schema,
        budget=budget,
        groups=tuple(groups),
        tables=dag.generation_order(),
        allocation=schema.allocation,
        phases=phases,
        preview=seen,
        assumptions=sizes.assumptions,
        public=public_facts(schema, dag),
        peeked=tuple(".".join(str(step) for step in path) for path in peeked),
        warnings=tuple(w for w in warnings if w is not None),
        notes=tuple(n for n in notes if n is not None),
    )
