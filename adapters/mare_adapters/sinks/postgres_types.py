"""The types of PostgreSQL that columns get: the source's own where the target knows it, enums made anew, else the nearest."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from mare.errors import SinkError
from mare.schema.reflection import ReflectedColumn, ReflectedTable

from .marks import is_mark, mark_of
from .types import POSTGRES, is_plain, sized
from .wording import Wording

if TYPE_CHECKING:
    import psycopg

_LONGEST_TEXT = 10_485_760
_QUOTED = re.compile(r'(?:(?:"(?:[^"]|"")+"|\w+)\.)?("(?:[^"]|"")+"|\w+)')

_TYPE = """
SELECT t.typtype::text, n.nspname FROM pg_catalog.pg_type t JOIN pg_catalog.pg_namespace n ON n.oid = t.typnamespace
 WHERE t.oid = pg_catalog.to_regtype(%s)
"""
_LABELS = """
SELECT e.enumlabel, pg_catalog.obj_description(t.oid, 'pg_type')
  FROM pg_catalog.pg_enum e JOIN pg_catalog.pg_type t ON t.oid = e.enumtypid
  JOIN pg_catalog.pg_namespace n ON n.oid = t.typnamespace
 WHERE t.typname = %s AND n.nspname = %s ORDER BY e.enumsortorder
"""


@dataclass(frozen=True)
class Types:
    """What every column becomes, what has to be created for that, and what was not to be had."""

    words: Mapping[tuple[str, str], str] = field(default_factory=dict)
    """By table and column."""
    enums: Mapping[tuple[str, str], tuple[str, ...]] = field(default_factory=dict)
    """The labels of the columns that are enums."""
    statements: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def wording(self) -> Wording:
        return Wording(
            type_of=lambda column, table: self.words[table.name, column.name],
            enumerated=lambda column, table: self.enums.get((table.name, column.name)) == column.values,
        )


def known_types(
    connection: psycopg.Connection[tuple[object, ...]],
    tables: Sequence[ReflectedTable],
    schema: str,
    release: str,
    *,
    replace: bool,
) -> Types:
    """Settle the type of every column against what the target knows. Changes nothing."""
    words: dict[tuple[str, str], str] = {}
    labels: dict[str, dict[str, None]] = {}
    members: dict[tuple[str, str], str] = {}
    notes: list[str] = []
    known: dict[str, bool] = {}
    for table in tables:
        for column in table.columns:
            at = (table.name, column.name)
            own = _own(connection, column, table, known)
            if own is None and (name := _enum_name(column, table)) is not None:
                # Checks may have narrowed some columns of the type: together they list what it needs.
                labels.setdefault(name, {}).update(dict.fromkeys(map(str, column.values or ())))
                members[at] = name
                own = Wording().name(name)
            words[at] = own or sized(column, POSTGRES, "numeric", "varchar", _LONGEST_TEXT)
            if own is None and table.dialect == "postgresql" and column.sql_type:
                reason = f"the target has no type {column.sql_type} for it"
                if column.kind == "other" and not column.nullable:
                    reason = f"{column.sql_type} does not take the empty text that stands for what is dropped"
                notes.append(f"{table.name}.{column.name} is {words[at]}: {reason}")
    statements = []
    for name, listed in labels.items():
        statements += _create(connection, name, tuple(listed), schema, mark_of(name, release), replace)
    enums = {at: tuple(labels[name]) for at, name in members.items()}
    return Types(words, enums, tuple(statements), tuple(notes))


def _own(
    connection: psycopg.Connection[tuple[object, ...]], column: ReflectedColumn, table: ReflectedTable, known: dict[str, bool]
) -> str | None:
    """The source's own word, where the target knows the type. ``known`` keeps what was asked already."""
    if table.dialect != "postgresql" or not is_plain(column.sql_type):
        return None
    if column.kind == "other" and not column.nullable:
        return None  # what is dropped from it becomes an empty text, which few types take
    if column.sql_type not in known:
        found = connection.execute(_TYPE, (column.sql_type,)).fetchone()
        # An enum needs the promise that all values are among its own; of other people's types, only plain ones are sure.
        known[column.sql_type] = found is not None and found[0] != "e" and (found[1] == "pg_catalog" or found[0] == "b")
    return column.sql_type if known[column.sql_type] else None


def _enum_name(column: ReflectedColumn, table: ReflectedTable) -> str | None:
    """The name of the enum that the source had, without its schema; None where it was none, or may not hold all values."""
    if table.dialect != "postgresql" or column.kind != "string" or not column.values:
        return None
    match = _QUOTED.fullmatch(column.sql_type)
    if match is None:
        return None
    name = match[1]
    return name[1:-1].replace('""', '"') if name.startswith('"') else name


def _create(
    connection: psycopg.Connection[tuple[object, ...]], name: str, labels: tuple[str, ...], schema: str, mark: str, replace: bool
) -> list[str]:
    found = connection.execute(_LABELS, (name, schema)).fetchall()
    held = tuple(str(label) for label, _ in found)
    if held == labels:
        return []
    wording = Wording()
    create = [
        f"CREATE TYPE {wording.name(name)} AS ENUM ({', '.join(map(wording.constant, labels))})",
        f"COMMENT ON TYPE {wording.name(name)} IS '{mark}'",
    ]
    if not held:
        return create
    ours = is_mark(found[0][1], name)
    if replace and ours:
        return [f"DROP TYPE {wording.name(name)}", *create]
    raise SinkError(
        f"the target has a type {name} with other values than the source's. It was left as it was: drop it"
        f"{', or say --replace.' if ours else ' yourself: mare did not create it.'}"
    )
