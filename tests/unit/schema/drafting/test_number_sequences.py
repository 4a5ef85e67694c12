"""Numbers that order the rows of a parent: a year, a grade, a visit. Each row lies so far from the one before."""

from __future__ import annotations

import pytest

from mare.schema.columns import Integer, Number, Ordinal
from mare.schema.determined import FirstValue
from tests.reflections import PATIENTS, SIX_YEARS, comment_on, drafted, table, written

PUPILS = table("students", "student_id integer, sex string", key="student_id")
TO_PUPIL = {"student_id": "students.student_id"}
TO_PATIENT = {"subject_id": "patients.subject_id"}


@pytest.mark.parametrize("order", ["grade integer", "year_id integer", "dose_level number", "taken date", "stint integer"])
@pytest.mark.parametrize("declared", ["key", "unique"])
def test_what_makes_a_key_with_the_parent_orders_its_rows_strictly(order: str, declared: str) -> None:
    name = order.split()[0]
    pair = f"student_id+{name}"
    how = {"key": pair} if declared == "key" else {"key": "id", "uniques": (pair,)}
    rows = table("rows", f"id integer, student_id integer, {order}, score number", refers=TO_PUPIL, **how)  # type: ignore[arg-type]
    described = drafted(PUPILS, rows, facts=SIX_YEARS).tables["rows"]
    assert described.parent is not None
    assert (described.parent.type, described.parent.order_by) == ("sequential", (name,))
    column = described.columns[name]
    assert isinstance(column, Ordinal)
    assert (column.after, column.strict) == (f"previous.{name}", True)
    assert column.first is not None


def test_what_makes_a_key_with_more_than_the_parent_orders_rows_that_may_be_equal() -> None:
    seasons = table("seasons", "student_id integer, year_id integer, club string", key="student_id+year_id+club", refers=TO_PUPIL)
    described = drafted(PUPILS, seasons, facts=SIX_YEARS).tables["seasons"]
    assert described.parent is not None
    assert (described.parent.type, described.parent.order_by) == ("sequential", ("year_id",))
    year = described.columns["year_id"]
    assert isinstance(year, Integer)
    assert (year.after, year.strict, year.min, year.max) == ("previous.year_id", False, 2019, 2024)


def test_a_date_orders_rows_that_are_also_numbered() -> None:
    cycles = table(
        "cycles",
        "id integer, subject_id integer, cycle_number integer, given date",
        key="id",
        refers=TO_PATIENT,
        uniques=("subject_id+cycle_number",),
    )
    parent = drafted(PATIENTS, cycles).tables["cycles"].parent
    assert parent is not None
    assert parent.order_by == ("given",)


@pytest.mark.parametrize("part", ["product_id integer", "icd_version integer", "is_main integer", "label string"])
def test_a_code_or_an_id_in_a_key_orders_nothing(part: str) -> None:
    rows = table("rows", f"student_id integer, {part}, score number", key=f"student_id+{part.split()[0]}", refers=TO_PUPIL)
    parent = drafted(PUPILS, rows).tables["rows"].parent
    assert parent is not None
    assert parent.type == "independent"


@pytest.mark.parametrize(("name", "most"), [("years", 7), ("months", 79), ("study_day", 2191), ("hours", 52584)])
def test_a_number_that_counts_time_is_a_distance_from_the_row_before(name: str, most: int) -> None:
    visits = table("visits", f"visit_id integer, subject_id integer, {name} number", key="visit_id", refers=TO_PATIENT)
    column = drafted(PATIENTS, visits, facts=SIX_YEARS).tables["visits"].columns[name]
    assert isinstance(column, Number)
    assert (column.after, column.first) == (f"previous.{name}", FirstValue(min=-most, max=most))


@pytest.mark.parametrize("name", ["year", "wave", "visit", "season", "time", "age", "age_at_visit", "Jahr"])
def test_a_number_orders_rows_by_its_name(name: str) -> None:
    visits = table("visits", f"visit_id integer, subject_id integer, {name} integer, x string", key="visit_id", refers=TO_PATIENT)
    described = drafted(PATIENTS, visits, facts=SIX_YEARS).tables["visits"]
    assert described.parent is not None
    assert described.parent.order_by == (name,)
    column = described.columns[name]
    assert isinstance(column, Integer)
    assert column.after == f"previous.{name}"
    assert not column.strict


def test_a_grade_orders_the_rows_of_a_pupil_and_not_those_of_a_tumour() -> None:
    classes = table("enrolments", "id integer, student_id integer, grade integer, mark number", key="id", refers=TO_PUPIL)
    parent = drafted(PUPILS, classes).tables["enrolments"].parent
    assert parent is not None
    assert parent.order_by == ("grade",)
    tumours = table("tumours", "id integer, subject_id integer, grade integer, size number", key="id", refers=TO_PATIENT)
    parent = drafted(PATIENTS, tumours).tables["tumours"].parent
    assert parent is not None
    assert parent.order_by == ("id",)


def test_people_with_a_survival_time_are_told_from_their_visits() -> None:
    people = table("pbc", "id integer?, time integer?, age number?, sex string?")
    visits = table("pbcseq", "id integer?, age number?, sex string?, day integer?, bili number?")
    schema = drafted(people, visits)
    assert (schema.entity_name, schema.parent_name("pbcseq")) == ("pbc", "pbc")
    assert schema.tables["pbcseq"].parent.order_by == ("day",)  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "columns", ["birth_year integer, x string", "model_year integer, x string", "prothrombin_time number", "donor_age integer"]
)
def test_a_number_that_is_a_fact_orders_nothing(columns: str) -> None:
    things = table("things", f"id integer, subject_id integer, {columns}", key="id", refers=TO_PATIENT)
    parent = drafted(PATIENTS, things).tables["things"].parent
    assert parent is not None
    assert parent.order_by == ("id",)


def test_an_age_that_stands_above_is_the_one_that_somebody_had_once() -> None:
    people = table("people", "id integer, age integer", key="id")
    rows = table("rows", "rid integer, id integer, age integer, x string", key="rid", refers={"id": "people.id"})
    described = drafted(people, rows).tables["rows"]
    assert described.parent is not None
    assert described.parent.order_by == ("rid",)
    assert described.columns["age"].after is None  # type: ignore[union-attr]


def test_children_have_ages_and_no_order() -> None:
    children = table("children", "id integer, subject_id integer, age integer", key="id", refers=TO_PATIENT)
    described = drafted(PATIENTS, children).tables["children"]
    assert described.parent is not None
    assert described.parent.order_by == ("id",)
    assert described.columns["age"].after is None  # type: ignore[union-attr]


def test_an_order_that_nobody_knows_the_bounds_of_begins_within_a_made_up_range() -> None:
    doses = table("doses", "subject_id integer, level number, x string", key="subject_id+level", refers=TO_PATIENT)
    column = drafted(PATIENTS, doses).tables["doses"].columns["level"]
    assert isinstance(column, Number)
    assert column.first is not None
    assert (column.min, column.max, column.precision) == (None, None, 3)
    assert "REVIEW: " in comment_on(written(PATIENTS, doses), "level:")
    assert "made-up" in comment_on(written(PATIENTS, doses), "level:")


def test_bounds_that_the_source_declares_are_those_of_the_sequence() -> None:
    rows = table("rows", "student_id integer, grade integer", key="student_id+grade", refers=TO_PUPIL, grade={"min": 0, "max": 3})
    column = drafted(PUPILS, rows).tables["rows"].columns["grade"]
    assert isinstance(column, Integer)
    assert (column.min, column.max, column.after, column.first) == (0, 3, "previous.grade", FirstValue(min=0, max=3))


def test_rows_that_nothing_orders_are_taken_in_the_order_of_their_key() -> None:
    """Rows of one parent are alike: drawn without looking at each other, an age would be another in each of them."""
    lines = table("purchases", "id integer, subject_id integer, price number", key="id", refers=TO_PATIENT)
    parent = drafted(PATIENTS, lines).tables["purchases"].parent
    assert parent is not None
    assert (parent.type, parent.order_by) == ("sequential", ("id",))
    comment = comment_on(written(PATIENTS, lines), "parent:")
    assert "REVIEW: no column says which row comes first: they are taken in the order of their key, id" in comment


@pytest.mark.parametrize("key", ["", "subject_id+label"])
def test_rows_without_an_order_and_a_key_of_their_own_are_asked_about(key: str) -> None:
    lines = table("purchases", "label string, subject_id integer, price number", key=key, refers=TO_PATIENT)
    parent = drafted(PATIENTS, lines).tables["purchases"].parent
    assert parent is not None
    assert parent.type == "independent"
    comment = comment_on(written(PATIENTS, lines), "parent:")
    assert "REVIEW: no column says which row comes first" in comment
    assert "rows of one patients are drawn without looking at each other; name the column that orders them" in comment
    assert "order_by" in comment


@pytest.mark.parametrize("name", ["minute", "icu_hour"])
def test_a_unit_of_the_clock_alone_counts_from_some_beginning(name: str) -> None:
    rows = table("rows", f"id integer, subject_id integer, {name} integer, value number", key="id", refers=TO_PATIENT)
    described = drafted(PATIENTS, rows, facts=SIX_YEARS).tables["rows"]
    assert described.parent is not None
    assert described.parent.order_by == (name,)
    assert described.columns[name].after == f"previous.{name}"  # type: ignore[union-attr]


def test_an_hour_beside_a_day_orders_nothing() -> None:
    rows = table("rows", "id integer, subject_id integer, day date, hour integer", key="id", refers=TO_PATIENT)
    described = drafted(PATIENTS, rows, facts=SIX_YEARS).tables["rows"]
    assert described.parent is not None
    assert described.parent.order_by == ("day",)
    assert described.columns["hour"].after is None  # type: ignore[union-attr]


@pytest.mark.parametrize("columns", ["visit integer, days integer", "period integer, time number", "wave integer"])
def test_ages_and_times_go_on_with_the_number_of_the_visit(columns: str) -> None:
    """Nobody is 75 at the second visit and 67 at the third."""
    order, *times = (column.split()[0] for column in columns.split(", "))
    visits = table("exams", f"subject_id integer, {columns}, age integer", key=f"subject_id+{order}", refers=TO_PATIENT)
    described = drafted(PATIENTS, visits, facts=SIX_YEARS).tables["exams"]
    assert described.parent is not None
    assert described.parent.order_by == (order,)
    for name in (*times, "age"):
        assert described.columns[name].after == f"previous.{name}"  # type: ignore[union-attr]


def test_what_is_measured_keeps_its_large_cap_without_an_order() -> None:
    rows = table("labs", "id integer, subject_id integer, test string, value number", key="id", refers=TO_PATIENT)
    parent = drafted(PATIENTS, rows).tables["labs"].parent
    assert parent is not None
    assert (parent.order_by, parent.history_by, parent.max_rows) == (("id",), ("test",), 1000)


def test_years_of_a_person_lie_between_their_birth_and_their_death() -> None:
    people = table("players", "player_id integer, birth_year integer?, death_year integer?", key="player_id")

    def year(name: str) -> Integer:
        rows = table(name, "player_id integer, year integer, pay number", refers={"player_id": "players"})
        column = drafted(people, rows, facts=SIX_YEARS).tables[name].columns["year"]
        assert isinstance(column, Integer)
        return column

    paid = year("contracts")
    assert (paid.after, paid.before) == ("previous.year", "parent.death_year")
    assert paid.first == FirstValue(after="parent.birth_year", within=120)
    assert (year("hall_of_fame").before, year("hall_of_fame").first) == (None, paid.first)
