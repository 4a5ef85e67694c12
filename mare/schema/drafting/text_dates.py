"""Dates that a database stores as text (SQLite has no other way): by their names, read in the form that ISO 8601 gives them.

As texts they would be ordered as texts, and learned as lists of words.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Literal

from mare.schema.reflection import ReflectedColumn, Reflection

from .people import is_birth
from .words import words

DAY, PLAIN_DAY, MOMENT = "%Y-%m-%d", "%Y%m%d", "%Y-%m-%d %H:%M:%S"
_DAYS = ("date", "dob", "dod", "birthday", "birthdate")
_MOMENTS = ("datetime", "timestamp", "dttm", "at")

Formats = Mapping[tuple[str, str], str]
"""Table and column → how its dates are written."""


def read_text_dates(reflection: Reflection) -> tuple[Reflection, Formats]:
    """The same tables, with dates where the names of text columns say so, and how they are taken to be written."""
    formats: dict[tuple[str, str], str] = {}
    tables = []
    for table in reflection:
        columns = []
        for column in table.columns:
            kind = _kind(column)
            if kind is not None:
                short = column.max_length is not None and column.max_length < 10
                formats[table.name, column.name] = MOMENT if kind == "datetime" else PLAIN_DAY if short else DAY
                column = replace(column, kind=kind)
            columns.append(column)
        tables.append(replace(table, columns=tuple(columns)))
    return replace(reflection, tables=tuple(tables)), formats


def _kind(column: ReflectedColumn) -> Literal["date", "datetime"] | None:
    parts = words(column.name)
    if column.kind != "string" or column.values is not None or not parts:
        return None
    if column.max_length is not None and column.max_length < 8:
        return None
    # `start_time` may be a time of day; `charttime` and `created_at` are moments.
    if parts[-1] in _MOMENTS or (len(parts[-1]) > 4 and parts[-1].endswith("time")):
        return "datetime" if column.max_length is None or column.max_length >= 19 else None
    named = parts[-1] in _DAYS or parts[-1].endswith(("date", "datum")) or parts[0] in ("date", "fecha")
    # `data` and `dato` are dates in some languages and anything in others; of a birth they are dates.
    return "date" if named or (is_birth(column.name) and (parts[0] == "data" or parts[-1].endswith("dato"))) else None
