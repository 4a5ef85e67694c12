"""`mare check`: everything that is wrong with a schema or left open in it, alone or against a source, all at once.

With `--read-rows`, also what a fit would meet in the rows, and what to write in the schema. Those numbers are true: they go to a
terminal, or as JSON where that is asked for; never unasked into a pipe: it may end in a log.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.text import Text

from mare.cli.app import app
from mare.cli.options import AsJson, SchemaName
from mare.cli.progress import count_bar
from mare.cli.telling import many, print_json
from mare.errors import MareError, SourceError
from mare.finding import open_source

if TYPE_CHECKING:
    from mare.audit.rows_met import Met, RowsMet
    from mare.schema import Fault, Schema
    from mare.schema.columns import AnyColumn
    from mare.schema.loading import Examination

_ORDER = ("error", "unsettled", "info")
_TITLES = {"error": "error", "unsettled": "to settle", "info": "note"}
_COLOURS = {"error": "bold red", "unsettled": "bold yellow", "info": "cyan"}

STATUS = "internal: not private, costs no budget, releases nothing"
UNTOLD = "The rows were not read: what they hold is shown on a terminal, or with --json, because logs are read by many."
UNREAD = "The rows were not read: settle the schema first."

_OFTEN = {
    "integer": "whole numbers", "number": "numbers", "date": "dates", "datetime": "moments", "time": "times of day",
    "duration": "lengths of time",
}  # fmt: skip


@app.command()
def check(
    schema: SchemaName,
    source: Annotated[
        str | None, typer.Option("--from", help="Also compare with this source: a database URL, a database file or a folder.")
    ] = None,
    read_rows: Annotated[
        bool, typer.Option("--read-rows", help="Also read the rows, and say what a fit would meet: internal, not private.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Check a schema, alone or against a source. Reads no row unless asked to. Exit code 2 if something is wrong or left open."""
    from mare.planning.planning import open_questions
    from mare.schema.loading import examine
    from mare.schema.matching import match

    if read_rows and source is None:
        raise SourceError("--read-rows needs a source: say --from as well.")
    examined = examine(schema)
    built, faults = examined.schema, list(examined.faults)
    if built is not None and not faults:
        faults += [fault.at(examined.line_of(fault.path)) for fault in open_questions(built)]
    faults += [*_marks(examined), *_missing(examined)]
    label, refused = None, None
    if source is not None and built is not None:
        try:
            with open_source(source) as opened, count_bar("reading the catalogue", quiet=False):
                label, against = opened.label, match(built, opened.reflect())
        except SourceError as error:
            refused = error  # what is known about the schema is told all the same
        else:
            # What the schema names twice is missing twice; once is enough.
            faults += [fault.at(examined.line_of(fault.path)) for fault in against]
    faults.sort(key=lambda fault: (fault.line is None, fault.line or 0))
    fine = refused is None and all(fault.severity == "info" for fault in faults)
    met: tuple[RowsMet, Schema] | None = None
    if read_rows and fine and (as_json or sys.stdout.isatty()) and built is not None and source is not None:
        from mare.audit.rows_met import meet_rows

        with count_bar("reading the rows", quiet=False):
            met = meet_rows(built, source), built
    if as_json:
        page: dict[str, object] = {"schema": examined.label, "source": label, "ok": fine}
        page["source_error"] = None if refused is None else str(refused)
        page["faults"] = [{"severity": fault.severity, **fault.to_json()} for fault in faults]
        print_json(page | ({"rows": None if met is None else met_page(*met)} if read_rows else {}))
    else:
        _print(examined, faults, label, fine)
        if met is not None:
            typer.echo("\n".join(met_lines(*met)))
        elif read_rows:
            typer.echo(UNTOLD if fine else UNREAD)
        if source is not None and built is None:
            typer.echo("The source was not looked at: nothing could be built from the schema.")
    if refused is not None and not as_json:  # the page tells it
        raise refused
    if not fine:
        raise typer.Exit(2)


def _marks(examined: Examination) -> list[Fault]:
    """One note on everything that was filled in by looking: `check` has nothing against it, and a fit refuses it."""
    from mare.schema.faults import Fault
    from mare.schema.schema import peeked_paths

    places = peeked_paths(examined.schema) if examined.schema is not None else ()
    if not places:
        return []
    what = f"{many(len(places), '`peeked` mark')}, the first one here: filled in by looking at the data"
    remedy = (
        "`mare fit` and `mare synth` refuse them: make sure that each is public knowledge, then remove its mark "
        "(`--unsafe-peeked` takes them as they are, for a result that is NOT PRIVATE)"
    )
    return [Fault(places[0], what, remedy, severity="info").at(examined.line_of(places[0]))]


def _missing(examined: Examination) -> list[Fault]:
    """What a fit would refuse here, and perhaps not elsewhere: nothing makes up names."""
    from mare.relational.faking import check_fakes
    from mare.schema.faults import Fault

    try:
        if examined.schema is not None:
            check_fakes(examined.schema)
    except MareError as error:
        what, _, remedy = str(error).partition(". ")
        return [Fault(("tables",), what, f"{remedy.rstrip('.')}. Before that, a fit refuses the schema", severity="info")]
    return []


def _print(examined: Examination, faults: Sequence[Fault], label: str | None, fine: bool) -> None:
    """One fault a paragraph, the place as compilers write it, so that editors jump there. What to do is said once."""
    console = Console(highlight=False, soft_wrap=True)
    remedies: set[str] = set()
    for fault in faults:
        place = examined.label if fault.line is None else f"{examined.label}:{fault.line}"
        line = Text(f"{place}: ")
        line.append(_TITLES[fault.severity], style=_COLOURS[fault.severity])
        dotted = ".".join(str(step) for step in fault.path) or "schema"
        line.append(f": {dotted}: {fault.what}.")
        console.print(line)
        if fault.remedy not in remedies:
            console.print(Text(f"    {fault.remedy.rstrip('.')}."))
        remedies.add(fault.remedy)
    console.print(Text(_verdict(examined, faults, label, fine), style="bold green" if fine else "bold"))


def _verdict(examined: Examination, faults: Sequence[Fault], label: str | None, fine: bool) -> str:
    counts = {severity: sum(fault.severity == severity for fault in faults) for severity in _ORDER}
    notes = f", {many(counts['info'], 'note')}" if counts["info"] else ""
    reviews = len(examined.reviews)
    notes += f", {many(reviews, 'REVIEW comment')} of the draft left" if reviews else ""
    against = f" It matches {label}." if label is not None else ""
    if fine and examined.schema is not None:
        word = "OK but for its peeked marks" if _marks(examined) else "OK"
        return f"{examined.label}: {word}{notes}. {_settled(examined.schema)}{against}"
    parts = [many(counts["error"], "error")] if counts["error"] else []
    parts += [f"{many(counts['unsettled'], 'thing')} to settle"] if counts["unsettled"] else []
    return f"{examined.label}: {', '.join(parts) or 'no fault in the schema itself'}{notes}."


def _settled(schema: Schema) -> str:
    """What there is, in one line."""
    tables = schema.tables.values()
    roles = {
        "public": sum(table.public for table in tables),
        "pools": sum(table.pool is not None for table in tables),
        "ignored": sum(table.ignore for table in tables),
    }
    private = len(schema.tables) - sum(roles.values())
    others = "".join(f", {count} {role}" for role, count in roles.items() if count)
    return f"Entity {schema.entity_name}, {private} private tables{others}."


def met_lines(met_rows: RowsMet, schema: Schema) -> Iterator[str]:
    """A line for everything; first of all, what it is."""
    from mare.cli.notes import INTERNAL, left_out_lines

    yield f"What a fit would meet ({STATUS}):"
    lines = [f"{met.table}.{met.column}: {_words(met, schema)}" for met in met_rows.met]
    lines += [line.removesuffix(f" {INTERNAL}") for line in left_out_lines(met_rows.notes, schema)]
    yield from (f"  {line}" for line in lines)
    if not lines:
        yield f"  nothing that it could not use, in {sum(met_rows.notes.read.values()):,} rows"


def _words(met: Met, schema: Schema) -> str:
    from mare.cli.notes import domain_fields

    of = f"{met.rows:,} of {met.of:,}"
    column = schema.tables[met.table].columns.get(met.column)
    if met.kind == "nowhere":
        reference = schema.tables[met.table].drawn_reference(met.column)
        return f"{of} keys are not in {reference.table if reference is not None else 'the public table'}"
    if met.kind == "null":
        return f"{of} are NULL, and it is not nullable: they would be drawn anew. Write nullable: true if they mean something"
    if met.kind == "unreadable":
        words = f"{of} do not read as {_OFTEN.get(column.type, 'its type') if column is not None else 'its type'}"
    else:
        words = f"{of} are outside {', '.join(domain_fields(column, schema.calendar)) or 'its values'}"
    return words + _hints(met) + _wider(met, column, schema)


def _hints(met: Met) -> str:
    hints = ""
    if met.guess.write:
        comma = met.guess.write.startswith('decimal: ","')
        hints += f"; {'decimal comma? Write' if comma else 'write'} {met.guess.write}"
    if met.guess.words:
        held = ", ".join(f"{word!r} ({rows:,})" for word, rows in met.guess.words)
        fields = "nulls, map or specials" if met.kind == "unreadable" else "values, map or nulls"
        hints += f"; {'then ' if hints else ''}{held}: say {fields}"
    if met.guess.days and met.kind == "outside":
        held = ", ".join(f"{day} ({rows:,})" for day, rows in met.guess.days)
        listed = ", ".join(f'"{day}"' for day, _ in met.guess.days)
        hints += f"; {held}: if that means none, write specials: [{listed}]"
    if met.guess.serial:
        hints += "; they look like days that a spreadsheet has counted: have it write dates, or declare type: integer"
    return hints


def _wider(met: Met, column: AnyColumn | None, schema: Schema) -> str:
    """Which line says that what lies outside a range is meant: the calendar's days stand in no column."""
    from mare.cli.notes import domain_fields
    from mare.schema.columns import Ordinal

    if met.kind != "outside" or not isinstance(column, Ordinal) or column.depends_on_items or met.guess.write:
        return ""
    ends = [f"{field}:" for field, rows in (("min", met.below), ("max", met.rows - met.below)) if rows]
    if column.anchors:
        bounded = "`calendar`" in domain_fields(column, schema.calendar)
        ends = [f"{field}:" for field in ("within", *(("min", "max") if bounded else ())) if getattr(column, field, None)]
    return f"; they would be moved into it: if they are meant, write {', '.join(ends)} of its own for it, wider" if ends else ""


def met_page(met_rows: RowsMet, schema: Schema) -> dict[str, object]:
    """The same for --json."""
    from mare.cli.notes import INTERNAL, left_out_lines

    return {
        "status": STATUS,
        "read": dict(met_rows.notes.read),
        "met": [
            {
                "table": met.table, "column": met.column, "kind": met.kind, "rows": met.rows, "of": met.of, "below": met.below,
                "write": met.guess.write or None, "words": dict(met.guess.words),
                "days": dict(met.guess.days), "serial": met.guess.serial,
            }
            for met in met_rows.met
        ],
        "left_out": [line.removesuffix(f" {INTERNAL}") for line in left_out_lines(met_rows.notes, schema)],
    }  # fmt: skip
