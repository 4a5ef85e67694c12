"""The paper's two examples as schemas, and short ways to say what a graph holds."""

from __future__ import annotations

from collections.abc import Mapping

from mare.graph.groups import ColumnGroup
from mare.graph.pdag import column_groups
from mare.schema import Schema

CATEGORY = {"type": "category", "values": ["x", "y"]}


def schema(tables: Mapping[str, object], entity: object = "patients") -> Schema:
    return Schema.model_validate({"mare": 1, "entity": entity, "tables": tables})


def columns(*names: str) -> dict[str, object]:
    return dict.fromkeys(names, CATEGORY)


def child(of: str, *names: str, **more: object) -> dict[str, object]:
    """A table with a parent. What `more` says goes to the parent link; `max_rows` is 5 unless said."""
    return {"key": "id", "parent": {"table": of, "column": f"{of}_id", "max_rows": 5, **more}, "columns": columns(*names)}


def section_iii(d: Mapping[str, object]) -> Schema:
    """Tables A…E with R_B→A, R_C→B, R_D→C and R_E→C, where the relationship of D varies."""
    return schema(
        {
            "A": {"key": "id", "columns": columns("a1", "a2")},
            "B": child("A", "b1", "b2"),
            "C": child("B", "c1"),
            "D": d,
            "E": child("C", "e1"),
            "P": {"public": True, "key": "p_id", "rows": 7},
        },
        entity="A",
    )


def section_iv(derived: bool) -> Schema:
    """Patients, lines (order 2), cycles (order 1, a date kept as offsets), prescriptions × drugs (public)."""
    day = {"type": "date", "after": "previous.day", "first": {"min": "2020-01-01", "max": "2024-12-31"}, "within": "90d"}
    prescriptions = child("cycles", "dose", "route", type="associative", via="drugs", column_via="drug_id")
    prescriptions["parent"] |= {"derived": ["dose"] if derived else []}  # type: ignore[operator]
    if not derived:
        prescriptions["columns"] = columns("route")
    cycles = child("lines", "toxicity", type="sequential", order_by="day", memory=1)
    cycles["columns"] = {"day": day, **columns("toxicity")}
    return schema(
        {
            "patients": {"key": "id", "columns": columns("gender", "cancer")},
            "lines": child("patients", "plan", "outcome", type="sequential", order_by="id", memory=2),
            "cycles": cycles,
            "prescriptions": prescriptions,
            "drugs": {"public": True, "key": "drug_id", "rows": 12, "columns": columns("name")},
        }
    )


def groups(of: Schema) -> dict[str, ColumnGroup]:
    return {group.name: group for group in column_groups(of)}


def names(group: ColumnGroup) -> list[str]:
    return [column.name for column in group.columns]


def history(group: ColumnGroup, *kinds: str) -> list[str]:
    """What the group may look at, all of it or for these reasons."""
    return [str(h) for h in group.history if not kinds or h.kind in kinds]
