"""What a peek tells: the kind of a column that only its values tell (CSV, undeclared SQLite columns), and which columns go
together in all rows of a table: one that is the same for a person, one that repeats another, one that is never before another.

Only ever on the user's explicit request: everything here looks at data. What it tells of several columns is a sentence about all
rows, and whoever knows the data can say whether it follows from what they mean (nobody relapses after their death).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import date, datetime
from decimal import Decimal

import duckdb
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from mare.codec.parsing import NO_LETTER, UNDECODED, is_text_type
from mare.schema.reflection import Bound, Compared, Peek, StorageKind
from mare.schema.strict import Value
from mare_adapters.engine import open_duckdb, quoted

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
_DAYS = ("%d.%m.%Y", "%Y-%m-%d", "%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y", "%Y/%m/%d")
_PARTIAL = r"\d{4}(-\d\d)?"
"""A year or a month where the day is not known, as ISO 8601 and SDTM write it. No day can be read from it: it is NULL."""
_NEARLY_ALL, _MOST_WORDS = 0.9, 5
"""So much of a column tells what it is, where the rest are a few words."""
_FEW, _MANY = 20, 100
"""Numbers among which a word is one of a list; and so many that none is."""
_MISSING = frozenset(("", "na", "n/a", "n.a.", "<na>", "#n/a", "nan", "nat", "null", "(null)", "\\n", "."))
"""What programs write where there is no value: R, pandas, SAS, spreadsheets, a dump by MySQL (`\\N`), whoever quotes every field.
However many there are, they say nothing of what the others are."""
_NOTHING = _MISSING | frozenset(
    (
        "none", "nil", "-", "--", "?", "unknown", "missing", "nd", "n.d.", "k.a.",
        "k. a.", "ka", "keine angabe", "unbekannt", "inconnu", "desconocido", "sconosciuto", "onbekend", "ukjent", "ukendt",
    )
)  # fmt: skip
"""And what people write: a few of these beside numbers, no more."""

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
    binary = False
    if kind == "unknown":
        repeats = bool(_row(connection, f"SELECT count(*) > count(DISTINCT {column}) FROM {relation}")[0])
        kind, column, reading = _kind_of_values(connection, relation, column)
        missing = bool(_row(connection, f"SELECT count(*) > count({column}) FROM {relation}")[0])
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
    left = _present(column)
    query = f"SELECT DISTINCT {column} AS v FROM {relation} WHERE {column} IS NOT NULL AND ({left}) IS NULL ORDER BY v"
    return left, tuple(str(row[0]) for row in connection.execute(query).fetchall())


def _present(column: str) -> str:
    listed = ", ".join(f"'{word}'" for word in sorted(_MISSING))
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
    """Dates in one or several formats, the one that reads most first."""
    formats: list[str] = []
    while len(formats) < len(_DAYS):
        tried = [form for form in _DAYS if form not in formats]
        counts = [f"count({_day(column, [*formats, form])})" for form in tried]
        row = connection.execute(f"SELECT count({_day(column, formats)}), {', '.join(counts)} FROM {relation}").fetchall()[0]
        if max(row[1:]) <= row[0]:
            break
        formats.append(tried[row[1:].index(max(row[1:]))])
    words = _words_left(connection, relation, column, _day(column, formats), filled)
    if not formats or words is None:
        return None
    return "date", _day(column, formats), {"format": tuple(formats), **words}


def _day(column: str, formats: Sequence[str]) -> str:
    # DuckDB reads words as days, too (epoch, infinity), whatever the format; and a version (1.2.0) as one of the year nought.
    digits = f"CASE WHEN regexp_matches({column}, '[0-9]{{4}}') THEN trim({column}) END"
    tried = [f"try_strptime({digits}, '{form}')" for form in formats]
    return f"CAST(coalesce({', '.join([*tried, 'NULL::TIMESTAMP'])}) AS DATE)"


def _words_left(
    connection: duckdb.DuckDBPyConnection, relation: str, column: str, read: str, filled: int
) -> dict[str, tuple[str, ...]] | None:
    """What is not read so: the usual words for nothing, and others, which mean something (`> 89`). None where it is too much, and
    where the column is a short list with words in it (1, 2, 3, 4, 5+): then it is one of words."""
    left = connection.execute(
        f"SELECT {column} AS v, count(*) AS rows FROM {relation} WHERE {column} IS NOT NULL AND {read} IS NULL GROUP BY v "
        f"ORDER BY rows DESC, v LIMIT {_MOST_WORDS + 1}"
    ).fetchall()
    (values,) = (int(str(count)) for count in _row(connection, f"SELECT count(DISTINCT {read}) FROM {relation}"))
    # A result that is often below what can be measured is a number all the same: no list has so many.
    most = filled if values > _MANY else filled * (1 - _NEARLY_ALL)
    if len(left) > _MOST_WORDS or sum(int(rows) for _, rows in left) > most:
        return None
    nothing = tuple(str(word) for word, _ in left if str(word).strip().casefold() in _NOTHING)
    telling = tuple(str(word) for word, _ in left if str(word) not in nothing)
    if telling and values <= _FEW:
        return None
    return {name: words for name, words in (("nulls", nothing), ("specials", telling)) if words}


def _row(connection: duckdb.DuckDBPyConnection, query: str) -> tuple[object, ...]:
    row: tuple[object, ...] = connection.execute(query).fetchall()[0]
    return row


_FEWEST, _PEOPLE = 100, 5
"""Rows, and people with several of them, below which nothing is said: few show anything by chance."""
_OFTEN = 0.1
"""An order says something where one would be the larger at least so often if the two stood in different rows."""
_EQUAL = 0.02
"""Of two numbers, so many rows at least hold both alike: columns that have nothing to do with each other hardly do."""
_FILLED = 0.9
"""Where a column has a value, what it follows has one too in so many rows."""
_DISTINCT = 3
_CELLS = 20_000_000
"""No more is read than this of a table."""

_NUMBER = "TRY_CAST({0} AS DOUBLE)"
_MOMENT = "epoch(coalesce(TRY_CAST({0} AS TIMESTAMP), try_strptime(CAST({0} AS VARCHAR), '%d.%m.%Y')))"
"""Forms that can be no other."""

_Numbers = npt.NDArray[np.float64]


Above = tuple[Iterable[pa.RecordBatch], str]
"""The rows of the table above, and the column there that ``by`` refers to."""


def compare_columns(batches: Iterable[pa.RecordBatch], by: str | None, above: Above | None = None) -> Mapping[str, Compared]:
    """What is seen of each column; nothing of ``by``, which tells apart whom rows belong to."""
    with open_duckdb() as memory:
        first = _load(memory, "met", batches)
        names = _names(memory, "met", by)
        same = set() if by is None else _the_same(memory, names, by)
        repeated = _repeated(memory, names)
        counted = ", ".join(f"count({quoted(name)}) < {_FILLED} * count(*)" for name in names) or "NULL"
        missing = dict(zip(names, memory.execute(f"SELECT {counted} FROM met").fetchall()[0], strict=False))
        written = {quoted(name): name for name in names}
        numbers = _read(memory, list(written), _NUMBER, "FROM met")
        times = _read(memory, [c for c in written if c not in numbers], _MOMENT, "FROM met")
        follows = {
            name: before
            for read, alike in ((numbers, _EQUAL), (times, 0.0))
            for name, before in _follows({written[column]: v for column, v in read.items()}, repeated, alike).items()
        }
        apart, counts = dict[str, str](), None
        if by is not None:
            apart, counts = _along(memory, by, {written[column]: held for column, held in (numbers | times).items()})
        seen = {
            name: Compared(
                name in same,
                missing[name],
                repeated.get(name),
                follows.get(name),
                apart.get(name),
                None if counts is None else name in counts,
                rows=first,
            )
            for name in names
        }
        if above is None or by is None:
            return seen
        above_first = _load(memory, "above", above[0])
        copies, begins, ends = _compared_above(memory, names, by, above[1])
    return {
        name: replace(
            told,
            copies=copies.get(name),
            begins=begins.get(name),
            ends=ends.get(name),
            rows=above_first if first is None else first,
        )
        for name, told in seen.items()
    }


def _load(memory: duckdb.DuckDBPyConnection, table: str, batches: Iterable[pa.RecordBatch]) -> int | None:
    """The number of rows that were read, where there are more."""
    left, rows = _CELLS, 0
    for number, batch in enumerate(batches):
        if left <= 0:
            return rows
        memory.register("stored", pa.Table.from_batches([batch]))
        rows_read = f"SELECT {', '.join(_known(field) for field in batch.schema)} FROM stored"
        memory.execute(f"INSERT INTO {table} {rows_read}" if number else f"CREATE TABLE {table} AS {rows_read}")
        memory.unregister("stored")
        left -= batch.num_rows * batch.num_columns
        rows += batch.num_rows
    return None


def _known(field: pa.Field) -> str:
    """A column, without what programs write where there is no value."""
    name = quoted(field.name)
    return f"{_present(name)} AS {name}" if is_text_type(field.type) else name


def _names(memory: duckdb.DuckDBPyConnection, table: str, without: str | None) -> list[str]:
    return [str(row[0]) for row in memory.execute(f"DESCRIBE {table}").fetchall() if row[0] != without]


def _compared_above(
    memory: duckdb.DuckDBPyConnection, names: Sequence[str], by: str, key: str
) -> tuple[dict[str, str], dict[str, str], dict[str, str]]:
    """By column, the one of the row above that it is a copy of, the nearest that it is never before, and never after."""
    held = _names(memory, "above", key)
    joined = f"FROM met JOIN above ON met.{quoted(by)} = above.{quoted(key)}"
    columns = [*(f"met.{quoted(name)}" for name in names), *(f"above.{quoted(name)}" for name in held)]
    prints = ", ".join(f"count(DISTINCT {c}), count({c}), sum(hash(concat(met.rowid, ':', {c})))" for c in columns)
    flat = memory.execute(f"SELECT {prints} {joined}").fetchall()[0] if columns else ()
    told = list(zip(flat[::3], flat[1::3], flat[2::3], strict=True))
    copies = {}
    for name, here in zip(names, told, strict=False):
        alike = [other for other, there in zip(held, told[len(names) :], strict=True) if here == there and here[1] >= _FEWEST]
        # What is one value everywhere is the same as much else: then its name tells.
        alike = sorted((other for other in alike if here[0] > 1 or other == name), key=lambda other: other != name)
        if alike:
            copies[name] = alike[0]
    moments = [
        _read(memory, columns, _MOMENT, joined)
        for columns in ([f"met.{quoted(name)}" for name in names], [f"above.{quoted(name)}" for name in held])
    ]
    begins, ends = dict[str, str](), dict[str, str]()
    for name in names:
        own = moments[0].get(f"met.{quoted(name)}")
        if own is None or name in copies:
            continue
        times = {other: moments[1][column] for other in held if (column := f"above.{quoted(other)}") in moments[1]}
        earlier = {other: gap for other, there in times.items() if (gap := _gap(there, own, 0.0)) is not None}
        later = {other: gap for other, there in times.items() if (gap := _gap(own, there, 0.0)) is not None}
        begins |= {name: min(earlier, key=lambda other: earlier[other])} if earlier else {}
        ends |= {name: min(later, key=lambda other: later[other])} if later else {}
    return copies, begins, ends


def _the_same(memory: duckdb.DuckDBPyConnection, names: Sequence[str], by: str) -> set[str]:
    """Columns that are the same in all rows of whoever has several, all of them NULL or none, and not in all rows there are."""
    told = ", ".join(
        f"count(DISTINCT {quoted(name)}) AS d{i}, count({quoted(name)}) AS f{i}, min({quoted(name)}) AS s{i}"
        for i, name in enumerate(names)
    )
    # A smallest and a largest of the people's own: whoever has none is another.
    varied = "(min(s{0}) IS DISTINCT FROM max(s{0}) OR count(s{0}) NOT IN (0, count(*)))"
    kept = ", ".join(f"bool_and(d{i} = 0 OR (d{i} = 1 AND f{i} = n)) AND {varied.format(i)}" for i in range(len(names)))
    people = f"SELECT count(*) AS n, {told} FROM met WHERE {quoted(by)} IS NOT NULL GROUP BY {quoted(by)} HAVING n > 1"
    if not names:
        return set()
    (count, rows, *holds) = memory.execute(f"SELECT count(*), sum(n), {kept} FROM ({people})").fetchall()[0]
    enough = count >= _PEOPLE and rows >= _FEWEST
    return {name for name, held in zip(names, holds, strict=True) if held} if enough else set()


def _repeated(memory: duckdb.DuckDBPyConnection, names: Sequence[str]) -> dict[str, str]:
    """Columns that hold what an earlier one holds, in every row."""
    # Which row holds what, as one text: the sum of these is that of another column where all rows hold the same.
    row = "hash(concat(rowid, ':', {}))"
    prints = ", ".join(f"count(DISTINCT {q}), count({q}), sum({row.format(q)})" for q in map(quoted, names))
    flat = memory.execute(f"SELECT {prints} FROM met").fetchall()[0] if names else ()
    first: dict[object, str] = {}
    repeated = {}
    for name, distinct, filled, told in zip(names, flat[::3], flat[1::3], flat[2::3], strict=True):
        if distinct > 1 and filled >= _FEWEST and (earlier := first.setdefault((filled, told), name)) != name:
            repeated[name] = earlier
    return repeated


def _read(memory: duckdb.DuckDBPyConnection, columns: Sequence[str], cast: str, rows: str) -> dict[str, _Numbers]:
    """Columns of which (nearly) all values read so."""
    read = {}
    for column in columns:
        filled, fits = memory.execute(f"SELECT count({column}), count({cast.format(column)}) {rows}").fetchall()[0]
        if filled >= _FEWEST and fits >= _FILLED * filled:
            values = memory.execute(f"SELECT {cast.format(column)} AS v {rows}").fetchnumpy()["v"]
            plain = np.ma.filled(np.ma.asarray(values, dtype=np.float64), np.nan)
            read[column] = np.where(np.isfinite(plain), plain, np.nan)  # an infinite one is no distance from another
    return {column: values for column, values in read.items() if len(np.unique(values[~np.isnan(values)])) >= _DISTINCT}


def _follows(read: Mapping[str, _Numbers], repeated: Mapping[str, str], alike: float) -> dict[str, str]:
    """By column, the one that it is never before: of several, the nearest."""
    names = [name for name in read if name not in repeated]
    follows: dict[str, str] = {}
    for after in names:
        near = {before: gap for before in names if (gap := _gap(read[before], read[after], alike)) is not None}
        for before in sorted(near, key=lambda name: near[name]):
            if before != after and not _leads_to(follows, before, after):
                follows[after] = before
                break
    return follows


def _gap(before: _Numbers, after: _Numbers, alike: float) -> float | None:
    """How far the one comes after the other on average; None where it does not in every row, or where that says nothing."""
    both = ~np.isnan(before) & ~np.isnan(after)
    a, b = before[both], after[both]
    if len(a) < max(_FEWEST, _FILLED * np.count_nonzero(~np.isnan(after))) or (a > b).any() or (a == b).mean() < alike:
        return None
    elsewhere = float(np.searchsorted(np.sort(b), a, side="left").mean()) / len(b)
    return float((b - a).mean()) if elsewhere >= _OFTEN else None


def _along(memory: duckdb.DuckDBPyConnection, by: str, read: Mapping[str, _Numbers]) -> tuple[dict[str, str], set[str]]:
    """Columns that say when rows begin of which none begins before the last one has ended, and the column that says so; and
    those that count the rows of each person."""
    whose = memory.execute(f"SELECT dense_rank() OVER (ORDER BY {quoted(by)}) AS w FROM met ORDER BY rowid").fetchnumpy()["w"]
    apart, counts = dict[str, str](), set[str]()
    for start, begins in read.items():
        filled = np.flatnonzero(~np.isnan(begins))
        rows = filled[np.lexsort((begins[filled], whose[filled]))]
        before, after = rows[:-1][(same := whose[rows[:-1]] == whose[rows[1:]])], rows[1:][same]
        if len(rows) == len(whose) and len(before) >= _FEWEST // 2:
            first = np.setdiff1d(rows, after)
            if (begins[first] == 1).all() and (begins[after] == begins[before] + 1).all():
                counts.add(start)
        for end, ends in read.items():
            lasts = ends[before] >= begins[before]
            if start == end or len(before) < _FEWEST // 2 or np.isnan(ends[before]).mean() > 1 - _FILLED:
                continue
            known = ~np.isnan(ends[before])
            # What has no length keeps no distance: the last of a list of moments tells nothing.
            long = (ends[before] > begins[before])[known].mean() >= 1 - _FILLED
            if long and lasts[known].all() and (ends[before] <= begins[after])[known].all():
                apart.setdefault(start, end)
    return apart, counts


def _leads_to(follows: Mapping[str, str], start: str, column: str) -> bool:
    while start in follows and start != column:
        start = follows[start]
    return start == column
