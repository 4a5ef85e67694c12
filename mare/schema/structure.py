"""From values to nouns: what pydantic refuses, said as faults that a person can mend, all at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from types import NoneType, UnionType
from typing import Annotated, Literal, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from .columns import Column
from .faults import Fault, Path, closest, did_you_mean
from .links import Parent, Reference
from .schema import Schema, Table
from .strict import Names, written_fields
from .yaml_nodes import Plain

_EXPECTED = {
    "string": "a text",
    "int": "a whole number",
    "float": "a number",
    "finite": "a finite number",
    "bool": "true or false",
    "tuple": "a list in brackets",
    "names": "a name or a list of names",
    "dict": "a mapping",
    "model": "a mapping",
    "date": "a date, as in 2100-01-31",
    "datetime": "a date and time, as in 2100-01-31 13:45:00",
    "time": "a time of day, as in 13:45",
}
"""Beginning of pydantic's error type → what it wanted."""

_SINGULAR = {"Table": "a table", "Schema": "a schema", "Parent": "a parent", "EntityByColumn": "an entity by column"}


def build_schema(data: Plain) -> tuple[Schema | None, list[Fault]]:
    """The schema, or every structural fault of what was written (without lines)."""
    if not isinstance(data, dict):
        return None, [Fault((), f"this is {_shown(data)}, not a schema", "Write `mare: 1`, `entity: …` and `tables: …`")]
    try:
        return Schema.model_validate(data), []
    except ValidationError as error:
        return None, faults_of(error)


def faults_of(error: ValidationError) -> list[Fault]:
    """One fault per place, without those that only say why another form of the same value did not fit either."""
    placed = [(place_of(detail["loc"]), detail) for detail in error.errors(include_url=False)]
    deeper = {place.union for place, _ in placed if place.union is not None and len(place.path) > len(place.union)}
    grouped: dict[Path, list[tuple[Place, ErrorDetails]]] = {}
    for place, detail in placed:
        if place.path not in deeper or place.union != place.path:
            grouped.setdefault(place.path, []).append((place, detail))
    for path in _meant_by_a_misspelling(placed):
        grouped.pop(path, None)
    return [_fault(path, [p for p, _ in group], [d for _, d in group]) for path, group in grouped.items()]


def _meant_by_a_misspelling(placed: Sequence[tuple[Place, ErrorDetails]]) -> set[Path]:
    """Missing fields that a misspelt key beside them stands for: one slip is one fault."""
    meant: set[Path] = set()
    for place, detail in placed:
        if detail["type"] == "extra_forbidden" and place.noun is not None:
            guess = closest(str(place.path[-1]), written_fields(place.noun))
            meant |= {(*place.path[:-1], guess)} if guess else set()
    return meant & {place.path for place, detail in placed if detail["type"] == "missing"}


def _fault(path: Path, places: Sequence[Place], details: Sequence[ErrorDetails]) -> Fault:
    noun, detail = places[0].noun, details[0]
    kind, value = detail["type"], detail["input"]
    last = str(path[-1]) if path else "schema"
    owner = next((step for step in reversed(path) if isinstance(step, str)), "")
    name = f"item {int(path[-1]) + 1} of `{owner}`" if path and isinstance(path[-1], int) else f"`{last}`"
    if kind == "missing":
        if noun is not None and written_fields(noun).get(last) is None:
            return Fault(path[:-1], f"`{path[-2]}` has too few items", _about(noun, str(path[-2])))
        return Fault(path, f"`{last}` is missing", f"Write `{last}: …`. {_about(noun, last)}")
    if kind == "extra_forbidden" and noun is Table and last == "protect":  # the language will have it: who wrote it relies on it
        return Fault(path, f"`{last}` is not implemented yet, and nothing would follow it", "Remove it")
    if kind == "extra_forbidden":
        return Fault(path, f"`{last}` is not a field of {_called(noun)}", _unknown_field(noun, last, path))
    if kind in ("union_tag_invalid", "union_tag_not_found"):
        return _tag_fault(path, detail)
    if kind == "literal_error":
        expected = str(detail["ctx"]["expected"]).replace("'", "")
        hint = did_you_mean(str(value), expected.replace(" or ", ", ").split(", "))
        return Fault(path, f"`{last}` is {_shown(value)}", f"{hint}Allowed: {expected}")
    own = [str(d["msg"]).removeprefix("Value error, ") for d in details if d["type"] == "value_error"]
    if own:
        message, _, advice = own[0].partition("; ")
        return Fault(path, message, f"{advice[:1].upper()}{advice[1:]}" if advice else _about(noun, last))
    if value is None:
        return Fault(path, f"{name} is empty", f"{_when_empty(path)}. {_about(noun, last)}".rstrip(". "))
    return _value_fault(path, name, noun, last, details)


def _value_fault(path: Path, name: str, noun: type[BaseModel] | None, last: str, details: Sequence[ErrorDetails]) -> Fault:
    for detail in details:
        if detail["type"] in ("greater_than_equal", "less_than_equal"):
            return Fault(path, f"{name} is {_shown(detail['input'])}", f"Allowed: {_bounds(noun, last)}. {_about(noun, last)}")
    field = None if noun is None else written_fields(noun).get(last)
    if [d["type"] for d in details] == ["tuple_type"] and field is not None and field.annotation in (Names, Names | None):
        details = [{**details[0], "type": "names"}]
    wanted = [_EXPECTED.get(str(d["type"]).partition("_")[0], str(d["msg"])) for d in details]
    words = " or ".join(dict.fromkeys(wanted))
    value = details[0]["input"]
    remedy = f"Write {words}"
    if "a text" in words and isinstance(value, (bool, int, float, date)):
        remedy = f'Put quotes around it: "{_shown(value)}"'
    return Fault(path, f"{name} is {_shown(value)}, not {words}", f"{remedy}. {_about(noun, last)}".rstrip(". "))


def _when_empty(path: Path) -> str:
    if path[:1] == ("tables",) and len(path) == 2:
        return "Describe the table, or write {public: true} or {ignore: true}"
    if path[-2:-1] == ("values",):
        return "NULL is not a value: write `nullable: true`"
    return "Write a value, or remove the line"


def _bounds(noun: type[BaseModel] | None, field: str) -> str:
    """From the field's own constraints: one place says what is allowed."""
    constraints = [] if noun is None else written_fields(noun)[field].metadata
    low = next((c.ge for c in constraints if hasattr(c, "ge")), None)
    high = next((c.le for c in constraints if hasattr(c, "le")), None)
    return f"{low} to {high}" if high is not None else f"{low} or more"


def _tag_fault(path: Path, detail: ErrorDetails) -> Fault:
    column = "columns" in path[2:3]
    what, word, union = ("column", "type", Column) if column else ("reference", "kind", Reference)
    allowed = list(members_of(union))
    listed = ", ".join(allowed)
    if detail["type"] == "union_tag_not_found":
        if not isinstance(detail["input"], dict):
            return Fault(path, f"this {what} is {_shown(detail['input'])}", f"Write {{{word}: …}}, one of {listed}")
        return Fault(path, f"this {what} has no `{word}`", f"Write `{word}:` and one of {listed}")
    tag = str(detail["ctx"]["tag"])
    return Fault((*path, word), f"{tag} is not a {what} {word}", f"{did_you_mean(tag, allowed)}Allowed: {listed}")


def _unknown_field(noun: type[BaseModel] | None, name: str, path: Path) -> str:
    if noun is None:
        return "Remove it"
    allowed = f"Allowed here: {', '.join(written_fields(noun))}"
    if noun is Table and name in written_fields(Parent):
        return f"It belongs inside `parent: {{…}}`. {allowed}"
    if (guess := did_you_mean(name, written_fields(noun))) != "":
        return f"{guess}{allowed}"
    if path[2:3] in (("columns",), ("references",)) and len(path) == 5:
        members = members_of(Column if path[2] == "columns" else Reference)
        if others := [tag for tag, member in members.items() if name in written_fields(member)]:
            return f"Only {', '.join(others)} has it. {allowed}"
    return f"Remove it. {allowed}"


def _called(noun: type[BaseModel] | None) -> str:
    if noun is None:
        return "this"
    if tags := tags_of(noun):
        return f"a {tags[0]} {'reference' if 'kind' in written_fields(noun) else 'column'}"
    return _SINGULAR.get(noun.__name__, f"`{noun.__name__}`")


def _about(noun: type[BaseModel] | None, field: str) -> str:
    """The field's own documentation."""
    if noun is None or field not in written_fields(noun):
        return ""
    return f"{field}: {(written_fields(noun)[field].description or '').strip()}".rstrip(".")


def _shown(value: object) -> str:
    if value is None:
        return "empty"
    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, (list, tuple)):
        return "a list"
    if isinstance(value, bool):
        return str(value).lower()
    text = str(value)
    return text if len(text) <= 60 else f"{text[:57]}…"


@dataclass(frozen=True)
class Place:
    """One location, as the file writes it, and which noun is written there.

    Pydantic's locations also name the union members it tried (`integer`, `tuple[float, ...]`). A person did not
    write those, so they are taken out here, by walking the nouns' own types along the location.
    """

    path: Path
    noun: type[BaseModel] | None
    """The noun that holds the last step."""
    union: Path | None = None
    """Where several forms were tried, the path of the value they were tried on."""


def place_of(location: Sequence[str | int]) -> Place:
    """The place that this pydantic location means."""
    path: list[str | int] = []
    noun: type[BaseModel] | None = None
    union: Path | None = None
    kind: object = Schema
    for step in location:
        kind = _bare(kind)
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            noun = kind
            kind = written_fields(kind)[str(step)].annotation if step in written_fields(kind) else None
            path.append(step)
        elif get_origin(kind) is dict:
            if step == "[key]":
                continue
            kind = get_args(kind)[1]
            path.append(step)
        elif get_origin(kind) is tuple:
            members = get_args(kind)
            kind = members[step] if isinstance(step, int) and step < len(members) and members[-1] is not ... else members[0]
            path.append(step)
        elif get_origin(kind) in (Union, UnionType):
            if (member := members_of(kind).get(str(step))) is not None:
                kind = member
            else:
                union, kind = tuple(path), _labelled(kind, step)
        else:
            path.append(step)
    return Place(tuple(path), noun, union)


def members_of(kind: object) -> dict[str, type[BaseModel]]:
    """The nouns of a union whose `type` or `kind` tells them apart, by that tag."""
    members: dict[str, type[BaseModel]] = {}
    for member in get_args(_bare(kind)):
        if not (isinstance(member, type) and issubclass(member, BaseModel)):
            return {}
        members |= {str(tag): member for tag in tags_of(member)}
    return members


def tags_of(noun: type[BaseModel]) -> tuple[str, ...]:
    """What `type` or `kind` a noun answers to."""
    for name in ("type", "kind"):
        if name in written_fields(noun) and written_fields(noun)[name].is_required():
            annotation = written_fields(noun)[name].annotation
            if get_origin(annotation) is Literal:
                return get_args(annotation)
    return ()


def _bare(kind: object) -> object:
    """Without `Annotated` and without `| None`: neither shows in a location."""
    while get_origin(kind) is Annotated:
        kind = get_args(kind)[0]
    if get_origin(kind) in (Union, UnionType):
        members = [m for m in get_args(kind) if m is not NoneType]
        if len(members) == 1:
            return _bare(members[0])
    return kind


def _labelled(union: object, label: str | int) -> object:
    """The member of a plain union that pydantic labels so."""
    for member in map(_bare, get_args(union)):
        if getattr(member, "__name__", None) == label and get_origin(member) is None:
            return member
        if get_origin(member) is tuple and str(label).startswith(("tuple", "function")):
            return member
    return None
