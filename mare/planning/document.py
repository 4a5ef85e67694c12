"""A plan as JSON and back: what `mare plan --json` prints and what a release stores.

The same plan gives the same bytes: keys have a fixed order, numbers are in Python's shortest exact form. A stored plan is
read back as it was made, and not made again: a newer mare may plan the same schema differently.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import TypedDict, cast

from mare.domain import Domain, OptionValue
from mare.errors import PlanError, SchemaError
from mare.graph.groups import ColumnGroup, GroupColumn, HistoryColumn
from mare.privacy.budget import Budget
from mare.schema.loading import load_schema
from mare.schema.yaml_writing import dump_schema

from .phases import Phases
from .plan import GroupPreview, Plan, PlannedGroup, Warned

FORMAT = 1
"""Version of the document. A reader refuses what it does not know."""


class _GroupDocument(TypedDict):
    table: str
    part: str
    columns: list[dict[str, object]]
    history: list[dict[str, object]]
    model: str
    options: dict[str, OptionValue]
    column_sizes: list[tuple[str, int]]
    history_sizes: list[tuple[str, int]]
    learned: list[str]
    sensitivity: int
    reason: str


def plan_to_dict(plan: Plan) -> dict[str, object]:
    """The plan as dictionaries, lists and scalars."""
    return {
        "plan": FORMAT,
        "budget": {"epsilon": plan.budget.epsilon, "delta": plan.budget.delta},
        # as YAML: JSON would turn the keys of a mapping by value (ranges) into texts
        "schema": dump_schema(plan.schema),
        "tables": list(plan.tables),
        "groups": [_group_to_dict(group) for group in plan.groups],
        "allocation": plan.allocation,
        "phases": asdict(plan.phases),
        "preview": [asdict(seen) for seen in plan.preview],
        "assumptions": list(plan.assumptions),
        "public": list(plan.public),
        "peeked": list(plan.peeked),
        "warnings": [asdict(warned) for warned in plan.warnings],
        "notes": list(plan.notes),
    }


def plan_to_json(plan: Plan) -> str:
    """One JSON text, the same bytes for the same plan."""
    return json.dumps(plan_to_dict(plan), indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def plan_from_json(text: str) -> Plan:
    """The plan as it was stored, or a `PlanError`."""
    try:
        document = json.loads(text)
    except ValueError as error:
        raise PlanError(f"this is not the JSON of a plan ({error}). `mare plan SCHEMA --epsilon E --json` writes one.") from None
    return plan_from_dict(document)


def plan_from_dict(document: Mapping[str, object]) -> Plan:
    if not isinstance(document, Mapping) or document.get("plan") != FORMAT:
        raise PlanError(f"this is not a plan of format {FORMAT}, the one that this mare reads.")
    try:
        return _read(document)
    except (KeyError, TypeError, ValueError, SchemaError) as error:
        raise PlanError(f"this plan is damaged ({type(error).__name__}: {error}). Make it again with `mare plan`.") from None


def _read(document: Mapping[str, object]) -> Plan:
    def dicts(name: str) -> list[dict[str, object]]:
        return cast("list[dict[str, object]]", document[name])

    def texts(name: str) -> tuple[str, ...]:
        return tuple(cast("list[str]", document[name]))

    if not isinstance(written := document["schema"], str):
        raise TypeError("its schema is not a text")
    schema = load_schema(written + "\n")
    return Plan(
        schema=schema,
        budget=Budget(**cast("dict[str, float]", document["budget"])),
        groups=tuple(_group_from_dict(cast(_GroupDocument, group)) for group in dicts("groups")),
        tables=texts("tables"),
        allocation=schema.allocation,
        phases=Phases(**cast("dict[str, float]", document["phases"])),
        preview=tuple(GroupPreview(**seen) for seen in dicts("preview")),  # type: ignore[arg-type]
        assumptions=texts("assumptions"),
        public=texts("public"),
        peeked=texts("peeked"),
        warnings=tuple(Warned(**warned) for warned in dicts("warnings")),  # type: ignore[arg-type]
        notes=texts("notes"),
    )


def _group_to_dict(planned: PlannedGroup) -> _GroupDocument:
    group = planned.group
    return {
        "table": group.table,
        "part": group.part,
        "columns": [asdict(column) for column in group.columns],
        "history": [asdict(column) for column in group.history],
        "model": planned.model,
        "options": dict(sorted(planned.options.items())),
        "column_sizes": list(zip(planned.columns.names, planned.columns.sizes, strict=True)),
        "history_sizes": list(zip(planned.history.names, planned.history.sizes, strict=True)),
        "learned": sorted(planned.learned),
        "sensitivity": planned.sensitivity,
        "reason": planned.reason,
    }


def _group_from_dict(stored: _GroupDocument) -> PlannedGroup:
    return PlannedGroup(
        group=ColumnGroup(
            table=stored["table"],
            part=stored["part"],  # type: ignore[arg-type]
            columns=tuple(GroupColumn(**column) for column in stored["columns"]),  # type: ignore[arg-type]
            history=tuple(HistoryColumn(**column) for column in stored["history"]),  # type: ignore[arg-type]
        ),
        model=stored["model"],
        options=stored["options"],
        columns=Domain.of((name, size) for name, size in stored["column_sizes"]),
        history=Domain.of((name, size) for name, size in stored["history_sizes"]),
        learned=frozenset(stored["learned"]),
        sensitivity=stored["sensitivity"],
        reason=stored["reason"],
    )
