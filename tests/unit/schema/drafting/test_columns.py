"""What a column is, from the catalogue and from its name. What neither tells is learned."""

from __future__ import annotations

import re
from datetime import date

import pytest

from mare.schema import Column
from mare.schema.columns import Category, Code, Date, Identifier, Integer, Number, Position
from mare.schema.loading import load_document
from tests.reflections import ADMISSIONS, PATIENTS, comment_on, drafted, table, written


def one(text: str, **catalogue: object) -> Column:
    """This column of an otherwise empty entity."""
    name = text.rsplit(" ", 1)[0]
    return (
        drafted(table("patients", f"subject_id integer, {text}", key="subject_id", **{name: catalogue}))
        .tables["patients"]
        .columns[name]
    )


def said(text: str) -> str:
    name = text.rsplit(" ", 1)[0]
    return comment_on(written(table("patients", f"subject_id integer, {text}", key="subject_id")), f"{name}:")


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("x boolean", "boolean"),
        ("x integer", "integer"),
        ("x number", "number"),
        ("x string", "category"),
        ("x date", "date"),
        ("x datetime", "datetime"),
        ("x time", "time"),
        ("x duration", "duration"),
        ("x uuid", "identifier"),
        ("x unknown", "unknown"),
        ("nurse_note string", "text"),
        ("Email string", "text"),
        ("LastName string", "text"),
        ("name string", "text"),
        ("drug_name string", "category"),
        ("icd_code string", "code"),
        ("atc string", "code"),
        ("icd_version integer", "category"),
        ("is_dead integer", "boolean"),
        ("order_id integer", "identifier"),
        ("test_itemid integer", "category"),
        ("mrn string", "identifier"),
        ("admission_type string", "category"),
    ],
)
def test_kinds_and_names_decide_the_type(text: str, kind: str) -> None:
    assert one(text).type == kind


@pytest.mark.parametrize("kind", ["integer", "number", "string", "date", "datetime", "duration"])
def test_what_the_catalogue_does_not_tell_is_learned(kind: str) -> None:
    assert one(f"x {kind}").learn  # type: ignore[union-attr]


def test_an_enum_is_the_domain() -> None:
    column = one("x string", values=("F", "M", "no"))
    assert column == Category(type="category", values=("F", "M", "no"))


def test_a_check_of_numbers_in_a_list_is_a_category() -> None:
    assert one("x integer", values=(1, 2)) == Category(type="category", values=(1, 2))


def test_bounds_of_a_check_are_declared_and_half_of_them_learned() -> None:
    assert one("x integer", min=0, max=120) == Integer(type="integer", min=0, max=120)
    assert one("x integer", min=0) == Integer(type="integer", min=0, learn=True)
    assert one("x date", min=date(1900, 1, 1), max=date(2030, 1, 1)) == Date(
        type="date", min=date(1900, 1, 1), max=date(2030, 1, 1)
    )


def test_decimals_come_from_the_stored_type() -> None:
    assert one("x number", precision=2) == Number(type="number", learn=True, precision=2)
    assert one("x number", precision=0) == Integer(type="integer", learn=True)


@pytest.mark.parametrize(
    ("sql_type", "digits", "precision", "fields"),
    [
        ("NUMERIC(5, 2)", 5, 2, {"min": -999.99, "max": 999.99}),
        ("NUMERIC(5,2)", None, 2, {"min": -999.99, "max": 999.99}),  # SQLite's: declared, if not enforced
        ("NUMERIC(4)", 4, 0, {"min": -9999, "max": 9999}),
        ("NUMERIC(10, 2)", 10, 2, {"learn": True}),  # so wide that it says nothing
        ("NUMERIC(18, 2)", 18, 2, {"learn": True}),
        ("REAL", None, None, {"learn": True}),
    ],
)
def test_a_type_with_few_digits_is_a_bound(
    sql_type: str, digits: int | None, precision: int | None, fields: dict[str, object]
) -> None:
    column = one("amount number", sql_type=sql_type, digits=digits, precision=precision)
    assert {name: said for name in ("min", "max", "learn") if (said := getattr(column, name)) not in (None, False)} == fields


@pytest.mark.parametrize("name", ["lg_id", "mrn", "thing_key"])
def test_a_text_of_a_few_characters_is_no_id(name: str) -> None:
    assert one(f"{name} string", max_length=3) == Category(type="category", learn=True)
    assert one(f"{name} string", sql_type="VARCHAR(2)") == Category(type="category", learn=True)  # SQLite's
    assert one(f"{name} string", max_length=8).type == "identifier"


def test_a_key_of_a_few_characters_stays_one() -> None:
    customers = table("customers", "cid string, sex string", key="cid", cid={"max_length": 3})
    assert drafted(customers).tables["customers"].columns["cid"].type == "identifier"


def test_nullability_is_the_catalogues() -> None:
    assert one("x string?").nullable
    assert not one("x string").nullable


def test_codes_have_the_levels_of_their_vocabulary() -> None:
    icd, atc = one("icd_code string"), one("atc string")
    assert isinstance(icd, Code)
    assert isinstance(atc, Code)
    assert icd.hierarchy is not None
    assert icd.hierarchy.prefix == (1, 3)
    assert atc.hierarchy is not None
    assert atc.hierarchy.prefix == (1, 3, 4, 5)


def test_text_is_dropped_and_asks_for_review() -> None:
    assert "REVIEW: dropped as free text or personal" in said("nurse_note string")


@pytest.mark.parametrize(
    ("text", "fake"),
    [
        ("LastName string", "last_name"),
        ("first_name string", "first_name"),
        ("name string", "name"),
        ("Email string", "email"),
        ("home_address string", "address"),
        ("mobile string", "phone"),
        ("nurse_note string", None),
    ],
)
def test_what_can_be_made_up_stands_ready_beside_what_is_dropped(text: str, fake: str | None) -> None:
    drafted = written(table("patients", f"subject_id integer, {text}", key="subject_id"))
    offered = re.findall(r"made up instead of empty: (\{.*\})", drafted)
    assert bool(offered) == (fake is not None)
    if fake is not None:
        name = text.split()[0]
        taken = re.sub(rf"{name}: *{{type: text.*}}", f"{name}: {offered[0]}", drafted)
        column = load_document(taken).schema.tables["patients"].columns[name]
        assert (column.fill, column.fake) == ("fake", fake)


def test_an_id_that_leads_nowhere_is_regenerated_and_asks_for_review() -> None:
    assert one("order_id string") == Identifier(type="identifier", generate="pattern", pattern="O{n:08d}")
    assert "REVIEW: an id that leads to no table" in said("order_id integer")


def test_an_id_that_other_tables_hold_too_names_them() -> None:
    orders = table(
        "orders", "id integer, subject_id integer, poe_id string", key="id", refers={"subject_id": "patients.subject_id"}
    )
    detail = table(
        "detail", "id integer, subject_id integer, poe_id string", key="id", refers={"subject_id": "patients.subject_id"}
    )
    assert "also in detail: does one of them own it?" in written(PATIENTS, orders, detail)


def test_unique_texts_are_identifiers() -> None:
    schema = drafted(table("patients", "subject_id integer, email string", key="subject_id", uniques=("email",)))
    assert schema.tables["patients"].columns["email"].type == "identifier"
    assert schema.tables["patients"].unique == (("email",),)


def test_string_and_uuid_keys_are_described_and_numbers_go_without_saying() -> None:
    assert drafted(table("patients", "pid string, x string", key="pid")).tables["patients"].columns["pid"] == Identifier(
        type="identifier", generate="pattern", pattern="P{n:08d}"
    )
    assert drafted(table("patients", "pid uuid", key="pid")).tables["patients"].columns["pid"] == Identifier(
        type="identifier", generate="uuid"
    )
    assert "pid" not in drafted(table("patients", "pid integer, x string", key="pid")).tables["patients"].columns


def test_a_short_string_key_gets_a_pattern_that_fits() -> None:
    patients = table("patients", "pid string, x string", key="pid", pid={"max_length": 4})
    column = drafted(patients).tables["patients"].columns["pid"]
    assert column.pattern is not None  # type: ignore[union-attr]
    assert len(column.pattern.format(n=999)) == 4  # type: ignore[union-attr]


def test_a_number_in_the_sequence_is_a_position() -> None:
    diagnoses = table(
        "diagnoses", "hadm_id integer, seq_num integer", key="hadm_id+seq_num", refers={"hadm_id": "admissions.hadm_id"}
    )
    assert drafted(PATIENTS, ADMISSIONS, diagnoses).tables["diagnoses"].columns["seq_num"] == Position(type="position")


def test_what_cannot_be_modelled_or_is_computed_is_left_out_with_a_word() -> None:
    patients = table("patients", "subject_id integer, photo binary, age integer", key="subject_id", age={"generated": True})
    schema = drafted(patients)
    assert schema.tables["patients"].ignore_columns == ("photo", "age")
    comment = comment_on(written(patients), "ignore_columns:")
    assert "photo (BINARY) cannot be modelled" in comment
    assert "age is computed by the database" in comment


def test_a_description_that_a_public_table_holds_too_is_suggested_as_lookup() -> None:
    vocabulary = table("d_hcpcs", "code string, short_description string", key="code")
    events = table(
        "hcpcsevents",
        "id integer, hadm_id integer, hcpcs_cd string, short_description string",
        key="id",
        refers={"hadm_id": "admissions.hadm_id", "hcpcs_cd": "d_hcpcs.code"},
    )
    comment = comment_on(written(PATIENTS, ADMISSIONS, events, vocabulary), "short_description:")
    assert "determined: {lookup: {table: d_hcpcs, column: short_description, by: hcpcs_cd}}" in comment


def test_a_date_stored_as_text_is_suspected() -> None:
    assert "REVIEW: a date stored as text, by its name" in said("visit_date string")


def test_unknown_types_are_asked_for_and_a_name_gives_a_hint() -> None:
    patients = table("patients", "subject_id unknown?, birth_date unknown?, icd_code unknown?")
    document = load_document(written(patients))
    asked = [fault.path for fault in document.faults]
    assert ("tables", "patients", "columns", "birth_date", "type") in asked
    assert comment_on(written(patients), "birth_date:") == "by its name: datetime or date"
    assert comment_on(written(patients), "icd_code:") == "by its name: code"


SYNTHEA = table(
    "careplans",
    "START date, subject_id integer, CODE integer, DESCRIPTION string, REASONCODE integer?, REASONDESCRIPTION string?, "
    "drug_cd string, drug_display string, NAME string, note_text string, ATC_TITLE string",
    refers={"subject_id": "patients.subject_id"},
)


def test_what_a_code_means_is_a_category_beside_it_and_no_free_text() -> None:
    columns = drafted(PATIENTS, SYNTHEA).tables["careplans"].columns
    assert {name for name, column in columns.items() if column.type == "category"} == {
        "CODE", "DESCRIPTION", "REASONCODE", "REASONDESCRIPTION", "drug_cd", "drug_display",
    }  # fmt: skip
    assert {name for name, column in columns.items() if column.type == "text"} == {"NAME", "note_text", "ATC_TITLE"}


def test_a_name_or_a_description_beside_the_code_of_a_person_is_never_learned() -> None:
    people = table("patients", "patient_code integer, description string, name string, sex string", key="patient_code")
    columns = drafted(people).tables["patients"].columns
    assert (columns["description"].type, columns["name"].type) == ("text", "text")
