"""What `--peek-types` and `--peek` fill in. Domains and words are marked where they stand, types and what follows from them
in one line for the whole draft; `fit` refuses both until a person has reviewed them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Literal, get_args

from mare.schema.columns import MISSING, Column
from mare.schema.reflection import Bound, ColumnOrder, Compared, Peek, ReflectedColumn, ReflectedTable, Reflection

from .drafted import Draft, DraftedTable, Entry, Fields, FieldValue, review, written_days
from .name_words import words
from .people import names_person

Peeks = Mapping[tuple[str, str], Peek]
"""What was read from columns, by table and column."""


def untyped(reflection: Reflection) -> Iterator[tuple[str, str]]:
    """Columns whose type the source does not tell: what `--peek-types` looks at."""
    for table in reflection:
        for column in table.columns:
            if column.kind == "unknown":
                yield table.name, column.name


def undeclared(draft: Draft) -> Iterator[tuple[str, str]]:
    """Columns whose domain would be learned: what `--peek` looks at. Never text, identifiers, keys or references."""
    for table in draft.tables:
        for entry in table.columns:
            if entry.fields.get("learn") or entry.fields["type"] == "unknown" or _lacks_first(entry):
                yield table.name, entry.name


Beside = tuple[str, tuple[str, ...], str | None, tuple[str, str] | None]
"""A table of people, its columns that are looked at beside each other, the one that says whose a row is, and what that refers to
in the table above."""


def compared(draft: Draft, untyped: Iterable[tuple[str, str]]) -> Iterator[Beside]:
    """Whatever is worth a look beside other columns."""
    tables = {table.name: table for table in draft.tables}
    for table in draft.tables:
        columns = tuple(column for name, column in untyped if name == table.name)
        if not columns or table.role not in ("entity", "private"):
            continue
        if table.parent is None:
            yield table.name, columns, None, None
            continue
        by, name = table.parent.fields.get("column", draft.entity.by), table.parent.fields.get("table")
        above = tables.get(str(name))
        key = table.parent.fields.get("references", above.key if above is not None else ())
        key = key[0] if isinstance(key, tuple) and len(key) == 1 else key
        if isinstance(by, str):
            yield table.name, columns, by, (str(name), key) if above is not None and isinstance(key, str) else None


def peeked_kinds(reflection: Reflection, peeks: Peeks) -> Reflection:
    """The reflection with the types that were found by looking."""
    tables = []
    for table in reflection:
        columns = tuple(_typed(column, peeks.get((table.name, column.name))) for column in table.columns)
        tables.append(replace(table, columns=columns, orders=(*table.orders, *_orders(table, peeks))))
    return replace(reflection, tables=tuple(tables))


def _orders(table: ReflectedTable, peeks: Peeks) -> Iterator[ColumnOrder]:
    """What was seen never to be less than another column: a time to death, than that to a relapse."""
    for column in table.columns:
        compared = peeks[table.name, column.name].compared if (table.name, column.name) in peeks else Compared()
        if compared.follows is not None and not compared.same:
            yield ColumnOrder(compared.follows, column.name, seen=True)


def _typed(column: ReflectedColumn, peek: Peek | None) -> ReflectedColumn:
    if column.kind == "unknown" and peek is not None and peek.kind is not None:
        nullable = column.nullable and peek.missing is not False
        return replace(column, kind=peek.kind, nullable=nullable, looked_at=True, binary=peek.binary)
    return column


def with_peeks(
    tables: Sequence[DraftedTable], reflection: Reflection, peeks: Peeks
) -> tuple[list[DraftedTable], Literal["", "types", "domains"]]:
    """Fill in domains and mark everything that was looked at."""
    if not peeks:
        return list(tables), ""
    kind: Literal["types", "domains"] = "types"
    filled = []
    codes = {words(column) for (_, column), peek in peeks.items() if peek.values or (peek.few and peek.repeats)}
    for table in tables:
        entries = []
        for entry in table.columns:
            peek = peeks.get((table.name, entry.name))
            if peek is not None:
                entry = _coded(entry, peek, codes)
                domain = _domain(entry, peek)
                column = next((t.column(entry.name) for t in reflection if t.name == table.name), None)
                guessed_type = column is not None and column.kind == "unknown" and entry.fields["type"] != "unknown"
                if domain is not None:
                    kind = "domains"
                reading = _reading(entry, peek) if guessed_type else {}
                if domain is not None or _tell(reading):
                    entry = _marked(entry, domain or {})
                entry = entry.with_fields(reading)
                if guessed_type and peek.unread and "specials" in _FIELDS[str(entry.fields["type"])]:
                    entry = entry.with_notes(UNREAD)
            entries.append(entry)
        filled.append(replace(table, columns=tuple(entries)))
    return filled, kind


UNREAD = review("what is not written so, in some rows, is read as NULL; a word that means something: specials: […]")
"""In place of the words, which may be somebody's."""


def _coded(entry: Entry, peek: Peek, codes: Collection[tuple[str, ...]]) -> Entry:
    """An id of which there are only a few, again and again, is a code, here and wherever else it repeats; not one of people."""
    known = peek.values or (peek.repeats and words(entry.name) in codes)
    if entry.fields["type"] != "identifier" or not known or names_person(entry.name):
        return entry
    nullable = {"nullable": True} if "nullable" in entry.fields else {}
    return Entry(
        entry.name, {"type": "category", "learn": True, **nullable}, (review("few of them were found: a code", "codes"),)
    )


_FIELDS = {
    get_args(kind.model_fields["type"].annotation)[0]: frozenset(kind.model_fields) for kind in get_args(get_args(Column)[0])
}
"""What can be said of a column of each type: of an id nothing of how it is written, for it is made anew."""


def _tell(reading: Fields) -> bool:
    """Whether it holds words of the data, which may be somebody's; what programs write for nothing is nobody's."""
    nulls = reading.get("nulls", ())
    own = [word for word in nulls if str(word).strip().casefold() not in MISSING] if isinstance(nulls, tuple) else nulls
    return bool(own) or "specials" in reading


def _reading(entry: Entry, peek: Peek) -> Fields:
    """How the values are written, also those that the draft itself has put there."""
    forms = peek.reading.get("format", ())
    told = {**peek.reading, **(written_days(entry, forms[0]) if forms else {})}
    if entry.name in (specials := peek.reading.get("specials", ())):  # a header that somebody has pasted in once more
        told["specials"] = tuple(word for word in specials if word != entry.name)
    return {field: value for field, value in told.items() if value and field in _FIELDS[str(entry.fields["type"])]}


def with_marks(draft: Draft, blind: Draft, reflection: Reflection, peeks: Peeks) -> Draft:
    """Mark the types, and what stands otherwise in the draft that was made without them: the entity, a key, an order that only a
    peeked date gives."""
    before = {table.name: _structure(table) for table in blind.tables}
    found = {table for table, column in untyped(reflection) if (table, column) in peeks and peeks[table, column].kind is not None}
    typed = [table.name for table in draft.tables if table.name in found]
    linked = [table.name for table in draft.tables if _structure(table) != before.get(table.name)]
    entity, others = draft.entity, blind.entity
    meant = [str(entity.node)] if (entity.table, entity.by) != (others.table, others.by) and entity.table is not None else []
    marks: tuple[tuple[Literal["types", "links", "entity"], list[str]], ...] = (
        ("types", typed), ("links", linked), ("entity", meant)
    )  # fmt: skip
    return replace(draft, marks=tuple((what, ", ".join(places)) for what, places in marks if places))


def _structure(table: DraftedTable) -> tuple[object, ...]:
    """What a table is, its key, and where it leads."""
    references = [(entry.name, entry.fields) for entry in table.references]
    return table.role, table.key, table.parent.fields if table.parent is not None else None, references


def _lacks_first(entry: Entry) -> bool:
    return str(entry.fields.get("after", "")).startswith("previous.") and "first" not in entry.fields


def _domain(entry: Entry, peek: Peek) -> dict[str, FieldValue] | None:
    if entry.fields["type"] in ("category", "code"):
        return {"values": tuple(peek.values)} if peek.values and entry.fields.get("learn") else None
    if peek.min is None or peek.max is None:
        return None
    bounds: dict[str, FieldValue] = {"min": _bound(peek.min), "max": _bound(peek.max)}
    if _lacks_first(entry):
        return {"first": bounds}
    return bounds if entry.fields.get("learn") else None


def _bound(value: Bound) -> Bound:
    # A schema's moments are local: a zone would make it refuse the file.
    return value.replace(tzinfo=None) if isinstance(value, datetime) else value


def _marked(entry: Entry, domain: Mapping[str, FieldValue]) -> Entry:
    entry = entry.without("learn") if "min" in domain or "values" in domain else entry
    if "first" in domain:
        entry = Entry(entry.name, entry.fields, tuple(note for note in entry.notes if not note.text.startswith("first:")))
    return entry.with_fields({**domain, "peeked": True})
