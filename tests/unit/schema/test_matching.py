"""A schema against a source: what is missing, what is not mentioned, what clashes. No row is read."""

from __future__ import annotations

from dataclasses import replace

import pytest

from mare.schema.drafting import draft
from mare.schema.faults import Fault
from mare.schema.loading import load_schema
from mare.schema.matching import match
from mare.schema.reflection import LeftOut, ReflectedForeignKey, ReflectedTable, Reflection
from tests.matching import SCHEMA, faults
from tests.reflections import ADMISSIONS, NOTHING_KNOWN, PATIENTS, reflect, table


def one(*tables: ReflectedTable, schema: str = SCHEMA) -> Fault:
    found = faults(*tables, schema=schema)
    assert len(found) == 1, found
    return found[0]


def one_column(described: str, stored: str, **catalogue: object) -> tuple[Fault, ...]:
    """The faults of a column `x` that the schema describes so and the source stores so."""
    schema = f"mare: 1\nentity: patients\ntables:\n  patients:\n    key: id\n    columns:\n      x: {described}\n"
    source: Reflection = reflect(table("patients", f"id integer, x {stored}", key="id", x=catalogue))
    return match(load_schema(schema), source)


def test_a_source_that_is_what_the_schema_says_has_no_fault() -> None:
    assert faults(PATIENTS, ADMISSIONS) == ()


def test_names_match_whatever_their_case() -> None:
    patients = table("PATIENTS", "SUBJECT_ID integer, Gender string, DOD date?", key="SUBJECT_ID")
    admissions = table(
        "Admissions",
        "HADM_ID integer, SUBJECT_ID integer, ADMITTIME datetime, DISCHTIME datetime",
        key="HADM_ID",
        refers={"SUBJECT_ID": "PATIENTS.SUBJECT_ID"},
    )
    assert faults(patients, admissions) == ()


def test_a_missing_table_is_named_with_what_was_probably_meant() -> None:
    patients = table("patient", "subject_id integer, gender string, dod date?", key="subject_id")
    first, second = faults(patients, ADMISSIONS)
    assert (first.path, first.severity) == (("tables", "patients"), "error")
    assert "a source has no table patients" in first.what
    assert "Did you mean `patient`? The source holds: admissions, patient" in first.remedy
    assert (second.path, second.severity) == (("tables",), "unsettled")


def test_a_table_that_is_a_view_says_so() -> None:
    fault = faults(ADMISSIONS, left_out=(LeftOut("Patients", "a view"),))[0]
    assert "cannot be used: a view" in fault.what


def test_an_ambiguous_table_is_named_exactly() -> None:
    fault = faults(table("Patients", "x integer"), table("PATIENTS", "x integer"), ADMISSIONS)[0]
    assert "could be any of Patients, PATIENTS" in fault.what


def test_an_ignored_table_is_compared_with_nothing() -> None:
    schema = SCHEMA + "  settings: {ignore: true}\n  gone: {ignore: true}\n"
    assert faults(PATIENTS, ADMISSIONS, table("settings", "x other"), schema=schema) == ()


def test_a_missing_column_is_named_once_with_its_place() -> None:
    admissions = table(
        "admissions",
        "hadm_id integer, subject_id integer, admit_time datetime, dischtime datetime",
        key="hadm_id",
        refers={"subject_id": "patients.subject_id"},
    )
    missing, extra = faults(PATIENTS, admissions)
    assert missing.path == ("tables", "admissions", "columns", "admittime")
    assert "Did you mean `admit_time`?" in missing.remedy
    assert (extra.severity, extra.what) == ("unsettled", "admissions has a column that the schema does not mention: admit_time")


def test_a_missing_foreign_key_column_is_found() -> None:
    admissions = table("admissions", "hadm_id integer, admittime datetime, dischtime datetime", key="hadm_id")
    assert ("tables", "admissions", "parent", "column") in [fault.path for fault in faults(PATIENTS, admissions)]


def test_columns_that_the_schema_does_not_mention_are_open_unless_ignored() -> None:
    patients = table("patients", "subject_id integer, gender string, dod date?, race string, eyes string", key="subject_id")
    fault = one(patients, ADMISSIONS)
    assert fault.severity == "unsettled"
    assert "2 columns that the schema does not mention: race, eyes" in fault.what
    ignoring = SCHEMA.replace("    key: subject_id\n", "    key: subject_id\n    ignore_columns: [Race, EYES]\n")
    assert faults(patients, ADMISSIONS, schema=ignoring) == ()


def test_columns_that_the_database_computes_need_no_mention() -> None:
    patients = table(
        "patients", "subject_id integer, gender string, dod date?, x integer", key="subject_id", x={"generated": True}
    )
    assert faults(patients, ADMISSIONS) == ()


def test_a_public_table_is_copied_whatever_it_holds_but_needs_its_key() -> None:
    schema = SCHEMA + "  d_items: {public: true, key: itemid}\n"
    assert faults(PATIENTS, ADMISSIONS, table("d_items", "itemid integer, label string", key="itemid"), schema=schema) == ()
    fault = one(PATIENTS, ADMISSIONS, table("d_items", "item integer, label string"), schema=schema)
    assert fault.path == ("tables", "d_items", "key")


def test_a_table_that_the_schema_does_not_mention_is_open() -> None:
    fault = one(PATIENTS, ADMISSIONS, table("labs", "x integer"))
    assert fault.severity == "unsettled"
    assert "`labs: {ignore: true}`" in fault.remedy


def test_a_key_that_the_schema_leaves_out_is_open() -> None:
    fault = one(PATIENTS, ADMISSIONS, schema=SCHEMA.replace("    key: hadm_id\n", "    ignore_columns: [hadm_id]\n"))
    assert (fault.path, fault.severity) == (("tables", "admissions", "key"), "unsettled")
    assert fault.remedy == "Write key: hadm_id"


def test_another_key_than_the_sources_is_an_error_unless_it_is_unique_there() -> None:
    admissions = table(
        "admissions",
        "hadm_id integer, subject_id integer, admittime datetime, dischtime datetime",
        key="subject_id+hadm_id",
        refers={"subject_id": "patients.subject_id"},
    )
    fault = one(PATIENTS, admissions)
    assert (fault.path, fault.severity) == (("tables", "admissions", "key"), "error")
    assert "Write key: [subject_id, hadm_id]" in fault.remedy
    unique = table(
        "admissions",
        "hadm_id integer, subject_id integer, admittime datetime, dischtime datetime",
        key="subject_id+hadm_id",
        uniques=("hadm_id",),
        refers={"subject_id": "patients.subject_id"},
    )
    assert faults(PATIENTS, unique) == ()


def test_a_parent_that_the_source_does_not_declare_is_worth_a_word_only() -> None:
    admissions = table("admissions", "hadm_id integer, subject_id integer, admittime datetime, dischtime datetime", key="hadm_id")
    assert faults(PATIENTS, admissions) == ()  # a source without foreign keys says nothing by their absence
    labs = table("labs", "x integer", refers={"x": "patients.subject_id"})
    fault = one(PATIENTS, admissions, labs, schema=SCHEMA + "  labs: {ignore: true}\n")
    assert (fault.path, fault.severity) == (("tables", "admissions", "parent"), "info")


@pytest.mark.parametrize(
    ("described", "stored"),
    [
        ("{type: integer, learn: true}", "string"),
        ("{type: integer, learn: true}", "date"),
        ("{type: number, learn: true}", "string"),
        ("{type: category, learn: true}", "date"),
        ("{type: boolean}", "integer"),
        ("{type: boolean}", "string"),
        ("{type: date, learn: true}", "string"),
        ("{type: date, learn: true}", "integer"),
        ("{type: datetime, learn: true}", "number"),
        ("{type: time}", "datetime"),
        ("{type: duration, learn: true}", "integer"),
        ("{type: text}", "integer"),
        ("{type: identifier, generate: uuid}", "integer"),
        ("{type: identifier}", "uuid"),
        ('{type: identifier, generate: pattern, pattern: "P{n}"}', "integer"),
        ("{type: category, values: [1, 2]}", "string"),
        ('{type: category, values: ["1", "2"]}', "integer"),
    ],
)
def test_types_that_clash_are_errors(described: str, stored: str) -> None:
    (fault,) = one_column(described, stored)
    assert (fault.path, fault.severity) == (("tables", "patients", "columns", "x", "type"), "error")
    assert "Write" in fault.remedy or "Put" in fault.remedy


@pytest.mark.parametrize(
    ("described", "stored"),
    [
        ("{type: integer, learn: true}", "number"),
        ('{type: integer, min: 0, max: 89, specials: ["> 89"]}', "string"),
        ("{type: category, learn: true}", "integer"),
        ("{type: boolean, true: 1, false: 0}", "integer"),
        ("{type: boolean, true: Y, false: N}", "string"),
        ('{type: date, learn: true, format: "%Y%m%d"}', "string"),
        ('{type: date, learn: true, format: "%Y%m%d"}', "integer"),
        ('{type: date, learn: true, format: ["%Y%m%d", "%d.%m.%Y"]}', "string"),
        ("{type: number, learn: true, decimal: ','}", "string"),
        ("{type: integer, learn: true, nulls: [NA]}", "string"),
        ("{type: boolean, map: {ja: true, nein: false}}", "string"),
        ("{type: date, learn: true}", "datetime"),
        ("{type: duration, learn: true, stored_as: days}", "number"),
        ("{type: identifier, generate: uuid}", "uuid"),
        ("{type: text}", "json"),
        ("{type: integer, learn: true}", "unknown"),
        ("{type: unknown}", "string"),
    ],
)
def test_types_that_the_schema_explains_do_not_clash(described: str, stored: str) -> None:
    assert one_column(described, stored) == ()


def test_a_text_that_a_tool_took_for_numbers_does_not_clash() -> None:
    """pandas writes a column without a value as doubles; a text is never read, so that says nothing."""
    assert one_column("{type: text, nullable: true}", "number", inferred=True) == ()
    assert len(one_column("{type: text, nullable: true}", "number")) == 1
    assert len(one_column("{type: date, min: 2000-01-01, max: 2001-01-01}", "boolean", inferred=True)) == 1


def test_a_clash_says_what_is_stored_and_what_to_write() -> None:
    (fault,) = one_column("{type: date, learn: true}", "string")
    assert fault.what == "the schema says date, but the source stores text (STRING)"
    assert 'format: "%Y-%m-%d"' in fault.remedy
    (fault,) = one_column("{type: number, learn: true}", "string")
    assert 'decimal: "."' in fault.remedy


@pytest.mark.parametrize(
    ("described", "letters"),
    [
        ("{type: text, fill: constant, value: (removed)}", 9),
        ("{type: category, values: [ab, abcde]}", 5),
        ("{type: category, values: [ab], other: others}", 6),
        ("{type: code, values: [ab, abcd]}", 4),
        ('{type: identifier, generate: pattern, pattern: "P{n:08d}"}', 9),
        ("{type: identifier, generate: uuid}", 36),
    ],
)
def test_a_text_of_the_schema_that_is_too_long_for_the_column_is_an_error(described: str, letters: int) -> None:
    (fault,) = one_column(described, "string", max_length=3)
    assert f"a text of {letters} letters, but the source takes 3" in fault.what
    assert not [f for f in one_column(described, "string", max_length=36) if "letters" in f.what]
    assert not [f for f in one_column(described, "string") if "letters" in f.what]


def test_null_in_the_source_but_not_in_the_schema_is_worth_a_word() -> None:
    (fault,) = one_column("{type: integer, learn: true}", "integer?")
    assert fault.severity == "info"
    assert "Write nullable: true" in fault.remedy


def test_a_pool_that_holds_no_null_loses_none_of_the_sources() -> None:
    """Its rows are made up, none of the source's is read."""
    schema = (
        "mare: 1\nentity: p\ntables:\n  p: {key: id, columns: {x: {type: boolean}},\n"
        "    references: {s: {kind: pool, table: staff}}}\n"
        "  staff: {key: k, pool: {rows: 3}, columns: {y: {type: integer, min: 0, max: 9}}}\n"
    )
    people, staff = table("p", "id integer, x boolean, s integer", key="id"), table("staff", "k integer, y integer?", key="k")
    assert match(load_schema(schema), reflect(people, staff)) == ()


def test_null_in_the_schema_that_the_source_refuses_is_an_error() -> None:
    (fault,) = one_column("{type: integer, learn: true, nullable: true}", "integer")
    assert (fault.path[-1], fault.severity) == ("nullable", "error")


def test_a_source_that_does_not_tell_nullability_has_nothing_to_say() -> None:
    schema = "mare: 1\nentity: p\ntables:\n  p: {key: id, columns: {x: {type: integer, learn: true}}}\n"
    assert match(load_schema(schema), reflect(table("p", "id integer?, x integer?"))) == ()


def test_a_reference_left_null_that_the_source_refuses_is_an_error() -> None:
    schema = (
        "mare: 1\nentity: p\ntables:\n  p:\n    key: id\n    references: {m: {kind: other_entity, table: p, nullable: true}}\n"
    )
    (fault,) = match(load_schema(schema), reflect(table("p", "id integer, m integer", key="id")))
    assert fault.severity == "error"
    assert "fill: random" in fault.remedy


def test_values_that_the_source_allows_and_the_schema_does_not_are_open() -> None:
    (fault,) = one_column("{type: category, values: [F, M]}", "string", values=("F", "M", "U"))
    assert (fault.path[-1], fault.severity, fault.what) == ("values", "unsettled", "the source also allows U")
    assert one_column("{type: category, values: [F, M], other: M}", "string", values=("F", "M", "U")) == ()


def test_an_entity_by_column_that_is_not_there_is_found() -> None:
    schema = """
mare: 1
entity: {table: stays, by: uniquepid}
tables:
  stays:
    key: id
    parent: {max_rows: 10}
"""
    found = match(load_schema(schema), reflect(table("stays", "id integer, upid string", key="id")))
    assert ("entity", "by") in [fault.path for fault in found]


def test_a_draft_matches_the_source_that_it_was_drafted_from() -> None:
    source = reflect(PATIENTS, ADMISSIONS)
    assert match(load_schema(draft(source, NOTHING_KNOWN)), source) == ()


def test_a_key_that_a_database_does_not_declare_is_worth_a_word() -> None:
    loose = table("patients", "subject_id integer, gender string, dod date?")
    assert faults(loose, ADMISSIONS) == ()  # files declare no keys
    fault = one(replace(loose, dialect="sqlite"), ADMISSIONS)
    assert (fault.path, fault.severity) == (("tables", "patients", "key"), "info")
    assert faults(replace(loose, dialect="sqlite", uniques=(("subject_id",),)), ADMISSIONS) == ()


def test_what_may_not_be_read_is_asked_for_rather_than_removed() -> None:
    fault = faults(ADMISSIONS, left_out=(LeftOut("patients", "no right to read"),))[0]
    assert "Grant SELECT on patients" in fault.remedy
    hidden = table("patients", "subject_id integer, gender string", key="subject_id")
    (column,) = faults(hidden, ADMISSIONS, left_out=(LeftOut("patients.dod", "no right to read this column"),))
    assert column.path == ("tables", "patients", "columns", "dod")
    assert "Grant SELECT on patients" in column.remedy


def test_a_foreign_key_that_comes_out_as_an_ordinary_column_is_told() -> None:
    schema = """
mare: 1
entity: players
tables:
  teams: {public: true, key: id}
  players:
    key: id
    columns: {team: {type: integer, min: 1, max: 99}}
"""
    teams = table("teams", "id integer", key="id")
    link = ReflectedForeignKey(("team",), "teams", ("id",))
    players = replace(table("players", "id integer, team integer", key="id"), foreign_keys=(link,))
    fault = one(teams, players, schema=schema)
    assert (fault.severity, fault.path) == ("info", ("tables", "players"))
    assert "may name rows that are not there" in fault.what
    assert "`team: {table: teams, kind: public}`" in fault.remedy
    referring = schema.replace(
        "columns: {team: {type: integer, min: 1, max: 99}}", "references: {team: {table: teams, kind: public}}"
    )
    assert not [f for f in faults(teams, players, schema=referring) if "foreign key" in f.what]
