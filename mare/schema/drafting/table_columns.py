"""The columns of one table of the draft: each by its type, tied to the times and facts around it."""

from __future__ import annotations

from collections.abc import Mapping

from mare.schema.reflection import ReflectedColumn

from .column_types import draft_column, draft_key_part
from .drafted import Entry, FieldValue, Note, RoleGuess, review
from .families import Family
from .ordering import order_column, tells_apart
from .relationships import Relationship, item_column, value_columns
from .repeats import with_repeats
from .survey import Survey
from .time_order import after_above, main_interval, relative_times, start_of, unordered_times
from .words import counts_visits, is_position

_UNMODELLED = ("binary", "json", "other")


def left_out_columns(survey: Survey, table: str) -> list[ReflectedColumn]:
    """Columns that the database computes itself, or that no model can read; keys and links are neither."""
    used = {*survey.keys[table], *linked_columns(survey, table)}
    return [c for c in survey.table(table).columns if (c.generated or c.kind in _UNMODELLED) and c.name not in used]


def linked_columns(survey: Survey, table: str) -> set[str]:
    return {name for link in survey.links_of(table) for name in link.columns}


def free_columns(survey: Survey, table: str) -> list[ReflectedColumn]:
    """Columns that are neither a single key, nor a foreign key, nor left out."""
    taken = linked_columns(survey, table) | {column.name for column in left_out_columns(survey, table)}
    key = survey.keys[table]
    return [column for column in survey.table(table).columns if column.name not in taken and (column.name,) != key]


def key_columns(survey: Survey, table: str) -> tuple[Entry, ...]:
    key = survey.keys[table]
    column = survey.table(table).column(key[0]) if len(key) == 1 else None
    entry = draft_key_part(column) if column is not None and column.name not in linked_columns(survey, table) else None
    return (entry,) if entry is not None else ()


def draft_columns(
    survey: Survey, table: str, roles: Mapping[str, RoleGuess], family: Family | None, relationship: Relationship | None
) -> tuple[Entry, ...]:
    order = relationship.order_by[0] if relationship and relationship.order_by else None
    times = _times(survey, table, family, order)
    item = item_column(survey, table) if relationship is not None else None
    alone = {names[0] for names in survey.table(table).uniques if len(names) == 1}
    entries = []
    for column in free_columns(survey, table):
        if relationship is not None and is_position(column.name) and column.kind == "integer":
            entry = _position(column, survey.keys[table], order)
        else:
            entry = draft_column(column, survey.facts, unique=column.name in alone, in_key=column.name in survey.keys[table])
        if column.name == item and entry.fields["type"] == "identifier":
            entry = Entry(entry.name, {"type": "category", "learn": True, **({"nullable": True} if column.nullable else {})})
        if column.name in times:
            entry = _tied(entry, *times[column.name])
        if not survey.tells_nullability and (column.name == order or column.name in survey.keys[table]):
            # Everything may be NULL in such a source; what orders rows or tells them apart hardly is.
            entry = entry.without("nullable")
        entries.append(entry)
    entries = [_suggested(survey, table, entry, roles) for entry in entries]
    entries = [_during(survey, entry, family, order) for entry in entries]
    entries = [with_repeats(survey, table, entry, family, relationship) for entry in entries]
    return (*key_columns(survey, table), *(spelled(survey, table, entry) for entry in entries))


def spelled(survey: Survey, table: str, entry: Entry) -> Entry:
    """How a date is written that is stored as text."""
    written = survey.formats.get((table, entry.name))
    if written is None or entry.fields["type"] not in ("date", "datetime"):
        return entry
    note = review("a date stored as text, by its name: written in this form?", "texts")
    return entry.with_fields({"format": written}).with_notes(note)


def _times(
    survey: Survey, table: str, family: Family | None, order: str | None
) -> dict[str, tuple[Mapping[str, FieldValue], tuple[Note, ...]]]:
    parent, described = family.parent if family is not None else None, survey.table(table)
    if family is None or parent is None:
        times = relative_times(described, order, 0, survey.facts)
        return {**times, **unordered_times(described, order, times, survey.facts)}
    # No two rows may be equal where the order alone tells them apart: two vaccines are given on one day.
    strict = order is not None and tells_apart(survey, table, (*parent.columns, order))
    above = _time_above(survey, family, table)
    times, happens = relative_times(described, order, family.depth, survey.facts, above, strict), order
    if order is not None and counts_visits(order):
        # Numbered by the source: their dates go on with the numbers.
        day = order_column(survey, table, (*parent.columns, order))
        dated = relative_times(described, day, family.depth, survey.facts, above) if day is not None else {}
        happens = day
        if day is not None and day not in times and day in dated:
            times[day] = dated[day]
    first = order_column(survey, table, parent.columns) if order is None else None
    if above is not None and first is not None and first not in times:
        times[first] = after_above(above, survey.facts)
    return {**times, **unordered_times(described, happens or first, times, survey.facts)}


def _time_above(survey: Survey, family: Family, below: str) -> str | None:
    """What the first row of a sequence follows, as an anchor: where the parent begins, or the nearest above that has a time."""
    for steps, name in enumerate(family.ancestors):
        table = survey.reflection.table(name)
        if table is None:  # an entity by column
            continue
        # A person has no order column: what of theirs a first visit follows is their birth, or the beginning of their record.
        order = order_column(survey, name, ()) if family.depth - steps > 1 else None
        if (start := start_of(table, order, survey.tells_nullability, below)) is not None:
            return f"{'parent' if steps == 0 else name}.{start}"
    return None


def _position(column: ReflectedColumn, key: tuple[str, ...], order: str | None) -> Entry:
    sure = column.name in key or column.name == order
    notes = (
        () if sure else (review("taken for the row's number within its parent; does it count anew? within: […]", "positions"),)
    )
    return Entry(column.name, {"type": "position"}, notes)


def _tied(entry: Entry, fields: Mapping[str, FieldValue], notes: tuple[Note, ...]) -> Entry:
    """Tie a time to another. What is a gap of known length from its anchor has nothing left to learn."""
    if entry.fields["type"] not in ("date", "datetime", "integer", "number"):
        if entry.fields["type"] == "position":
            return entry
        return entry.with_notes(*(Note(f"probably {side}: {fields[side]}") for side in ("after", "around") if side in fields))
    if "determined" in fields:
        may_be_missing = {"nullable": True} if "nullable" in entry.fields else {}
        return Entry(entry.name, {"type": entry.fields["type"], **fields, **may_be_missing}, notes)
    kept = dict(entry.fields)
    nullable = kept.pop("nullable", None)
    learned = kept.pop("learn", None)
    kept |= fields
    if learned and "within" not in fields:
        kept["learn"] = True
    if nullable:
        kept["nullable"] = True
    said = [note for note in entry.notes if not any(note.text in other.text for other in notes)]
    return Entry(entry.name, kept, (*said, *notes))


def _suggested(survey: Survey, table: str, entry: Entry, roles: Mapping[str, RoleGuess]) -> Entry:
    """What another column of the row says about this one."""
    described = survey.table(table)
    if entry.name in value_columns(survey, table) and entry.fields["type"] in ("integer", "number"):
        item = item_column(survey, table)
        if item is not None and "learn" in entry.fields:
            note = review(f"its scale depends on {item}; ranges: {{…}} declares some of them", "ranges")
            return entry.with_fields({"by": item}).with_notes(note)
    if entry.fields["type"] in ("text", "category", "integer", "number") and "values" not in entry.fields:
        for link in survey.links_of(table):
            target = survey.reflection.table(link.target) if roles[link.target].role == "public" else None
            source = target.column(entry.name) if target is not None else None
            if len(link.columns) == 1 and source is not None and source.name not in survey.keys[link.target]:
                lookup = f"{{table: {link.target}, column: {source.name}, by: {link.columns[0]}}}"
                note = review(f"the same as in {link.target}? determined: {{lookup: {lookup}}}", "worked out")
                return Entry(entry.name, entry.fields, (note,))
    names = {column.name.casefold() for column in described.columns}
    if entry.fields["type"] == "identifier" and entry.name not in survey.keys[table]:
        shared = [t.name for t in survey.reflection if t.name != table and t.column(entry.name) is not None]
        if not shared:
            return entry
        return entry.with_notes(Note(f"also in {', '.join(shared[:4])}: does one of them own it?"))
    if entry.name.casefold() == "bmi" and {"weight", "height"} <= names:
        return entry.with_notes(
            review('worked out from weight and height? determined: {expression: "weight / (height / 100) ** 2"}', "worked out")
        )
    return entry


def _during(survey: Survey, entry: Entry, family: Family | None, order: str | None) -> Entry:
    """The time of a child within its parent's interval: a suggestion, since labs may precede the admission."""
    if family is None or family.parent is None or entry.name != order or entry.fields["type"] not in ("date", "datetime"):
        return entry
    if survey.reflection.table(family.parent.target) is None:
        return entry
    interval = main_interval(survey.table(family.parent.target))
    if interval is None:
        return entry
    return entry.with_notes(Note(f"never outside {family.parent.target}? during: [parent.{interval[0]}, parent.{interval[1]}]"))
