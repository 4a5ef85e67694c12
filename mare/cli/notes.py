"""What a fit left out, in words: by which line of the schema, and what to write where that is not what was meant.

Facts first, one a line; then, once each, what can be done about them. The numbers are true, so every fact says "internal, not
private"; they go to a terminal, or into a file that was asked for, never into a pipe: it may end in a log, which many may read.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from mare.files import write_whole
from mare.schema.columns import Category, Code, TimeColumn
from mare.schema.layout import Cap, link_cap

from .telling import remark

if TYPE_CHECKING:
    from mare.fitting import Cuts, LocalNotes
    from mare.schema import Schema
    from mare.schema.columns import AnyColumn
    from mare.schema.links import Parent
    from mare.schema.said_once import Calendar

INTERNAL = "(internal, not private)"
UNTOLD = (
    "What was left out of the data, in true numbers, is shown on a terminal only: logs are read by many. "
    "--internal-notes FILE writes it into a file."
)
_NOTES = "INTERNAL, NOT PRIVATE: true numbers of what the fit left out. Not to be handed over with the release."

ORPHANS = "Rows without a parent: `orphans: entity` in that table's `parent:` makes them entities of their own."
ROWS = (
    "Rows that cannot be read: in CSV, with more or fewer fields than the header (correct the file, or quote fields that hold a "
    "separator); in a FHIR export, lines that are no resource of their file's type."
)
VALUES = "Values that are not of the column's type: correct them in the source, or declare the column as text there."
ENCODING = (
    "Values in another encoding come out with \ufffd: say how the files are written, after their place "
    "(export/?encoding=latin-1), or save them in UTF-8; in a database, correct them there."
)
SHARED = "A key that several rows share: each of them has its own copy of what refers to it. Name another `key:` if there is one."
SAME = "Rows that say otherwise than others of the same list: remove `same_for:` where the value may change."
UNKNOWN_KEYS = "Keys that are not in a public table: add them there, if they may be known."
# A cap that follows the true count would be data in the schema, and nobody would have paid for it.
CAPS = (
    "Rows cut by a cap: to keep more, raise it in that table's `parent:` (tables.NAME.parent). The noise grows with it, so "
    "choose it by what is known about such data, not by these numbers."
)
ONE_ROW = "A key that is the foreign key allows one row: write another `key:` if there may be more."
VOCABULARY = "There can be no more rows than the public table has keys: `rows:` of it, or `vocabulary:`, says how many."
RARE = "Values too rare to be learned: if they are public, list them in the schema, `values: [...]` instead of `learn: true`."
RANGE = (
    "Values outside a learned range: if a range is public, write it in the schema, `min:` and `max:` (`within:` for what follows "
    "another value) instead of `learn: true`."
)
DECLARED = (
    "Values outside a declared domain: mend the fields that are named, if such values are possible. `mare check --read-rows` "
    "says which of them do not read at all."
)

Entry = tuple[str, str | None]
"""A fact, and what can be done about its kind."""


def tell_notes(notes: LocalNotes, quiet: bool, schema: Schema, file: Path | None = None) -> None:
    """What was left out, in true numbers, by which line of the schema, and what to do: on a terminal, and in that file.

    A pipe is told the same whatever the data holds: that anything was left out at all is as much about the data as how much.
    """
    lines = list(left_out_lines(notes, schema))
    if file is not None:
        _write_notes(lines, file)
    if sys.stderr.isatty():
        for line in lines:
            remark(line, quiet)
    elif file is None:
        remark(UNTOLD, quiet)


def are_notes(beginning: bytes) -> bool:
    """Whether a file that begins like this holds the notes of an earlier fit."""
    return beginning.startswith(_NOTES.encode())


def _write_notes(lines: list[str], file: Path) -> None:
    """For its owner's eyes only. The fit is done and paid for by now: a disk that is full must not cost the release."""
    try:
        write_whole(file, "\n".join([_NOTES, *(lines or ["Nothing was left out."]), ""]), private=True)
    except OSError as error:
        typer.echo(f"mare: {file} could not be written ({error.strerror}): what was left out is not shown.", err=True)


def left_out_lines(notes: LocalNotes, schema: Schema) -> Iterator[str]:
    """A line for everything that was left out, in true numbers; then what to do."""
    entries = list(_entries(notes, schema))
    yield from (fact for fact, _ in entries)
    yield from dict.fromkeys(remedy for _, remedy in entries if remedy is not None)


def _entries(notes: LocalNotes, schema: Schema) -> Iterator[Entry]:
    for place, count in notes.unread.items():
        if place in schema.tables:
            yield f"{place}: {count:,} rows that cannot be read were left out {INTERNAL}", ROWS
        else:
            yield f"{place}: {count:,} values that its type in the source cannot hold were read as NULL {INTERNAL}", VALUES
    for place, count in notes.undecoded.items():
        yield f"{place}: {count:,} values are not UTF-8, or not in the encoding that was said {INTERNAL}", ENCODING
    for table, rows in notes.copies.items():
        if rows:
            parent = schema.parent_name(table)
            yield f"{table}: {rows:,} copies of rows were made, because rows of {parent} share a key {INTERNAL}", SHARED
    for table, rows in notes.orphans.items():
        if rows and schema.parent(table) is None:
            yield f"{table}: {rows:,} rows that nobody refers to were left out {INTERNAL}", None
        elif rows:
            yield f"{table}: {rows:,} rows without a parent were left out {INTERNAL}", ORPHANS
    for table, cuts in notes.truncated.items():
        yield from _cuts(table, cuts, schema)
    columns = {
        f"{name}.{column}": declared for name, table in schema.tables.items() for column, declared in table.columns.items()
    }
    for column, rows in notes.changed.items():
        if rows:
            yield f"{column}: {rows:,} rows say otherwise than the first of those that share it (`same_for`) {INTERNAL}", SAME
    for column, values in notes.outside.items():
        if values:
            yield _outside(column, values, columns.get(column), schema.calendar)


def _cuts(table: str, cuts: Cuts, schema: Schema) -> Iterator[Entry]:
    link = schema.parent(table)
    cap = None if link is None else link_cap(schema, table)
    if link is None or cap is None:
        return
    parent, whose = schema.parent_name(table), schema.entity_name
    if cuts.unknown_key:
        yield f"{table}: {cuts.unknown_key:,} rows were cut, whose key is not in {link.via} {INTERNAL}", UNKNOWN_KEYS
    if cuts.multiplicity:
        often = f"`multiplicity: {link.multiplicity}`, how often a key of {link.via} may occur under one row of {parent}"
        yield f"{table}: {cuts.multiplicity:,} rows were cut by {often} {INTERNAL}", CAPS
    if cuts.max_rows:
        by, remedy = _cap_per_row(table, link, cap, schema)
        yield f"{table}: {cuts.max_rows:,} rows were cut by {by} {INTERNAL}", remedy
    if cuts.max_per_entity:
        by = f"`max_per_entity: {link.max_per_entity}`, rows per row of {whose}: whole lists of a row of {parent}"
        yield f"{table}: {cuts.max_per_entity:,} rows were cut by {by} {INTERNAL}", CAPS
    if cuts.above:
        yield f"{table}: {cuts.above:,} rows were cut together with the row of {parent} above them {INTERNAL}", None


def _cap_per_row(table: str, link: Parent, cap: Cap, schema: Schema) -> Entry:
    """The lowest of the caps on rows under one parent row, as the stage enforces it."""
    if cap.why == "max_per_entity" or (link.max_per_entity is not None and link.max_per_entity < cap.rows):
        return f"`max_per_entity: {link.max_per_entity}`, rows per row of {schema.entity_name}", CAPS
    each = f"rows per row of {schema.parent_name(table)}"
    if cap.why == "max_rows":
        return f"`max_rows: {cap.rows}`, {each}", CAPS
    return f"a cap of {cap.rows}, {each}: {cap.why}", ONE_ROW if cap.why == "key = foreign key" else VOCABULARY


def domain_fields(declared: AnyColumn | None, calendar: Calendar | None) -> list[str]:
    """What of a column says its domain. The calendar stands in the columns as their `min` and `max`."""
    fields = ("values", "after", "before", "during", "around", "within", "min", "max")
    values = {field: getattr(declared, field, None) for field in fields}
    days = {} if calendar is None or not isinstance(declared, TimeColumn) else {"min": calendar.min, "max": calendar.max}
    names = {
        field: "calendar" if str(days.get(field)) == str(value)[: len("2019-01-31")] else field
        for field, value in values.items()
        if value is not None
    }
    return [f"`{name}`" for name in dict.fromkeys(names.values())]


def _outside(column: str, values: int, declared: AnyColumn | None, calendar: Calendar | None) -> Entry:
    """Values that took part otherwise than they were; ``declared`` is None for a reference."""
    if declared is None:
        return f"{column}: {values:,} keys that its public table does not have took part as the rest {INTERNAL}", UNKNOWN_KEYS
    if getattr(declared, "learn", False) and isinstance(declared, Category | Code):
        return f"{column}: {values:,} values were too rare to be learned at this budget {INTERNAL}", RARE
    if getattr(declared, "learn", False):
        return (
            f"{column}: {values:,} values outside the range that was learned at this budget were moved into it {INTERNAL}",
            RANGE,
        )
    fields = domain_fields(declared, calendar)
    named = f" ({', '.join(fields)})" if fields else ""
    return (
        f"{column}: {values:,} values outside its domain{named} were moved into it {INTERNAL}",
        DECLARED if fields else None,
    )
