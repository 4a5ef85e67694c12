"""`DuckdbSource`: a DuckDB file, read natively and read-only, and reflected from its own catalogue functions.

No other process can write while a file is open read-only, so what is read is one state of the database.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Self

import duckdb

from mare.errors import SourceError
from mare.finding import file_place
from mare.ports import Place
from mare.schema.reflection import (
    Check,
    Counting,
    LeftOut,
    Peek,
    ReflectedColumn,
    ReflectedForeignKey,
    ReflectedIndex,
    ReflectedTable,
    Reflection,
    StorageKind,
)
from mare_adapters.boundary import reading
from mare_adapters.engine import open_duckdb, quoted, stream
from mare_adapters.locations import duckdb_path

from .arrow_kinds import conformed
from .catalogue import Catalogue, StoredTable, labelled, whole_number_ends
from .checks import apply_checks
from .columnar import BATCH_ROWS, within_reach
from .peeking import peek_column
from .sql import generated_columns, index_definition
from .table_source import Batches, TableSource, find_table

_KINDS: dict[str, StorageKind] = {
    "BOOLEAN": "boolean",
    **dict.fromkeys(("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT"), "integer"),
    **dict.fromkeys(("UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT"), "integer"),
    **dict.fromkeys(("FLOAT", "DOUBLE", "DECIMAL"), "number"),
    **dict.fromkeys(("VARCHAR", "ENUM"), "string"),
    "DATE": "date",
    **dict.fromkeys(("TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS", "TIMESTAMP WITH TIME ZONE"), "datetime"),
    **dict.fromkeys(("TIME", "TIME_NS", "TIME WITH TIME ZONE"), "time"),
    "INTERVAL": "duration",
    "UUID": "uuid",
    "BLOB": "binary",
    "JSON": "json",
}
_WHOLE_NUMBER_BYTES = {"tinyint": 1, "smallint": 2, "integer": 4, "utinyint": 1, "usmallint": 2, "uinteger": 4}
"""Of those that are narrower than 64 bits."""
_DIGITS = {"HUGEINT": 38, "UBIGINT": 20}
_DECIMAL = re.compile(r"DECIMAL\((\d+),\s*(\d+)\)")

_TABLES = """
SELECT schema_name, table_name, comment, sql FROM duckdb_tables()
 WHERE NOT internal AND NOT temporary AND database_name = current_database() ORDER BY schema_name, table_name
"""
_COLUMNS = """
SELECT schema_name, table_name, column_name, data_type, is_nullable, column_default, comment FROM duckdb_columns()
 WHERE NOT internal AND database_name = current_database() ORDER BY schema_name, table_name, column_index
"""
_CONSTRAINTS = """
SELECT schema_name, table_name, constraint_type, coalesce(expression, constraint_text), constraint_column_names,
       referenced_table, referenced_column_names, constraint_name
  FROM duckdb_constraints() WHERE database_name = current_database() ORDER BY constraint_index
"""
_INDEXES = """
SELECT schema_name, table_name, is_unique, expressions, index_name, sql FROM duckdb_indexes()
 WHERE database_name = current_database()
"""
_STEPS = "SELECT sequence_name, increment_by FROM duckdb_sequences() WHERE database_name = current_database()"
_NEXT = re.compile(r"nextval\('((?:[^']|'')*)'\)")
_VIEWS = "SELECT view_name FROM duckdb_views() WHERE NOT internal AND database_name = current_database() ORDER BY view_name"
_VIEW_TEXTS = """
SELECT sql FROM duckdb_views() WHERE NOT internal AND database_name = current_database() ORDER BY view_oid
"""
_MACROS = """
SELECT function_name, parameters, CASE function_type WHEN 'table_macro' THEN 'TABLE ' ELSE '' END, macro_definition
  FROM duckdb_functions() WHERE NOT internal AND function_type IN ('macro', 'table_macro') AND database_name = current_database()
 ORDER BY function_oid
"""
_SIZE = (
    "SELECT estimated_size FROM duckdb_tables() WHERE database_name = current_database() AND schema_name = ? AND table_name = ?"
)


class DuckdbSource(TableSource["duckdb.DuckDBPyConnection"]):
    """A DuckDB file, as a `mare.ports.Source`."""

    def __init__(self, location: str | Path) -> None:
        super().__init__()
        self._path = duckdb_path(location)
        self._tables: dict[str, StoredTable] = {}

    @property
    def label(self) -> str:
        return self._path

    def __enter__(self) -> Self:
        if not Path(self._path).is_file():
            raise SourceError(f"{self._path} is not there. Give the path of a DuckDB file that exists.")
        try:
            self._opened = self._stack.enter_context(open_duckdb(self._path, read_only=True))
            self._opened.execute("BEGIN TRANSACTION READ ONLY")
        except duckdb.Error as error:
            raise SourceError(
                f"{self._path} cannot be opened ({type(error).__name__}). Is it a DuckDB file, of a version that DuckDB "
                f"{duckdb.__version__} reads, and has no other process opened it for writing?"
            ) from None
        return self

    def _reflect(self) -> Reflection:
        with reading(self.label, "the catalogue"):
            catalogue = reflect_duckdb(self._open)
        self._tables = catalogue.by_label
        return Reflection(self.label, tuple(catalogue.tables), tuple(catalogue.left_out))

    def _peek(self, table: ReflectedTable, column: ReflectedColumn, max_values: int) -> Peek:
        return peek_column(self._open, self._tables[table.name].relation, _selected(column), column.kind, max_values)

    def about(self, table: str) -> int | None:
        name = find_table(self.reflect(), table).name
        stored = self._tables[name]
        with reading(self.label, "the catalogue"):
            # To its end: DuckDB 2 streams nothing as long as the last answer is not taken.
            rows = self._open.execute(_SIZE, [stored.schema, stored.name]).fetchall()
        return int(rows[0][0]) if rows else None

    def scripts(self) -> tuple[str, ...]:
        with reading(self.label, "the catalogue"):
            macros = self._open.execute(_MACROS).fetchall()
            views = self._open.execute(_VIEW_TEXTS).fetchall()
        made = (f"CREATE MACRO {quoted(name)}({', '.join(names)}) AS {kind}{body};" for name, names, kind, body in macros)
        return (*made, *(str(sql) for (sql,) in views))

    def place(self) -> Place:
        return file_place(self._path, beside=(".wal",))

    def _stream(self, table: ReflectedTable, columns: Sequence[ReflectedColumn], names: Sequence[str]) -> Batches:
        selected = ", ".join(f"{_selected(column)} AS c{number}" for number, column in enumerate(columns))
        query = f"SELECT {selected} FROM {self._tables[table.name].relation}"
        with reading(self.label, f"table {table.name}"), closing(stream(self._open, query, BATCH_ROWS)) as reader:
            for batch in reader:
                yield conformed(batch, columns, names, table.name, self.unread)


def _selected(column: ReflectedColumn) -> str:
    """What has no type of its own in Arrow, in one that it has; moments with a zone as UTC, without the ICU extension."""
    name = quoted(column.name)
    if column.kind == "duration":
        return f"epoch_us({within_reach(name, column.kind)})"
    if column.kind == "datetime" and re.search("WITH TIME ZONE", column.sql_type):
        return f"make_timestamp(epoch_us({within_reach(name, column.kind, zoned=True)}))"
    if column.kind == "datetime":  # of nanoseconds or whole seconds, whose own ends are others
        return within_reach(f"TRY_CAST({name} AS TIMESTAMP)", column.kind)
    if column.kind in ("date", "time"):
        return within_reach(f"CAST({name} AS {column.kind})", column.kind)
    return f"CAST({name} AS VARCHAR)" if column.kind in ("string", "uuid", "json", "other") else name


Row = tuple[object, ...]


def reflect_duckdb(connection: duckdb.DuckDBPyConnection) -> Catalogue:
    """The tables of a DuckDB file. A table is called by its plain name; ``schema.table`` where two schemas hold the name."""

    def rows(query: str) -> dict[tuple[str, str], list[Row]]:
        by_table: dict[tuple[str, str], list[Row]] = defaultdict(list)
        for schema, table, *rest in connection.execute(query).fetchall():
            by_table[schema, table].append(tuple(rest))
        return by_table

    steps = {str(name): int(step) for name, step in connection.execute(_STEPS).fetchall()}
    tables, columns, constraints, indexes = rows(_TABLES), rows(_COLUMNS), rows(_CONSTRAINTS), rows(_INDEXES)
    stored = labelled(tables)
    labels = {(str(table.schema), table.name): table.label for table in stored}
    reflected = []
    for table in stored:
        at = (str(table.schema), table.name)
        comment, sql = tables[at][0]
        described = tuple(_column(connection, row, str(sql), steps) for row in columns[at])
        reflected.append(_table(table, described, constraints[at], indexes[at], labels, comment))
    left_out = [
        LeftOut(str(name), "a view: it follows from the tables that it reads")
        for (name,) in connection.execute(_VIEWS).fetchall()
    ]
    return Catalogue(reflected, stored, left_out)


def _table(
    at: StoredTable,
    columns: tuple[ReflectedColumn, ...],
    constraints: Sequence[Row],
    indexes: Sequence[Row],
    labels: dict[tuple[str, str], str],
    comment: object,
) -> ReflectedTable:
    key: tuple[str, ...] = ()
    foreign, uniques, checks = [], [], []
    for kind, text, names, target, references, name in constraints:
        part = _names(names)
        if kind == "PRIMARY KEY":
            key = part
        elif kind == "UNIQUE":
            uniques.append(part)
        elif kind == "CHECK":
            checks.append(Check(str(text)))
        elif kind == "FOREIGN KEY":
            label = labels.get((str(at.schema), str(target)), str(target))
            foreign.append(ReflectedForeignKey(part, label, _names(references), str(name)))
    plain: list[tuple[str, ...]] = []
    unkept: list[str] = []
    special: list[ReflectedIndex] = []
    named: dict[tuple[str, ...], str] = {}
    for unique, expressions, index, sql in indexes:
        words = str(expressions).removeprefix("[").removesuffix("]").split(", ")
        part = tuple(word.strip("'\"") for word in words)
        if all(any(column.name == word for column in columns) for word in part):
            (uniques if unique else plain).append(part)
            named[part] = str(index)
        elif unique:
            unkept.append(f"UNIQUE ({', '.join(part)})")
        else:
            special.append(ReflectedIndex(str(index), index_definition(str(sql))))
    table = ReflectedTable(
        name=at.label,
        columns=columns,
        key=key,
        foreign_keys=tuple(sorted(foreign, key=lambda f: (f.columns, f.table))),
        uniques=tuple(sorted(set(uniques))),
        indexes=tuple(sorted(set(plain))),
        comment=str(comment) if comment else None,
        names=tuple(sorted(named.items())),
        special_indexes=tuple(sorted(special, key=lambda index: index.name)),
        dialect="duckdb",
        unread_checks=tuple(sorted(unkept)),
    )
    return apply_checks(table, checks)


def _names(names: object) -> tuple[str, ...]:
    return tuple(str(name) for name in names) if isinstance(names, (list, tuple)) else ()


def _column(connection: duckdb.DuckDBPyConnection, row: Row, create: str, steps: Mapping[str, int]) -> ReflectedColumn:
    name, words, nullable, default, comment = row
    stored = str(words)
    word = stored.partition("(")[0].strip()
    size = _DECIMAL.fullmatch(stored)
    digits, precision = (int(size[1]), int(size[2])) if size else (_DIGITS.get(stored), None)
    kind = "other" if stored.endswith("]") else _KINDS.get(word, "other")
    # The catalogue does not say which columns are generated; the statement, which DuckDB itself writes, does.
    generated = default is not None and f"{_bare(str(name))} {stored} GENERATED ALWAYS AS" in create
    lowest, highest = whole_number_ends(stored, _WHOLE_NUMBER_BYTES) if kind == "integer" else (None, None)
    values = None
    if word == "ENUM" and kind == "string":
        listed = connection.execute(f"SELECT unnest(enum_range(CAST(NULL AS {stored})))").fetchall()
        values = tuple(str(value) for (value,) in listed)
    text = None if default is None or generated else str(default)
    counts = _NEXT.fullmatch(text or "")
    sequence = counts[1].replace("''", "'").rpartition(".")[2] if counts else ""
    return ReflectedColumn(
        name=str(name),
        kind="integer" if size and precision == 0 else kind,
        sql_type=stored,
        nullable=bool(nullable),
        values=values,
        min=0 if stored in ("UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT") else None,
        precision=precision,
        digits=digits,
        autoincrement=default is not None and str(default).startswith("nextval("),
        generated=generated,
        comment=str(comment) if comment else None,
        lowest=lowest,
        highest=highest,
        default=None if counts else text,
        counter=Counting("sequence", sequence, steps.get(sequence, 1)) if counts else None,
        expression=generated_columns(create).get(str(name), "") if generated else "",
        virtual=generated,
    )


def _bare(name: str) -> str:
    return name if re.fullmatch(r"[a-z_][a-z0-9_]*", name) else quoted(name)
