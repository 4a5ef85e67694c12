"""Names: one thing has one name, and no two differ in case alone (databases would not tell them apart). What is generated before
what: some table has to be made first, so a cycle is refused by name, with the references that could break it; and a table `sees`
only the context of an earlier sibling. Keys: every one is unique by construction, or it is refused here rather than by the
database at the end.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise
from math import prod
from typing import TypeVar

from mare.schema.columns import Column, Identifier, Ordinal, Position, Text
from mare.schema.columns.column import repeated
from mare.schema.faults import Fault, Path, listed, no_column, no_table, unsettled
from mare.schema.layout import Layout
from mare.schema.relative import PREVIOUS_ROW

Node = TypeVar("Node", str, tuple[str, str])


def find_names(layout: Layout) -> Iterator[Fault]:
    tables = layout.schema.tables
    if not tables:
        yield Fault(("tables",), "there are no tables", "Describe at least the table of the entity", "unsettled")
    yield from _alike(("tables",), tables, "table")
    for name, table in tables.items():
        here: Path = ("tables", name)
        if layout.roles[name] == "ignored":
            continue
        yield from _alike((*here, "columns"), table.columns, "column")
        yield from repeated(table.ignore_columns, here, "ignore_columns")
        may_be_missing = [r for r, link in table.references.items() if link.kind in ("owned", "pool") and link.nullable]
        may_be_missing += [c for c, column in table.columns.items() if column.type == "identifier" and column.nullable]
        for reference in may_be_missing:
            made = f"exists({reference})"
            if made in table.columns:
                what = f"{made} is what the model of {name} calls whether there is a {reference}, so no column can be called that"
                yield Fault((*here, "columns", made), what, "Call the column otherwise in a view, or list it in ignore_columns")
        used = {
            **dict.fromkeys(table.columns, "columns"),
            **{c: f"references.{r}" for r in table.references for c in table.reference_columns(r)},
            **dict.fromkeys(table.key or (), "key"),
            **dict.fromkeys(layout.schema.parent_columns(name), "parent.column"),
            **dict.fromkeys(layout.via_columns(name), "parent.column_via"),
        }
        for i, column in enumerate(table.ignore_columns):
            if column in used:
                remedy = f"Remove it from ignore_columns, or from {used[column]}"
                yield Fault((*here, "ignore_columns", i), f"{column} is left out here and used in {used[column]}", remedy)


def _alike(path: Path, names: Iterable[str], what: str) -> Iterator[Fault]:
    seen: dict[str, str] = {}
    for name in names:
        if not name.strip():
            yield Fault((*path, name), f"a {what} has an empty name", "Write its name")
        first = seen.setdefault(name.casefold(), name)
        if first != name:
            remedy = "Keep one of them: names are matched without regard to case"
            yield Fault((*path, name), f"the {what}s {first} and {name} differ in case alone", remedy)


@dataclass(frozen=True)
class _Before:
    """``first`` has to be made before ``then``, because of what stands at ``path``."""

    first: str
    then: str
    path: Path
    breakable: bool


def find_cycles(layout: Layout) -> Iterator[Fault]:
    edges = list(_edges(layout))
    names = dict.fromkeys([*layout.schema.tables, *(e.then for e in edges)])
    while loop := circle_in({name: [e.first for e in edges if e.then == name] for name in names}):
        inside = [e for a, b in pairwise(loop) for e in edges if (e.first, e.then) == (a, b)]
        breakable = [".".join(map(str, e.path)) for e in inside if e.breakable]
        remedy = "Only parents make this cycle: one of these tables has another parent, or none"
        if any(e.path[2] == "sees" for e in inside):
            remedy = "Remove one of the `sees` in it"
        if breakable:
            remedy = f"Write `kind: broken`, `nullable: true` for one of them (it will be NULL): {', '.join(breakable)}"
        yield Fault(inside[0].path, f"a cycle: {' → '.join(loop)}; none of them can be made first", remedy)
        edges = [e for e in edges if e not in inside]


def _edges(layout: Layout) -> Iterator[_Before]:
    for name, table in layout.described:
        above = layout.parent_name(name)
        if above is not None:
            yield _Before(above, name, ("tables", name, "parent"), False)
        for sibling in table.sees:
            yield _Before(sibling, name, ("tables", name, "sees"), False)
        for reference, link in table.references.items():
            path: Path = ("tables", name, "references", reference)
            if link.kind in ("same_entity", "pool") and link.table != name:
                yield _Before(link.table, name, path, True)
            elif link.kind == "owned" and link.table != name:
                # The owner goes first: its row of one's own is made with it.
                yield _Before(name, link.table, path, True)


def circle_in(graph: Mapping[Node, Collection[Node]]) -> list[Node]:
    """Nodes that need each other, from one of them back to it; none where there is an order."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def find_sees(layout: Layout) -> Iterator[Fault]:
    for name, table in layout.described:
        parent = layout.parent_name(name)
        siblings = [t for t in layout.schema.tables if t != name and parent is not None and layout.parent_name(t) == parent]
        for i, seen in enumerate(table.sees):
            path = ("tables", name, "sees", i)
            if seen not in layout.schema.tables:
                yield no_table(path, seen, siblings, "siblings")
            elif seen == name:
                yield Fault(
                    path, f"{name} would look at itself", f"Name a sibling: {listed(siblings)}" if siblings else "Remove it"
                )
            elif seen in layout.ancestors(name):
                yield Fault(path, f"{seen} is above {name}, which looks at it anyway", "Remove it")
            elif seen not in siblings:
                what = f"{seen} is not a sibling of {name}: they do not have the same parent"
                yield Fault(path, what, f"Name one of {listed(siblings)}" if siblings else "Remove it: there are no siblings")
            elif table.sees.index(seen) != i:
                yield Fault(path, f"{seen} is listed twice", "Keep one of them")


_WAYS = (
    "Add an identifier, a position within the parent, or a strictly increasing time (`after: previous.…`, `strict: true`) "
    "together with the foreign key; or leave the key out"
)


def find_keys(layout: Layout) -> Iterator[Fault]:
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
