"""What is generated before what. Some table has to be made first: a cycle is refused by name, with the references that could
break it. And a table `sees` only the context of an earlier sibling."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise

from mare.schema.faults import Fault, Path
from mare.schema.layout import Layout
from mare.schema.wording import listed, no_table


@dataclass(frozen=True)
class _Before:
    """``first`` has to be made before ``then``, because of what stands at ``path``."""

    first: str
    then: str
    path: Path
    breakable: bool


def find(layout: Layout) -> Iterator[Fault]:
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
            if link.kind == "same_entity" and link.table != name:
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
