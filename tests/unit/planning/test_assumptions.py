"""The preview reckons with sizes that are declared, or assumed and said; never read."""

from __future__ import annotations

from typing import Any

import pytest

from mare.errors import PlanError
from mare.planning.planning import plan
from mare.planning.preview import ASSUMED_ENTITIES

from .examples import BUDGET, hospital, planned, schema_of


def rows(tables: dict[str, Any], entities: int | None = None) -> dict[str, float]:
    made = plan(schema_of(tables), BUDGET, entities=entities)
    return {seen.name: seen.rows for seen in made.preview}


def test_without_any_declaration_everything_is_assumed_and_named() -> None:
    made = planned(hospital())
    assert made.preview[0].rows == ASSUMED_ENTITIES
    for table in hospital():
        assert any(line.startswith(f"{table}: ") and "assumed" in line for line in made.assumptions)


def test_children_are_assumed_to_be_the_square_root_of_the_cap() -> None:
    assert rows(hospital())["admissions.rows"] == pytest.approx(ASSUMED_ENTITIES * 10**0.5)


def test_declared_rows_are_used_and_contexts_have_their_parents() -> None:
    tables = hospital()
    tables["patients"]["rows"] = 500
    tables["admissions"]["rows"] = 900
    found = rows(tables)
    assert (found["patients.rows"], found["admissions.rows"], found["transfers.context"]) == (500, 900, 900)


def test_more_declared_rows_than_the_caps_can_keep_are_not_reckoned_with() -> None:
    tables = hospital()
    tables["patients"]["rows"] = 500
    tables["admissions"]["rows"] = 1_000_000
    made = planned(tables)
    assert {seen.name: seen.rows for seen in made.preview}["admissions.rows"] == 5_000
    assert any("the caps keep at most 5,000" in line for line in made.assumptions)


def test_entities_are_inferred_from_the_declared_table_nearest_to_them() -> None:
    tables = hospital()
    tables["transfers"]["rows"] = 7_000_000
    tables["admissions"]["rows"] = 10_000
    made = planned(tables)
    assert made.preview[0].rows == pytest.approx(10_000 / 10**0.5)
    assert any("assumed from the declared rows of admissions" in line for line in made.assumptions)


def test_asking_for_another_number_of_entities_scales_what_is_declared() -> None:
    tables = hospital()
    tables["patients"]["rows"] = 500
    tables["admissions"]["rows"] = 900
    found = rows(tables, entities=5_000)
    assert (found["patients.rows"], found["admissions.rows"]) == (5_000, 9_000)


def test_entities_change_the_preview_and_nothing_else() -> None:
    schema = schema_of(hospital())
    few, many = plan(schema, BUDGET, entities=10), plan(schema, BUDGET, entities=10**6)
    assert few.preview != many.preview
    assert (few.groups, few.tables, few.public) == (many.groups, many.tables, many.public)


def test_no_entities_at_all_is_refused() -> None:
    with pytest.raises(PlanError, match="at least 1"):
        rows(hospital(), entities=0)
