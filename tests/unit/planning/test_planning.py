"""`plan` puts it together: order, models, what is public, and every fault at once."""

from __future__ import annotations

from typing import Any

import pytest

import mare
from mare.errors import PlanError
from mare.planning.planning import plan
from mare.privacy.budget import Budget
from mare.schema.faults import Fault

from .examples import BUDGET, YES_NO, hospital, planned, schema_of


def faults_of(error: PlanError) -> dict[str, Fault]:
    return {".".join(str(step) for step in fault.path): fault for fault in error.faults if isinstance(fault, Fault)}


def test_it_is_the_public_verb() -> None:
    assert mare.plan is plan
    assert isinstance(mare.plan(schema_of(hospital()), mare.Budget(epsilon=1, delta=0)), mare.Plan)


def test_groups_come_after_all_that_they_look_at() -> None:
    made = planned(hospital())
    done: set[str] = set()
    for planned_group in made.groups:
        for column in planned_group.group.history:
            if column.kind != "free" and column.lag == 0:
                assert f"{column.table}.{column.part}" in done
        done.add(planned_group.name)
    assert made.tables == ("patients", "admissions", "transfers")


def test_the_nearest_choice_of_a_model_wins_and_brings_its_options() -> None:
    tables = hospital()
    tables["transfers"]["model"] = "independent"
    tables["transfers"]["models"] = {"rows": {"name": "independent", "options": {"negatives": "clip"}}}
    made = planned(tables)
    assert made.group("transfers.rows").options == {"negatives": "clip"}
    assert made.group("transfers.context").options == {"negatives": "norm-sub"}
    assert made.group("transfers.rows").task.options["negatives"] == "clip"


def test_models_and_options_that_do_not_exist_are_named_all_at_once() -> None:
    tables = hospital()
    tables["admissions"]["model"] = "crystal-ball"
    tables["transfers"]["models"] = {"rows": {"name": "independent", "options": {"bins": 3}}}
    with pytest.raises(PlanError) as error:
        planned(tables)
    found = faults_of(error.value)
    assert set(found) == {"tables.admissions.model", "tables.transfers.models.rows.options"}
    assert "independent" in found["tables.admissions.model"].remedy
    assert "negatives" in found["tables.transfers.models.rows.options"].remedy


@pytest.mark.parametrize(
    ("model", "options", "said"),
    [("privbayes", {"carry": 7}, "carry is 7"), ("independent", {"negatives": "wish"}, "negatives is 'wish'")],
)
def test_options_that_make_no_sense_are_told_before_anything_is_paid(model: str, options: dict[str, Any], said: str) -> None:
    tables = hospital()
    tables["transfers"]["models"] = {"rows": {"name": model, "options": options}}
    with pytest.raises(PlanError, match=f"'transfers.rows': {said}"):
        planned(tables)


def learning() -> dict[str, Any]:
    tables = hospital()
    tables["admissions"]["columns"]["race"] = {"type": "category", "learn": True, "max_values": 40}
    tables["transfers"]["columns"]["icd"] = {"type": "code", "learn": True, "max_values": 40}
    tables["units"] = {"public": True, "key": "unit_id", "rows": 5}
    tables["transfers"]["references"] = {"unit_id": {"kind": "public", "table": "units", "learn": True}}
    tables["patients"]["columns"]["income"] = {"type": "number", "learn": True}
    return tables


def test_categories_cannot_be_learned_with_delta_zero_and_all_are_named() -> None:
    with pytest.raises(PlanError) as error:
        planned(learning(), budget=Budget(1, delta=0))
    assert set(faults_of(error.value)) == {
        "tables.admissions.columns.race",
        "tables.transfers.columns.icd",
    }
    assert "values" in str(error.value)


def test_public_keys_are_chosen_with_delta_zero_too_for_everybody_knows_them() -> None:
    tables = hospital()
    tables["units"] = {"public": True, "key": "unit_id", "rows": 50}
    tables["transfers"]["references"] = {"unit_id": {"kind": "public", "table": "units", "max_values": 20}}
    made = planned(tables, budget=Budget(1, delta=0))
    assert made.group("transfers.rows").learned == {"unit_id"}
    assert made.phases.learn > 0


def test_numbers_can_be_learned_with_delta_zero() -> None:
    tables = hospital()
    tables["patients"]["columns"]["income"] = {"type": "number", "learn": True}
    assert planned(tables, budget=Budget(1, delta=0)).group("patients.rows").learned == {"income"}


def test_learning_takes_its_share_of_the_budget() -> None:
    assert planned(learning()).phases.learn > 0
    assert planned(hospital()).phases.learn == 0


def test_what_was_peeked_is_listed_and_warned_of() -> None:
    tables = hospital()
    tables["patients"]["columns"]["gender"] = {**YES_NO, "peeked": True}
    tables["transfers"]["parent"]["peeked"] = True
    made = planned(tables)
    assert made.peeked == ("tables.patients.columns.gender", "tables.transfers.parent")
    assert "fit refuses" in made.warnings[0].remedy
    assert "tables.transfers.parent" in made.warnings[0].what


def test_what_counts_as_public_is_said() -> None:
    tables = hospital()
    tables["drugs"] = {"public": True, "key": "drug_id"}
    tables["nurses"] = {"pool": {"rows": 20}, "key": "nurse_id"}
    tables["patients"]["rows"] = 100
    facts = "\n".join(planned(tables).public)
    for word in ("verbatim: drugs", "made up: nurses", "declared: patients"):
        assert word in facts


def test_a_schema_with_nothing_to_model_is_refused() -> None:
    with pytest.raises(PlanError, match="nothing to model"):
        planned({"patients": {"key": "subject_id", "columns": {"subject_id": {"type": "identifier"}}}})


def test_an_unknown_group_is_a_key_error() -> None:
    with pytest.raises(KeyError, match="nobody"):
        planned(hospital()).group("nobody.rows")


def test_the_budget_is_kept_as_given() -> None:
    assert planned(hospital(), budget=BUDGET).budget == BUDGET
