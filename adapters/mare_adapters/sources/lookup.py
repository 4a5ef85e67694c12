"""The tables and columns that somebody asks a source for, found in its reflection or refused by name."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches

from mare.errors import SourceError
from mare.schema.reflection import ReflectedColumn, ReflectedTable, Reflection


def find_table(reflection: Reflection, name: str) -> ReflectedTable:
    """The table of this name. Case does not matter where it is unambiguous."""
    table = reflection.table(name)
    if table is None:
        why = next((f" ({left.reason})" for left in reflection.left_out if left.name.casefold() == name.casefold()), "")
        raise SourceError(
            f"{reflection.label} has no table {name!r} that can be read{why}. {_offer(name, [t.name for t in reflection])}"
        )
    return table


def find_columns(reflection: Reflection, table: ReflectedTable, names: Sequence[str]) -> list[ReflectedColumn]:
    """The columns of these names; all that are missing are told at once."""
    found = {name: table.column(name) for name in names}
    missing = [name for name, column in found.items() if column is None]
    if missing:
        words = ", ".join(repr(name) for name in missing)
        offer = _offer(missing[0], [column.name for column in table.columns])
        raise SourceError(f"{reflection.label}: table {table.name} has no column {words} that can be read. {offer}")
    return [column for name in names if (column := found[name]) is not None]


def _offer(name: str, held: Sequence[str]) -> str:
    close = get_close_matches(name, held, n=1)
    meant = f"Did you mean {close[0]!r}? " if close else ""
    return f"{meant}It has: {', '.join(sorted(held)) or 'none'}."
