"""`release.json`: the settled plan and the output tables as plain JSON, written and read field by field.

pydantic checks every field on the way in: what a file says is not believed because it parses.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from functools import cache
from typing import TYPE_CHECKING

from pydantic import BaseModel, ConfigDict, TypeAdapter

from mare.domain import Domain, OptionValue
from mare.graph.groups import ColumnGroup
from mare.schema.reflection import ReflectedColumn, ReflectedForeignKey, ReflectedTable, StorageKind

from .settled import SettledGroup, SettledPlan

if TYPE_CHECKING:
    from .release import Release


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class _Domain(_Strict):
    names: tuple[str, ...]
    sizes: tuple[int, ...]


class _Group(_Strict):
    group: ColumnGroup
    model: str
    options: dict[str, OptionValue]
    columns: _Domain
    history: _Domain
    sensitivity: int
    rows: float
    share: float


class _Column(_Strict):
    name: str
    kind: StorageKind
    sql_type: str
    nullable: bool
    precision: int | None
    max_length: int | None


class _Table(_Strict):
    name: str
    columns: tuple[_Column, ...]
    key: tuple[str, ...]
    foreign_keys: tuple[ReflectedForeignKey, ...]
    indexes: tuple[tuple[str, ...], ...]


class _Document(_Strict):
    format: int
    status: str
    entities: int
    groups: tuple[_Group, ...]
    tables: tuple[_Table, ...]


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
            "columns": [{name: getattr(c, name) for name in _Column.model_fields} for c in t.columns],
            "key": t.key,
            "foreign_keys": [asdict(key) for key in t.foreign_keys],
            "indexes": t.indexes,
        }
        for t in release.tables
    ]
    document = {
        "format": version,
        "status": release.status,
        "entities": release.plan.entities,
        "groups": groups,
        "tables": tables,
    }
    return json.dumps(document, indent=1, allow_nan=False)


def read_document(document: dict[str, object]) -> tuple[SettledPlan, tuple[ReflectedTable, ...]]:
    """The plan and the tables back, or a `ValueError`."""
    read = _adapter().validate_json(json.dumps(document))
    groups = tuple(
        SettledGroup(
            group=g.group,
            model=g.model,
            options=g.options,
            columns=Domain(g.columns.names, g.columns.sizes),
            history=Domain(g.history.names, g.history.sizes),
            sensitivity=g.sensitivity,
            rows=g.rows,
            share=g.share,
        )
        for g in read.groups
    )
    tables = tuple(
        ReflectedTable(
            name=t.name,
            columns=tuple(
                ReflectedColumn(c.name, c.kind, c.sql_type, c.nullable, precision=c.precision, max_length=c.max_length)
                for c in t.columns
            ),
            key=t.key,
            foreign_keys=t.foreign_keys,
            indexes=t.indexes,
        )
        for t in read.tables
    )
    return SettledPlan(read.entities, groups), tables
