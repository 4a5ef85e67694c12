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


# A clinic's own system: everybody is a person, staff too, and every table says who made a row.
EVERYBODY = table(
    "person", "person_id integer, gender string, birthdate date, creator integer?", key="person_id", refers={"creator": "users"}
)
LOGINS = table("users", "user_id integer, person_id integer, username string", key="user_id", refers={"person_id": "person"})
MADE_BY = {"creator": "users"}
TREATED = table(
    "patient", "patient_id integer, creator integer, date_created datetime", key="patient_id",
    refers={"patient_id": "person", **MADE_BY},
)  # fmt: skip
CONCEPTS = table("concept", "concept_id integer, short_name string, creator integer", key="concept_id", refers=MADE_BY)
SEEN = table(
    "encounter", "encounter_id integer, patient_id integer, encounter_datetime datetime, creator integer, changed_by integer?",
    key="encounter_id", refers={"patient_id": "patient", **MADE_BY, "changed_by": "users"},
)  # fmt: skip
FOUND = table(
    "obs",
    "obs_id integer, person_id integer, concept_id integer, encounter_id integer?, obs_datetime datetime, "
    "value_numeric number?, creator integer",
    key="obs_id",
    refers={"person_id": "person", "concept_id": "concept", "encounter_id": "encounter", **MADE_BY},
)  # fmt: skip
CLINIC = (EVERYBODY, LOGINS, TREATED, CONCEPTS, SEEN, FOUND)


def test_who_made_a_row_is_not_whose_row_it_is() -> None:
    schema = drafted(*CLINIC, facts=SIX_YEARS)
    assert schema.entity == "person"
    assert schema.tables["users"].pool is not None
    assert schema.tables["users"].ignore_columns == ("person_id",)
    assert schema.tables["concept"].public
    parents = {name: schema.parent_name(name) for name in ("patient", "encounter", "obs")}
    assert parents == {"patient": "person", "encounter": "patient", "obs": "person"}
    assert schema.tables["encounter"].references["creator"].kind == "pool"


@pytest.mark.parametrize("name", ["patient_data", "PatientInfo", "patient_master", "tbl_patient", "patients_demographics"])
def test_a_table_of_the_data_of_patients_holds_patients(name: str) -> None:
    people = table(name, "pid integer, fname string, DOB date", key="pid")
    visits = table("visits", "id integer, pid integer, seen_on date", key="id", refers={"pid": name})
    logins = table("users", "id integer, username string", key="id")
    assert drafted(people, visits, logins).entity == name


def test_a_table_with_an_id_of_patients_is_never_copied_though_nothing_leads_to_them() -> None:
    orders = table("procedure_order", "order_id integer, patient_id integer, ordered_on date", key="order_id")
    reports = table(
        "report_code", "report_id integer, order_id integer, code string", key="report_id", refers={"order_id": "procedure_order"}
    )
    staff = table("clerks", "clerk_id integer, birth_date date", key="clerk_id")
    worked = table(
        "results",
        "id integer, clerk_id integer, report_id integer",
        key="id",
        refers={"clerk_id": "clerks", "report_id": "report_code"},
    )
    schema = drafted(orders, reports, staff, worked, entity="clerks")
    assert schema.tables["procedure_order"].ignore
    assert schema.tables["report_code"].ignore


def test_what_leads_to_made_up_people_is_never_copied() -> None:
    people = table("patient_names", "pid integer, surname string, sex string, birth_date date", key="pid")
    problems = table("lists", "id integer, pid integer, diagnosis string", key="id", refers={"pid": "patient_names"})
    clerks = table("clerks", "clerk_id integer, sex string", key="clerk_id")
    files = table(
        "documents", "id integer, clerk_id integer, list_id integer, pid integer", key="id",
        refers={"clerk_id": "clerks", "list_id": "lists", "pid": "patient_names"},
    )  # fmt: skip
    schema = drafted(people, problems, clerks, files, entity="clerks")
    assert not schema.tables["lists"].public


LISTS = table("lists", "id integer, pid integer, begdate date?", key="id", refers={"pid": "patient_data"})
DATA = table("patient_data", "pid integer, sex string, DOB date", key="pid")


@pytest.mark.parametrize(
    ("name", "columns"),
    [("events", "id integer, pc_pid string, pc_title string"), ("notes", "id integer, owner string, note string")],
)
def test_what_is_called_as_the_key_of_people_or_was_written_by_somebody_is_never_copied(name: str, columns: str) -> None:
    seen = table("visits", "id integer, pid integer, other integer?", key="id", refers={"pid": "patient_data", "other": name})
    schema = drafted(DATA, LISTS, table(name, columns, key="id"), seen)
    assert schema.tables[name].ignore
    # What leads there is an id that leads nowhere, and nothing is left to settle.
    assert schema.tables["visits"].columns["other"].type in ("identifier", "integer")


def test_what_joins_staff_with_something_is_no_pool_of_staff() -> None:
    groups = table("therapy_groups", "group_id integer, name string", key="group_id")
    users = table("users", "user_id integer, surname string", key="user_id")
    joined = table(
        "groups_counselors", "group_id integer, user_id integer", key="group_id+user_id",
        refers={"group_id": "therapy_groups", "user_id": "users"},
    )  # fmt: skip
    visits = table(
        "visits", "id integer, pid integer, made_by integer?, group_id integer?", key="id",
        refers={"pid": "patient_data", "made_by": "users", "group_id": "therapy_groups"},
    )  # fmt: skip
    schema = drafted(DATA, groups, users, joined, visits)
    assert schema.tables["groups_counselors"].ignore


def test_an_identifier_is_no_list_of_values() -> None:
    numbers = table("patient_numbers", "id integer, subject_id integer, identifier string", key="id", refers=TO_PATIENT)
    assert drafted(PATIENTS, numbers).tables["patient_numbers"].columns["identifier"].type == "identifier"


def test_what_a_row_is_covered_by_is_nobody_who_made_it() -> None:
    policies = table("policies", "id integer, subject_id integer, kind string", key="id", refers=TO_PATIENT)
    bills = table(
        "bills", "id integer, subject_id integer, covered_by integer?", key="id", refers={**TO_PATIENT, "covered_by": "policies"}
    )
    assert drafted(PATIENTS, policies, bills).parent_name("policies") == "patients"
