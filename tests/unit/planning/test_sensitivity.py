"""S is the sum over paths of the products of enforced caps, or the lower cap per entity; and it says so."""

from __future__ import annotations

from typing import Any

import pytest

from mare.errors import MareError, PlanError
from mare.schema.layout import link_cap

from .examples import YES_NO, hospital, planned, prescriptions, schema_of, sensitivities


def test_rows_multiply_the_caps_and_contexts_have_the_parents_sensitivity() -> None:
    made = planned(hospital())
    assert sensitivities(made) == {
        "patients.rows": 1,
        "admissions.context": 1,
        "admissions.rows": 10,
        "transfers.context": 10,
        "transfers.rows": 100,
    }
    assert made.group("transfers.rows").reason == "10 admissions × 10 transfers = 100"
    assert made.group("transfers.context").reason == "10 admissions"
    assert made.group("patients.rows").reason == "one row per entity"


def test_a_cap_per_entity_holds_where_it_is_lower_and_below_that_table_too() -> None:
    tables = hospital()
    tables["transfers"]["parent"]["max_per_entity"] = 40
    tables["notes"] = {"parent": {"table": "transfers", "column": "transfer_id", "max_rows": 2}, "columns": {"kind": YES_NO}}
    made = planned(tables)
    assert sensitivities(made)["transfers.rows"] == 40
    assert made.group("transfers.rows").reason == "40 transfers (max_per_entity, below 10 admissions × 10 transfers = 100)"
    assert sensitivities(made)["notes.rows"] == 80


def test_a_cap_per_entity_that_is_higher_changes_nothing() -> None:
    tables = hospital()
    tables["transfers"]["parent"]["max_per_entity"] = 400
    assert sensitivities(planned(tables))["transfers.rows"] == 100


def test_a_key_that_is_the_foreign_key_means_one_row() -> None:
    tables = hospital()
    tables["deaths"] = {
        "key": "subject_id",
        "parent": {"table": "patients", "column": "subject_id"},
        "columns": {"cause": YES_NO},
    }
    made = planned(tables)
    assert sensitivities(made)["deaths.rows"] == 1
    assert made.group("deaths.context").columns.size("count") == 2


def test_a_unique_foreign_key_means_one_row_whatever_max_rows_says() -> None:
    tables = hospital()
    tables["deaths"] = {
        "key": "death_id",
        "unique": ["subject_id"],
        "parent": {"table": "patients", "column": "subject_id", "max_rows": 7},
        "columns": {"cause": YES_NO},
    }
    cap = link_cap(schema_of(tables), "deaths")
    assert cap is not None
    assert (cap.rows, cap.why) == (1, "key = foreign key")


def test_an_entity_by_column_has_max_rows_of_its_table() -> None:
    tables: dict[str, Any] = {
        "stays": {
            "key": "stay_id",
            "parent": {"max_rows": 6},
            "columns": {"uniquepid": {"type": "identifier"}, "unit": YES_NO},
        },
        "labs": {"parent": {"table": "stays", "column": "stay_id", "max_rows": 3}, "columns": {"item": YES_NO}},
    }
    made = planned(tables, entity={"table": "stays", "by": "uniquepid"})
    assert sensitivities(made) == {"stays.context": 1, "stays.rows": 6, "labs.context": 6, "labs.rows": 18}


def test_owned_rows_sum_over_the_references_that_own_them() -> None:
    tables = hospital()
    tables["addresses"] = {"key": "address_id", "columns": {"urban": YES_NO}}
    owned = {"kind": "owned", "table": "addresses", "nullable": True}
    tables["admissions"]["references"] = {"referrer": owned, "relative": owned}
    made = planned(tables)
    assert sensitivities(made)["addresses.rows"] == 20
    assert made.group("addresses.rows").reason == "10 by admissions.referrer + 10 by admissions.relative = 20"


@pytest.mark.parametrize(
    ("link", "rows"),
    [({"max_rows": 4}, 4), ({}, 30), ({"multiplicity": 2}, 60), ({"max_rows": 100}, 30), ({"max_rows": 4, "multiplicity": 9}, 4)],
)
def test_associations_are_capped_by_max_rows_or_by_the_vocabulary(link: dict[str, object], rows: int) -> None:
    tables = hospital() | {"drugs": {"public": True, "key": "drug_id", "rows": 30}, "prescriptions": prescriptions(**link)}
    assert sensitivities(planned(tables))["prescriptions.rows"] == 10 * rows


def test_a_link_without_a_cap_is_refused_by_name() -> None:
    tables = hospital()
    del tables["transfers"]["parent"]["max_rows"]
    with pytest.raises(MareError, match=r"tables\.transfers\.parent.*max_rows") as error:
        planned(tables)
    assert "admissions" not in str(error.value)


def test_caps_that_are_none_are_refused_once() -> None:
    tables = hospital()
    tables["admissions"]["parent"]["max_rows"] = 10**400
    with pytest.raises(PlanError, match=r"tables\.admissions\.parent: the caps allow one entity some 10\^400 rows") as error:
        planned(tables)
    assert len(error.value.faults) == 1


def test_owners_upon_owners_are_summed_without_listing_every_way() -> None:
    """40 tables that each own the next one twice: 2^40 ways up."""
    both = [{name: {"kind": "owned", "table": f"t{i}"} for name in ("a", "b")} for i in range(40)]
    tables: dict[str, Any] = {"patients": {"key": "id", "columns": {"x": YES_NO}, "references": both[0]}}
    for i in range(40):
        tables[f"t{i}"] = {"key": "k", "columns": {"x": YES_NO}, "references": both[i + 1] if i < 39 else {}}
    assert sensitivities(planned(tables))["t39.rows"] == 2**40
