"""`release.json`: the settled plan and the output tables as plain JSON, written and read field by field.

pydantic checks every field on the way in: what a file says is not believed because it parses.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from datetime import date, datetime
from functools import cache

from pydantic import BaseModel, ConfigDict, TypeAdapter

from mare.codec import LearnedDomain, LearnedOrder, LearnedScales, LearnedValues
from mare.schema.reflection import Bound, ColumnOrder, ReflectedColumn, ReflectedForeignKey, ReflectedTable, StorageKind
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

    @property
    def reflected(self) -> ReflectedColumn:
        told = {name: getattr(self, name) for name in _Column.model_fields}
        return ReflectedColumn(**told | {name: _bound(told[name], self.kind) for name in ("min", "max", "lowest", "highest")})


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
    dialect: str = ""


class _Learned(_Strict):
    """One of these, so that a reader need not guess."""

    order: LearnedOrder | None = None
    values: LearnedValues | None = None
    scales: LearnedScales | None = None

    def domain(self) -> LearnedDomain:
        found = [one for one in (self.order, self.values, self.scales) if one is not None]
        if len(found) != 1:
            raise ValueError("a learned domain is one of order, values and scales")
        return found[0]


class _Document(_Strict):
    format: int
    status: str
    entities: int
    groups: tuple[SettledGroup, ...]
    tables: tuple[_Table, ...]
    chosen: dict[str, tuple[int, ...]] = {}
    learned: dict[str, _Learned] = {}


_KIND: dict[type, str] = {LearnedOrder: "order", LearnedValues: "values", LearnedScales: "scales"}


@cache
def _adapter() -> TypeAdapter[_Document]:
    return TypeAdapter(_Document)


def write_document(release: Release, version: int) -> str:
    """The JSON text, with the status first in sight."""
    groups = [
        {
            "group": asdict(g.group),
            "model": g.model,
            "options": dict(g.options),
            "columns": asdict(g.columns),
            "history": asdict(g.history),
            "sensitivity": g.sensitivity,
            "rows": g.rows,
            "share": g.share,
        }
        for g in release.plan.groups
    ]
    tables = [
        {
            "name": t.name,
            "columns": [{name: _written(getattr(c, name)) for name in _Column.model_fields} for c in t.columns],
            "key": t.key,
            "foreign_keys": [asdict(key) for key in t.foreign_keys],
            "indexes": t.indexes,
            "uniques": t.uniques,
            "orders": [asdict(order) for order in t.orders],
            "unread_checks": t.unread_checks,
            "dialect": t.dialect,
        }
        for t in release.tables
    ]
    document = {
        "format": version,
        "status": release.status,
        "entities": release.plan.entities,
        "groups": groups,
        "tables": tables,
        "chosen": dict(release.plan.chosen),
        "learned": {name: {_KIND[type(one)]: asdict(one)} for name, one in release.plan.learned.items()},
    }
    return json.dumps(document, indent=1, allow_nan=False)


def _written(value: object) -> object:
    return value.isoformat() if isinstance(value, date) else value


def read_document(document: dict[str, object]) -> tuple[SettledPlan, tuple[ReflectedTable, ...]]:
    """The plan and the tables back, or a `ValueError`."""
    read = _adapter().validate_json(json.dumps(document))
    tables = tuple(
        ReflectedTable(
            name=t.name,
            columns=tuple(c.reflected for c in t.columns),
            key=t.key,
            foreign_keys=t.foreign_keys,
            indexes=t.indexes,
            uniques=t.uniques,
            orders=t.orders,
            unread_checks=t.unread_checks,
            dialect=t.dialect,
        )
        for t in read.tables
    )
    learned = {name: one.domain() for name, one in read.learned.items()}
    return SettledPlan(read.entities, read.groups, read.chosen, learned), tables
