"""Caps are read off a schema in one place: what the checks, the plan and the truncation know is the same."""

from __future__ import annotations

import pytest

from mare.graph.pdag import column_groups
from mare.schema import Schema
from mare.schema.layout import Layout, link_cap, link_memory

from .examples import spoiled


@pytest.mark.parametrize(
    ("max_rows", "memory", "lags"), [(2, 16, 1), (3, 2, 2), (3, 16, 2), (1, 2, 1), (10, 2, 2), (None, 16, 16)]
)
def test_a_row_looks_at_no_more_rows_than_can_be_before_it(max_rows: int | None, memory: int, lags: int) -> None:
    schema = spoiled({"admissions.parent.max_rows": max_rows, "admissions.parent.memory": memory})
    assert link_memory(schema, "admissions") == lags
    (rows,) = [group for group in column_groups(schema) if group.name == "admissions.rows"]
    assert max(lag for _, lag in rows.lags.values()) == lags


def test_what_is_no_sequence_has_no_memory() -> None:
    assert link_memory(spoiled({}), "prescriptions") == 0
    assert link_memory(spoiled({}), "patients") == 0


@pytest.mark.parametrize("table", ["admissions", "labs", "prescriptions"])
def test_the_checks_and_the_plan_read_the_same_cap(table: str) -> None:
    schema = spoiled({})
    cap = link_cap(schema, table)
    assert cap is not None
    assert Layout(schema).row_cap(table) == cap.rows


def test_a_table_keyed_by_the_entitys_column_has_one_row_an_entity() -> None:
    schema = Schema.model_validate({"mare": 1, "entity": {"table": "a", "by": "who"}, "tables": {"a": {"key": "who"}}})
    cap = link_cap(schema, "a")
    assert cap is not None
    assert (cap.rows, Layout(schema).row_cap("a")) == (1, 1)
