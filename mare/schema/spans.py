"""Lengths of time as people write them: ``45s``, ``30min``, ``12h``, ``365d``, ``2w``, ``20y``."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Annotated

from pydantic import AfterValidator, StringConstraints, WithJsonSchema

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
