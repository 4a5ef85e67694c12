"""Which times follow which, so that order holds by construction: ends after starts, each row after the one before."""

from __future__ import annotations

from mare.schema.reflection import ReflectedColumn, ReflectedTable

from .drafted import Fields, FieldValue, Note, review
from .words import is_time, words

_PAIRS = (
    ("start", "end"), ("start", "stop"), ("start", "finish"), ("begin", "end"), ("admit", "disch"), ("admit", "discharge"),
    ("admitted", "discharged"), ("admission", "discharge"), ("in", "out"), ("reg", "out"), ("from", "to"), ("from", "thru"),
    ("from", "until"), ("open", "close"), ("opened", "closed"), ("enter", "exit"), ("onset", "resolution"),
    ("onset", "abatement"), ("birth", "death"), ("order", "ship"), ("enrolled", "disenrolled"), ("effective", "expiration"),
)  # fmt: skip
_LIFE = ("birth", "dob")
_BEGINNINGS = (
    "diagnos", "enrol", "regist", "inclu", "consent", "index", "baseline", "entry", "entered", "admit", "admission", "start",
    "onset", "began", "begin", "created", "referr", "random", "since", "joined", "signup", "sign_up",
)  # fmt: skip
"""Words of a person's dates that what happens to them hardly precedes."""
_ENDINGS = ("end", "last", "exit", "stop", "disch", "clos", "updat", "modif")
_DEATHS = ("death", "dod", "deceased", "died")
_MOVES = ("transfer", "movement", "bed", "ward")


def intervals(table: ReflectedTable) -> tuple[tuple[str, str], ...]:
    """Pairs of columns, start and end, by a CHECK that orders them or by their names."""
    pairs = [(order.before, order.after) for order in table.orders]
    ends = {end for _, end in pairs}
    times = [column for column in table.columns if _is_moment(column)]
    for start in times:
        for end in times:
            if end.name not in ends and _follows(start, end):
                pairs.append((start.name, end.name))
                ends.add(end.name)
    return tuple(pairs)


def main_interval(table: ReflectedTable, order: str | None = None) -> tuple[str, str] | None:
    """The interval that a row spans: the one that begins with the order column, or the first."""
    moments = {column.name for column in table.columns if _is_moment(column)}
    spans = [pair for pair in intervals(table) if set(pair) <= moments]
    return next((pair for pair in spans if pair[0] == order), spans[0] if spans else None)


def relative_times(
    table: ReflectedTable, order: str | None, depth: int, above: str | None = None, strict: bool = False
) -> dict[str, tuple[Fields, tuple[Note, ...]]]:
    """Column → the fields that tie it to another, and what to review.

    ``order`` is the order column of a sequence, ``above`` the time above it that its first row follows (`parent.admittime`);
    ``strict`` where the order is a part of the key, so that no two rows may be equal.
    """
    tied: dict[str, tuple[Fields, tuple[Note, ...]]] = {}
    declared = {(rule.before, rule.after): rule.strict for rule in table.orders}
    pairs = intervals(table)
    for start, end in pairs:
        tied[end] = _after(table, start, end, declared.get((start, end)), depth)
    if order is not None and order not in tied:
        tied[order] = _in_sequence(table, order, pairs, depth, above, strict)
    span = main_interval(table)
    for column in table.columns:
        if column.name not in tied and _is_moment(column) and span and any(w in column.name.casefold() for w in _DEATHS):
            start = span[0]
            note = review(f"never before {start}? cut at a year after it")
            tied[column.name] = ({"after": start, "within": "365d"}, (note,))
    return tied


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


def _after(table: ReflectedTable, start: str, end: str, strict: bool | None, depth: int) -> tuple[Fields, tuple[Note, ...]]:
    column = table.column(end)
    numeric = column is not None and column.kind in ("integer", "number")
    declared = strict is not None
    fields: dict[str, bool | str] = {"after": start}
    if not numeric:
        life = any(word in start.casefold() for word in _LIFE)
        fields["within"] = "120y" if life else "365d" if depth <= 2 else "30d"
        if not life and column is not None and column.kind == "datetime":
            fields["scale"] = "log"
    if strict:
        fields["strict"] = True
    reason = "a CHECK orders them" if declared else f"never before {start}, by its name"
    bound = f"; cut at {fields['within']}" if "within" in fields else ""
    notes = [Note(reason + bound, review=not declared or not numeric)]
    if any(word in table.name.casefold() for word in _MOVES):
        notes.append(Note(f"if it is always the next row's {start}: determined: {{next: {start}}}"))
    return fields, tuple(notes)


def _in_sequence(
    table: ReflectedTable, order: str, pairs: tuple[tuple[str, str], ...], depth: int, above: str | None, strict: bool
) -> tuple[Fields, tuple[Note, ...]]:
    column = table.column(order)
    fields: dict[str, FieldValue] = {"after": f"previous.{order}"}
    if column is None or column.kind not in ("date", "datetime"):
        fields |= {"strict": True} if strict else {}
        return fields, (review("first: {min: …, max: …} is missing: between which values does the first row lie?"),)
    fields["within"] = gap = "20y" if depth <= 1 else "365d"
    fields |= {"strict": True} if strict else {}
    notes = [review(f"first: {{min: …, max: …}} is missing: between which dates does the first row lie? Gaps are cut at {gap}")]
    if above is not None:
        reach = "120y" if any(word in above.casefold() for word in _LIFE) else gap
        fields["first"] = {"after": above, "within": reach}
        notes = [review(f"gaps are cut at {gap}; the first row is taken to follow {above}, within {reach}")]
    end = next((end for start, end in pairs if start == order), None)
    if end is not None:
        notes.append(Note(f"if rows never overlap: after: previous.{end}"))
    return fields, tuple(notes)


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
    return not late and any(word in name.casefold() for word in _BEGINNINGS)


def _is_moment(column: ReflectedColumn) -> bool:
    return column.kind in ("date", "datetime") or (column.kind == "unknown" and is_time(column.name))
