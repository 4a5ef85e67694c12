"""Values that depend on other rows. Relative values: every anchor is there, comparable, and known before the value that depends
on it. Columns that repeat one fact (`same_for`): the row that it is about is there, and so is a place to draw it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from functools import cached_property

from mare.schema.columns import Column, Drift, Integer, Ordinal
from mare.schema.determined import PARENT_ROW, PREVIOUS_ROW, SAME_ROW, Anchor, FirstValue
from mare.schema.faults import Fault, Path, did_you_mean, listed, no_column, unsettled
from mare.schema.layout import ENTITY, PARENT, Layout, named_above
from mare.schema.strict import is_more, parse_span


def find(layout: Layout) -> Iterator[Fault]:
    for table, column, described, path in layout.described_columns:
        if isinstance(described, Ordinal):
            yield from _anchors(layout, table, column, described, path)
            yield from _together(described, path)
            yield from _distance(described, described.within, (*path, "within"))
            if described.first is not None:
                yield from _first(described, described.first, (*path, "first"))
    yield from _room(layout)


def anchor_path(column: Path, field: str) -> Path:
    """`during.0` and `first.after` are steps of the path."""
    return (*column, *(int(step) if step.isdigit() else step for step in field.split(".")))


def resolve(layout: Layout, table: str, anchor: Anchor, path: Path, *, previous: bool = True) -> str | Fault:
    """The table that an anchor's column is in, or the fault why it is not there."""
    above = layout.ancestors(table)
    scopes = [*(["previous"] if previous and layout.is_sequence(table) else []), *(["parent"] if above else []), *above]
    if anchor.scope == SAME_ROW:
        home = table
    elif anchor.scope == PREVIOUS_ROW and previous:
        if not layout.is_sequence(table):
            what = f"{table} is not a sequence, so there is no previous row"
            return Fault(path, what, "Write `type: sequential` and `order_by` in its parent, or name another anchor")
        home = table
    elif anchor.scope == PARENT_ROW and above:
        home = above[0]
    elif anchor.scope in above:
        home = anchor.scope
    else:
        also = f", or one of {listed(f'{s}.column' for s in scopes)}" if scopes else f": there is no row above {table}"
        remedy = f"Write a column of the same row{also}"
        return Fault(path, f"{anchor.scope} is no row that {table} can look at", remedy)
    if home not in layout.schema.tables:
        return Fault(path, f"{home} is held by no table, so it has no column {anchor.column}", "Name another anchor")
    known = layout.columns(home)
    return home if anchor.column in known else no_column(path, anchor.column, home, known)


def _anchors(layout: Layout, table: str, column: str, described: Ordinal, here: Path) -> Iterator[Fault]:
    for field, anchor in described.anchors.items():
        path = anchor_path(here, field)
        home = resolve(layout, table, anchor, path)
        if isinstance(home, Fault):
            yield home
            continue
        if field.startswith("first.") and anchor.scope in (SAME_ROW, PREVIOUS_ROW):
            remedy = f"Write parent.column or one of {listed(f'{t}.column' for t in layout.ancestors(table))}"
            yield Fault(path, "the first value depends on a row above", remedy)
        elif anchor.scope == SAME_ROW and anchor.column == column:
            yield Fault(path, f"{column} would depend on itself", f"Write previous.{column}, or another column")
        elif anchor.scope == PREVIOUS_ROW and field in ("before", "during.1", "around"):
            yield Fault(path, "a value comes after the previous row, not before it", "Write `after:` with previous.column")
        other = layout.schema.tables[home].columns.get(anchor.column)
        if other is not None and not other.settled:
            continue  # what it holds is asked for there
        if other is None or other.order != described.order:
            kind = "a key or reference" if other is None else f"a {other.type}"
            fitting = [c for c, d in layout.schema.tables[home].columns.items() if d.order == described.order]
            what = f"{anchor.column} is {kind}, which a {described.type} cannot be compared with"
            yield Fault(path, what, f"Name one of {listed(fitting)}")
        elif other.determined is not None and other.determined.next is not None:
            what = f"{anchor.column} is known only when the next row is, so nothing can depend on it"
            yield Fault(
                path, what, f"Write {anchor.scope + '.' if anchor.scope else ''}{other.determined.next}, or another column"
            )
        elif isinstance(other, Ordinal) and not field.startswith("first."):
            yield from _where_null(described, field, anchor, other, path)


def _where_null(described: Ordinal, field: str, anchor: Anchor, other: Ordinal, path: Path) -> Iterator[Fault]:
    """A NULL is no bound: then something else says how far a value may lie that is a part of what lies between two."""
    if not other.nullable or other.determined is not None or described.determined is not None:
        return
    if field == "around" and (described.min is None or described.max is None):
        what, remedy = f"{anchor} may be NULL, and nothing says where the value may lie then", "Write `min:` and `max:` here"
        yield unsettled((*path[:4], "min"), what, f"{remedy}, or `calendar: {{min: …, max: …}}` for the whole file")
    if both_ends(described) is None:
        return
    if field in ("before", "during.1"):
        alone = other.max is not None or (other.within is not None and (other.after is not None or other.during is not None))
        known, bound = described.max is not None or described.within is not None or alone, "max"
    else:
        known, bound = described.min is not None or other.min is not None or bool(other.anchors), "min"
    if not known:
        what = f"{anchor} may be NULL, and nothing says how {'late' if bound == 'max' else 'early'} the value may be then"
        yield unsettled((*path[:4], bound), what, f"Write `{bound}:` here, or `calendar: {{{bound}: …}}` for the whole file")


def _room(layout: Layout) -> Iterator[Fault]:
    """Between two anchors there has to be room: nothing may let the second lie before the first, for all that the schema says."""
    waiting = {(t, c): ends for t, c, described, _ in layout.described_columns if (ends := both_ends(described)) is not None}
    roomy: frozenset[tuple[str, str]] = frozenset()
    while proven := {place for place, ends in waiting.items() if KnownOrder(layout, place[0], roomy).never_after(*ends)}:
        roomy |= proven
        waiting = {place: ends for place, ends in waiting.items() if place not in proven}
    for (table, column), (begin, end) in sorted(waiting.items(), key=lambda item: item[0]):
        described = layout.schema.tables[table].columns[column]
        path: Path = ("tables", table, "columns", column, "before" if getattr(described, "before", None) else "during")
        if any(isinstance(resolve(layout, table, anchor, path), Fault) for anchor in (begin, end)):
            continue  # told already
        anchored = [anchored_at(layout, table, anchor) for anchor in (begin, end)]
        if Anchor("", column) in (begin, end) or any(other is not None and not other.settled for other in anchored):
            continue
        what = f"nothing says that {begin} is never after {end}, so there may be no room between them"
        remedy = f"Tie the two where they are described: {begin} with `before:` {end}, or {end} with `after:` {begin}"
        yield Fault(path, what, f"{remedy}; or keep one of the two anchors here, with `within:`")


def anchored_at(layout: Layout, table: str, anchor: Anchor) -> Column | None:
    home = resolve(layout, table, anchor, ())
    return None if isinstance(home, Fault) else layout.schema.tables[home].columns.get(anchor.column)


def _together(described: Ordinal, path: Path) -> Iterator[Fault]:
    """Which fields need which."""
    ordered = described.after is not None or described.before is not None or described.during is not None
    anchored = ordered or described.around is not None
    if described.during is not None and (described.after is not None or described.before is not None):
        yield Fault((*path, "during"), "`during` stands for `after` and `before`", "Keep `during`, or `after` and `before`")
    if described.around is not None and ordered:
        remedy = "Keep `around`, or the anchors that it comes after or before"
        yield Fault((*path, "around"), "`around` says that it may lie on either side of its anchor", remedy)
    if described.around is not None and described.strict:
        yield Fault((*path, "strict"), "`strict` is about an order, and `around` says none", "Remove one of the two")
    written = {"within": described.within is not None, "strict": described.strict, "first": described.first is not None}
    for field, is_written in written.items():
        if is_written and not anchored:
            yield Fault((*path, field), f"`{field}` is about an anchor, and there is none", "Write `after:` or remove it")
    one_sided = (described.after is None) != (described.before is None) and described.during is None
    if described.around is not None and described.within is None and described.determined is None:
        remedy = "Write `within:` (the furthest it can be, on either side, as in 30d)"
        yield unsettled((*path, "within"), "nothing says how far from its anchor it may lie", remedy)
    if one_sided and described.within is None and not described.learn and described.determined is None:
        remedy = "Write `within:` (the furthest it can be, as in 365d), or `learn: true` to learn it with budget"
        yield unsettled((*path, "within"), "nothing says how far from its anchor it may lie", remedy)
    start = described.during[0] if described.during is not None else described.after
    follows = start is not None and Anchor.parse(start).scope == PREVIOUS_ROW
    if described.first is not None and anchored and not follows:
        what = "`first` is about a sequence whose values follow the previous row"
        yield Fault((*path, "first"), what, "Write `after: previous.column`, or remove `first`")
    if follows and described.first is None and described.determined is None:
        remedy = "Write `first: {min: …, max: …}`, or `first: {after: parent.column, within: …}`"
        yield unsettled((*path, "first"), "the first row of a sequence has no previous one", remedy)


def _distance(described: Ordinal, within: str | int | float | None, path: Path) -> Iterator[Fault]:
    if within is None:
        return
    numeric = described.order == "number"
    if numeric and isinstance(within, str):
        yield Fault(path, f"the distance between numbers is a number, not {within}", "Write a number")
    elif not numeric and not isinstance(within, str):
        yield Fault(path, f"the distance between times is a span, not {within}", "Write one as in 30min, 12h, 365d or 20y")
    elif (parse_span(within).total_seconds() if isinstance(within, str) else within) <= 0:
        yield Fault(path, f"a distance of {within} leaves no room", "Write one above 0")


def _first(described: Ordinal, first: FirstValue, path: Path) -> Iterator[Fault]:
    yield from _distance(described, first.within, (*path, "within"))
    numeric = described.order == "number"
    wrong = False
    for field, value in (("min", first.min), ("max", first.max)):
        if value is None:
            continue
        if described.order in ("clock", "length"):
            wrong = True
            what = f"the first {described.type} of a sequence has no bounds of its own"
            yield Fault((*path, field), what, "Write `first: {after: parent.column, within: …}`")
        elif numeric == isinstance(value, date):
            wrong = True
            yield Fault((*path, field), f"{value} is no {described.type}", "Write a number" if numeric else "Write a date")
    if not wrong and first.min is not None and first.max is not None and is_more(first.min, first.max):
        yield Fault((*path, "min"), f"min {first.min} is more than max {first.max}", "Exchange them, or mend one of them")


# Which values are known never to lie after others: what "order by construction" can rest on. Asked about two anchors of one
# value, it follows what is written (`after`, `before`, `during`, copies and the bounds of values that stand for themselves)
# through the same row, the row before it and the rows above.

Value = tuple[str, str]
"""Whose row (`""`, `previous` or a table above) and which column of it."""


def both_ends(described: object) -> tuple[Anchor, Anchor] | None:
    """The two anchors that a value lies between, where it has two."""
    if not isinstance(described, Ordinal) or described.determined is not None:
        return None
    begin, end = described.during or (described.after, described.before)
    return None if begin is None or end is None else (Anchor.parse(begin), Anchor.parse(end))


@dataclass(frozen=True, eq=False)
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
        later, grown = {start}, True
        while grown:
            new = {high for low, high in self._pairs if low in later} - later
            later, grown = later | new, bool(new)
        return end in later or any(self._apart(value, end) for value in later)

    @cached_property
    def _pairs(self) -> list[tuple[Value, Value]]:
        """Of two values, the one that is never after the other first."""
        homes = [(SAME_ROW, self.table), *((above, above) for above in self.layout.ancestors(self.table))]
        homes += [(PREVIOUS_ROW, self.table)] if self.layout.is_sequence(self.table) else []
        held = [(whose, table) for whose, table in homes if table in self.layout.schema.tables]
        columns = ((*at, *column) for at in held for column in self.layout.schema.tables[at[1]].columns.items())
        return [pair for whose, table, name, d in columns if isinstance(d, Ordinal) for pair in self._of(whose, table, name, d)]

    def _of(self, whose: str, table: str, column: str, described: Ordinal) -> Iterator[tuple[Value, Value]]:
        here: Value = (whose, column)
        if described.determined is not None:
            copied = described.determined.copy_of
            other = None if copied is None else self._named(whose, table, Anchor.parse(copied))
            if other is not None:
                yield from ((here, other), (other, here))
            return
        for field, anchor in described.anchors.items():
            other = self._named(whose, table, anchor)
            if other is None:
                continue
            if field in ("after", "during.0"):
                yield other, here
            elif field in ("before", "during.1"):
                # Where two anchors cross, a value keeps to the first. The row before is taken to be in order: by induction.
                if both_ends(described) is None or whose == PREVIOUS_ROW or (table, column) in self.roomy:
                    yield here, other
            elif field == "first.after" and self._climbs(table, column, described):
                yield other, here

    def _climbs(self, table: str, column: str, described: Ordinal) -> bool:
        """Whether no row's value is before the first row's: each follows what is itself never before that row's value."""
        start = next((a for field, a in described.anchors.items() if field in ("after", "during.0")), None)
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
        described = self.layout.schema.tables[table].columns.get(value[1])
        return described if isinstance(described, Ordinal) and not described.anchors and described.determined is None else None

    def _named(self, whose: str, table: str, anchor: Anchor) -> Value | None:
        if anchor.scope == SAME_ROW:
            return whose, anchor.column
        if anchor.scope == PREVIOUS_ROW:
            return (PREVIOUS_ROW, anchor.column) if whose == SAME_ROW else None
        above = self.layout.ancestors(table)
        home = above[0] if anchor.scope == PARENT_ROW and above else anchor.scope
        return (home, anchor.column) if home in above and home in self.layout.schema.tables else None


def find_same(layout: Layout) -> Iterator[Fault]:
    for table, column, described, path in layout.described_columns:
        if described.same_for is not None:
            yield from _place(layout, table, column, described, described.same_for, (*path, "same_for"))
            yield from _drawn_once(layout, table, column, described, (*path, "same_for"))
        if isinstance(described, Integer) and described.drift is not None:
            yield from _drift(layout, table, described, described.drift, (*path, "drift"))
        if isinstance(described, Ordinal):
            for field, anchor in described.anchors.items():
                other = anchored_at(layout, table, anchor)
                if other is not None and other.same_for is not None:
                    what = f"{anchor.column} is the same in all rows (same_for), and is known only when they are"
                    yield Fault(anchor_path(path, field), what, "Name another anchor")


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
