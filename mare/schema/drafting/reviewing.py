"""What a person should look at: asked once for all that is alike, what decides privacy first.

Sixteen columns that are alike are one question. It stands at the top with its places; what is said of one place alone stays
there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from .drafted import Draft, DraftedTable, Entry, Note, review

TOPICS: Mapping[str, str] = {
    "public": "copied verbatim, so nothing in these tables may be about anybody",
    "names": "copied too: if these are names of people, pool: {rows: 20} makes up fresh rows instead of public: true",
    "aggregates": "numbers of public tables: an aggregate over people is not public (ignore_columns leaves it out)",
    "left out": "left out, since nothing says whose rows these are; to keep one, read what stands there",
    "owned": "made anew with whoever refers to it",
    "pools": "pools: made-up rows that are referred to at random; are their numbers plausible?",
    "caps": "max_rows are round guesses: more rows are cut, and the noise grows with them",
    "orders": "no column gives an order, so these rows are drawn without looking at each other; name the one that does",
    "per entity": "max_per_entity is a guess: by the caps alone, one entity could have many more rows",
    "nulls": "rows where this is NULL are dropped, if there are any; what to write then stands there",
    "keys": "keys guessed from names, since the source declares none",
    "unique": "unique in the source, and not kept: its columns are modelled",
    "links": "references guessed from names, since the source declares none",
    "second": "a second reference to the same people or rows: what it is taken for stands there",
    "times": "which time follows which, and how far at most, is guessed from names",
    "facts": "facts about a person, repeated in their rows: the same in all of them?",
    "dropped": "dropped as free text or personal, by its name (fill: fake makes names and addresses up)",
    "ids": "ids that lead to no table: made anew, so that equal ones come apart, unless rows that follow each other share them "
    "(runs: true); few of them? type: category, learn: true",
    "codes": "taken for codes, by their names",
    "flags": "taken for 0 and 1 alone",
    "texts": "dates stored as text, read as their format says: is it this one?",
    "positions": "taken for the row's number within its parent; does it count anew? within: […]",
    "ranges": "the scale depends on what is measured; ranges: {…} declares some",
    "made up": "made-up ranges of pools",
    "worked out": "may follow from other values; how to say so stands there",
}
"""What is asked once, by topic, the most important first."""
_SAID_ABOVE = ("public", "names", "caps", "links", "keys", "dropped", "made up", "aggregates", "ids", "codes", "flags")
"""Topics that need no comment beside each of their places."""
_MOST = 12
"""Places that are listed: more are found by looking."""


def gathered(draft: Draft) -> Draft:
    """The same draft, each question asked once."""
    tables = [*draft.tables]
    asked = []
    for topic, text in TOPICS.items():
        places = [place for table in tables for place in _places(table, topic)]
        if len(places) > 1:
            asked.append(review(f"{text}: {_listed(places)}", topic))
            tables = [_quiet(table, topic) for table in tables]
    return replace(draft, tables=tuple(_unasked(table) for table in tables), header=(*asked, *draft.header))


def _unasked(table: DraftedTable) -> DraftedTable:
    """What is left out asks for one thing alone: whether it should be."""
    if not table.ignore:
        return table
    plain = tuple(Entry(entry.name, entry.fields) for entry in table.columns)
    return replace(table, columns=plain, references=tuple(Entry(entry.name, entry.fields) for entry in table.references))


def _places(table: DraftedTable, topic: str) -> Iterator[tuple[str, str]]:
    """Table and what of it, for every note on the topic."""
    for note in (*table.notes, *table.key_notes, *table.ignored_notes):
        if note.topic == topic and note.review:
            yield table.name, ", ".join(table.key) if topic == "keys" else note.about
    entries = () if table.ignore else (*table.columns, *table.references)
    for entry in (*((table.parent,) if table.parent is not None else ()), *entries):
        for note in entry.notes:
            if note.topic == topic and note.review:
                yield table.name, note.about or entry.name


def _listed(places: Iterable[tuple[str, str]]) -> str:
    by_table: dict[str, list[str]] = {}
    for table, name in places:
        by_table.setdefault(table, []).append(name)
    shown, left = [], _MOST
    for table, names in by_table.items():
        if left <= 0:
            break
        named = [name for name in names if name][:left]
        shown.append(f"{table} ({', '.join(named)})" if named else table)
        left -= max(1, len(named))
    total = sum(len(names) for names in by_table.values())
    hidden = total - (_MOST - left)
    return ", ".join(shown) + (f", and {hidden} more" if hidden > 0 else "")


def _quiet(table: DraftedTable, topic: str) -> DraftedTable:
    def less(notes: tuple[Note, ...]) -> tuple[Note, ...]:
        kept = [note for note in notes if note.topic != topic or topic not in _SAID_ABOVE]
        return tuple(replace(note, review=False) if note.topic == topic else note for note in kept)

    def quieter(entries: tuple[Entry, ...]) -> tuple[Entry, ...]:
        return tuple(Entry(entry.name, entry.fields, less(entry.notes)) for entry in entries)

    return replace(
        table,
        notes=less(table.notes),
        key_notes=less(table.key_notes),
        ignored_notes=less(table.ignored_notes),
        parent=quieter((table.parent,))[0] if table.parent is not None else None,
        columns=quieter(table.columns),
        references=quieter(table.references),
    )
