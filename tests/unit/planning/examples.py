"""Small schemas to plan, and a short way to plan them."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from typing import Any

from mare.planning import Plan
from mare.planning.planning import plan
from mare.privacy.budget import Budget
from mare.schema import Schema

YES_NO = {"type": "category", "values": ["yes", "no"]}
BUDGET = Budget(2, 1e-9)

HOSPITAL: Mapping[str, Any] = {
    "patients": {"key": "subject_id", "columns": {"gender": YES_NO}},
    "admissions": {
        "key": "hadm_id",
        "parent": {"table": "patients", "column": "subject_id", "type": "sequential", "order_by": "day", "max_rows": 10},
        "columns": {"day": {"type": "integer", "min": 0, "max": 9}, "ward": YES_NO},
    },
    "transfers": {
        "key": "transfer_id",
        "parent": {"table": "admissions", "column": "hadm_id", "max_rows": 10},
        "columns": {"unit": YES_NO},
    },
}
"""Patients, at most 10 admissions each, at most 10 transfers each."""


def hospital() -> dict[str, Any]:
    """The tables above, to be changed at will."""
    return deepcopy(dict(HOSPITAL))


def schema_of(tables: Mapping[str, Any], entity: object = "patients", **more: object) -> Schema:
    return Schema.model_validate({"mare": 1, "entity": entity, "tables": tables, **more})


def planned(tables: Mapping[str, Any], entity: object = "patients", budget: Budget = BUDGET, **more: object) -> Plan:
    return plan(schema_of(tables, entity, **more), budget)


def sensitivities(made: Plan) -> dict[str, int]:
    return {group.name: group.sensitivity for group in made.groups}


def prescriptions(**link: object) -> dict[str, Any]:
    """Admissions × drugs, to be put under the hospital."""
    return {
        "parent": {
            "table": "admissions",
            "column": "hadm_id",
            "type": "associative",
            "via": "drugs",
            "column_via": "drug_id",
            **link,
        },
        "columns": {"route": YES_NO},
    }
