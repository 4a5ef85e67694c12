"""Statements from a layout, in the words of one engine: names quoted always, constants written safely."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from mare.schema.reflection import ReflectedColumn, ReflectedForeignKey, ReflectedTable


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
        parts += [f"CHECK ({check})" for check in self.checks(table)]
        said = f"/* {remark} */ " if remark else ""
        return f"CREATE TABLE {self.name(name or table.name)} ({said}{', '.join([*parts, *extra])})"

    def column(self, column: ReflectedColumn, table: ReflectedTable) -> str:
        null = self.null if column.nullable and column.name not in table.key else " NOT NULL"
        return f"{self.name(column.name)} {self.type_of(column, table)}{null}"

    def checks(self, table: ReflectedTable) -> list[str]:
        """The checks that were understood: values, bounds, order."""
        texts = []
        for column in table.columns:
            name = self.name(column.name)
            if column.values is not None and not self.enumerated(column, table):
                texts.append(f"{name} IN ({', '.join(map(self.constant, column.values))})")
            texts += [f"{name} >= {self.constant(column.min)}"] if column.min is not None else []
            texts += [f"{name} <= {self.constant(column.max)}"] if column.max is not None else []
        texts += [f"{self.name(o.before)} {'<' if o.strict else '<='} {self.name(o.after)}" for o in table.orders]
        return texts

    def key(self, table: ReflectedTable) -> list[str]:
        """The primary key, as a clause; none where the table has none."""
        return [f"PRIMARY KEY ({self.names(table.key)})"] if table.key else []

    def unique(self, columns: Sequence[str]) -> str:
        return f"UNIQUE ({self.names(columns)})"

    def foreign_key(self, foreign: ReflectedForeignKey, table: str | None = None) -> str:
        """A foreign key, as a clause. ``table`` is what the table referred to is called for now."""
        there = self.name(table or foreign.table)
        return f"FOREIGN KEY ({self.names(foreign.columns)}) REFERENCES {there} ({self.names(foreign.references)})"


def index_names(tables: Sequence[ReflectedTable]) -> dict[tuple[str, tuple[str, ...]], str]:
    """A name for each index, where an engine wants one: unlike any table's, and unlike another's."""
    taken = {table.name.casefold() for table in tables}
    names: dict[tuple[str, tuple[str, ...]], str] = {}
    for table in tables:
        for columns in table.indexes:
            wanted = "_".join(("ix", table.name, *columns))
            number = 1
            while wanted.casefold() in taken:
                number += 1
                wanted = "_".join(("ix", table.name, *columns, str(number)))
            taken.add(wanted.casefold())
            names[table.name, columns] = wanted
    return names
