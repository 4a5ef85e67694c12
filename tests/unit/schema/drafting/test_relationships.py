"""How the rows of one parent are correlated, by keys, order columns and the shape of the table."""

from __future__ import annotations

import pytest

from mare.planning.planning import open_questions
from tests.reflections import ADMISSIONS, PATIENTS, comment_on, drafted, table, written

DRUGS = table("drugs", "drug_id integer, name string", key="drug_id")
TO_ADMISSION = {"hadm_id": "admissions.hadm_id"}


def test_a_key_that_is_the_parents_is_an_extension_of_at_most_one_row() -> None:
    death = table("death", "subject_id integer, died_on date", key="subject_id", refers={"subject_id": "patients.subject_id"})
    parent = drafted(PATIENTS, death).tables["death"].parent
    assert parent is not None
    assert (parent.type, parent.max_rows) == ("independent", 1)


def test_a_unique_foreign_key_is_an_extension_too() -> None:
    detail = table("detail", "id integer, hadm_id integer, x string", key="id", refers=TO_ADMISSION, uniques=("hadm_id",))
    parent = drafted(PATIENTS, ADMISSIONS, detail).tables["detail"].parent
    assert parent is not None
    assert parent.max_rows == 1


def test_rows_that_join_their_parent_with_a_public_table_are_taken_in_the_order_of_its_keys() -> None:
    given = table(
        "given",
        "hadm_id integer, drug_id integer, dose number",
        key="hadm_id+drug_id",
        refers={**TO_ADMISSION, "drug_id": "drugs.drug_id"},
    )
    schema = drafted(PATIENTS, ADMISSIONS, given, DRUGS)
    assert not open_questions(schema)  # nobody says how many drugs there are
    drafts = schema.tables["given"]
    assert drafts.parent is not None
    assert (drafts.parent.type, drafts.parent.order_by, drafts.key) == ("sequential", ("drug_id",), ("hadm_id", "drug_id"))
    assert drafts.references["drug_id"].kind == "public"


def test_rows_that_join_their_parent_with_a_public_table_for_a_time_follow_each_other() -> None:
    lived = table(
        "lived", "pid integer, drug integer, from_date date, to_date date", key="pid+drug",
        refers={"pid": "patients.subject_id", "drug": "drugs.drug_id"},
    )  # fmt: skip
    parent = drafted(PATIENTS, lived, DRUGS).tables["lived"].parent
    assert parent is not None
    assert (parent.type, parent.order_by) == ("sequential", ("from_date",))


def test_a_table_of_links_alone_is_taken_in_the_order_of_its_keys_too() -> None:
    allergies = table(
        "allergies",
        "id integer, pid integer, drug integer",
        key="id",
        refers={"pid": "patients.subject_id", "drug": "drugs.drug_id"},
    )
    parent = drafted(PATIENTS, allergies, DRUGS).tables["allergies"].parent
    assert parent is not None
    assert (parent.type, parent.order_by) == ("sequential", ("drug",))


def test_so_are_rows_with_a_key_of_their_own_and_more_columns() -> None:
    lines = table(
        "lines",
        "id integer, hadm_id integer, drug_id integer, price number",
        key="id",
        refers={**TO_ADMISSION, "drug_id": "drugs.drug_id"},
    )
    schema = drafted(PATIENTS, ADMISSIONS, lines, DRUGS)
    parent = schema.tables["lines"].parent
    assert parent is not None
    assert (parent.type, parent.order_by) == ("sequential", ("drug_id",))
    assert schema.tables["lines"].references["drug_id"].kind == "public"


@pytest.mark.parametrize(
    ("columns", "order"),
    [
        ("starttime datetime, stoptime datetime?", "starttime"),
        ("storetime datetime, charttime datetime", "charttime"),
        ("chartdate date, charttime datetime", "charttime"),
        ("chartdate date, charttime datetime?", "chartdate"),
        ("days integer, test string", "days"),
        ("line_no integer, x string", "line_no"),
        ("cycle_number integer, x string", "cycle_number"),
        ("chemo_cycle_no integer, x string", "chemo_cycle_no"),
        ("seq_num integer, chartdate date", "chartdate"),
        ("birth_date date, visit_date date", "visit_date"),
        ("year integer, x string", "year"),
        ("year integer, days integer", "days"),
        ("model_year integer, x string", "id"),
        ("x string, y number", "id"),
    ],
)
def test_the_order_column_is_when_the_row_begins(columns: str, order: str) -> None:
    events = table("things", f"id integer, hadm_id integer, {columns}", key="id", refers=TO_ADMISSION)
    parent = drafted(PATIENTS, ADMISSIONS, events).tables["things"].parent
    assert parent is not None
    assert (parent.type, parent.order_by) == ("sequential", (order,))


def test_an_order_in_the_key_beats_a_time() -> None:
    diagnoses = table("diagnoses", "hadm_id integer, seq_num integer, at datetime", key="hadm_id+seq_num", refers=TO_ADMISSION)
    parent = drafted(PATIENTS, ADMISSIONS, diagnoses).tables["diagnoses"].parent
    assert parent is not None
    assert parent.order_by == ("seq_num",)


def test_caps_are_public_round_numbers_and_say_so() -> None:
    events = table("chartevents", "id integer, hadm_id integer, charttime datetime", key="id", refers=TO_ADMISSION)
    schema = drafted(PATIENTS, ADMISSIONS, events)
    caps = [schema.tables[name].parent.max_rows for name in ("admissions", "chartevents")]  # type: ignore[union-attr]
    assert caps == [30, 300]
    asked = " ".join(written(PATIENTS, ADMISSIONS, events).replace("#", "").split())
    assert "REVIEW: max_rows are round guesses" in asked
    assert "admissions (30), chartevents (300)" in asked


def test_caps_that_multiply_to_much_noise_are_capped_per_entity() -> None:
    stays = table("stays", "sid integer, hadm_id integer, intime datetime", key="sid", refers=TO_ADMISSION)
    events = table("events", "id integer, sid integer, charttime datetime", key="id", refers={"sid": "stays.sid"})
    parent = drafted(PATIENTS, ADMISSIONS, stays, events).tables["events"].parent
    assert parent is not None
    assert (parent.max_rows, parent.max_per_entity) == (300, 1000)
    comment = comment_on(written(PATIENTS, ADMISSIONS, stays, events), "parent: {table: stays")
    assert "one entity could have 90 000 rows here" in comment


def test_a_value_next_to_an_item_is_scaled_by_it_and_remembers_the_same_item() -> None:
    labs = table(
        "labs",
        "id integer, pid integer, days integer, test string, value number",
        key="id",
        refers={"pid": "patients.subject_id"},
    )
    schema = drafted(PATIENTS, labs)
    parent = schema.tables["labs"].parent
    assert parent is not None
    assert parent.history_by == ("test",)
    assert schema.tables["labs"].columns["value"].by == ("test",)  # type: ignore[union-attr]


def test_an_item_that_is_a_public_reference_scales_values_too() -> None:
    items = table("d_items", "itemid integer", key="itemid")
    labs = table(
        "labevents",
        "id integer, hadm_id integer, charttime datetime, itemid integer, valuenum number?",
        key="id",
        refers={**TO_ADMISSION, "itemid": "d_items.itemid"},
    )
    schema = drafted(PATIENTS, ADMISSIONS, labs, items)
    assert schema.tables["labevents"].columns["valuenum"].by == ("itemid",)  # type: ignore[union-attr]


def test_a_tables_own_key_is_not_what_a_value_is_of() -> None:
    measurement = table(
        "measurement",
        "measurement_id integer, pid integer, at date, measurement_concept_id integer, value_as_number number",
        key="measurement_id",
        refers={"pid": "patients.subject_id"},
    )
    parent = drafted(PATIENTS, measurement).tables["measurement"].parent
    assert parent is not None
    assert parent.history_by == ("measurement_concept_id",)
