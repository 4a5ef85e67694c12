"""What live databases of a laboratory, a registry, a shop and an intensive care unit were drafted wrong in: small worlds of the
same shape."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.reflections import PATIENTS, SIX_YEARS, drafted, table

TO_PATIENT = {"subject_id": "patients.subject_id"}
REGISTERED = table("patients", "subject_id integer, first_dialysis date, died_on date?", key="subject_id")
DYING = replace(REGISTERED, orders=table("x", "a date, b date", orders=(("first_dialysis", "died_on"),)).orders)


def test_a_check_that_orders_a_death_does_not_say_that_it_comes_within_a_year() -> None:
    died = drafted(DYING, table("visits", "id integer, subject_id integer", key="id", refers=TO_PATIENT), facts=SIX_YEARS)
    column = died.tables["patients"].columns["died_on"]
    assert (column.after, column.within) == ("first_dialysis", "7y")  # type: ignore[union-attr]


def test_a_check_that_orders_two_dates_says_nothing_of_how_near_they_are() -> None:
    grafts = table(
        "transplants",
        "id integer, subject_id integer, tx_date date, failed_on date?",
        key="id",
        refers=TO_PATIENT,
        orders=(("tx_date", "failed_on"),),
    )
    failed = drafted(PATIENTS, grafts, facts=SIX_YEARS).tables["transplants"].columns["failed_on"]
    assert failed.within == "7y"  # type: ignore[union-attr]


def test_a_drug_that_was_stopped_may_have_been_taken_for_years() -> None:
    drugs = table("drugs", "id integer, subject_id integer, started_on date, stopped_on date?", key="id", refers=TO_PATIENT)
    stopped = drafted(PATIENTS, drugs, facts=SIX_YEARS).tables["drugs"].columns["stopped_on"]
    assert (stopped.after, stopped.within) == ("started_on", "7y")  # type: ignore[union-attr]


@pytest.mark.parametrize("number", ["drug_no", "DrugNumber", "drug_nr"])
def test_what_numbers_the_rows_of_one_parent_in_their_key_is_a_position(number: str) -> None:
    drugs = table("drugs", f"subject_id integer, {number} integer, dose number", key=f"subject_id+{number}", refers=TO_PATIENT)
    assert drafted(PATIENTS, drugs).tables["drugs"].columns[number].type == "position"


def test_the_number_of_a_room_or_an_account_in_a_key_names_it() -> None:
    rooms = table("rooms", "subject_id integer, room_no integer, beds integer", key="subject_id+room_no", refers=TO_PATIENT)
    assert drafted(PATIENTS, rooms).tables["rooms"].columns["room_no"].type != "position"


def test_rows_that_are_numbered_begin_after_the_record_and_end_before_the_death() -> None:
    drugs = table(
        "drugs",
        "subject_id integer, drug_no integer, started_on date, stopped_on date?",
        key="subject_id+drug_no",
        refers=TO_PATIENT,
    )
    columns = drafted(REGISTERED_FIRST, drugs, facts=SIX_YEARS).tables["drugs"].columns
    assert columns["started_on"].after == "parent.registered_on"  # type: ignore[union-attr]
    assert columns["started_on"].before == "parent.died_on"  # type: ignore[union-attr]
    assert columns["stopped_on"].before == "parent.died_on"  # type: ignore[union-attr]


REGISTERED_FIRST = table("patients", "subject_id integer, registered_on date, died_on date?", key="subject_id")
COURSES = table(
    "treatments",
    "subject_id integer, seq integer, modality string, valid_from date, valid_to date?",
    key="subject_id+seq",
    refers=TO_PATIENT,
)
SESSIONS = table(
    "sessions",
    "subject_id integer, seq integer, session_no integer, started datetime, ended datetime",
    key="subject_id+seq+session_no",
    refers={"subject_id+seq": "treatments.subject_id+seq"},
)


def test_periods_that_are_numbered_follow_each_other() -> None:
    columns = drafted(REGISTERED_FIRST, COURSES, facts=SIX_YEARS).tables["treatments"].columns
    assert columns["valid_from"].after == "previous.valid_from"  # type: ignore[union-attr]
    assert columns["valid_from"].first.after == "parent.registered_on"  # type: ignore[union-attr]


def test_what_a_check_says_follows_a_date_ends_with_a_death_too() -> None:
    grafts = table(
        "transplants",
        "id integer, subject_id integer, tx_date date, failed_on date?",
        key="id",
        refers=TO_PATIENT,
        orders=(("tx_date", "failed_on"),),
    )
    schema = drafted(REGISTERED_FIRST, grafts, COURSES, facts=SIX_YEARS)
    assert schema.tables["transplants"].columns["failed_on"].before == "parent.died_on"  # type: ignore[union-attr]
    assert schema.tables["treatments"].columns["valid_to"].before == "parent.died_on"  # type: ignore[union-attr]


def test_numbered_sessions_of_a_course_end_with_a_death() -> None:
    columns = drafted(REGISTERED_FIRST, COURSES, SESSIONS, facts=SIX_YEARS).tables["sessions"].columns
    assert columns["started"].before == "patients.died_on"  # type: ignore[union-attr]


def test_a_result_is_validated_soon_and_within_the_calendar() -> None:
    results = table(
        "results", "id integer, subject_id integer, measured_at datetime, validated_at datetime?", key="id", refers=TO_PATIENT
    )
    validated = drafted(PATIENTS, results, facts=SIX_YEARS).tables["results"].columns["validated_at"]
    assert (validated.after, validated.within) == ("measured_at", "365d")  # type: ignore[union-attr]
    assert validated.max is None or validated.max.year == 2024  # type: ignore[union-attr]


def test_what_is_collected_comes_before_it_is_received() -> None:
    specimens = table(
        "specimens", "id integer, subject_id integer, collected_at datetime?, received_at datetime", key="id", refers=TO_PATIENT
    )
    columns = drafted(PATIENTS, specimens, facts=SIX_YEARS).tables["specimens"].columns
    assert columns["collected_at"].before == "received_at"  # type: ignore[union-attr]


def test_the_age_of_a_donor_is_not_that_of_the_patient() -> None:
    grafts = table("transplants", "id integer, subject_id integer, tx_date date, donor_age integer", key="id", refers=TO_PATIENT)
    age = drafted(PATIENTS, grafts).tables["transplants"].columns["donor_age"]
    assert (age.same_for, age.drift) == (None, None)  # type: ignore[union-attr]


def test_what_others_refer_to_in_a_pool_is_an_id_of_its_own() -> None:
    staff = table("caregivers", "row_id integer, cgid integer, label string?", key="row_id", uniques=("cgid",))
    events = table(
        "events",
        "id integer, subject_id integer, cgid integer?, charttime datetime",
        key="id",
        refers={**TO_PATIENT, "cgid": "caregivers.cgid"},
    )
    schema = drafted(PATIENTS, staff, events)
    assert schema.tables["caregivers"].columns["cgid"].type == "identifier"
    assert schema.tables["events"].references["cgid"].kind == "pool"


ORDERS = table("orders", "orderid integer, subject_id integer, orderdate date", key="orderid", refers=TO_PATIENT)


def test_the_date_of_an_order_in_its_lines_is_that_of_the_order() -> None:
    lines = table(
        "orderlines", "lineid integer, orderid integer, orderdate date, quantity integer", key="orderid+lineid",
        refers={"orderid": "orders.orderid"},
    )  # fmt: skip
    how = drafted(PATIENTS, ORDERS, lines).tables["orderlines"].columns["orderdate"].determined
    assert how is not None
    assert how.copy_of == "orders.orderdate"


@pytest.mark.parametrize("name", ["date", "created_at"])
def test_a_date_that_every_table_has_is_its_own(name: str) -> None:
    orders = table("orders", f"orderid integer, subject_id integer, {name} datetime", key="orderid", refers=TO_PATIENT)
    lines = table("orderlines", f"id integer, orderid integer, {name} datetime", key="id", refers={"orderid": "orders.orderid"})
    assert drafted(PATIENTS, orders, lines).tables["orderlines"].columns[name].determined is None


def test_names_in_one_word_add_up_too() -> None:
    orders = table(
        "orders", "orderid integer, subject_id integer, netamount number, tax number, totalamount number", key="orderid",
        refers=TO_PATIENT,
    )  # fmt: skip
    how = drafted(PATIENTS, orders).tables["orders"].columns["totalamount"].determined
    assert how is not None
    assert how.expression == "netamount + tax"


@pytest.mark.parametrize("name", ["creditcard", "credit_card_no", "card_number"])
def test_the_number_of_a_card_is_never_learned(name: str) -> None:
    people = table("customers", f"customerid integer, {name} string, birth_date date", key="customerid")
    orders = table("orders", "id integer, customerid integer", key="id", refers={"customerid": "customers.customerid"})
    assert drafted(people, orders).tables["customers"].columns[name].type == "identifier"


def test_a_short_result_in_words_is_a_category() -> None:
    results = table(
        "results",
        "id integer, subject_id integer, analyte string, value_num number?, value_text string?",
        key="id",
        refers=TO_PATIENT,
    )
    columns = tuple(replace(c, max_length=40) if c.name == "value_text" else c for c in results.columns)
    short = replace(results, columns=columns)
    assert drafted(PATIENTS, short).tables["results"].columns["value_text"].type == "category"
    assert drafted(PATIENTS, results).tables["results"].columns["value_text"].type == "text"


ANALYTES = table("analytes", "analyte_code string, unit string?, ref_low number?, price number", key="analyte_code")
OF_ANALYTES = {**TO_PATIENT, "analyte_code": "analytes.analyte_code"}


def test_the_unit_and_the_limits_of_a_result_are_those_of_what_is_measured() -> None:
    described = (
        "id integer, subject_id integer, analyte_code string, value_num number?, unit string?, ref_low number?, price number"
    )
    results = table("results", described, key="id", refers=OF_ANALYTES)
    columns = drafted(PATIENTS, ANALYTES, results).tables["results"].columns
    for name in ("unit", "ref_low"):
        how = columns[name].determined
        assert how is not None
        assert how.lookup is not None
        assert (how.lookup.table, how.lookup.column, how.lookup.by) == ("analytes", name, ("analyte_code",))
    assert columns["price"].determined is None


def test_what_is_never_missing_is_not_looked_up_where_it_may_be() -> None:
    described = "id integer, subject_id integer, analyte_code string, value_num number, unit string"
    unit = (
        drafted(PATIENTS, ANALYTES, table("results", described, key="id", refers=OF_ANALYTES)).tables["results"].columns["unit"]
    )
    assert unit.determined is None


PRODUCTS = table("products", "prod_id integer, title string, price number", key="prod_id")
STOCK = table("inventory", "prod_id integer, in_stock integer", key="prod_id")
CUSTOMERS = table("customers", "customer_id integer, birth_date date", key="customer_id")
REVIEWED = {"customer_id": "customers", "prod_id": "products"}
BOUGHT = table("orders", "order_id integer, customer_id integer", key="order_id", refers={"customer_id": "customers"})


def test_an_id_beside_declared_references_leads_to_the_table_that_is_called_so() -> None:
    lines = table(
        "orderlines", "line integer, order_id integer, prod_id integer", key="order_id+line", refers={"order_id": "orders"}
    )
    reviews = table("reviews", "id integer, customer_id integer, prod_id integer", key="id", refers=REVIEWED)
    schema = drafted(CUSTOMERS, PRODUCTS, STOCK, BOUGHT, lines, reviews)
    reference = schema.tables["orderlines"].references["prod_id"]
    assert (reference.kind, reference.table) == ("public", "products")


def test_an_id_of_people_beside_declared_references_leads_nowhere_by_its_name_alone() -> None:
    reviews = table(
        "reviews", "review_id integer, customer_id integer, stars integer", key="review_id", refers={"customer_id": "customers"}
    )
    votes = table(
        "votes", "vote_id integer, review_id integer, customer_id integer, order_id integer", key="vote_id",
        refers={"review_id": "reviews"},
    )  # fmt: skip
    drawn = drafted(CUSTOMERS, BOUGHT, reviews, votes).tables["votes"]
    assert not {"customer_id", "order_id"} & set(drawn.references)
