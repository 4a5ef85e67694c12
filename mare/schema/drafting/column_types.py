"""What a column is: from its stored kind, the catalogue's enums, checks and precision, and what its name gives away.

What the catalogue does not tell is learned (`learn: true`), and paid for: no value is read here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace

from mare.schema.columns.unmodelled import LONGEST, FakeKind
from mare.schema.reflection import ReflectedColumn

from .bounds import known_bounds, only_its_type_bounds, years_before
from .drafted import Entry, FieldValue, Note, PublicFacts, review
from .name_words import (
    counts_rows,
    id_stem,
    is_before_calendar,
    is_beside_calendar,
    is_elapsed,
    is_end,
    is_flag,
    is_position,
    is_surely_flag,
    is_time,
    words,
)
from .people import (
    fake_kind,
    fake_place,
    is_addressee,
    is_answer,
    is_birth,
    is_code,
    is_free_text,
    is_number_of,
    is_title,
    names_person,
)

_HIERARCHIES: tuple[tuple[str, tuple[int, ...]], ...] = (
    ("icd", (1, 3)),
    ("dx", (1, 3)),
    ("atc", (1, 3, 4, 5)),
    ("cpt", (1, 3)),
    ("hcpcs", (1, 3)),
    ("ndc", (5, 9)),
)
_CODED = frozenset(
    (
        "item", "test", "concept", "code", "drug", "medication", "procedure", "diagnosis",
        "status", "type", "category", "cd", "study", "trial", "protocol", "source", "domain", "hospital", "center", "centre",
        "class", "site", "unit", "store", "shop", "branch", "outlet", "warehouse", "ward",
        "department", "dept", "clinic", "facility", "location", "region", "district", "territory", "campaign", "channel",
    )
)  # fmt: skip
"""Words of ids that mean something: codes rather than names."""

_CODED_NUMBERS = (("status",), ("type",), ("category",), ("class",), ("kind",), ("code",), ("cd",), ("state",), ("version",))
"""Whole numbers that count nothing."""

_TELLING = 4
"""Characters of a text that tells many things apart: with fewer it is a code, whatever it is called."""

_LONG = 80
"""Characters of a text that people write; what has less room, and is a result, is one of a few words."""

_LENGTH = re.compile(r"char\w*\s*\((\d+)\)", re.IGNORECASE)

_ONE_BIT = re.compile(r"tinyint\s*\(1\)( unsigned)?|bit(\s*\(1\))?", re.IGNORECASE)

_Kind = Callable[[ReflectedColumn], tuple[dict[str, FieldValue], list[Note]]]


def draft_column(
    column: ReflectedColumn,
    facts: PublicFacts,
    *,
    beside: Collection[str] = (),
    of_people: bool = False,
    unique: bool = False,
    in_key: bool = False,
) -> Entry:
    """A column that is neither a foreign key nor a key by itself. ``beside``: the columns of its table. ``of_people``: that holds
    the people themselves. ``unique``: no two rows may have the same value."""
    if column.values is not None and column.kind in ("integer", "number", "string"):
        fields, notes = dict[str, FieldValue](type="category", values=tuple(column.values)), list[Note]()
    elif counts_rows(column.name):
        return Entry(column.name, {"type": "identifier", **_generated(column)}, (Note("counts the rows of the file: made anew"),))
    elif column.kind == "string" and is_title(column.name, beside):
        fields, notes = {"type": "category", "learn": True}, []
    elif column.kind == "string" and is_addressee(column.name, beside):
        fields, notes = {"type": "text"}, [review("dropped as free text or personal, by its name", "dropped"), *_made_up(column)]
    else:
        fields, notes = _KINDS.get(column.kind, _opaque)(column)
    if unique and column.kind in ("integer", "string", "uuid") and column.values is None:
        fields, notes = {"type": "identifier", **_generated(column)}, [Note("unique in the source: regenerated")]
    elif in_key and fields["type"] == "text":
        # What is dropped cannot tell rows apart; what cannot be modelled is for a person to settle.
        fields = {"type": "category", "learn": True} if column.kind == "string" else {"type": "unknown"}
        notes = [] if column.kind == "string" else notes
    elif (kind := _fake(column, fields, facts)) is not None:
        shared = [] if kind != "postcode" else [Note("too many to be learned of so few; category, learn: true tries")]
        fields, notes = {"type": "text", "fill": "fake", "fake": kind}, shared
    elif fields.get("learn"):
        fields, notes = _with_known_bounds(column, facts, of_people, fields, notes)
    return Entry(column.name, {**fields, **_nullable(column)}, tuple(notes))


_SHARE_POSTCODES = 50_000
"""Of fewer people, hardly any postcode is one that enough of them share."""


def _fake(column: ReflectedColumn, fields: Mapping[str, FieldValue], facts: PublicFacts) -> FakeKind | None:
    """What is made up in place of a name, an address or a number by which somebody is reached, where that can be done here. The
    name of a company is a name like any other."""
    named = set(words(column.name)) <= {"company", "firm", "firma", "name"} and fields["type"] == "category"
    few = facts.entities is not None and facts.entities < _SHARE_POSTCODES
    coded = few and fields.get("learn") and fake_place(column.name) == "postcode"
    kind = fake_place(column.name) if named or coded else fake_kind(column.name)
    reached = fields["type"] == "identifier" and kind in LONGEST
    room = column.max_length is None or column.max_length >= LONGEST.get(kind or "", 0)
    wanted = fields["type"] == "text" or reached or coded or (named and len(words(column.name)) > 1)
    return kind if facts.fakes and wanted and room and column.kind == "string" else None


def _with_known_bounds(
    column: ReflectedColumn, facts: PublicFacts, of_people: bool, fields: dict[str, FieldValue], notes: list[Note]
) -> tuple[dict[str, FieldValue], list[Note]]:
    """Nothing has to be learned where everybody knows the bounds: an age, a date within the calendar."""
    if fields["type"] not in ("integer", "number", "date", "datetime"):
        return fields, notes
    known = known_bounds(column, facts)
    without = {name: value for name, value in fields.items() if name not in ("learn", "min", "max")}
    if known is not None:
        return {**without, **known[0]}, [*notes, Note(known[1])]
    if fields["type"] in ("date", "datetime") and facts.between is not None and column.min is None and column.max is None:
        if is_before_calendar(column.name, of_people=of_people):
            return {**fields, "max": facts.between[1]}, [*notes, Note("may lie before the calendar, by its name")]
        if is_beside_calendar(column.name):
            return fields, [*notes, Note("may lie outside the calendar, by its name")]
        return without, notes
    return fields, notes


def draft_key_part(column: ReflectedColumn) -> Entry | None:
    """A single key column; None where it goes without saying that it is a number of a sequence."""
    if column.kind == "uuid":
        return Entry(column.name, {"type": "identifier", "generate": "uuid"})
    if column.kind == "string":
        if column.max_length is not None and column.max_length >= 36 and words(column.name)[-1:] in (("uuid",), ("guid",)):
            return Entry(column.name, {"type": "identifier", "generate": "uuid"})
        if {"email", "mail"} & set(words(column.name)) and (column.max_length or 99) >= len("user12345678@example.org"):
            made_up = Note("fresh ones of this form, for a domain that nobody has")
            return Entry(column.name, {"type": "identifier", "generate": "pattern", "pattern": "user{n}@example.org"}, (made_up,))
        width = min(8, (column.max_length or 9) - 1)
        letter = (words(column.name) or ("k",))[0][0].upper()
        pattern = f"{letter}{{n:0{width}d}}" if width > 0 else "{n}"
        note = Note("fresh keys of this form; write the form of your own")
        return Entry(column.name, {"type": "identifier", "generate": "pattern", "pattern": pattern}, (note,))
    return None


def draft_pool_column(
    column: ReflectedColumn, facts: PublicFacts, beside: Collection[str] = (), *, unique: bool = False
) -> Entry:
    """A column of a pool: nothing is learned there, so every domain is declared or made up. So is no NULL: how many there are
    would be made up too, and none is wrong anywhere. ``unique``: no two rows may have the same value."""
    if not is_end(column.name):
        column = replace(column, nullable=False)
    made_up = review("a made-up range, not read from the data", "made up")
    declared = column.values is not None or (column.min is not None and column.max is not None)
    entry = draft_column(column, facts, beside=beside, unique=unique)
    kind = entry.fields["type"]
    if kind == "text" and "fill" in entry.fields:
        return entry
    if kind == "text":
        return Entry(entry.name, entry.fields, tuple(_made_up(column)))
    grown_up = is_birth(column.name) and not declared
    bounded = "min" in entry.fields and not grown_up and not only_its_type_bounds(column, facts)
    settled = declared or bounded or kind in ("identifier", "boolean", "unknown", "time", "position")
    if settled and "learn" not in entry.fields:
        return entry
    fields: dict[str, FieldValue]
    if kind in ("date", "datetime"):
        first, last = facts.calendar
        if grown_up:
            first, last = years_before(first, _OLDEST), years_before(first, _HIRED + _GROWN_UP)
        elif is_before_calendar(column.name):
            first = years_before(first, _HIRED)
        fields = {"type": kind, "min": first, "max": last}
    elif column.kind in ("integer", "number"):
        low, high = (0, 100) if column.min is None or column.max is None else (column.min, column.max)
        written = {name: value for name, value in entry.fields.items() if name == "precision"}
        fields = {"type": "number" if kind == "number" else "integer", "min": low, "max": high, **written}
    elif kind == "duration":
        fields = {"type": kind, "min": "0s", "max": "365d"}
    elif facts.fakes and column.kind == "string" and (place := fake_place(column.name)) is not None:
        return Entry(column.name, {"type": "text", "fill": "fake", "fake": place, **_nullable(column)})
    elif column.kind == "string":
        named = column.max_length is None or column.max_length > len(column.name) + 1
        fields = {"type": "category", "values": tuple(f"{column.name} {letter}" if named else letter for letter in "ABC")}
        made_up = review("made-up values: write those that are public", "made up")
    else:
        fields, made_up = {"type": "text"}, Note("not learned in a pool: dropped; values: […] keeps it")
    return Entry(column.name, {**fields, **_nullable(column)}, (made_up,))


_GROWN_UP, _HIRED, _OLDEST = 20, 5, 60
"""Made-up people are at work: born so many years before they were hired, hired at most so many before the data begins, and then
none is older than the last."""


def _nullable(column: ReflectedColumn) -> dict[str, FieldValue]:
    return {"nullable": True} if column.nullable else {}


def _plainly(**fields: FieldValue) -> _Kind:
    """A kind that says it all: no name and no bound changes what the column is."""
    return lambda column: (dict(fields), [])


def _bounded_kind(kind: str) -> _Kind:
    return lambda column: ({"type": kind, **_bounds(column)}, [])


def _integer(column: ReflectedColumn) -> tuple[dict[str, FieldValue], list[Note]]:
    if fake_place(column.name) == "postcode":  # near each other by their first digits, and too many for a list
        return {"type": "integer", **_bounds(column)}, []
    if id_stem(column.name) is not None:
        return _identifier(column)
    if words(column.name)[-1:] in _CODED_NUMBERS:
        return {"type": "category", "learn": True}, []
    if _is_flag(column):
        return _flag(column)
    return {"type": "integer", **_bounds(column)}, []


def _decimal(column: ReflectedColumn) -> tuple[dict[str, FieldValue], list[Note]]:
    if column.precision == 0 or id_stem(column.name) is not None:
        return _integer(column)
    if words(column.name)[-1:] in _CODED_NUMBERS:
        return {"type": "category", "learn": True}, []
    if is_surely_flag(column.name) and _is_flag(column):  # whole numbers come as decimals where some are missing
        return _flag(column)
    fields: dict[str, FieldValue] = {"type": "number", **_bounds(column)}
    if column.precision is not None and column.precision <= 15:
        fields["precision"] = column.precision
    return fields, []


def _bounds(column: ReflectedColumn) -> dict[str, FieldValue]:
    """Both from a CHECK, or learned within the one that there is."""
    bounds: dict[str, FieldValue] = {}
    if column.min is not None:
        bounds["min"] = column.min
    if column.max is not None:
        bounds["max"] = column.max
    return bounds if len(bounds) == 2 else {**bounds, "learn": True}


def _is_flag(column: ReflectedColumn) -> bool:
    """By its name, or by a type that holds one bit (MySQL writes a boolean as tinyint(1)); no bound says otherwise."""
    if column.looked_at:
        return column.binary
    named = is_flag(column.name) or _ONE_BIT.fullmatch(column.sql_type) is not None
    return named and column.min in (None, 0) and column.max in (None, 1)


def _flag(column: ReflectedColumn) -> tuple[dict[str, FieldValue], list[Note]]:
    doubt = [] if column.looked_at else [review("0 and 1 only? Otherwise type: category", "flags")]
    return {"type": "boolean", "true": 1, "false": 0}, doubt


def _string(column: ReflectedColumn) -> tuple[dict[str, FieldValue], list[Note]]:
    if is_code(column.name):
        return _code(column)
    if id_stem(column.name) is not None and words(column.name)[-1] not in ("code", "cd"):
        return _identifier(column)
    if is_number_of(column.name) or names_person(column.name):
        return _identifier(column)
    if is_free_text(column.name) and not (is_answer(column.name) and (column.max_length or _LONG) < _LONG):
        return {"type": "text"}, [review("dropped as free text or personal, by its name", "dropped"), *_made_up(column)]
    if is_time(column.name) and not column.looked_at:
        note = review("a time stored as text? Then type: time (or datetime) with its format", "texts")
        return {"type": "category", "learn": True}, [note]
    return {"type": "category", "learn": True}, []


def _made_up(column: ReflectedColumn) -> list[Note]:
    """What to write for a name or an address that nobody has, ready to be taken over."""
    kind = fake_kind(column.name)
    nullable = ", nullable: true" if column.nullable else ""
    return [] if kind is None else [Note(f"made up instead of empty: {{type: text, fill: fake, fake: {kind}{nullable}}}")]


def _code(column: ReflectedColumn) -> tuple[dict[str, FieldValue], list[Note]]:
    parts = "".join(words(column.name))
    levels = next((levels for word, levels in _HIERARCHIES if word in parts), (1, 3))
    fields: dict[str, FieldValue] = {"type": "code", "learn": True, "hierarchy": {"prefix": levels}}
    return fields, [review("a code by its name; are these its levels?", "codes")]


APART = "made anew, equal ones come apart"
TOGETHER = "made anew; rows that follow each other share one as they do. Few of them? type: category, learn: true"


def shared_in_runs(entry: Entry) -> Entry:
    """An id of a sequence that is no key: whatever it names (an order, a basket), rows that follow each other may share it."""
    notes = tuple(replace(note, text=note.text.replace(APART, TOGETHER)) for note in entry.notes)
    return Entry(entry.name, entry.fields, notes).with_fields({"runs": True})


def names_their_own(entry: Entry) -> Entry:
    """What was seen in several rows of one person, and never in those of two, names something of theirs: a case, a stay."""
    kept = {field: value for field, value in entry.fields.items() if field == "nullable"}
    note = review(f"no two people share one, in all rows that were looked at, so an id: {APART}", "ids")
    return Entry(entry.name, {"type": "identifier", **kept}, (note,))


def _identifier(column: ReflectedColumn) -> tuple[dict[str, FieldValue], list[Note]]:
    """An id that leads nowhere we know of: a code where its words say so, otherwise a name without meaning."""
    # SQLite takes longer ones: whoever declared a length there said what is meant.
    length = column.max_length or next((int(match[1]) for match in _LENGTH.finditer(column.sql_type)), _TELLING)
    if column.kind == "string" and length < _TELLING:
        return {"type": "category", "learn": True}, [Note("too short to tell many apart: a code")]
    if names_person(column.name):
        return {"type": "identifier", **_generated(column)}, [Note("an id of a person: regenerated, its values never come out")]
    parts = {word.removesuffix("id") for word in words(column.name)} | set(words(column.name))
    if parts & _CODED:
        return {"type": "category", "learn": True}, [review("taken for a code; or type: identifier", "codes")]
    note = review(f"an id that leads to no table: {APART}", "ids")
    return {"type": "identifier", **_generated(column)}, [note]


def _generated(column: ReflectedColumn) -> dict[str, FieldValue]:
    part = draft_key_part(column)
    return {} if part is None else {name: value for name, value in part.fields.items() if name != "type"}


def _unknown(column: ReflectedColumn) -> tuple[dict[str, FieldValue], list[Note]]:
    if _ONE_BIT.fullmatch(column.sql_type):
        return _flag(column)
    hint = _by_name(column.name)
    return {"type": "unknown"}, [Note(f"by its name: {hint}")] if hint else []


def _by_name(name: str) -> str:
    """What the type of a column may be, where the source does not tell; nothing where the name does not either."""
    if is_code(name) or words(name) in (("code",), ("cd",)):
        return "code"
    if is_position(name):
        return "position"
    if is_time(name):
        return "datetime or date"
    if is_free_text(name):
        return "text"
    if id_stem(name) is not None:
        return "identifier, or category if it is a code"
    if is_flag(name):
        return "boolean"
    return "integer" if is_elapsed(name) else ""


def _opaque(column: ReflectedColumn) -> tuple[dict[str, FieldValue], list[Note]]:
    stored = column.sql_type or column.kind
    return {"type": "text"}, [review(f"{stored} cannot be modelled: dropped. Not needed? ignore_columns leaves it out")]


_KINDS: Mapping[str, _Kind] = {
    "boolean": _plainly(type="boolean"),
    "integer": _integer,
    "number": _decimal,
    "string": _string,
    "date": _bounded_kind("date"),
    "datetime": _bounded_kind("datetime"),
    "time": _plainly(type="time"),
    "duration": _plainly(type="duration", learn=True),
    "uuid": _plainly(type="identifier", generate="uuid"),
    "unknown": _unknown,
}
