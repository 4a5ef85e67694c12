"""Which stored kinds a column type can be read from, and what to write where it cannot. One rule a type."""

from __future__ import annotations

from .columns import Boolean, Category, Code, Column, Date, Datetime, Duration, Identifier, Ordinal, Text, Time
from .reflection import ReflectedColumn, StorageKind

_FITS: dict[str, tuple[StorageKind, ...]] = {
    "category": ("boolean", "integer", "number", "string", "uuid"),
    "code": ("integer", "string", "number"),
    "boolean": ("boolean",),
    "integer": ("integer", "number"),
    "number": ("integer", "number"),
    "date": ("date", "datetime"),
    "datetime": ("datetime", "date"),
    "time": ("time",),
    "duration": ("duration",),
    "position": ("integer", "number"),
    "identifier": ("integer", "number", "string"),
    "text": ("string", "json", "binary", "uuid", "other"),
}
"""Kinds that need no further word in the schema."""

_INSTEAD: dict[StorageKind, str] = {
    "boolean": "boolean",
    "integer": "integer (or category)",
    "number": "number",
    "string": "category, code or text",
    "date": "date",
    "datetime": "datetime",
    "time": "time",
    "duration": "duration",
    "uuid": "identifier, generate: uuid",
    "json": "text, or list it in ignore_columns",
    "binary": "text, or list it in ignore_columns",
    "other": "text, or list it in ignore_columns",
}

_WORDS: dict[StorageKind, str] = {
    "integer": "whole numbers", "number": "numbers", "string": "text", "date": "dates", "datetime": "dates with times",
    "time": "times of day", "duration": "lengths of time", "boolean": "booleans", "uuid": "UUIDs", "json": "JSON",
    "binary": "bytes", "other": "a type that mare does not know",
}  # fmt: skip


def clash(described: Column, stored: ReflectedColumn) -> tuple[str, str] | None:
    """What clashes and what to write, or None where the column can be read as what the schema says."""
    if described.type == "unknown" or stored.kind == "unknown" or described.determined is not None:
        return None
    if (special := _special(described, stored)) is not None:
        return special
    if stored.kind in _FITS[described.type] or _told(described, stored):
        return None
    shown = f" ({stored.sql_type})" if stored.sql_type else ""
    what = f"the schema says {described.type}, but the source stores {_WORDS[stored.kind]}{shown}"
    return what, f"Write type: {_INSTEAD[stored.kind]}{_hint(described, stored)}"


def _special(described: Column, stored: ReflectedColumn) -> tuple[str, str] | None:
    """Clashes that a type's other fields make."""
    if isinstance(described, Identifier):
        if described.generate == "uuid" and stored.kind in ("integer", "number"):
            return f"UUIDs do not fit into {_WORDS[stored.kind]}", "Write generate: sequence"
        if described.generate != "uuid" and stored.kind == "uuid":
            return f"a {described.generate} does not fit into UUIDs", "Write generate: uuid"
        if described.generate == "pattern" and stored.kind in ("integer", "number"):
            return f"a pattern does not fit into {_WORDS[stored.kind]}", "Write generate: sequence"
    if isinstance(described, (Category, Code)) and described.values is not None:
        texts = [value for value in described.values if isinstance(value, str)]
        if texts and stored.kind in ("integer", "number"):
            return f"values are texts, but the source stores {_WORDS[stored.kind]}", "Write them without quotes"
        if len(texts) < len(described.values) and stored.kind == "string":
            return "some values are no texts, but the source stores text", 'Put quotes around them, as in ["1", "2"]'
    longest = max(map(len, _texts(described)), default=0)
    if stored.kind == "string" and stored.max_length is not None and longest > stored.max_length:
        what = f"the schema writes a text of {longest} letters, but the source takes {stored.max_length} ({stored.sql_type})"
        return what, "Write a shorter one"
    return None


def _texts(described: Column) -> list[str]:
    """What the schema itself puts into the column. (What a template makes of a row is cut off where it does not fit.)"""
    match described:
        case Category():
            return [value for value in (*(described.values or ()), described.other) if isinstance(value, str)]
        case Code():
            return [value for value in described.values or () if isinstance(value, str)]
        case Identifier(generate="uuid"):
            return ["0" * _UUID]
        case Identifier(generate="pattern", pattern=str(pattern)):
            return [pattern.format(n=1)]
        case Text(fill="constant", value=str(value)):
            return [value]
        case _:
            return []


_UUID = 36


def _told(described: Column, stored: ReflectedColumn) -> bool:
    """Whether the schema says how it is stored."""
    if isinstance(described, Boolean):
        return stored.kind in ("integer", "number", "string") and described.true is not None and described.false is not None
    if isinstance(described, Identifier):
        return described.generate == "uuid" and stored.kind == "uuid"
    if isinstance(described, (Date, Datetime, Time)):
        return described.format is not None and stored.kind in ("string", "integer")
    if isinstance(described, Duration):
        return described.stored_as != "interval" and stored.kind in ("integer", "number")
    # Numbers among which `"> 89"` stands can only be stored as text.
    return isinstance(described, Ordinal) and bool(described.specials) and stored.kind == "string"


def _hint(described: Column, stored: ReflectedColumn) -> str:
    if isinstance(described, Boolean):
        return ", or say how it is stored: true: … and false: …"
    if isinstance(described, (Date, Datetime, Time)) and stored.kind in ("string", "integer"):
        example = "%H:%M" if isinstance(described, Time) else "%Y-%m-%d"
        return f', or say how it is written: format: "{example}"'
    if isinstance(described, Duration) and stored.kind in ("integer", "number"):
        return ", or say what it counts: stored_as: days"
    if isinstance(described, Ordinal) and stored.kind == "string":
        return ", or name the values that are no numbers: specials: […]"
    return ""
