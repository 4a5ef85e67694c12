"""Which places of a schema were filled in by looking at the data, and still wait for a person to review them."""

from __future__ import annotations

from collections.abc import Iterator

from pydantic import BaseModel

from .faults import Path
from .schema import Schema


def peeked_paths(schema: Schema) -> tuple[Path, ...]:
    """Every place that carries the mark `peeked: true`. `plan` warns of them, `fit` refuses them."""
    return tuple(_peeked(schema, ()))


def _peeked(value: object, path: Path) -> Iterator[Path]:
    if isinstance(value, BaseModel):
        if getattr(value, "peeked", False):
            yield path
        for name in type(value).model_fields:
            yield from _peeked(getattr(value, name), (*path, name))
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from _peeked(item, (*path, key if isinstance(key, int) else str(key)))
