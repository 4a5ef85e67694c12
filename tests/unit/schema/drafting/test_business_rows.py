"""Rows of a business as a bookkeeper reads them: totals that add up, records that are changed after they were made, points booked
one after another."""

from __future__ import annotations

from dataclasses import replace
from datetime import date

import pytest

from mare.schema.columns import Date, Datetime, Text
from tests.reflections import SIX_YEARS, comment_on, drafted, table, written

GUESTS = table("guests", "guest_id integer, city string", key="guest_id")
BILLS = table(
    "bills", "bill_id integer, guest_id integer, issued_on date", key="bill_id", refers={"guest_id": "guests.guest_id"}
)  # fmt: skip


def _formula(columns: str, name: str) -> str | None:
    lines = table(
        "bill_lines", f"bill_id integer, line_no integer, {columns}", key="bill_id+line_no", refers={"bill_id": "bills.bill_id"}
    )  # fmt: skip
    determined = drafted(GUESTS, BILLS, lines).tables["bill_lines"].columns[name].determined
    return None if determined is None else determined.expression


@pytest.mark.parametrize(
    ("columns", "name", "formula"),
    [
        ("quantity integer, unit_price number, line_total number", "line_total", "quantity * unit_price"),
        ("qty integer, UnitPrice number, ExtendedPrice number", "ExtendedPrice", "qty * UnitPrice"),
        ("menge integer, price number, item_amount number?", "item_amount", "menge * price"),
        ("net_amount number, tax_amount number, total_amount number", "total_amount", "net_amount + tax_amount"),
        ("subtotal number, vat number, grand_total number", "grand_total", "subtotal + vat"),
        ("netto number, mwst number, brutto number", "brutto", "netto + mwst"),
    ],
)
def test_what_a_line_comes_to_is_worked_out(columns: str, name: str, formula: str) -> None:
    assert _formula(columns, name) == formula


@pytest.mark.parametrize(
    ("columns", "name"),
    [
        ("quantity integer, unit_price number, discount number, line_total number", "line_total"),
        ("quantity integer?, unit_price number, line_total number", "line_total"),
        ("unit_price number, line_total number", "line_total"),
        ("net_amount number, tax_amount number, shipping_fee number, total_amount number", "total_amount"),
        ("net_amount number, tax_rate number, total_amount number", "total_amount"),
        ("net_amount number, city_tax number, state_tax number, total_amount number", "total_amount"),
        ("quantity integer, unit_price number, list_price number, line_total number", "line_total"),
    ],
)
def test_what_more_may_go_into_is_not(columns: str, name: str) -> None:
    assert _formula(columns, name) is None


def test_a_formula_is_for_a_person_to_look_at() -> None:
    lines = table(
        "bill_lines", "bill_id integer, line_no integer, quantity integer, unit_price number, line_total number",
        key="bill_id+line_no", refers={"bill_id": "bills.bill_id"},
    )  # fmt: skip
    assert "REVIEW: by their names" in comment_on(written(GUESTS, BILLS, lines), "line_total:")


def test_points_count_as_an_amount_where_nothing_else_does() -> None:
    points = table(
        "point_transactions", "guest_id integer, seq_no integer, booked_on date, points integer, balance integer",
        key="guest_id+seq_no", refers={"guest_id": "guests.guest_id"},
    )  # fmt: skip
    assert 'expression: "previous.balance + points", first: points' in comment_on(written(GUESTS, points), "balance:")


@pytest.mark.parametrize("name", ["updated_at", "last_modified"])
def test_a_record_is_changed_after_it_was_made_and_before_it_was_handed_out(name: str) -> None:
    people = table("people", f"id integer, date_of_birth date?, created_at datetime, {name} datetime", key="id")
    column = drafted(people, facts=SIX_YEARS).tables["people"].columns[name]
    assert isinstance(column, Datetime)
    assert (column.after, column.within) == ("created_at", "7y")
    assert column.max is not None
    assert date.fromisoformat(str(column.max)[:10]) <= SIX_YEARS.today


def test_what_is_numbered_as_it_is_booked_goes_on_with_its_number() -> None:
    def booked(name: str) -> Date:
        rows = table(
            name, "guest_id integer, seq_no integer, booked_on date", key="guest_id+seq_no", refers={"guest_id": "guests"}
        )
        column = drafted(GUESTS, rows, facts=SIX_YEARS).tables[name].columns["booked_on"]
        assert isinstance(column, Date)
        return column

    assert booked("point_transactions").after == "previous.booked_on"
    assert booked("preferences").after is None


def test_made_up_staff_is_grown_up_and_leaves_after_it_came() -> None:
    bills = table(
        "bills", "bill_id integer, guest_id integer, clerk_id integer, issued_on date", key="bill_id",
        refers={"guest_id": "guests", "clerk_id": "staff"},
    )  # fmt: skip
    staff = table("staff", "clerk_id integer, birth_date date, hired_on date, left_on date?", key="clerk_id")
    born, hired, left = (drafted(GUESTS, bills, staff, facts=SIX_YEARS).tables["staff"].columns[name]
                         for name in ("birth_date", "hired_on", "left_on"))  # fmt: skip
    assert isinstance(born, Date)
    assert isinstance(hired, Date)
    assert isinstance(left, Date)
    assert (hired.min, left.after, left.nullable) == (date(2014, 1, 1), "hired_on", True)
    assert born.max is not None
    assert hired.min is not None
    assert born.max.year + 18 < hired.min.year


def test_what_can_be_made_up_here_is_not_left_empty() -> None:
    known = replace(SIX_YEARS, fakes=True)
    people = table(
        "guests",
        "guest_id integer, last_name string, company_name string, phone string, fax string?, notes string?, city string",
        key="guest_id", fax={"max_length": 10},
    )  # fmt: skip
    bills = table(
        "bills", "bill_id integer, guest_id integer, clerk_id integer, issued_on date", key="bill_id",
        refers={"guest_id": "guests", "clerk_id": "staff"},
    )  # fmt: skip
    staff = table(
        "staff", "clerk_id integer, name string, city string, postal_code string, nickname_of_desk string", key="clerk_id"
    )
    schema = drafted(people, bills, staff, facts=known)

    def made_up(name: str) -> dict[str, str | None]:
        return {column: getattr(described, "fake", None) for column, described in schema.tables[name].columns.items()}

    assert made_up("guests") == {
        "last_name": "last_name", "company_name": "company", "phone": "phone", "fax": None, "notes": None, "city": None,
    }  # fmt: skip
    assert made_up("staff") == {"name": "name", "city": "city", "postal_code": "postcode", "nickname_of_desk": None}
    assert isinstance(drafted(people, facts=SIX_YEARS).tables["guests"].columns["last_name"], Text)
    assert getattr(drafted(people, facts=SIX_YEARS).tables["guests"].columns["last_name"], "fake", None) is None


@pytest.mark.parametrize(
    ("name", "kind", "worked_out"), [("nights", "date", True), ("nights", "datetime", False), ("visits", "date", False)]
)
def test_nights_lie_between_arrival_and_departure(name: str, kind: str, worked_out: bool) -> None:
    bookings = table(
        "bookings", f"id integer, guest_id integer, arrival_day {kind}, departure_day {kind}, {name} integer", key="id",
        refers={"guest_id": "guests"},
    )  # fmt: skip
    columns = drafted(GUESTS, bookings, facts=SIX_YEARS).tables["bookings"].columns
    said = columns[name].determined
    assert (said is not None and said.elapsed is not None) == worked_out
    if worked_out:
        assert said is not None
        assert said.elapsed is not None
        assert (said.elapsed.since, said.elapsed.until, said.elapsed.unit) == ("arrival_day", "departure_day", "days")
        departed = columns["departure_day"]
        assert isinstance(departed, Date)
        assert departed.after == "arrival_day"


def test_since_when_somebody_is_a_member_is_near_the_day_when_their_record_was_made() -> None:
    people = table("people", "id integer, date_of_birth date?, member_since date?, created_at datetime", key="id")
    columns = drafted(people, facts=SIX_YEARS).tables["people"].columns
    since, made = columns["member_since"], columns["created_at"]
    assert isinstance(since, Date)
    assert isinstance(made, Datetime)
    assert (since.around, since.within, since.after) == ("created_at", "7y", None)
    assert made.after == "date_of_birth"
