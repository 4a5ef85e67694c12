"""Times that follow each other: by names, by CHECKs, along a sequence, after the parent."""

from __future__ import annotations

import pytest

from mare.schema.columns import Datetime
from mare.schema.determined import FirstValue
from mare.schema.loading import load_document
from mare.schema.reflection import ReflectedTable
from tests.reflections import ADMISSIONS, NOTHING_KNOWN, PATIENTS, SIX_YEARS, comment_on, drafted, table, written


@pytest.mark.parametrize(
    ("start", "end", "within"),
    [
        ("admittime", "dischtime", "365d"),
        ("intime", "outtime", "365d"),
        ("starttime", "endtime", "120y"),
        ("starttime", "stoptime", "120y"),
        ("START", "STOP", "120y"),
        ("visit_start_datetime", "visit_end_datetime", "365d"),
        ("edregtime", "edouttime", "365d"),
        ("valid_from", "valid_to", "120y"),
        ("onset_date", "resolution_date", "120y"),
    ],
)
def test_ends_come_after_starts_by_their_names(start: str, end: str, within: str) -> None:
    stays = table("patients", f"id integer, {end} datetime, {start} datetime", key="id")
    column = drafted(stays).tables["patients"].columns[end]
    assert isinstance(column, Datetime)
    assert (column.after, column.within, column.learn) == (start, within, False)


@pytest.mark.parametrize(("one", "other"), [("indate", "outcome_time"), ("someday", "endday"), ("origin", "outrigin")])
def test_other_names_are_not_ordered(one: str, other: str) -> None:
    columns = drafted(table("patients", f"id integer, {one} datetime, {other} datetime", key="id")).tables["patients"].columns
    assert all(getattr(column, "after", None) is None for column in columns.values())


def test_a_check_that_orders_columns_is_kept_and_needs_less_review() -> None:
    patients = table("patients", "id integer, a integer, b integer", key="id", orders=(("a", "b"),))
    column = drafted(patients).tables["patients"].columns["b"]
    assert column.after == "a"  # type: ignore[union-attr]
    assert comment_on(written(patients), "b:") == "a CHECK orders them"


def test_death_follows_birth_within_a_life() -> None:
    patients = table("patients", "id integer, birth_date date, death_date date?", key="id")
    column = drafted(patients).tables["patients"].columns["death_date"]
    assert (column.after, column.within) == ("birth_date", "120y")  # type: ignore[union-attr]


def test_a_death_does_not_follow_a_weight_that_a_check_orders() -> None:
    patients = table(
        "patients", "id integer, weight number, height number, died datetime?", key="id", orders=(("weight", "height"),)
    )
    draft = drafted(patients)
    assert getattr(draft.tables["patients"].columns["died"], "after", None) is None
    assert "left open" not in written(patients)


def test_a_death_during_a_stay_follows_its_beginning() -> None:
    admissions = table(
        "admissions",
        "hadm_id integer, subject_id integer, admittime datetime, dischtime datetime, deathtime datetime?",
        key="hadm_id",
        refers={"subject_id": "patients.subject_id"},
    )
    column = drafted(PATIENTS, admissions).tables["admissions"].columns["deathtime"]
    assert (column.after, column.nullable) == ("admittime", True)  # type: ignore[union-attr]
    assert "never before admittime, by its name" in comment_on(written(PATIENTS, admissions), "deathtime:")


def test_each_row_of_a_sequence_follows_the_one_before_and_the_calendar_bounds_the_first() -> None:
    document = load_document(written(PATIENTS, ADMISSIONS))
    column = document.schema.tables["admissions"].columns["admittime"]
    assert column.after == "previous.admittime"  # type: ignore[union-attr]
    assert document.schema.calendar is not None
    assert document.faults == ()
    assert "REVIEW: guessed: between which days" in written(PATIENTS, ADMISSIONS)


def test_the_first_row_below_a_stay_is_taken_to_follow_its_beginning() -> None:
    moves = table("moves", "id integer, hadm_id integer, intime datetime", key="id", refers={"hadm_id": "admissions.hadm_id"})
    column = drafted(PATIENTS, ADMISSIONS, moves).tables["moves"].columns["intime"]
    assert column.first == FirstValue(after="parent.admittime", within="365d")  # type: ignore[union-attr]
    comment = comment_on(written(PATIENTS, ADMISSIONS, moves), "intime:")
    assert column.before == "parent.dischtime"  # type: ignore[union-attr]
    assert "a part of admissions, so never after parent.dischtime" in comment


def test_a_first_visit_follows_birth_never_death() -> None:
    born = table("patients", "id integer, dob date, dod date?", key="id")
    visits = table("visits", "vid integer, id integer, visit_date date", key="vid", refers={"id": "patients.id"})
    column = drafted(born, visits).tables["visits"].columns["visit_date"]
    assert column.first == FirstValue(after="parent.dob", within="120y")  # type: ignore[union-attr]
    dead = table("patients", "id integer, dod date?", key="id")
    assert drafted(dead, visits).tables["visits"].columns["visit_date"].first.after is None  # type: ignore[union-attr]


def test_a_birth_that_may_be_null_is_nothing_to_hang_a_first_visit_on() -> None:
    born = table("patients", "id integer, dob date?", key="id")
    visits = table("visits", "vid integer, id integer, visit_date date", key="vid", refers={"id": "patients.id"})
    assert drafted(born, visits).tables["visits"].columns["visit_date"].first.after is None  # type: ignore[union-attr]


VISITS = table("visits", "vid integer, id integer, visit_date date", key="vid", refers={"id": "patients.id"})


@pytest.mark.parametrize("begins", ["diagnosed", "date_of_enrolment", "RegistrationDate", "index_date", "createdAt"])
def test_a_first_visit_follows_what_a_record_begins_with(begins: str) -> None:
    patients = table("patients", f"id integer, {begins} date", key="id")
    column = drafted(patients, VISITS).tables["visits"].columns["visit_date"]
    assert column.first == FirstValue(after=f"parent.{begins}", within="20y")  # type: ignore[union-attr]
    assert f"REVIEW: gaps are cut at 20y; the first row is taken to follow parent.{begins}" in comment_on(
        written(patients, VISITS), "visit_date:"
    )


@pytest.mark.parametrize("other", ["enrolment_end", "last_entry", "death_registered", "seen", "updated_since"])
def test_a_first_visit_follows_no_date_that_may_be_later(other: str) -> None:
    patients = table("patients", f"id integer, {other} date", key="id")
    assert drafted(patients, VISITS).tables["visits"].columns["visit_date"].first.after is None  # type: ignore[union-attr]


def test_where_the_parent_has_no_time_the_nearest_above_is_followed() -> None:
    born = table("patients", "id integer, dob date", key="id")
    lines = table("lines", "lid integer, id integer, line_number integer", key="lid", refers={"id": "patients.id"})
    cycles = table("cycles", "cid integer, lid integer, given date", key="cid", refers={"lid": "lines.lid"})
    column = drafted(born, lines, cycles).tables["cycles"].columns["given"]
    assert column.first == FirstValue(after="patients.dob", within="120y")  # type: ignore[union-attr]
    dated = table("lines", "lid integer, id integer, started date", key="lid", refers={"id": "patients.id"})
    column = drafted(born, dated, cycles).tables["cycles"].columns["given"]
    assert column.first == FirstValue(after="parent.started", within="365d")  # type: ignore[union-attr]


def test_an_order_that_is_part_of_the_key_is_strict() -> None:
    services = table(
        "services",
        "hadm_id integer, transfertime datetime, service string",
        key="hadm_id+transfertime",
        refers={"hadm_id": "admissions.hadm_id"},
    )
    schema = drafted(PATIENTS, ADMISSIONS, services)
    assert schema.tables["services"].key == ("hadm_id", "transfertime")
    assert schema.tables["services"].columns["transfertime"].strict  # type: ignore[union-attr]


def test_times_of_unknown_type_are_only_suggested() -> None:
    patients = table("patients", "subject_id unknown?, starttime unknown?, stoptime unknown?")
    assert drafted(patients).tables["patients"].columns["stoptime"].type == "unknown"
    assert "probably after: starttime" in comment_on(written(patients), "stoptime:")


def test_moves_may_be_determined_by_the_next_row() -> None:
    transfers = table(
        "transfers",
        "id integer, pid integer, intime datetime, outtime datetime?",
        key="id",
        refers={"pid": "patients.subject_id"},
    )
    assert "determined: {next: intime}" in comment_on(written(PATIENTS, transfers), "outtime:")


LIVES = table("patients", "id integer, birth_date date, death_date date?", key="id")
SEEN = table("visits", "visit_id integer, id integer, seen date", key="visit_id", refers={"id": "patients.id"})
LABS = table("labs", "visit_id integer, taken date, result string", refers={"visit_id": "visits.visit_id"})


def test_what_follows_a_date_that_may_be_missing_may_lie_a_life_after_the_birth_that_stands_for_it() -> None:
    people = table("patients", "id integer, birth_date date, enrolled date?, left_on date?", key="id")
    column = drafted(people, facts=SIX_YEARS).tables["patients"].columns["left_on"]
    assert (column.after, column.within) == ("enrolled", "120y")  # type: ignore[union-attr]


def test_nothing_happens_to_anybody_after_their_death() -> None:
    for facts in (SIX_YEARS, NOTHING_KNOWN):
        tables = drafted(LIVES, SEEN, LABS, facts=facts).tables
        assert tables["visits"].columns["seen"].before == "parent.death_date"  # type: ignore[union-attr]
        assert tables["labs"].columns["taken"].before == "patients.death_date"  # type: ignore[union-attr]


@pytest.mark.parametrize("name", ["claims", "payments", "autopsies"])
def test_what_is_settled_after_a_death_may_be(name: str) -> None:
    later = table(name, "id integer, who integer, day date", key="id", refers={"who": "patients.id"})
    assert drafted(LIVES, later).tables[name].columns["day"].before is None  # type: ignore[union-attr]


REGISTERED = table("patients", "id integer, birth_date date, created_at datetime, death_date date?", key="id")
COURSES = table("courses", "cid integer, id integer, started date, ended date", key="cid", refers={"id": "patients.id"})


def below_courses(name: str, columns: str = "held date") -> ReflectedTable:
    return table(name, f"sid integer, cid integer, {columns}", key="sid", refers={"cid": "courses.cid"})


def test_no_end_comes_after_a_death() -> None:
    column = drafted(
        LIVES,
        table("drugs", "did integer, id integer, start_date date, stop_date date?", key="did", refers={"id": "patients.id"}),
    )
    stop = column.tables["drugs"].columns["stop_date"]
    assert (stop.after, stop.before) == ("start_date", "parent.death_date")  # type: ignore[union-attr]


def test_what_is_only_planned_may_end_after_a_death() -> None:
    cards = table("cards", "did integer, id integer, start_date date, valid_until date?", key="did", refers={"id": "patients.id"})
    assert drafted(LIVES, cards).tables["cards"].columns["valid_until"].before is None  # type: ignore[union-attr]


@pytest.mark.parametrize("name", ["sessions", "dose_administrations", "transfers", "shifts"])
def test_parts_of_what_goes_on_end_with_it(name: str) -> None:
    column = drafted(REGISTERED, COURSES, below_courses(name)).tables[name].columns["held"]
    assert (column.before, column.first.after) == ("parent.ended", "parent.started")  # type: ignore[union-attr]
    assert "a part of courses, so never after parent.ended" in comment_on(
        written(REGISTERED, COURSES, below_courses(name), facts=SIX_YEARS), "held:"
    )


@pytest.mark.parametrize("name", ["labs", "results", "prescriptions", "payments", "reviews"])
def test_what_may_come_before_or_after_is_only_remarked_on(name: str) -> None:
    column = drafted(REGISTERED, COURSES, below_courses(name)).tables[name].columns["held"]
    assert column.before != "parent.ended"  # type: ignore[union-attr]


def test_parts_of_what_nobody_has_ended_go_on_until_a_death() -> None:
    open_ended = table("courses", "cid integer, id integer, started date, ended date?", key="cid", refers={"id": "patients.id"})
    column = drafted(REGISTERED, open_ended, below_courses("sessions")).tables["sessions"].columns["held"]
    assert column.before == "patients.death_date"  # type: ignore[union-attr]


def test_a_part_that_goes_on_itself_ends_no_later_than_the_whole() -> None:
    column = drafted(REGISTERED, COURSES, below_courses("shifts", "began datetime, start_time datetime, end_time datetime"))
    end = column.tables["shifts"].columns["end_time"]
    assert end.after == "start_time"  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("name", "follows"), [("visits", "created_at"), ("conditions", "birth_date"), ("allergies", "birth_date")]
)
def test_what_people_do_follows_their_registration_and_what_they_have_their_birth(name: str, follows: str) -> None:
    rows = table(name, "vid integer, id integer, seen date", key="vid", refers={"id": "patients.id"})
    assert drafted(REGISTERED, rows).tables[name].columns["seen"].first.after == f"parent.{follows}"  # type: ignore[union-attr]


def test_a_guest_checks_out_on_the_day_of_departure_or_near_it() -> None:
    stays = table(
        "stays",
        "sid integer, id integer, arrival date, departure date, checkin_at datetime, checkout_at datetime",
        key="sid",
        refers={"id": "patients.id"},
    )
    columns = drafted(PATIENTS_BY_ID, stays).tables["stays"].columns
    assert columns["arrival"].around == "checkin_at"  # type: ignore[union-attr]
    assert columns["departure"].around == "checkout_at"  # type: ignore[union-attr]
    assert columns["checkout_at"].after == "checkin_at"  # type: ignore[union-attr]


def test_who_has_not_checked_out_yet_leaves_on_a_day_all_the_same() -> None:
    stays = table(
        "stays",
        "sid integer, id integer, arrival date, departure date, checkout_at datetime?",
        key="sid",
        refers={"id": "patients.id"},
    )
    columns = drafted(PATIENTS_BY_ID, stays, facts=SIX_YEARS).tables["stays"].columns
    assert columns["checkout_at"].around == "departure"  # type: ignore[union-attr]


def test_a_death_that_two_tables_tell_is_one() -> None:
    deaths = table("deaths", "id integer, died_on date, cause string", key="id", refers={"id": "patients.id"})
    assert drafted(LIVES, deaths).tables["deaths"].columns["died_on"].around == "parent.death_date"  # type: ignore[union-attr]


PATIENTS_BY_ID = table("patients", "id integer, sex string", key="id")

BOOKINGS = table("bookings", "bid integer, id integer, arrival date, departure date", key="bid", refers={"id": "patients.id"})


def test_a_booking_ends_with_the_departure() -> None:
    departure = drafted(PATIENTS_BY_ID, BOOKINGS).tables["bookings"].columns["departure"]
    assert departure.after == "arrival"  # type: ignore[union-attr]


def test_of_a_flight_nothing_tells_which_comes_first() -> None:
    flights = table(
        "flight_bookings", "bid integer, id integer, arrival date, departure date", key="bid", refers={"id": "patients.id"}
    )
    columns = drafted(PATIENTS_BY_ID, flights).tables["flight_bookings"].columns
    assert getattr(columns["departure"], "after", None) != "arrival"


def test_a_guest_checks_out_near_the_day_that_was_booked_in_the_row_above() -> None:
    stays = table(
        "stays", "bid integer, checkin_at datetime, checkout_at datetime, room integer", key="bid", refers={"bid": "bookings.bid"}
    )
    columns = drafted(PATIENTS_BY_ID, BOOKINGS, stays).tables["stays"].columns
    assert columns["checkin_at"].around == "parent.arrival"  # type: ignore[union-attr]
    assert columns["checkout_at"].around == "parent.departure"  # type: ignore[union-attr]
