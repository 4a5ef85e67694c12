"""A small hospital that is settled and free of faults, and a way to spoil it in one place."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from typing import Any

from mare.schema import Fault, Schema
from mare.schema.checks import find_faults

_HOSPITAL: dict[str, Any] = {
    "mare": 1,
    "entity": "patients",
    "tables": {
        "patients": {
            "key": "subject_id",
            "columns": {
                "gender": {"type": "category", "values": ["F", "M"]},
                "age": {"type": "integer", "min": 18, "max": 91, "specials": ["> 89"]},
                "born": {"type": "date", "min": "1900-01-01", "max": "2020-12-31"},
                "note": {"type": "text"},
            },
            "references": {"home_id": {"kind": "owned", "table": "homes"}},
        },
        "admissions": {
            "key": "hadm_id",
            "parent": {
                "table": "patients",
                "column": "subject_id",
                "type": "sequential",
                "order_by": "admittime",
                "memory": 2,
                "max_rows": 10,
            },
            "columns": {
                "admittime": {
                    "type": "datetime",
                    "after": "previous.dischtime",
                    "first": {"min": "2100-01-01", "max": "2200-01-01"},
                    "within": "20y",
                },
                "dischtime": {"type": "datetime", "after": "admittime", "within": "365d", "scale": "log"},
                "ward": {"type": "category", "learn": True, "max_values": 40},
                "los": {"type": "number", "determined": {"elapsed": {"since": "admittime", "until": "dischtime"}}},
            },
            "references": {"doctor_id": {"kind": "pool", "table": "staff"}},
        },
        "labs": {
            "parent": {"table": "admissions", "column": "hadm_id", "type": "sequential", "order_by": "seq", "max_rows": 50},
            "key": ["hadm_id", "seq"],
            "columns": {
                "seq": {"type": "position"},
                "test": {"type": "category", "values": ["Na", "K"]},
                "charttime": {"type": "datetime", "during": ["parent.admittime", "parent.dischtime"]},
                "value": {
                    "type": "number",
                    "by": "test",
                    "ranges": {"Na": {"min": 100, "max": 180}, "K": {"min": 1, "max": 9}},
                },
                "outtime": {"type": "datetime", "nullable": True, "determined": {"next": "charttime"}},
            },
            "references": {"subject_id": {"kind": "ancestor", "table": "patients"}},
        },
        "prescriptions": {
            "parent": {
                "table": "admissions",
                "column": "hadm_id",
                "type": "associative",
                "via": "drugs",
                "column_via": "drug_id",
                "derived": ["dose"],
                "max_rows": 20,
            },
            "key": ["hadm_id", "drug_id"],
            "columns": {
                "dose": {"type": "number", "min": 0, "max": 100},
                "start": {"type": "date", "min": "2100-01-01", "max": "2200-01-01"},
                "icd": {"type": "code", "vocabulary": "icd", "hierarchy": {"prefix": [1, 3]}},
                "title": {"type": "text", "determined": {"lookup": {"table": "icd", "column": "title", "by": "icd"}}},
            },
            "sees": ["labs"],
        },
        "drugs": {"public": True, "key": "drug_id", "rows": 30},
        "icd": {"public": True, "key": "icd_code"},
        "staff": {"pool": {"rows": 20}, "key": "staff_id", "columns": {"job": {"type": "category", "values": ["nurse"]}}},
        "homes": {"key": "home_id", "columns": {"urban": {"type": "boolean"}}},
        "logs": {"ignore": True},
    },
}


def hospital() -> dict[str, Any]:
    """The hospital as YAML would hold it."""
    return deepcopy(_HOSPITAL)


def full_path(dotted: str) -> list[str]:
    """`labs.key` is short for `tables.labs.key`."""
    steps = dotted.split(".")
    return steps if steps[0] in ("entity", "tables") else ["tables", *steps]


def spoiled(changes: Mapping[str, object]) -> Schema:
    """The hospital with changes at dotted paths (`labs.key`); None takes the field away."""
    data = hospital()
    for dotted, value in changes.items():
        *steps, last = full_path(dotted)
        at = data
        for step in steps:
            at = at.setdefault(step, {})
        if value is None:
            del at[last]
        else:
            at[last] = value
    return Schema.model_validate(data)


def faults_after(changes: Mapping[str, object]) -> tuple[Fault, ...]:
    """What the checks say after these changes."""
    return find_faults(spoiled(changes))
