"""The verbs before a plan, as an engineer who embeds mare uses them."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

import mare
from mare.errors import SourceError

CHINOOK = Path(__file__).resolve().parents[2] / "fixtures" / "chinook" / "chinook.sqlite"
SETTLED = """
mare: 1
entity: people
tables:
  people: {key: id, columns: {sex: {type: category, values: [F, M]}}}
"""


def test_a_draft_loads_and_nothing_of_it_is_open() -> None:
    text = mare.draft(CHINOOK)
    assert mare.load_schema(text).entity_name == "Customer"
    assert mare.check(text, CHINOOK) == ()


def test_public_facts_may_be_said() -> None:
    schema = mare.load_schema(mare.draft(CHINOOK, between=(date(2009, 1, 1), date(2025, 12, 31)), entities=60))
    assert schema.calendar is not None
    assert (schema.calendar.max, schema.tables["Customer"].rows) == (date(2025, 12, 31), 60)


def test_the_entity_may_be_named() -> None:
    assert mare.load_schema(mare.draft(CHINOOK, entity="Employee")).entity_name == "Employee"


def test_a_settled_schema_has_no_fault() -> None:
    assert mare.check(SETTLED) == ()
    assert mare.check(mare.load_schema(SETTLED)) == ()


def test_a_schema_is_compared_with_a_source() -> None:
    faults = mare.check(SETTLED, CHINOOK)
    assert any(fault.path[:2] == ("tables", "people") and fault.severity == "error" for fault in faults)


def test_a_schema_that_does_not_build_has_its_faults_told_and_the_source_left_alone() -> None:
    (fault,) = mare.check(SETTLED.replace("category", "categry"), Path("no-such.sqlite"))
    assert "categry" in fault.what


def test_what_only_a_plan_would_stumble_over_is_told_too() -> None:
    text = SETTLED.replace("tables:", "tables:\n  drugs: {public: true, key: id}").replace(
        "[F, M]}}}", "[F, M]}}, references: {drug: {kind: public, table: drugs}}}"
    )
    (fault,) = mare.check(text)
    assert fault.path[:4] == ("tables", "people", "references", "drug")


def test_a_source_that_is_not_there_is_an_error() -> None:
    with pytest.raises(SourceError, match=r"no-such\.sqlite"):
        mare.draft("no-such.sqlite")


def test_a_schema_is_drawn() -> None:
    schema = mare.load_schema("medonc")
    assert mare.picture(schema).startswith("<svg")
    assert "prescriptions" in mare.picture(schema, "text")
