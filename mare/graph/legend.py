"""The picture's legend: what each mark means, and which marks a schema needs at all."""

from __future__ import annotations

from collections.abc import Iterable

from .groups import ColumnGroup
from .routing import Route

LEGEND = {
    "context": "context: one row per parent row",
    "head": "head: comes first, picks a row to look at",
    "rows": "rows: one row per row",
    "number": "place in the order of generation",
    "tree": "foreign key; all to the left is history",
    "down": "generated after, looks at",
    "loop": "looks at so many previous rows",
    "item": "looks at the previous row of the item",
    "sees": "sees a sibling's context",
    "same_entity_position": "looks at the row it refers to",
    "same_entity_interval": "refers to a row by time: no history",
    "owned": "one more owner",
}
"""Mark → words, in the order in which they are listed."""
ROW, HEADING = 21.0, 30.0


def occurring(groups: Iterable[ColumnGroup], routes: Iterable[Route]) -> tuple[str, ...]:
    """The marks that the picture of these groups and lines holds."""
    found = {"number", *(route.wire.kind for route in routes)}
    parts: dict[str, set[str]] = {}
    for group in groups:
        found.add(group.part)
        parts.setdefault(group.table, set()).add(group.part)
        kinds = {h.kind for h in group.history}
        found |= {mark for mark, kind in (("loop", "previous"), ("item", "same_item")) if kind in kinds}
    if len(parts) > 1:
        found.add("tree")
    if any(len(found_parts) > 1 for found_parts in parts.values()):
        found.add("down")
    return tuple(mark for mark in LEGEND if mark in found)


def legend_height(marks: tuple[str, ...]) -> float:
    return HEADING + ROW * len(marks)
