"""`ColumnGroup`: columns that are generated together by one model, and what that model may look at.

Groups are the components of the correlation PDAG joined by undirected edges, topologically sorted
(mare-2024, IV.A). A table with a parent gives two: its context (one row per parent row) and its rows.
Some tables give a third, the head of their rows: what has to be known before the row can look at another row.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Part = Literal["context", "head", "rows"]
"""`context`: one row per parent row. `rows`: one row per row. `head`: also one row per row, generated just before the
rest of it, because these columns pick another row that the rest may look at: the item of `history_by` (its previous
row), the position of a same-entity reference (the row referred to), the key of an association kept as ordinary rows."""

Role = Literal["value", "count", "ends", "first", "same", "exists", "derived"]
"""What a group column encodes: a column of the table; the number of children; whether one of them ends their sequence (`ends`);
the first value of a sequence; what is the same in all rows below (`same_for`); whether a public key occurs under the parent; a
derived value of that key."""

HistoryKind = Literal["ancestor", "context", "head", "previous", "same_item", "reference", "sibling", "beside", "free"]
"""Why a column may be looked at: joined upwards; the table's own context; the head of the same row; a previous row;
the previous row of the same item (`history_by`); the row that a same-entity reference points to; an earlier sibling's
context, and the row of it that stands beside (`sees`); known for free (position, rows remaining, the key of an unrolled
association)."""


@dataclass(frozen=True)
class GroupColumn:
    """One column that a group's model generates."""

    name: str
    """Unique within the part: `gender`, `count`, `first(admittime)`, `same(sex)`, `exists(drug_id)`, `dose(drug_id)`."""
    role: Role
    column: str | None = None
    """The schema's column (or reference) that it encodes; None for the count."""
    repeat: int | None = 1
    """How many columns it unrolls into: one per public key. None when the size of the vocabulary is not declared."""
    table: str | None = None
    """The table whose column it is, where that is another than the group's: one further down, whose rows all have it."""


@dataclass(frozen=True)
class HistoryColumn:
    """One column that a group's model may look at."""

    table: str
    part: Part
    name: str
    """Name of the group column there, or of the free history (`position`, `remaining`)."""
    kind: HistoryKind
    lag: int = 0
    """0: the row joined to; k: the row k steps earlier. Lags of a context count the parent's rows."""
    reference: str | None = None
    """With kind `reference`: the reference of this table that leads there."""

    def __str__(self) -> str:
        """Unique within a group's history."""
        table = self.table if self.reference is None else f"{self.table}({self.reference})"
        # A column of the table may be called `position` too: what is free is told apart.
        aside = "free." if self.kind == "free" else "context." if self.part == "context" else ""
        place = f"{table}.{aside}{self.name}"
        if self.kind == "same_item":
            return f"{place}[same item]"
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

    @property
    def counts(self) -> frozenset[str]:
        """Which columns say how many children there are."""
        return frozenset(column.name for column in self.columns if column.role == "count")

    @property
    def lags(self) -> dict[str, tuple[str, int]]:
        """Which of the history is an earlier row of this very group: its name → (column, rows back)."""
        mine = (self.table, self.part)
        return {str(h): (h.name, h.lag) for h in self.history if h.lag > 0 and (h.table, h.part) == mine and h.kind == "previous"}
