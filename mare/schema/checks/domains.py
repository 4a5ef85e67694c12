"""What the declaration of each column contradicts or leaves open. Each type says so itself (`mare.schema.columns`)."""

from __future__ import annotations

from collections.abc import Iterator

from mare.schema.columns import Column
from mare.schema.faults import Fault, Path
from mare.schema.layout import Layout
from mare.schema.structure import members_of
from mare.schema.wording import listed, unsettled


def find(layout: Layout) -> Iterator[Fault]:
    for name, table in layout.described:
        for column, described in table.columns.items():
            path: Path = ("tables", name, "columns", column)
            yield from described.faults(layout, name, path)
            if not described.settled:
                types = [t for t in members_of(Column) if t != described.type]
                yield unsettled((*path, "type"), "nobody has said what this column holds", f"Write one of {listed(types)}")
