"""`SqlSource`: a database that SQLAlchemy reads, in one consistent snapshot over one connection, by its family's dialect.

One connection holds the snapshot, so one table is read at a time: finish or close an iterator before asking for the next.

And what only a CREATE statement tells, where an engine keeps the statement and its catalogue says less.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path
from typing import Self

import pyarrow as pa
import sqlalchemy as sa
from sqlalchemy import ColumnElement, Connection, FromClause
from sqlalchemy.sql import quoted_name

from mare.ports import Place
from mare.schema.reflection import Check, Peek, ReflectedColumn, ReflectedTable, Reflection
from mare_adapters.boundary import connecting, reading
from mare_adapters.dialects import Dialect
from mare_adapters.locations import SqlLocation, sql_location

from .catalogue import StoredTable, unknown_types_allowed
from .check_grammar import Token, Unreadable, tokens
from .columnar import BATCH_ROWS, record_batches
from .peeking import BOUNDED_KINDS, LISTED_KINDS, as_bound, as_value
from .table_source import Asked, Batches, Question, TableSource, asked_columns, find_table


def named_checks(create_table: str) -> list[Check]:
    """Every CHECK of a CREATE TABLE statement, as written, with its name."""
    parts = _tokens(create_table)
    checks = []
    for position, token in enumerate(parts[:-1]):
        if _is(token, "CHECK") and parts[position + 1].text == "(":
            named = position > 1 and _is(parts[position - 2], "CONSTRAINT")
            text = _bracketed(create_table, parts, position + 1)
            if text is not None:
                checks.append(Check(text, bare_name(parts[position - 1]) if named else ""))
    return checks


def generated_columns(create_table: str) -> dict[str, str]:
    """By column, what it is computed from."""
    parts = _tokens(create_table)
    expressions = {}
    for first, last in _definitions(parts):
        for position in range(first + 1, last):
            if _is(parts[position], "AS") and parts[position + 1].text == "(":
                text = _bracketed(create_table, parts, position + 1)
                if text is not None:
                    expressions[bare_name(parts[first])] = text
                break
    return expressions


def constraint_names(create_table: str) -> dict[tuple[str, ...], str]:
    """What keys and uniques are called, by their columns."""
    parts = _tokens(create_table)
    names = {}
    for first, last in _definitions(parts):
        for position in range(first, last - 1):
            if _is(parts[position], "CONSTRAINT") and parts[position + 2].text.upper() in ("UNIQUE", "PRIMARY"):
                opening = next((at for at in range(position + 3, last + 1) if parts[at].text == "("), None)
                listed = parts[first : first + 1] if position > first or opening is None else parts[opening + 1 : last + 1]
                columns = tuple(bare_name(token) for token in listed if token.kind in ("word", "quoted"))
                names[columns] = bare_name(parts[position + 1])
    return names


def index_definition(create_index: str) -> str:
    """What stands after the name of the table."""
    first = next((token for token in _tokens(create_index) if token.text in ("(", "USING")), None)
    return "" if first is None else create_index[first.start :].strip().rstrip(";").strip()


def bare_name(token: Token) -> str:
    """A name without its quotes."""
    if token.kind != "quoted":
        return token.text
    sign = token.text[-1]
    return token.text[1:-1].replace(sign * 2, sign)


def _tokens(statement: str) -> list[Token]:
    try:
        return tokens(statement)
    except Unreadable:
        return []


def _is(token: Token, word: str) -> bool:
    return token.kind == "word" and token.text.upper() == word


def _definitions(parts: Sequence[Token]) -> Iterator[tuple[int, int]]:
    """The first and the last token of every part within the outermost brackets."""
    depth, first = 0, 0
    for position, token in enumerate(parts):
        if token.kind != "op":
            continue
        depth += {"(": 1, ")": -1}.get(token.text, 0)
        if token.text == "(" and depth == 1:
            first = position + 1
        elif (token.text == "," and depth == 1) or (token.text == ")" and depth == 0):
            yield first, position - 1
            first = position + 1


def _bracketed(text: str, parts: Sequence[Token], opening: int) -> str | None:
    """What stands within the brackets that open here."""
    depth = 0
    for later in parts[opening:]:
        depth += {"(": 1, ")": -1}.get(later.text, 0) if later.kind == "op" else 0
        if depth == 0:
            return text[parts[opening].end : later.start].strip()
    return None


class SqlSource(TableSource["Connection"]):
    """A database, as a `mare.ports.Source`."""

    def __init__(self, location: str | Path, dialect: Dialect | None = None) -> None:
        super().__init__()
        self._location = sql_location(location, dialect=dialect)
        self._dialect = self._location.dialect
        self._tables: dict[str, StoredTable] = {}
        self._schemas: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        return self._location.label

    def __enter__(self) -> Self:
        with connecting(self._location):
            # A stop while rows are fetched is SQLAlchemy's to log, with a traceback on the screen unless somebody else listens.
            if not (log := logging.getLogger("sqlalchemy")).handlers:
                log.addHandler(logging.NullHandler())
            engine = self._dialect.engine(self._location)
            self._stack.callback(engine.dispose)
            connection: Connection = self._stack.enter_context(engine.connect())
            self._schemas = self._dialect.begin(connection, self._location)
            self._opened = connection
        return self

    @property
    def _at(self) -> SqlLocation:
        return self._location

    def read(self, table: str, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        reflected = find_table(self.reflect(), table)
        return self._answer(reflected, asked_columns(self.reflect(), reflected, columns), columns)

    def about(self, table: str) -> int | None:
        name = find_table(self.reflect(), table).name
        # A budget may have been taken by now: that nobody can tell how long it lasts must not cost it. Reading comes next, and
        # says what is wrong.
        with suppress(sa.exc.SQLAlchemyError):
            return self._dialect.rows_of(self._open, self._tables[name])
        return None

    def scripts(self) -> tuple[str, ...]:
        with reading(self._location, "the catalogue"):
            return self._dialect.scripts(self._open, self._schemas)

    def place(self) -> Place:
        def ask(query: str) -> Sequence[Sequence[object]]:
            return self._open.exec_driver_sql(query).all()

        with reading(self._location, "where it is"):
            return self._dialect.place(ask, self._location, self._schemas)

    def _reflect(self) -> Reflection:
        with reading(self._location, "the catalogue"), unknown_types_allowed():
            catalogue = self._dialect.reflect(self._open, sa.inspect(self._open), self._schemas)
        self._tables = catalogue.by_label
        return Reflection(self.label, tuple(map(self._in_own_words, catalogue.tables)), tuple(catalogue.left_out))

    def _in_own_words(self, table: ReflectedTable) -> ReflectedTable:
        """The table, which says whose words its types are, and its columns, which say where these end."""
        ends = (self._dialect.ends_of(column) for column in table.columns)
        columns = (replace(c, lowest=low, highest=high) for c, (low, high) in zip(table.columns, ends, strict=True))
        return replace(table, columns=tuple(columns), dialect=self._dialect.name)

    def _stream(self, table: ReflectedTable, columns: Sequence[ReflectedColumn], names: Sequence[str]) -> Batches:
        return self._answer(table, list(map(Asked, columns)), names)

    def _answer(self, table: ReflectedTable, columns: Sequence[Asked], names: Sequence[str]) -> Batches:
        asked = Question(table, self._tables[table.name], columns, names)
        with reading(self._location, f"table {table.name}"):
            fast = self._dialect.fast_batches(self._open, asked, self.unread)
            if fast is not None:
                yield from fast
                return
            stored = _from_clause(asked.stored, [column.stored for column in columns])
            query = sa.select(*(_asked_for(stored, column, self._dialect) for column in columns)).select_from(stored)
            driver_connection = self._open.connection.driver_connection
            # Of this query alone: said of the connection, the catalogue's next answer would be a cursor that counts no rows.
            streaming = {"stream_results": True, "max_row_buffer": BATCH_ROWS}
            with closing(self._open.execute(query, execution_options=streaming)) as rows:
                try:
                    yield from record_batches(rows, asked.delivered, names, table.name, self.unread)
                finally:
                    self._dialect.let_go(driver_connection)

    def _peek(self, table: ReflectedTable, column: ReflectedColumn, max_values: int) -> Peek:
        if column.kind == "unknown":  # an undeclared column of SQLite: only the values tell
            return super()._peek(table, column, max_values)
        stored = _from_clause(self._tables[table.name], [column])
        value = _asked_for(stored, Asked(column), self._dialect)

        def converted(values: Sequence[object]) -> list[object]:
            batch = next(record_batches([(v,) for v in values], [column], [column.name], table.name))
            answer: list[object] = batch.column(0).to_pylist()
            return answer

        low = high = values = None
        if column.kind in BOUNDED_KINDS:
            low, high = converted(self._open.execute(sa.select(sa.func.min(value), sa.func.max(value)).select_from(stored)).one())
        if column.kind in LISTED_KINDS:
            query = (
                sa.select(value).select_from(stored).distinct().where(value.is_not(None)).order_by(value).limit(max_values + 1)
            )
            listed = [row[0] for row in self._open.execute(query)]
            values = tuple(dict.fromkeys(as_value(v) for v in converted(listed))) if len(listed) <= max_values else None
        return Peek(kind=column.kind, values=values, min=as_bound(low), max=as_bound(high))


def _from_clause(stored: StoredTable, columns: Sequence[ReflectedColumn]) -> FromClause:
    """The table as SQLAlchemy selects from it. Every name is quoted: `order`, mixed case and quotes come through."""
    unique = {c.name: sa.column(quoted_name(c.name, True)) for c in columns}  # type: ignore[var-annotated]
    schema = None if stored.schema is None else quoted_name(stored.schema, True)
    return sa.table(quoted_name(stored.name, True), *unique.values(), schema=schema)


def _asked_for(stored: FromClause, asked: Asked, dialect: Dialect) -> ColumnElement[object]:
    """The column itself, or the form by which it is compared."""
    if asked.collation:
        return sa.literal_column(dialect.key_form(asked))
    return dialect.expression(stored.c[asked.stored.name], asked.stored)
