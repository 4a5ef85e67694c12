"""Between which days a date is thought to lie of which nothing was learned: what the schema says of all that is recorded.

Public facts alone. A date that others follow within so many years (a birth) may lie so much before all that is recorded.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import MINYEAR, date, timedelta

from mare.schema import Schema
from mare.schema.columns import Ordinal
from mare.schema.determined import PARENT_ROW, SAME_ROW
from mare.schema.layout import Layout
from mare.schema.strict import parse_span

Days = tuple[date | None, date | None]


def usual_days(schema: Schema, table: str, column: str) -> Days:
    """The first and the last; None where nothing says it."""
    calendar = schema.calendar
    if calendar is None:
        return None, None
    first = calendar.min
    if first is not None:
        ages = max(_followed_within(schema, table, column), default=timedelta(0))
        first -= min(ages, first - date(MINYEAR, 1, 1))
    return first, calendar.max


def _followed_within(schema: Schema, table: str, column: str) -> Iterator[timedelta]:
    """How long after this column others come at most."""
    layout = Layout(schema)
    for below, _, follower, _ in layout.described_columns:
        if not isinstance(follower, Ordinal):
            continue
        first = None if follower.first is None else follower.first.within
        lengths = {"after": follower.within, "during.0": follower.within, "first.after": first}
        for field, anchor in follower.anchors.items():
            home = {SAME_ROW: below, PARENT_ROW: layout.parent_name(below)}.get(anchor.scope, anchor.scope)
            length = lengths.get(field)
            if (home, anchor.column) == (table, column) and isinstance(length, str):
                yield parse_span(length)
