"""Every contradiction and open question is found, at its place, with what to write. The cases are in `cases/*.yaml`."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from mare.errors import SchemaError
from mare.schema.checks import settled_or_raise
from mare.schema.loading import load_document
from mare.schema.yaml_nodes import read_nodes

from .examples import faults_after, full_path, spoiled

CASES = Path(__file__).parent / "cases"


def _names() -> list[tuple[str, int, str]]:
    """Of each case its file, its place there and its name, without reading them all: every worker collects every test."""
    texts = [(file.stem, file.read_text(encoding="utf-8")) for file in sorted(CASES.glob("*.yaml"))]
    return [(stem, *case) for stem, text in texts for case in enumerate(re.findall(r'^- case: "?(.*?)"?$', text, re.MULTILINE))]


@cache
def _cases(stem: str) -> list[Any]:
    data = read_nodes((CASES / f"{stem}.yaml").read_text(encoding="utf-8")).data
    assert isinstance(data, list)
    return data


def test_every_case_is_tried() -> None:
    assert [(stem, case["case"]) for stem in sorted({stem for stem, *_ in _names()}) for case in _cases(stem)] == [
        (stem, name) for stem, _, name in _names()
    ]


@pytest.mark.parametrize(("stem", "place"), [pytest.param(stem, at, id=f"{stem}: {name}") for stem, at, name in _names()])
def test_a_fault_is_told_at_its_place_with_what_to_write(stem: str, place: int) -> None:
    case = _cases(stem)[place]
    faults = faults_after(case["change"])
    where = ".".join(full_path(case["at"]))
    told = [f for f in faults if ".".join(map(str, f.path)) == where]
    assert len(told) == 1, [str(f) for f in faults]
    assert case.get("others") or len(faults) == 1, [str(f) for f in faults]
    assert case["says"] in told[0].what
    assert case.get("write", "") in told[0].remedy
    assert told[0].remedy
    assert told[0].severity == case.get("severity", "error")


def test_the_hospital_has_no_faults() -> None:
    assert faults_after({}) == ()


def test_all_faults_are_told_at_once_in_the_order_of_the_tables() -> None:
    changes = {
        "labs.columns.a": {"type": "integer", "min": 9, "max": 1},
        "patients.columns.b": {"type": "category", "values": []},
        "admissions.columns.c": {"type": "unknown"},
    }
    assert [f.path[1] for f in faults_after(changes)] == ["patients", "admissions", "labs"]


def test_the_planner_is_told_errors_and_open_questions_together() -> None:
    schema = spoiled({"labs.columns.a": {"type": "integer", "min": 9, "max": 1}, "labs.columns.b": {"type": "unknown"}})
    with pytest.raises(SchemaError, match=r"min 9 is more than max 1[\s\S]*nobody has said") as error:
        settled_or_raise(schema)
    assert len(error.value.faults) == 2


def test_a_settled_schema_passes() -> None:
    settled_or_raise(spoiled({}))


@pytest.mark.parametrize("kind", ["public", "ignore"])
def test_the_entity_is_neither_public_nor_ignored(kind: str) -> None:
    faults = faults_after({f"patients.{kind}": True})
    assert ("tables", "patients", kind) in [f.path for f in faults]


@pytest.mark.parametrize(("parent", "words"), [("logs", "is ignored"), ("drugs", "is public"), ("staff", "is a pool")])
def test_a_parent_belongs_to_the_entity(parent: str, words: str) -> None:
    place = ("tables", "admissions", "parent", "table")
    faults = [f for f in faults_after({"admissions.parent.table": parent}) if f.path == place]
    assert len(faults) == 1
    assert words in faults[0].what
    assert "patients" in faults[0].remedy


def test_a_missing_entity_is_an_open_question() -> None:
    faults = faults_after({"entity": None})
    assert [(f.path, f.severity) for f in faults if f.path == ("entity",)] == [(("entity",), "unsettled")]


def test_a_schema_without_tables_is_a_draft() -> None:
    faults = faults_after({"tables": {}})
    assert {f.severity for f in faults if f.path == ("tables",)} == {"unsettled"}


@pytest.mark.parametrize(
    ("sees", "what", "remedy"),
    [
        (["lab"], "no table lab", "`labs`"),
        (["patients"], "above prescriptions", "Remove"),
        (["prescriptions"], "itself", "labs"),
        (["homes"], "not a sibling", "labs"),
        (["labs", "labs"], "twice", "Keep one"),
    ],
)
def test_a_table_sees_earlier_siblings_only(sees: list[str], what: str, remedy: str) -> None:
    faults = [f for f in faults_after({"prescriptions.sees": sees}) if f.path[2] == "sees" and len(f.path) == 4]
    assert len(faults) == 1
    assert what in faults[0].what
    assert remedy in faults[0].remedy


def _circle(a: str, b: str) -> dict[str, object]:
    return {
        a: {"key": f"{a}_id", "parent": {"table": b, "column": f"{b}_id", "max_rows": 1}},
        b: {"key": f"{b}_id", "parent": {"table": a, "column": f"{a}_id", "max_rows": 1}},
    }


def test_a_cycle_is_named_with_the_references_that_could_break_it() -> None:
    changes = {
        "admissions.references.note_id": {"kind": "same_entity", "table": "notes", "nullable": True},
        "notes": {
            "key": "note_id",
            "parent": {"table": "patients", "column": "subject_id", "max_rows": 2},
            "references": {"hadm_id": {"kind": "same_entity", "table": "admissions", "nullable": True}},
        },
    }
    (fault,) = faults_after(changes)
    assert "a cycle" in fault.what
    assert {"admissions", "notes"} <= set(fault.what.replace(";", "").split())
    assert "kind: broken" in fault.remedy
    assert "tables.notes.references.hadm_id" in fault.remedy
    assert "tables.admissions.references.note_id" in fault.remedy


def test_a_broken_reference_breaks_the_cycle() -> None:
    changes = {
        "admissions.references.note_id": {"kind": "broken", "table": "notes", "nullable": True},
        "notes": {
            "key": "note_id",
            "parent": {"table": "patients", "column": "subject_id", "max_rows": 2},
            "references": {"hadm_id": {"kind": "same_entity", "table": "admissions", "nullable": True}},
        },
    }
    assert faults_after(changes) == ()


def test_a_cycle_of_parents_says_that_a_parent_is_wrong() -> None:
    (fault,) = faults_after(_circle("x", "y"))
    assert "a cycle: " in fault.what
    assert "Only parents" in fault.remedy


def test_siblings_that_see_each_other_are_a_cycle() -> None:
    (fault,) = faults_after({"labs.sees": ["prescriptions"]})
    assert "a cycle" in fault.what
    assert "Remove one of the `sees`" in fault.remedy


def test_every_cycle_is_found() -> None:
    faults = faults_after(_circle("x", "y") | _circle("v", "w"))
    assert len([f for f in faults if "a cycle" in f.what]) == 2


@pytest.mark.parametrize(
    "columns",
    [
        {"x": {"type": "datetime", "after": "y", "within": "1d"}, "y": {"type": "datetime", "before": "x", "within": "1d"}},
        {"x": {"type": "number", "determined": {"expression": "y + 1"}}, "y": {"type": "number", "determined": {"copy_of": "x"}}},
    ],
)
def test_columns_that_hang_on_each_other_are_named(columns: dict[str, object]) -> None:
    (fault,) = faults_after({f"admissions.columns.{name}": column for name, column in columns.items()})
    assert "depend on each other" in fault.what
    assert "x → y" in fault.what or "y → x" in fault.what


def test_copying_is_not_offered_for_a_table_of_what_has_happened() -> None:
    text = "mare: 1\nentity: a\ntables:\n  a: {key: id}\n  b: {key: id, columns: {day: {type: date, learn: true}}}\n"
    (fault,) = [fault for fault in load_document(text).faults if fault.path == ("tables", "b")]
    assert "public: true" not in fault.remedy
