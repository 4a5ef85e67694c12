"""Every column and history column has an upper bound, from the schema alone; what it leaves open is asked for."""

from __future__ import annotations

from typing import Any

import pytest

from mare.errors import PlanError
from mare.planning.domains import MAX_UNROLLED

from .examples import YES_NO, hospital, planned, prescriptions


def test_counts_run_from_none_to_the_cap() -> None:
    assert planned(hospital()).group("admissions.context").columns.size("count") == 11


def test_a_previous_row_has_a_code_for_not_being_there() -> None:
    history = planned(hospital()).group("admissions.rows").history
    assert history.size("admissions.ward[-1]") == 3
    assert history.size("patients.gender") == 2


def test_free_history_is_no_larger_than_the_cap() -> None:
    tables = hospital()
    tables["admissions"]["parent"]["max_rows"] = 3
    sizes = planned(tables).group("admissions.rows").history
    position = next(name for name in sizes if name.endswith("position"))
    remaining = next(name for name in sizes if name.endswith("remaining"))
    assert (sizes.size(position), sizes.size(remaining)) == (3, 3)


def test_a_gap_from_the_previous_row_has_a_code_for_the_first_row_and_the_first_value_one_for_no_row() -> None:
    tables = hospital()
    tables["admissions"]["columns"]["day"] = {
        "type": "integer",
        "after": "previous.day",
        "within": 9,
        "first": {"min": 1, "max": 30},
    }
    made = planned(tables)
    assert made.group("admissions.rows").columns.size("day") == 11
    assert made.group("admissions.context").columns.size("first(day)") == 31


def test_learned_columns_are_named_with_the_most_they_may_become() -> None:
    tables = hospital()
    tables["transfers"]["columns"]["race"] = {"type": "category", "learn": True, "max_values": 40}
    group = planned(tables).group("transfers.rows")
    assert group.learned == {"race"}
    assert group.columns.size("race") == 40 + 1


def test_a_vocabulary_unrolls_into_one_column_per_key_and_so_does_its_history() -> None:
    tables = hospital()
    tables["drugs"] = {"public": True, "key": "drug_id", "rows": 3}
    tables["prescriptions"] = prescriptions(multiplicity=2)
    made = planned(tables)
    context = made.group("prescriptions.context").columns
    assert [name for name in context if name.startswith("exists")] == [f"exists(drug_id)#{i}" for i in range(3)]
    assert context.size("exists(drug_id)#0") == 3
    lagged = [name for name in made.group("prescriptions.context").history if "exists(drug_id)[-1]" in name]
    assert len(lagged) == 3
    assert made.group("prescriptions.context").history.size(lagged[0]) == 4


def test_a_derived_value_has_a_code_for_an_absent_key() -> None:
    tables = hospital()
    tables["drugs"] = {"public": True, "key": "drug_id", "rows": 3}
    tables["prescriptions"] = prescriptions(derived=["dose"])
    tables["prescriptions"]["columns"]["dose"] = {"type": "integer", "min": 1, "max": 4}
    context = planned(tables).group("prescriptions.context").columns
    assert context.size("dose(drug_id)#2") == 5


def test_a_public_reference_has_one_code_per_key_or_max_values_one_for_the_rest_and_one_for_null() -> None:
    tables = hospital()
    tables["units"] = {"public": True, "key": "unit_id", "rows": 12}
    tables["transfers"]["references"] = {
        "to_unit": {"kind": "public", "table": "units"},
        "from_unit": {"kind": "public", "table": "units", "nullable": True, "max_values": 5},
    }
    columns = planned(tables).group("transfers.rows").columns
    assert (columns.size("to_unit"), columns.size("from_unit")) == (13, 7)


def unsized_reference() -> dict[str, Any]:
    tables = hospital()
    tables["units"] = {"public": True, "key": "unit_id"}
    tables["transfers"]["references"] = {"to_unit": {"kind": "public", "table": "units"}}
    return tables


def unsized_association() -> dict[str, Any]:
    return hospital() | {"drugs": {"public": True, "key": "drug_id"}, "prescriptions": prescriptions(max_rows=5)}


@pytest.mark.parametrize("tables", [unsized_reference(), unsized_association()], ids=["reference", "association"])
def test_a_public_table_of_unknown_size_is_asked_for(tables: dict[str, Any]) -> None:
    with pytest.raises(PlanError, match=r"rows: under (units|drugs)"):
        planned(tables)


def large(**link: object) -> dict[str, Any]:
    drugs = {"public": True, "key": "drug_id", "rows": 9_000}
    return hospital() | {"drugs": drugs, "prescriptions": prescriptions(max_rows=20, **link)}


def test_a_vocabulary_too_large_to_unroll_is_refused_with_what_to_write() -> None:
    with pytest.raises(PlanError, match=r"9,000 columns.*vocabulary: \{select: 50, rest: rows\}") as error:
        planned(large())
    assert len(error.value.faults) == 1


def test_selected_keys_unroll_and_the_rest_become_rows_and_the_plan_says_so() -> None:
    made = planned(large(vocabulary={"select": 50, "rest": "rows"}))
    exists = [name for name in made.group("prescriptions.context").columns if name.startswith("exists")]
    assert len(exists) == 50
    assert any("50 keys of drugs" in note and "ordinary rows" in note for note in made.notes)


def test_selecting_more_keys_than_can_be_unrolled_is_refused() -> None:
    with pytest.raises(PlanError, match=f"select: {MAX_UNROLLED} or less"):
        planned(large(vocabulary={"select": 300, "rest": "drop"}))


def test_a_column_may_be_called_count() -> None:
    tables = hospital()
    tables["transfers"]["columns"]["count"] = YES_NO
    made = planned(tables)
    assert made.group("transfers.rows").columns.size("count") == 2
    assert made.group("transfers.context").columns.size("count") == 11
