"""From a draft to YAML that a person reads: the entity first, one line a column, the reasons next to what they are about.

Sixteen columns that are alike are one question (`gathered`). It stands at the top with its places, what decides privacy first;
what is said of one place alone stays there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date
from textwrap import wrap
from typing import cast

from mare.schema.loading import JSON_SCHEMA
from mare.schema.yaml_nodes import Plain
from mare.schema.yaml_writing import inline, scalar

from .drafted import GUESSED_CALENDAR, Draft, DraftedTable, Entry, Note, review

WIDTH = 120
"""A comment that would make its line longer than this stands above it."""

_SECTIONS = {
    "owned": "rows that belong to the rows that refer to them",
    "pool": "pools: fresh, made-up rows that are referred to at random",
    "unsettled": "left out: nothing says whose these are",
    "public": "public vocabularies, copied verbatim",
}


def write_draft(draft: Draft, next_command: str = "mare check FILE --from SOURCE") -> str:
    """The draft as YAML text that `load_schema` reads."""
    lines = [*_header(draft, next_command), "", "mare: 1", *_marks(draft), *_entity(draft), *_calendar(draft), "tables:"]
    section = None
    for i, table in enumerate(draft.tables):
        if i:
            lines.append("")
        if table.role != section and table.role in _SECTIONS:
            lines += [f"  # --- {_SECTIONS[table.role]} ---", ""]
        section = table.role
        lines += _table(table)
    return "\n".join(lines) + "\n"


def _header(draft: Draft, next_command: str) -> Iterator[str]:
    yield f"# yaml-language-server: $schema={JSON_SCHEMA}"
    yield f"# A draft by `mare init`, from {_printable(draft.source)}."
    if draft.peeked == "types":
        yield "# VALUES WERE READ to find out types. What they filled in is marked `peeked`: `mare fit` refuses it"
        yield "# until a person has made sure that it is public knowledge and has removed the mark."
    elif draft.peeked == "domains":
        yield "# VALUES WERE READ to fill in domains. They are marked `peeked`: `mare fit` refuses them until a person has"
        yield "# made sure that they are public knowledge and has removed the mark. THIS FILE HOLDS DATA: do not hand it on."
    else:
        yield from (f"# {line}" for line in _wrapped(f"Drafted from names and types alone. {draft.what_was_read}", 0))
        yield "# What they do not tell is drafted as `learn: true`, paid for with budget."
    count = draft.to_review
    things = "1 thing" if count == 1 else f"{count} things"
    yield f"# {things} to review: look for REVIEW, mend or accept it, and delete the comment."
    yield f"# Next: {_printable(next_command)}"
    yield f"# For editors that complete and check: mare schemas --json-schema > {JSON_SCHEMA}"
    for note in draft.header:
        yield from (f"# {line}" for line in _wrapped(f"- {_text(note)}", 2))


def _marks(draft: Draft) -> Iterator[str]:
    if draft.marks:
        comments = [_text(note) for note in draft.mark_notes]
        yield from _with_comments(f"peeked: {inline([what for what, _ in draft.marks])}", comments, 0)


def _entity(draft: Draft) -> Iterator[str]:
    guess = draft.entity
    rivals = f"; others that could be meant: {', '.join(guess.rivals[:5])}" if guess.rivals else ""
    if guess.table is None:
        yield f"# REVIEW: entity: … (whose privacy is protected?) is left open, since {_printable(guess.why)}."
        yield f"# Candidates: {_printable(', '.join(guess.rivals))}."
        yield "# Run `mare init` again with --entity TABLE, or --entity TABLE.COLUMN where no table holds one row each."
        return
    comments = [f"{guess.why}{rivals}", *(_text(doubt) for doubt in guess.doubts)]
    yield from _with_comments(f"entity: {inline(_plain_entity(draft))}", comments, 0)


def _calendar(draft: Draft) -> Iterator[str]:
    if draft.calendar is None:
        return
    comments = [] if draft.facts.between is not None else [_text(GUESSED_CALENDAR)]
    yield from _with_comments(f"calendar: {inline(_plain_calendar(draft.calendar))}", comments, 0)


def _table(table: DraftedTable) -> Iterator[str]:
    fields = plain_table(table)
    yield f"  {scalar(table.name)}:{'' if fields else ' {}'}"
    for first in [field for field in ("public", "pool", "ignore") if field in fields]:
        yield f"    {first}: {inline(fields.pop(first))}"
    for note in table.notes:
        yield from (f"    # {line}" for line in _wrapped(_text(note), 4))
    parent_notes = table.parent.notes if table.parent is not None else ()
    notes = {"key": table.key_notes, "parent": parent_notes, "ignore_columns": table.ignored_notes}
    for name, value in fields.items():
        if name in ("columns", "references"):
            yield f"    {name}:"
            yield from _entries(table.columns if name == "columns" else table.references)
        else:
            yield from _with_comments(f"    {name}: {inline(value)}", [_text(note) for note in notes.get(str(name), ())], 4)


def _entries(entries: Sequence[Entry]) -> Iterator[str]:
    """Aligned: the names, and the comments that stand behind their lines."""
    width = max(len(scalar(entry.name)) for entry in entries) + 1
    lines = [f"      {scalar(entry.name) + ':':<{width}} {inline(entry.fields)}" for entry in entries]
    comments = [[_printable(_text(note)) for note in entry.notes] for entry in entries]
    behind = [i for i, texts in enumerate(comments) if len(texts) == 1 and len(lines[i]) + len(texts[0]) + 4 <= WIDTH]
    column = max((len(lines[i]) for i in behind), default=0)
    for i, (line, texts) in enumerate(zip(lines, comments, strict=True)):
        fits = i in behind and column + len(texts[0]) + 4 <= WIDTH
        yield from _with_comments(f"{line:<{column}}" if fits else line, texts, 6)


def _with_comments(line: str, comments: Sequence[str], indent: int) -> Iterator[str]:
    """One short comment stands behind the line, everything else above it."""
    texts = [_printable(text) for text in comments]
    if len(texts) == 1 and len(line) + len(texts[0]) + 4 <= WIDTH:
        yield f"{line}  # {texts[0]}"
        return
    for text in texts:
        yield from (f"{' ' * indent}# {part}" for part in _wrapped(text, indent))
    yield line


def _wrapped(text: str, indent: int) -> Iterator[str]:
    yield from wrap(_printable(text), WIDTH - indent - 2, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)


def _text(note: Note) -> str:
    return f"REVIEW: {note.text}" if note.review else note.text


def _printable(text: str) -> str:
    """On one line and printable: a table's name or a CHECK may hold a line break, and a comment must not end there."""
    return "".join(c if c.isprintable() else " " for c in " ".join(text.split()))


def plain_draft(draft: Draft) -> Plain:
    """As a YAML reader would give it: what the checks look at before anything is written."""
    page: dict[Plain, Plain] = {"mare": 1}
    if draft.marks:
        page["peeked"] = [what for what, _ in draft.marks]
    if draft.entity.table is not None:
        page["entity"] = _plain_entity(draft)
    if draft.calendar is not None:
        page["calendar"] = _plain_calendar(draft.calendar)
    page["tables"] = {table.name: plain_table(table) for table in draft.tables}
    return page


def _plain_entity(draft: Draft) -> Plain:
    guess = draft.entity
    if guess.by is None:
        return guess.table
    named = {"name": guess.name, "rows": draft.facts.entities}
    return {"table": guess.table, "by": guess.by, **{field: value for field, value in named.items() if value is not None}}


def _plain_calendar(calendar: tuple[date, date]) -> Plain:
    return {"min": calendar[0], "max": calendar[1]}


def plain_table(table: DraftedTable) -> dict[Plain, Plain]:
    """The fields of a table that say something, in the order of the file."""
    fields: dict[Plain, Plain] = {
        "public": table.role == "public",
        "pool": None if table.pool is None else {"rows": table.pool},
        "ignore": table.ignore,
        "rows": table.rows,
        "key": _names(table.key) if table.key else None,
        "unique": [_names(names) for names in table.unique],
        "parent": None if table.parent is None else _plain(table.parent.fields),
        "sees": list(table.sees),
        "columns": {entry.name: _plain(entry.fields) for entry in table.columns},
        "references": {entry.name: _plain(entry.fields) for entry in table.references},
        "ignore_columns": list(table.ignored),
    }
    return {name: value for name, value in fields.items() if value}


def _names(names: tuple[str, ...]) -> Plain:
    return names[0] if len(names) == 1 else list(names)


def _plain(value: object) -> Plain:
    if isinstance(value, Mapping):
        return {str(name): _plain(item) for name, item in value.items()}
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    return cast(Plain, value)


TOPICS: Mapping[str, str] = {
    "public": "copied verbatim, so nothing in these tables may be about anybody",
    "names": "copied too: if these are names of people, pool: {rows: 20} makes up fresh rows instead of public: true",
    "aggregates": "numbers of public tables: an aggregate over people is not public (ignore_columns leaves it out)",
    "left out": "left out, since nothing says whose rows these are; to keep one, read what stands there",
    "owned": "made anew with the row that refers to it",
    "pools": "pools: made-up rows that are referred to at random; are their numbers plausible?",
    "caps": "max_rows are round guesses: more rows are cut, and more than anybody has costs little",
    "orders": "no column says which row comes first: taken in the order of their key, or drawn without looking at each other",
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
    "pairs": "taken for what a code of the same row is called, and learned with it; may it be anything beside it? learn: true",
    "flags": "taken for 0 and 1 alone",
    "texts": "dates stored as text, read as their format says: is it this one?",
    "positions": "taken for the row's number within its parent; does it count anew? within: […]",
    "ranges": "the scale depends on what is measured; ranges: {…} declares some",
    "made up": "made-up ranges and values of pools",
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
    plain = [tuple(replace(entry, notes=()) for entry in entries) for entries in (table.columns, table.references)]
    return replace(table, columns=plain[0], references=plain[1])


def _places(table: DraftedTable, topic: str) -> Iterator[tuple[str, str]]:
    """Table and what of it, for every note on the topic."""
    for note in table.own_notes:
        if note.topic == topic and note.review:
            yield table.name, ", ".join(table.key) if topic == "keys" else note.about
    # Of what is left out, only how it would belong to somebody is asked.
    for entry in table.entries if not table.ignore else filter(None, (table.parent,)):
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
        return tuple(replace(entry, notes=less(entry.notes)) for entry in entries)

    return replace(
        table,
        notes=less(table.notes),
        key_notes=less(table.key_notes),
        ignored_notes=less(table.ignored_notes),
        parent=quieter((table.parent,))[0] if table.parent is not None else None,
        columns=quieter(table.columns),
        references=quieter(table.references),
    )
