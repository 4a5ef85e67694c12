"""Which tables look at a sibling before them (`sees`): drugs at diagnoses, payments at rentals. By their names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from .drafted import DraftedTable

_CAUSES: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...] = (
    (
        ("diagnos", "condition", "problem"),
        ("drug", "medic", "prescri", "procedure", "treat", "therap", "lab", "measure", "exposure", "surger", "operation"),
    ),
    (
        ("order", "rental", "booking", "invoice", "loan", "contract", "policy"),
        ("payment", "claim", "reminder", "refund", "return"),
    ),
    (("enrol", "registration"), ("grade", "exam", "attendance", "mark", "result")),
    (("visit", "encounter", "admission", "stay"), ("claim", "bill", "charge", "payment")),
)
"""What comes first, and what follows from it: beginnings of words."""


def with_siblings(tables: Sequence[DraftedTable]) -> list[DraftedTable]:
    """The same tables, each with the siblings that it follows from."""
    return [replace(table, sees=_seen_by(table, tables)) for table in tables]


def _seen_by(table: DraftedTable, tables: Sequence[DraftedTable]) -> tuple[str, ...]:
    if table.parent is None or table.role != "private":
        return ()
    above = table.parent.fields.get("table")
    siblings = [
        other.name
        for other in tables
        if other.name != table.name
        and other.role == "private"
        and other.parent is not None
        and other.parent.fields.get("table") == above
    ]
    return tuple(name for name in siblings if _follows(table.name, name) and not _follows(name, table.name))


def _follows(table: str, other: str) -> bool:
    def called(name: str, words: tuple[str, ...]) -> bool:
        return any(word in name.casefold() for word in words)

    return any(called(other, causes) and called(table, effects) and not called(table, causes) for causes, effects in _CAUSES)
