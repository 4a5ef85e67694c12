"""What `mare check --read-rows` says: what a fit would meet in the rows, and what to write in the schema.

The numbers are true: they go to a terminal, or as JSON to whoever asks for that; never unasked into a pipe: it may end in a log.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from .notes import INTERNAL, domain_fields, left_out_lines

if TYPE_CHECKING:
    from mare.audit.rows_met import Met, RowsMet
    from mare.schema import Schema

STATUS = "internal: not private, costs no budget, releases nothing"
UNTOLD = "The rows were not read: what they hold is told on a terminal, or with --json, because logs are read by many."
UNREAD = "The rows were not read: settle the schema first."

_OFTEN = {
    "integer": "whole numbers", "number": "numbers", "date": "dates", "datetime": "moments", "time": "times of day",
    "duration": "lengths of time",
}  # fmt: skip


def met_lines(found: RowsMet, schema: Schema) -> Iterator[str]:
    """A line for everything; first of all, what it is."""
    yield f"What a fit would meet ({STATUS}):"
    lines = [f"{met.table}.{met.column}: {_words(met, schema)}" for met in found.met]
    lines += [line.removesuffix(f" {INTERNAL}") for line in left_out_lines(found.notes, schema)]
    yield from (f"  {line}" for line in lines)
    if not lines:
        yield f"  nothing that it could not use, in {sum(found.notes.read.values()):,} rows"


def _words(met: Met, schema: Schema) -> str:
    of = f"{met.rows:,} of {met.of:,}"
    column = schema.tables[met.table].columns.get(met.column)
    if met.kind == "nowhere":
        return f"{of} keys are not in {schema.tables[met.table].references[met.column].table}"
    if met.kind == "null":
        return f"{of} are NULL, and it is not nullable: they would be drawn anew. Write nullable: true if they mean something"
    if met.kind == "unreadable":
        said = f"{of} do not read as {_OFTEN.get(column.type, 'its type') if column is not None else 'its type'}"
    else:
        said = f"{of} are outside {', '.join(domain_fields(column, schema.calendar)) or 'its values'}"
    return said + _hints(met)


def _hints(met: Met) -> str:
    said = ""
    if met.guess.write:
        comma = met.guess.write.startswith('decimal: ","')
        said += f"; {'decimal comma? Write' if comma else 'write'} {met.guess.write}"
    if met.guess.words:
        held = ", ".join(f"{word!r} ({rows:,})" for word, rows in met.guess.words)
        fields = "nulls, map or specials" if met.kind == "unreadable" else "values, map or nulls"
        said += f"; {'then ' if said else ''}{held}: say {fields}"
    if met.guess.days and met.kind == "outside":
        held = ", ".join(f"{day} ({rows:,})" for day, rows in met.guess.days)
        listed = ", ".join(f'"{day}"' for day, _ in met.guess.days)
        said += f"; {held}: if that means none, write specials: [{listed}]"
    return said


def met_page(found: RowsMet, schema: Schema) -> dict[str, object]:
    """The same for --json."""
    return {
        "status": STATUS,
        "read": dict(found.notes.read),
        "met": [
            {
                "table": met.table, "column": met.column, "kind": met.kind, "rows": met.rows, "of": met.of,
                "write": met.guess.write or None, "words": dict(met.guess.words),
                "days": dict(met.guess.days),
            }
            for met in found.met
        ],
        "left_out": [line.removesuffix(f" {INTERNAL}") for line in left_out_lines(found.notes, schema)],
    }  # fmt: skip
