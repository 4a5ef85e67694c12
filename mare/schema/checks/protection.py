"""`protect`: the attributes it names are there, and a network of one's own has no circle."""

from __future__ import annotations

from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter

from mare.schema.faults import Fault, Path
from mare.schema.layout import Layout
from mare.schema.relative import PARENT_ROW, PREVIOUS_ROW, SAME_ROW, Anchor

from .wording import no_column


def find(layout: Layout) -> Iterator[Fault]:
    for name, table in layout.described:
        if table.protect is None:
            continue
        here: Path = ("tables", name, "protect")
        known = [*table.columns, *(r for r in table.references if r not in table.columns)]
        for field, columns in (("sensitive", table.protect.sensitive), ("target", table.protect.target)):
            for i, column in enumerate(columns):
                if column not in known:
                    yield no_column((*here, field, i), column, name, known)
        network = table.protect.network
        for column, parents in network.items():
            if column not in known:
                yield no_column((*here, "network", column), column, name, known)
            for i, parent in enumerate(parents):
                yield from _parent(layout, name, known, parent, (*here, "network", column, i))
        try:
            TopologicalSorter({c: [p for p in ps if p in known] for c, ps in network.items()}).prepare()
        except CycleError as error:
            loop = " → ".join(error.args[1])
            yield Fault((*here, "network"), f"the network has a circle: {loop}", "Remove one of these arrows")


def _parent(layout: Layout, table: str, known: list[str], parent: str, path: Path) -> Iterator[Fault]:
    anchor = Anchor.parse(parent)
    if anchor.scope == SAME_ROW:
        if anchor.column not in known:
            also = "; of another row write previous.column, parent.column or table.column"
            yield no_column(path, anchor.column, table, known, also)
    elif anchor.scope not in (PREVIOUS_ROW, PARENT_ROW, *layout.ancestors(table), *layout.schema.tables[table].sees):
        scopes = ["previous", "parent", *layout.ancestors(table)]
        yield Fault(path, f"{anchor.scope} is no row that {table} looks at", f"Write one of {', '.join(scopes)} before the dot")
