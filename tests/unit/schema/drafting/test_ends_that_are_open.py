"""Ends: they may be as far from their start as the data is long, and a day that never comes means that there is none yet."""

from __future__ import annotations

from dataclasses import replace
from datetime import date

import pytest

from mare.schema.columns import Date
from mare.schema.reflection import ReflectedTable
from tests.reflections import PATIENTS, SIX_YEARS, drafted, table, written

NEVER = ("9999-12-31", "9999-01-01", "2999-12-31", "2099-12-31")
STAFF = table("employees", "emp_no integer, birth_date date, hire_date date", key="emp_no")


def jobs(columns: str) -> ReflectedTable:
    return table("jobs", f"id integer, emp_no integer, {columns}", key="id", refers={"emp_no": "employees.emp_no"})


@pytest.mark.parametrize(
    ("start", "end"),
    [
        ("from_date", "to_date"),
        ("start_date", "end_date"),
        ("valid_from", "valid_to"),
        ("begin_day", "end_day"),
        ("START", "END"),
    ],
)
def test_an_end_is_as_far_from_its_start_as_the_data_is_long_and_may_be_open(start: str, end: str) -> None:
    column = drafted(STAFF, jobs(f"{start} date, {end} date"), facts=SIX_YEARS).tables["jobs"].columns[end]
    assert isinstance(column, Date)
    assert column.after == start
    assert column.within == ("17y" if start == "valid_from" else "7y")
    assert column.specials == NEVER


def test_what_is_over_soon_by_its_name_is_bounded_by_a_year_and_never_open() -> None:
    stays = table("stays", "id integer, subject_id integer, admit_date date, disch_date date", key="id",
                  refers={"subject_id": "patients.subject_id"})  # fmt: skip
    column = drafted(PATIENTS, stays, facts=SIX_YEARS).tables["stays"].columns["disch_date"]
    assert (column.within, column.specials) == ("365d", ())  # type: ignore[union-attr]


def test_a_day_that_the_calendar_may_hold_is_no_end_that_never_comes() -> None:
    facts = replace(SIX_YEARS, between=(date(2080, 1, 1), date(2215, 1, 1)))
    column = drafted(STAFF, jobs("from_date date, to_date date"), facts=facts).tables["jobs"].columns["to_date"]
    assert column.specials == NEVER[:3]  # type: ignore[union-attr]


def test_an_end_without_a_start_may_be_open_too() -> None:
    column = drafted(STAFF, jobs("expiry_date date?"), facts=SIX_YEARS).tables["jobs"].columns["expiry_date"]
    assert column.specials == NEVER  # type: ignore[union-attr]


def test_what_begins_tells_rows_apart_or_orders_them_is_never_open() -> None:
    to_staff = {"emp_no": "employees.emp_no"}
    ended = table("ended", "emp_no integer, end_date date, why string", key="emp_no+end_date", refers=to_staff)
    columns = drafted(STAFF, jobs("valid_from date, valid_to date"), ended, facts=SIX_YEARS).tables
    assert columns["jobs"].columns["valid_from"].specials == ()  # type: ignore[union-attr]
    assert columns["ended"].columns["end_date"].specials == ()  # type: ignore[union-attr]


def test_the_draft_says_once_what_these_days_mean() -> None:
    text = written(STAFF, jobs("from_date date, to_date date, valid_to date"), facts=SIX_YEARS)
    assert text.count("no end yet") == 1
    assert 'specials: ["9999-12-31", "9999-01-01", "2999-12-31", "2099-12-31"]' in text


def test_what_happens_to_somebody_who_was_hired_follows_that_day_and_nobody_is_hired_after_the_data() -> None:
    tables = drafted(STAFF, jobs("from_date date, to_date date"), facts=SIX_YEARS).tables
    assert tables["jobs"].columns["from_date"].first.after == "parent.hire_date"  # type: ignore[union-attr]
    hired = tables["employees"].columns["hire_date"]
    assert (hired.after, hired.max) == ("birth_date", date(2024, 12, 31))  # type: ignore[union-attr]
