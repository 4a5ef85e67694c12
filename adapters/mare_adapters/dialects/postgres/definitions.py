"""What a new table of PostgreSQL gets besides its columns and keys: domains, counters, comments and indexes of every kind.

Names are the source's where they are free. A sequence is made anew, belongs to its column and goes on after the last synthetic
row (`tables.counted_on`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from mare.schema.reflection import Check, ReflectedColumn, ReflectedTable
from mare_adapters.sinks.target import is_mark, mark_of
from mare_adapters.sinks.wording import Wording, is_harmless, is_plain

if TYPE_CHECKING:
    from .already_there import Connection, Homes

_TAKEN = """
SELECT c.relname::text FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = %s
"""
_DOMAIN = """
SELECT pg_catalog.format_type(t.typbasetype, t.typtypmod), pg_catalog.obj_description(t.oid, 'pg_type'),
       ARRAY(SELECT pg_catalog.pg_get_constraintdef(k.oid) FROM pg_catalog.pg_constraint k WHERE k.contypid = t.oid ORDER BY 1)
  FROM pg_catalog.pg_type t JOIN pg_catalog.pg_namespace n ON n.oid = t.typnamespace
 WHERE t.typtype = 'd' AND t.typname = %s AND n.nspname = %s
"""
_WORDING = Wording()


@dataclass(frozen=True)
class Domains:
    """The tables as they are made, and how their domains come to be."""

    tables: tuple[ReflectedTable, ...]
    statements: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def settle_domains(
    connection: Connection, tables: Sequence[ReflectedTable], homes: Homes, release: str, *, replaces: bool
) -> Domains:
    """Domains that the target can have; a column of any other is of the type under it. Changes nothing."""
    statements: dict[str, list[str]] = {}
    refused: dict[str, str] = {}
    columns = [column for table in tables for column in (*table.columns, *(c for _, c in table.computed))]
    holding = [(c.domain.name, c.nullable) for c in columns if c.domain is not None]
    for column in columns:
        domain = column.domain
        if domain is None or domain.name in statements or domain.name in refused:
            continue
        if not is_plain(domain.base) or not all(is_harmless(check.text, ["VALUE"], "postgresql") for check in domain.checks):
            refused[domain.name] = "its checks are more than constants and common functions"
            continue
        name, mark = homes.type_word(domain.name), mark_of(domain.name, release)
        filled = " NOT NULL" if domain.filled and (domain.name, True) not in holding else ""
        create = [
            f"CREATE DOMAIN {name} AS {domain.base}{filled}{_checks(domain.checks)}",
            f"COMMENT ON DOMAIN {name} IS '{mark}'",
        ]
        held = connection.execute(_DOMAIN, (domain.name, homes.of_type(domain.name))).fetchone()
        if held is None:
            statements[domain.name] = create
        elif replaces and is_mark(held[1], domain.name):
            statements[domain.name] = [f"DROP DOMAIN {name}", *create]
        else:
            refused[domain.name] = "the target has one of that name"

    def typed(column: ReflectedColumn) -> ReflectedColumn:
        return replace(column, domain=None) if column.domain is not None and column.domain.name in refused else column

    made = tuple(
        replace(t, columns=tuple(map(typed, t.columns)), computed=tuple((at, typed(c)) for at, c in t.computed)) for t in tables
    )
    notes = [f"the domain {name} was not made: {why}" for name, why in refused.items()]
    return Domains(made, tuple(text for texts in statements.values() for text in texts), tuple(notes))


def _checks(checks: Sequence[Check]) -> str:
    named = (f" CONSTRAINT {_WORDING.name(check.name)}" if check.name else "" for check in checks)
    return "".join(f"{name} CHECK ({check.text})" for name, check in zip(named, checks, strict=True))


def free_names(connection: Connection, tables: Sequence[ReflectedTable], schema: str) -> Callable[[str], bool]:
    """Which names the target can take: what has one of a key, an index or a sequence already would refuse it."""
    taken = {str(name) for (name,) in connection.execute(_TAKEN, (schema,)).fetchall()} | {table.name for table in tables}
    wanted = Counter(name for table in tables for _, name in table.names)
    wanted.update(index.name for table in tables for index in table.special_indexes)
    return lambda name: name not in taken and wanted[name] < 2


def lost_names(tables: Sequence[ReflectedTable], free: Callable[[str], bool]) -> Iterator[str]:
    """What gets another name than the source's, in words."""
    for table in tables:
        wanted = [table.name_of(columns) for columns in (table.key, *table.uniques, *table.indexes)]
        taken = [name for name in (*wanted, *(index.name for index in table.special_indexes)) if name and not free(name)]
        if taken:
            yield f"{table.name}: {', '.join(taken)} got another name: there is something of that name already"


def counts(column: ReflectedColumn, table: ReflectedTable) -> str:
    """An identity, or the next of a sequence."""
    counter = column.counter
    if counter is None:
        return ""
    if counter.way == "sequence":
        name = _WORDING.constant(_WORDING.name(sequence_of(column, table)))
        return f" DEFAULT pg_catalog.nextval({name}::pg_catalog.regclass)"
    if column.nullable and column.name not in table.key:  # an identity takes no NULL
        return ""
    always = "ALWAYS" if counter.way == "always" else "BY DEFAULT"
    step = f" (INCREMENT BY {counter.step})" if counter.step > 1 else ""
    return f" GENERATED {always} AS IDENTITY{step}"


def sequence_of(column: ReflectedColumn, table: ReflectedTable) -> str:
    return (column.counter.sequence if column.counter else "") or f"{table.name}_{column.name}_seq"


def sequences(tables: Sequence[ReflectedTable], free: Callable[[str], bool]) -> tuple[tuple[ReflectedTable, ...], list[str]]:
    """The tables, whose sequences have names that are free, and how the sequences are made."""
    statements, made = dict[str, str](), []
    for table in tables:
        columns = []
        for column in table.columns:
            counter = column.counter
            if counter is not None and counter.way == "sequence":
                name = sequence_of(column, table)
                if free(name):
                    kind = f" AS {counter.narrow}" if counter.narrow else ""
                    statements[name] = f"CREATE SEQUENCE {_WORDING.name(name)}{kind} INCREMENT BY {max(counter.step, 1)}"
                else:
                    counter = replace(counter, way="by default", sequence="")
            columns.append(replace(column, counter=counter))
        made.append(replace(table, columns=tuple(columns)))
    return tuple(made), list(statements.values())


def shared_on(tables: Sequence[ReflectedTable]) -> Iterator[tuple[str, str]]:
    """After the table's name, a statement for each sequence that several columns take their numbers from: it belongs to one of
    them, and goes on after the last row of all."""
    taken = [(table, c) for table in tables for c in table.columns if c.counter is not None and c.counter.way == "sequence"]
    times = Counter(sequence_of(column, table) for table, column in taken)
    for table, column in taken:
        name = _WORDING.name(sequence_of(column, table))
        if times[sequence_of(column, table)] > 1:
            last = f"SELECT max({_WORDING.name(column.name)}) AS last FROM {_WORDING.name(table.name)}"
            moved = f"SELECT pg_catalog.setval({_WORDING.constant(name)}::pg_catalog.regclass, last) FROM ({last}) AS rows"
            yield table.name, f"{moved} WHERE last >= (SELECT last_value FROM {name})"


def finished(table: ReflectedTable) -> Iterator[str]:
    """Statements for a table that was just created: what its columns own, and what is said of them."""
    here = _WORDING.name(table.name)
    for column in table.columns:
        if column.counter is not None and column.counter.way == "sequence" and counts(column, table):
            yield f"ALTER SEQUENCE {_WORDING.name(sequence_of(column, table))} OWNED BY {here}.{_WORDING.name(column.name)}"
    for column in (*table.columns, *(column for _, column in table.computed)):
        if column.comment:
            yield f"COMMENT ON COLUMN {here}.{_WORDING.name(column.name)} IS {_WORDING.constant(column.comment)}"


def indexes(table: ReflectedTable, free: Callable[[str], bool]) -> Iterator[tuple[str, bool]]:
    """A statement for each index, and whether the target may refuse it: what a method can hold depends on the server."""
    here = _WORDING.name(table.name)
    for columns in table.indexes:
        yield f"CREATE INDEX {_named(table.name_of(columns), free)}ON {here} ({_WORDING.names(columns)})", False
    for index in table.special_indexes:
        yield f"CREATE INDEX {_named(index.name, free)}ON {here} {index.definition}", True


def _named(name: str, free: Callable[[str], bool]) -> str:
    return f"{_WORDING.name(name)} " if name and free(name) else ""
