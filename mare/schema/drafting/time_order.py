"""Which times follow which, so that order holds by construction: ends after starts, each row after the one before, the
dates of one row in the order that everybody knows from their names (`row_dates`).
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import date

from mare.schema.reflection import ColumnOrder, ReflectedColumn, ReflectedTable

from .bounds import MADE_UP, sequence_bounds, years_before
from .drafted import Fields, FieldValue, Note, PublicFacts, review
from .name_words import (
    counts_nights,
    is_before_calendar,
    is_beside_calendar,
    is_elapsed,
    is_money,
    is_open_end,
    is_stored,
    is_time,
    words,
)
from .people import is_birth, is_death
from .row_dates import (
    begins_record,
    earlier_in_row,
    follows_diagnosis,
    is_day_of,
    is_diagnosis,
    is_exit,
    is_hiring,
    is_history,
    is_made,
    is_registered,
    is_stage_before,
    is_year,
    joined_words,
    twins,
)

_PAIRS = (
    ("start", "end"), ("start", "stop"), ("start", "finish"), ("begin", "end"), ("admit", "disch"), ("admit", "discharge"),
    ("admitted", "discharged"), ("admission", "discharge"), ("in", "out"), ("reg", "out"), ("from", "to"), ("from", "thru"),
    ("from", "until"), ("open", "close"), ("opened", "closed"), ("enter", "exit"), ("onset", "resolution"),
    ("onset", "abatement"), ("birth", "death"), ("order", "ship"), ("enrolled", "disenrolled"), ("effective", "expiration"),
)  # fmt: skip
_LASTING = (
    "period", "era", "coverage", "enrol", "member", "employ", "contract", "polic", "subscri", "account", "loan", "lease",
    "treatment", "therap", "marriage", "residen", "job", "insur", "study", "trial",
)  # fmt: skip
"""Words of what goes on for years."""
_STAYS = (
    "visit", "encounter", "admission", "stay", "icustay", "edstay", "hospital", "appointment", "session", "shift", "trip",
    "rental",
)  # fmt: skip
"""Words of what is over within days."""
_NEVER = ("9999-12-31", "9999-01-01", "2999-12-31", "2099-12-31")
"""Days that databases write for an end that there is not: whoever keeps them knows that they never come."""
_FUTURE = 10
"""Years that a date beside the calendar may lie after it."""
_MEMBERS, _AT_WORK = 20, 40
"""Years before the calendar that people of the data have come at most, and that somebody was hired. A century would be coarse: a
time after a birth lies somewhere between the earliest that it may be and the latest."""
Tied = dict[str, tuple[Fields, tuple[Note, ...]]]
"""By column, the fields that tie it to another, and what to review."""
_MOVES = ("transfer", "movement", "bed", "ward")


def intervals(table: ReflectedTable) -> tuple[tuple[str, str], ...]:
    """Pairs of columns, start and end, by a CHECK that orders them or by their names."""
    pairs = [(order.before, order.after) for order in table.orders if not order.seen]
    ends = {end for _, end in pairs}
    guests = any(counts_nights(column.name) for column in table.columns) or _has_guests(table.name)
    times = [*_moments(table), *(column for column in table.columns if _counts_time(column))]
    for start in times:
        for end in times:
            if end.name not in ends and (_follows(start, end) or (guests and _stays(start, end))):
                pairs.append((start.name, end.name))
                ends.add(end.name)
    return tuple(pairs)


def _has_guests(table: str) -> bool:
    parts = words(table)
    return any(word.startswith(_BOOKED) for word in parts) and not any(word.startswith(_FLIGHTS) for word in parts)


_BOOKED, _FLIGHTS = ("booking", "reserv", "stay", "hotel", "lodg"), ("flight", "air", "train", "bus", "ticket", "leg")


def _stays(start: ReflectedColumn, end: ReflectedColumn) -> bool:
    """A guest arrives and departs; a flight does it the other way round."""
    return start.kind == end.kind and words(start.name)[0].startswith("arriv") and words(end.name)[0].startswith("depart")


def main_interval(table: ReflectedTable, order: str | None = None) -> tuple[str, str] | None:
    """The interval that a row spans: the one that begins with the order column, or the first."""
    moments = {column.name for column in _moments(table)}
    spans = [pair for pair in intervals(table) if set(pair) <= moments]
    return next((pair for pair in spans if pair[0] == order), spans[0] if spans else None)


def relative_times(
    table: ReflectedTable, order: str | None, depth: int, facts: PublicFacts, above: str | None = None, strict: bool = False
) -> Tied:
    """Column → the fields that tie it to another, and what to review.

    ``order`` is the order column of a sequence, ``above`` the time above it that its first row follows (`parent.admittime`);
    ``strict`` where the order is a part of the key, so that no two rows may be equal.
    """
    tied: Tied = {}
    declared = {(rule.before, rule.after): rule.strict for rule in table.orders if not rule.seen}
    pairs = intervals(table)
    for start, end in pairs:
        if is_birth(start) and (start, end) not in declared:
            continue  # a death may follow more than a birth
        tied[end] = _after(table, start, end, declared.get((start, end)), depth, facts)
    following = _in_sequence(table, order, pairs, depth, above, strict, facts) if order is not None else None
    if order is not None and order not in tied and following is not None:
        tied[order] = following
    for rule in table.orders:
        if rule.seen:
            tied |= _as_seen(table, rule, order, tied, depth, facts)
    tied |= _booked_days(table, order, tied)
    moments = [*_moments(table), *(column for column in table.columns if is_year(column))]
    for column in moments:
        earlier = earlier_in_row(moments, column, order) if column.name not in (*tied, order) else None
        near = _record(table) if earlier is not None and is_birth(earlier) and "since" in words(column.name) else None
        if near is not None:
            note = Note(f"near {near}, when the record was made")
            tied[column.name] = {"around": near, "within": _longest_life(facts)}, (note,)
        elif earlier is not None and not _leads_to(tied, earlier, column.name):
            tied[column.name] = _after(table, earlier, column.name, None, depth, facts, lasting=depth == 0)
    for name, (fields, notes) in tied.items():
        ends = [end for end, (others, _) in tied.items() if is_exit(end) and others.get("after") == fields.get("after")]
        if is_death(name) and ends:
            tied[name] = fields, (*notes, Note(f"if nobody dies after they have left: before: {ends[0]}, too"))
    for twin in twins(table).values():
        tied[twin.name] = (twin.fields, (Note(f"the day of {twin.of}, by its name" if twin.is_day else f"within {twin.of}"),))
    return tied


def _booked_days(table: ReflectedTable, order: str | None, tied: Tied) -> Tied:
    """Days near what happens on them, or that near the day, where the day orders rows or the other may be missing."""
    booked: Tied = {}
    for day in _moments(table):
        for moment in _moments(table):
            if day.name == moment.name or not is_day_of(day.name, moment.name):
                continue
            checked = any(rule.after == day.name and not rule.seen for rule in table.orders)
            leads = day.name == order or checked or (moment.nullable and not day.nullable)
            near, other = (moment, day) if leads else (day, moment)
            if near.name != order and not _leads_to(tied, other.name, near.name):
                note = review(f"{'when' if leads else 'the day'} of {other.name}, or near it, by their names", "times")
                booked[near.name] = {"around": other.name, "within": "365d"}, (note,)
    return booked


def _record(table: ReflectedTable) -> str | None:
    """When the record of a row was made, where that is always known."""
    return next((c.name for c in _moments(table) if not c.nullable and is_made(c.name)), None)


def _as_seen(table: ReflectedTable, rule: ColumnOrder, order: str | None, tied: Tied, depth: int, facts: PublicFacts) -> Tied:
    """What was never less than another in all rows that were looked at, where names tie it to nothing. When the row itself
    happens follows the row before, so what it follows in its own is before it."""
    sides = ("before", rule.before, rule.after) if rule.after == order else ("after", rule.after, rule.before)
    side, column, anchor = sides
    if column in tied or column == order or _leads_to(tied, anchor, column):
        return {}
    fields, _ = _after(table, anchor, column, None, depth, facts, lasting=True)
    others = {name: value for name, value in fields.items() if name != "after"}
    note = Note(
        f"never {'after' if side == 'before' else 'before'} {anchor} in all rows that were looked at: by its meaning?",
        True,
        "times",
    )
    return {column: ({side: anchor, **others}, (note,))}


def unordered_times(
    table: ReflectedTable, happens: str | None, tied: Tied, facts: PublicFacts, lacking: Collection[str] = ()
) -> Tied:
    """The times of a row whose order nothing tells: each near the one that the row ``happens`` at, before or after it. Drawn each
    on its own they would be days apart (a flight's planned and real departure). None is near one that many rows were seen to
    be ``lacking``."""
    alone = [c for c in _moments(table) if c.kind in ("date", "datetime") and not is_birth(c.name)]
    alone = [c for c in alone if c.name == happens or not (c.name in tied or is_beside_calendar(c.name))]
    names = [c.name for c in sorted(alone, key=lambda c: (c.name != happens, c.name in lacking, c.nullable))]
    free = [name for name in names[1:] if not _leads_to(tied, names[0], name)]
    before = [name for name in free if is_stage_before(name, names[0])]
    earlier: Tied = {
        name: ({"before": names[0], "within": "365d"}, (review(f"never after {names[0]}, by its name; cut at 365d", "times"),))
        for name in before
    }
    around = [name for name in free if name not in before]
    if not around or names[0] in lacking:
        return earlier
    note = f"{', '.join(around)}: before or after {names[0]}, nothing tells which; if never before it: after: {names[0]}"
    fields: Fields = {"around": names[0], "within": _longest_life(facts)}
    return {**earlier, **{name: (fields, (Note(note),) if name == around[0] else ()) for name in around}}


def _leads_to(tied: Tied, start: str, column: str) -> bool:
    """Whether a date depends on a column, through any number of others: two cannot follow each other."""
    while start in tied and start != column:
        start = str(tied[start][0].get("after", tied[start][0].get("before", "")))
    return start == column


def start_of(table: ReflectedTable, order: str | None, tells_nullability: bool, below: str) -> str | None:
    """The time that a row begins at: what the first row of a child (``below``) may follow. Of a person: when they were
    registered, the birth, or what a record of them begins with. Never NULL."""
    known = [column for column in table.columns if not (column.nullable and tells_nullability)]
    moments = [column.name for column in known if column.kind in ("date", "datetime")]
    began = [name for name in moments if (is_diagnosis(name) and follows_diagnosis(below)) or is_hiring(name)]
    births = began or [name for name in moments if is_birth(name)]
    if births and not began and not is_history(below):
        births = [name for name in moments if is_registered(name)][:1] or births
    interval = main_interval(table, order)
    starts = births or [name for name in (interval[0] if interval else None, order) if name in moments]
    starts = starts or [name for name in moments if begins_record(name)]
    return starts[0] if starts else None


def _after(
    table: ReflectedTable,
    start: str,
    end: str,
    strict: bool | None,
    depth: int,
    facts: PublicFacts,
    *,
    lasting: bool = False,
) -> tuple[Fields, tuple[Note, ...]]:
    """``lasting``: it may be as far from its start as the data is long."""
    column = table.column(end)
    numeric = column is not None and column.kind in ("integer", "number")
    declared = strict is not None
    fields: dict[str, FieldValue] = {"after": start}
    if not numeric:
        life = is_birth(start)
        past = is_before_calendar(end, of_people=depth == 0) and not is_stored(end)
        beside = past or is_beside_calendar(end)
        future = _FUTURE if beside and not past and not is_stored(end) else 0
        lasting |= is_stored(end) or any(word.startswith(_LASTING) for word in (*words(table.name), *words(end)))
        lasting |= column is not None and endures(table.name, column, depth)
        # A CHECK tells which comes first, and nothing of how soon the other one follows.
        lasting |= declared and column is not None and column.kind == "date" and not _is_stay(table.name, column.name)
        lasting |= is_death(end) and depth == 0
        near = f"{future}y" if future else "365d" if depth <= 2 else "30d"
        # Where the start is NULL, its own anchor stands for it: the birth, long before the calendar.
        begun = table.column(start)
        open_start = begun is None or begun.nullable
        born = life or (lasting and depth == 0 and open_start and any(is_birth(other.name) for other in table.columns))
        fields["within"] = "120y" if born else _longest_life(facts, future) if lasting else near
        if beside:
            last = facts.calendar[1]
            fields["max"] = date(last.year + future, last.month, min(last.day, 28)) if future else last
            if is_stored(end):  # before somebody looked at the database
                fields["max"] = max(last, facts.today)
        if beside and life:
            years = _AT_WORK if is_hiring(end) else _MEMBERS
            fields["min"] = max(facts.births[0], years_before(facts.calendar[0], years)) if past else facts.births[0]
        if not life and column is not None and column.kind == "datetime":
            fields["scale"] = "log"
    elif not declared and column is not None and is_year(column):
        fields["within"] = 120 if is_birth(start) else facts.calendar[1].year - facts.calendar[0].year + 1
    if strict:
        fields["strict"] = True
    reason = "a CHECK orders them" if declared else f"never before {start}, by its name"
    bound = f"; cut at {fields['within']}" if "within" in fields else ""
    bound += f", and on {fields['min']}, long before the data begins" if "min" in fields else ""
    notes = [Note(reason + bound, not is_birth(start) and (not declared or not numeric), "times")]
    if any(word in table.name.casefold() for word in _MOVES):
        notes.append(Note(f"if it is always the next row's {start}: determined: {{next: {start}}}"))
    return fields, tuple(notes)


def _in_sequence(
    table: ReflectedTable,
    order: str,
    pairs: tuple[tuple[str, str], ...],
    depth: int,
    above: str | None,
    strict: bool,
    facts: PublicFacts,
) -> tuple[Fields, tuple[Note, ...]] | None:
    """Each row after the one before."""
    column = table.column(order)
    fields: dict[str, FieldValue] = {"after": f"previous.{order}"}
    strictly: dict[str, FieldValue] = {"strict": True} if strict else {}
    if column is None or column.kind not in ("date", "datetime"):
        known = sequence_bounds(column, facts) if column is not None else None
        if column is None or known is None:
            return None
        bounds, why, sure = known
        low, high = bounds["min"], bounds["max"]
        assert isinstance(low, (int, float))
        assert isinstance(high, (int, float))
        note = Note(f"never before the row above it; {why}", not sure, "times")
        fields |= {"within": high - low, **strictly}
        if why != MADE_UP:
            return {**bounds, **fields}, (note,)
        # A made-up range is no end that rows would have to share, and too wide to tell how fine the values are.
        fine: dict[str, FieldValue] = {"precision": 3} if column.kind == "number" and column.precision is None else {}
        return {**fine, **fields, "first": bounds}, (note,)
    fields |= {"within": (gap := _longest_gap(facts, depth)), **strictly}
    notes = [Note(f"the first row lies within the calendar; gaps are cut at {gap}")]
    if above is not None:
        near = gap if above.startswith("parent.") else _longest_gap(facts, 1)
        reach = "120y" if is_birth(above.partition(".")[2]) else near
        fields["first"] = {"after": above, "within": reach}
        notes = [review(f"gaps are cut at {gap}; the first row is taken to follow {above}, within {reach}", "times")]
    end = next((end for start, end in pairs if start == order), None)
    if end is not None:
        notes.append(Note(f"if rows never overlap: after: previous.{end}"))
    return fields, tuple(notes)


def after_above(above: str, facts: PublicFacts) -> tuple[Fields, tuple[Note, ...]]:
    """The time of a row that stands alone under its parent: a death after a birth."""
    reach = "120y" if is_birth(above.partition(".")[2]) else _longest_gap(facts, 1)
    return {"after": above, "within": reach}, (review(f"taken to follow {above}, within {reach}", "times"),)


def settles(table: str) -> bool:
    """Whether rows of a table may well tell what was done after a death: bills that were paid, honours that were given."""
    return any(word.startswith(_SETTLED) for word in words(table)) or is_death(table) or is_money(table)


def is_part(table: str) -> bool:
    """Whether rows are parts of what they belong to, by their name: a session of a course. A result, a bill or a prescription may
    well come before it or after it."""
    return any(word.startswith(_PARTS) for word in words(table)) and not settles(table)


_PARTS = (
    "session", "dose", "dosing", "fraction", "cycle", "administ", "infusion", "transfer", "move", "ward", "bed", "stay", "icu",
    "round", "lesson", "class", "attendance", "shift", "leg", "segment", "trip", "night", "usage", "service", "treatment",
    "activit", "step", "phase", "stage", "sitzung", "seance", "sesion", "sessao",
)  # fmt: skip
"""Words of what happens while something else goes on."""
_SETTLED = (
    "claim", "bill", "invoice", "payment", "payout", "autops", "estate", "inherit", "cause", "hall", "honour", "honor",
)  # fmt: skip


def _longest_gap(facts: PublicFacts, depth: int) -> str:
    """Between two rows of a person: as long as the data goes, up to 20 years; further down, a year."""
    first, last = facts.calendar
    years = min(20 if depth <= 1 else 1, (last - first).days // 365 + 1)
    return f"{years}y" if depth <= 1 else "365d"


def _longest_life(facts: PublicFacts, more: int = 0) -> str:
    """From one date of a person to another: as long as the data goes, and so many years ``more``, up to a life."""
    first, last = facts.calendar
    return f"{min(120, (last - first).days // 365 + 1 + more)}y"


def endures(table: str, column: ReflectedColumn, depth: int) -> bool:
    """Whether an end may be as far from its start as the data is long: a contract; not a stay, nor what is timed within one."""
    long = column.kind == "date" or (column.kind == "datetime" and depth <= 1)
    return is_open_end(column.name) and long and not _is_stay(table, column.name)


def _is_stay(table: str, column: str) -> bool:
    return any(word.startswith(_STAYS) for word in (*words(table), *words(column)))


def days_that_never_come(column: ReflectedColumn, facts: PublicFacts) -> tuple[str, ...]:
    """What stands for an end that there is not, beyond all days that the column may hold."""
    last = facts.calendar[1].year + _FUTURE
    never = tuple(day for day in _NEVER if date.fromisoformat(day).year > last)
    return (*never, f"{_NEVER[0]} 23:59:59") if column.kind == "datetime" else never


def _follows(start: ReflectedColumn, end: ReflectedColumn) -> bool:
    numbers = start.kind in _NUMBERS and end.kind in _NUMBERS
    if start.name == end.name or not (numbers or start.kind == end.kind):
        return False
    a, b = joined_words(start.name), joined_words(end.name)
    for before, after in _PAIRS:
        if before in ("in", "from") and not _begins_word(start.name, before):
            continue
        if before in a and a.replace(before, after, 1) == b:
            return True
    return False


def _counts_time(column: ReflectedColumn) -> bool:
    """A number that says when something began or ended: `start_day`, `ivstart`; not a `start_latitude`."""
    named = joined_words(column.name).endswith(_ENDS_OF_SPANS) or is_elapsed(column.name) or is_year(column)
    return column.kind in _NUMBERS and named and any(word in joined_words(column.name) for word in _ENDS_OF_SPANS)


_NUMBERS = ("integer", "number")
_ENDS_OF_SPANS = ("start", "begin", "end", "stop", "finish", "admit", "disch", "discharge")


def _begins_word(name: str, prefix: str) -> bool:
    return any(word == prefix or word in (f"{prefix}time", f"{prefix}date", f"check{prefix}") for word in words(name))


def _moments(table: ReflectedTable) -> list[ReflectedColumn]:
    """Dates and moments, each once: the twin of another one is none of its own."""
    followers = twins(table)
    return [column for column in table.columns if _is_moment(column) and column.name not in followers]


def _is_moment(column: ReflectedColumn) -> bool:
    return column.kind in ("date", "datetime") or (column.kind == "unknown" and is_time(column.name))
