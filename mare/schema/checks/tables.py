"""Names: one thing has one name, and no two differ in case alone (databases would not tell them apart).

And what is generated before what. Some table has to be made first: a cycle is refused by name, with the references that could
break it. And a table `sees` only the context of an earlier sibling."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise

from mare.schema.columns.column import repeated
from mare.schema.faults import Fault, Path, listed, no_table
from mare.schema.layout import Layout


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
    while (loop := _loop(layout, edges)) is not None:
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


def _loop(layout: Layout, edges: list[_Before]) -> list[str] | None:
    graph: dict[str, list[str]] = {name: [] for name in layout.schema.tables}
    for edge in edges:
        graph.setdefault(edge.then, []).append(edge.first)
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return None


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
