"""Whom rows belong to: one most specific parent; every other link becomes the reference it can be."""

from __future__ import annotations

from mare.schema.links import SameEntityReference
from tests.reflections import ADMISSIONS, PATIENTS, comment_on, drafted, table, written

BOTH = {"subject_id": "patients.subject_id", "hadm_id": "admissions.hadm_id"}


def test_the_most_specific_parent_wins_and_the_other_is_implied() -> None:
    stays = table("icustays", "stay_id integer, subject_id integer, hadm_id integer", key="stay_id", refers=BOTH)
    schema = drafted(PATIENTS, ADMISSIONS, stays)
    assert schema.parent_name("icustays") == "admissions"
    assert schema.tables["icustays"].references["subject_id"].kind == "ancestor"


def test_a_nullable_parent_becomes_a_reference_found_by_time() -> None:
    transfers = table(
        "transfers",
        "transfer_id integer, subject_id integer, hadm_id integer?, intime datetime, outtime datetime?",
        key="transfer_id",
        refers=BOTH,
    )
    schema = drafted(PATIENTS, ADMISSIONS, transfers)
    assert schema.parent_name("transfers") == "patients"
    assert schema.tables["transfers"].references["hadm_id"] == SameEntityReference(
        kind="same_entity", table="admissions", by="interval", time="intime", interval=("admittime", "dischtime"), nullable=True
    )


def test_a_nullable_reference_without_a_time_is_found_by_position() -> None:
    omr = table("omr", "omr_id integer, subject_id integer, hadm_id integer?, result string", key="omr_id", refers=BOTH)
    reference = drafted(PATIENTS, ADMISSIONS, omr).tables["omr"].references["hadm_id"]
    assert isinstance(reference, SameEntityReference)
    assert (reference.by, reference.nullable) == ("position", True)


def test_a_source_that_does_not_tell_nullability_is_read_as_if_nothing_were_null() -> None:
    patients = table("patients", "subject_id integer?")
    admissions = table("admissions", "subject_id integer?, hadm_id integer?, admittime datetime?")
    events = table("events", "subject_id integer?, hadm_id integer?, charttime datetime?")
    assert drafted(patients, admissions, events).parent_name("events") == "admissions"
    assert "the source does not say which columns may be NULL" in written(patients, admissions, events)


def test_a_parent_that_may_be_null_and_has_no_rival_stays_with_a_warning() -> None:
    notes = table("notes", "id integer, pid integer?", key="id", refers={"pid": "patients.subject_id"})
    text = written(PATIENTS, notes)
    assert drafted(PATIENTS, notes).parent_name("notes") == "patients"
    assert "REVIEW: pid may be NULL: such rows are dropped" in comment_on(text, "parent: {table: patients, column: pid")


def test_of_two_owners_one_is_guessed_and_the_other_named() -> None:
    visits = table("visits", "vid integer, subject_id integer", key="vid", refers={"subject_id": "patients.subject_id"})
    forms = table(
        "forms",
        "fid integer, hadm_id integer, vid integer",
        key="fid",
        refers={"hadm_id": "admissions.hadm_id", "vid": "visits.vid"},
    )
    schema = drafted(PATIENTS, ADMISSIONS, visits, forms)
    assert schema.parent_name("forms") == "admissions"
    assert schema.tables["forms"].references["vid"].kind == "same_entity"
    assert "vid → visits could be the parent as well" in comment_on(
        written(PATIENTS, ADMISSIONS, visits, forms), "parent: {table: admissions, column: hadm_id"
    )


def test_a_second_reference_to_the_entity_is_another_entity() -> None:
    messages = table(
        "messages",
        "id integer, sender integer, receiver integer?",
        key="id",
        refers={"sender": "patients.subject_id", "receiver": "patients.subject_id"},
    )
    schema = drafted(PATIENTS, messages)
    assert schema.parent_columns("messages") == ("sender",)
    assert schema.tables["messages"].references["receiver"].kind == "other_entity"


def test_an_entity_that_refers_to_itself_refers_to_another_entity() -> None:
    patients = table("patients", "id integer, mother_id integer?", key="id", refers={"mother_id": "patients.id"})
    reference = drafted(patients).tables["patients"].references["mother_id"]
    assert (reference.kind, reference.nullable) == ("other_entity", True)


def test_another_entity_is_drawn_at_random_where_null_is_not_allowed() -> None:
    patients = table("patients", "id integer, case_id integer", key="id", refers={"case_id": "patients.id"})
    reference = drafted(patients).tables["patients"].references["case_id"]
    assert reference.kind == "other_entity"
    assert reference.fill == "random"


def test_a_self_reference_in_a_sequence_leads_to_an_earlier_row() -> None:
    orders = table(
        "orders",
        "id integer, pid integer, at datetime, replaces integer?",
        key="id",
        refers={"pid": "patients.subject_id", "replaces": "orders.id"},
    )
    assert drafted(PATIENTS, orders).tables["orders"].references["replaces"].kind == "earlier"


def test_a_self_reference_of_rows_in_the_order_of_their_key_leads_to_an_earlier_one() -> None:
    things = table(
        "things", "id integer, pid integer, twin integer?", key="id", refers={"pid": "patients.subject_id", "twin": "things.id"}
    )
    assert drafted(PATIENTS, things).tables["things"].references["twin"].kind == "earlier"


def test_a_circle_through_the_entity_is_broken_in_the_entity() -> None:
    patients = table("patients", "id integer, last_visit integer?", key="id", refers={"last_visit": "visits.id"})
    visits = table("visits", "id integer, patient_id integer", key="id", refers={"patient_id": "patients.id"})
    schema = drafted(patients, visits)
    assert schema.tables["patients"].references["last_visit"].kind == "broken"
    assert schema.parent_name("visits") == "patients"
    assert "closes a circle (patients.last_visit → visits)" in written(patients, visits)


def test_a_circle_below_the_entity_keeps_the_way_up() -> None:
    a = table("a", "id integer, pid integer, b_id integer?", key="id", refers={"pid": "patients.subject_id", "b_id": "b.id"})
    b = table("b", "id integer, a_id integer", key="id", refers={"a_id": "a.id"})
    schema = drafted(PATIENTS, a, b)
    assert schema.parent_name("a") == "patients"
    assert schema.parent_name("b") == "a"
    assert schema.tables["a"].references["b_id"].kind == "broken"


def test_a_broken_reference_that_may_not_be_null_says_so() -> None:
    a = table("a", "id integer, pid integer, b_id integer", key="id", refers={"pid": "patients.subject_id", "b_id": "b.id"})
    b = table("b", "id integer, a_id integer", key="id", refers={"a_id": "a.id"})
    assert "the source does not allow NULL here" in comment_on(written(PATIENTS, a, b), "b_id: {kind: broken")


def test_composite_foreign_keys_are_kept_whole() -> None:
    teams = table(
        "teams", "year integer, team string, subject_id integer", key="year+team", refers={"subject_id": "patients.subject_id"}
    )
    games = table("games", "game_id integer, year integer, team string", key="game_id", refers={"year+team": "teams.year+team"})
    assert drafted(PATIENTS, teams, games).parent_columns("games") == ("year", "team")
