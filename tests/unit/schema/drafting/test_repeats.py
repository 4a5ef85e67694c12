"""What says again what is known elsewhere: a draft proposes to draw it once, to copy it, or to work it out."""

from __future__ import annotations

import pytest

from mare.schema.columns import Integer
from mare.schema.reflection import ReflectedTable
from tests.reflections import comment_on, drafted, table, written

PEOPLE = table("patients", "subject_id integer, region string", key="subject_id")


def stays(columns: str) -> str:
    return f"hadm_id integer, subject_id integer, admittime datetime, {columns}"


def visits(columns: str) -> ReflectedTable:
    return table("admissions", stays(columns), key="hadm_id", refers={"subject_id": "patients.subject_id"})


@pytest.mark.parametrize("text", ["sex string", "Gender string", "race string?", "birth_date date", "year_of_birth integer"])
def test_a_fact_about_a_person_is_the_same_in_all_their_rows(text: str) -> None:
    name = text.split()[0]
    schema = drafted(PEOPLE, visits(text))
    assert schema.tables["admissions"].columns[name].same_for == "entity"
    assert "REVIEW: never changes for one person" in comment_on(written(PEOPLE, visits(text)), f"{name}:")


@pytest.mark.parametrize("text", ["ward string", "birth_weight number", "dosage number", "age_group string"])
def test_what_may_change_is_drawn_row_by_row(text: str) -> None:
    assert drafted(PEOPLE, visits(text)).tables["admissions"].columns[text.split()[0]].same_for is None


def test_what_a_table_above_says_is_a_copy() -> None:
    people = table("patients", "subject_id integer, Sex string", key="subject_id")
    column = drafted(people, visits("sex string")).tables["admissions"].columns["sex"]
    assert column.determined is not None
    assert column.determined.copy_of == "patients.Sex"


def test_an_age_follows_the_dates() -> None:
    column = drafted(PEOPLE, visits("age integer")).tables["admissions"].columns["age"]
    assert isinstance(column, Integer)
    assert column.same_for == "entity"
    assert column.drift is not None
    assert column.drift.by == "admittime"


def test_the_entity_itself_and_tables_without_dates_are_left_alone() -> None:
    people = table("patients", "subject_id integer, sex string, age integer", key="subject_id")
    assert all(column.same_for is None for column in drafted(people).tables["patients"].columns.values())
    notes = table("notes", "subject_id integer, age integer", refers={"subject_id": "patients.subject_id"})
    assert drafted(PEOPLE, notes).tables["notes"].columns["age"].same_for is None


def test_running_values_and_totals_are_remarked_on() -> None:
    accounts = table("accounts", "account_id integer, total number, lines_count integer", key="account_id")
    lines = table(
        "lines",
        "line_id integer, account_id integer, booked datetime, amount number, balance number",
        key="line_id",
        refers={"account_id": "accounts.account_id"},
    )
    text = written(accounts, lines, entity="accounts")
    assert 'determined: {expression: "previous.balance + amount", first: amount}' in comment_on(text, "balance:")
    assert "determined: {sum: lines.amount}" in comment_on(text, "total:")
    assert "determined: {count: lines}" in comment_on(text, "lines_count:")
