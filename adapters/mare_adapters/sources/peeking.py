"""What a peek tells of one column: its kind, where only its values tell it (CSV, undeclared SQLite columns).

Only ever on the user's explicit request: everything here looks at data.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal

import duckdb
import pyarrow as pa

from mare.codec.parsing import NO_LETTER, UNDECODED
from mare.schema.columns import MISSING
from mare.schema.reflection import Bound, Peek, StorageKind
from mare.schema.strict import Value
from mare_adapters.engine import open_duckdb

BOUNDED_KINDS: frozenset[StorageKind] = frozenset({"integer", "number", "date", "datetime"})
"""Kinds whose lowest and highest value a peek tells."""
LISTED_KINDS: frozenset[StorageKind] = frozenset({"boolean", "integer", "number", "string", "uuid"})
"""Kinds whose values a peek lists when they are few."""

_SHAPES: tuple[tuple[StorageKind, str, str], ...] = (
    ("boolean", "BOOLEAN", r"(?i)true|false|t|f"),
    # A leading zero is the mark of a code, not of a number.
    ("integer", "BIGINT", r"[-+]?(0|[1-9]\d*)"),
    ("number", "DOUBLE", r"[-+]?(0|[1-9]\d*)?(\.\d*)?([eE][-+]?\d+)?"),
    ("date", "DATE", r"\d{4}-\d\d-\d\d"),
    ("datetime", "TIMESTAMP", r"\d{4}-\d\d-\d\d([ T]\d\d:\d\d(:\d\d(\.\d+)?)?)?"),
    ("time", "TIME", r"\d\d:\d\d(:\d\d(\.\d+)?)?"),
    ("uuid", "UUID", r"(?i)[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"),
)
"""What every value of a column of text must look like for it to be of a kind; the first that fits is taken."""


_FORMS = ((".", None), (",", None), (",", "."), (".", ","), (",", " "), (".", "'"))
"""How numbers are written: what stands before decimals, and between thousands."""
_DAYS = ("%d.%m.%Y", "%Y-%m-%d", "%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y", "%Y/%m/%d", "%d-%b-%Y", "%d%b%Y")
_CLOCKS = (" %H:%M:%S", " %H:%M", "T%H:%M:%S", "T%H:%M", " %I:%M %p", " %I:%M:%S %p")
_MONTHS = ("%m.%Y", "%m/%Y", "%Y")
"""How days are written of which only the month or the year is known, beside whole ones: they are its first. Not of ISO 8601."""
_PARTIAL = r"\d{4}(-\d\d)?"
"""A year or a month where the day is not known, as ISO 8601 and SDTM write it. No day can be read from it: it is NULL."""
_NEARLY_ALL, _MOST_WORDS, _COMMON = 0.9, 5, 10
"""So much of a column tells what it is, where the rest are a few words. Those that so many rows hold are told: the others may be
somebody's."""
_FEW, _MANY = 20, 100
"""Numbers among which a word is one of a list; and so many that none is."""
_NOTHING = MISSING | frozenset(
    (
        "none", "nil", "-", "--", "?", "unknown", "missing", "nd", "n.d.", "k.a.",
        "k. a.", "ka", "keine angabe", "unbekannt", "inconnu", "desconocido", "sconosciuto", "onbekend", "ukjent", "ukendt",
    )
)  # fmt: skip
"""What programs write where there is no value, and what people write: a few of these beside numbers, no more."""

Told = tuple[StorageKind, str, Mapping[str, str | tuple[str, ...]]]
"""A kind, the expression that is of it, and what says how it is written."""


def as_bound(value: object) -> Bound | None:
    """A value as the bound of a domain."""
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    return value if isinstance(value, (int, float, date, datetime)) and not isinstance(value, bool) else None


def as_value(value: object) -> Value:
    """A value as YAML can write it."""
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    # As a fit reads it: with a mark for each byte that is no letter.
    return value if isinstance(value, (bool, int, float)) else re.sub(UNDECODED, NO_LETTER, str(value))


def peek_column(connection: duckdb.DuckDBPyConnection, relation: str, column: str, kind: StorageKind, max_values: int) -> Peek:
    """Peek at a column of a relation in DuckDB. Both are SQL already. An `unknown` kind is told from the text."""
    reading: Mapping[str, str | tuple[str, ...]] = {}
    repeats = missing = None
    binary = unread = False
    if kind == "unknown":
        written = column
        held = present(column)  # what is missing again and again is no value that repeats
        repeats = bool(_row(connection, f"SELECT count({held}) > count(DISTINCT {held}) FROM {relation}")[0])
        kind, column, reading = _kind_of_values(connection, relation, column)
        missing = bool(_row(connection, f"SELECT count(*) > count({column}) FROM {relation}")[0])
        unread = _leaves_some(connection, relation, written, column, [*reading.get("nulls", ()), *reading.get("specials", ())])
        if kind == "integer":
            binary = _row(connection, f"SELECT min({column}) = 0 AND max({column}) = 1 FROM {relation}") == (True,)
    low = high = values = None
    if kind in BOUNDED_KINDS:
        low, high = _row(connection, f"SELECT min({column}), max({column}) FROM {relation}")
    if kind in LISTED_KINDS:
        query = f"SELECT DISTINCT {column} AS v FROM {relation} WHERE {column} IS NOT NULL ORDER BY v LIMIT {max_values + 1}"
        listed = connection.execute(query).fetchall()
        values = tuple(dict.fromkeys(as_value(row[0]) for row in listed)) if len(listed) <= max_values else None
    return Peek(
        kind=kind,
        values=values,
        min=as_bound(low),
        max=as_bound(high),
        reading=reading,
        repeats=repeats,
        missing=missing,
        unread=unread,
        binary=binary,
    )


def peek_batches(batches: Iterable[pa.RecordBatch], kind: StorageKind, max_values: int) -> Peek:
    """Peek at a column that comes in batches of its own."""
    with open_duckdb() as memory:
        # Batch by batch, from this thread: DuckDB would pull an iterator from a thread that a database driver refuses.
        for number, batch in enumerate(batches):
            memory.register("stored", pa.table({"value": batch.column(0)}))
            memory.execute("INSERT INTO peeked SELECT * FROM stored" if number else "CREATE TABLE peeked AS SELECT * FROM stored")
            memory.unregister("stored")
        return peek_column(memory, "peeked", "value", kind, max_values)


def _kind_of_values(connection: duckdb.DuckDBPyConnection, relation: str, column: str) -> Told:
    """The kind that all values have, or nearly all; the column cast to it; and how they are written. A column without a value is
    text."""
    if (told := _kind_of_all(connection, relation, column)) is not None:
        return told
    left, missing = _without_missing(connection, relation, column)
    nulls: dict[str, str | tuple[str, ...]] = {"nulls": missing} if missing else {}
    if missing and (told := _kind_of_all(connection, relation, left)) is not None:
        return told[0], told[1], nulls
    (filled,) = _row(connection, f"SELECT count({left}) FROM {relation}")
    for messy in (_messy_numbers, _messy_days):
        if filled and (told := messy(connection, relation, left, int(str(filled)))) is not None:
            kind, read, reading = told
            return kind, read, {**reading, **({"nulls": (*missing, *reading.get("nulls", ()))} if missing else {})}
    return "string", column, {}


def _without_missing(connection: duckdb.DuckDBPyConnection, relation: str, column: str) -> tuple[str, tuple[str, ...]]:
    """The column, NULL where a program has written that there is no value, and what it has written."""
    left = present(column)
    query = f"SELECT DISTINCT {column} AS v FROM {relation} WHERE {column} IS NOT NULL AND ({left}) IS NULL ORDER BY v"
    return left, tuple(str(row[0]) for row in connection.execute(query).fetchall())


def present(column: str) -> str:
    listed = ", ".join(f"'{word}'" for word in sorted(MISSING))
    return f"CASE WHEN lower(trim({column})) NOT IN ({listed}) THEN {column} END"


def _kind_of_all(connection: duckdb.DuckDBPyConnection, relation: str, column: str) -> Told | None:
    """The kind that all values have.

    What would be boolean but holds one of the two only is text: an F that is never next to a T may as well be a sex.
    """
    tests = ", ".join(
        f"count(*) FILTER (WHERE regexp_full_match({column}, '{shape}') AND TRY_CAST({column} AS {sql}) IS NOT NULL)"
        for _, sql, shape in _SHAPES
    )
    both = f"count(DISTINCT TRY_CAST({column} AS BOOLEAN)) // 2"
    partial = f"count(*) FILTER (WHERE regexp_full_match({column}, '{_PARTIAL}'))"
    fractions = f"count(*) FILTER (WHERE TRY_CAST({column} AS DOUBLE) <> trunc(TRY_CAST({column} AS DOUBLE)))"
    query = f"SELECT count({column}), {both}, {partial}, {fractions}, {tests} FROM {relation}"
    filled, pair, parts, fractional, *fitting = (int(str(count)) for count in _row(connection, query))
    for (kind, sql, _), fits in zip(_SHAPES, fitting, strict=True):
        if filled and fits == filled and (kind != "boolean" or pair):
            # Whole numbers beside NULLs are written as 28.0 by whoever kept them as floats.
            whole = kind == "number" and not fractional
            return "integer" if whole else kind, f"TRY_CAST({column} AS {sql})", {}
        if filled and kind in ("date", "datetime") and fits + parts == filled and fits >= filled * _NEARLY_ALL:
            return kind, f"TRY_CAST({column} AS {sql})", {}
    return None


def _messy_numbers(connection: duckdb.DuckDBPyConnection, relation: str, column: str, filled: int) -> Told | None:
    """Numbers with a decimal comma, with thousands, or with a few words among them: in the form that reads most."""
    forms = {_number(column, *form): form for form in _FORMS}
    counts = _row(connection, f"SELECT {', '.join(f'count({number})' for number in forms)} FROM {relation}")
    number, (decimal, thousands) = max(zip(forms.items(), counts, strict=True), key=lambda told: int(str(told[1])))[0]
    words = _words_left(connection, relation, column, number, filled)
    if words is None:
        return None
    (fractions,) = _row(connection, f"SELECT count(*) FILTER ({number} <> trunc({number})) FROM {relation}")
    written: dict[str, str | tuple[str, ...]] = {} if (decimal, thousands) == (".", None) else {"decimal": decimal}
    written |= {} if thousands is None else {"thousands": thousands}
    return ("number" if fractions else "integer"), number, written | words


def _number(column: str, decimal: str, thousands: str | None) -> str:
    mark = "" if thousands is None else thousands.replace("'", "''")
    # A leading zero is the mark of a code here too.
    whole = "0|[1-9]\\d*" + (f"|[1-9]\\d{{0,2}}([{mark}]\\d{{3}})+" if mark else "")
    plain = f"replace(trim({column}), '{mark}', '')" if mark else f"trim({column})"
    shaped = f"CASE WHEN regexp_full_match(trim({column}), '[-+]?({whole})([{decimal}]\\d+)?') THEN {plain} END"
    return f"TRY_CAST(replace({shaped}, '{decimal}', '.') AS DOUBLE)"


def _messy_days(connection: duckdb.DuckDBPyConnection, relation: str, column: str, filled: int) -> Told | None:
    """Days or moments in one or several formats, the one that reads most first."""
    # A moment is one by what stands behind its day, so that no text is read by formats of both.
    moments = _formats(connection, relation, column, (), [day + clock for day in _DAYS for clock in _CLOCKS])
    formats = moments or _formats(connection, relation, column, (), _DAYS)
    if formats and not moments and "%Y-%m-%d" not in formats:
        formats = _formats(connection, relation, column, formats, _MONTHS)
    words = _words_left(connection, relation, column, _moment(column, formats), filled)
    if not formats or words is None:
        return None
    kind: StorageKind = "datetime" if moments else "date"
    return kind, _moment(column, formats, "TIMESTAMP" if moments else "DATE"), {"format": tuple(formats), **words}


def _formats(
    connection: duckdb.DuckDBPyConnection, relation: str, column: str, known: Sequence[str], others: Sequence[str]
) -> list[str]:
    """The formats that are known, and of the others each that reads what those before it do not."""
    formats = list(known)
    while tried := [form for form in others if form not in formats]:
        counts = [f"count({_moment(column, [*formats, form])})" for form in tried]
        row = [
            int(str(rows))
            for rows in _row(connection, f"SELECT count({_moment(column, formats)}), {', '.join(counts)} FROM {relation}")
        ]
        if max(row[1:]) <= row[0]:
            break
        formats.append(tried[row[1:].index(max(row[1:]))])
    return formats


def _moment(column: str, formats: Sequence[str], kind: str = "DATE") -> str:
    # DuckDB reads words as days, too (epoch, infinity), whatever the format; and a version (1.2.0) as one of the year nought.
    digits = f"CASE WHEN regexp_matches({column}, '[0-9]{{4}}') THEN trim({column}) END"
    tried = [f"try_strptime({digits}, '{form}')" for form in formats]
    return f"CAST(coalesce({', '.join([*tried, 'NULL::TIMESTAMP'])}) AS {kind})"


def _words_left(
    connection: duckdb.DuckDBPyConnection, relation: str, column: str, read: str, filled: int
) -> dict[str, tuple[str, ...]] | None:
    """What is not read so: the usual words for nothing, and others, which mean something (`> 89`). None where it is too much, and
    where the column is a short list with words in it (1, 2, 3, 4, 5+): then it is one of words."""
    left = connection.execute(
        f"SELECT {column} AS v, count(*) AS rows FROM {relation} WHERE {column} IS NOT NULL AND {read} IS NULL GROUP BY v "
        f"ORDER BY rows DESC, v"
    ).fetchall()
    (values,) = (int(str(count)) for count in _row(connection, f"SELECT count(DISTINCT {read}) FROM {relation}"))
    # A result that is often below what can be measured is a number all the same: no list has so many.
    most = filled if values > _MANY else filled * (1 - _NEARLY_ALL)
    if sum(int(rows) for _, rows in left) > most or (len(left) > _MOST_WORDS and values <= max(_MANY, len(left))):
        return None
    nothing = tuple(str(word) for word, _ in left if str(word).strip().casefold() in _NOTHING)
    telling = {str(word): int(rows) for word, rows in left if str(word) not in nothing}
    if telling and values <= _FEW:
        return None
    common = tuple(word for word, rows in telling.items() if rows >= _COMMON)
    return {name: words for name, words in (("nulls", nothing), ("specials", common)) if words}


def _leaves_some(connection: duckdb.DuckDBPyConnection, relation: str, column: str, read: str, words: Sequence[str]) -> bool:
    """Whether any text is neither read nor one of these words."""
    query = f"SELECT count(*) FROM {relation} WHERE {column} IS NOT NULL AND {read} IS NULL AND NOT list_contains($1, {column})"
    return bool(connection.execute(query, [list(words)]).fetchall()[0][0])


def _row(connection: duckdb.DuckDBPyConnection, query: str) -> tuple[object, ...]:
    row: tuple[object, ...] = connection.execute(query).fetchall()[0]
    return row
