"""Bounds that everybody knows, by a column's name and kind (an age, a percentage, an hour) or by the digits of its type. Each
with its reason.

They are public, so nothing has to be learned; a value outside is moved to the nearest bound, and `mare fit` counts such values
in its internal notes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import date, timedelta
from fractions import Fraction
from math import ceil

from mare.schema.reflection import ReflectedColumn

from .drafted import FieldValue, PublicFacts
from .name_words import is_age, is_grade, is_round, words
from .people import is_birth, is_death

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
_MOST_DIGITS = 4
"""Before the point: a type with more says nothing, it is only wide enough for everything."""
_UNITS: Mapping[str, int | Fraction] = {
    "second": Fraction(1, 86400), "minute": Fraction(1, 1440), "minutes": Fraction(1, 1440), "hour": Fraction(1, 24),
    "hours": Fraction(1, 24), "day": 1, "days": 1, "visitday": 1, "week": 7, "weeks": 7,
    "month": 28, "months": 28, "years": 365,
}  # fmt: skip
"""Days in what a column counts, the shortest of them."""
_SCHOOL_YEARS = 20
_MADE_UP = 1_000_000
_LIFE = timedelta(days=120 * 365.25)

Bounds = dict[str, FieldValue]
"""``min`` and ``max``."""
_NO_PART = frozenset(("per", "in", "number", "n", "num", "count", "total", "duration", "length"))
"""`hours_per_week`, `n_months`, `age_in_months`: a number of them, not which one of them."""
_NO_YEAR = frozenset(
    ("group", "level", "class", "form", "grade", "stage", "last", "past", "previous", "prior", "this", "current")
)
"""`year_group`: of a school, not of the calendar; `sick_days_last_year`: what happened in it."""
_ONE_BYTE = re.compile(r"u?tinyint\b.*|int1", re.IGNORECASE)
"""Types that hold no year."""


def only_its_type_bounds(column: ReflectedColumn, facts: PublicFacts) -> bool:
    """Whether nothing is known of a number but how many digits there is room for."""
    return _number(column, facts) is None and _digits(column) is not None


def known_bounds(column: ReflectedColumn, facts: PublicFacts) -> tuple[Bounds, str] | None:
    """``min`` and ``max`` with the reason, where the name tells them and the catalogue does not say otherwise."""
    if column.values is not None or (column.min is not None and column.max is not None):
        return None
    known = _moment(column, facts) if column.kind in ("date", "datetime") else _number(column, facts) or _digits(column)
    if known is None:
        return None
    low, high, why = known
    return _checked(column, low, high), why


def years_before(day: date, years: int) -> date:
    """The same day, so many years before; the 28th, where there is no such day."""
    return day.replace(year=max(1, day.year - years), day=min(day.day, 28))


def _checked(column: ReflectedColumn, low: FieldValue, high: FieldValue) -> Bounds:
    """A CHECK says it better."""
    return {"min": low if column.min is None else column.min, "max": high if column.max is None else column.max}


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
    in_calendar = "year" in parts and not parts & (_NO_PART | _NO_YEAR) and not _ONE_BYTE.fullmatch(column.sql_type)
    if column.kind == "integer" and in_calendar:
        return _year(column.name, facts)
    part = next((_PARTS_OF_DATES[word] for word in words(column.name) if word in _PARTS_OF_DATES), None)
    if part is not None and column.kind == "integer" and (is_birth(column.name) or is_death(column.name) or "of" in parts):
        low, high, what = part
        return low, high, f"{what} lie between {low} and {high}"
    for any_of, low, high, what in _RANGES:
        if parts & any_of and not parts & _NO_PART:
            return low, high, f"{what} lie between {low} and {high}"
    return None


def sequence_bounds(column: ReflectedColumn, facts: PublicFacts) -> tuple[Bounds, str, bool] | None:
    """Bounds of a number that orders rows, the reason, and whether it is more than a guess. None for what is no number."""
    if column.kind not in ("integer", "number"):
        return None
    if column.min is not None and column.max is not None:
        return _checked(column, column.min, column.max), "bounds of a CHECK", True
    if facts.between is not None and "year" in words(column.name) and not is_birth(column.name):
        return _checked(column, facts.between[0].year, facts.between[1].year), "years of the calendar", True
    known = known_bounds(column, facts)
    if known is not None:
        return (*known, True)
    low, high, why = _elapsed(column, facts) or _round(column, facts) or (-_MADE_UP, _MADE_UP, MADE_UP)
    return _checked(column, low, high), why, False


MADE_UP = "a made-up range: write the one that you know"


def _elapsed(column: ReflectedColumn, facts: PublicFacts) -> tuple[int, int, str] | None:
    """Of a number that counts days (or weeks, years) from some beginning: no further from it, on either side, than the data is
    long; or than a life, where nobody says how long it is."""
    unit = next((days for word, days in _UNITS.items() if words(column.name)[-1:] == (word,)), None)
    if unit is None:
        return None
    length, of = (facts.between[1] - facts.between[0], "the data") if facts.between is not None else (_LIFE, "a life")
    most = ceil(Fraction(length.days) / unit)
    return -most, most, f"no further from its beginning than {of} is long"


def _round(column: ReflectedColumn, facts: PublicFacts) -> tuple[int, int, str] | None:
    if is_grade(column.name):
        return 0, _SCHOOL_YEARS, f"school grades, taken to lie between 0 and {_SCHOOL_YEARS}"
    if is_round(column.name):
        last = facts.calendar[1].year
        return 0, last, f"taken to lie between 0 and {last}: a number, or a year"
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
    if facts.between is None:
        return None
    # A plane that flies in 2013 was built long before.
    since, until = facts.births[0].year, facts.between[1].year
    return since, until, f"years up to the last of the calendar; if all are years of the data, min: {facts.between[0].year}"
