"""The type that a column gets in a target: the source's own word for it where both are of one engine, else the nearest.

A source's word becomes part of a statement, and a release file may come from anywhere: only what reads as a type
(words, sizes in brackets, a list of quoted values) is taken over, anything else gets a word of ours.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping

from mare.schema.reflection import ReflectedColumn, ReflectedTable, StorageKind

INT64_DIGITS = 18
MOST_DIGITS = 38

_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9_]*(?: [A-Za-z0-9_]+)*(?:\s?\(\s*\d+(?:\s*,\s*-?\d+)?\s*\))?(?: [A-Za-z0-9_]+)*(?:\[\])*")
_LISTED = re.compile(r"(?:enum|set)\('(?:[^'\\]|'')*'(?:,\s?'(?:[^'\\]|'')*')*\)", re.IGNORECASE)

Own = Callable[[ReflectedColumn], str | None]


def is_plain(sql_type: str) -> bool:
    """A type that may be part of a statement."""
    return _PLAIN.fullmatch(sql_type) is not None


def is_listed(sql_type: str) -> bool:
    """An enum or a set that names its values within the type, as MySQL and DuckDB write it."""
    return _LISTED.fullmatch(sql_type) is not None


def own_type(column: ReflectedColumn, table: ReflectedTable, dialect: str) -> str | None:
    """The source's own word, where the target speaks the same language and the word can be trusted."""
    if table.dialect != dialect or not column.sql_type:
        return None
    if is_listed(column.sql_type):
        # Without a promise that all values are listed, the type would refuse some.
        return column.sql_type if column.values is not None else None
    return column.sql_type if is_plain(column.sql_type) else None


def declared_digits(column: ReflectedColumn) -> tuple[int, int] | None:
    """(all digits, decimals) of an exact number, where every engine can declare it; None where the kind has to do.

    PostgreSQL alone knows more digits than 38, decimals before the point and more of them than digits.
    """
    digits, decimals = column.digits or 0, column.precision
    if column.kind == "integer" and digits > INT64_DIGITS:
        return min(digits, MOST_DIGITS), 0
    if column.kind == "number" and decimals is not None and 0 <= decimals <= digits <= MOST_DIGITS and digits > 0:
        return digits, decimals
    return None


def sized(column: ReflectedColumn, words: Mapping[StorageKind, str], decimal: str, text: str, longest: int) -> str:
    """The engine's word for the kind, with the size that the source declares.

    ``decimal`` is the word for exact numbers, ``text`` for texts of a known length, ``longest`` the largest such length.
    """
    if size := declared_digits(column):
        return f"{decimal}({size[0]}, {size[1]})"
    if column.kind == "string" and column.max_length is not None and column.max_length <= longest:
        return f"{text}({column.max_length})"
    return words[column.kind]


def changed_types(
    tables: Iterable[ReflectedTable], dialect: str, type_of: Callable[[ReflectedColumn, ReflectedTable], str]
) -> tuple[str, ...]:
    """Where a target of the source's own language gives a column another type than the source did, in words."""
    notes = []
    for table in tables:
        for column in table.columns if table.dialect == dialect else ():
            word = type_of(column, table)
            # A document is one whatever a server calls it, and a collation is no other type.
            if column.sql_type and column.kind != "json" and _bare(word) != _bare(column.sql_type):
                reason = f"{column.sql_type} is unknown there, or may not hold every value that comes"
                notes.append(f"{table.name}.{column.name} is {word}: {reason}")
    return tuple(notes)


def _bare(word: str) -> str:
    return word.lower().partition(" collate ")[0].replace(", ", ",")


SQLITE: dict[StorageKind, str] = {
    "boolean": "BOOLEAN",
    "integer": "INTEGER",
    "number": "REAL",
    "string": "TEXT",
    "date": "DATE",
    "datetime": "TIMESTAMP",
    "time": "TIME",
    "duration": "INTERVAL",  # seconds
    "uuid": "UUID",
    "binary": "BLOB",
    "json": "JSON TEXT",  # TEXT keeps SQLite from turning '1.0' into a number
    "other": "TEXT",
    "unknown": "TEXT",
}
DUCKDB: dict[StorageKind, str] = {
    "boolean": "BOOLEAN",
    "integer": "BIGINT",
    "number": "DOUBLE",
    "string": "VARCHAR",
    "date": "DATE",
    "datetime": "TIMESTAMP",
    "time": "TIME",
    "duration": "INTERVAL",
    "uuid": "UUID",
    "binary": "BLOB",
    "json": "JSON",
    "other": "VARCHAR",
    "unknown": "VARCHAR",
}
POSTGRES: dict[StorageKind, str] = {
    "boolean": "boolean",
    "integer": "bigint",
    "number": "double precision",
    "string": "text",
    "date": "date",
    "datetime": "timestamp",
    "time": "time",
    "duration": "interval",
    "uuid": "uuid",
    "binary": "bytea",
    "json": "jsonb",
    "other": "text",
    "unknown": "text",
}
MYSQL: dict[StorageKind, str] = {
    "boolean": "BOOLEAN",
    "integer": "BIGINT",
    "number": "DOUBLE",
    "string": "LONGTEXT",
    "date": "DATE",
    "datetime": "DATETIME(6)",
    "time": "TIME(6)",
    "duration": "DECIMAL(20, 6)",  # seconds: TIME ends after 838 hours
    "uuid": "CHAR(36)",
    "binary": "LONGBLOB",
    "json": "JSON",
    "other": "LONGTEXT",
    "unknown": "LONGTEXT",
}
