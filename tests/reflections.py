"""Reflections written by hand, for tests of drafting and matching: `table("patients", "id integer, dod date?", key="id")`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import date

from mare.schema import Schema
from mare.schema.drafting import PublicFacts, draft
from mare.schema.loading import load_document
from mare.schema.reflection import (
    ColumnOrder,
    LeftOut,
    Peek,
    ReflectedColumn,
    ReflectedForeignKey,
    ReflectedTable,
    Reflection,
    StorageKind,
)


def column(text: str) -> ReflectedColumn:
    """`dod date?`: a name, a kind, and a question mark where it may be NULL."""
    name, kind = text.rsplit(" ", 1)
    known: StorageKind = kind.rstrip("?")  # type: ignore[assignment]
    return ReflectedColumn(name, known, kind.rstrip("?").upper(), nullable=kind.endswith("?"))


def table(
    name: str,
    columns: str,
    /,
    key: str = "",
    refers: Mapping[str, str] | None = None,
    uniques: tuple[str, ...] = (),
    orders: tuple[tuple[str, str], ...] = (),
    unread_checks: tuple[str, ...] = (),
    **changes: Mapping[str, object],
) -> ReflectedTable:
    """``refers``: columns → `table` or `table.column`. ``changes``: column → what else its catalogue says."""
    described = [column(text.strip()) for text in columns.split(",")]
    foreign = []
    for here, there in (refers or {}).items():
        target, _, referred = there.partition(".")
        foreign.append(ReflectedForeignKey(_names(here), target, _names(referred)))
    return ReflectedTable(
        name,
        tuple(replace(c, **changes.get(c.name, {})) for c in described),  # type: ignore[arg-type]
        key=_names(key),
        foreign_keys=tuple(foreign),
        uniques=tuple(_names(unique) for unique in uniques),
        orders=tuple(ColumnOrder(before, after) for before, after in orders),
        unread_checks=unread_checks,
    )


def reflect(*tables: ReflectedTable, label: str = "a source", left_out: tuple[LeftOut, ...] = ()) -> Reflection:
    return Reflection(label, tables, left_out)


NOTHING_KNOWN = PublicFacts(date(2025, 6, 30))
SIX_YEARS = PublicFacts(date(2025, 6, 30), (date(2019, 1, 1), date(2024, 12, 31)), 4000)
"""What a person may know of the data."""


def drafted(
    *tables: ReflectedTable,
    entity: str | None = None,
    peeks: Mapping[tuple[str, str], Peek] | None = None,
    facts: PublicFacts = NOTHING_KNOWN,
) -> Schema:
    """The schema that the draft of these tables loads as."""
    return load_document(draft(reflect(*tables), facts, entity, peeks)).schema


def written(*tables: ReflectedTable, entity: str | None = None, facts: PublicFacts = NOTHING_KNOWN) -> str:
    """The draft as text."""
    return draft(reflect(*tables), facts, entity)


def comment_on(text: str, line_start: str) -> str:
    """The comments of the line that begins so: behind it, or in the lines above it."""
    lines = text.splitlines()
    at = next(i for i, line in enumerate(lines) if line.strip().startswith(line_start))
    above = []
    for line in reversed(lines[:at]):
        if not line.strip().startswith("#"):
            break
        above.append(line.strip().lstrip("# "))
    behind = lines[at].partition("  # ")[2]
    return " ".join([*reversed(above), behind]).strip()


def _names(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split("+")) if text else ()


PATIENTS = table("patients", "subject_id integer, gender string, dod date?", key="subject_id")
ADMISSIONS = table(
    "admissions",
    "hadm_id integer, subject_id integer, admittime datetime, dischtime datetime",
    key="hadm_id",
    refers={"subject_id": "patients.subject_id"},
)
