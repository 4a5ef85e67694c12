"""Which times follow which, so that order holds by construction: ends after starts, each row after the one before."""

from __future__ import annotations

from collections.abc import Iterator

from mare.schema.reflection import ReflectedColumn, ReflectedTable

from .drafted import Fields, Note, review
from .names import is_time, words

_PAIRS = (
    ("start", "end"), ("start", "stop"), ("start", "finish"), ("begin", "end"), ("admit", "disch"), ("admit", "discharge"),
    ("admission", "discharge"), ("in", "out"), ("reg", "out"), ("from", "to"), ("from", "thru"), ("from", "until"),
    ("open", "close"), ("opened", "closed"), ("enter", "exit"), ("onset", "resolution"), ("onset", "abatement"),
    ("birth", "death"), ("order", "ship"), ("enrolled", "disenrolled"), ("effective", "expiration"),
)  # fmt: skip
_LIFE = ("birth", "dob")
_DEATHS = ("death", "dod", "deceased", "died")
_MOVES = ("transfer", "movement", "bed", "ward")


def intervals(table: ReflectedTable) -> tuple[tuple[str, str], ...]:
    """Pairs of columns, start and end, by a CHECK that orders them or by their names."""
    found = [(order.before, order.after) for order in table.orders]
    ends = {end for _, end in found}
    times = [column for column in table.columns if _is_moment(column)]
    for start in times:
        for end in times:
            if end.name not in ends and _follows(start, end):
                found.append((start.name, end.name))
                ends.add(end.name)
    return tuple(found)


def main_interval(table: ReflectedTable, order: str | None = None) -> tuple[str, str] | None:
    """The interval that a row spans: the one that begins with the order column, or the first."""
    moments = {column.name for column in table.columns if _is_moment(column)}
    found = [pair for pair in intervals(table) if set(pair) <= moments]
    return next((pair for pair in found if pair[0] == order), found[0] if found else None)


def relative_times(table: ReflectedTable, order: str | None, depth: int) -> dict[str, tuple[Fields, tuple[Note, ...]]]:
    """Column → the fields that tie it to another, and what to review. ``order``: the order column of a sequence."""
    found: dict[str, tuple[Fields, tuple[Note, ...]]] = {}
    strict = {(rule.before, rule.after): rule.strict for rule in table.orders}
    pairs = intervals(table)
    for start, end in pairs:
        found[end] = _after(table, start, end, strict.get((start, end)), depth)
    if order is not None and order not in found:
        found[order] = _in_sequence(table, order, pairs, depth)
    for column in table.columns:
        if column.name not in found and _is_moment(column) and pairs and any(w in column.name.casefold() for w in _DEATHS):
            start = pairs[0][0]
            note = review(f"never before {start}? cut at a year after it")
            found[column.name] = ({"after": start, "within": "365d"}, (note,))
    return found


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
    table: ReflectedTable, order: str, pairs: tuple[tuple[str, str], ...], depth: int
) -> tuple[Fields, tuple[Note, ...]]:
    column = table.column(order)
    if column is None or column.kind not in ("date", "datetime"):
        return {"after": f"previous.{order}"}, ()
    fields: Fields = {"after": f"previous.{order}", "within": "20y" if depth <= 1 else "365d"}
    notes = [review(f"longer gaps than {fields['within']} between rows are cut")]
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


def _is_moment(column: ReflectedColumn) -> bool:
    return column.kind in ("date", "datetime") or (column.kind == "unknown" and is_time(column.name))


def named_times(table: ReflectedTable) -> Iterator[str]:
    """Columns stored as something else whose names say time."""
    return (column.name for column in table.columns if column.kind in ("string", "unknown") and is_time(column.name))
