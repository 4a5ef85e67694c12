"""Two public facts settle most of a draft: between which days the data was collected, and how many entities there are."""

from __future__ import annotations

from datetime import date

import pytest

from mare.errors import SourceError
from mare.schema.drafting import PublicFacts
from mare.schema.loading import load_document
from tests.reflections import ADMISSIONS, NOTHING_KNOWN, PATIENTS, SIX_YEARS, comment_on, drafted, table, written


def test_the_calendar_bounds_every_event_and_nothing_is_learned_of_it() -> None:
    visits = table(
        "visits",
        "visit_id integer, subject_id integer, seen date, billed date?",
        key="visit_id",
        refers={"subject_id": "patients.subject_id"},
    )
    document = load_document(written(PATIENTS, visits, facts=SIX_YEARS))
    columns = document.schema.tables["visits"].columns
    assert document.faults == ()
    assert "calendar: {min: 2019-01-01, max: 2024-12-31}" in written(PATIENTS, visits, facts=SIX_YEARS)
    for name in ("seen", "billed"):
        assert (columns[name].min, columns[name].max) == (date(2019, 1, 1), date(2024, 12, 31))  # type: ignore[union-attr]
        assert not columns[name].learn  # type: ignore[union-attr]
    assert "REVIEW: guessed: between which days" not in written(PATIENTS, visits, facts=SIX_YEARS)


def test_without_it_dates_are_learned_and_a_sequence_gets_a_guess_that_asks_to_be_reviewed() -> None:
    text = written(PATIENTS, ADMISSIONS)
    assert "dod: {type: date, learn: true, nullable: true}" in " ".join(text.split())
    assert "REVIEW: guessed: between which days" in comment_on(text, "calendar: {min: 1900-01-01, max: 2025-06-30}")


def test_nothing_is_guessed_where_no_sequence_needs_it() -> None:
    assert "calendar" not in written(PATIENTS)


@pytest.mark.parametrize("name", ["last_update", "valid_until", "expiry_date", "loaded_at", "due_date"])
def test_what_is_stored_later_or_holds_longer_is_learned_beside_the_calendar(name: str) -> None:
    column = drafted(table("patients", f"id integer, {name} date", key="id"), facts=SIX_YEARS).tables["patients"].columns[name]
    assert column.learn  # type: ignore[union-attr]


def test_the_number_of_entities_stands_where_the_plan_looks_for_it() -> None:
    assert drafted(PATIENTS, facts=SIX_YEARS).tables["patients"].rows == 4000
    stays = table("patient", "patientunitstayid integer, uniquepid string, unitvisitnumber integer", key="patientunitstayid")
    assert "rows: 4000}" in written(stays, facts=SIX_YEARS).partition("tables:")[0]


@pytest.mark.parametrize(
    ("name", "kind", "low", "high"),
    [
        ("birth_date", "date", date(1900, 1, 1), date(2024, 12, 31)),
        ("dob", "date", date(1900, 1, 1), date(2024, 12, 31)),
        ("year_of_birth", "integer", 1900, 2024),
        ("month_of_birth", "integer", 1, 12),
        ("age", "integer", 0, 120),
        ("AgeAtDiagnosis", "number", 0, 120),
        ("fat_percent", "number", 0, 100),
        ("latitude", "number", -90, 90),
        ("hour_of_day", "integer", 0, 23),
        ("season_year", "integer", 1900, 2024),
    ],
)
def test_bounds_that_everybody_knows_are_written_with_their_reason(name: str, kind: str, low: object, high: object) -> None:
    people = table("patients", f"id integer, {name} {kind}", key="id")
    column = drafted(people, facts=SIX_YEARS).tables["patients"].columns[name]
    assert (column.min, column.max, column.learn) == (low, high, False)  # type: ignore[union-attr]
    assert comment_on(written(people, facts=SIX_YEARS), f"{name}:")


@pytest.mark.parametrize(
    "name", ["age_group", "age_days", "gestational_age", "percent_change", "month", "hours_per_week", "mileage"]
)
def test_what_only_sounds_like_it_is_learned(name: str) -> None:
    assert drafted(table("patients", f"id integer, {name} integer", key="id")).tables["patients"].columns[name].learn  # type: ignore[union-attr]


def test_births_in_a_shifted_calendar_lie_a_lifetime_before_it() -> None:
    shifted = PublicFacts(date(2025, 6, 30), (date(2110, 1, 1), date(2215, 12, 31)))
    assert shifted.births == (date(1990, 1, 1), date(2215, 12, 31))
    assert NOTHING_KNOWN.births == (date(1900, 1, 1), date(2025, 6, 30))


def test_a_catalogues_check_is_better_than_what_everybody_knows() -> None:
    people = table("patients", "id integer, age integer", key="id", age={"min": 18})
    column = drafted(people).tables["patients"].columns["age"]
    assert (column.min, column.max) == (18, 120)  # type: ignore[union-attr]


def test_days_in_the_wrong_order_and_nobody_at_all_are_refused() -> None:
    with pytest.raises(SourceError, match="write the earlier day first"):
        PublicFacts(date(2025, 1, 1), (date(2024, 1, 1), date(2019, 1, 1)))
    with pytest.raises(SourceError, match="at least 1"):
        PublicFacts(date(2025, 1, 1), None, 0)
