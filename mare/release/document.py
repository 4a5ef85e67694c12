"""`release.json`: the settled plan and the output tables as plain JSON, written and read field by field.

pydantic checks every field on the way in: what a file says is not believed because it parses.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from datetime import date, datetime
from functools import cache
from typing import Any

from pydantic import BaseModel, ConfigDict, TypeAdapter

from mare.codec import LearnedDomain, LearnedOrder, LearnedScales, LearnedValues
from mare.errors import InternalError
from mare.planning import Warned
from mare.schema.reflection import (
    Bound,
    Check,
    ColumnOrder,
    Counting,
    ReflectedColumn,
    ReflectedForeignKey,
    ReflectedIndex,
    ReflectedTable,
    StorageKind,
    StoredDomain,
)
from mare.schema.strict import Value

from .release import Release, SettledGroup, SettledPlan


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class _Column(_Strict):
    name: str
    kind: StorageKind
    sql_type: str
    nullable: bool
    precision: int | None
    max_length: int | None
    digits: int | None = None
    values: tuple[Value, ...] | None = None
    min: int | float | str | None = None
    max: int | float | str | None = None
    lowest: int | float | str | None = None
    highest: int | float | str | None = None
    comment: str | None = None
    default: str | None = None
    counter: Counting | None = None
    domain: StoredDomain | None = None
    generated: bool = False
    expression: str = ""
    virtual: bool = False

    @property
    def reflected(self) -> ReflectedColumn:
        stored = {name: getattr(self, name) for name in _Column.model_fields}
        return ReflectedColumn(**stored | {name: _bound(stored[name], self.kind) for name in ("min", "max", "lowest", "highest")})


def _bound(written: int | float | str | None, kind: StorageKind) -> Bound | None:
    """JSON has no dates: a bound that is written as text is of its column's kind."""
    if isinstance(written, str):
        moment = datetime.fromisoformat(written)
        return moment.date() if kind == "date" else moment
    return written


class _Table(_Strict):
    name: str
    columns: tuple[_Column, ...]
    key: tuple[str, ...]
    foreign_keys: tuple[ReflectedForeignKey, ...]
    indexes: tuple[tuple[str, ...], ...]
    uniques: tuple[tuple[str, ...], ...] = ()
    orders: tuple[ColumnOrder, ...] = ()
    unread_checks: tuple[str, ...] = ()
    comment: str | None = None
    names: tuple[tuple[tuple[str, ...], str], ...] = ()
    checks: tuple[Check, ...] = ()
    special_indexes: tuple[ReflectedIndex, ...] = ()
    computed: tuple[tuple[int, _Column], ...] = ()
    left_out: tuple[str, ...] = ()
    verbatim: bool = False
    namespace: str = ""
    dialect: str = ""


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
    tables: tuple[_Table, ...]
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


def _stored_table(table: ReflectedTable) -> dict[str, Any]:
    columns = [_fields(column, _Column) for column in table.columns]
    computed = [(place, _fields(column, _Column)) for place, column in table.computed]
    return _fields(table, _Table) | {"columns": columns, "computed": computed}


def _fields(noun: object, stored: type[_Strict]) -> dict[str, Any]:
    """What is stored of a noun that holds more."""
    return {name: getattr(noun, name) for name in stored.model_fields}


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
    tables = tuple(
        ReflectedTable(
            **_fields(table, _Table)
            | {
                "columns": tuple(column.reflected for column in table.columns),
                "computed": tuple((place, column.reflected) for place, column in table.computed),
            }
        )
        for table in read.tables
    )
    learned = {name: stored.domain() for name, stored in read.learned.items()}
    return SettledPlan(read.entities, read.groups, read.chosen, read.counts, learned, read.doubts), tables
