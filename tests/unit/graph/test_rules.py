"""What is a node, and what may look at what, beyond the paper's examples."""

from __future__ import annotations

import pytest

from mare.errors import SchemaError
from mare.graph.pdag import column_groups
from tests.unit.graph.examples import CATEGORY, child, columns, groups, history, names, schema

PATIENTS = {"key": "id", "columns": columns("gender")}


def test_what_is_filled_in_without_a_model_is_no_node() -> None:
    visits = {
        "key": ["year", "number"],
        "parent": {"table": "patients", "column": "pid", "max_rows": 5},
        "columns": {
            "pid": {"type": "integer", "min": 1, "max": 9},
            "year": {"type": "integer", "min": 2000, "max": 2020},
            "seq": {"type": "position"},
            "uuid": {"type": "identifier", "generate": "uuid"},
            "note": {"type": "text"},
            "weight": {"type": "number", "min": 0, "max": 300},
            "half": {"type": "number", "determined": {"expression": "weight / 2"}},
            "secret": CATEGORY,
            "ward": CATEGORY,
        },
        "references": {
            "top": {"kind": "ancestor", "table": "patients"},
            "donor": {"kind": "other_entity", "table": "patients"},
            "nurse": {"kind": "pool", "table": "nurses"},
            "loop": {"kind": "broken", "table": "visits"},
            "ward": {"kind": "public", "table": "wards"},
            "before": {"kind": "earlier", "table": "visits"},
        },
        "ignore_columns": ["secret"],
    }
    tables = {
        "patients": PATIENTS,
        "visits": visits,
        "nurses": {"pool": {"rows": 3}, "key": "id", "columns": columns("shift")},
        "wards": {"public": True, "key": "id", "columns": columns("floor")},
    }
    found = groups(schema(tables))
    assert list(found) == ["patients.rows", "visits.context", "visits.rows"]
    # A key's modelled part is a column like any other; a reference takes the place of the column that holds it.
    assert names(found["visits.rows"]) == ["year", "weight", "ward", "before"]
    assert all(c.role == "value" and c.column == c.name for c in found["visits.rows"].columns)


def test_a_table_without_modelled_columns_gives_only_its_context() -> None:
    assert list(groups(schema({"patients": PATIENTS, "visits": child("patients")}))) == ["patients.rows", "visits.context"]


def test_an_entity_by_column_has_nothing_to_look_at() -> None:
    stays = {
        "key": "id",
        "parent": {"type": "sequential", "order_by": "n", "max_rows": 4, "memory": 1},
        "columns": columns("unit"),
    }
    found = groups(schema({"stays": stays, "labs": child("stays", "value")}, entity={"table": "stays", "by": "person"}))
    assert list(found) == ["stays.context", "stays.rows", "labs.context", "labs.rows"]
    assert names(found["stays.context"]) == ["count"]
    assert history(found["stays.context"]) == []
    free = ["stays.free.position", "stays.free.remaining"]
    assert history(found["stays.rows"]) == ["stays.context.count", "stays.unit[-1]", *free]
    carried = ["stays.unit[-1]", "labs.context.count[-1]"]
    assert history(found["labs.context"]) == ["stays.context.count", "stays.unit", *carried, *free]


def test_an_extension_whose_key_is_the_foreign_key_is_counted_like_any_child() -> None:
    details = {"key": "pid", "parent": {"table": "patients", "column": "pid"}, "columns": {"pid": CATEGORY, **columns("blood")}}
    found = groups(schema({"patients": PATIENTS, "details": details}))
    assert names(found["details.context"]) == ["count"]
    assert names(found["details.rows"]) == ["blood"]
    # Who has one, has one: the number says nothing of the row.
    assert history(found["details.rows"]) == ["patients.gender"]


def test_an_owned_row_looks_at_its_owner_and_whether_it_exists_is_the_owners_column() -> None:
    owner = {**PATIENTS, "references": {"address": {"kind": "owned", "table": "addresses", "nullable": True}}}
    found = groups(schema({"addresses": {"key": "id", "columns": columns("city")}, "patients": owner}))
    assert list(found) == ["patients.rows", "addresses.rows"]
    assert [(c.name, c.role, c.column) for c in found["patients.rows"].columns] == [
        ("gender", "value", "gender"),
        ("exists(address)", "exists", "address"),
    ]
    assert history(found["addresses.rows"]) == ["patients.gender", "patients.exists(address)"]


def test_a_row_with_several_owners_knows_which_reference_made_it() -> None:
    references = {"home": {"kind": "owned", "table": "addresses"}, "work": {"kind": "owned", "table": "addresses"}}
    found = groups(schema({"patients": {**PATIENTS, "references": references}, "addresses": {"columns": columns("city")}}))
    assert names(found["patients.rows"]) == ["gender"]
    assert history(found["addresses.rows"]) == ["patients.gender", "addresses.free.reference"]


def test_sees_lets_a_later_sibling_look_at_an_earlier_siblings_context() -> None:
    diagnoses = child("visits", type="associative", via="codes", column_via="code")
    drugs = {**child("visits", "route"), "sees": ["diagnoses"]}
    codes = {"public": True, "key": "code"}
    found = groups(
        schema({"patients": PATIENTS, "visits": child("patients"), "drugs": drugs, "diagnoses": diagnoses, "codes": codes})
    )
    above = ["patients.gender", "visits.context.count"]
    assert list(found)[-3:] == ["diagnoses.context", "drugs.context", "drugs.rows"]
    assert found["diagnoses.context"].columns[0].repeat is None  # nobody said how many codes there are
    assert history(found["drugs.context"]) == [*above, "diagnoses.context.exists(code)"]
    assert history(found["drugs.rows"]) == [*above, "diagnoses.context.exists(code)", "drugs.context.count"]
    assert history(found["drugs.rows"], "sibling") == ["diagnoses.context.exists(code)"]


def test_a_table_cannot_see_what_it_cannot_be_joined_to() -> None:
    tables = {"patients": PATIENTS, "visits": child("patients"), "labs": child("visits"), "calls": child("patients", "topic")}
    tables["calls"]["sees"] = ["labs"]
    with pytest.raises(SchemaError, match=r"tables\.calls\.sees\.0: labs is not a sibling of calls"):
        column_groups(schema(tables))


def same_entity(**more: object) -> dict[str, object]:
    visits = child("patients", "ward", type="sequential", order_by="day", memory=1)
    first = {"min": "2020-01-01", "max": "2024-12-31"}
    visits["columns"] |= {"day": {"type": "date", "after": "previous.day", "first": first, "within": "1y"}}
    labs = {**child("patients", "value"), "references": {"visit": {"kind": "same_entity", "table": "visits", **more}}}
    return {"patients": PATIENTS, "labs": labs, "visits": visits}


def test_a_same_entity_position_is_generated_first_and_leads_to_the_row_referred_to() -> None:
    found = groups(schema(same_entity(nullable=True)))
    assert list(found)[-3:] == ["labs.context", "labs.head", "labs.rows"]
    assert names(found["labs.head"]) == ["visit"]
    assert names(found["labs.rows"]) == ["value"]
    referred = ["visits(visit).ward", "visits(visit).day"]
    # A position is chosen among as many as there are; nothing else of that context is looked at.
    assert history(found["labs.head"]) == ["patients.gender", "visits.context.count", "labs.context.count"]
    counts = ["visits.context.count", "labs.context.count"]
    assert history(found["labs.rows"]) == ["patients.gender", *counts, "labs.visit", *referred]
    assert history(found["labs.rows"], "reference") == referred


def test_a_same_entity_interval_is_generated_as_a_position_is() -> None:
    by_interval = groups(schema(same_entity(by="interval", time="at", interval=["start", "end"], nullable=True)))
    by_position = groups(schema(same_entity(nullable=True)))
    assert list(by_interval) == list(by_position)
    for part in ("labs.head", "labs.rows"):
        assert names(by_interval[part]) == names(by_position[part])
        assert history(by_interval[part]) == history(by_position[part])


def test_two_references_to_one_table_are_told_apart() -> None:
    tables = same_entity()
    tables["labs"]["references"]["second"] = {"kind": "same_entity", "table": "visits"}  # type: ignore[index]
    found = groups(schema(tables))
    assert names(found["labs.head"]) == ["visit", "second"]
    assert history(found["labs.rows"], "reference") == [
        f"visits({reference}).{column}" for reference in ("visit", "second") for column in ("ward", "day")
    ]
    assert history(found["labs.head"]).count("visits.context.count") == 1


def test_history_by_generates_the_item_first_and_then_looks_at_its_previous_row() -> None:
    events = child("patients", "value", "unit", type="sequential", order_by="id", memory=1, history_by="itemid")
    events["references"] = {"item": {"kind": "public", "table": "items", "columns": "itemid"}}
    found = groups(schema({"patients": PATIENTS, "events": events, "items": {"public": True, "key": "itemid"}}))
    assert list(found) == ["patients.rows", "events.context", "events.head", "events.rows"]
    assert names(found["events.head"]) == ["item"]
    assert names(found["events.rows"]) == ["value", "unit"]
    previous = ["events.item[-1]", "events.value[-1]", "events.unit[-1]"]
    free = ["events.free.position", "events.free.remaining"]
    assert history(found["events.head"]) == ["patients.gender", "events.context.count", *previous, *free]
    same_item = ["events.value[same item]", "events.unit[same item]"]
    assert history(found["events.rows"]) == [
        *("patients.gender", "events.context.count", "events.item"),
        *previous,
        *same_item,
        *free,
    ]
    assert history(found["events.rows"], "same_item") == same_item


def test_history_by_needs_a_column_that_is_generated() -> None:
    events = child("patients", "value", type="sequential", order_by="id", history_by="nothing")
    with pytest.raises(SchemaError, match=r"history_by: 'nothing' is not generated.*Name a modelled column: value"):
        column_groups(schema({"patients": PATIENTS, "events": events}))


@pytest.mark.parametrize("reference", ["drug_id", "drug"])
def test_a_reference_that_is_the_association_itself_is_not_modelled_twice(reference: str) -> None:
    drugs = child("patients", "route", type="associative", via="d", column_via="drug_id")
    drugs["references"] = {reference: {"kind": "public", "table": "d", "columns": "drug_id"}}
    drugs["columns"] = {"drug_id": CATEGORY, **columns("route")}
    found = groups(schema({"patients": PATIENTS, "drugs": drugs, "d": {"public": True, "key": "drug_id", "rows": 3}}))
    assert names(found["drugs.context"]) == ["exists(drug_id)"]
    assert names(found["drugs.rows"]) == ["route"]


def vocabulary(derived: list[str], multiplicity: int = 1, **large: object) -> dict[str, object]:
    link = {"type": "associative", "via": "d", "column_via": "drug", "derived": derived, "multiplicity": multiplicity}
    if large:
        link["vocabulary"] = large
    return {
        "patients": PATIENTS,
        "drugs": child("patients", "dose", "route", **link),
        "d": {"public": True, "key": "drug", "rows": 1000, "columns": columns("class")},
    }


def test_a_key_that_may_repeat_has_a_derived_column_for_each_time() -> None:
    assert groups(schema(vocabulary(["dose"], 3)))["drugs.context"].columns[0].repeat == 3000
    assert groups(schema(vocabulary([], 3)))["drugs.context"].columns[0].repeat == 1000  # counts up to three


def test_the_rest_of_a_large_vocabulary_becomes_ordinary_rows_whose_key_comes_first() -> None:
    found = groups(schema(vocabulary(["dose"], select=20, rest="rows")))
    assert [(c.name, c.repeat) for c in found["drugs.context"].columns] == [("dose(drug)", 20), ("count", 1)]
    assert names(found["drugs.head"]) == ["dose", "drug"]
    assert names(found["drugs.rows"]) == ["route"]
    own = ["drugs.context.dose(drug)", "drugs.context.count"]
    assert history(found["drugs.head"]) == ["patients.gender", *own]
    assert history(found["drugs.rows"]) == ["patients.gender", *own, "drugs.dose", "drugs.drug"]


def test_the_rest_of_a_large_vocabulary_may_go_through_a_hierarchy_or_be_dropped() -> None:
    by_class = groups(schema(vocabulary([], select=20, rest="hierarchy", hierarchy="class")))["drugs.context"]
    assert [(c.name, c.repeat) for c in by_class.columns] == [("exists(drug)", 20), ("exists(class)", None)]
    dropped = groups(schema(vocabulary([], select=20, rest="drop")))["drugs.context"]
    assert [(c.name, c.repeat) for c in dropped.columns] == [("exists(drug)", 20)]


def test_history_is_told_apart_by_name_even_where_a_column_is_called_position() -> None:
    visits = child("patients", "position", "count", type="sequential", order_by="id", memory=1)
    for group in column_groups(schema({"patients": PATIENTS, "visits": visits, "labs": child("visits", "value")})):
        assert len({str(h) for h in group.history}) == len(group.history)
