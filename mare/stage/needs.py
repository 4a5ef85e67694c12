"""What staging reads of each table: its key, its foreign key, its order, its modelled columns. Nothing else leaves the source."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from mare.errors import PlanError
from mare.graph.groups import ColumnGroup
from mare.graph.ownership import link_cap
from mare.schema import Schema
from mare.schema.columns import AnyColumn

Keep = Literal["first", "last", "random"]


@dataclass(frozen=True)
class TableNeeds:
    """One table to be staged, with the caps that will be enforced on it."""

    name: str
    parent: str | None
    key: tuple[str, ...]
    """Columns that children refer to; empty where nothing refers to this table."""
    foreign: tuple[str, ...]
    order: tuple[str, ...]
    values: tuple[str, ...]
    """Modelled columns."""
    described: dict[str, AnyColumn]
    """What the schema says of the columns, where it does."""
    keep: Keep = "random"
    max_rows: int = 1
    """Rows per parent row."""
    max_per_entity: int | None = None

    @property
    def columns(self) -> tuple[str, ...]:
        """Every column that is read, once."""
        return tuple(dict.fromkeys((*self.key, *self.foreign, *self.order, *self.values)))


def needs(schema: Schema, groups: Sequence[ColumnGroup]) -> tuple[TableNeeds, ...]:
    """The tables of the entity, parents before children."""
    names = list(dict.fromkeys(group.table for group in groups))
    modelled: dict[str, list[str]] = {name: [] for name in names}
    for group in groups:
        modelled[group.table] += [c.column for c in group.columns if c.role == "value" and c.column is not None]
    for name in list(names):
        # A parent without modelled columns has no group, but its children hang on it.
        parent = schema.parent_table(name)
        while parent is not None and parent not in names:
            names.insert(names.index(name), parent)
            modelled[parent] = []
            parent = schema.parent_table(parent)
    return tuple(_table(schema, name, modelled[name], names) for name in names)


def _table(schema: Schema, name: str, values: Sequence[str], names: Sequence[str]) -> TableNeeds:
    table, link = schema.tables[name], schema.tables[name].parent
    key: tuple[str, ...] = ()
    for child in names:
        if schema.parent_table(child) == name:
            below = schema.tables[child].parent
            referred = (below.references if below is not None and below.references else None) or table.key or ()
            if key and key != referred:
                raise PlanError(f"table {name!r} is referred to by different columns; that can be planned, but not yet fitted.")
            key = referred
    described: dict[str, AnyColumn] = dict(table.columns)
    if link is None:
        return TableNeeds(name, None, key, (), (), tuple(values), described)
    cap = link_cap(schema, name)
    rows = [n for n in (cap.rows if cap is not None else None, link.max_per_entity) if n is not None]
    return TableNeeds(
        name,
        schema.parent_table(name),
        key,
        schema.parent_columns(name),
        tuple(link.order_by or ()),
        tuple(values),
        described,
        link.effective_keep,
        min(rows),
        link.max_per_entity,
    )
