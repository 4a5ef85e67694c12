"""Bounds that everybody knows, by a column's name and kind (an age, a percentage, an hour) or by the digits of its type. Each
with its reason.

They are public, so nothing has to be learned; a value outside is moved to the nearest bound, and `mare fit` counts such values
in its internal notes.
"""

from __future__ import annotations

import re
from datetime import date

from mare.schema.reflection import ReflectedColumn

from .drafted import FieldValue
from .public_facts import PublicFacts
from .words import is_age, is_birth, words

_SHARES = frozenset(("percent", "percentage", "pct", "perc", "percentile"))
_BEYOND = frozenset(("change", "predicted", "growth", "difference", "diff", "delta", "expected", "normal"))
"""A percentage of what may be passed, or that may fall below nothing."""
_PARTS_OF_DATES = {"month": (1, 12, "months"), "day": (1, 31, "days of the month"), "hour": (0, 23, "hours of the day")}
"""Only where the name says of what: a month alone may count from the beginning of a study."""
_RANGES: tuple[tuple[frozenset[str], int, int, str], ...] = (
    (frozenset(("weekday", "dow")), 0, 7, "days of the week"),
    (frozenset(("latitude", "lat")), -90, 90, "latitudes"),
    (frozenset(("longitude", "lon", "lng")), -180, 180, "longitudes"),
    (frozenset(("gcs",)), 3, 15, "the Glasgow coma scale"),
    (frozenset(("apgar",)), 0, 10, "the Apgar score"),
    (frozenset(("systolic", "diastolic", "sbp", "dbp")), 0, 300, "blood pressures in mmHg"),
    (frozenset(("pulse", "heartrate")), 0, 300, "heart rates a minute"),
    (frozenset(("bmi",)), 5, 100, "body mass indices"),
)
"""Words of a name that say what is counted, and between which values that lies."""
_DECLARED = re.compile(r"\((\d+)\s*,\s*\d+\)")
_MOST_DIGITS = 9
"""Before the point: a type with more says nothing, it is only wide enough for everything."""
_NO_PART = frozenset(("per", "in", "number", "n", "num", "count", "total", "duration", "length"))
"""`hours_per_week`, `n_months`, `age_in_months`: a number of them, not which one of them."""


def known_bounds(column: ReflectedColumn, facts: PublicFacts) -> tuple[dict[str, FieldValue], str] | None:
    """``min`` and ``max`` with the reason, where the name tells them and the catalogue does not say otherwise."""
    if column.values is not None or (column.min is not None and column.max is not None):
        return None
    known = _moment(column, facts) if column.kind in ("date", "datetime") else _number(column, facts) or _digits(column)
    if known is None:
        return None
    low, high, why = known
    # A CHECK says it better.
    return {"min": low if column.min is None else column.min, "max": high if column.max is None else column.max}, why


def _moment(column: ReflectedColumn, facts: PublicFacts) -> tuple[date, date, str] | None:
    if not is_birth(column.name):
        return None
    first, last = facts.births
    return first, last, f"births lie between {first.year} and the last day of the data"


def _number(column: ReflectedColumn, facts: PublicFacts) -> tuple[int, int, str] | None:
    if column.kind not in ("integer", "number"):
        return None
    parts = frozenset(words(column.name))
    if is_age(column.name):
        return 0, 120, "ages lie between 0 and 120 years"
    if parts & _SHARES and not parts & _BEYOND:
        return 0, 100, "percentages lie between 0 and 100"
    if column.kind == "integer" and "year" in parts and not parts & _NO_PART:
        return _year(column.name, facts)
    part = next((_PARTS_OF_DATES[word] for word in words(column.name) if word in _PARTS_OF_DATES), None)
    if part is not None and column.kind == "integer" and (is_birth(column.name) or "of" in parts):
        low, high, what = part
        return low, high, f"{what} lie between {low} and {high}"
    for any_of, low, high, what in _RANGES:
        if parts & any_of and not parts & _NO_PART:
            return low, high, f"{what} lie between {low} and {high}"
    return None


def _digits(column: ReflectedColumn) -> tuple[float, float, str] | None:
    """What a type of so many digits holds. SQLite takes more: whoever declared them there said what is meant."""
    written = _DECLARED.search(column.sql_type)
    digits = int(written[1]) if column.digits is None and written else column.digits
    if column.kind not in ("integer", "number") or column.inferred or digits is None or column.precision is None:
        return None
    if not 0 <= digits - column.precision <= _MOST_DIGITS:
        return None
    most = (10**digits - 1) / 10**column.precision if column.precision else 10**digits - 1
    return -most, most, f"its type holds {digits - column.precision} digits before the point"


def _year(name: str, facts: PublicFacts) -> tuple[int, int, str] | None:
    if is_birth(name):
        first, last = facts.births
        return first.year, last.year, f"births lie between {first.year} and the last day of the data"
    return (facts.between[0].year, facts.between[1].year, "years of the calendar") if facts.between is not None else None
