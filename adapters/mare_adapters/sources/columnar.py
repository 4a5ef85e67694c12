"""From rows of Python values, as a database driver gives them, to Arrow batches. Stands between a cursor and the stage.

The Arrow type follows from the reflected kind alone, never from the values: a column keeps its type from the
first batch to the last, and an empty table has one too.

    boolean → bool            date     → date32              uuid, json, other, unknown → string
    integer → int64           datetime → timestamp[us]       (zones are turned to UTC and dropped)
    number  → double          time     → time64[us]
    string  → string          duration → duration[us]        binary → binary

A number or integer of more digits than a double or an int64 holds is a decimal128 of its declared size. One of more digits than
that holds (PostgreSQL declares up to 1000) is read as a double, and a whole number as far as it fits.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal, InvalidOperation
from itertools import islice
from typing import TYPE_CHECKING

from mare.errors import SourceError
from mare.schema.reflection import ReflectedColumn, StorageKind

if TYPE_CHECKING:
    import pyarrow as pa

BATCH_ROWS = 32_768

_FLOAT_DIGITS = 15
_INT64_DIGITS = 18
_DECIMAL_DIGITS = 38
_FIRST_JULIAN, _LAST_JULIAN = 1_721_425.5, 5_373_484.5
"""Years 1 to 9999. What SQLite's modifier 'auto' does: a number among these is a Julian day, any other is Unix seconds."""
_EMPTY_DATE = re.compile(r"(?:0000-00-00(?: 00:00:00(?:\.0+)?)?)?")
"""What files and MySQL leave where a date is missing."""


def arrow_type(column: ReflectedColumn) -> pa.DataType:
    """The Arrow type in which this column is read."""
    import pyarrow as pa

    digits = column.digits or 0
    match column.kind:
        case "boolean":
            return pa.bool_()
        case "integer":
            return pa.int64() if digits <= _INT64_DIGITS else pa.decimal128(min(digits, _DECIMAL_DIGITS), 0)
        case "number":
            exact = _FLOAT_DIGITS < digits <= _DECIMAL_DIGITS and 0 <= (column.precision or 0) <= digits
            return pa.decimal128(digits, column.precision or 0) if exact else pa.float64()
        case "date":
            return pa.date32()
        case "datetime":
            return pa.timestamp("us")
        case "time":
            return pa.time64("us")
        case "duration":
            return pa.duration("us")
        case "binary":
            return pa.binary()
        case _:
            return pa.string()


def record_batches(
    rows: Iterable[Sequence[object]], columns: Sequence[ReflectedColumn], names: Sequence[str], table: str
) -> Iterator[pa.RecordBatch]:
    """Pack rows into batches under these names. One empty batch when there is no row: the types are always told."""
    import pyarrow as pa

    schema = pa.schema([pa.field(name, arrow_type(column)) for name, column in zip(names, columns, strict=True)])
    cursor = iter(rows)
    first = True
    while (chunk := list(islice(cursor, BATCH_ROWS))) or first:
        first = False
        turned = list(zip(*chunk, strict=True)) if chunk else [()] * len(columns)
        arrays = [_array(values, column, table) for values, column in zip(turned, columns, strict=True)]
        yield pa.RecordBatch.from_arrays(arrays, schema=schema)


def _array(values: Sequence[object], column: ReflectedColumn, table: str) -> pa.Array:
    import pyarrow as pa

    wanted = arrow_type(column)
    kind: StorageKind = column.kind
    said = column.sql_type or kind
    try:
        # Arrow would cut 1.5 down to an int64 and take 7 for a date, so only the types that mean the kind go straight through.
        if set(map(type, values)) <= (_DECIMAL if pa.types.is_decimal(wanted) else _NATIVE.get(kind, _TEXT)):
            return pa.array(values, type=wanted)
        convert = _decimal if pa.types.is_decimal(wanted) else _CONVERT.get(kind, _text)
        return pa.array([None if value is None else convert(value) for value in values], type=wanted)
    except (ValueError, TypeError, OverflowError, InvalidOperation, pa.ArrowException):
        also = f", or beyond {_BEYOND[kind]}" if kind in _BEYOND else ""
        # `from None`, and no text of the first error: it holds the value.
        raise SourceError(
            f"{table}.{column.name}: a stored value is not of the declared type ({said}, read as {kind}){also}. "
            "Correct the value in the source, declare the column as text there, or leave it out (ignore_columns in the schema)."
        ) from None


_BEYOND: dict[StorageKind, str] = {"integer": "63 bits", "time": "a day of 24 hours", "date": "the years 1 to 9999"}
"""Where mare's own reach ends before that of a type: an unsigned BIGINT, a TIME of MySQL, a date of SQLite."""

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
    raise ValueError("not a truth value")


def _integer(value: object) -> int | None:
    if isinstance(value, bytes):  # BIT(8) of MySQL
        return int.from_bytes(value, "big")
    number = _decimal(value)
    if number is None:
        return None
    if number != number.to_integral_value():
        raise ValueError("not whole")
    return int(number)


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
        return value if value.tzinfo is None else value.astimezone(UTC).replace(tzinfo=None)
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
    if isinstance(value, timedelta):  # pymysql gives the time of a day as the time since its midnight
        if not timedelta(0) <= value < timedelta(days=1):
            raise ValueError("not within a day")
        return (datetime(1970, 1, 1) + value).time()
    if isinstance(value, str):
        return time.fromisoformat(value.strip()).replace(tzinfo=None) if value.strip() else None
    raise TypeError("not a time")


_CLOCK = re.compile(r"(?:(-?\d+) days?,? ?)?(?:(-?)(\d+):(\d\d)(?::(\d\d(?:\.\d+)?))?)?")


def _duration(value: object) -> timedelta | None:
    if isinstance(value, timedelta):
        return value
    if isinstance(value, (int, float)):
        return timedelta(seconds=value)
    text = str(value).strip()
    if not text:
        return None
    match = _CLOCK.fullmatch(text)
    if match is None:
        raise ValueError("not a duration")
    days, sign, hours, minutes, seconds = match.groups()
    clock = timedelta(hours=int(hours or 0), minutes=int(minutes or 0), seconds=float(seconds or 0))
    return timedelta(days=int(days or 0)) + (-clock if sign else clock)


def _text(value: object) -> str:
    if isinstance(value, bytes):
        return value.decode("utf-8")
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def _binary(value: object) -> bytes:
    if isinstance(value, str):
        return value.encode("utf-8")
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value)
    raise TypeError("not bytes")


_NONE = type(None)
_TEXT = frozenset({str, _NONE})
_DECIMAL = frozenset({Decimal, int, _NONE})
_NATIVE: dict[StorageKind, frozenset[type]] = {
    "boolean": frozenset({bool, _NONE}),
    "integer": frozenset({int, _NONE}),
    "number": frozenset({float, _NONE}),
    "date": frozenset({date, _NONE}),
    "datetime": frozenset({datetime, _NONE}),
    "time": frozenset({time, _NONE}),
    "duration": frozenset({timedelta, _NONE}),
    "binary": frozenset({bytes, _NONE}),
}
_CONVERT: dict[StorageKind, Callable[[object], object]] = {
    "boolean": _boolean,
    "integer": _integer,
    "number": _number,
    "date": _date,
    "datetime": _datetime,
    "time": _time,
    "duration": _duration,
    "binary": _binary,
}
