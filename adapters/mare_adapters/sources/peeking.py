"""What a peek tells, and the kind of a column that only its values tell (CSV, undeclared SQLite columns).

Only ever on the user's explicit request: everything here looks at data.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING

from mare.codec.parsing import NO_LETTER, UNDECODED
from mare.schema.reflection import Bound, Peek, StorageKind
from mare.schema.strict import Value
from mare_adapters.engine import open_duckdb

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

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
    if kind == "unknown":
        kind, column = _kind_of_values(connection, relation, column)
    rows, filled = _row(connection, f"SELECT count(*), count({column}) FROM {relation}")
    low = high = values = None
    if kind in BOUNDED_KINDS:
        low, high = _row(connection, f"SELECT min({column}), max({column}) FROM {relation}")
    if kind in LISTED_KINDS:
        query = f"SELECT DISTINCT {column} AS v FROM {relation} WHERE {column} IS NOT NULL ORDER BY v LIMIT {max_values + 1}"
        listed = connection.execute(query).fetchall()
        values = tuple(dict.fromkeys(as_value(row[0]) for row in listed)) if len(listed) <= max_values else None
    return Peek(kind=kind, values=values, min=as_bound(low), max=as_bound(high), has_null=int(str(filled)) < int(str(rows)))


def peek_batches(batches: Iterable[pa.RecordBatch], kind: StorageKind, max_values: int) -> Peek:
    """Peek at a column that comes in batches of its own."""
    with open_duckdb() as memory:
        # Batch by batch, from this thread: DuckDB would pull an iterator from a thread that a database driver refuses.
        for number, batch in enumerate(batches):
            memory.register("stored", _one_column(batch))
            memory.execute("INSERT INTO peeked SELECT * FROM stored" if number else "CREATE TABLE peeked AS SELECT * FROM stored")
            memory.unregister("stored")
        return peek_column(memory, "peeked", "value", kind, max_values)


def _one_column(batch: pa.RecordBatch) -> pa.Table:
    """One batch under the name that a peek asks by."""
    import pyarrow as pa

    return pa.table({"value": batch.column(0)})


def _kind_of_values(connection: duckdb.DuckDBPyConnection, relation: str, column: str) -> tuple[StorageKind, str]:
    """The kind that all values have, and the column cast to it. A column without a value is text.

    So is one that would be boolean but holds one of the two only: an F that is never next to a T may as well be a sex.
    """
    tests = ", ".join(
        f"count(*) FILTER (WHERE regexp_full_match({column}, '{shape}') AND TRY_CAST({column} AS {sql}) IS NOT NULL)"
        for _, sql, shape in _SHAPES
    )
    both = f"count(DISTINCT TRY_CAST({column} AS BOOLEAN)) = 2"
    filled, pair, *fitting = _row(connection, f"SELECT count({column}), {both}, {tests} FROM {relation}")
    for (kind, sql, _), fits in zip(_SHAPES, fitting, strict=True):
        if filled and fits == filled and (kind != "boolean" or pair):
            return kind, f"TRY_CAST({column} AS {sql})"
    return "string", column


def _row(connection: duckdb.DuckDBPyConnection, query: str) -> tuple[object, ...]:
    row: tuple[object, ...] = connection.execute(query).fetchall()[0]
    return row
