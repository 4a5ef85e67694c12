"""What a schema may say without a fault: the power of the language, one thing at a time."""

from __future__ import annotations

import pytest

from mare.schema import Schema
from mare.schema.checks import find_faults
from mare.schema.columns import Date, Datetime
from mare.schema.determined import Anchor

from .examples import faults_after, hospital

BY_COLUMN = {
    "entity": {"table": "admissions", "by": "subject_id"},
    "admissions.parent.table": None,
    "patients.ignore": True,
    "homes.ignore": True,
    "labs.references": {},
}
STAYS = {
    "key": "stay_id",
    "parent": {"table": "patients", "column": "subject_id", "max_rows": 3},
    "columns": {
        "intime": {"type": "datetime", "min": "2100-01-01", "max": "2200-01-01"},
        "outtime": {"type": "datetime", "after": "intime", "within": "30d"},
    },
}
BY_INTERVAL = {"kind": "same_entity", "table": "stays", "nullable": True, "by": "interval", "time": "charttime"}
TEAMS = {
    "key": ["subject_id", "year"],
    "parent": {"table": "patients", "column": "subject_id", "max_rows": 5},
    "columns": {"year": {"type": "integer", "min": 2000, "max": 2020}},
}
STRICT = {
    "type": "datetime",
    "after": "previous.charttime",
    "strict": True,
    "within": "1d",
    "first": {"after": "parent.admittime", "within": "1d"},
}


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param(BY_COLUMN, id="an entity that no table holds"),
        pytest.param(
            {"death": {"key": "subject_id", "parent": {"table": "patients", "column": "subject_id"}}}, id="1:0..1, no cap"
        ),
        pytest.param({"prescriptions.parent.max_rows": None}, id="a public vocabulary is a cap"),
        pytest.param({"labs.parent.max_rows": None, "labs.parent.max_per_entity": 9}, id="a cap per entity is a cap"),
        pytest.param({"labs.parent.order_by": None}, id="a position column orders"),
        pytest.param({"admissions.columns.subject_id": {"type": "identifier"}}, id="a foreign key described as an identifier"),
        pytest.param({"admissions.columns.hadm_id": {"type": "identifier", "generate": "uuid"}}, id="uuid key"),
        pytest.param({"labs.key": None}, id="no key at all"),
        pytest.param({"teams": TEAMS}, id="key with a modelled part"),
        pytest.param({"labs.key": ["hadm_id", "charttime"], "labs.columns.charttime": STRICT}, id="key by strict order"),
        pytest.param(
            {
                "patients.unique": [["subject_id", "ward"]],
                "patients.columns.ward": {"type": "category", "values": ["a", "b"]},
                "teams": TEAMS
                | {"parent": {**TEAMS["parent"], "column": ["subject_id", "ward"], "references": ["subject_id", "ward"]}},
            },
            id="the foreign key says more than the key, which names the parent",
        ),
        pytest.param({"admissions.references.to_id": {"kind": "owned", "table": "homes"}}, id="two references own rows"),
        pytest.param(
            {"stays": STAYS, "labs.references.stay_id": {**BY_INTERVAL, "interval": ["intime", "outtime"]}}, id="by interval"
        ),
        pytest.param({"stays": STAYS, "labs.references.stay_id": {"kind": "same_entity", "table": "stays"}}, id="by position"),
        pytest.param({"drugs.columns": {"x": {"type": "category"}}}, id="public tables need no domains"),
        pytest.param(
            {"logs.columns": {"y": {"type": "category"}}, "logs.parent": {"table": "nowhere"}}, id="ignored tables need nothing"
        ),
        pytest.param({"staff.references": {"boss_id": {"kind": "pool", "table": "staff"}}}, id="a pool refers to itself"),
        pytest.param(
            {"admissions.references.back": {"kind": "earlier", "table": "admissions", "itself": True}}, id="an earlier row"
        ),
        pytest.param(
            {"patients.references.kin": {"kind": "other_entity", "table": "patients", "fill": "random"}}, id="another entity"
        ),
    ],
)
def test_a_schema_may_say(changes: dict[str, object]) -> None:
    assert [str(f) for f in faults_after(changes)] == []


@pytest.mark.parametrize(
    "column",
    [
        {"type": "time"},
        {"type": "time", "min": "08:00"},
        {"type": "number", "min": 0, "learn": True},
        {"type": "code", "vocabulary": "icd", "learn": True, "max_values": 50},
        {"type": "number", "by": "ward", "learn": True},
        {"type": "datetime", "after": "admittime", "before": "dischtime"},
        {"type": "datetime", "after": "admittime", "learn": True},
        {"type": "date", "during": ["previous.dischtime", "admittime"], "first": {"after": "patients.born", "within": "20y"}},
        {"type": "integer", "determined": {"part": {"of": "admittime", "unit": "year"}}},
        {"type": "integer", "determined": {"part": {"of": "parent.born", "unit": "year"}}},
        {"type": "integer", "determined": {"copy_of": "patients.age"}},
        {"type": "text", "fill": "template", "template": "{ward} since {admittime}"},
    ],
)
def test_a_column_may_be(column: dict[str, object]) -> None:
    assert [str(f) for f in faults_after({"admissions.columns.x": column})] == []


@pytest.mark.parametrize(
    ("column", "where"),
    [
        ({"type": "category"}, "values"),
        ({"type": "code"}, "vocabulary"),
        ({"type": "integer"}, None),
        ({"type": "datetime"}, None),
        ({"type": "duration"}, None),
        ({"type": "unknown"}, "type"),
        ({"type": "datetime", "after": "admittime"}, "within"),
        ({"type": "datetime", "after": "previous.admittime", "within": "1d"}, "first"),
        ({"type": "number", "by": "ward"}, None),
    ],
)
def test_a_domain_that_nobody_declared_is_an_open_question(column: dict[str, object], where: str | None) -> None:
    faults = faults_after({"admissions.columns.x": column})
    assert {f.severity for f in faults} == {"unsettled"}
    assert ("tables", "admissions", "columns", "x", *([where] if where else [])) in [f.path for f in faults]


DIED = {"type": "date", "after": "born", "within": "90y"}
STEPS = {
    "labs.columns.charttime": {
        "type": "datetime",
        "during": ["previous.done", "parent.dischtime"],
        "first": {"after": "parent.admittime", "within": "1d"},
    },
    "labs.columns.done": {"type": "datetime", "during": ["charttime", "parent.dischtime"]},
}


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"patients.columns.died": DIED}, id="one depends on the other"),
        pytest.param({"patients.columns.died": {"type": "date", "min": "2020-12-31", "max": "2100-01-01"}}, id="bounds apart"),
        pytest.param({"patients.columns.died": {"type": "date", "determined": {"copy_of": "met"}}}, id="a copy"),
    ],
)
def test_there_is_room_between_two_times(changes: dict[str, object]) -> None:
    between = {"patients.columns.seen": {"type": "date", "during": ["born", "died"]}, "patients.columns.met": DIED}
    assert [str(f) for f in faults_after(changes | between)] == []


def test_a_sequence_may_stay_inside_the_row_above() -> None:
    assert [str(f) for f in faults_after(STEPS)] == []


def test_what_lies_between_is_an_anchor_too() -> None:
    inner = {"labs.columns.read": {"type": "datetime", "during": ["charttime", "parent.dischtime"]}}
    assert [str(f) for f in faults_after(inner)] == []


def _visits(first: str, last: str) -> dict[str, object]:
    return {
        first: {"type": "date", "min": "2000-01-01", "max": "2001-01-01"},
        last: {"type": "date", "after": first, "within": "9d"},
        "mid.visit": {"type": "date", "during": [first, last]},
        "copied": {"type": "date", "determined": {"copy_of": first}},
        "year": {"type": "integer", "determined": {"part": {"of": last, "unit": "year"}}},
        "days": {"type": "integer", "determined": {"elapsed": {"since": first, "until": last}}},
    }


def test_a_column_with_a_dot_in_its_name_may_be_an_anchor() -> None:
    data = hospital()
    data["tables"]["patients"]["columns"] |= _visits("first.visit", "last.visit")
    schema = Schema.model_validate(data)
    assert [str(f) for f in find_faults(schema)] == []
    last = schema.tables["patients"].columns["last.visit"]
    assert isinstance(last, Date)
    assert last.anchors == {"after": Anchor("", "first.visit")}
    assert Schema.model_validate(schema.model_dump(mode="json", exclude_unset=True)) == schema


def test_a_column_of_the_same_row_comes_before_a_column_above() -> None:
    data = hospital()
    data["tables"]["labs"]["columns"] |= {
        "parent.admittime": {"type": "datetime", "min": "2100-01-01", "max": "2200-01-01"},
        "late": {"type": "datetime", "after": "parent.admittime", "within": "2d"},
    }
    late = Schema.model_validate(data).tables["labs"].columns["late"]
    assert isinstance(late, Datetime)
    assert late.anchors["after"] == Anchor("", "parent.admittime")
