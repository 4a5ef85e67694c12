"""How the tables hang together, also where the schema contradicts itself; and which places were peeked."""

from __future__ import annotations

import pytest

from mare.schema import Schema
from mare.schema.layout import Layout
from mare.schema.schema import peeked_paths
from mare.schema.yaml_writing import plain_schema

from .examples import spoiled


def test_every_table_has_one_role() -> None:
    assert Layout(spoiled({"loose": {}})).roles == {
        "patients": "entity",
        "admissions": "private",
        "labs": "private",
        "prescriptions": "private",
        "drugs": "public",
        "icd": "public",
        "staff": "pool",
        "homes": "owned",
        "logs": "ignored",
        "loose": "open",
    }


def test_ancestors_come_nearest_first_and_an_owned_table_continues_with_its_owner() -> None:
    layout = Layout(spoiled({"rooms": {"parent": {"table": "homes", "column": "home_id", "max_rows": 3}}}))
    assert layout.ancestors("labs") == ("admissions", "patients")
    assert layout.ancestors("rooms") == ("homes", "patients")
    assert layout.ancestors("patients") == ()


@pytest.mark.parametrize("order", [1, -1])
def test_rows_with_several_owners_have_above_them_what_all_owners_share_whatever_the_order(order: int) -> None:
    schema = spoiled({"admissions.references.home_id": {"kind": "owned", "table": "homes"}})
    turned = schema.model_copy(update={"tables": dict(list(schema.tables.items())[::order])})
    assert Layout(turned).ancestors("homes") == ("patients",)


def test_many_owners_upon_owners_are_worked_out_once_each() -> None:
    tables: dict[str, object] = {"p": {"key": "id", "references": _both("t0")}}
    tables |= {f"t{i}": {"key": "k", "references": _both(f"t{i + 1}")} for i in range(60)} | {"t60": {"key": "k"}}
    layout = Layout(Schema.model_validate({"mare": 1, "entity": "p", "tables": tables}))
    assert len(layout.ancestors("t60")) == 61


def _both(table: str) -> dict[str, object]:
    return {name: {"kind": "owned", "table": table} for name in ("a", "b")}


def test_a_circle_of_parents_does_not_hang() -> None:
    layout = Layout(spoiled({"admissions.parent.table": "labs"}))
    assert layout.ancestors("labs") == ("admissions",)


def test_columns_that_need_no_description_are_known() -> None:
    columns = Layout(spoiled({})).columns("prescriptions")
    assert {"hadm_id", "drug_id"} <= columns.keys()
    assert columns["hadm_id"] is None
    assert columns["dose"] is not None


def test_an_entity_by_column_is_the_parent_of_its_table() -> None:
    schema = Schema.model_validate({"mare": 1, "entity": {"table": "a", "by": "who"}, "tables": {"a": {}}})
    layout = Layout(schema)
    assert layout.parent_name("a") == "who"
    assert layout.schema.parent_columns("a") == ("who",)
    assert layout.roles == {"a": "private"}


def test_an_entity_by_column_answers_as_a_table_and_is_written_as_it_was() -> None:
    """Whether or not a parent is written; whoever else belongs to it refers to its one column."""
    written = {"type": "identifier", "generate": "pattern", "pattern": "P{n}"}
    tables = {
        "a": {"columns": {"who": written}, "parent": {"max_rows": 3}},
        "b": {"parent": {"table": "who", "column": "person", "references": "who", "max_rows": 2}},
    }
    entity = {"table": "a", "by": "who", "rows": 9}
    schema = Schema.model_validate({"mare": 1, "entity": entity, "tables": tables})
    assert (schema.table("who").key, schema.table("who").rows) == (("who",), 9)
    assert schema.table("who").columns == schema.table("a").columns
    assert schema.parent("who") is None
    assert [(link.table, link.column, link.references) for name in "ab" if (link := schema.parent(name)) is not None] == [
        ("who", ("who",), None),
        ("who", ("person",), None),
    ]
    assert plain_schema(schema) == {"mare": 1, "entity": entity, "tables": tables}
    with pytest.raises(KeyError):
        schema.table("nobody")


def test_caps_are_the_lowest_that_is_enforced() -> None:
    layout = Layout(spoiled({"prescriptions.parent.max_rows": 1000, "prescriptions.parent.multiplicity": 2}))
    assert layout.row_cap("prescriptions") == 60
    assert layout.row_cap("admissions") == 10
    assert layout.row_cap("patients") is None


def test_peeked_places_are_found_wherever_they_are() -> None:
    schema = spoiled(
        {
            "patients.columns.gender.peeked": True,
            "admissions.parent.peeked": True,
            "labs.references.subject_id.peeked": True,
        }
    ).model_copy(update={"peeked": ("types", "entity")})
    assert set(peeked_paths(schema)) == {
        ("peeked", "types"),
        ("peeked", "entity"),
        ("tables", "patients", "columns", "gender"),
        ("tables", "admissions", "parent"),
        ("tables", "labs", "references", "subject_id"),
    }
    assert peeked_paths(spoiled({})) == ()
