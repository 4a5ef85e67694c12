"""Which values of a schema are known never to lie after others: what "order by construction" can rest on.

The checks ask it about two anchors of one value. It follows what is written (`after`, `before`, `during`, copies and the
bounds of values that stand for themselves) through the same row, the row before it and the rows above.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeGuard

from .columns import Ordinal
from .layout import Layout
from .moments import is_more
from .relative import PARENT_ROW, PREVIOUS_ROW, SAME_ROW, Anchor

Value = tuple[str, str]
"""Whose row (`""`, `previous` or a table above) and which column of it."""


def crossing(layout: Layout) -> frozenset[tuple[str, str]]:
    """The (table, column) pairs whose two anchors may stand in the wrong order, for all that the schema says."""
    waiting = {(name, column) for name, table in layout.described for column, says in table.columns.items() if two_sided(says)}
    roomy: frozenset[tuple[str, str]] = frozenset()
    while found := {place for place in waiting if _has_room(layout, *place, roomy)}:
        roomy |= found
        waiting -= found
    return frozenset(waiting)


def two_sided(says: object) -> TypeGuard[Ordinal]:
    """Whether a value lies between two anchors."""
    return isinstance(says, Ordinal) and says.determined is None and None not in ends(says)


def ends(says: Ordinal) -> tuple[str | None, str | None]:
    """The two anchors, as written."""
    return says.during or (says.after, says.before)


def _has_room(layout: Layout, table: str, column: str, roomy: frozenset[tuple[str, str]]) -> bool:
    says = layout.schema.tables[table].columns[column]
    begin, end = ends(says) if two_sided(says) else (None, None)
    known = KnownOrder(layout, table, roomy)
    return begin is None or end is None or known.never_after(Anchor.parse(begin), Anchor.parse(end))


@dataclass(frozen=True)
class KnownOrder:
    """What is known to hold between the values that one row of a table can look at."""

    layout: Layout
    table: str
    roomy: frozenset[tuple[str, str]] = frozenset()
    """The (table, column) pairs between two anchors that are known to leave room: only these stay before the second."""

    def value(self, anchor: Anchor) -> Value | None:
        """The value that an anchor of this table means; None where it means none."""
        return self._named(SAME_ROW, self.table, anchor)

    def never_after(self, first: Anchor, second: Anchor) -> bool:
        """Whether every value of the first anchor is at most that of the second."""
        start, end = self.value(first), self.value(second)
        if start is None or end is None:
            return True  # told already
        return start == end or end in self._reached(start) or any(self._apart(v, end) for v in (start, *self._reached(start)))

    def _reached(self, start: Value) -> set[Value]:
        """All values that are never before this one."""
        later: dict[Value, set[Value]] = {}
        for low, high in self._pairs():
            later.setdefault(low, set()).add(high)
        found: set[Value] = set()
        waiting = [start]
        while waiting:
            new = later.get(waiting.pop(), set()) - found
            found |= new
            waiting += new
        return found

    def _pairs(self) -> Iterator[tuple[Value, Value]]:
        homes = [(SAME_ROW, self.table), *((above, above) for above in self.layout.ancestors(self.table))]
        if self.layout.is_sequence(self.table):
            homes.append((PREVIOUS_ROW, self.table))
        for whose, table in homes:
            if table in self.layout.schema.tables:
                for column, says in self.layout.schema.tables[table].columns.items():
                    if isinstance(says, Ordinal):
                        yield from self._of(whose, table, column, says)

    def _of(self, whose: str, table: str, column: str, says: Ordinal) -> Iterator[tuple[Value, Value]]:
        here: Value = (whose, column)
        if says.determined is not None:
            copied = says.determined.copy_of
            other = None if copied is None else self._named(whose, table, Anchor.parse(copied))
            if other is not None:
                yield from ((here, other), (other, here))
            return
        for field, anchor in says.anchors.items():
            other = self._named(whose, table, anchor)
            if other is None:
                continue
            if field in ("after", "during.0"):
                yield other, here
            elif field in ("before", "during.1"):
                # Where two anchors cross, a value keeps to the first. The row before is taken to be in order: by induction.
                if not two_sided(says) or whose == PREVIOUS_ROW or (table, column) in self.roomy:
                    yield here, other
            elif field == "first.after" and self._climbs(table, column, says):
                yield other, here

    def _climbs(self, table: str, column: str, says: Ordinal) -> bool:
        """Whether no row's value is before the first row's: each follows what is itself never before that row's value."""
        start = next((a for field, a in says.anchors.items() if field in ("after", "during.0")), None)
        if start is None or start.scope != PREVIOUS_ROW:
            return False
        seen, at = {column}, start.column
        while at not in seen:
            seen.add(at)
            followed = self.layout.schema.tables[table].columns.get(at)
            anchors = followed.anchors.items() if isinstance(followed, Ordinal) and followed.determined is None else ()
            at = next((a.column for field, a in anchors if field in ("after", "during.0") and a.scope == SAME_ROW), at)
        return at == column

    def _apart(self, low: Value, high: Value) -> bool:
        """Whether the declared bounds alone keep them apart. They hold for values without an anchor only."""
        first, second = self._alone(low), self._alone(high)
        if first is None or second is None:
            return False
        most, least = getattr(first, "max", None), getattr(second, "min", None)
        return most is not None and least is not None and type(most) is type(least) and not is_more(most, least)

    def _alone(self, value: Value) -> Ordinal | None:
        table = self.table if value[0] in (SAME_ROW, PREVIOUS_ROW) else value[0]
        says = self.layout.schema.tables[table].columns.get(value[1])
        return says if isinstance(says, Ordinal) and not says.anchors and says.determined is None else None

    def _named(self, whose: str, table: str, anchor: Anchor) -> Value | None:
        if anchor.scope == SAME_ROW:
            return whose, anchor.column
        if anchor.scope == PREVIOUS_ROW:
            return (PREVIOUS_ROW, anchor.column) if whose == SAME_ROW else None
        above = self.layout.ancestors(table)
        home = above[0] if anchor.scope == PARENT_ROW and above else anchor.scope
        return (home, anchor.column) if home in above and home in self.layout.schema.tables else None
