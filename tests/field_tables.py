"""The tables of fields in `docs/reference/schema.md`, made from the docstrings under the nouns' fields.

`python -m tests.field_tables docs/reference/schema.md` writes every table anew between its two marks; a test
fails when one has fallen behind or when a noun has none.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Literal, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from mare.schema import columns, determined, links, said_once, schema, strict

_ROOMS = (schema, said_once, links, columns, determined)
_MARKS = re.compile(r"(<!-- fields: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)

_WORDS: dict[object, str] = {
    str: "text",
    bool: "`true` or `false`",
    int: "whole number",
    float: "number",
    strict.Value: "value",
    strict.Names: "name or list of names",
    strict.Day: "date",
    strict.Moment: "date and time",
    strict.Clock: "time of day",
    strict.OrderedValue: "number, date or date and time",
    strict.Span: "span",
}


_SHORTER: dict[tuple[type[BaseModel], str], str] = {
    **{(noun, "format"): "text or list of texts" for noun in (columns.Date, columns.Datetime, columns.Time, said_once.Reading)},
    (schema.Table, "columns"): "mapping: name → [column](#columns)",
    (schema.Table, "references"): "mapping: name → [reference](#references)",
    (determined.Lookup, "by"): "name or list of names",
    (determined.Case, "then"): "value or [Formula](#formula)",
    (determined.Determined, "else"): "value or [Formula](#formula)",
}
"""Cells that would be too long, or that a required field's own type does not tell."""


def nouns() -> dict[str, type[BaseModel]]:
    """Every part of a schema by the name of its class, the ones that others build upon too."""
    return {
        name: value
        for room in _ROOMS
        for name, value in vars(room).items()
        if isinstance(value, type)
        and issubclass(value, strict.Strict)
        and value.__module__.startswith(room.__name__)
        and own_fields(value)
    }


def own_fields(noun: type[BaseModel]) -> dict[str, FieldInfo]:
    """The fields that this class adds to those it builds upon."""
    inherited = {name for base in noun.__bases__ for name in getattr(base, "model_fields", {})}
    return {name: field for name, field in strict.written_fields(noun).items() if name not in inherited}


def field_table(noun: type[BaseModel]) -> str:
    """One table in Markdown: field, what may be written, what holds otherwise, what it means."""
    rows = [f'<a id="{noun.__name__.lower()}"></a>', "", "| field | write | if left out | |", "|---|---|---|---|"]
    for name, field in own_fields(noun).items():
        meaning = field.description or (noun.__doc__ or "").strip().partition("\n")[0]
        meaning = " ".join(meaning.split()).replace("|", "\\|")
        rows.append(f"| `{name}` | {_SHORTER.get((noun, name)) or _written(field)} | {_default(field)} | {meaning} |")
    return "\n".join(rows) + "\n\n"


def refreshed(page: str) -> str:
    """The page with every table made anew."""
    known = nouns()
    return _MARKS.sub(lambda m: f"{m[1]}{field_table(known[m[2]])}{m[3]}", page)


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return "required"
    value = field.default
    if value is None or value == () or value == {}:
        return "–"
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"


def _written(field: FieldInfo) -> str:
    words = _words(field.annotation)
    low = next((limit.ge for limit in field.metadata if hasattr(limit, "ge")), None)
    high = next((limit.le for limit in field.metadata if hasattr(limit, "le")), None)
    if low is not None:
        words += f", {low} to {high}" if high is not None else f", {low} or more"
    return words


def _words(kind: object) -> str:
    for known, words in _WORDS.items():
        if kind == known:
            return words
    origin, parts = get_origin(kind), get_args(kind)
    if origin is Annotated:
        return _words(parts[0])
    if origin in (Union, UnionType):
        members = [part for part in parts if part is not NoneType]
        if kind == strict.Value | None:
            return "value"
        return " or ".join(dict.fromkeys(_words(part) for part in members))
    if origin is Literal:
        return ", ".join(f"`{part}`" for part in parts)
    if origin is tuple:
        if parts[-1] is ...:
            return "list of names" if parts[0] is str else f"list of {_plural(_words(parts[0]))}"
        return f"[{', '.join(_words(part) for part in parts)}]"
    if origin is dict:
        return f"mapping: {'name' if parts[0] is str else _words(parts[0])} → {_words(parts[1])}"
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        return f"[{kind.__name__}](#{kind.__name__.lower()})"
    return str(kind)


def _plural(words: str) -> str:
    return "lists of names" if words == _WORDS[strict.Names] else f"{words}s"


if __name__ == "__main__":
    page = Path(sys.argv[1])
    page.write_text(refreshed(page.read_text(encoding="utf-8")), encoding="utf-8")
