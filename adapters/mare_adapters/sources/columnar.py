"""From rows of Python values, as a database driver gives them, to Arrow batches. Stands between a cursor and the stage.

The Arrow type follows from the reflected kind alone, never from the values: a column keeps its type from the
first batch to the last, and an empty table has one too.

    boolean → bool            date     → date32              uuid, json, other, unknown → string
    integer → int64           datetime → timestamp[us]       (zones are turned to UTC and dropped)
    number  → double          time     → time64[us]
    string  → string          duration → duration[us]        binary → binary

A number or integer of more digits than a double or an int64 holds is a decimal128 of its declared size. One of more digits than
that holds (PostgreSQL declares up to 1000) is read as a double, and a whole number as far as it fits.

Reading is total. A value that its declared type does not hold is read by a rule that looks at that value alone, never at the
batch: a number with decimals among whole ones is rounded, one beyond the type is its last, any number but 0 is true, and what
says nothing at all (`unknown` among dates) is NULL. A refusal would tell everybody that somebody has such a value.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import date, datetime, time, timedelta
from decimal import ROUND_HALF_EVEN, Decimal, InvalidOperation, localcontext
from functools import partial
from itertools import islice
from typing import NamedTuple

import pyarrow as pa

from mare.schema.reflection import ReflectedColumn, StorageKind
from mare_adapters.letters import in_utc, lettered, letters

BATCH_ROWS = 32_768

_FLOAT_DIGITS = 15
_INT64_DIGITS = 18
_DECIMAL_DIGITS = 38
_BEYOND = 1 << 63
_FIRST_JULIAN, _LAST_JULIAN = 1_721_425.5, 5_373_484.5
"""Years 1 to 9999. What SQLite's modifier 'auto' does: a number among these is a Julian day, any other is Unix seconds."""
_EMPTY_DATE = re.compile(r"(?:0000-00-00(?: 00:00:00(?:\.0+)?)?)?")
"""What files and MySQL leave where a date is missing."""


def arrow_type(column: ReflectedColumn) -> pa.DataType:
    """The Arrow type in which this column is read."""
    digits = column.digits or 0
    if column.kind == "integer" and digits > _INT64_DIGITS:
        return pa.decimal128(min(digits, _DECIMAL_DIGITS), 0)
    if column.kind == "number" and _FLOAT_DIGITS < digits <= _DECIMAL_DIGITS and 0 <= (column.precision or 0) <= digits:
        return pa.decimal128(digits, column.precision or 0)
    return _READ.get(column.kind, _AS_TEXT).arrow


Unread = Counter[str]
"""By table and column, how many values said nothing that their type can hold: true numbers, for internal notes alone."""


def record_batches(
    rows: Iterable[Sequence[object]],
    columns: Sequence[ReflectedColumn],
    names: Sequence[str],
    table: str,
    unread: Unread | None = None,
) -> Iterator[pa.RecordBatch]:
    """Pack rows into batches under these names. One empty batch when there is no row: the types are always told."""
    schema = pa.schema([pa.field(name, arrow_type(column)) for name, column in zip(names, columns, strict=True)])
    cursor = iter(rows)
    first = True
    while (chunk := list(islice(cursor, BATCH_ROWS))) or first:
        first = False
        turned = list(zip(*chunk, strict=True)) if chunk else [()] * len(columns)
        arrays = []
        for values, column in zip(turned, columns, strict=True):
            array, missed = read_values(values, column)
            arrays.append(array)
            if missed and unread is not None:
                unread[f"{table}.{column.name}"] += missed
        yield pa.RecordBatch.from_arrays(arrays, schema=schema)


def read_values(values: Sequence[object], column: ReflectedColumn) -> tuple[pa.Array, int]:
    """The values in the Arrow type of their column, and how many became NULL because they say nothing it can hold."""
    wanted, read = arrow_type(column), _READ.get(column.kind, _AS_TEXT)
    decimal = pa.types.is_decimal(wanted)
    try:
        # Arrow would cut 1.5 down to an int64 and take 7 for a date, so only the types that mean the kind go straight through.
        if set(map(type, values)) <= (_DECIMAL if decimal else {read.native, type(None)}) and not _has_zones(values, column):
            return pa.array(values, type=wanted), 0
    except (ValueError, TypeError, OverflowError, pa.ArrowException):
        pass  # a value beyond the type's reach is among them: each is looked at by itself
    convert = partial(_within_decimal, wanted) if decimal else read.convert
    converted = [None if value is None else _attempt(convert, value) for value in values]
    missed = sum(1 for value, made in zip(values, converted, strict=True) if made is None and not _is_missing(value))
    return pa.array(converted, type=wanted), missed


def _has_zones(values: Sequence[object], column: ReflectedColumn) -> bool:
    """Moments with a zone are looked at one by one: Arrow would go on before the year 1, Python does not."""
    return column.kind == "datetime" and any(getattr(value, "tzinfo", None) is not None for value in values)


def _attempt(convert: Callable[[object], object], value: object) -> object:
    try:
        return convert(value)
    except (ValueError, TypeError, OverflowError, InvalidOperation):
        return None


def _is_missing(value: object) -> bool:
    """Whether a value says by itself that there is none: what files and MySQL write for it."""
    return value is None or (isinstance(value, str) and _EMPTY_DATE.fullmatch(value.strip()) is not None)


def _within_decimal(wanted: pa.DataType, value: object) -> Decimal | None:
    """Rounded to the decimals of the type, and no further off than its digits reach."""
    number = _decimal(value)
    if number is None or number.is_nan():
        return None
    with localcontext(prec=2 * _DECIMAL_DIGITS):
        unit = Decimal(1).scaleb(-wanted.scale)
        last = Decimal(10) ** (wanted.precision - wanted.scale) - unit
        return last.copy_sign(number) if abs(number) > last else number.quantize(unit, rounding=ROUND_HALF_EVEN)


_TRUE = frozenset({"1", "1.0", "true", "t", "yes", "y"})
_FALSE = frozenset({"0", "0.0", "false", "f", "no", "n"})


def _boolean(value: object) -> bool | None:
    if isinstance(value, bytes):  # BIT(1) of MySQL
        value = int.from_bytes(value, "big")
    word = str(value).strip().lower()
    if not word:
        return None
    if word in _TRUE or word in _FALSE:
        return word in _TRUE
    number = Decimal(word)
    return None if number.is_nan() else number != 0  # as the databases have it that store truth values as numbers


def _integer(value: object) -> int | None:
    if isinstance(value, bytes):  # BIT(8) of MySQL
        value = int.from_bytes(value, "big")
    number = _decimal(value)
    if number is None or number.is_nan():
        return None
    if abs(number) >= _BEYOND:
        return _BEYOND - 1 if number > 0 else -_BEYOND
    return int(number.to_integral_value(ROUND_HALF_EVEN))


def _number(value: object) -> float | None:
    if isinstance(value, str) and not value.strip():
        return None
    if isinstance(value, (str, int, float, Decimal)):
        return float(value)
    raise TypeError("not a number")


def _decimal(value: object) -> Decimal | None:
    if isinstance(value, str) and not value.strip():
        return None
    if isinstance(value, (int, Decimal)):
        return Decimal(value)
    if isinstance(value, (str, float)):
        return Decimal(str(value).strip())
    raise TypeError("not a number")


def _date(value: object) -> date | None:
    moment = _datetime(value)
    return None if moment is None else moment.date()


def _datetime(value: object) -> datetime | None:
    """A moment as drivers give it, or as SQLite stores it: ISO text, a Julian day or Unix seconds."""
    if isinstance(value, datetime):
        return value if value.tzinfo is None else in_utc(value)
    if isinstance(value, date):
        return datetime(value.year, value.month, value.day)
    if isinstance(value, str):
        text = value.strip()
        return None if _EMPTY_DATE.fullmatch(text) else _datetime(datetime.fromisoformat(text))
    if isinstance(value, (int, float)):
        if _FIRST_JULIAN <= value < _LAST_JULIAN:
            return datetime(2000, 1, 1, 12) + timedelta(days=value - 2_451_545)
        return datetime(1970, 1, 1) + timedelta(seconds=value)
    raise TypeError("not a moment")


def _time(value: object) -> time | None:
    if isinstance(value, datetime):
        return value.time()
    if isinstance(value, time):
        return value.replace(tzinfo=None)
    if isinstance(value, timedelta):  # pymysql gives the time of a day as the time since its midnight, and MySQL knows 838 hours
        return time.min if value < timedelta(0) else time.max if value >= _DAY else (datetime(1970, 1, 1) + value).time()
    if isinstance(value, str):
        return time.fromisoformat(value.strip()).replace(tzinfo=None) if value.strip() else None
    raise TypeError("not a time")


_DAY = timedelta(days=1)
_SHORTEST, _LONGEST = timedelta(days=-106_751_991), timedelta(microseconds=(1 << 63) - 1)
"""As far as Arrow goes by itself: a value that it takes is not to be another because the next one is further off."""
_CLOCK = re.compile(r"(?:(-?\d+) days?,? ?)?(?:(-?)(\d+):(\d\d)(?::(\d\d(?:\.\d+)?))?)?")


def _duration(value: object) -> timedelta | None:
    if isinstance(value, timedelta):  # Python's reach further than 64 bits of microseconds do
        return max(_SHORTEST, min(value, _LONGEST))
    if isinstance(value, (int, float)):
        return _duration(timedelta(seconds=value))
    text = str(value).strip()
    if not text:
        return None
    match = _CLOCK.fullmatch(text)
    if match is None:
        raise ValueError("not a duration")
    days, sign, hours, minutes, seconds = match.groups()
    clock = timedelta(hours=int(hours or 0), minutes=int(minutes or 0), seconds=float(seconds or 0))
    return _duration(timedelta(days=int(days or 0)) + (-clock if sign else clock))


def _text(value: object) -> str:
    if isinstance(value, bytes):
        return letters(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    return lettered(str(value))


def _binary(value: object) -> bytes:
    if isinstance(value, str):
        return value.encode("utf-8", "surrogatepass")
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value)
    raise TypeError("not bytes")


_DECIMAL = frozenset({Decimal, int, type(None)})


class _Read(NamedTuple):
    """How the values of a kind are read."""

    arrow: pa.DataType
    native: type
    """Python's own type for it: such values go straight through."""
    convert: Callable[[object], object]
    """What becomes of any other."""


_READ: dict[StorageKind, _Read] = {
    "boolean": _Read(pa.bool_(), bool, _boolean),
    "integer": _Read(pa.int64(), int, _integer),
    "number": _Read(pa.float64(), float, _number),
    "date": _Read(pa.date32(), date, _date),
    "datetime": _Read(pa.timestamp("us"), datetime, _datetime),
    "time": _Read(pa.time64("us"), time, _time),
    "duration": _Read(pa.duration("us"), timedelta, _duration),
    "binary": _Read(pa.binary(), bytes, _binary),
}
_AS_TEXT = _Read(pa.string(), str, _text)


_ENDS: dict[StorageKind, tuple[str, str]] = {
    "date": ("DATE '0001-01-01'", "DATE '9999-12-31'"),
    "datetime": ("TIMESTAMP '0001-01-01 00:00:00'", "TIMESTAMP '9999-12-31 23:59:59.999999'"),
    "time": ("TIME '00:00:00'", "TIME '23:59:59.999999'"),
    "duration": ("INTERVAL '-100000000 days'", "INTERVAL '100000000 days'"),
}
_ZONED = "TIMESTAMPTZ '0001-01-01 00:00:00+00'", "TIMESTAMPTZ '9999-12-31 23:59:59.999999+00'"


def within_reach(value: str, kind: StorageKind, *, zoned: bool = False) -> str:
    """The expression, in SQL, no further off than Python and Arrow reach. What is NULL stays NULL.

    PostgreSQL and DuckDB know `infinity`, years before Christ and after 9999, 24:00 o'clock and intervals of a million years;
    tables hold the first as «valid until further notice». Such a value lies outside any domain all the same: read as the last
    day of the year 9999 it is moved into the domain and counted there as any other, where an error would end a fit that was
    paid for.
    """
    if kind not in _ENDS:
        return value
    low, high = _ZONED if zoned else _ENDS[kind]
    return f"CASE WHEN {value} < {low} THEN {low} WHEN {value} > {high} THEN {high} ELSE {value} END"
