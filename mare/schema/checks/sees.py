"""`sees`: a table looks at the context of an earlier sibling."""

from __future__ import annotations

from collections.abc import Iterator

from mare.schema.faults import Fault
from mare.schema.layout import Layout

from .wording import listed, no_table


def find(layout: Layout) -> Iterator[Fault]:
    for name, table in layout.described:
        parent = layout.parent(name)
        siblings = [t for t in layout.schema.tables if t != name and parent is not None and layout.parent(t) == parent]
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
