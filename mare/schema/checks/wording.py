"""How the checks speak: `mare.schema.wording`, and what has to name one row."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from mare.schema.faults import Fault, Path
from mare.schema.layout import Layout
from mare.schema.wording import listed, no_column, no_table, unsettled

__all__ = ["listed", "no_column", "no_table", "not_unique", "unsettled"]


def not_unique(layout: Layout, table: str, columns: Sequence[str], path: Path) -> Iterator[Fault]:
    """What is referred to has to name one row: a key, or a set of columns that the schema says is unique."""
    role, here = layout.roles[table], layout.schema.tables[table]
    known = layout.columns(table)
    if role == "ignored" or layout.is_unique(table, columns):
        return
    if role == "public" and here.key is None and not here.unique:
        return  # a public table need not describe its keys
    if role != "public" and not set(columns) <= known.keys():
        return  # told already
    sets = [f"[{', '.join(names)}]" for names in (here.key or (), *here.unique) if names]
    what = f"{', '.join(columns)} does not tell rows of {table} apart, so one row here would refer to several there"
    declare = f"declare it under tables.{table} if it is: `unique: [[{', '.join(columns)}]]`"
    yield Fault(path, what, f"Refer to what is unique there ({listed(sets)}), or {declare}")
