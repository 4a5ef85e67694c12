"""`Reading`: how a source writes values, said once for a table or for the whole file.

It stands in each column that it holds for as soon as the schema is built, beside what the column says itself: nobody else knows
of it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Literal

from pydantic import model_validator

from .columns.written import Case, canonical
from .strict import Names, Strict, Value

_CLOCK = frozenset("HIMSpfXTRc")
_DAY = frozenset("dmYyjbBxDFc")


class Reading(Strict):
    """How texts of the source are read, in all columns that do not say so themselves."""

    decimal: Literal[".", ","] | None = None
    """Numbers: what stands before the decimals."""
    thousands: Literal[".", ",", " ", "'"] | None = None
    """Numbers: what stands between thousands."""
    format: Names | None = None
    """Dates and times: strptime formats, in the order in which they are tried. Each type takes those that suit it."""
    nulls: tuple[Value, ...] | None = None
    """Values that mean NULL, in columns that do not list them."""
    map: dict[str, Value] | None = None
    """Categories, codes and booleans: what a text stands for, in columns that have such a value and do not list the text."""
    trim: bool | None = None
    """Categories, codes and booleans: leave out blanks around a value."""
    case: Case | None = None
    """Categories, codes and booleans: `ignore` where they are listed; `lower` or `upper` where they are not."""

    @model_validator(mode="after")
    def _one_mark_each(self) -> Reading:
        if self.thousands is not None and self.thousands == (self.decimal or "."):
            raise ValueError(f"{self.thousands} stands before decimals and between thousands: say another `decimal`")
        return self


Fields = Mapping[object, object]


def with_readings(written: object) -> object:
    """What was written, with its `reading` in each column. What is no schema stays as it is."""
    if not isinstance(written, dict) or not isinstance(written.get("tables"), dict):
        return written
    whole = _fields(written.get("reading"))
    return {**written, "tables": {name: _table(table, whole) for name, table in written["tables"].items()}}


def _table(table: object, whole: Fields) -> object:
    if not isinstance(table, dict) or not isinstance(table.get("columns"), dict) or table.get("public") or table.get("ignore"):
        return table
    own = _fields(table.get("reading"))
    reading = {**_without_form(whole, own), **own}
    return {**table, "columns": {name: _column(column, reading) for name, column in table["columns"].items()}}


def _column(column: object, reading: Fields) -> object:
    if not isinstance(column, dict) or column.get("determined") is not None:
        return column
    fill = _FILLS.get(str(column.get("type")))
    if fill is None:
        return column
    said = {name: value for name, value in fill(column, reading).items() if value and name not in column}
    return {**column, **said}


def _number(column: Fields, reading: Fields) -> dict[str, object]:
    form = _without_form(reading, column)
    return {"decimal": form.get("decimal"), "thousands": form.get("thousands"), "nulls": _nulls(column, reading)}


def _without_form(reading: Fields, own: Fields) -> Fields:
    """Decimals and thousands are one form: who says one of them says both."""
    both = ("decimal", "thousands")
    return {name: value for name, value in reading.items() if name not in both} if own.keys() & set(both) else reading


def _time(column: Fields, reading: Fields) -> dict[str, object]:
    """The formats that can say such a value; those that say neither more nor less come first, and so the first is written."""
    written = reading.get("format")
    formats = [form for form in ([written] if isinstance(written, str) else _items(written)) if isinstance(form, str)]
    day, clock = column.get("type") != "time", column.get("type") != "date"
    exact = [form for form in formats if (_says(form, _DAY), _says(form, _CLOCK)) == (day, clock)]
    others = [form for form in formats if day and _says(form, _DAY) and form not in exact]
    return {"format": [*exact, *others] if exact else None, "nulls": _nulls(column, reading)}


def _word(column: Fields, reading: Fields) -> dict[str, object]:
    listed = {canonical(value) for value in _items(column.get("values"))}
    possible = listed | {canonical(column[side]) for side in ("true", "false") if column.get(side) is not None}
    if column.get("type") == "boolean":
        possible = possible or {"true", "false"}
    mapping = {
        text: meant
        for text, meant in _fields(reading.get("map")).items()
        if text not in possible and (not possible or canonical(meant) in possible)
    }
    case = reading.get("case") if bool(possible) == (reading.get("case") == "ignore") else None
    return {"nulls": _nulls(column, reading), "map": mapping, "trim": reading.get("trim"), "case": case}


def _length(column: Fields, reading: Fields) -> dict[str, object]:
    return {"nulls": _nulls(column, reading)}


_FILLS: dict[str, Callable[[Fields, Fields], dict[str, object]]] = {
    **dict.fromkeys(("integer", "number"), _number),
    **dict.fromkeys(("date", "datetime", "time"), _time),
    **dict.fromkeys(("category", "code", "boolean"), _word),
    "duration": _length,
}


def _nulls(column: Fields, reading: Fields) -> list[object]:
    """What the column itself lists, or maps, is a value there."""
    own = {canonical(v) for field in ("values", "specials") for v in _items(column.get(field))} | set(_fields(column.get("map")))
    return [value for value in _items(reading.get("nulls")) if canonical(value) not in own]


def _fields(value: object) -> Fields:
    return value if isinstance(value, dict) else {}


def _items(value: object) -> list[object]:
    return list(value) if isinstance(value, list | tuple) else []


def _says(form: str, directives: frozenset[str]) -> bool:
    return any(before == "%" and after in directives for before, after in pairwise(form))
