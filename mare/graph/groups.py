"""`ColumnGroup`: columns that are generated together by one model, and what that model may look at.

Groups are the components of the correlation PDAG joined by undirected edges, topologically sorted
(mare-2024, IV.A). A table with a parent gives two: its context (one row per parent row) and its rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Part = Literal["context", "rows"]

Role = Literal["value", "count", "first", "exists", "derived"]
"""What a group column encodes: a column of the table; the number of children; the first value of a
sequence; whether a public key occurs under the parent; a derived value of that key."""

HistoryKind = Literal["ancestor", "context", "previous", "same_item", "sibling", "free"]
"""Why a column may be looked at: joined upwards; the table's own context; a previous row; the previous row of
the same item (`history_by`); an earlier sibling's context (`sees`); known for free (position, rows remaining)."""


@dataclass(frozen=True)
class GroupColumn:
    """One column that a group's model generates."""

    name: str
    """Unique within the group: `gender`, `count`, `first(admittime)`, `exists(drug_id)`, `dose(drug_id)`."""
    role: Role
    column: str | None = None
    """The schema's column (or reference) that it encodes; None for the count."""
    repeat: int | None = 1
    """How many columns it unrolls into: one per public key. None when the size of the vocabulary is not declared."""


@dataclass(frozen=True)
class HistoryColumn:
    """One column that a group's model may look at."""

    table: str
    part: Part
    name: str
    """Name of the group column there, or of the free history (`position`, `remaining`)."""
    kind: HistoryKind
    lag: int = 0
    """0: the row joined to; k: the row k steps earlier."""

    def __str__(self) -> str:
        place = f"{self.table}.{self.name}" if self.part == "rows" else f"{self.table}.context.{self.name}"
        return place if self.lag == 0 else f"{place}[-{self.lag}]"


@dataclass(frozen=True)
class ColumnGroup:
    """The unit of modelling: one model, one share of the budget."""

    table: str
    part: Part
    columns: tuple[GroupColumn, ...]
    history: tuple[HistoryColumn, ...]

    @property
    def name(self) -> str:
        return f"{self.table}.{self.part}"
