"""A plan as JSON: the same plan is the same bytes."""

from __future__ import annotations

import json
from typing import Any

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


def test_planning_twice_gives_the_same_bytes() -> None:
    assert planned(rich_hospital()).to_json() == planned(rich_hospital()).to_json()


def test_the_json_holds_what_a_reader_needs() -> None:
    document = json.loads(planned(hospital(), budget=Budget(1, delta=0)).to_json())
    assert document["budget"] == {"epsilon": 1.0, "delta": 0.0}
    assert [f"{g['table']}.{g['part']}" for g in document["groups"]] == [p["name"] for p in document["preview"]]
    assert document["groups"][-1]["sensitivity"] == 100
