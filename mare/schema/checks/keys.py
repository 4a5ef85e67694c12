"""Keys: every one is unique by construction, or it is refused here rather than by the database at the end."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from math import prod

from mare.schema.columns import Column, Identifier, Ordinal, Position, Text
from mare.schema.faults import Fault, Path, listed, no_column, unsettled
from mare.schema.layout import Layout
from mare.schema.relative import PREVIOUS_ROW

_WAYS = (
    "Add an identifier, a position within the parent, or a strictly increasing time (`after: previous.…`, `strict: true`) "
    "together with the foreign key; or leave the key out"
)


def find(layout: Layout) -> Iterator[Fault]:
    for name, table in layout.described:
        here: Path = ("tables", name, "key")
        if table.key is not None:
            yield from _columns(layout, name, table.key, here)
            why = _not_unique(layout, name, table.key)
            if why is not None:
                yield Fault(here, f"nothing makes the key {listed(table.key)} unique: {why}", _WAYS)
        for i, columns in enumerate(table.unique):
            path: Path = ("tables", name, "unique", i)
            known = layout.columns(name)
            missing = [c for c in columns if c not in known]
            yield from (no_column(path, column, name, known) for column in missing)
            why = None if missing else _not_unique(layout, name, columns)
            if why is not None:
                yield unsettled(
                    path, f"nothing makes {listed(columns)} unique: {why}", _WAYS.replace("leave the key out", "remove it here")
                )


def _columns(layout: Layout, name: str, key: tuple[str, ...], here: Path) -> Iterator[Fault]:
    if not key:
        yield Fault(here, "the key is empty", "Name its columns, or leave `key` out")
    if len(set(key)) != len(key):
        yield Fault(here, f"a column occurs twice in {listed(key)}", "Name each once")
    for column in key:
        described = layout.columns(name).get(column)
        reference = layout.reference_of(name, column)
        holder = described if described is not None else reference
        if holder is not None and holder.nullable:
            yield Fault(here, f"{column} is part of the key, so it is never NULL", "Remove `nullable: true` from it")
        if described is not None and not described.kept and not _is_made_anew(described):
            what = f"{column} is free text, which is not kept, so it cannot be part of the key"
            yield Fault(here, what, "Describe it as an identifier (`generate: pattern` keeps its form)")


def _not_unique(layout: Layout, name: str, columns: tuple[str, ...]) -> str | None:
    """Why these columns may repeat; None when they cannot, or when it cannot be told yet."""
    key, foreign = set(columns), set(layout.schema.parent_columns(name))
    known = layout.columns(name)
    if any(described is not None and not described.settled for described in map(known.get, columns)) or not columns:
        return None
    if any(_is_identifier(layout, name, c, known.get(c)) for c in columns):
        return None
    within_parent = bool(foreign) and (foreign <= key or _names_parent(layout, name, key))
    rest = [c for c in columns if c not in foreign]
    if within_parent and (layout.row_cap(name) in (None, 1) or not rest):
        return None
    if within_parent and any(counts_up(c, known.get(c), key) for c in rest):
        return None
    link = layout.schema.parent(name)
    via = set(layout.via_columns(name))
    if within_parent and link is not None and via and via <= key and link.multiplicity == 1:
        return None
    if not within_parent:
        return "it does not hold the foreign key to the parent" if foreign else "all of its columns are modelled"
    return _too_few(layout, name, rest, known)


def _names_parent(layout: Layout, name: str, key: Collection[str]) -> bool:
    """Whether a part of the foreign key is in the key that says which parent it is: the foreign key may say more."""
    link = layout.schema.parent(name)
    if link is None or link.table not in layout.schema.tables or link.column is None:
        return False
    there = link.references or layout.schema.tables[link.table].key or ()
    return layout.is_unique(link.table, [other for column, other in zip(link.column, there, strict=False) if column in key])


def _is_identifier(layout: Layout, name: str, column: str, described: Column | None) -> bool:
    """Made anew for every row: an identifier, a key column that is nothing else, or the key of a row of one's own."""
    if described is not None:
        return _is_made_anew(described) and column not in layout.schema.parent_columns(name)
    reference = layout.reference_of(name, column)
    if reference is not None:
        return reference.kind == "owned"
    return column not in layout.schema.parent_columns(name) and column not in layout.via_columns(name)


def _is_made_anew(described: Column) -> bool:
    return (isinstance(described, Identifier) and not described.runs) or (isinstance(described, Text) and described.is_unique)


def counts_up(column: str, described: Column | None, key: Collection[str]) -> bool:
    """Whether a column of a key differs from row to row by construction: a position within it, or a strictly later value."""
    if isinstance(described, Position):
        return set(described.within or ()) <= set(key)
    if isinstance(described, Ordinal) and described.strict:
        return any(a.scope == PREVIOUS_ROW and a.column == column for f, a in described.anchors.items() if f != "before")
    return False


def _too_few(layout: Layout, name: str, rest: list[str], known: dict[str, Column | None]) -> str | None:
    """Modelled parts are drawn again within the parent until they differ: their domain has to hold that many rows."""
    cap, via = layout.row_cap(name), layout.via_columns(name)
    # What is not described is a reference that is modelled.
    drawn = [c for c in rest if c not in via and ((described := known.get(c)) is None or described.is_drawn)]
    if not drawn:
        return f"{listed(rest)} may repeat within the parent, and no part of it can be drawn again"
    sizes = [None if described is None else described.distinct_values for described in map(known.get, drawn)]
    if cap is None or any(size is None for size in sizes):
        return None
    values = prod(size for size in sizes if size is not None)
    return f"{listed(drawn)} has {values} values, but a parent row may have {cap} rows" if values < cap else None
