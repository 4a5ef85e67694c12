"""Whatever the schema: plans are complete, acyclic, add up, and depend on nothing but what the schema says."""

from __future__ import annotations

import json
from collections import Counter
from math import fsum, isfinite, prod

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mare.graph.dag import DatasetDag, TableEdge
from mare.graph.modelled import table_parts
from mare.graph.pdag import column_groups
from mare.planning import Plan
from mare.planning.domains import row_bounds
from mare.planning.planning import plan
from mare.privacy.budget import Budget
from mare.schema import Schema
from mare.schema.layout import link_cap
from tests.graph_edges import paths_to_entity
from tests.strategies import schemas

BUDGET = Budget(2, 1e-9)
PLANNABLE = schemas().filter(lambda schema: bool(column_groups(schema)))
"""A schema of keys alone has nothing to model: it is refused, and tested elsewhere."""


def facts(made: Plan) -> dict[str, object]:
    """What a plan says of each group, whatever the order of the file."""
    return {
        group.name: (
            sorted(zip(group.columns.names, group.columns.sizes, strict=True)),
            sorted(zip(group.history.names, group.history.sizes, strict=True)),
            group.model,
            dict(group.options),
            group.learned,
            group.sensitivity,
            seen.verdict,
            pytest.approx(seen.share),
            pytest.approx(seen.noise),
        )
        for group, seen in zip(made.groups, made.preview, strict=True)
    }


def with_caps(schema: Schema, factor: int) -> Schema:
    """Every cap this many times as high."""
    tables = {}
    for name, table in schema.tables.items():
        link = table.parent
        if link is not None:
            raised = {cap: value * factor for cap in ("max_rows", "max_per_entity") if (value := getattr(link, cap)) is not None}
            table = table.model_copy(update={"parent": link.model_copy(update=raised)})
        tables[name] = table
    return schema.model_copy(update={"tables": tables})


@given(PLANNABLE)
def test_every_modelled_column_is_in_exactly_one_group(schema: Schema) -> None:
    dag = DatasetDag.of(schema)
    expected = Counter(
        (node.name, part, column.name)
        for node in dag.nodes
        for part in ("context", "head", "rows")
        for column in table_parts(schema, dag, node.name).part(part)
    )
    made = plan(schema, BUDGET)
    assert Counter((g.group.table, g.group.part, c.name) for g in made.groups for c in g.group.columns) == expected
    assert set(expected.values()) == {1}


@given(PLANNABLE)
def test_a_group_looks_only_at_what_was_generated_before_it(schema: Schema) -> None:
    made = plan(schema, BUDGET)
    done: set[str] = set()
    for group in made.groups:
        seen = {f"{h.table}.{h.part}" for h in group.group.history if h.lag == 0 and h.kind not in ("free", "same_item")}
        assert seen <= done
        done.add(group.name)
    place = {table: index for index, table in enumerate(made.tables)}
    for table in place:
        parent = schema.parent_name(table)
        assert parent not in place or place[str(parent)] < place[table]


@given(PLANNABLE, st.sampled_from([BUDGET, Budget(0.5, delta=0)]), st.sampled_from(["balanced", "paper", "error"]))
def test_shares_add_up_and_all_noise_is_finite(schema: Schema, budget: Budget, rule: str) -> None:
    learns = any(group.learned for group in plan(schema, BUDGET).groups)
    if learns:
        budget = BUDGET
    made = plan(schema.model_copy(update={"allocation": rule}), budget)
    assert fsum(seen.share for seen in made.preview) == pytest.approx(1)
    assert all(seen.share > 0 for seen in made.preview)
    assert all(isfinite(seen.noise) and seen.noise > 0 for seen in made.preview)
    assert made.phases.sizes + made.phases.learn + made.phases.models == pytest.approx(1)


@given(PLANNABLE, st.integers(2, 5))
def test_sensitivity_is_at_least_one_and_never_falls_when_caps_rise(schema: Schema, factor: int) -> None:
    (before, _), (after, _) = (row_bounds(s, DatasetDag.of(s)) for s in (schema, with_caps(schema, factor)))
    assert before.keys() == after.keys()
    for table, bound in before.items():
        assert 1 <= bound.rows <= after[table].rows
    for group in plan(schema, BUDGET).groups:
        assert group.sensitivity >= 1


@given(PLANNABLE)
def test_sensitivity_is_the_sum_over_paths_of_the_products_of_caps_or_less(schema: Schema) -> None:
    dag = DatasetDag.of(schema)

    def cap(edge: TableEdge) -> int:
        found = None if edge.kind == "owned" else link_cap(schema, edge.child)
        return 1 if found is None else found.rows

    for table, bound in row_bounds(schema, dag)[0].items():
        product = sum(prod(cap(edge) for edge in path) for path in paths_to_entity(dag, table))
        capped = any(
            link.max_per_entity is not None
            for path in paths_to_entity(dag, table)
            for edge in path
            if (link := schema.parent(edge.child)) is not None
        )
        assert bound.rows <= product if capped else bound.rows == product


@given(PLANNABLE, st.randoms(use_true_random=False))
def test_the_order_of_tables_in_the_file_changes_no_group(schema: Schema, random: object) -> None:
    names = list(schema.tables)
    random.shuffle(names)  # type: ignore[attr-defined]
    shuffled = schema.model_copy(update={"tables": {name: schema.tables[name] for name in names}})
    assert facts(plan(shuffled, BUDGET)) == facts(plan(schema, BUDGET))


@given(PLANNABLE)
def test_a_plan_is_the_same_bytes_each_time_and_names_every_group(schema: Schema) -> None:
    made = plan(schema, BUDGET)
    again = plan(Schema.model_validate(schema.model_dump()), BUDGET)
    assert made.to_json() == again.to_json()
    written = {f"{entry['table']}.{entry['part']}": entry["sensitivity"] for entry in json.loads(made.to_json())["groups"]}
    assert written == {group.name: group.sensitivity for group in made.groups}
