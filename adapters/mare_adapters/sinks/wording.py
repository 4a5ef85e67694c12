"""Statements that create tables, in the words of one engine: names quoted always, constants written safely.

The type that a column gets is the source's own word for it where both are of one engine, else the nearest. A source's word
becomes part of a statement, and a release file may come from anywhere: only what reads as a type (words, sizes in brackets, a
list of quoted values) is taken over, anything else gets a word of ours.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from mare.schema.reflection import Check, ReflectedColumn, ReflectedForeignKey, ReflectedTable, StorageKind
from mare_adapters.sources.checks import apply_checks

from .expressions import is_harmless

_INT64_DIGITS = 18
_MOST_DIGITS = 38

_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9_]*(?: [A-Za-z0-9_]+)*(?:\s?\(\s*\d+(?:\s*,\s*-?\d+)?\s*\))?(?: [A-Za-z0-9_]+)*(?:\[\])*")
_LISTED = re.compile(r"(?:enum|set)\('(?:[^'\\]|'')*'(?:,\s?'(?:[^'\\]|'')*')*\)", re.IGNORECASE)


@dataclass(frozen=True)
class Wording:
    """How an engine writes names, constants and types."""

    quote: str = '"'
    """The sign around a name; within the name it is doubled."""
    type_of: Callable[[ReflectedColumn, ReflectedTable], str] = lambda column, table: column.sql_type
    enumerated: Callable[[ReflectedColumn, ReflectedTable], bool] = lambda column, table: False
    """Whether a column's type lists its values itself, so that no CHECK has to."""
    booleans: tuple[str, str] = ("FALSE", "TRUE")
    escapes_backslash: bool = False
    """Whether a backslash within a text constant means something (MySQL)."""
    null: str = ""
    """What a column that may be NULL says."""
    free: Callable[[str], bool] = lambda name: True
    """Whether the target can take a name of the source's for a constraint or an index."""
    counts: Callable[[ReflectedColumn, ReflectedTable], str] = lambda column, table: ""
    """How a column that counts by itself says so."""
    default: Callable[[ReflectedColumn, ReflectedTable], str] = lambda column, table: column.default or ""
    """What is filled in, as the engine wants it written."""

    remark: Callable[[ReflectedColumn], str] = lambda column: ""
    """What is said of a column, where that is part of its declaration."""

    def name(self, name: str) -> str:
        """A name as the engine reads it back: `order`, spaces, quotes and case included."""
        return self.quote + name.replace(self.quote, self.quote * 2) + self.quote

    def names(self, names: Iterable[str]) -> str:
        return ", ".join(map(self.name, names))

    def constant(self, value: object) -> str:
        """A value as part of a statement."""
        if isinstance(value, bool):
            return self.booleans[value]
        if isinstance(value, int | float):
            return repr(value)
        text = value.isoformat(sep=" ") if isinstance(value, datetime) else str(value)  # a date's own text is ISO
        if self.escapes_backslash:
            text = text.replace("\\", "\\\\")
        return "'" + text.replace("'", "''") + "'"

    def create_table(self, table: ReflectedTable, name: str | None = None, extra: Sequence[str] = (), remark: str = "") -> str:
        """The table with its columns, its checks and whatever clauses are given. Keys are clauses, or added later. A ``remark``
        stands within the statement itself, for an engine that keeps the statement and knows no comments."""
        parts = [self.column(column, table) for column in table.columns]
        for place, column in table.computed:
            parts.insert(place, self.computed(column, table))
        parts += self.checks(table)
        comment = f"/* {remark} */ " if remark else ""
        return f"CREATE TABLE {self.name(name or table.name)} ({comment}{', '.join([*parts, *extra])})"

    def column(self, column: ReflectedColumn, table: ReflectedTable) -> str:
        null = self.null if column.nullable and column.name not in table.key else " NOT NULL"
        default = self.default(column, table)
        filled = self.counts(column, table) or (f" DEFAULT {default}" if default else "")
        return f"{self.name(column.name)} {self.type_of(column, table)}{null}{filled}{self.remark(column)}"

    def computed(self, column: ReflectedColumn, table: ReflectedTable) -> str:
        """A generated column, whose expression was looked at (`expressions`); or one that stays empty."""
        if not column.expression:
            return self.column(column, table)
        stored = "VIRTUAL" if column.virtual else "STORED"
        return f"{self.name(column.name)} {self.type_of(column, table)} GENERATED ALWAYS AS ({column.expression}) {stored}"

    def checks(self, table: ReflectedTable) -> list[str]:
        """The checks that were understood, as clauses: values, bounds, order. What the source calls one by name is called so
        where it says the same."""
        own, table = _own_checks(table)
        named = [(check.name if check.name and self.free(check.name) else "", check.text) for check in own]
        texts = []
        for column in table.columns:
            name = self.name(column.name)
            if column.domain is None and column.values is not None and not self.enumerated(column, table):
                texts.append(f"{name} IN ({', '.join(map(self.constant, column.values))})")
            if column.domain is None:
                texts += [f"{name} >= {self.constant(column.min)}"] if column.min is not None else []
                texts += [f"{name} <= {self.constant(column.max)}"] if column.max is not None else []
        texts += [f"{self.name(o.before)} {'<' if o.strict else '<='} {self.name(o.after)}" for o in table.orders]
        clauses = [f"CONSTRAINT {self.name(name)} CHECK ({text})" if name else f"CHECK ({text})" for name, text in named]
        return [*clauses, *(f"CHECK ({text})" for text in texts)]

    def key(self, table: ReflectedTable) -> list[str]:
        """The primary key, as a clause; none where the table has none."""
        return [f"{self.called(table, table.key)}PRIMARY KEY ({self.names(table.key)})"] if table.key else []

    def unique(self, table: ReflectedTable, columns: tuple[str, ...]) -> str:
        return f"{self.called(table, columns)}UNIQUE ({self.names(columns)})"

    def foreign_key(self, foreign: ReflectedForeignKey, table: str | None = None) -> str:
        """A foreign key, as a clause. ``table`` is what the table referred to is called for now."""
        there = self.name(table or foreign.table)
        named = f"CONSTRAINT {self.name(foreign.name)} " if foreign.name and self.free(foreign.name) else ""
        doing = "".join(f" {word}" for word in foreign.actions)
        return f"{named}FOREIGN KEY ({self.names(foreign.columns)}) REFERENCES {there} ({self.names(foreign.references)}){doing}"

    def called(self, table: ReflectedTable, columns: tuple[str, ...]) -> str:
        """What the source calls the constraint over these columns, as the beginning of its clause."""
        name = table.name_of(columns)
        return f"CONSTRAINT {self.name(name)} " if name and self.free(name) else ""


def _own_checks(table: ReflectedTable) -> tuple[list[Check], ReflectedTable]:
    """The source's own CHECKs that what comes out keeps, and the table without what they say already: values, bounds, orders."""
    bare = replace(
        table,
        columns=tuple(replace(column, values=None, min=None, max=None, nullable=True) for column in table.columns),
        orders=(),
        checks=(),
        unread_checks=(),
    )
    columns, orders = {column.name: column for column in table.columns}, list(table.orders)
    held = []
    for check in table.checks:
        if not is_harmless(check.text, columns, table.dialect):
            continue
        told = apply_checks(bare, [check])
        says = [column for column in told.columns if (column.values, column.min, column.max) != (None, None, None)]
        kept = all(_implied(column, table.column(column.name)) for column in says)
        if told.unread_checks or not kept or not set(told.orders) <= set(table.orders) or not (says or told.orders):
            continue
        held.append(check)
        columns |= {column.name: _without(columns[column.name], column) for column in says}
        orders = [order for order in orders if order not in told.orders]
    return held, replace(table, columns=tuple(columns.values()), orders=tuple(orders))


def _implied(said: ReflectedColumn, column: ReflectedColumn | None) -> bool:
    """Whether every value of the column passes."""
    if column is None:
        return False
    low = said.min is None or (column.min is not None and column.min >= said.min)  # type: ignore[operator]
    high = said.max is None or (column.max is not None and column.max <= said.max)  # type: ignore[operator]
    listed = said.values is None or (column.values is not None and set(column.values) <= set(said.values))
    return low and high and listed


def _without(column: ReflectedColumn, said: ReflectedColumn) -> ReflectedColumn:
    return replace(
        column,
        values=None if column.values == said.values else column.values,
        min=None if column.min == said.min else column.min,
        max=None if column.max == said.max else column.max,
    )


def create_indexes(tables: Sequence[ReflectedTable], wording: Wording) -> Iterator[tuple[str, str]]:
    """A statement for each index, after its table's name, where an engine wants a name for it: unlike any table's or other's."""
    taken = {table.name.casefold() for table in tables}
    for table in tables:
        for index in table.special_indexes:
            taken.add(index.name.casefold())
            yield table.name, f"CREATE INDEX {wording.name(index.name)} ON {wording.name(table.name)} {index.definition}"
        for columns in table.indexes:
            wanted = table.name_of(columns) or "_".join(("ix", table.name, *columns))
            number = 1
            while wanted.casefold() in taken:
                number += 1
                wanted = "_".join(("ix", table.name, *columns, str(number)))
            taken.add(wanted.casefold())
            yield table.name, f"CREATE INDEX {wording.name(wanted)} ON {wording.name(table.name)} ({wording.names(columns)})"


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
        return column.sql_type if column.values is not None or table.verbatim else None
    return column.sql_type if is_plain(column.sql_type) else None


def declared_digits(column: ReflectedColumn) -> tuple[int, int] | None:
    """(all digits, decimals) of an exact number, where every engine can declare it; None where the kind has to do.

    PostgreSQL alone knows more digits than 38, decimals before the point and more of them than digits.
    """
    digits, decimals = column.digits or 0, column.precision
    if column.kind == "integer" and digits > _INT64_DIGITS:
        return min(digits, _MOST_DIGITS), 0
    if column.kind == "number" and decimals is not None and 0 <= decimals <= digits <= _MOST_DIGITS and digits > 0:
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
    return words.get(column.kind) or words["string"]


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
