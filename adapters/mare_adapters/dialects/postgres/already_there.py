"""What depends on what a PostgreSQL target holds already: types that it knows, and tables that were there before.

Columns get the source's own type where the target knows it, enums made anew, else the nearest (`known_types`).

Foreign keys of tables that were there are checked at the end of the write, as those of new tables are (`deferring`). Such a key
is checked after each statement, but a row may refer to one that comes later (a partner drawn among all entities). So it is made
deferrable within the transaction of the write, and what it was before the commit: nobody else ever sees it otherwise.

Columns that count by themselves go on after the last row written (`counted_on`). Rows are written with their numbers, which
leaves an identity or a serial where it was: the first row that somebody adds would get the number 1, which is taken. A counter
that this user may not move is left alone.

Several schemas into several (`settle_homes`): tables are made in the first, and moved to those of the source's names before the
commit. Keys, indexes and the sequences that columns own move along. A type is made in the schema of the tables that use it; where
these are of several, in the first.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from mare.errors import SinkError
from mare.schema.reflection import ReflectedColumn, ReflectedTable, StorageKind
from mare_adapters.sinks.target import is_mark, mark_of
from mare_adapters.sinks.target_tables import WriteOrder, unfit
from mare_adapters.sinks.wording import Wording, is_constant, is_plain, sized

from . import Postgres
from .definitions import counts

if TYPE_CHECKING:
    import psycopg

    Connection = psycopg.Connection[tuple[object, ...]]


_LONGEST_TEXT = 10_485_760
_QUOTED = re.compile(r'(?:("(?:[^"]|"")+"|\w+)\.)?("(?:[^"]|"")+"|\w+)')

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
    free: Callable[[str], bool] = lambda name: True
    """Whether a name of the source's can be taken."""

    def wording(self) -> Wording:
        return Wording(
            type_of=lambda column, table: self.words[table.name, column.name],
            enumerated=lambda column, table: self.enums.get((table.name, column.name)) == column.values,
            free=self.free,
            counts=counts,
            default=self._default,
        )

    def _default(self, column: ReflectedColumn, table: ReflectedTable) -> str:
        """Only a constant fits a column that got another type than the source's."""
        text = column.default or ""
        word = self.words[table.name, column.name]
        own = table.dialect != "postgresql" or word == column.sql_type or word.endswith(_quoted(column))
        return text if own or is_constant(text) else ""


def known_types(connection: Connection, tables: Sequence[ReflectedTable], homes: Homes, release: str, *, replace: bool) -> Types:
    """Settle the type of every column against what the target knows. Changes nothing."""
    words: dict[tuple[str, str], str] = {}
    labels: dict[str, dict[str, None]] = {}
    members: dict[tuple[str, str], str] = {}
    notes: list[str] = []
    known: dict[str, bool] = {}
    for table in tables:
        for column in (*table.columns, *(column for _, column in table.computed)):
            at = (table.name, column.name)
            own = _own(connection, column, table, known) if column.domain is None else homes.type_word(column.domain.name)
            if own is None and (enum := _enum(column, table)) is not None:
                _, name = enum
                # Checks may have narrowed some columns of the type: together they list what it needs.
                labels.setdefault(name, {}).update(dict.fromkeys(map(str, column.values or ())))
                members[at] = name
                own = homes.type_word(name)
            words[at] = own or sized(column, Postgres.words, "numeric", "varchar", _LONGEST_TEXT)
            if own is None and table.dialect == "postgresql" and column.sql_type:
                reason = f"the target has no type {column.sql_type} for it"
                if _comes_out_empty(column, table):
                    reason = f"{column.sql_type} does not take the empty text that stands for what is dropped"
                notes.append(f"{table.name}.{column.name} is {words[at]}: {reason}")
    statements = []
    for name, listed in labels.items():
        statements += _create(connection, name, tuple(listed), homes, mark_of(name, release), replace)
    enums = {at: tuple(labels[name]) for at, name in members.items()}
    return Types(words, enums, tuple(statements), tuple(notes))


def _quoted(column: ReflectedColumn) -> tuple[str, ...]:
    """How the target calls a type that was made for it."""
    made = column.domain.name if column.domain is not None else column.sql_type
    return (Wording().name(made), Wording().name(made.rpartition(".")[2].strip('"')))


def _own(connection: Connection, column: ReflectedColumn, table: ReflectedTable, known: dict[str, bool]) -> str | None:
    """The source's own word, where the target knows the type. ``known`` keeps what was asked already."""
    if table.dialect != "postgresql" or not is_plain(column.sql_type):
        return None
    if _comes_out_empty(column, table):
        return None
    if column.sql_type not in known:
        stored = connection.execute(_TYPE, (column.sql_type,)).fetchone()
        # An enum needs the promise that all values are among its own; of other people's types, only plain ones are sure.
        known[column.sql_type] = stored is not None and stored[0] != "e" and (stored[1] == "pg_catalog" or stored[0] == "b")
    return column.sql_type if known[column.sql_type] else None


def _comes_out_empty(column: ReflectedColumn, table: ReflectedTable) -> bool:
    """Whether what is dropped from a column becomes an empty text, which few types take. Nobody writes what is `computed`."""
    written = table.column(column.name) is not None and not table.verbatim
    return written and column.kind == "other" and not column.nullable


def _enum(column: ReflectedColumn, table: ReflectedTable) -> tuple[str, str] | None:
    """The schema, where it is another than the table's, and the name of the enum that the source had; None where it was none, or
    may not hold all values."""
    if table.dialect != "postgresql" or column.kind != "string" or not column.values:
        return None
    match = _QUOTED.fullmatch(column.sql_type)
    if match is None:
        return None
    schema, name = (part[1:-1].replace('""', '"') if part.startswith('"') else part for part in match.groups(""))
    return schema, name


def _create(connection: Connection, name: str, labels: tuple[str, ...], homes: Homes, mark: str, replace: bool) -> list[str]:
    listed = connection.execute(_LABELS, (name, homes.of_type(name))).fetchall()
    held = tuple(str(label) for label, _ in listed)
    if held == labels:
        return []
    word = homes.type_word(name)
    create = [
        f"CREATE TYPE {word} AS ENUM ({', '.join(map(Wording().constant, labels))})",
        f"COMMENT ON TYPE {word} IS '{mark}'",
    ]
    if not held:
        return create
    ours = is_mark(listed[0][1], name)
    if replace and ours:
        return [f"DROP TYPE {word}", *create]
    raise SinkError(
        f"the target has a type {name} with other values than the source's. It was left as it was: drop it"
        f"{', or say --replace.' if ours else ' yourself: mare did not create it.'}"
    )


_KEYS = """
SELECT t.relname::text, c.conname::text, r.relname::text, c.condeferrable, pg_catalog.pg_has_role(t.relowner, 'USAGE'),
       ARRAY(SELECT a.attname::text FROM pg_catalog.pg_attribute a WHERE a.attrelid = c.conrelid AND a.attnum = ANY(c.conkey))
  FROM pg_catalog.pg_constraint c
  JOIN pg_catalog.pg_class t ON t.oid = c.conrelid
  JOIN pg_catalog.pg_class r ON r.oid = c.confrelid AND r.relnamespace = t.relnamespace
  JOIN pg_catalog.pg_namespace n ON n.oid = t.relnamespace
 WHERE c.contype = 'f' AND c.conparentid = 0 AND n.nspname = %s AND t.relname = ANY(%s) ORDER BY 1, 2
"""


@dataclass(frozen=True)
class Deferring:
    """What to say before the rows come, and what after them."""

    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    stubborn: tuple[str, ...] = ()
    """Tables with a key that stays as it is, because only their owner may change it."""

    @property
    def remedy(self) -> str:
        """What to do where such a key refuses a row."""
        if not self.stubborn:
            return ""
        tables = ", ".join(self.stubborn)
        return (
            f" (Rows may refer to others that are written later, and foreign keys of {tables} are checked at once: where one "
            "refuses a row, have the table's owner make it DEFERRABLE, or let mare create the tables.)"
        )


def deferring(connection: Connection, schema: str, kept: Sequence[str], order: WriteOrder) -> Deferring:
    """How the foreign keys of these tables wait for the end of the write, where rows lead ahead."""
    wording = Wording()
    before, after, stubborn = list[str](), list[str](), list[str]()
    for table, name, referred, waits, own, columns in connection.execute(_KEYS, (schema, list(kept))).fetchall():
        if not isinstance(columns, list) or not order.leads_ahead(str(table), columns, str(referred)):
            continue
        key = wording.name(str(name))
        if waits:
            before.append(f"SET CONSTRAINTS {wording.name(schema)}.{key} DEFERRED")
        elif own:
            change = f"ALTER TABLE {wording.name(str(table))} ALTER CONSTRAINT {key}"
            before.append(f"{change} DEFERRABLE INITIALLY DEFERRED")
            after.append(f"{change} NOT DEFERRABLE")
        else:
            stubborn.append(str(table))
    # All that waits is checked first: a table with checks still to come cannot be changed.
    return Deferring(tuple(before), ("SET CONSTRAINTS ALL IMMEDIATE", *after) if before else (), tuple(dict.fromkeys(stubborn)))


_COUNTERS = """
SELECT t.relname::text, a.attname::text, s.oid::pg_catalog.regclass::text, q.seqmax::text
  FROM pg_catalog.pg_class t JOIN pg_catalog.pg_namespace n ON n.oid = t.relnamespace
  JOIN pg_catalog.pg_depend d ON d.refobjid = t.oid AND d.refclassid = 'pg_catalog.pg_class'::pg_catalog.regclass
   AND d.classid = d.refclassid AND d.deptype IN ('a', 'i')
  JOIN pg_catalog.pg_class s ON s.oid = d.objid AND s.relkind = 'S'
  JOIN pg_catalog.pg_sequence q ON q.seqrelid = s.oid AND q.seqincrement > 0
  JOIN pg_catalog.pg_attribute a ON a.attrelid = t.oid AND a.attnum = d.refobjsubid
   AND a.atttypid::pg_catalog.regtype::text IN ('smallint', 'integer', 'bigint')
 WHERE n.nspname = %s AND t.relname = ANY(%s)
   AND CASE WHEN s.relkind = 'S' THEN pg_catalog.has_sequence_privilege(s.oid, 'UPDATE')
       AND pg_catalog.has_sequence_privilege(s.oid, 'SELECT') END
   AND pg_catalog.has_column_privilege(t.oid, a.attnum, 'SELECT')
 ORDER BY 1, 2
"""


def counted_on(connection: Connection, schema: str, tables: Sequence[str]) -> Iterator[tuple[str, str]]:
    """A statement for each counter of these tables, after the table's name. One that is ahead already stays there."""
    wording = Wording()
    for table, column, sequence, end in connection.execute(_COUNTERS, (schema, list(tables))).fetchall():
        last = f"(SELECT max({wording.name(str(column))}) FROM {wording.name(str(table))})"
        ahead = f"(SELECT last_value FROM {sequence})"
        moved = f"SELECT pg_catalog.setval({wording.constant(str(sequence))}::pg_catalog.regclass, {last})"
        yield str(table), f"{moved} WHERE {last} BETWEEN {ahead} AND {end}"


_COLUMNS = """
SELECT a.attname::text, a.attnotnull AND NOT a.atthasdef AND a.attidentity = '', a.attgenerated <> '',
       pg_catalog.has_column_privilege(c.oid, a.attnum, 'INSERT'),
       pg_catalog.format_type(coalesce(nullif(t.typbasetype, 0), t.oid), NULL)
  FROM pg_catalog.pg_attribute a JOIN pg_catalog.pg_type t ON t.oid = a.atttypid JOIN pg_catalog.pg_class c ON c.oid = a.attrelid
  JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
 WHERE n.nspname = %s AND c.relname = %s AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum
"""


_EXAMPLES: Mapping[StorageKind, str] = {
    "boolean": "true",
    "integer": "1",
    "date": "2000-01-01",
    "datetime": "2000-01-01 00:00:00",
    "time": "00:00:00",
    "duration": "1.000000",
    "uuid": "00000000-0000-0000-0000-000000000000",
}
"""By kind, a value as it is written (`csv_rows`) that any type takes which is good for the kind."""


def unfit_tables(connection: Connection, schema: str, tables: Sequence[ReflectedTable]) -> Iterator[str]:
    """Why tables that are there could not be filled, in words."""
    for table in tables:
        rows = connection.execute(_COLUMNS, (schema, table.name)).fetchall()
        needs = [str(name) for name, needed, *_ in rows if needed]
        open_to_us = [str(name) for name, _, computed, may, _ in rows if may and not computed]
        yield from unfit(table, [str(name) for name, *_ in rows], needs, open_to_us)
        types = {str(name): str(word) for name, *_, word in rows}
        for column in (column for column in table.columns if column.name in types):
            word, example = types[column.name], _EXAMPLES.get(column.kind)
            if example is not None and not _takes(connection, word, example):
                yield f"{table.name}.{column.name} is {word}, which holds no {column.kind}"
            elif lacking := [value for value in column.values or () if not _takes(connection, word, str(value))]:
                yield f"{table.name}.{column.name} is {word}, which does not hold {', '.join(map(repr, lacking))}"


def _takes(connection: Connection, word: str, value: str) -> bool:
    import psycopg

    try:
        with connection.transaction():  # a refusal ends this alone
            connection.execute(f"SELECT CAST({Wording().constant(value)} AS {word})")
    except psycopg.DataError:
        return False
    return True


_SCHEMAS = "SELECT nspname::text FROM pg_catalog.pg_namespace WHERE nspname = ANY(%s)"


@dataclass(frozen=True)
class Homes:
    """Where tables and types belong."""

    first: str = ""
    places: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    """By the name under which a table is made in the first schema: the schema where it belongs, and its name there."""
    types: Mapping[str, str] = field(default_factory=dict)
    """By name, the schemas of types that are made elsewhere than in the first."""

    def of(self, table: str) -> tuple[str, str]:
        return self.places.get(table, (self.first, table))

    def of_type(self, name: str) -> str:
        return self.types.get(name, self.first)

    def type_word(self, name: str) -> str:
        """How a statement calls a type that is made, wherever its table stands at the moment."""
        home = self.of_type(name)
        return Wording().name(name) if home == self.first else f"{Wording().name(home)}.{Wording().name(name)}"

    def moves(self) -> Iterator[str]:
        """Statements for when all else is done."""
        wording = Wording()
        for made, (schema, name) in self.places.items():
            there = wording.name(schema)
            if schema != self.first:
                yield f"ALTER TABLE {wording.name(made)} SET SCHEMA {there}"
            if name != made:
                yield f"ALTER TABLE {there}.{wording.name(made)} RENAME TO {wording.name(name)}"


def settle_homes(connection: Connection, tables: Sequence[ReflectedTable], schemas: Sequence[str], label: str) -> Homes:
    """Where each table belongs. Refuses what has no place."""
    if len(schemas) < 2:
        return Homes(schemas[0] if schemas else "")
    held = {str(name) for (name,) in connection.execute(_SCHEMAS, (list(schemas),)).fetchall()}
    if missing := [schema for schema in schemas if schema not in held]:
        raise SinkError(f"{label} has no schema {', '.join(missing)}. Create it first, or name others: ?schema=name,name.")
    if strange := sorted({table.namespace or "unknown" for table in tables} - set(schemas)):
        raise SinkError(
            f"{label} names several schemas, but tables of the source's {', '.join(strange)} have none of that name there. "
            "Name the source's schemas in both URLs, or give the target one: ?schema=name."
        )
    places = {table.name: (table.namespace, table.name.removeprefix(f"{table.namespace}.")) for table in tables}
    users: dict[str, set[str]] = defaultdict(set)
    for table in tables:
        for column in table.columns:
            schema, name = ("", column.domain.name) if column.domain is not None else _enum(column, table) or ("", "")
            users[name].add(schema if schema in schemas else table.namespace)
    types = {name: homes.pop() for name, homes in users.items() if len(homes) == 1}
    return Homes(schemas[0], {made: at for made, at in places.items() if at != (schemas[0], made)}, types)
