"""What a stranger's shops were drafted wrong in: caps that multiply, branches, households that no table holds."""

from __future__ import annotations

import pytest

from tests.reflections import comment_on, drafted, table, written

CUSTOMERS = table("customers", "customer_id integer, city string", key="customer_id")
ORDERS = table(
    "orders", "order_id integer, customer_id integer, store_id integer, day date", key="order_id",
    refers={"customer_id": "customers.customer_id", "store_id": "stores.store_id"},
)  # fmt: skip
ITEMS = table(
    "order_items", "order_id integer, item_id integer, price number", key="order_id+item_id", refers={"order_id": "orders"}
)
STORES = "store_id integer, store_name string, phone string?, email string?, city string"


def test_lists_below_lists_are_capped_for_the_whole_person() -> None:
    parent = drafted(CUSTOMERS, table("stores", STORES, key="store_id"), ORDERS, ITEMS).tables["order_items"].parent
    assert parent is not None
    assert (parent.max_rows, parent.max_per_entity) == (100, 300)


def test_branches_are_public_without_whom_to_call_there_and_the_draft_asks() -> None:
    stores = table("stores", STORES, key="store_id")
    drafts = drafted(CUSTOMERS, stores, ORDERS).tables["stores"]
    assert (drafts.public, drafts.pool, drafts.ignore_columns) == (True, None, ("phone", "email"))
    assert "REVIEW" in comment_on(written(CUSTOMERS, stores, ORDERS), "ignore_columns: [phone, email]")


@pytest.mark.parametrize("more", ["manager_name string", "last_name string", "birth_date date", "income number"])
def test_what_may_hold_people_is_never_copied_whatever_it_is_called(more: str) -> None:
    assert drafted(CUSTOMERS, table("stores", f"{STORES}, {more}", key="store_id"), ORDERS).tables["stores"].pool is not None


def test_a_practice_may_bear_its_owners_name() -> None:
    orders = table("orders", "order_id integer, customer_id integer, practice_id integer, day date", key="order_id",
                   refers={"customer_id": "customers.customer_id", "practice_id": "practices.practice_id"})  # fmt: skip
    practices = table("practices", "practice_id integer, label string, phone string", key="practice_id")
    assert drafted(CUSTOMERS, practices, orders).tables["practices"].pool is not None


GROCERY = (
    table("campaigns", "campaign_id integer?, household_id integer?"),
    table("campaign_descriptions", "campaign_id integer?, kind string?, start_date date?, end_date date?"),
    table("demographics", "household_id integer?, age string?, income string?, marital_status string?"),
    table("products", "product_id integer?, brand string?"),
    table("transactions", "household_id integer?, basket_id integer?, product_id integer?, amount number?, sold_at datetime?"),
)


def test_households_that_no_table_holds_are_found_by_the_column_that_most_tables_share() -> None:
    schema = drafted(*GROCERY)
    assert (schema.entity.table, schema.entity.by) == ("transactions", "household_id")  # type: ignore[union-attr]
    assert "REVIEW: each household_id is protected as a whole" in written(*GROCERY)
    tables = schema.tables
    assert tables["products"].public
    assert tables["campaign_descriptions"].public
    assert tables["campaign_descriptions"].key == ("campaign_id",)
    assert tables["campaigns"].key is None
    assert tables["campaigns"].references["campaign_id"].table == "campaign_descriptions"
    assert tables["demographics"].parent.max_rows == 1  # type: ignore[union-attr]


def test_a_column_of_zeros_and_ones_is_told_by_its_name() -> None:
    staff = table("staff", "staff_id integer, active integer", key="staff_id")
    orders = table("orders", "order_id integer, customer_id integer, staff_id integer, day date", key="order_id",
                   refers={"customer_id": "customers.customer_id", "staff_id": "staff.staff_id"})  # fmt: skip
    assert drafted(CUSTOMERS, staff, orders).tables["staff"].columns["active"].type == "boolean"
