"""Where a pydantic error stands in the file, and which noun is written there.

Pydantic's locations also name the union members it tried (`integer`, `tuple[float, ...]`). A person did not
write those, so they are taken out here, by walking the nouns' own types along the location.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from types import NoneType, UnionType
from typing import Annotated, Literal, Union, get_args, get_origin

from pydantic import BaseModel

from .faults import Path
from .schema import Schema


@dataclass(frozen=True)
class Place:
    """One location, as the file writes it."""

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
            kind = kind.model_fields[str(step)].annotation if step in kind.model_fields else None
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
            if (member := _tagged(kind, step)) is not None:
                kind = member
            else:
                union, kind = tuple(path), _labelled(kind, step)
        else:
            path.append(step)
    return Place(tuple(path), noun, union)


def members_of(kind: object) -> dict[str, type[BaseModel]]:
    """The nouns of a union whose `type` or `kind` tells them apart, by that tag."""
    found: dict[str, type[BaseModel]] = {}
    for member in get_args(_bare(kind)):
        if not (isinstance(member, type) and issubclass(member, BaseModel)):
            return {}
        found |= {str(tag): member for tag in tags_of(member)}
    return found


def tags_of(noun: type[BaseModel]) -> tuple[str, ...]:
    """What `type` or `kind` a noun answers to."""
    for name in ("type", "kind"):
        if name in noun.model_fields and noun.model_fields[name].is_required():
            annotation = noun.model_fields[name].annotation
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


def _tagged(union: object, step: str | int) -> type[BaseModel] | None:
    return members_of(union).get(str(step))


def _labelled(union: object, label: str | int) -> object:
    """The member of a plain union that pydantic labels so."""
    for member in map(_bare, get_args(union)):
        if getattr(member, "__name__", None) == label and get_origin(member) is None:
            return member
        if get_origin(member) is tuple and str(label).startswith(("tuple", "function")):
            return member
    return None
