"""Keys and links read from names, in sources that declare none."""

from __future__ import annotations

import pytest

from mare.schema.drafting.name_words import id_stem, singular, stem, words
from mare.schema.drafting.survey import take_survey
from mare.schema.reflection import ReflectedTable
from tests.reflections import ADMISSIONS, NOTHING_KNOWN, PATIENTS, drafted, reflect, table, written

SUBJECTS = table("patients", "subject_id integer?, gender string?")
STAYS = table("admissions", "subject_id integer?, hadm_id integer?, admittime datetime?")


def links(*tables: ReflectedTable) -> set[str]:
    return {link.label for link in take_survey(reflect(*tables), NOTHING_KNOWN).links}


def key(of: ReflectedTable, *others: ReflectedTable) -> tuple[str, ...]:
    return take_survey(reflect(of, *others), NOTHING_KNOWN).keys[of.name]


def test_names_are_taken_apart_whatever_their_style() -> None:
    assert words("SupportRepId") == words("support_rep_id") == ("support", "rep", "id")
    assert words("ICDCode") == ("icd", "code")
    assert words("Körpergewicht2") == words("korpergewicht_2") == ("korpergewicht", "2")
    assert [singular(word) for word in ("patients", "diagnosis", "categories", "boxes", "status")] == [
        "patient", "diagnosis", "category", "box", "status",
    ]  # fmt: skip
    assert stem("hosp.invoice_lines") == stem("InvoiceLine") == "invoiceline"
    assert [id_stem(name) for name in ("hadm_id", "id", "patientunitstayid", "hcpcs_cd", "fluid", "age")] == [
        "hadm", "", "patientunitstay", "hcpc", None, None,
    ]  # fmt: skip


def test_a_column_called_as_another_tables_key_is_a_link() -> None:
    assert links(SUBJECTS, STAYS) == {"admissions.subject_id → patients"}


def test_an_id_is_the_key_of_the_table_it_is_called_after_also_by_its_usual_abbreviation() -> None:
    assert key(SUBJECTS) == ("subject_id",)
    assert key(STAYS, SUBJECTS) == ("hadm_id",)
    assert key(table("visit_occurrence", "visit_occurrence_id integer?, person_id integer?")) == ("visit_occurrence_id",)


def test_a_first_id_that_no_other_table_has_is_a_key() -> None:
    micro = table("microbiologyevents", "microevent_id integer?, subject_id integer?")
    assert key(micro, SUBJECTS) == ("microevent_id",)


def test_a_table_of_events_has_no_key_of_its_own() -> None:
    assert key(table("diagnoses_icd", "subject_id integer?, hadm_id integer?, seq_num integer?"), SUBJECTS, STAYS) == ()


def test_an_id_with_a_role_before_it_leads_to_the_same_table() -> None:
    provider = table("provider", "provider_id string?")
    orders = table("orders", "order_id integer?, order_provider_id string?")
    assert links(provider, orders) == {"orders.order_provider_id → provider"}


def test_columns_called_after_a_table_lead_to_its_bare_id() -> None:
    patients = table("patients", "Id string?, BIRTHDATE date?")
    encounters = table("encounters", "Id string?, START datetime?, PATIENT string?")
    conditions = table("conditions", "START date?, PATIENT string?, ENCOUNTER string?, CODE string?")
    assert links(patients, encounters, conditions) == {
        "encounters.PATIENT → patients",
        "conditions.PATIENT → patients",
        "conditions.ENCOUNTER → encounters",
    }


def test_a_column_that_counts_rows_of_a_table_is_no_link_to_it() -> None:
    encounters = table("encounters", "Id string?, START datetime?")
    providers = table("providers", "Id string?, ENCOUNTERS string?")
    assert links(encounters, providers) == set()


def test_a_bare_id_that_tables_share_belongs_to_the_one_that_describes_people() -> None:
    people = table("nafld1", "id integer?, age integer?, male integer?")
    tests = table("nafld2", "id integer?, days integer?, value number?")
    assert key(people, tests) == ("id",)
    assert key(tests, people) == ()
    assert links(people, tests) == {"nafld2.id → nafld1"}


def test_each_tables_own_id_is_no_link() -> None:
    patients = table("patients", "id integer?, age integer?")
    visits = table("visits", "id integer?, patient_id integer?")
    assert links(patients, visits) == {"visits.patient_id → patients"}


def test_a_code_leads_to_the_vocabulary_called_after_it() -> None:
    vocabulary = table("d_hcpcs", "code string?, long_description string?")
    events = table("hcpcsevents", "hadm_id integer?, hcpcs_cd string?")
    assert links(vocabulary, events) == {"hcpcsevents.hcpcs_cd → d_hcpcs"}


def test_a_vocabulary_of_something_else_is_no_target() -> None:
    labitems = table("d_labitems", "itemid integer?, label string?")
    outputs = table("outputevents", "stay_id integer?, itemid integer?")
    labs = table("labevents", "hadm_id integer?, itemid integer?")
    assert links(labitems, outputs, labs) == {"labevents.itemid → d_labitems"}


def test_of_two_vocabularies_the_one_that_shares_a_word_with_the_table_is_meant() -> None:
    diagnoses = table("d_icd_diagnoses", "icd_code string?, icd_version integer?, long_title string?")
    procedures = table("d_icd_procedures", "icd_code string?, icd_version integer?, long_title string?")
    events = table("diagnoses_icd", "hadm_id integer?, icd_code string?, icd_version integer?")
    assert links(diagnoses, procedures, events) == {"diagnoses_icd.icd_code+icd_version → d_icd_diagnoses"}


def test_a_vocabulary_that_begins_with_another_ones_key_does_not_own_it() -> None:
    concept = table("concept", "concept_id integer, concept_name string", key="concept_id")
    synonym = table("concept_synonym", "concept_id integer, concept_synonym_name string")
    person = table("person", "person_id integer, gender_concept_id integer", key="person_id")
    assert links(concept, synonym, person) == {"person.gender_concept_id → concept", "concept_synonym.concept_id → concept"}


def test_kinds_that_do_not_fit_are_no_link() -> None:
    assert links(SUBJECTS, table("labs", "lab_id integer?, subject_id date?")) == set()


def test_a_table_that_declares_foreign_keys_is_taken_at_its_word() -> None:
    wards = table("wards", "ward_id integer", key="ward_id")
    stays = table(
        "stays", "stay_id integer, subject_id integer, ward_id integer", key="stay_id", refers={"subject_id": "patients"}
    )
    assert links(PATIENTS, wards, stays) == {"stays.subject_id → patients"}


def test_a_key_that_is_another_tables_key_extends_that_table() -> None:
    death = table("death", "person_id integer, death_date date", key="person_id")
    person = table("person", "person_id integer, gender string", key="person_id")
    assert links(person, death) == {"death.person_id → person"}


def test_a_foreign_key_to_a_table_that_is_left_out_is_none() -> None:
    assert links(ADMISSIONS) == set()


def test_the_draft_says_that_links_were_guessed() -> None:
    assert "REVIEW: guessed: subject_id is called as the key of patients" in written(SUBJECTS, STAYS)
    assert "is called as" not in written(PATIENTS, ADMISSIONS)


COMMON = ["name", "code", "type", "status", "value", "label", "description", "date", "time"]


@pytest.mark.parametrize("name", COMMON)
def test_a_name_that_many_tables_have_is_no_link_by_itself(name: str) -> None:
    drug = table("drug", f"{name} string, form string", key=name)
    assert links(drug, table("doctor", f"did integer, {name} string?", key="did")) == set()
    assert links(drug, table("prescription", f"pid integer, drug_{name} string?, {name.upper()} string?", key="pid")) <= {
        f"prescription.drug_{name} → drug"
    }


def test_a_common_name_is_a_link_where_the_table_is_called_so() -> None:
    units = table("units", "unit string, factor number", key="unit")
    assert links(units, table("labs", "lab_id integer, unit string?", key="lab_id")) == {"labs.unit → units"}


def test_a_vocabulary_with_common_names_alone_in_its_key_is_no_target() -> None:
    types = table("d_things", "code string, type string, label string", key="code+type")
    assert links(types, table("orders", "order_id integer, code string?, type string?", key="order_id")) == set()


def test_links_that_a_name_alone_made_are_one_question_with_all_their_places() -> None:
    stays = table("admissions", "hadm_id integer?, subject_id integer?, admittime datetime?")
    labs = table("labs", "lab_id integer?, hadm_id integer?, subject_id integer?, itemid integer?, value number?")
    items = table("d_labitems", "itemid integer?, label string?")
    text = written(table("patients", "subject_id integer?, gender string?"), stays, labs, items)
    asked = " ".join(text[: text.index("mare: 1")].replace("#", "").split())
    assert text.count("REVIEW: references guessed from names") == 1
    assert "admissions (subject_id → patients), labs (hadm_id → admissions, subject_id → patients, itemid → d_labitems)" in asked


def test_declared_links_are_not_to_be_reviewed_as_guesses() -> None:
    assert "guessed from names, since" not in written(PATIENTS, ADMISSIONS)
    assert "is called as" not in written(PATIENTS, ADMISSIONS)


def test_nothing_in_a_pool_is_drafted_to_be_learned() -> None:
    wards = table("wards", "ward_id string, floor integer", key="ward_id")
    doctors = table("doctors", "doctor_id integer, ward_id string?, grade string, age integer", key="doctor_id")
    patients = table("patients", "patient_id integer, doctor_id integer, ward_id string", key="patient_id")
    found = drafted(wards, doctors, patients).tables
    assert found["doctors"].pool is not None
    assert found["doctors"].references["ward_id"].kind == "public"
    learned = [name for name, one in (found["doctors"].columns | found["doctors"].references).items() if getattr(one, "learn", 0)]
    assert learned == []
    assert found["patients"].references["ward_id"].learn


def test_a_number_that_counts_by_itself_is_nobody_elses_key() -> None:
    patient = table("patient", "id integer, sex string", key="id")
    # A partitioned table has its own number and the day of its partition for a key.
    visit = table("visit", "id integer, day date", key="id day", id={"autoincrement": True})
    assert links(patient, visit) == set()
    assert links(patient, table("visit", "id integer, day date", key="id day")) == {"visit.id → patient"}


def test_a_word_that_all_tables_begin_with_hides_nobodys_key() -> None:
    """Files of one export: `Acme_Products.csv`, `Acme_Sales.csv`."""
    schema = drafted(
        table("Acme_Customers", "CustomerKey integer?, Gender string?"),
        table("Acme_Products", "ProductKey integer?, ProductSubcategoryKey integer?, Colour string?"),
        table("Acme_Product_Subcategories", "ProductSubcategoryKey integer?, Label string?"),
        table("Acme_Sales", "OrderDate date?, ProductKey integer?, CustomerKey integer?"),
    )
    assert schema.entity == "Acme_Customers"
    assert schema.tables["Acme_Products"].key == ("ProductKey",)
    assert schema.tables["Acme_Sales"].references["ProductKey"].table == "Acme_Products"
    assert schema.tables["Acme_Products"].references["ProductSubcategoryKey"].table == "Acme_Product_Subcategories"
    assert schema.tables["Acme_Products"].public
