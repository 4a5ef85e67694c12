"""Columns that repeat one fact (`same_for`): the row that it is a fact about is there, and so is a place to draw it."""

from __future__ import annotations

from collections.abc import Iterator

from mare.schema.columns import Column, Drift, Integer, Ordinal
from mare.schema.faults import Fault, Path, did_you_mean, listed
from mare.schema.layout import ENTITY, PARENT, Layout, named_above

from .anchors import anchor_path, anchored_at


def find(layout: Layout) -> Iterator[Fault]:
    for table, column, described, path in layout.described_columns:
        if described.same_for is not None:
            yield from _place(layout, table, column, described, described.same_for, (*path, "same_for"))
            yield from _drawn_once(layout, table, column, described, (*path, "same_for"))
        if isinstance(described, Integer) and described.drift is not None:
            yield from _drift(layout, table, described, described.drift, (*path, "drift"))
        if isinstance(described, Ordinal):
            yield from _anchored_at(layout, table, described, path)


def _place(layout: Layout, table: str, column: str, described: Column, same_for: str, path: Path) -> Iterator[Fault]:
    above = layout.ancestors(table)
    home = named_above(layout, table, same_for)
    if not above:
        yield Fault(path, f"there is no row above {table} that it could be the same for", "Remove it")
        return
    if home is None:
        allowed = (ENTITY, PARENT, *above)
        what = f"{same_for} is no table above {table}"
        yield Fault(path, what, f"{did_you_mean(same_for, allowed)}Write one of {listed(dict.fromkeys(allowed))}")
        return
    chain = (table, *above)
    holder = chain[chain.index(home) - 1]
    link = layout.schema.parent(holder)
    if layout.roles.get(holder) != "private" or link is None:
        what = f"{holder} is owned by {home}, so nothing says once for each of them what is the same"
        yield Fault(path, what, "Remove it")
    elif link.type == "associative":
        what = f"{holder} is associative: its context holds one column for each key, and none that is the same for all"
        yield Fault(path, what, f"Write `type: independent` or `sequential` in {holder}, or remove it")
    there = layout.schema.tables[home].columns.get(column) if home in layout.schema.tables else None
    if there is not None and there.type == described.type and there.settled:
        what = f"{home} has a column {column} too, which would be drawn once more"
        yield Fault(path, what, f"Write `determined: {{copy_of: {home}.{column}}}` instead; or call one of them otherwise")


def _drawn_once(layout: Layout, table: str, column: str, described: Column, path: Path) -> Iterator[Fault]:
    """What else is said of it would have it drawn row by row."""
    here, link = layout.schema.tables[table], layout.schema.parent(table)
    if not described.is_drawn:
        yield Fault(path, f"{column} is not drawn at all, so it is not drawn once", "Remove it")
    if isinstance(described, Ordinal) and (described.anchors or described.depends_on_items):
        what = f"{column} depends on other values of its row, so it is another one in each"
        yield Fault(path, what, "Give it bounds of its own (min and max, or learn), or remove it")
    keyed = any(column in names for names in here.unique_sets)
    ordered = link is not None and column in (link.order_by or ())
    if keyed or ordered:
        what = f"{column} {'orders the rows' if ordered else 'is part of a key'}, so it differs between them"
        yield Fault(path, what, "Remove it")
    if link is not None and column in (*link.derived, *(link.history_by or ())):
        what = f"{column} is drawn before the rest of each row (derived, history_by)"
        yield Fault(path, what, "Remove it, or remove it there")


def _drift(layout: Layout, table: str, described: Integer, drift: Drift, path: Path) -> Iterator[Fault]:
    if described.same_for is None:
        what = "`drift` is how far a value that is drawn once has moved on in a later row"
        yield Fault(path, what, "Write `same_for:` too, or remove it")
    if described.step != 1:
        yield Fault(path, f"it goes on in whole {drift.unit}, not in steps of {described.step}", "Remove `step`")
    times = [c for c, d in layout.schema.tables[table].columns.items() if d.has_day and d.determined is None]
    if drift.by not in times:
        what = f"{drift.by} is no modelled date or datetime of {table}"
        yield Fault((*path, "by"), what, f"{did_you_mean(drift.by, times)}Name one of {listed(times)}")


def _anchored_at(layout: Layout, table: str, described: Ordinal, path: Path) -> Iterator[Fault]:
    for field, anchor in described.anchors.items():
        other = anchored_at(layout, table, anchor)
        if other is not None and other.same_for is not None:
            what = f"{anchor.column} is the same in all rows (same_for), and is known only when they are"
            yield Fault(anchor_path(path, field), what, "Name another anchor")
