"""Dates of one row, in the order that everybody knows from their names."""

from __future__ import annotations

from datetime import date

import pytest

from mare.schema.columns import Date, Datetime, Integer
from mare.schema.determined import FirstValue
from mare.schema.loading import load_document
from tests.reflections import PATIENTS, SIX_YEARS, comment_on, drafted, table, written

TO_PATIENT = {"subject_id": "patients.subject_id"}


def _after(people: str, name: str) -> tuple[str | None, str | int | float | None]:
    column = drafted(table("patients", f"id integer, {people}", key="id"), facts=SIX_YEARS).tables["patients"].columns[name]
    assert isinstance(column, Date)
    return column.after, column.within


REGISTER = "birth_date date, diagnosis_date date, death_date date?, exit_date date"


@pytest.mark.parametrize(
    ("name", "anchor"), [("diagnosis_date", "birth_date"), ("death_date", "diagnosis_date"), ("exit_date", "diagnosis_date")]
)
def test_birth_comes_first_then_what_begins_then_what_ends(name: str, anchor: str) -> None:
    assert _after(REGISTER, name)[0] == anchor


def test_that_the_dead_leave_when_they_die_is_offered_as_it_can_be_written() -> None:
    text = written(table("patients", f"id integer, {REGISTER}", key="id"), facts=SIX_YEARS)
    assert "if nobody dies after they have left: before: exit_date, too" in comment_on(text, "death_date:")
    assert load_document(text.replace("after: diagnosis_date,", "after: diagnosis_date, before: exit_date,", 1)).faults == ()


@pytest.mark.parametrize(
    ("start", "end"),
    [
        ("debut", "final_game"),
        ("first_seen", "last_seen"),
        ("hired", "left_company"),
        ("opened_on", "closed_on"),
        ("registered", "died"),
        ("entry_date", "exit_date"),
        ("onset", "death_date"),
        ("Aufnahmedatum", "Entlassungsdatum"),
        ("Eintritt", "Austritt"),
        ("date_entree", "date_sortie"),
        ("fecha_ingreso", "fecha_egreso"),
        ("data_inizio", "data_fine"),
        ("fecha_diagnostico", "fecha_fallecimiento"),
    ],
)
def test_what_ends_a_row_follows_what_it_begins_with(start: str, end: str) -> None:
    assert _after(f"{end} date?, {start} date", end)[0] == start


def test_a_career_may_last_as_long_as_the_data() -> None:
    assert _after("debut date, final_game date?", "final_game")[1] == "7y"


def test_nobody_does_anything_before_they_are_born() -> None:
    assert _after("dob date, photo_taken date", "photo_taken") == ("dob", "120y")


def test_years_follow_each_other_too() -> None:
    people = table("patients", "id integer, birth_year integer, enrolment_year integer, death_year integer?", key="id")
    columns = drafted(people, facts=SIX_YEARS).tables["patients"].columns
    born, died = columns["birth_year"], columns["death_year"]
    assert isinstance(born, Integer)
    assert isinstance(died, Integer)
    assert (born.after, died.after, died.within, died.max) == (None, "enrolment_year", 6, 2024)


def test_an_onset_comes_before_its_diagnosis() -> None:
    assert _after("diagnosed date, onset date", "diagnosed")[0] == "onset"


def test_when_a_row_was_last_stored_ends_nothing() -> None:
    assert _after("registered date, last_update date", "last_update")[0] is None


def test_when_a_row_was_stored_does_not_follow_a_death() -> None:
    assert _after("dob date, died date?, updated date", "updated")[0] == "dob"


@pytest.mark.parametrize("below", ["treatments", "chemo_cycles", "relapses"])
def test_what_is_done_about_a_disease_follows_its_diagnosis(below: str) -> None:
    people = table("patients", "id integer, birth_date date, diagnosis_date date", key="id")
    rows = table(below, "rid integer, id integer, given date", key="rid", refers={"id": "patients.id"})
    column = drafted(people, rows, facts=SIX_YEARS).tables[below].columns["given"]
    assert isinstance(column, Date)
    assert column.first == FirstValue(after="parent.diagnosis_date", within="7y")


def test_what_may_happen_to_anybody_follows_the_birth() -> None:
    people = table("patients", "id integer, birth_date date, diagnosis_date date", key="id")
    rows = table("purchases", "rid integer, id integer, bought date", key="rid", refers={"id": "patients.id"})
    column = drafted(people, rows, facts=SIX_YEARS).tables["purchases"].columns["bought"]
    assert isinstance(column, Date)
    assert column.first == FirstValue(after="parent.birth_date", within="120y")


@pytest.mark.parametrize("due", ["RequiredDate", "due_date", "planned_on", "valid_until", "next_visit", "expires"])
def test_what_is_due_may_lie_beyond_the_end_of_the_data(due: str) -> None:
    orders = table("orders", f"id integer, subject_id integer, ordered date, {due} date", key="id", refers=TO_PATIENT)
    column = drafted(PATIENTS, orders, facts=SIX_YEARS).tables["orders"].columns[due]
    assert isinstance(column, Date)
    assert column.after == "ordered"
    assert column.max is not None
    assert column.max >= date(2025, 12, 31)


def test_times_that_no_name_orders_lie_around_the_one_that_the_row_happens_at() -> None:
    described = table(
        "flights",
        "id integer, subject_id integer, off datetime, off_real datetime?, on_real datetime?",
        key="id",
        refers=TO_PATIENT,
    )
    text = written(PATIENTS, described, facts=SIX_YEARS)
    columns = drafted(PATIENTS, described, facts=SIX_YEARS).tables["flights"].columns
    assert load_document(text).faults == ()
    for name in ("off_real", "on_real"):
        column = columns[name]
        assert isinstance(column, Datetime)
        assert (column.around, column.within) == ("off", "7y")
    assert "off_real, on_real: before or after off, nothing tells which" in comment_on(text, "off_real:")


def test_what_the_order_of_rows_depends_on_is_not_tied_to_it_in_turn() -> None:
    """Rows come in the order of what ends them: the start lies where it does."""
    ended = table("stays", "id integer, subject_id integer, stay_start datetime?, stay_end datetime", key="id", refers=TO_PATIENT)
    assert load_document(written(PATIENTS, ended, facts=SIX_YEARS)).faults == ()
