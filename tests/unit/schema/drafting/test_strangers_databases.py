"""What databases that nobody here had seen were drafted wrong in: each a small world of its own."""

from __future__ import annotations

from dataclasses import replace

import pytest

from mare.schema.loading import load_document
from mare.schema.reflection import Peek, ReflectedTable
from tests.reflections import PATIENTS, SIX_YEARS, comment_on, drafted, table, written

TO_PATIENT = {"subject_id": "patients.subject_id"}
CSV_PATIENTS = table("patients", "subject_id integer?, gender string?")
CSV_STAYS = table("admissions", "hadm_id integer?, subject_id integer?, admittime datetime?, dischtime datetime?")


def test_rows_refer_to_a_vocabulary_by_its_code_not_by_the_number_of_a_row() -> None:
    items = table("d_items", "row_id integer?, itemid integer?, label string?")
    events = table("outputevents", "row_id integer?, subject_id integer?, charttime datetime?, itemid integer?, value number?")
    schema = drafted(CSV_PATIENTS, items, events)
    assert schema.tables["d_items"].key == ("itemid",)
    assert schema.tables["outputevents"].references["itemid"].table == "d_items"
    assert schema.tables["outputevents"].key == ("row_id",)


def test_a_declared_row_number_stays_the_key_and_the_code_is_referred_to() -> None:
    items = table("d_items", "row_id integer, itemid integer, label string", key="row_id", uniques=("itemid",))
    events = table("outputevents", "row_id integer, subject_id integer, itemid integer", key="row_id")
    reference = drafted(PATIENTS, items, events).tables["outputevents"].references["itemid"]
    assert (reference.table, reference.column) == ("d_items", ("itemid",))


def test_of_two_vocabularies_with_the_same_code_the_one_that_the_table_names_is_meant() -> None:
    items = table("d_items", "itemid integer?, label string?")
    labs = table("d_labitems", "itemid integer?, label string?")
    events = table("labevents", "subject_id integer?, charttime datetime?, itemid integer?, value number?")
    out = table("outputevents", "subject_id integer?, charttime datetime?, itemid integer?, value number?")
    schema = drafted(CSV_PATIENTS, items, labs, events, out)
    assert schema.tables["labevents"].references["itemid"].table == "d_labitems"
    assert schema.tables["outputevents"].references["itemid"].table == "d_items"


def test_an_event_with_a_time_of_its_own_hangs_on_the_person_where_nobody_tells_what_may_be_null() -> None:
    labs = table("labevents", "labevent_id integer?, subject_id integer?, hadm_id integer?, charttime datetime?, flag string?")
    schema = drafted(CSV_PATIENTS, CSV_STAYS, labs)
    reference = schema.tables["labevents"].references["hadm_id"]
    assert schema.parent_name("labevents") == "patients"
    assert (reference.kind, reference.by, reference.nullable) == ("same_entity", "interval", True)  # type: ignore[union-attr]


def test_what_has_no_time_of_its_own_hangs_on_the_stay_and_the_draft_says_what_a_null_would_lose() -> None:
    diagnoses = table("diagnoses_icd", "subject_id integer?, hadm_id integer?, seq_num integer?, icd_code string?")
    text = written(CSV_PATIENTS, CSV_STAYS, diagnoses)
    assert drafted(CSV_PATIENTS, CSV_STAYS, diagnoses).parent_name("diagnoses_icd") == "admissions"
    assert "REVIEW: rows where hadm_id is NULL are dropped" in comment_on(text, "parent: {table: admissions")


def test_a_date_and_its_moment_are_one_thing() -> None:
    visits = table(
        "visit_occurrence",
        "visit_id integer, subject_id integer, visit_start_date date, visit_start_datetime datetime, visit_end_date date, "
        "visit_end_datetime datetime",
        key="visit_id",
        refers=TO_PATIENT,
    )
    columns = drafted(PATIENTS, visits).tables["visit_occurrence"].columns
    for side in ("start", "end"):
        how = columns[f"visit_{side}_date"].determined
        assert how is not None
        assert how.part is not None
        assert (how.part.of, how.part.unit) == (f"visit_{side}_datetime", "date")
    assert columns["visit_end_datetime"].after == "visit_start_datetime"  # type: ignore[union-attr]


def test_the_day_of_a_moment_that_may_be_null_may_be_too() -> None:
    deaths = table(
        "visits", "id integer, subject_id integer, seen_date date?, seen_datetime datetime?", key="id", refers=TO_PATIENT
    )
    assert drafted(PATIENTS, deaths).tables["visits"].columns["seen_date"].nullable


def test_a_moment_that_may_be_null_lies_in_the_day_that_never_is() -> None:
    events = table("events", "id integer, subject_id integer, chartdate date, charttime datetime?", key="id", refers=TO_PATIENT)
    schema = drafted(PATIENTS, events)
    column = schema.tables["events"].columns["charttime"]
    assert (column.after, column.within) == ("chartdate", "86399s")  # type: ignore[union-attr]
    assert schema.tables["events"].parent.order_by == ("chartdate",)  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("start", "end"),
    [
        ("rental_date", "return_date"),
        ("ordered_at", "shipped_at"),
        ("reported_on", "settled_on"),
        ("fecha_prestamo", "fecha_devolucion"),
    ],
)
def test_what_ends_a_thing_follows_what_began_it(start: str, end: str) -> None:
    things = table("things", f"id integer, subject_id integer, {end} datetime?, {start} datetime", key="id", refers=TO_PATIENT)
    assert drafted(PATIENTS, things).tables["things"].columns[end].after == start  # type: ignore[union-attr]


def test_nothing_is_delivered_before_it_was_shipped() -> None:
    orders = table(
        "orders", "id integer, subject_id integer, ordered date, shipped date?, delivered date?", key="id", refers=TO_PATIENT
    )
    assert drafted(PATIENTS, orders).tables["orders"].columns["delivered"].after == "shipped"  # type: ignore[union-attr]


def test_nobody_dies_twice() -> None:
    people = table("person", "person_id integer, birth_datetime datetime", key="person_id")
    death = table("death", "person_id integer, death_date date, cause string", refers={"person_id": "person.person_id"})
    schema = drafted(people, death)
    parent = schema.tables["death"].parent
    assert parent is not None
    assert (parent.type, parent.max_rows) == ("independent", 1)
    assert schema.tables["death"].columns["death_date"].after == "parent.birth_datetime"  # type: ignore[union-attr]


def test_people_are_called_people_and_a_year_is_no_id() -> None:
    people = table("People", "playerID string, birthYear integer?, nameLast string?", key="playerID")
    batting = table(
        "Batting",
        "playerID string, yearID integer, stint integer, HR integer?",
        key="playerID+yearID+stint",
        refers={"playerID": "People.playerID"},
    )
    schema = drafted(people, batting, facts=SIX_YEARS)
    year = schema.tables["Batting"].columns["yearID"]
    assert schema.entity == "People"
    assert (year.type, year.min, year.max) == ("integer", 2019, 2024)  # type: ignore[union-attr]


def test_dates_in_texts_are_read_as_dates_and_order_rows_as_such() -> None:
    visits = table("visits", "id integer, subject_id integer, visit_date string, stored_at string", key="id", refers=TO_PATIENT)
    schema = drafted(PATIENTS, visits)
    columns = schema.tables["visits"].columns
    assert (columns["visit_date"].type, columns["visit_date"].format) == ("date", ("%Y-%m-%d",))  # type: ignore[union-attr]
    assert (columns["stored_at"].type, columns["stored_at"].format) == ("datetime", ("%Y-%m-%d %H:%M:%S",))  # type: ignore[union-attr]
    assert columns["visit_date"].after == "previous.visit_date"  # type: ignore[union-attr]
    short = replace(visits.columns[2], max_length=8)
    compact = replace(visits, columns=(*visits.columns[:2], short))
    assert drafted(PATIENTS, compact).tables["visits"].columns["visit_date"].format == ("%Y%m%d",)  # type: ignore[union-attr]


@pytest.mark.parametrize(("item", "value"), [("analyte", "result"), ("question_id", "score"), ("vital_sign", "reading")])
def test_tables_in_long_format_have_a_scale_and_a_history_for_each_item(item: str, value: str) -> None:
    long = table(
        "measured", f"id integer, subject_id integer, taken date, {item} string, {value} number", key="id", refers=TO_PATIENT
    )
    described = drafted(PATIENTS, long).tables["measured"]
    assert described.parent is not None
    assert described.parent.history_by == (item,)
    assert described.columns[value].by == (item,)  # type: ignore[union-attr]


def test_an_address_that_must_be_unique_is_made_up_in_a_domain_that_nobody_has() -> None:
    people = table("customers", "id integer, email string", key="id", uniques=("email",))
    document = load_document(written(people))
    column = document.schema.tables["customers"].columns["email"]
    assert (column.type, column.pattern) == ("identifier", "user{n}@example.org")  # type: ignore[union-attr]
    assert document.schema.tables["customers"].unique == (("email",),)
    assert document.faults == ()


def test_drugs_look_at_diagnoses_and_not_the_other_way_round() -> None:
    drugs = table("prescriptions", "id integer, subject_id integer, started date", key="id", refers=TO_PATIENT)
    diagnoses = table("diagnoses", "id integer, subject_id integer, coded date", key="id", refers=TO_PATIENT)
    schema = drafted(PATIENTS, drugs, diagnoses)
    assert (schema.tables["prescriptions"].sees, schema.tables["diagnoses"].sees) == (("diagnoses",), ())


def test_a_fact_of_the_customer_in_every_order_is_theirs() -> None:
    customers = table("customers", "id integer, segment string", key="id")
    orders = table(
        "orders", "id integer, customer_id integer, customer_segment string", key="id", refers={"customer_id": "customers.id"}
    )
    how = drafted(customers, orders).tables["orders"].columns["customer_segment"].determined
    assert how is not None
    assert how.copy_of == "customers.segment"


def test_dates_go_on_with_the_numbers_of_visits() -> None:
    visits = table(
        "visits", "subject_id integer, visit_no integer, visit_date date", key="subject_id+visit_no", refers=TO_PATIENT
    )
    columns = drafted(PATIENTS, visits).tables["visits"].columns
    assert columns["visit_no"].type == "position"
    assert columns["visit_date"].after == "previous.visit_date"  # type: ignore[union-attr]


def test_of_two_tables_that_describe_people_the_one_without_a_running_time_holds_each_once() -> None:
    once = table("pbc", "id integer?, age number?, sex string?, bili number?")
    often = table("pbcseq", "id integer?, age number?, sex string?, day integer?, bili number?")
    schema = drafted(once, often)
    assert (schema.entity, schema.parent_name("pbcseq")) == ("pbc", "pbc")


def test_people_who_work_here_are_the_entity_where_there_is_nobody_else() -> None:
    staff = table("employees", "employee_id integer, hired date", key="employee_id")
    leave = table(
        "absences", "id integer, employee_id integer, day date", key="id", refers={"employee_id": "employees.employee_id"}
    )
    assert drafted(staff, leave).entity == "employees"


def test_teachers_are_never_copied() -> None:
    teachers = table("teachers", "teacher_id integer, name string", key="teacher_id")
    lessons = table(
        "lessons",
        "id integer, subject_id integer, teacher_id integer",
        key="id",
        refers={**TO_PATIENT, "teacher_id": "teachers.teacher_id"},
    )
    assert not drafted(PATIENTS, teachers, lessons).tables["teachers"].public


def test_a_period_lasts_as_long_as_the_data_goes() -> None:
    periods = table(
        "observation_period", "id integer, subject_id integer, start_date date, end_date date", key="id", refers=TO_PATIENT
    )
    assert drafted(PATIENTS, periods, facts=SIX_YEARS).tables["observation_period"].columns["end_date"].within == "7y"  # type: ignore[union-attr]


def test_a_mean_over_a_district_describes_nobody() -> None:
    districts = table("district", "district_id integer, name string, avg_salary integer", key="district_id")
    people = table(
        "client", "client_id integer, district_id integer", key="client_id", refers={"district_id": "district.district_id"}
    )
    assert drafted(people, districts).tables["district"].public
    assert "REVIEW: avg_salary may be an aggregate over people" in written(people, districts)


SOLD = "household_id integer, store_id integer, basket_id number, OrderNumber string, price number, sold_at datetime"
HOUSEHOLDS = table("customers", "household_id integer, segment string", key="household_id")


def test_ids_without_a_table_stay_together_in_rows_that_follow_each_other_and_places_are_codes() -> None:
    sales = table("sales", f"id integer, {SOLD}", key="id", refers={"household_id": "customers.household_id"})
    columns = drafted(HOUSEHOLDS, sales).tables["sales"].columns
    assert (columns["store_id"].type, columns["store_id"].learn) == ("category", True)  # type: ignore[union-attr]
    for name in ("basket_id", "OrderNumber"):
        assert (columns[name].type, columns[name].runs) == ("identifier", True)  # type: ignore[union-attr]
    assert "ids that lead to no table" in written(HOUSEHOLDS, sales)


def test_what_tells_rows_apart_is_not_shared_and_where_nothing_follows_it_comes_apart() -> None:
    sales = table(
        "sales", f"id integer, {SOLD}", key="id", refers={"household_id": "customers.household_id"}, uniques=("OrderNumber",)
    )
    number = drafted(HOUSEHOLDS, sales).tables["sales"].columns["OrderNumber"]
    assert (number.type, number.runs) == ("identifier", False)  # type: ignore[union-attr]
    loose = table("sales", "household_id integer, basket_id integer", refers={"household_id": "customers.household_id"})
    basket = drafted(HOUSEHOLDS, loose).tables["sales"].columns["basket_id"]
    assert (basket.type, basket.runs) == ("identifier", False)  # type: ignore[union-attr]
    assert "equal ones come apart" in comment_on(written(HOUSEHOLDS, loose), "basket_id:")


@pytest.mark.parametrize(("name", "kind"), [("till_id", "category"), ("patient_id", "identifier")])
def test_an_id_of_which_a_look_finds_a_few_is_a_code_unless_it_names_people(name: str, kind: str) -> None:
    sales = table("sales", f"household_id unknown?, {name} unknown?, sold_at datetime?")
    peeks = {("sales", name): Peek(kind="integer", values=(3, 4)), ("sales", "household_id"): Peek(kind="integer")}
    schema = drafted(CSV_HOUSEHOLDS, sales, peeks=peeks)
    assert schema.tables["sales"].columns[name].type == kind
    assert "types" in schema.peeked


CSV_HOUSEHOLDS = table("customers", "household_id integer?, segment string?")


def test_a_line_of_an_order_is_counted_within_it() -> None:
    items = table(
        "order_items", "order_id integer, item_id integer, price number", key="order_id+item_id", refers={"order_id": "orders.id"}
    )
    orders = table("orders", "id integer, household_id integer, at date", key="id", refers={"household_id": "customers"})
    drafts = drafted(HOUSEHOLDS, orders, items).tables["order_items"]
    assert (drafts.columns["item_id"].type, drafts.parent.type) == ("position", "sequential")  # type: ignore[union-attr]
    sales = table(
        "sales",
        "household_id integer, OrderDate date, OrderNumber string, OrderLineItem integer",
        refers={"household_id": "customers.household_id"},
    )
    line = drafted(HOUSEHOLDS, sales).tables["sales"].columns["OrderLineItem"]
    assert (line.type, line.within) == ("position", ("OrderNumber",))  # type: ignore[union-attr]


def test_a_date_that_may_lie_before_the_data_is_learned_and_others_stay_near_the_row_s_own() -> None:
    sales = table(
        "sales",
        "household_id integer, OrderDate date, StockDate date, checked_date date",
        refers={"household_id": "customers.household_id"},
    )
    text = written(HOUSEHOLDS, sales, facts=SIX_YEARS)
    columns = drafted(HOUSEHOLDS, sales, facts=SIX_YEARS).tables["sales"].columns
    assert columns["StockDate"].learn  # type: ignore[union-attr]
    assert columns["checked_date"].around == "OrderDate", "near the row's own date, whatever the calendar"  # type: ignore[union-attr]
    assert "REVIEW" not in comment_on(text, "OrderDate:")


def of_staff(name: str, columns: str) -> ReflectedTable:
    return table(name, f"emp_no integer, {columns}", refers={"emp_no": "employees.emp_no"})


STAFF = table("employees", "emp_no integer, hire_date date", key="emp_no")


def test_a_few_tables_of_one_person_look_at_each_other_those_with_few_rows_first() -> None:
    listed = [
        of_staff("payments", "day date, amount number"),
        of_staff("jobs", "day date, job string"),
        of_staff("death", "day date"),
    ]
    tables = drafted(STAFF, *listed).tables
    assert {name: tables[name].sees for name in ("payments", "jobs", "death")} == {
        "payments": ("death", "jobs"), "jobs": ("death",), "death": (),
    }  # fmt: skip


def test_what_is_referred_to_is_looked_at_and_not_the_other_way_round() -> None:
    zoo = table("a_claims", "id integer, emp_no integer, visit_id integer?, day date", key="id",
                refers={"emp_no": "employees.emp_no", "visit_id": "visits.id"})  # fmt: skip
    visits = table("visits", "id integer, emp_no integer, day date", key="id", refers={"emp_no": "employees.emp_no"})
    tables = drafted(STAFF, zoo, visits).tables
    assert (tables["a_claims"].sees, tables["visits"].sees) == (("visits",), ())


def test_of_many_tables_of_one_person_those_look_that_follow_and_the_draft_says_so() -> None:
    many = [of_staff(f"things_{n}", "day date, kind string") for n in range(4)]
    others = [of_staff("diagnoses", "day date, code string"), of_staff("drugs", "day date, code string")]
    tables = drafted(STAFF, *many, *others).tables
    assert {name: held.sees for name, held in tables.items() if held.sees} == {"drugs": ("diagnoses",)}
    assert "sees: [other]" in " ".join(written(STAFF, *many, *others).replace("#", "").split())
