"""Codes and their names in one row, by their names: drafted as pairs, and asked about."""

from __future__ import annotations

import pytest

from mare.schema.reflection import ReflectedTable
from tests.reflections import comment_on, drafted, table, written

PEOPLE = table("patients", "patient_id integer, region string", key="patient_id")


def rows(columns: str, name: str = "events") -> ReflectedTable:
    described = f"event_id integer, patient_id integer, {columns}"
    return table(name, described, key="event_id", refers={"patient_id": "patients.patient_id"})


def goes_with(columns: str, name: str = "events") -> dict[str, str]:
    held = drafted(PEOPLE, rows(columns, name)).tables[name].columns
    return {column: described.goes_with for column, described in held.items() if described.goes_with is not None}


@pytest.mark.parametrize(
    ("columns", "pairs"),
    [
        ("cause_code string, cause_text string", {"cause_text": "cause_code"}),
        ("cause_code string, cause string", {"cause": "cause_code"}),
        ("unit string, unit_name string", {"unit_name": "unit"}),
        ("CODE string, DESCRIPTION string", {"DESCRIPTION": "CODE"}),
        ("ReasonCode string, ReasonDesc string", {"ReasonDesc": "ReasonCode"}),
        ("icd10 string, icd10_title string", {"icd10_title": "icd10"}),
        ("icd_code string, diagnosis string", {"diagnosis": "icd_code"}),
        ("drug string, atc string", {"drug": "atc"}),
        ("drug_code string, drug_name string, atc string", {"drug_code": "atc", "drug_name": "atc"}),
        ("loinc string, test_name string", {"test_name": "loinc"}),
        ("status_code integer, status_text string", {"status_text": "status_code"}),
    ],
)
def test_a_name_goes_with_its_code(columns: str, pairs: dict[str, str]) -> None:
    assert goes_with(columns) == pairs


@pytest.mark.parametrize(
    "columns",
    [
        "cause_code string, note string",
        "ward string, name string",
        "code string, text string",
        "drug string, route string",
        "icd_code string, diagnosis_note string",
        "discount number, discount_code string",
        "atc string, ndc string, drug string",
    ],
)
def test_what_only_looks_alike_stands_alone(columns: str) -> None:
    """A bare text may be anybody's; of two vocabularies nothing tells which a drug is named by."""
    assert goes_with(columns) == {}


def test_what_rows_are_about_stays_a_column_of_its_own() -> None:
    """The previous result of the same test is looked at: the code goes with the test, not the test with its code."""
    text = "taken datetime, test string, loinc string, value number"
    assert goes_with(text, "labs") == {"loinc": "test"}
    parent = drafted(PEOPLE, rows(text, "labs")).tables["labs"].parent
    assert parent is not None
    assert parent.history_by == ("test",)


def test_a_text_beside_a_code_is_no_free_text() -> None:
    draft = written(PEOPLE, rows("cause_code string, cause_text string"))
    assert "REVIEW: taken for what cause_code is called" in comment_on(draft, "cause_text:")


KINDS = table("kind_codes", "kind string, kind_name string, fee number", key="kind")


def with_kinds(columns: str) -> ReflectedTable:
    described = f"event_id integer, patient_id integer, {columns}"
    return table("events", described, key="event_id", refers={"patient_id": "patients.patient_id", "kind": "kind_codes.kind"})


def test_what_a_public_table_calls_it_is_looked_up() -> None:
    found = drafted(PEOPLE, KINDS, with_kinds("kind string, kind_name string")).tables["events"].columns["kind_name"].determined
    assert found is not None
    assert found.lookup is not None
    assert (found.lookup.table, found.lookup.column, found.lookup.by) == ("kind_codes", "kind_name", ("kind",))


@pytest.mark.parametrize("columns", ["kind string?, kind_name string", "kind string, fee number"])
def test_what_may_be_otherwise_is_only_asked(columns: str) -> None:
    """A name where there is no key cannot be looked up; what a thing costs changes."""
    held = drafted(PEOPLE, KINDS, with_kinds(columns)).tables["events"].columns
    assert all(column.determined is None for column in held.values())
    assert "determined: {lookup: " in written(PEOPLE, KINDS, with_kinds(columns))
