"""`draft`, `check`, `picture`: the verbs about a schema, twins of the command line's `init`, `check` and `graph`.

None of them takes anything from a row: a source is asked for its catalogue. Of a CSV file, `draft` compares the header with the
rows below it, to check that it is one.
"""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Literal

from mare.errors import PlanError, SourceError
from mare.finding import Location, open_source
from mare.installed import has_fakes
from mare.ports import Headed, Source
from mare.schema import Fault, Schema


def draft(
    source: Location,
    *,
    like: str | Path | None = None,
    entity: str | None = None,
    between: tuple[date | str, date | str] | None = None,
    entities: int | None = None,
) -> str:
    """A schema for this source as YAML text, with a REVIEW comment next to everything that a person should look at.

    ``between``: the first and the last day of the data; ``entities``: roughly how many there are. Both, if they are public.
    ``like``: a ready schema's name or a file, taken instead of a draft and cut down to what the source has.
    """
    from mare.schema.cutting import cut_schema
    from mare.schema.drafting import PublicFacts
    from mare.schema.drafting import draft as draft_reflection

    facts = PublicFacts(date.today(), None if between is None else (_day(between[0]), _day(between[1])), entities, has_fakes())
    if like is not None and entity is not None:
        raise PlanError("like takes the schema as it is: leave out entity.")
    with open_source(source) as opened:
        refuse_headers(opened)
        if like is not None:
            return cut_schema(like, opened.reflect(), facts.between, facts.entities)[0]
        return draft_reflection(opened.reflect(), facts, entity)


def refuse_headers(opened: Source) -> None:
    """A draft would publish the first line of a file as the names of its columns: never where that is somebody's row."""
    doubts = opened.doubts_of_headers() if isinstance(opened, Headed) else ()
    if doubts:
        raise SourceError("\n".join(doubts))


def _day(day: date | str) -> date:
    if isinstance(day, date):
        return day
    try:
        return date.fromisoformat(day)
    except ValueError:
        raise PlanError(f"between says {day!r}. Write a day as in 2019-01-31.") from None


def check(schema: Schema | str | Path, source: Location | None = None) -> tuple[Fault, ...]:
    """All faults of a schema, alone or against a source; an empty tuple when nothing is wrong or left open.

    Severity ``info`` is worth knowing and stops nothing.
    """
    from mare.planning.planning import open_questions
    from mare.schema.checks import find_faults
    from mare.schema.loading import examine
    from mare.schema.matching import match

    if isinstance(schema, Schema):
        built: Schema | None = schema
        faults = list(find_faults(schema))
    else:
        examined = examine(schema)
        built, faults = examined.schema, list(examined.faults)
    if built is None:
        return tuple(faults)
    if not faults:
        faults += open_questions(built)
    if source is not None:
        with open_source(source) as opened:
            faults += match(built, opened.reflect())
    return tuple(faults)


def picture(schema: Schema, kind: Literal["svg", "text"] = "svg") -> str:
    """Tables, column groups and what each may look at: a picture, or text for a terminal."""
    from .graph.drawing import draw_svg, draw_text

    return draw_svg(schema) if kind == "svg" else draw_text(schema)
