"""`plan`: from a schema and a budget to the public plan. Reads no data: there is no argument that could hold any.

schema ─► dataset DAG ─► column groups ─► caps and S ─► domains ─► models ─► shares and noise ─► Plan
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path as FilePath

from mare.domain import OptionValue
from mare.errors import PlanError
from mare.graph.dag import DatasetDag
from mare.graph.groups import ColumnGroup
from mare.graph.pdag import column_groups
from mare.models import DEFAULT_MODEL, TabularModel, get_model, settle_options
from mare.privacy.budget import Budget
from mare.schema import Schema
from mare.schema.checks import settled_or_raise
from mare.schema.faults import Fault, Path, describe
from mare.schema.loading import load_schema
from mare.schema.schema import ModelChoice, peeked_paths

from .domains import GroupDomains, RowBound, group_bound, group_domains, measures_any_bins, row_bounds
from .learning import needed, note_on_lists, open_domains, preview_learning, warn_of_learning
from .least_budget import refuse_too_little
from .plan import Phases, Plan, PlannedGroup, Warned, phase_shares
from .preview import (
    assume_rows,
    learning_without_delta,
    preview,
    public_facts,
    vocabulary_notes,
    warn_of_a_guess,
    warn_of_epsilon,
    warn_of_noise,
    warn_of_peeking,
)


def plan(schema: Schema | str | FilePath, budget: Budget, *, entities: int | None = None) -> Plan:
    """The plan of a fit, or a `SchemaError` or `PlanError` that lists every fault. A schema may be given as its file.

    ``entities`` is how many entities the preview assumes, in place of what the schema says; it changes nothing else.
    """
    if not isinstance(budget, Budget):
        raise PlanError(f"budget is {budget!r}. Write mare.Budget(epsilon=2), or with a delta of your own: mare.Budget(2, 1e-9).")
    if isinstance(schema, str | FilePath):
        schema = load_schema(schema)
    if not isinstance(schema, Schema):
        raise PlanError(f"schema is a {type(schema).__name__}. Give what mare.load_schema returns, or the path of its YAML file.")
    if entities is not None and entities < 1:
        raise PlanError(f"entities is {entities}; the preview needs at least 1.")
    settled_or_raise(schema)
    return plan_of_groups(schema, budget, column_groups(schema), entities)


def plan_of_groups(schema: Schema, budget: Budget, groups: tuple[ColumnGroup, ...], entities: int | None = None) -> Plan:
    """The plan of these groups of a settled schema: its own, or with less history, as a study tries it."""
    dag = DatasetDag.of(schema)
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
    opened = open_domains(schema, [g.group for g in groups], pure=budget.pure)
    learns = any(g.learned for g in groups) or measures_any_bins(schema, [g.group for g in groups]) or opened.weight > 0

    def split(budget: Budget) -> Phases:
        return phase_shares(sizes.entities, learns=learns, needed=needed(budget, opened, sizes.entities))

    phases = split(budget)
    seen = preview(groups, work, rows, budget, schema.allocation, phases, sizes.entities)
    refuse_too_little(budget, seen, opened)
    peeked = peeked_paths(schema)
    warnings: list[Warned | None] = [warn_of_epsilon(budget), warn_of_peeking(peeked)]
    warnings.append(warn_of_a_guess(schema, sizes.entities) if sizes.guessed else None)
    warnings += warn_of_learning(schema, opened, budget, phases, sizes.tables, sizes.entities)
    warnings += [warn_of_noise(budget, g, p, lambda more: split(more).models) for g, p in zip(groups, seen, strict=True)]
    notes: list[str | None] = list(vocabulary_notes(schema, dag))
    notes.append(note_on_lists(preview_learning(opened, budget, phases), sizes.entities, schema.entity_name or "entities"))
    return Plan(
        schema=schema,
        budget=budget,
        groups=tuple(groups),
        tables=dag.generation_order(),
        allocation=schema.allocation,
        phases=phases,
        preview=seen,
        entities=sizes.entities,
        entities_guessed=sizes.guessed,
        assumptions=sizes.assumptions,
        public=public_facts(schema, dag),
        peeked=tuple(".".join(str(step) for step in path) for path in peeked),
        warnings=tuple(w for w in warnings if w is not None),
        notes=tuple(n for n in notes if n is not None),
    )


@dataclass(frozen=True)
class Chosen:
    """A model that exists, with all of its options settled."""

    model: TabularModel
    options: dict[str, OptionValue]


def _written(schema: Schema, group: ColumnGroup) -> tuple[Path, ModelChoice]:
    """The nearest choice: of the group, of its table, of the schema, or the default. It stands alone: options do not add up."""
    table = schema.tables[group.table]
    if table.models is not None:
        choice = table.models.context if group.part == "context" else table.models.rows
        if choice is not None:
            return ("tables", group.table, "models", "context" if group.part == "context" else "rows"), choice
    if table.model is not None:
        return ("tables", group.table, "model"), table.model
    if schema.model is not None:
        return ("model",), schema.model
    return (), ModelChoice(name=DEFAULT_MODEL)


def choose_models(schema: Schema, groups: tuple[ColumnGroup, ...]) -> tuple[dict[str, Chosen], list[Fault]]:
    """The model of each group by the group's name, and a fault for each choice that cannot be had, all of them at once."""
    chosen: dict[str, Chosen] = {}
    faults: dict[Path, Fault] = {}
    models: dict[str, TabularModel] = {}
    for group in groups:
        path, choice = _written(schema, group)
        try:
            # looked up once: the registry reads the metadata of everything that is installed
            model = models.get(choice.name) or get_model(choice.name)
        except PlanError as error:
            faults[path] = Fault(path, *_two_sentences(str(error)))
            continue
        models[choice.name] = model
        try:
            chosen[group.name] = Chosen(model, settle_options(model, choice.options))
        except PlanError as error:
            faults[path] = Fault((*path, "options"), *_two_sentences(str(error)))
    return chosen, list(faults.values())


def _two_sentences(message: str) -> tuple[str, str]:
    """The registry says what is wrong and then what there is: a fault keeps the two apart."""
    what, _, remedy = message.partition(". ")
    return what, remedy.rstrip(".")
