"""What a hotel, a school, an insurance, a shop and a study of wearables were drafted wrong in: each a small world of its own."""

from __future__ import annotations

from dataclasses import replace

import pytest

from mare.schema import EntityByColumn
from mare.schema.columns import Category, Integer, Number, Text
from mare.schema.drafting import draft
from mare.schema.reflection import Peek
from tests.reflections import SIX_YEARS, drafted, reflect, table

MAKES_UP = replace(SIX_YEARS, fakes=True)
GUESTS = table("guests", "guest_id integer, sex string", key="guest_id")
BOOKINGS = {"guest_id": "guests.guest_id", "clerk_id": "clerks.clerk_id"}


def clerks(columns: str, **changes: dict[str, object]) -> dict[str, object]:
    """The columns of a pool."""
    staff = table("clerks", f"clerk_id integer, {columns}", key="clerk_id", **changes)
    bookings = table("bookings", "booking_id integer, guest_id integer, clerk_id integer", key="booking_id", refers=BOOKINGS)
    schema = drafted(GUESTS, bookings, staff, facts=MAKES_UP)
    assert schema.tables["clerks"].pool is not None
    return dict(schema.tables["clerks"].columns)


def test_words_of_a_pool_are_made_up_as_its_numbers_are_and_fit_their_column() -> None:
    columns = clerks("region string, grade_code string", grade_code={"max_length": 2})
    region, grade = columns["region"], columns["grade_code"]
    assert isinstance(region, Category)
    assert isinstance(grade, Category)
    assert len(region.values or ()) == len(set(region.values or ())) == 3
    assert all(len(str(value)) <= 2 for value in grade.values or ())


def test_nothing_is_missing_in_a_pool_but_an_end_that_has_not_come() -> None:
    columns = clerks("region string?, hired date?, left_on date?")
    assert {name: column.nullable for name, column in columns.items() if name != "clerk_id"} == {  # type: ignore[attr-defined]
        "region": False, "hired": False, "left_on": True,
    }  # fmt: skip


def test_numbers_of_a_pool_do_not_fill_whatever_their_type_holds() -> None:
    kilometres = clerks("distance_km number", distance_km={"sql_type": "DECIMAL(5,1)", "digits": 5, "precision": 1})[
        "distance_km"
    ]
    assert isinstance(kilometres, Number)
    assert (kilometres.min, kilometres.max, kilometres.precision) == (0, 100, 1)


@pytest.mark.parametrize("name", ["contact_title", "JobTitle"])
def test_titles_of_people_are_few_and_no_free_text(name: str) -> None:
    customers = table("customers", f"id integer, {name} string", key="id")
    assert drafted(customers).tables["customers"].columns[name].type == "category"


def test_a_bare_title_is_one_of_people_where_they_are_named_and_of_a_book_where_they_are_not() -> None:
    people = table("customers", "id integer, last_name string, title string", key="id")
    books = table("loans", "id integer, customer_id integer, title string, pages integer", key="id",
                  refers={"customer_id": "customers.id"})  # fmt: skip
    schema = drafted(people, books)
    assert (schema.tables["customers"].columns["title"].type, schema.tables["loans"].columns["title"].type) == (
        "category",
        "text",
    )


def test_a_name_beside_its_address_is_somebodys() -> None:
    customers = table("customers", "id integer, sex string", key="id")
    shipped = "ship_name string, ship_address string, flag_name string"
    orders = table("orders", f"id integer, customer_id integer, {shipped}", key="id", refers={"customer_id": "customers.id"})
    columns = drafted(customers, orders, facts=MAKES_UP).tables["orders"].columns
    assert isinstance(columns["ship_name"], Text)
    assert columns["ship_name"].fake == "name"
    assert columns["flag_name"].type == "category"


@pytest.mark.parametrize(("entities", "type"), [(2_000, "text"), (400_000, "category"), (None, "category")])
def test_postcodes_are_made_up_where_hardly_two_people_share_one(entities: int | None, type: str) -> None:
    customers = table("customers", "id integer, postal_code string", key="id")
    schema = drafted(customers, facts=replace(MAKES_UP, entities=entities))
    assert schema.tables["customers"].columns["postal_code"].type == type


def test_postcodes_that_are_numbers_lie_near_each_other_and_are_no_list() -> None:
    customers = table("customers", "id integer, zip_code integer", key="id")
    assert drafted(customers, facts=MAKES_UP).tables["customers"].columns["zip_code"].type == "integer"


@pytest.mark.parametrize(
    ("name", "type"),
    [
        ("transaction_ref", "identifier"),
        ("reference_range", "category"),
        ("social_security_no", "identifier"),
        ("no", "category"),
    ],
)
def test_a_reference_to_one_thing_is_an_identifier(name: str, type: str) -> None:
    customers = table("customers", f"id integer, {name} string", key="id")
    assert drafted(customers).tables["customers"].columns[name].type == type


@pytest.mark.parametrize(
    ("name", "sql_type", "known"),
    [
        ("year_group", "TINYINT", False),
        ("year", "TINYINT", False),
        ("year_built", "INTEGER", True),
        ("sick_days_last_year", "INTEGER", False),
    ],
)
def test_years_of_a_school_are_none_of_the_calendar(name: str, sql_type: str, known: bool) -> None:
    students = table("students", f"id integer, {name} integer", key="id", **{name: {"sql_type": sql_type}})
    column = drafted(students, facts=SIX_YEARS).tables["students"].columns[name]
    assert isinstance(column, Integer)
    assert (column.max == 2024) is known


@pytest.mark.parametrize("seen", [None, True])
def test_a_column_called_patient_tells_people_apart_in_the_only_table(seen: bool | None) -> None:
    """To protect each row would protect them less than is said."""
    days = table("wearable", "Patient string?, steps integer?")
    peeks = {} if seen is None else {("wearable", "Patient"): Peek(kind="string", repeats=seen)}
    assert drafted(days, peeks=peeks).entity == EntityByColumn(table="wearable", by="Patient")


@pytest.mark.parametrize("fakes", [True, False])
def test_names_that_nothing_makes_up_here_are_told_with_what_to_install(fakes: bool) -> None:
    people = table("customers", "id integer, last_name string", key="id")
    text = draft(reflect(people), replace(SIX_YEARS, fakes=fakes))
    assert ("mare-synth[fake]" in text) is not fakes
    assert ("fill: fake" in text.split("tables:")[1].split("last_name:")[1].splitlines()[0]) is fakes


@pytest.mark.parametrize(
    ("name", "type"), [("paid_on", "date"), ("kunde_seit", "date"), ("faellig_am", "date"), ("on", "category")]
)
def test_days_that_are_stored_as_text_are_days_in_other_words_too(name: str, type: str) -> None:
    customers = table("customers", f"id integer, {name} string", key="id")
    assert drafted(customers).tables["customers"].columns[name].type == type


def test_what_may_lie_before_the_calendar_does_not_lie_after_it() -> None:
    customers = table("customers", "id integer, member_since date, valid_until date", key="id")
    columns = drafted(customers, facts=SIX_YEARS).tables["customers"].columns
    assert (columns["member_since"].learn, str(columns["member_since"].max)) == (True, "2024-12-31")  # type: ignore[union-attr]
    assert columns["valid_until"].max is None or str(columns["valid_until"].max) > "2024-12-31"  # type: ignore[union-attr]


@pytest.mark.parametrize("name", ["kunde_seit", "registered_on", "created_at", "account_opened"])
def test_people_of_the_data_may_have_come_before_it_begins(name: str) -> None:
    """All of them would lie on its first day, and nothing would say so."""
    customers = table("customers", f"id integer, birth_date date, {name} date", key="id")
    column = drafted(customers, facts=SIX_YEARS).tables["customers"].columns[name]
    assert (column.after, str(column.min), str(column.max)) == ("birth_date", "1900-01-01", "2024-12-31")  # type: ignore[union-attr]
    alone = drafted(table("customers", f"id integer, {name} date", key="id"), facts=SIX_YEARS).tables["customers"].columns[name]
    assert (alone.learn, str(alone.max)) == (True, "2024-12-31")  # type: ignore[union-attr]


def test_what_happens_to_them_lies_within_the_data() -> None:
    customers = table("customers", "id integer, birth_date date", key="id")
    orders = table("orders", "id integer, customer_id integer, created_at date", key="id", refers={"customer_id": "customers.id"})
    created = drafted(customers, orders, facts=SIX_YEARS).tables["orders"].columns["created_at"]
    assert (str(created.min), created.learn) == ("2019-01-01", False)  # type: ignore[union-attr]
