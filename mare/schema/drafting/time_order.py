"""Which times follow which, so that order holds by construction: ends after starts, each row after the one before."""

from __future__ import annotations

from datetime import date

from mare.schema.reflection import ReflectedColumn, ReflectedTable

from .bounds import MADE_UP, sequence_bounds
from .drafted import Fields, FieldValue, Note, review
from .people import is_birth, is_death
from .public_facts import PublicFacts
from .row_dates import begins_record, earlier_in_row, follows_diagnosis, is_diagnosis, is_exit, is_year
from .twins import twins
from .words import is_beside_calendar, is_time, words

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
Tied = dict[str, tuple[Fields, tuple[Note, ...]]]
"""By column, the fields that tie it to another, and what to review."""
_MOVES = ("transfer", "movement", "bed", "ward")


def intervals(table: ReflectedTable) -> tuple[tuple[str, str], ...]:
    """Pairs of columns, start and end, by a CHECK that orders them or by their names."""
    pairs = [(order.before, order.after) for order in table.orders]
    ends = {end for _, end in pairs}
    times = _moments(table)
    for start in times:
        for end in times:
            if end.name not in ends and _follows(start, end):
                pairs.append((start.name, end.name))
                ends.add(end.name)
    return tuple(pairs)


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
    declared = {(rule.before, rule.after): rule.strict for rule in table.orders}
    pairs = intervals(table)
    for start, end in pairs:
        if is_birth(start) and (start, end) not in declared:
            continue  # a death may follow more than a birth
        tied[end] = _after(table, start, end, declared.get((start, end)), depth, facts)
    following = _in_sequence(table, order, pairs, depth, above, strict, facts) if order is not None else None
    if order is not None and order not in tied and following is not None:
        tied[order] = following
    moments = [*_moments(table), *(column for column in table.columns if is_year(column))]
    for column in moments:
        earlier = earlier_in_row(moments, column, order) if column.name not in (*tied, order) else None
        if earlier is not None and not _leads_to(tied, earlier, column.name):
            tied[column.name] = _after(table, earlier, column.name, None, depth, facts, lasting=depth == 0)
    for name, (fields, notes) in tied.items():
        ends = [end for end, (others, _) in tied.items() if is_exit(end) and others.get("after") == fields.get("after")]
        if is_death(name) and ends:
            tied[name] = fields, (*notes, Note(f"if nobody dies after they have left: before: {ends[0]}, too"))
    for twin in twins(table).values():
        tied[twin.name] = (twin.fields, (Note(f"the day of {twin.of}, by its name" if twin.is_day else f"within {twin.of}"),))
    return tied


def unordered_times(table: ReflectedTable, happens: str | None, tied: Tied, facts: PublicFacts) -> Tied:
    """The times of a row whose order nothing tells: each near the one that the row ``happens`` at, before or after it. Drawn each
    on its own they would be days apart (a flight's planned and real departure)."""
    alone = [c for c in _moments(table) if c.kind in ("date", "datetime") and not is_birth(c.name)]
    alone = [c for c in alone if c.name == happens or not (c.name in tied or is_beside_calendar(c.name))]
    names = [c.name for c in sorted(alone, key=lambda c: (c.name != happens, c.nullable))]
    around = [name for name in names[1:] if not _leads_to(tied, names[0], name)]
    if not around:
        return {}
    note = f"{', '.join(around)}: before or after {names[0]}, nothing tells which; if never before it: after: {names[0]}"
    fields: Fields = {"around": names[0], "within": _longest_life(facts)}
    return {name: (fields, (Note(note),) if name == around[0] else ()) for name in around}


def _leads_to(tied: Tied, start: str, column: str) -> bool:
    """Whether a date depends on a column, through any number of others: two cannot follow each other."""
    while start in tied and start != column:
        start = str(tied[start][0].get("after", ""))
    return start == column


def start_of(table: ReflectedTable, order: str | None, tells_nullability: bool, below: str) -> str | None:
    """The time that a row begins at: what the first row of a child (``below``) may follow. Of a person: the birth, or what a
    record of them begins with. Never NULL."""
    known = [column for column in table.columns if not (column.nullable and tells_nullability)]
    moments = [column.name for column in known if column.kind in ("date", "datetime")]
    fell_ill = [name for name in moments if is_diagnosis(name) and follows_diagnosis(below)]
    births = fell_ill or [name for name in moments if is_birth(name)]
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
        future = is_beside_calendar(end)
        long = any(word.startswith(_LASTING) for word in (*words(table.name), *words(end)))
        near = _longest_gap(facts, 1) if long else "365d" if depth <= 2 else "30d"
        fields["within"] = "120y" if life else "10y" if future else _longest_life(facts) if lasting else near
        if future:
            last = facts.calendar[1]
            fields["max"] = date(last.year + 10, last.month, min(last.day, 28))
        if future and life:
            fields["min"] = facts.births[0]
        if not life and column is not None and column.kind == "datetime":
            fields["scale"] = "log"
    elif not declared:
        fields["within"] = 120 if is_birth(start) else facts.calendar[1].year - facts.calendar[0].year + 1
    if strict:
        fields["strict"] = True
    reason = "a CHECK orders them" if declared else f"never before {start}, by its name"
    bound = f"; cut at {fields['within']}" if "within" in fields else ""
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
        reach = "120y" if is_birth(above) else near
        fields["first"] = {"after": above, "within": reach}
        notes = [review(f"gaps are cut at {gap}; the first row is taken to follow {above}, within {reach}", "times")]
    end = next((end for start, end in pairs if start == order), None)
    if end is not None:
        notes.append(Note(f"if rows never overlap: after: previous.{end}"))
    return fields, tuple(notes)


def after_above(above: str, facts: PublicFacts) -> tuple[Fields, tuple[Note, ...]]:
    """The time of a row that stands alone under its parent: a death after a birth."""
    reach = "120y" if is_birth(above) else _longest_gap(facts, 1)
    return {"after": above, "within": reach}, (review(f"taken to follow {above}, within {reach}", "times"),)


def _longest_gap(facts: PublicFacts, depth: int) -> str:
    """Between two rows of a person: as long as the data goes, up to 20 years; further down, a year."""
    first, last = facts.calendar
    years = min(20 if depth <= 1 else 1, (last - first).days // 365 + 1)
    return f"{years}y" if depth <= 1 else "365d"


def _longest_life(facts: PublicFacts) -> str:
    """From one date of a person to another: as long as the data goes, up to a life."""
    first, last = facts.calendar
    return f"{min(120, (last - first).days // 365 + 1)}y"


def _follows(start: ReflectedColumn, end: ReflectedColumn) -> bool:
    if start.name == end.name or start.kind != end.kind:
        return False
    a, b = start.name.casefold(), end.name.casefold()
    for before, after in _PAIRS:
        if before in ("in", "from") and not _begins_word(start.name, before):
            continue
        if before in a and a.replace(before, after, 1) == b:
            return True
    return False


def _begins_word(name: str, prefix: str) -> bool:
    return any(word == prefix or word in (f"{prefix}time", f"{prefix}date", f"check{prefix}") for word in words(name))


def _moments(table: ReflectedTable) -> list[ReflectedColumn]:
    """Dates and moments, each once: the twin of another one is none of its own."""
    followers = twins(table)
    return [column for column in table.columns if _is_moment(column) and column.name not in followers]


def _is_moment(column: ReflectedColumn) -> bool:
    return column.kind in ("date", "datetime") or (column.kind == "unknown" and is_time(column.name))
