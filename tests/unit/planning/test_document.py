"""A plan is stored as JSON and comes back the same; the same plan is the same bytes."""

from __future__ import annotations

import json
from typing import Any

import pytest

from mare.errors import PlanError
from mare.planning import Plan
from mare.privacy.budget import Budget

from .examples import hospital, planned, prescriptions


def rich_hospital() -> dict[str, Any]:
    """Dates, spans, learned and unrolled columns: what could get lost on the way."""
    tables = hospital()
    tables["admissions"]["columns"]["day"] = {
        "type": "date",
        "after": "previous.day",
        "within": "20y",
        "first": {"min": "2100-01-01", "max": "2200-01-01"},
    }
    tables["admissions"]["columns"]["dose"] = {
        "type": "number",
        "by": "level",
        "ranges": {0: {"min": 0, "max": 1}},
        "learn": True,
    }
    tables["admissions"]["columns"]["level"] = {"type": "category", "values": [0, 1]}
    tables["admissions"]["columns"]["race"] = {"type": "category", "learn": True, "max_values": 7}
    tables["drugs"] = {"public": True, "key": "drug_id", "rows": 3}
    return tables | {"prescriptions": prescriptions(max_rows=2)}


def test_a_plan_comes_back_as_it_was() -> None:
    made = planned(rich_hospital())
    assert Plan.from_json(made.to_json()) == made


def test_planning_twice_gives_the_same_bytes() -> None:
    assert planned(rich_hospital()).to_json() == planned(rich_hospital()).to_json()


def test_the_json_holds_what_a_reader_needs() -> None:
    document = json.loads(planned(hospital(), budget=Budget(1)).to_json())
    assert document["budget"] == {"epsilon": 1.0, "delta": 0.0}
    assert [f"{g['table']}.{g['part']}" for g in document["groups"]] == [p["name"] for p in document["preview"]]
    assert document["groups"][-1]["sensitivity"] == 100


NO_PLANS = ["", "not json", "[]", "{}", '{"plan": 2}']
DAMAGED = ['{"plan": 1}', '{"plan": 1, "schema": {}}', '{"plan": 1, "schema": "mare: 9"}']


@pytest.mark.parametrize("text", [*NO_PLANS, *DAMAGED])
def test_what_is_not_a_plan_is_refused(text: str) -> None:
    with pytest.raises(PlanError, match="plan"):
        Plan.from_json(text)
