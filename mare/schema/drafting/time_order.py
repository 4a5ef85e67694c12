"""Which times follow which, so that order holds by construction: ends after starts, each row after the one before."""

from __future__ import annotations

from datetime import date

from mare.schema.reflection import ReflectedColumn, ReflectedTable

from .bounds import known_bounds
from .drafted import Fields, FieldValue, Note, review
from .public_facts import PublicFacts
from .twins import twins
from .words import is_beside_calendar, is_birth, is_time, words

_PAIRS = (
    ("start", "end"), ("start", "stop"), ("start", "finish"), ("begin", "end"), ("admit", "disch"), ("admit", "discharge"),
    ("admitted", "discharged"), ("admission", "discharge"), ("in", "out"), ("reg", "out"), ("from", "to"), ("from", "thru"),
    ("from", "until"), ("open", "close"), ("opened", "closed"), ("enter", "exit"), ("onset", "resolution"),
    ("onset", "abatement"), ("birth", "death"), ("order", "ship"), ("enrolled", "disenrolled"), ("effective", "expiration"),
)  # fmt: skip
_LATER = (
    "return", "end", "stop", "finish", "clos", "due", "expir", "ship", "deliver", "paid", "pay", "settl", "resol", "disch",
    "complet", "approv", "cancel", "terminat", "until", "store", "verif", "receiv", "answer", "respon", "arriv", "releas",
    "decid", "decision", "require", "dropoff", "checkout", "thru", "left", "leav", "withdraw",
)  # fmt: skip
"""Words of what happens to a thing once it has begun: nothing comes back before it was lent."""
_STAGES = (("ship", "dispatch", "sent"), ("deliver", "receiv", "arriv"), ("return", "refund"))
_LIFE = ("birth", "dob", "born")
_BEGINNINGS = (
    "diagnos", "enrol", "regist", "inclu", "consent", "index", "baseline", "entry", "entered", "admit", "admission", "start",
    "onset", "began", "begin", "created", "referr", "random", "since", "joined", "signup", "sign_up", "opened", "opening",
)  # fmt: skip
"""Words of a person's dates that what happens to them hardly precedes."""
_ENDINGS = ("end", "last", "exit", "stop", "disch", "clos", "updat", "modif")
_DEATHS = ("death", "dod", "deceased", "died")
_LASTING = (
    "period", "era", "coverage", "enrol", "member", "employ", "contract", "polic", "subscri", "account", "loan", "lease",
    "treatment", "therap", "marriage", "residen", "job", "insur", "study", "trial",
)  # fmt: skip
"""Words of what goes on for years."""
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
) -> dict[str, tuple[Fields, tuple[Note, ...]]]:
    """Column → the fields that tie it to another, and what to review.

    ``order`` is the order column of a sequence, ``above`` the time above it that its first row follows (`parent.admittime`);
    ``strict`` where the order is a part of the key, so that no two rows may be equal.
    """
    tied: dict[str, tuple[Fields, tuple[Note, ...]]] = {}
    declared = {(rule.before, rule.after): rule.strict for rule in table.orders}
    pairs = intervals(table)
    for start, end in pairs:
        tied[end] = _after(table, start, end, declared.get((start, end)), depth, facts)
    birth = next((column.name for column in _moments(table) if is_birth(column.name)), None)
    following = _in_sequence(table, order, pairs, depth, above, strict, facts) if order is not None else None
    if order is not None and order not in tied and following is not None:
        tied[order] = following
    span = main_interval(table)
    begins = order or (span[0] if span is not None else _beginning(table))
    for column in _moments(table):
        if column.name in (*tied, begins):
            continue
        if birth is not None and any(word in column.name.casefold() for word in _DEATHS):
            tied[column.name] = ({"after": birth, "within": "120y"}, (Note(f"never before {birth}"),))
        elif begins is not None and _comes_later(table, begins, column):
            tied[column.name] = _after(table, _stage_before(table, column) or begins, column.name, None, depth, facts)
    for twin in twins(table).values():
        tied[twin.name] = (twin.fields, (Note(f"the day of {twin.of}, by its name" if twin.is_day else f"within {twin.of}"),))
    return tied


def _comes_later(table: ReflectedTable, start: str, column: ReflectedColumn) -> bool:
    begins = table.column(start)
    parts = words(column.name)
    late = any(part.startswith(_LATER) for part in parts) or any(word in column.name.casefold() for word in _DEATHS)
    if begins is None or begins.kind not in ("date", "datetime") or is_birth(start) or column.kind not in ("date", "datetime"):
        return False
    return late and not any(part.startswith(_LATER) for part in words(start))


def _stage_before(table: ReflectedTable, column: ReflectedColumn) -> str | None:
    """Of a thing that goes through stages, the column of the one before: nothing is delivered before it was shipped."""
    stage = _stage(column.name)
    earlier = [(_stage(other.name), other.name) for other in _moments(table) if other.kind == column.kind]
    before = [(at, name) for at, name in earlier if 0 <= at < stage]
    return max(before)[1] if before else None


def _stage(name: str) -> int:
    return next((at for at, stage in enumerate(_STAGES) if any(part.startswith(stage) for part in words(name))), -1)


def _beginning(table: ReflectedTable) -> str | None:
    """Where rows have no order: the one date that their record begins with."""
    begins = [column.name for column in _moments(table) if _begins(column.name) and not is_birth(column.name)]
    return begins[0] if len(begins) == 1 else None


def start_of(table: ReflectedTable, order: str | None, tells_nullability: bool) -> str | None:
    """The time that a row begins at: what the first row of a child may follow. Of a person: the birth, or what a record of them
    begins with. Never NULL."""
    known = [column for column in table.columns if not (column.nullable and tells_nullability)]
    moments = [column.name for column in known if column.kind in ("date", "datetime")]
    births = [name for name in moments if any(word in name.casefold() for word in _LIFE)]
    interval = main_interval(table, order)
    starts = births or [name for name in (interval[0] if interval else None, order) if name in moments]
    starts = starts or [name for name in moments if _begins(name)]
    return starts[0] if starts else None


def _after(
    table: ReflectedTable, start: str, end: str, strict: bool | None, depth: int, facts: PublicFacts
) -> tuple[Fields, tuple[Note, ...]]:
    column = table.column(end)
    numeric = column is not None and column.kind in ("integer", "number")
    declared = strict is not None
    fields: dict[str, FieldValue] = {"after": start}
    if not numeric:
        life = any(word in start.casefold() for word in _LIFE)
        future = is_beside_calendar(end)
        long = any(word.startswith(_LASTING) for word in (*words(table.name), *words(end)))
        dies = depth == 0 and any(word in end.casefold() for word in _DEATHS)
        near = _longest_gap(facts, 1) if long or dies else "365d" if depth <= 2 else "30d"
        fields["within"] = "120y" if life else "10y" if future else near
        if future:
            last = facts.calendar[1]
            fields["max"] = date(last.year + 10, last.month, min(last.day, 28))
        if not life and column is not None and column.kind == "datetime":
            fields["scale"] = "log"
    if strict:
        fields["strict"] = True
    reason = "a CHECK orders them" if declared else f"never before {start}, by its name"
    bound = f"; cut at {fields['within']}" if "within" in fields else ""
    notes = [Note(reason + bound, not declared or not numeric, "times")]
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
    """Each row after the one before. Numbers whose bounds nobody knows are left as they are: their order is looked at alone."""
    column = table.column(order)
    fields: dict[str, FieldValue] = {"after": f"previous.{order}"}
    strictly: dict[str, FieldValue] = {"strict": True} if strict else {}
    if column is None or column.kind not in ("date", "datetime"):
        known = known_bounds(column, facts) if column is not None else None
        if known is None:
            return None
        low, high = known[0]["min"], known[0]["max"]
        assert isinstance(low, (int, float))
        assert isinstance(high, (int, float))
        return {**fields, "within": high - low, **strictly, "first": known[0]}, (Note("never before the row above it"),)
    fields |= {"within": (gap := _longest_gap(facts, depth)), **strictly}
    notes = [Note(f"the first row lies within the calendar; gaps are cut at {gap}")]
    if above is not None:
        near = gap if above.startswith("parent.") else _longest_gap(facts, 1)
        reach = "120y" if any(word in above.casefold() for word in _LIFE) else near
        fields["first"] = {"after": above, "within": reach}
        notes = [review(f"gaps are cut at {gap}; the first row is taken to follow {above}, within {reach}", "times")]
    end = next((end for start, end in pairs if start == order), None)
    if end is not None:
        notes.append(Note(f"if rows never overlap: after: previous.{end}"))
    return fields, tuple(notes)


def after_above(above: str, facts: PublicFacts) -> tuple[Fields, tuple[Note, ...]]:
    """The time of a row that stands alone under its parent: a death after a birth."""
    reach = "120y" if any(word in above.casefold() for word in _LIFE) else _longest_gap(facts, 1)
    return {"after": above, "within": reach}, (review(f"taken to follow {above}, within {reach}", "times"),)


def _longest_gap(facts: PublicFacts, depth: int) -> str:
    """Between two rows of a person: as long as the data goes, up to 20 years; further down, a year."""
    first, last = facts.calendar
    years = min(20 if depth <= 1 else 1, (last - first).days // 365 + 1)
    return f"{years}y" if depth <= 1 else "365d"


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


def _begins(name: str) -> bool:
    """Whether a person's date is one that a record of them begins with: `enrolled`, not `enrolment_end`."""
    late = any(word.startswith(_ENDINGS) for word in words(name)) or any(word in name.casefold() for word in _DEATHS)
    return not late and (words(name) == ("date",) or any(word in name.casefold() for word in _BEGINNINGS))


def _moments(table: ReflectedTable) -> list[ReflectedColumn]:
    """Dates and moments, each once: the twin of another one is none of its own."""
    followers = twins(table)
    return [column for column in table.columns if _is_moment(column) and column.name not in followers]


def _is_moment(column: ReflectedColumn) -> bool:
    return column.kind in ("date", "datetime") or (column.kind == "unknown" and is_time(column.name))
