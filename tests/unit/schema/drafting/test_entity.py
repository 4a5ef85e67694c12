"""Whose privacy is protected: by name, by reach, by what columns describe, or left open."""

from __future__ import annotations

import pytest

from mare.errors import SourceError
from mare.schema import EntityByColumn
from mare.schema.drafting import draft
from mare.schema.loading import load_document
from tests.reflections import ADMISSIONS, NOTHING_KNOWN, PATIENTS, drafted, reflect, table, written


def test_a_table_called_after_people_is_the_entity() -> None:
    assert drafted(ADMISSIONS, PATIENTS).entity == "patients"


@pytest.mark.parametrize(
    "name", ["Patient", "PERSON", "customers", "client", "members", "users", "blood_donors", "hosp.patients"]
)
def test_many_words_name_people(name: str) -> None:
    visits = table("visits", "visit_id integer, who integer", key="visit_id", refers={"who": f"{name}"})
    if "." in name:  # a foreign key names its table with the schema
        visits = table("visits", "visit_id integer", key="visit_id")
    assert drafted(table(name, "id integer, x string", key="id"), visits).entity == name


def test_patients_beat_users_and_the_rival_is_named() -> None:
    users = table("users", "id integer, login string", key="id")
    text = written(users, PATIENTS)
    assert "\nentity: patients" in text
    assert "others that could be meant: users" in text


def test_of_two_such_tables_the_one_that_others_lead_to_wins() -> None:
    old = table("a_patient", "id integer", key="id")
    new = table("b_patient", "id integer", key="id")
    visits = table("visits", "id integer, patient integer", key="id", refers={"patient": "b_patient.id"})
    assert drafted(old, new, visits).entity == "b_patient"


def test_staff_and_notes_about_patients_are_not_the_entity() -> None:
    provider = table("provider", "provider_id integer, gender string", key="provider_id")
    notes = table("patient_notes", "note_id integer, text string", key="note_id")
    schema = drafted(provider, notes, table("wards", "ward_id integer", key="ward_id"))
    assert schema.entity is None


def test_a_table_that_others_lead_to_and_that_describes_people_is_the_entity() -> None:
    cohort = table("cohort", "cid integer, sex string, age integer", key="cid")
    labs = table("labs", "lab_id integer, cid integer", key="lab_id", refers={"cid": "cohort.cid"})
    assert drafted(labs, cohort).entity == "cohort"


def test_where_nothing_is_convincing_the_draft_loads_and_lists_candidates() -> None:
    things = table("things", "id integer, x string", key="id")
    parts = table("parts", "id integer, thing integer", key="id", refers={"thing": "things.id"})
    text = draft(reflect(things, parts), NOTHING_KNOWN)
    document = load_document(text)
    assert document.schema.entity is None
    assert "things (1 other table leads to it)" in text
    assert ("entity",) in [fault.path for fault in document.faults]


def test_the_only_table_is_the_entity() -> None:
    schema = drafted(table("adult", "age integer, income string"))
    assert schema.entity == "adult"


def test_a_patient_table_keyed_by_stay_holds_its_patients_as_a_column() -> None:
    patient = table("patient", "patientunitstayid integer, uniquepid string, age string", key="patientunitstayid")
    labs = table(
        "lab",
        "labid integer, patientunitstayid integer, labresultoffset integer",
        key="labid",
        refers={"patientunitstayid": "patient.patientunitstayid"},
    )
    schema = drafted(patient, labs)
    assert schema.entity == EntityByColumn(table="patient", by="uniquepid")
    assert schema.parent_name("patient") == "uniquepid"
    assert schema.parent_columns("patient") == ("uniquepid",)
    assert schema.parent_name("lab") == "patient"


def test_ids_of_people_without_a_table_of_people_are_an_entity_by_column() -> None:
    visits = table("visits", "visit_id integer, patient_id integer, at datetime", key="visit_id")
    labs = table("labs", "lab_id integer, patient_id integer, at datetime", key="lab_id")
    schema = drafted(visits, labs)
    assert schema.entity == EntityByColumn(table="visits", by="patient_id")
    assert schema.parent_name("labs") == "patient_id"


def test_an_entity_by_column_that_is_called_like_a_table_gets_another_name() -> None:
    encounters = table("encounters", "id integer, patient integer", key="id")
    patient = table("patient", "code integer", key="code")
    schema = drafted(encounters, patient, entity="encounters.patient")
    assert schema.entity == EntityByColumn(table="encounters", by="patient", name="each_patient")


def test_the_entity_that_is_asked_for_is_taken_in_any_case_of_letters() -> None:
    assert drafted(PATIENTS, ADMISSIONS, entity="ADMISSIONS").entity == "admissions"


def test_an_unknown_entity_is_refused_with_the_tables_there_are() -> None:
    with pytest.raises(SourceError, match=r"--entity patientz.*There are: admissions, patients\."):
        draft(reflect(PATIENTS, ADMISSIONS), NOTHING_KNOWN, "patientz")


def test_an_unknown_column_of_the_entity_is_refused_with_the_columns_there_are() -> None:
    with pytest.raises(SourceError, match=r"patients has no column mrn.*subject_id, gender, dod"):
        draft(reflect(PATIENTS), NOTHING_KNOWN, "patients.mrn")


def test_an_empty_source_is_refused() -> None:
    with pytest.raises(SourceError, match="holds no table"):
        draft(reflect(label="an empty folder"), NOTHING_KNOWN)


def test_subjects_that_are_taught_are_not_the_people_where_students_are_described() -> None:
    subjects = table("subjects", "code string, hours integer", key="code")
    students = table("students", "student_no string, sex string, born date", key="student_no")
    links = {"student_no": "students.student_no", "code": "subjects.code"}
    grades = table("grades", "id integer, student_no string, code string, grade integer", key="id", refers=links)
    schema = drafted(subjects, students, grades)
    assert schema.entity == "students"
    assert schema.tables["subjects"].public
