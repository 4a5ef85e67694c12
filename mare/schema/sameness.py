"""Columns that repeat one fact in every row (`same_for`): where the fact stands once, and is drawn once.

A fact about the rows below one row is known with the list that they stand in: in the context of the table directly below that
row, on the way down to the column. So it has a value for each row above, and every row below may look at it.
"""

from __future__ import annotations

from dataclasses import dataclass

from .columns import Drift, Integer
from .layout import Layout
from .schema import Schema

ENTITY, PARENT = "entity", "parent"


@dataclass(frozen=True)
class Shared:
    """A column that has one value for each row of a table above."""

    table: str
    column: str
    above: str
    """The table above, or the entity: for each of its rows there is one value."""
    holder: str
    """The table whose context holds that value: directly below, the column's own or one on the way to it."""
    drift: Drift | None = None

    @property
    def name(self) -> str:
        """What it is called in the context."""
        return f"same({self.column})" if self.table == self.holder else f"same({self.table}.{self.column})"


def named_above(layout: Layout, table: str, same_for: str) -> str | None:
    """The table above that `same_for` names; None where it names none."""
    above = layout.ancestors(table)
    home = layout.schema.entity_name if same_for == ENTITY else above[0] if same_for == PARENT and above else same_for
    return home if home in above else None


def shared_columns(schema: Schema, table: str | None = None) -> tuple[Shared, ...]:
    """All of them, or those of one table."""
    described = {name: held for name, held in schema.tables.items() if table in (None, name) and not held.ignore}
    if not any(column.same_for is not None for held in described.values() for column in held.columns.values()):
        return ()
    layout, shared = Layout(schema), list[Shared]()
    for name, held in described.items():
        path = (name, *layout.ancestors(name))
        for column, says in held.columns.items():
            above = None if says.same_for is None else named_above(layout, name, says.same_for)
            if above is not None and column not in held.ignore_columns:
                drift = says.drift if isinstance(says, Integer) else None
                shared.append(Shared(name, column, above, path[path.index(above) - 1], drift))
    return tuple(shared)
