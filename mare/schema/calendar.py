"""`Calendar`: between which days everything happens. Bounds of every date and moment that says none of its own.

It is written once, for the whole file, and stands in each column as soon as the schema is built: nobody else knows of it. Bounds
that a column has, of its own or from here, also say where a sequence begins that does not say it.
"""

from __future__ import annotations

from datetime import date

from pydantic import model_validator

from .moments import Day
from .relative import PREVIOUS_ROW
from .strict import Strict


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


def with_calendar(written: object) -> object:
    """What was written, with the calendar's bounds in each column that they hold for. What is no schema stays as it is."""
    if not isinstance(written, dict) or not isinstance(written.get("tables"), dict):
        return written
    calendar = written.get("calendar")
    days = {side: _day(calendar.get(side)) for side in ("min", "max")} if isinstance(calendar, dict) else {}
    ends = {side: day for side, day in days.items() if day is not None}
    return {**written, "tables": {name: _table(table, ends) for name, table in written["tables"].items()}}


def _table(table: object, ends: dict[str, date]) -> object:
    if not isinstance(table, dict) or not isinstance(table.get("columns"), dict) or table.get("public") or table.get("ignore"):
        return table
    return {**table, "columns": {name: _column(column, ends) for name, column in table["columns"].items()}}


def _column(column: object, ends: dict[str, date]) -> object:
    if not isinstance(column, dict) or column.get("determined") is not None:
        return column
    start = column["during"][0] if isinstance(column.get("during"), list) and column["during"] else column.get("after")
    if column.get("type") in ("integer", "number"):
        return _begun(column, start)
    if column.get("type") not in ("date", "datetime"):
        return column
    anchored = any(anchor is not None for anchor in (start, column.get("before"), column.get("around")))
    if column.get("learn") and not anchored:
        return column  # its own bounds are asked for: a date of birth is no event
    bounds = dict[str, object]()
    low, high = _day(column.get("min")), _day(column.get("max"))
    moment = column["type"] == "datetime"
    if column.get("min") is None and "min" in ends and (high is None or ends["min"] <= high):
        bounds["min"] = f"{ends['min']} 00:00:00" if moment else ends["min"].isoformat()
    if column.get("max") is None and "max" in ends and (low is None or ends["max"] >= low):
        # The last day counts as a whole.
        bounds["max"] = f"{ends['max']} 23:59:59" if moment else ends["max"].isoformat()
    return _begun({**column, **bounds}, start)


def _begun(column: dict[str, object], start: object) -> dict[str, object]:
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
