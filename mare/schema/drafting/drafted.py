"""The nouns of a draft: guesses with their reasons, on the way from a `Reflection` to YAML text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Literal

from mare.errors import SourceError

_LIFE = 120
"""Years that nobody outlives."""
_CENTURY = 1900
"""Nobody who was born before is met in records of today."""


@dataclass(frozen=True)
class PublicFacts:
    """``between``: the first and the last day of the data; None where nobody said, and it is guessed."""

    today: date
    between: tuple[date, date] | None = None
    entities: int | None = None
    fakes: bool = False
    """Whether names and addresses can be made up here (the extra `fake` is installed)."""

    def __post_init__(self) -> None:
        if self.between is not None and self.between[0] > self.between[1]:
            raise SourceError(
                f"the data cannot begin on {self.between[0]} and end on {self.between[1]}: write the earlier day first."
            )
        if self.entities is not None and self.entities < 1:
            raise SourceError(f"{self.entities} entities: there is at least 1.")

    @property
    def calendar(self) -> tuple[date, date]:
        """As it was said, or a guess that is wide enough for most records."""
        return self.between or (date(_CENTURY, 1, 1), self.today)

    @property
    def births(self) -> tuple[date, date]:
        """Whoever lives while the data was collected was born within a lifetime before it began."""
        first, last = self.calendar
        lived = _CENTURY <= first.year <= self.today.year
        return date(_CENTURY if lived else max(1, first.year - _LIFE), 1, 1), last


Mark = tuple[Literal["types", "links", "entity"], str]
"""What of the whole file was found by looking, and where."""

Role = Literal["entity", "private", "owned", "pool", "public", "unsettled"]
"""What a table is drafted as. ``unsettled``: nothing decides it, a person must."""

FieldValue = bool | int | float | str | date | datetime | tuple["FieldValue", ...] | Mapping[str, "FieldValue"]
"""A value as it will stand in the YAML."""

Fields = Mapping[str, FieldValue]
"""The fields of one column, reference or parent, in the order in which they are written."""


@dataclass(frozen=True)
class Note:
    """A comment next to what it is about. ``review``: a person should look before trusting it. ``topic``: what it is about, where
    many notes may be alike: they are asked for once, at the top."""

    text: str
    review: bool = False
    topic: str = ""
    about: str = ""
    """What it is about, where that is not the line it stands at."""


def review(text: str, topic: str = "", about: str = "") -> Note:
    """A note that asks for a person's eye."""
    return Note(text, True, topic, about)


GUESSED_CALENDAR = review("guessed: between which days was the data collected? What lies outside is moved to the nearest day")


@dataclass(frozen=True)
class EntityGuess:
    """Whose privacy is protected, and why we think so. ``table`` is None where nothing is convincing."""

    table: str | None
    why: str
    by: str | None = None
    """The column that tells entities apart, where no table holds them one row each."""
    name: str | None = None
    """What an entity by column is called, where a table has the column's name already."""
    rivals: tuple[str, ...] = ()
    """Other tables that could be meant."""
    doubts: tuple[Note, ...] = ()

    @property
    def node(self) -> str | None:
        """What the tables' parents lead to: a table, or the entity by column."""
        return (self.name or self.by) if self.by is not None else self.table


@dataclass(frozen=True)
class RoleGuess:
    """What one table is, and why."""

    role: Role
    why: str


@dataclass(frozen=True)
class Entry:
    """One line of the draft: a column, a reference, the parent."""

    name: str
    fields: Fields
    notes: tuple[Note, ...] = ()

    def with_fields(self, more: Fields) -> Entry:
        """`nullable` stays last: it is the least of what a column says."""
        last = {name: value for name, value in self.fields.items() if name == "nullable"}
        return Entry(self.name, {**self.without("nullable").fields, **more, **last}, self.notes)

    def without(self, *fields: str) -> Entry:
        return Entry(self.name, {name: value for name, value in self.fields.items() if name not in fields}, self.notes)

    def with_notes(self, *notes: Note) -> Entry:
        return Entry(self.name, self.fields, (*self.notes, *notes))


def written_days(entry: Entry, form: str) -> dict[str, FieldValue]:
    """The special days of a date that is stored as text, in its form."""
    specials = entry.fields.get("specials", ())
    assert isinstance(specials, tuple)
    return {"specials": tuple(datetime.fromisoformat(str(day)).strftime(form) for day in specials)} if specials else {}


@dataclass(frozen=True)
class DraftedTable:
    """One table of the draft, ready to be written."""

    name: str
    role: Role
    notes: tuple[Note, ...] = ()
    pool: int | None = None
    ignore: bool = False
    rows: int | None = None
    key: tuple[str, ...] = ()
    key_notes: tuple[Note, ...] = ()
    unique: tuple[tuple[str, ...], ...] = ()
    parent: Entry | None = None
    columns: tuple[Entry, ...] = ()
    references: tuple[Entry, ...] = ()
    sees: tuple[str, ...] = ()
    ignored: tuple[str, ...] = ()
    ignored_notes: tuple[Note, ...] = ()

    @property
    def own_notes(self) -> tuple[Note, ...]:
        """Those that stand at none of its entries."""
        return (*self.notes, *self.key_notes, *self.ignored_notes)

    @property
    def entries(self) -> tuple[Entry, ...]:
        """The parent, the columns and the references."""
        return (*((self.parent,) if self.parent is not None else ()), *self.columns, *self.references)


@dataclass(frozen=True)
class Draft:
    """The whole draft. ``tables`` are in the order of the file: the entity, down the tree, public tables last."""

    source: str
    entity: EntityGuess
    tables: tuple[DraftedTable, ...]
    facts: PublicFacts
    header: tuple[Note, ...] = ()
    peeked: Literal["", "types", "domains"] = ""
    roles: Mapping[str, RoleGuess] = field(default_factory=dict)
    what_was_read: str = "No value was read."
    marks: tuple[Mark, ...] = ()
    """What of the whole draft stands as it does because values were looked at."""

    @property
    def calendar(self) -> tuple[date, date] | None:
        """As it was said; a guess where nobody said it, and a sequence of dates has nothing else to begin with."""
        if self.facts.between is None and not any(_begins_anywhere(entry) for t in self.tables for entry in t.columns):
            return None
        return self.facts.calendar

    @property
    def notes(self) -> tuple[Note, ...]:
        """Every note of the draft."""
        notes = [*self.header, *self.entity.doubts, *self.mark_notes]
        if self.calendar is not None and self.facts.between is None:
            notes.append(GUESSED_CALENDAR)
        for table in self.tables:
            notes += [*table.own_notes, *(note for entry in table.entries for note in entry.notes)]
        return tuple(notes)

    @property
    def mark_notes(self) -> tuple[Note, ...]:
        """What is asked of the marks together: they stand on one line."""
        if not self.marks:
            return ()
        called = {"types": "types, and what rows show together, of", "links": "keys and links of", "entity": "entity:"}
        places = "; ".join(f"{called[what]} {where}" for what, where in self.marks)
        return (
            review(f"found by looking at the data: {places}. Public knowledge? Then delete this line; a fit refuses it before"),
        )

    @property
    def to_review(self) -> int:
        """How many things a person should look at."""
        return sum(note.review for note in self.notes)

    @property
    def untyped(self) -> int:
        """How many columns nobody knows the type of: the source does not tell."""
        kept = (table for table in self.tables if not table.ignore)
        return sum(entry.fields.get("type") == "unknown" for table in kept for entry in table.columns)


def _begins_anywhere(entry: Entry) -> bool:
    follows = str(entry.fields.get("after", "")).startswith("previous.") and "first" not in entry.fields
    return follows and entry.fields.get("type") in ("date", "datetime")
