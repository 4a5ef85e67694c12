"""`mare init`: draft a schema from what a source's catalogue tells. Takes nothing from values unless asked to."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable
from dataclasses import replace
from datetime import date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from mare.cli.app import app
from mare.cli.options import AsJson
from mare.cli.progress import count_bar
from mare.cli.telling import check_output, many, print_json, print_utf8, without_blanks, write_output
from mare.errors import SinkError
from mare.finding import open_source
from mare.ports import Source

if TYPE_CHECKING:
    from mare.schema.drafting import Draft, PublicFacts
    from mare.schema.reflection import Peek, Reflection

Answer = TypeVar("Answer")

_MAX_VALUES = 100
"""A column with more values than this is learned, also with --peek: a list of them would be nobody's to review."""


@app.command()
def init(
    source: Annotated[
        str, typer.Argument(help="A database URL, a database file, a folder of CSV or Parquet files, or one file.")
    ],
    like: Annotated[
        str | None,
        typer.Option(
            help="A ready schema (or a file) to take instead of a draft, cut down to what the source has: omop-cdm-5.4."
        ),
    ] = None,
    entity: Annotated[
        str | None, typer.Option(help="The table whose rows are the people to protect, or TABLE.COLUMN that tells them apart.")
    ] = None,
    output: Annotated[Path | None, typer.Option("-o", "--output", help="Write here instead of to the terminal.")] = None,
    between: Annotated[
        tuple[datetime, datetime] | None,
        typer.Option(formats=["%Y-%m-%d"], help="The first and the last day of the data: 2019-01-01 2024-12-31. If public."),
    ] = None,
    entities: Annotated[int | None, typer.Option(help="Roughly how many entities there are. If that is public.")] = None,
    peek_types: Annotated[
        bool,
        typer.Option("--peek-types", help="Read values to find out types, and what rows show together (CSV). Marked `peeked`."),
    ] = False,
    peek: Annotated[
        bool, typer.Option("--peek", help="Read values to fill in domains. Marked `peeked`; do not hand on.")
    ] = False,
    overwrite: Annotated[bool, typer.Option("--replace", "--force", help="Overwrite the file, if it is a schema.")] = False,
    as_json: AsJson = False,
) -> None:
    """Draft a schema from a database or a folder, with a comment next to everything that a person should review."""
    from mare.installed import has_fakes
    from mare.schema.cutting import resembled
    from mare.schema.drafting import PublicFacts, make_draft, write_draft
    from mare.schema_verbs import refuse_headers

    check_output(output, "the file of a schema", "a schema", SinkError, _is_schema, overwrite=overwrite)
    days = None if between is None else (between[0].date(), between[1].date())
    if like is not None:
        if entity is not None or peek or peek_types:
            raise typer.BadParameter("--like takes the schema as it is: leave out --entity, --peek and --peek-types.")
        _cut(source, like, output, days, entities, as_json)
        return
    facts = PublicFacts(date.today(), days, entities, has_fakes())
    with open_source(source) as opened:
        with count_bar("reading the catalogue", quiet=as_json):
            reflection = opened.reflect()
        refuse_headers(opened)
        draft = make_draft(reflection, facts, entity)
        if not as_json and (facts := _ask_for_facts(facts, draft)) != draft.facts:
            draft = make_draft(reflection, facts, entity)
        if peek or peek_types:
            draft = make_draft(reflection, facts, entity, _peeks(opened, draft, reflection, entity, domains=peek, quiet=as_json))
    command = _next_command(draft.source, output, reflection)
    text = write_draft(draft, command)
    _hand_over(text, output, private=bool(draft.peeked), as_json=as_json)
    if as_json:
        page = {"output": str(output)} if output is not None else {"schema": text}
        print_json(page | _page(draft, command, resembled(reflection)))
        return
    _summarise(draft, output, command, resembled(reflection))


def _hand_over(text: str, output: Path | None, *, private: bool, as_json: bool) -> None:
    """To the file or the terminal; a page of JSON quotes it."""
    if output is not None:
        write_output(output, text, private=private)
    elif not as_json:
        print_utf8(text)


def _page(draft: Draft, command: str, like: str | None) -> dict[str, object]:
    """What the summary says, for --json."""
    guess = draft.entity
    return {
        "source": draft.source,
        "read": draft.peeked or draft.what_was_read,
        "entity": {"table": guess.table, "by": guess.by, "why": guess.why, "rivals": list(guess.rivals)},
        "tables": {drafted.name: drafted.role for drafted in draft.tables},
        "reviews": [note.text for note in draft.notes if note.review],
        "untyped": draft.untyped,
        "like": like,
        "next": command,
    }


def _ask_for_facts(facts: PublicFacts, draft: Draft) -> PublicFacts:
    """On a terminal, what was not said is asked for; no answer leaves it open. A pipe is never asked."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return facts
    dated = any(entry.fields["type"] in ("date", "datetime") for table in draft.tables for entry in table.columns)
    if facts.between is None and dated:
        typer.echo("Between which days was the data collected? It bounds every date. Enter leaves it open.", err=True)
        first = _prompted("  first day, as in 2019-01-01", date.fromisoformat)
        last = _prompted("  last day", date.fromisoformat) if first is not None else None
        facts = facts if first is None or last is None else replace(facts, between=(first, last))
    if facts.entities is None and draft.entity.table is not None:
        count = _prompted(f"About how many {draft.entity.node} are there, if that is public? Enter leaves it open", int)
        facts = facts if count is None else replace(facts, entities=count)
    return facts


def _prompted(question: str, read: Callable[[str], Answer]) -> Answer | None:
    while True:
        answer = str(typer.prompt(question, default="", show_default=False, err=True)).strip()
        if not answer:
            return None
        try:
            return read(answer)
        except ValueError:
            typer.echo(f"  {answer} cannot be read.", err=True)


def _peeks(
    opened: Source, blind: Draft, reflection: Reflection, entity: str | None, *, domains: bool, quiet: bool
) -> dict[tuple[str, str], Peek]:
    """Types first, because what is drafted as a category depends on them; then the domains of what would be learned."""
    from mare.ports import Comparing
    from mare.schema.drafting import compared, make_draft, undeclared, untyped

    peeks: dict[tuple[str, str], Peek] = {}
    with count_bar("looking at columns", quiet=quiet, of_the_source=True) as tell:
        types = list(untyped(reflection))
        for number, place in enumerate(types):
            tell(number, len(types))
            peeked = opened.peek(*place, max_values=_MAX_VALUES)
            few = peeked.values is not None
            peeks[place] = replace(peeked, values=None, min=None, max=None, few=few)
        if isinstance(opened, Comparing):
            for table, columns, by, above in compared(make_draft(reflection, blind.facts, entity, peeks), types):
                for column, told in opened.compare(table, columns, by, above).items():
                    peeks[table, column] = replace(peeks[table, column], compared=told)
        open_domains = list(undeclared(make_draft(reflection, blind.facts, entity, peeks))) if domains else []
        for number, place in enumerate(open_domains):
            tell(number, len(open_domains))
            peeks[place] = opened.peek(*place, max_values=_MAX_VALUES)
    return peeks


def _is_schema(beginning: bytes) -> bool:
    """Whether a file reads as a schema of mare, as far as its first lines tell."""
    return b"\0" not in beginning and any(line.startswith(b"mare:") for line in beginning.splitlines())


def _next_command(source: str, output: Path | None, reflection: Reflection) -> str:
    """Where no foreign key is declared, names alone say what belongs together: whether it does, only the rows say."""
    rows = "" if any(table.foreign_keys for table in reflection) else " --read-rows"
    return f"mare check {shlex.quote(str(output)) if output is not None else 'FILE'} --from {shlex.quote(source)}{rows}"


def _cut(
    source: str, like: str, output: Path | None, between: tuple[date, date] | None, entities: int | None, as_json: bool
) -> None:
    """The schema to the file or the terminal, what it lost beside it."""
    from mare.schema.cutting import cut_schema
    from mare.schema.drafting import PublicFacts
    from mare.schema_verbs import refuse_headers

    facts = PublicFacts(date.today(), between, entities)
    with open_source(source) as opened, count_bar("reading the catalogue", quiet=as_json):
        refuse_headers(opened)
        reflection = opened.reflect()
        text, cut = cut_schema(like, reflection, facts.between, facts.entities)
        label = opened.label
    _hand_over(text, output, private=False, as_json=as_json)
    kept = [name for name, table in cut.tables.items() if isinstance(table, dict) and not table.get("ignore")]
    command = _next_command(label, output, reflection)
    if as_json:
        page = {"output": str(output)} if output is not None else {"schema": text}
        cut_away = {"tables": list(map(str, kept)), "cut": list(cut.summary), "next": command}
        print_json({**page, "source": label, "like": like, "read": reflection.what_was_read, **cut_away})
        return
    typer.echo(
        f"{like}, cut down to {label}: {many(len(kept), 'table')} ({', '.join(map(str, kept))}). {reflection.what_was_read}",
        err=True,
    )
    for line in cut.summary:
        typer.echo(f"  {line}", err=True)
    typer.echo(f"Next: {command}", err=True)


def _summarise(draft: Draft, output: Path | None, command: str, like: str | None) -> None:
    """On the error stream, so that the draft itself can be piped."""
    console = Console(stderr=True, highlight=False, width=None if sys.stderr.isatty() else 100)
    values = {
        "": draft.what_was_read,
        "types": "VALUES WERE READ, for types.",
        "domains": "VALUES WERE READ, and are in the file.",
    }
    console.print(
        Text(f"Drafted {many(len(draft.tables), 'table')} from {draft.source}. {values[draft.peeked]}", style="bold"),
        soft_wrap=True,
    )
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 2))
    table.add_column(no_wrap=True, style="bold")
    table.add_column(overflow="fold")
    table.add_row("entity", Text(_entity(draft)))
    for role, title in (
        ("private", "below it"),
        ("owned", "owned"),
        ("pool", "pools"),
        ("public", "public"),
        ("unsettled", "left out" if draft.entity.table is not None else "to settle"),
    ):
        names = [drafted.name for drafted in draft.tables if drafted.role == role]
        if names:
            table.add_row(title, Text(", ".join(names)))
    with console.capture() as page:
        console.print(table)
    typer.echo(without_blanks(page.get()), err=True)
    for doubt in draft.entity.doubts:
        console.print(Text(f"REVIEW: {doubt.text}"), soft_wrap=True)
    where = f"in {output}" if output is not None else "above"
    console.print(Text(f"{many(draft.to_review, 'thing')} to review: look for REVIEW {where}."))
    if draft.untyped and not draft.peeked:
        told = f"The source states no type for {many(draft.untyped, 'column')}"
        console.print(
            Text(f"{told}: run again with --peek-types, which reads values to find out, or write them."), soft_wrap=True
        )
    if like is not None:
        console.print(Text(f"It looks like {like}, for which there is a ready schema: run again with --like {like}."))
    console.print(Text(f"Next: {command}"), soft_wrap=True)


def _entity(draft: Draft) -> str:
    guess = draft.entity
    if guess.table is None:
        return f"left open: {guess.why}. Candidates: {', '.join(guess.rivals)}. Run again with --entity TABLE."
    name = guess.table if guess.by is None else f"{guess.by} of {guess.table}"
    return f"{name} ({guess.why})"
