"""A schema against a source: references, public tables and what they hold. No row is read."""

from __future__ import annotations

import pytest

from mare.schema.faults import Fault
from mare.schema.reflection import ReflectedTable
from tests.matching import SCHEMA, faults
from tests.reflections import ADMISSIONS, PATIENTS, table


def _linked(schema_line: str, *tables: ReflectedTable) -> tuple[Fault, ...]:
    """The faults that a further table brings, described so."""
    return faults(PATIENTS, ADMISSIONS, *tables, schema=f"{SCHEMA}  {schema_line}\n")


@pytest.mark.parametrize("target", ["patients.subject_id", "admissions.hadm_id"])
def test_a_public_table_that_refers_to_people_is_refused(target: str) -> None:
    beds = table("beds", "bed integer, who integer?", key="bed", refers={"who": target})
    for also in ("", ", ignore_columns: [who]"):
        (fault,) = _linked(f"beds: {{public: true, key: bed{also}}}", beds)
        assert (fault.path, fault.severity) == (("tables", "beds", "public"), "error")
        assert "copied verbatim, but refers to people" in fault.what
        assert "parent: {table: " + target.split(".")[0] in fault.remedy


def test_a_public_table_may_refer_to_another_public_one() -> None:
    wards = table("wards", "ward integer", key="ward")
    beds = table("beds", "bed integer, ward integer", key="bed", refers={"ward": "wards.ward"})
    assert _linked("beds: {public: true, key: bed}\n  wards: {public: true, key: ward}", beds, wards) == ()


def test_a_public_table_leaves_out_its_references_to_a_pool() -> None:
    staff = table("staff", "id integer", key="id")
    beds = table("beds", "bed integer, nurse integer", key="bed", refers={"nurse": "staff.id"})
    pool = "staff: {pool: {rows: 5}, key: id}"
    (fault,) = _linked(f"beds: {{public: true, key: bed}}\n  {pool}", staff, beds)
    assert (fault.path, fault.severity) == (("tables", "beds", "public"), "error")
    assert "ignore_columns" in fault.remedy
    assert _linked(f"beds: {{public: true, key: bed, ignore_columns: [nurse]}}\n  {pool}", staff, beds) == ()


LETTERS = "letters: {parent: {table: admissions, column: hadm_id, max_rows: 3}, columns: {recipient: %s}}"


@pytest.mark.parametrize(
    ("target", "kind"), [("patients.subject_id", "kind ancestor"), ("others.other_id", "kind other_entity"), ("staff.id", "pool")]
)
@pytest.mark.parametrize("described", ["{type: category, learn: true}", "{type: integer, min: 0, max: 9}"])
def test_a_foreign_key_to_somebodys_rows_is_never_an_ordinary_column(described: str, target: str, kind: str) -> None:
    letters = table(
        "letters", "hadm_id integer, recipient integer", refers={"hadm_id": "admissions.hadm_id", "recipient": target}
    )
    others = table("others", "other_id integer, subject_id integer", key="other_id", refers={"subject_id": "patients.subject_id"})
    more = (
        "\n  others: {key: other_id, parent: {table: patients, column: subject_id, max_rows: 2}}"
        "\n  staff: {pool: {rows: 3}, key: id}"
    )
    (fault,) = _linked(LETTERS % described + more, letters, others, table("staff", "id integer", key="id"))
    assert (fault.path, fault.severity) == (("tables", "letters", "columns", "recipient"), "error")
    assert "never learned" in fault.what
    assert kind in fault.remedy


def test_a_foreign_key_that_is_made_anew_or_is_a_reference_passes() -> None:
    letters = table(
        "letters",
        "hadm_id integer, recipient integer",
        refers={"hadm_id": "admissions.hadm_id", "recipient": "patients.subject_id"},
    )
    assert _linked(LETTERS % "{type: identifier}", letters) == ()
    reference = "references: {recipient: {table: patients, kind: other_entity, fill: random}}"
    assert _linked(f"letters: {{parent: {{table: admissions, column: hadm_id, max_rows: 3}}, {reference}}}", letters) == ()


def test_columns_that_could_never_be_joined_are_errors() -> None:
    letters = table("letters", "hadm_id string, who integer")
    reference = "references: {who: {table: patients, kind: ancestor}}"
    found = _linked(f"letters: {{parent: {{table: admissions, column: hadm_id, max_rows: 3}}, {reference}}}", letters)
    (fault,) = [one for one in found if one.severity == "error"]
    assert fault.path == ("tables", "letters", "parent", "column")
    assert "STRING" in fault.what
    assert "INTEGER" in fault.what


ICD = table("d_icd", "code string, title string, chapter string", key="code")
CODES = table("codes", "hadm_id integer, icd string, title string", refers={"hadm_id": "admissions.hadm_id"})
CODED = """  d_icd: {public: true, key: code}
  codes:
    parent: {table: admissions, column: hadm_id, max_rows: 3}
    columns:
      icd: {type: code, vocabulary: d_icd, hierarchy: {columns: [chapter]}}
      title: {type: text, determined: {lookup: {table: d_icd, column: title, by: icd}}}
"""


def test_columns_named_in_public_tables_are_looked_for_there() -> None:
    assert faults(PATIENTS, ADMISSIONS, ICD, CODES, schema=SCHEMA + CODED) == ()


@pytest.mark.parametrize(
    ("written", "spoiled", "at"),
    [
        ("[chapter]", "[chaptre]", ("columns", "icd", "hierarchy", "columns")),
        ("column: title", "column: titel", ("columns", "title", "determined", "lookup", "column")),
    ],
)
def test_a_column_that_the_public_table_does_not_have_is_told_where_it_is_named(
    written: str, spoiled: str, at: tuple[str, ...]
) -> None:
    (fault,) = faults(PATIENTS, ADMISSIONS, ICD, CODES, schema=SCHEMA + CODED.replace(written, spoiled, 1))
    assert (fault.path, fault.severity) == (("tables", "codes", *at), "error")
    assert "d_icd has no column" in fault.what
    assert "Did you mean" in fault.remedy


def test_a_column_that_a_reference_names_there_is_looked_for() -> None:
    schema = SCHEMA + "  d_icd: {public: true, unique: [[cod]]}\n  codes:\n    ignore_columns: [title]\n"
    schema += "    parent: {table: admissions, column: hadm_id, max_rows: 3}\n"
    schema += "    references: {icd: {kind: public, table: d_icd, column: cod}}\n"
    found = faults(PATIENTS, ADMISSIONS, ICD, CODES, schema=schema.replace("unique: [[cod]]", "key: code, unique: [[cod]]"))
    assert [fault.severity for fault in found] == ["error"]
    assert "d_icd has no column cod" in found[0].what
