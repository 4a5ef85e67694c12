"""What is said once for the whole file or for a table: between which days everything happens (`Calendar`), and how the source
writes values (`Reading`).

It stands in each column that it holds for as soon as the schema is built, beside what the column says itself: nobody else knows
of it. Bounds that a column has, of its own or from the calendar, also say where a sequence begins that does not say it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import date
from itertools import pairwise
from typing import Literal

from pydantic import model_validator

from .columns.written import Case, canonical
from .determined import PREVIOUS_ROW
from .strict import Day, Names, Strict, Value

_CLOCK = frozenset("HIMSpfXTRc")
_DAY = frozenset("dmYyjbBxDFc")


class Calendar(Strict):
    """Between which days everything happens that is recorded: a date or moment that says nothing else lies between them."""

    min: Day | None = None
    """The first day."""
    max: Day | None = None
    """The last day: the end of the data. Sequences end here."""

    @model_validator(mode="after")
    def _in_order(self) -> Calendar:
        if self.min is None and self.max is None:
            raise ValueError("say min, max or both")
        if self.min is not None and self.max is not None and self.min > self.max:
            raise ValueError(f"min {self.min} is after max {self.max}")
        return self


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
            raise ValueError(f"{self.thousands} is both the decimal mark and the thousands separator: say another `decimal`")
        return self


Fields = Mapping[object, object]


def said_in_columns(written: object) -> object:
    """What was written, with the calendar's bounds and the `reading` in each column. What is no schema stays as it is."""
    if not isinstance(written, dict) or not isinstance(written.get("tables"), dict):
        return written
    days = {side: _day(day) for side, day in _fields(written.get("calendar")).items() if side in ("min", "max")}
    ends = {str(side): day for side, day in days.items() if day is not None}
    whole = _fields(written.get("reading"))
    return {**written, "tables": {name: _table(table, ends, whole) for name, table in written["tables"].items()}}


def _table(table: object, ends: Mapping[str, date], whole: Fields) -> object:
    if not isinstance(table, dict) or not isinstance(table.get("columns"), dict) or table.get("public") or table.get("ignore"):
        return table
    own = _fields(table.get("reading"))
    reading = {**_without_form(whole, own), **own}
    return {**table, "columns": {name: _column(column, ends, reading) for name, column in table["columns"].items()}}


def _column(column: object, ends: Mapping[str, date], reading: Fields) -> object:
    if not isinstance(column, dict) or column.get("determined") is not None:
        return column
    column = _bounded(column, ends)
    fill = _FILLS.get(str(column.get("type")))
    if fill is None:
        return column
    filled: dict[object, object] = {name: value for name, value in fill(column, reading).items() if value and name not in column}
    return {**column, **filled}


def _bounded(column: dict[object, object], ends: Mapping[str, date]) -> dict[object, object]:
    during = column.get("during")
    start = during[0] if isinstance(during, list) and during else column.get("after")
    if column.get("type") in ("integer", "number"):
        return _begun(column, start)
    if column.get("type") not in ("date", "datetime"):
        return column
    anchored = any(anchor is not None for anchor in (start, column.get("before"), column.get("around")))
    if column.get("learn") and not anchored:
        return column  # its own bounds are asked for: a date of birth is no event
    bounds = dict[object, object]()
    low, high = _day(column.get("min")), _day(column.get("max"))
    moment = column["type"] == "datetime"
    if column.get("min") is None and "min" in ends and (high is None or ends["min"] <= high):
        bounds["min"] = f"{ends['min']} 00:00:00" if moment else ends["min"].isoformat()
    if column.get("max") is None and "max" in ends and (low is None or ends["max"] >= low):
        # The last day counts as a whole.
        bounds["max"] = f"{ends['max']} 23:59:59" if moment else ends["max"].isoformat()
    return _begun({**column, **bounds}, start)


def _begun(column: dict[object, object], start: object) -> dict[object, object]:
    """A sequence that does not say how it begins begins between its own bounds."""
    follows = isinstance(start, str) and start.startswith(f"{PREVIOUS_ROW}.")
    if not follows or column.get("first") is not None or column.get("min") is None or column.get("max") is None:
        return column
    return {**column, "first": {"min": column["min"], "max": column["max"]}}


def _day(value: object) -> date | None:
    """The day of a date or moment as YAML has it; None where it is neither."""
    try:
        return date.fromisoformat(str(value)[:10])
    except ValueError:
        return None


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


_FILLS: dict[str, Callable[[Fields, Fields], dict[str, object]]] = {
    **dict.fromkeys(("integer", "number"), _number),
    **dict.fromkeys(("date", "datetime", "time"), _time),
    **dict.fromkeys(("category", "code", "boolean"), _word),
    "duration": lambda column, reading: {"nulls": _nulls(column, reading)},
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
