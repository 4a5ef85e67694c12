"""What a table is when it is not below the entity."""

from __future__ import annotations

from dataclasses import replace

import pytest

from mare.schema.loading import load_document
from tests.reflections import ADMISSIONS, PATIENTS, comment_on, drafted, table, written

ITEMS = table("d_items", "itemid integer, label string, mean_value number", key="itemid")
LABS = table(
    "labs",
    "lab_id integer, hadm_id integer, itemid integer, value number",
    key="lab_id",
    refers={"hadm_id": "admissions.hadm_id", "itemid": "d_items.itemid"},
)


def test_a_vocabulary_that_private_tables_refer_to_is_public() -> None:
    schema = drafted(PATIENTS, ADMISSIONS, LABS, ITEMS)
    assert schema.tables["d_items"].public
    assert schema.tables["labs"].references["itemid"].kind == "public"


def test_every_number_in_a_public_table_is_flagged_and_keys_are_not() -> None:
    comment = comment_on(written(PATIENTS, ADMISSIONS, LABS, ITEMS), "key: itemid")
    assert "REVIEW: mean_value may be an aggregate over people" in comment


def test_a_table_with_a_vocabularys_name_is_public_even_if_nothing_refers_to_it() -> None:
    assert drafted(PATIENTS, table("visit_types", "code string", key="code")).tables["visit_types"].public


def test_a_public_table_refers_to_other_public_tables() -> None:
    groups = table("groups", "group_id integer", key="group_id")
    items = table("d_items", "itemid integer, group_id integer", key="itemid", refers={"group_id": "groups.group_id"})
    schema = drafted(PATIENTS, ADMISSIONS, LABS, items, groups)
    assert schema.tables["groups"].public
    assert schema.tables["d_items"].references["group_id"].kind == "public"


def test_staff_is_a_pool_of_made_up_rows_and_nothing_about_it_is_learned() -> None:
    doctors = table("physicians", "id integer, specialty string, hired date, pay number?", key="id")
    stays = table(
        "stays", "id integer, pid integer, doctor integer?", key="id", refers={"pid": "patients", "doctor": "physicians"}
    )
    schema = drafted(PATIENTS, stays, doctors)
    physicians = schema.tables["physicians"]
    assert physicians.pool is not None
    assert physicians.pool.rows == 20
    assert schema.tables["stays"].references["doctor"].kind == "pool"
    assert not any(getattr(column, "learn", False) for column in physicians.columns.values())


def test_who_reports_to_whom_in_a_pool_is_not_kept() -> None:
    staff = table("employee", "id integer, boss integer?", key="id", refers={"boss": "employee.id"})
    assert drafted(PATIENTS, staff).tables["employee"].references["boss"].kind == "broken"


def test_an_address_belongs_to_whoever_refers_to_it() -> None:
    address = table("address", "address_id integer, city string", key="address_id")
    people = table("patients", "id integer, address_id integer", key="id", refers={"address_id": "address.address_id"})
    schema = drafted(people, address)
    assert schema.tables["patients"].references["address_id"].kind == "owned"
    assert not schema.tables["address"].public


def test_an_address_that_two_tables_share_has_no_owner_and_is_made_up() -> None:
    address = table("address", "address_id integer, city string", key="address_id")
    people = table("patients", "id integer, address_id integer", key="id", refers={"address_id": "address.address_id"})
    stays = table(
        "stays", "id integer, pid integer, at integer", key="id", refers={"pid": "patients.id", "at": "address.address_id"}
    )
    assert drafted(people, stays, address).tables["address"].pool is not None


def test_people_that_are_not_the_entity_are_never_copied() -> None:
    guarantors = table("guarantor", "gid integer, birth_date date, sex string", key="gid")
    people = table("patients", "id integer, gid integer", key="id", refers={"gid": "guarantor.gid"})
    schema = drafted(people, guarantors)
    assert not schema.tables["guarantor"].public
    assert schema.tables["guarantor"].pool is not None


def test_a_table_attached_to_nothing_is_left_out_until_a_person_says_otherwise() -> None:
    lonely = table("settings", "name string, value string")
    text = written(PATIENTS, lonely)
    document = load_document(text)
    assert document.schema.tables["settings"].ignore
    assert document.faults == ()
    assert "left out. Is it about nobody? Then public: true copies it verbatim" in " ".join(text.replace("#", "").split())


def test_copying_is_never_offered_as_long_as_nobody_knows_who_the_people_are() -> None:
    """Lines of invoices, codes of breeds: any of them may be theirs."""
    tables = [table(name, "code integer, label string", key="code") for name in ("lines", "kinds")]
    assert "REVIEW" in written(*tables)
    assert "copies it verbatim" not in written(*tables)


@pytest.mark.parametrize(
    "columns",
    ["patient_id integer", "amount number", "paid_on date", "birth_year integer", "weight number", "visit_date unknown"],
)
def test_copying_is_never_offered_for_what_may_hold_facts_about_people(columns: str) -> None:
    text = written(PATIENTS, table("ledger", f"no integer, label string, {columns}", key="no"))
    assert drafted(PATIENTS, table("ledger", f"no integer, label string, {columns}", key="no")).tables["ledger"].public is False
    assert "public: true" not in text


BANK = (
    table("client", "client_id integer, gender string, birth_date date", key="client_id"),
    table("account", "account_id integer, frequency string, opened date", key="account_id"),
    table(
        "disp",
        "disp_id integer, client_id integer, account_id integer, type string",
        key="disp_id",
        refers={"client_id": "client.client_id", "account_id": "account.account_id"},
    ),
    table(
        "trans",
        "trans_id integer, account_id integer, day date, amount number",
        key="trans_id",
        refers={"account_id": "account.account_id"},
    ),
)


def test_what_several_people_hold_together_is_the_entity_and_each_holder_is_made_with_it() -> None:
    schema = drafted(*BANK)
    assert (schema.entity, schema.parent_name("trans"), schema.parent_name("disp")) == ("account", "account", "account")
    assert schema.tables["disp"].references["client_id"].kind == "owned"
    assert not any(described.public for described in schema.tables.values())
    assert "REVIEW: each account is protected by itself: is that enough for a client who has several?" in written(*BANK)


def test_what_people_hold_is_never_copied_whoever_the_entity_is() -> None:
    schema = drafted(*BANK, entity="client")
    assert schema.tables["account"].pool is not None
    assert schema.tables["trans"].ignore
    assert "public: true" not in written(*BANK, entity="client")


def test_what_sums_are_booked_on_is_never_copied_whatever_it_is_called() -> None:
    pots = replace(BANK[1], name="pots")
    disp = replace(
        BANK[2], foreign_keys=tuple(replace(k, table="pots" if k.table == "account" else k.table) for k in BANK[2].foreign_keys)
    )
    trans = replace(BANK[3], foreign_keys=(replace(BANK[3].foreign_keys[0], table="pots"),))
    schema = drafted(BANK[0], pots, disp, trans)
    assert schema.entity == "client"
    assert (schema.tables["pots"].public, schema.tables["pots"].pool is not None) == (False, True)


def test_a_table_of_people_attached_to_nothing_says_so() -> None:
    text = written(PATIENTS, table("visitors", "visitor_no integer, birth_date date"))
    assert "REVIEW: nothing leads from it to the entity, but birth_date describe people" in text


def test_the_entity_comes_first_then_the_tree_then_what_is_outside() -> None:
    staff = table("nurse", "id integer", key="id")
    lonely = table("aaa", "x string")
    order = list(drafted(ITEMS, staff, lonely, LABS, ADMISSIONS, PATIENTS).tables)
    assert order == ["patients", "admissions", "labs", "nurse", "aaa", "d_items"]
