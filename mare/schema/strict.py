"""What all parts of a schema share: unknown keys are refused, values do not change once built; and times as people write them:
dates, moments, times of day, and lengths (``45s``, ``30min``, ``12h``, ``365d``, ``2w``, ``20y``). A number is none of them:
pydantic alone would read 2100 as seconds since 1970.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date, datetime, time, timedelta
from typing import Annotated, TypeVar

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, PlainSerializer, StringConstraints, WithJsonSchema
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


T = TypeVar("T", datetime, time)


def _no_number(value: object) -> object:
    digits = isinstance(value, str) and value.strip().replace(".", "").lstrip("+-").isdecimal()
    if isinstance(value, (int, float)) or digits:
        raise ValueError(f"{value} is a number, not a date or time; write 2100-01-31, 2100-01-31 13:45:00 or 13:45")
    return value


def _no_zone(value: T) -> T:
    if value.tzinfo is not None:
        raise ValueError(f"{value.isoformat()} has a time zone; write local time without Z or an offset")
    return value


def _day_or_moment(value: object) -> object:
    """Text becomes a date or a moment by its length, so that what is written comes back the same."""
    if isinstance(value, str):
        try:
            return date.fromisoformat(value) if len(value.strip()) == len("2100-01-31") else datetime.fromisoformat(value)
        except ValueError:
            raise ValueError(f"{value!r} is neither a number nor a date; write 5, 2100-01-31 or 2100-01-31 13:45:00") from None
    return value


def _no_zone_if_moment(value: int | float | datetime | date) -> int | float | datetime | date:
    return _no_zone(value) if isinstance(value, datetime) else value


# The formats of JSON Schema want a time zone and a `T`, which people do not write: patterns say what is meant.
_DAY = r"\d{4}-\d{2}-\d{2}"
_CLOCK = r"\d{2}:\d{2}(:\d{2}(\.\d+)?)?"
_AS_DAY = {"type": "string", "pattern": f"^{_DAY}$"}
_AS_MOMENT = {"type": "string", "pattern": f"^{_DAY}([ T]{_CLOCK})?$"}
_AS_CLOCK = {"type": "string", "pattern": f"^{_CLOCK}$"}

Day = Annotated[date, BeforeValidator(_no_number), WithJsonSchema(_AS_DAY)]
"""A date."""
Moment = Annotated[datetime, BeforeValidator(_no_number), AfterValidator(_no_zone), WithJsonSchema(_AS_MOMENT)]
"""A date and time, local."""
Clock = Annotated[time, BeforeValidator(_no_number), AfterValidator(_no_zone), WithJsonSchema(_AS_CLOCK)]
"""A time of day, local."""
OrderedValue = Annotated[
    int | float | datetime | date,
    BeforeValidator(_day_or_moment),
    AfterValidator(_no_zone_if_moment),
    WithJsonSchema({"anyOf": [{"type": "number"}, _AS_MOMENT]}),
]
"""A number, a date or a moment: whatever the column holds."""


_UNITS = {"s": 1, "min": 60, "h": 3600, "d": 86_400, "w": 7 * 86_400, "y": 31_557_600}
_SPAN = re.compile(r"(\d+(?:\.\d+)?)\s*(s|min|h|d|w|y)")


def parse_span(text: str) -> timedelta:
    """``20y`` as a length. A year is 365.25 days: spans are bounds, not calendars."""
    match = _SPAN.fullmatch(text.strip())
    if match is None:
        raise ValueError(f"{text!r} is not a span; write a number and one of {', '.join(_UNITS)}, as in 30min or 20y")
    return timedelta(seconds=float(match[1]) * _UNITS[match[2]])


def _checked(text: str) -> str:
    parse_span(text)
    return text


Span = Annotated[
    str,
    StringConstraints(strip_whitespace=True),
    AfterValidator(_checked),
    WithJsonSchema({"type": "string", "pattern": f"^{_SPAN.pattern}$"}),
]
"""A span, kept as written so that it is written back the same."""


def is_more(low: object, high: object) -> bool:
    """Whether two bounds of one column stand in the wrong order. Bounds of different types are not compared."""
    match low, high:
        case (str(), str()):
            return parse_span(low) > parse_span(high)
        case (int() | float(), int() | float()):
            return low > high
        case (time(), time()):
            return low > high
        case (date(), date()):
            return _as_moment(low) > _as_moment(high)
        case _:
            return False


def _as_moment(day: date) -> datetime:
    return day if isinstance(day, datetime) else datetime(day.year, day.month, day.day)
