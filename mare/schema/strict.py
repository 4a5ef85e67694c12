"""What all parts of a schema share: unknown keys are refused, values do not change once built."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict, PlainSerializer, WithJsonSchema
from pydantic.fields import FieldInfo


class Strict(BaseModel):
    """A part of the schema. ``use_attribute_docstrings``: the text under a field is its documentation everywhere. Where a word
    of the language is one of Python's (`if`), the field has an alias, and is written by it."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, use_attribute_docstrings=True, allow_inf_nan=False, serialize_by_alias=True
    )


def written_fields(noun: type[BaseModel]) -> dict[str, FieldInfo]:
    """The fields of a part of the schema, by the names that a file writes."""
    return {field.alias or name: field for name, field in noun.model_fields.items()}


Value = bool | int | float | str
"""A value as YAML can write it."""


def _as_written(values: Sequence[Value]) -> Value | list[Value]:
    return values[0] if len(values) == 1 else list(values)


Names = Annotated[
    tuple[str, ...],
    BeforeValidator(lambda value: (value,) if isinstance(value, str) else value),
    PlainSerializer(_as_written, return_type=str | list[str]),
    WithJsonSchema({"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}),
]
"""One column name or a list of them; a single name is written without brackets."""

_TYPES = ["boolean", "integer", "number", "string"]

OneOrMore = Annotated[
    tuple[Value, ...],
    BeforeValidator(lambda value: (value,) if isinstance(value, Value) else value),
    PlainSerializer(_as_written, return_type=Value | list[Value]),
    WithJsonSchema({"anyOf": [{"type": _TYPES}, {"type": "array", "items": {"type": _TYPES}}]}),
]
"""One value or a list of them; a single one is written without brackets."""
