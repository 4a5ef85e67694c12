"""`release.json`: the settled plan and the output tables as plain JSON, written and read field by field.

pydantic checks every field on the way in: what a file says is not believed because it parses.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from datetime import date
from functools import cache
from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict, TypeAdapter

from mare.codec import LearnedDomain, LearnedOrder, LearnedScales, LearnedValues
from mare.errors import InternalError
from mare.planning import Warned
from mare.schema.reflection import ReflectedTable

from .release import Release, SettledGroup, SettledPlan

_COLUMN = (
    "name", "kind", "sql_type", "nullable", "precision", "max_length", "digits", "values", "min", "max", "lowest", "highest",
    "comment", "default", "counter", "domain", "generated", "expression", "virtual",
)  # fmt: skip
_TABLE = (
    "name", "columns", "key", "foreign_keys", "indexes", "uniques", "orders", "unread_checks", "comment", "names", "checks",
    "special_indexes", "computed", "left_out", "verbatim", "namespace", "dialect",
)  # fmt: skip
"""What is stored of a table and its columns. The rest is how a source is read, or of a draft."""


def _stored_fields_alone(table: object) -> object:
    columns = [*table["columns"], *(column for _, column in table.get("computed", ()))] if isinstance(table, dict) else []
    if not isinstance(table, dict) or table.keys() - set(_TABLE) or any(column.keys() - set(_COLUMN) for column in columns):
        raise ValueError("a table says what no table of a release says")
    return table


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class _Learned(_Strict):
    """One of these, so that a reader need not guess."""

    order: LearnedOrder | None = None
    values: LearnedValues | None = None
    scales: LearnedScales | None = None

    def domain(self) -> LearnedDomain:
        held = [domain for domain in (self.order, self.values, self.scales) if domain is not None]
        if len(held) != 1:
            raise ValueError("a learned domain is one of order, values and scales")
        return held[0]


class _Document(_Strict):
    format: int
    status: str
    entities: int
    groups: tuple[SettledGroup, ...]
    tables: tuple[Annotated[ReflectedTable, BeforeValidator(_stored_fields_alone)], ...]
    chosen: dict[str, tuple[int, ...]] = {}
    counts: dict[str, tuple[float, ...]] = {}
    learned: dict[str, _Learned] = {}
    doubts: tuple[Warned, ...] = ()


_KIND: dict[type, str] = {LearnedOrder: "order", LearnedValues: "values", LearnedScales: "scales"}


@cache
def _adapter() -> TypeAdapter[_Document]:
    return TypeAdapter(_Document)


def write_document(release: Release, version: int) -> str:
    """The JSON text, with the status first in sight."""
    document = {
        "format": version,
        "status": release.status,
        "entities": release.plan.entities,
        "groups": release.plan.groups,
        "tables": [_stored_table(table) for table in release.tables],
        "chosen": release.plan.chosen,
        "counts": release.plan.counts,
        "learned": {name: {_KIND[type(domain)]: domain} for name, domain in release.plan.learned.items()},
        "doubts": release.plan.doubts,
    }
    return json.dumps(document, allow_nan=False, default=_plain)


def _stored_table(table: ReflectedTable) -> dict[str, object]:
    columns = [_fields(column, _COLUMN) for column in table.columns]
    computed = [(place, _fields(column, _COLUMN)) for place, column in table.computed]
    return _fields(table, _TABLE) | {"columns": columns, "computed": computed}


def _fields(noun: object, stored: tuple[str, ...]) -> dict[str, object]:
    return {name: getattr(noun, name) for name in stored}


def _plain(value: object) -> object:
    """What JSON has no word for."""
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, Mapping):
        return dict(value)
    if is_dataclass(value):
        return {field.name: getattr(value, field.name) for field in fields(value)}
    raise InternalError(f"a release cannot hold a {type(value).__name__}")


def read_document(document: dict[str, object]) -> tuple[SettledPlan, tuple[ReflectedTable, ...]]:
    """The plan and the tables back, or a `ValueError`."""
    read = _adapter().validate_json(json.dumps(document))
    learned = {name: stored.domain() for name, stored in read.learned.items()}
    return SettledPlan(read.entities, read.groups, read.chosen, read.counts, learned, read.doubts), read.tables
