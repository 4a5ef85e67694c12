"""A schema cut down to what a source has: what goes, what it takes with it, what is told."""

from __future__ import annotations

from datetime import date

import pytest

from mare.errors import SchemaError
from mare.schema import Schema
from mare.schema.cutting import Cut, cut_schema, resembled
from mare.schema.loading import load_schema
from mare.schema.matching import match
from mare.schema.reflection import ReflectedColumn, ReflectedTable, Reflection
from tests.published_tables import published

from .test_ready import PUBLISHED

SCHEMA = """\
# A hospital.
mare: 1
entity: patients
calendar: {min: 2000-01-01, max: 2030-12-31}
tables:
  patients:
    key: pid
    rows: 300000
    columns:
      born: {type: date, min: 1900-01-01}
      # M or F.
      sex: {type: category, values: [F, M]}
    references:
      doctor: {table: staff, kind: pool}
  visits:
    key: vid
    parent: {table: patients, column: pid, type: sequential, order_by: seen, max_rows: 9}
    columns:
      seen: {type: date, after: previous.seen, within: 9y}
      left: {type: date, after: seen, within: 9y}
      stay: {type: integer, determined: {elapsed: {since: seen, until: left}}}
    references:
      ward: {table: wards, kind: public, max_values: 7, nullable: true}
  notes:
    parent: {table: visits, column: vid, max_rows: 3}
    sees: [drugs]
    columns:
      kind: {type: category, values: [a, b]}
  drugs:
    parent: {table: visits, column: vid, max_rows: 3}
    columns:
      code: {type: code, vocabulary: wards}
  # Who works here.
  staff: {pool: {rows: 50}, key: sid}
  wards: {public: true, key: wid}
"""
WHOLE = {
    "patients": "pid born sex doctor",
    "visits": "vid pid seen left stay ward",
    "notes": "vid kind",
    "drugs": "vid code",
    "staff": "sid",
    "wards": "wid",
}


def source(**changed: str | None) -> Reflection:
    """The whole hospital, but for these tables: with other columns, or not there."""
    held = {**WHOLE, **changed}
    tables = [
        ReflectedTable(name, tuple(ReflectedColumn(column, "unknown") for column in columns.split()))
        for name, columns in held.items()
        if columns is not None
    ]
    return Reflection("export", tuple(tables))


def cut(**changed: str | None) -> tuple[Schema, Cut, str]:
    text, made = cut_schema(SCHEMA, source(**changed), None, None)
    schema = load_schema(text)
    assert match(schema, source(**changed)) == ()
    return schema, made, text


def left_out(made: Cut) -> dict[str, str]:
    return {left.name: left.reason for left in made.left_out}


def test_a_source_that_has_everything_leaves_the_schema_as_it_is() -> None:
    schema, made, text = cut()
    assert schema == load_schema(SCHEMA)
    assert made.summary == []
    assert text.endswith(SCHEMA)


def test_a_missing_public_table_leaves_its_codes_to_be_learned() -> None:
    schema, made, text = cut(wards=None)
    assert left_out(made)["wards"] == "the source has no such table"
    assert schema.tables["visits"].references == {}
    assert "ward: {type: category, learn: true, max_values: 7, nullable: true}" in text
    assert "visits.ward (values are learned, as wards is left out)" in text
    assert "code" in schema.tables["drugs"].ignore_columns


def test_a_missing_pool_takes_the_references_to_it_and_its_comment() -> None:
    schema, made, text = cut(staff=None)
    assert schema.tables["patients"].ignore_columns == ("doctor",)
    assert left_out(made)["patients.doctor"] == "refers to staff, which is left out"
    assert "Who works here" not in text


def test_a_missing_parent_takes_what_is_below_it() -> None:
    schema, made, _ = cut(visits=None)
    assert {name for name, table in schema.tables.items() if not table.ignore} == {"patients", "staff", "wards"}
    assert left_out(made)["notes"] == "its rows belong to visits, which is left out"


def test_a_missing_sibling_is_no_longer_looked_at() -> None:
    schema, _, _ = cut(drugs=None)
    assert schema.tables["notes"].sees == ()


def test_a_missing_column_goes_with_its_comment_and_with_what_is_said_in_terms_of_it() -> None:
    schema, made, text = cut(patients="pid born doctor", visits="vid pid seen stay ward")
    assert "M or F" not in text
    assert list(schema.tables["visits"].columns) == ["seen"]
    assert schema.tables["visits"].ignore_columns == ("stay",)
    assert "depends on what is not there" in left_out(made)["visits.stay"]


def test_a_table_whose_rows_nobody_owns_or_orders_goes() -> None:
    assert "which says whose the rows are" in left_out(cut(drugs="code")[1])["drugs"]
    assert "which orders the rows" in left_out(cut(visits="vid pid left stay ward")[1])["visits"]


def test_a_missing_key_is_done_without() -> None:
    schema, made, _ = cut(wards="name", visits="vid pid seen left stay")
    assert schema.tables["wards"].key is None
    assert "wards.key" in left_out(made)


def test_what_the_schema_does_not_mention_is_ignored_by_name() -> None:
    schema, made, text = cut(beds="bid", patients="pid born sex doctor nickname")
    assert schema.tables["beds"].ignore
    assert schema.tables["patients"].ignore_columns == ("nickname",)
    assert made.ignored == ["patients.nickname", "beds"]
    assert "patients.nickname, beds" in text


def test_names_in_other_letters_are_there() -> None:
    text, made = cut_schema(SCHEMA, source(patients="PID BORN SEX DOCTOR"), None, None)
    assert made.summary == []
    assert text.endswith(SCHEMA)


@pytest.mark.parametrize("changed", [{"patients": None}, {"patients": "born sex doctor"}])
def test_nothing_is_left_without_the_people(changed: dict[str, str | None]) -> None:
    with pytest.raises(SchemaError, match="patients"):
        cut_schema(SCHEMA, source(**changed), None, None)


def test_two_public_facts_are_written_where_they_belong() -> None:
    text, _ = cut_schema(SCHEMA, source(), (date(2011, 2, 3), date(2012, 3, 4)), 40)
    assert "calendar: {min: 2011-02-03, max: 2012-03-04}\n" in text
    schema = load_schema(text)
    assert schema.tables["patients"].rows == 40
    assert load_schema(SCHEMA).tables["visits"].columns.keys() == schema.tables["visits"].columns.keys()


@pytest.mark.parametrize("name", [pytest.param(n, marks=() if n == "eicu-core" else pytest.mark.slow) for n in PUBLISHED])
def test_every_ready_schema_can_lose_any_one_table_but_its_people(name: str) -> None:
    schema = load_schema(name)
    whole = [
        ReflectedTable(table, tuple(ReflectedColumn(column.name, "unknown") for column in columns))
        for table, columns in published(PUBLISHED[name]).items()
    ]
    used = [table.name for table in whole if not schema.tables[table.name].ignore]
    for gone in used:
        held = Reflection("export", tuple(table for table in whole if table.name != gone))
        if gone == (schema.entity_holder or schema.entity_name):
            with pytest.raises(SchemaError):
                cut_schema(name, held, None, None)
            continue
        text, made = cut_schema(name, held, None, 100)
        assert gone in {left.name for left in made.left_out}
        assert [fault for fault in match(load_schema(text), held) if fault.severity != "info"] == []


def held(model: str, *without: str) -> Reflection:
    """A published model in a source, but for these tables."""
    tables = [
        ReflectedTable(table, tuple(ReflectedColumn(column.name, "unknown") for column in columns))
        for table, columns in published(model).items()
        if table not in without
    ]
    return Reflection("export", tuple(tables))


@pytest.mark.parametrize(
    ("source", "like"),
    [
        (held("omop-cdm-5.4", "care_site", "domain", "concept_class"), "omop-cdm-5.4"),
        (held("mimic-iii", "chartevents"), "mimic-iii"),
        (held("eicu", "diagnosis"), "eicu-core"),
        (source(), None),
        (Reflection("empty", ()), None),
    ],
)
def test_an_export_of_a_published_model_is_recognised(source: Reflection, like: str | None) -> None:
    assert resembled(source) == like


def test_tables_that_are_called_alike_and_hold_something_else_are_not_taken_for_it() -> None:
    named = tuple(ReflectedTable(name, (ReflectedColumn("id", "unknown"),)) for name in published("omop-cdm-5.4"))
    assert resembled(Reflection("other", named)) is None


def test_what_ends_a_sequence_goes_with_its_column() -> None:
    ending = SCHEMA.replace("    columns:\n      seen:", "    ends: {when: \"fate = 'died'\"}\n    columns:\n      fate: "
                            "{type: category, values: [died, home]}\n      seen:")  # fmt: skip
    text, made = cut_schema(ending, source(), None, None)
    assert load_schema(text).tables["visits"].ends is None
    assert "visits.ends" in {left.name for left in made.left_out}


def test_what_the_source_never_leaves_empty_is_not_said_to_be_nullable() -> None:
    said = SCHEMA.replace("values: [F, M]}", "values: [F, M], nullable: true}")
    described = source()
    strict = tuple(
        ReflectedTable(t.name, tuple(ReflectedColumn(c.name, c.kind, nullable=c.name != "sex") for c in t.columns))
        for t in described
    )
    text, _ = cut_schema(said, Reflection("export", strict), None, None)
    assert not load_schema(text).tables["patients"].columns["sex"].nullable


def test_a_model_of_which_a_source_would_lose_most_tables_is_not_recommended() -> None:
    """Synthea's tables by name, but encounters have no START: all that hangs on them would go."""
    whole = held("synthea-csv")
    renamed = tuple(
        ReflectedTable(t.name, tuple(c for c in t.columns if (t.name, c.name) != ("encounters", "START"))) for t in whole
    )
    assert resembled(whole) == "synthea-csv"
    assert resembled(Reflection("export", renamed)) is None
