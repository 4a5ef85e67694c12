"""The dataset DAG beyond the paper's examples: roles, order, ownership, and what is refused."""

from __future__ import annotations

import pytest

from mare.errors import SchemaError
from mare.graph.dag import DatasetDag
from mare.schema.checks import find_faults
from tests.graph_edges import caps_of_paths, paths_to_entity
from tests.unit.graph.examples import child, columns, schema

PATIENTS = {"key": "id", "columns": columns("gender")}


def with_references(table: dict[str, object], **references: object) -> dict[str, object]:
    return {**table, "references": references}


def test_every_table_has_one_role_and_ignored_ones_are_not_shown() -> None:
    dag = DatasetDag.of(
        schema(
            {
                "patients": with_references(PATIENTS, address_id={"kind": "owned", "table": "addresses"}),
                "visits": with_references(child("patients"), doctor_id={"kind": "pool", "table": "doctors"}),
                "addresses": {"key": "id", "columns": columns("city")},
                "doctors": {"pool": {"rows": 20}, "key": "id"},
                "wards": {"public": True, "key": "id"},
                "log": {"ignore": True},
            }
        )
    )
    assert {node.name: node.role for node in dag.nodes} == {
        "patients": "entity",
        "visits": "private",
        "addresses": "owned",
        "doctors": "pool",
        "wards": "public",
    }
    assert dag.tables("private", "owned") == ("visits", "addresses")
    assert dag.entity.name == "patients"


def test_an_entity_by_column_is_a_node_above_its_table() -> None:
    stays = {"key": "id", "parent": {"type": "sequential", "order_by": "n", "max_rows": 4}, "columns": columns("unit")}
    dag = DatasetDag.of(schema({"stays": stays, "labs": child("stays", "value")}, entity={"table": "stays", "by": "person"}))
    assert dag.entity.by_column
    assert dag.ancestors("labs") == ("stays", "person")
    assert dag.generation_order() == ("stays", "labs")
    assert caps_of_paths(dag, "labs") == [(5, 4)]


def test_the_table_of_an_entity_by_column_needs_no_parent_in_writing() -> None:
    dag = DatasetDag.of(schema({"stays": {"key": "id", "columns": columns("unit")}}, entity={"table": "stays", "by": "person"}))
    assert dag.ancestors("stays") == ("person",)
    assert caps_of_paths(dag, "stays") == [(None,)]


def test_an_owned_table_comes_after_its_owner_although_the_owner_refers_to_it() -> None:
    owner = with_references(PATIENTS, address_id={"kind": "owned", "table": "addresses"})
    dag = DatasetDag.of(schema({"addresses": {"key": "id", "columns": columns("city")}, "patients": owner}))
    assert ("patients", "addresses") in {(edge.child, edge.parent) for edge in dag.edges}
    assert dag.generation_order() == ("patients", "addresses")
    assert dag.ancestors("addresses") == ("patients",)


def test_a_table_owned_twice_has_a_path_for_each_reference() -> None:
    orders = with_references(
        child("patients", max_rows=3),
        billing={"kind": "owned", "table": "addresses", "columns": "bill_id"},
        shipping={"kind": "owned", "table": "addresses", "columns": "ship_id"},
    )
    dag = DatasetDag.of(schema({"patients": PATIENTS, "orders": orders, "addresses": {"key": "id", "columns": columns("city")}}))
    paths = paths_to_entity(dag, "addresses")
    assert [[edge.name for edge in path] for path in paths] == [["billing", "patients_id"], ["shipping", "patients_id"]]
    assert caps_of_paths(dag, "addresses") == [(1, 3), (1, 3)]  # S = 1·3 + 1·3
    assert dag.ancestors("addresses") == ("orders", "patients")


@pytest.mark.parametrize("first", ["patients", "visits"])
def test_owners_in_different_tables_share_only_what_both_can_be_joined_to(first: str) -> None:
    visits = with_references(child("patients"), place={"kind": "owned", "table": "addresses"})
    owner = with_references(PATIENTS, home={"kind": "owned", "table": "addresses"})
    tables = {"patients": owner, "visits": visits, "addresses": {"key": "id", "columns": columns("city")}}
    dag = DatasetDag.of(schema({first: tables[first], **tables}))
    assert dag.ancestors("addresses") == ("patients",)
    assert sorted(caps_of_paths(dag, "addresses")) == [(1,), (1, 5)]


def test_a_key_that_is_the_foreign_key_caps_the_rows_at_one() -> None:
    extension = {"key": "patient_id", "parent": {"table": "patients", "column": "patient_id"}, "columns": columns("blood")}
    dag = DatasetDag.of(schema({"patients": PATIENTS, "details": extension}))
    assert caps_of_paths(dag, "details") == [(1,)]


@pytest.mark.parametrize(
    ("more", "cap"),
    [
        ({"max_rows": 9}, 9),
        ({"max_rows": 9, "type": "associative", "via": "codes", "column_via": "code"}, 6),
        ({"max_rows": 9, "type": "associative", "via": "codes", "column_via": "code", "multiplicity": 2}, 9),
        ({"max_per_entity": 40}, 40),
        ({"max_per_entity": 40, "max_rows": 9}, 9),
    ],
)
def test_the_lowest_cap_that_is_enforced_counts(more: dict[str, object], cap: int) -> None:
    visits = {"key": "id", "parent": {"table": "patients", "column": "pid", **more}}
    dag = DatasetDag.of(schema({"patients": PATIENTS, "visits": visits, "codes": {"public": True, "key": "code", "rows": 6}}))
    assert caps_of_paths(dag, "visits") == [(cap,)]


def test_a_cap_that_nobody_declared_stays_open() -> None:
    dag = DatasetDag.of(schema({"patients": PATIENTS, "visits": {"key": "id", "parent": {"table": "patients", "column": "pid"}}}))
    assert caps_of_paths(dag, "visits") == [(None,)]


def test_every_kind_of_reference_is_an_edge() -> None:
    labs = with_references(
        child("patients", "value"),
        visit_id={"kind": "same_entity", "table": "visits", "nullable": True},
        test_id={"kind": "public", "table": "tests"},
        earlier_id={"kind": "earlier", "table": "labs"},
        donor_id={"kind": "other_entity", "table": "patients"},
        nurse_id={"kind": "pool", "table": "nurses"},
        group_id={"kind": "broken", "table": "visits"},
    )
    labs["columns"] = {
        "code": {"type": "code", "vocabulary": "codes"},
        "title": {"type": "text", "determined": {"lookup": {"table": "codes", "column": "title", "by": "code"}}},
    }
    labs["sees"] = ["visits"]
    tables = {
        "labs": labs,
        "patients": PATIENTS,
        "visits": child("patients", "ward"),
        "tests": {"public": True, "key": "id"},
        "codes": {"public": True, "key": "code"},
        "nurses": {"pool": {"rows": 3}, "key": "id"},
    }
    dag = DatasetDag.of(schema(tables))
    assert {(e.parent, e.kind, e.name) for e in dag.edges if e.child == "labs"} == {
        ("patients", "parent", "patients_id"),
        ("visits", "sees", "visits"),
        ("visits", "same_entity", "visit_id"),
        ("tests", "public", "test_id"),
        ("labs", "earlier", "earlier_id"),
        ("patients", "other_entity", "donor_id"),
        ("nurses", "pool", "nurse_id"),
        ("visits", "broken", "group_id"),
        ("codes", "vocabulary", "code"),
        ("codes", "lookup", "title"),
    }
    (same_entity,) = [e for e in dag.edges if e.kind == "same_entity"]
    assert (same_entity.nullable, same_entity.by) == (True, "position")
    assert dag.generation_order() == ("tests", "codes", "nurses", "patients", "visits", "labs")


def test_order_follows_the_schema_where_nothing_else_decides() -> None:
    """Siblings look at the numbers of those before them, by name; tables that do not look at each other stand as listed."""
    public = {"zoos": {"public": True, "key": "id", "rows": 3}, "arks": {"public": True, "key": "id", "rows": 3}}
    tables = {**public, "patients": PATIENTS, "zebras": child("patients"), "apples": child("patients"), "cars": child("zebras")}
    dag = DatasetDag.of(schema(tables))
    assert dag.generation_order() == ("zoos", "arks", "patients", "apples", "zebras", "cars")
    assert dag.earlier_siblings("zebras") == ("apples",)
    assert dag.earlier_siblings("cars") == ("apples",)


def refusal(tables: dict[str, object], entity: object = "patients") -> SchemaError:
    with pytest.raises(SchemaError) as caught:
        DatasetDag.of(schema(tables, entity))
    return caught.value


def test_a_cycle_is_refused_with_the_references_that_could_be_broken() -> None:
    error = refusal(
        {
            "patients": with_references(PATIENTS, last_visit={"kind": "same_entity", "table": "visits"}),
            "visits": with_references(child("patients"), main_lab={"kind": "same_entity", "table": "labs"}),
            "labs": child("visits"),
        }
    )
    assert "a cycle: patients → visits → patients" in str(error)
    assert "kind: broken" in str(error)
    assert "tables.patients.references.last_visit" in str(error)
    assert "tables.visits.references.main_lab" in str(error)


def test_breaking_the_cycle_where_it_says_so_mends_it() -> None:
    owner = with_references(PATIENTS, last_visit={"kind": "broken", "table": "visits"})
    assert DatasetDag.of(schema({"patients": owner, "visits": child("patients")})).generation_order() == ("patients", "visits")


def test_public_tables_that_refer_to_each_other_or_to_themselves_are_no_cycle() -> None:
    """They are copied: none of them waits for another."""
    concepts = {"public": True, "key": "id", "references": {"vocabulary": {"kind": "public", "table": "vocabularies"}}}
    own = {"kind": "public", "table": "vocabularies", "nullable": True}
    vocabularies = {
        "public": True,
        "key": "id",
        "references": {"concept": {"kind": "public", "table": "concepts"}, "within": own},
    }
    dag = DatasetDag.of(schema({"patients": PATIENTS, "concepts": concepts, "vocabularies": vocabularies}))
    assert set(dag.generation_order()) == {"patients", "concepts", "vocabularies"}


def test_a_pool_that_refers_to_itself_is_no_cycle_and_two_that_refer_to_each_other_are() -> None:
    boss = {"pool": {"rows": 3}, "key": "id", "references": {"boss": {"kind": "pool", "table": "staff"}}}
    assert DatasetDag.of(schema({"patients": PATIENTS, "staff": boss})).generation_order() == ("staff", "patients")
    staff = {"pool": {"rows": 3}, "key": "id", "references": {"ward": {"kind": "pool", "table": "wards"}}}
    wards = {"pool": {"rows": 3}, "key": "id", "references": {"head": {"kind": "pool", "table": "staff"}}}
    assert "staff → wards → staff" in str(refusal({"patients": PATIENTS, "staff": staff, "wards": wards}))


def test_parents_in_a_circle_cannot_be_broken_by_a_reference() -> None:
    error = refusal({"patients": PATIENTS, "a": child("b"), "b": child("a")})
    assert "a → b → a" in str(error)
    assert "Only parents" in str(error)


def test_all_cycles_are_named_at_once() -> None:
    assert len(refusal({"patients": PATIENTS, "a": child("b"), "b": child("a"), "c": child("c")}).faults) == 2


def test_a_table_without_a_path_to_the_entity_is_refused() -> None:
    assert "tables.staff: no path joins it to the entity" in str(refusal({"patients": PATIENTS, "staff": {"key": "id"}}))


@pytest.mark.parametrize(
    ("tables", "entity", "place"),
    [
        ({"patients": PATIENTS}, None, "entity"),
        ({"patients": PATIENTS}, {"table": "people", "by": "id"}, "entity.table"),
        ({"patients": PATIENTS, "visits": child("people")}, "patients", "tables.visits.parent.table"),
        ({"patients": PATIENTS, "visits": {"key": "id", "parent": {"column": "x"}}}, "patients", "tables.visits.parent.table"),
        ({"patients": PATIENTS, "x": {"ignore": True}, "visits": child("x")}, "patients", "tables.visits.parent.table"),
        ({"patients": PATIENTS, "x": {"public": True}, "visits": child("x")}, "patients", "tables.visits.parent.table"),
        (
            {"patients": PATIENTS, "visits": with_references(child("patients"), bill={"kind": "owned", "table": "bills"}),
             "bills": child("patients")},
            "patients",
            "tables.visits.references.bill",
        ),
    ],
)  # fmt: skip
def test_what_has_no_owner_or_two_is_refused_as_the_checks_say_it(tables: dict[str, object], entity: object, place: str) -> None:
    error = refusal(tables, entity)
    assert place in [fault.where for fault in error.faults]
    assert set(error.faults) <= set(find_faults(schema(tables, entity)))
