"""A draft as plain values, as a YAML reader would give them: what the checks look at before anything is written."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from mare.schema.yaml_nodes import Plain

from .drafted import Draft, DraftedTable, Entry


def plain_draft(draft: Draft) -> Plain:
    """Without comments, in the order of the file."""
    page: dict[Plain, Plain] = {"mare": 1}
    guess = draft.entity
    if guess.by is not None:
        page["entity"] = {"table": guess.table, "by": guess.by, **({"name": guess.name} if guess.name is not None else {})}
    elif guess.table is not None:
        page["entity"] = guess.table
    page["tables"] = {table.name: plain_table(table) for table in draft.tables}
    return page


def plain_table(table: DraftedTable) -> dict[Plain, Plain]:
    """The fields of a table that say something."""
    found: dict[Plain, Plain] = {}
    if table.role == "public":
        found["public"] = True
    if table.pool is not None:
        found["pool"] = {"rows": table.pool}
    if table.key:
        found["key"] = _names(table.key)
    if table.unique:
        found["unique"] = [_names(names) for names in table.unique]
    if table.parent is not None:
        found["parent"] = _plain(table.parent.fields)
    for title, entries in (("columns", table.columns), ("references", table.references)):
        if entries:
            found[title] = _entries(entries)
    if table.ignored:
        found["ignore_columns"] = list(table.ignored)
    return found


def _entries(entries: tuple[Entry, ...]) -> dict[Plain, Plain]:
    return {entry.name: _plain(entry.fields) for entry in entries}


def _names(names: tuple[str, ...]) -> Plain:
    return names[0] if len(names) == 1 else list(names)


def _plain(value: object) -> Plain:
    if isinstance(value, Mapping):
        return {str(name): _plain(item) for name, item in value.items()}
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    return cast(Plain, value)
