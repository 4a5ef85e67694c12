"""Reflection of a DuckDB file from its own catalogue functions. Reads no row."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING

from mare.schema.reflection import LeftOut, ReflectedColumn, ReflectedForeignKey, ReflectedTable, StorageKind

from .catalogue import Catalogue, Found, labelled
from .checks import apply_checks

if TYPE_CHECKING:
    import duckdb

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
_INDEXES = "SELECT schema_name, table_name, is_unique, expressions FROM duckdb_indexes() WHERE database_name = current_database()"
_VIEWS = "SELECT view_name FROM duckdb_views() WHERE NOT internal AND database_name = current_database() ORDER BY view_name"

Row = tuple[object, ...]


def reflect_duckdb(connection: duckdb.DuckDBPyConnection) -> Catalogue:
    """The tables of a DuckDB file. A table is called by its plain name; ``schema.table`` where two schemas hold the name."""

    def rows(query: str) -> dict[tuple[str, str], list[Row]]:
        by_table: dict[tuple[str, str], list[Row]] = defaultdict(list)
        for schema, table, *rest in connection.execute(query).fetchall():
            by_table[schema, table].append(tuple(rest))
        return by_table

    tables, columns, constraints, indexes = rows(_TABLES), rows(_COLUMNS), rows(_CONSTRAINTS), rows(_INDEXES)
    found = labelled(tables)
    labels = {(str(one.schema), one.name): one.label for one in found}
    reflected = []
    for one in found:
        at = (str(one.schema), one.name)
        comment, sql = tables[at][0]
        told = tuple(_column(connection, row, str(sql)) for row in columns[at])
        reflected.append(_table(one, told, constraints[at], indexes[at], labels, comment))
    left_out = [
        LeftOut(str(name), "a view: it follows from the tables that it reads")
        for (name,) in connection.execute(_VIEWS).fetchall()
    ]
    return Catalogue(tuple(reflected), {one.label: one for one in found}, tuple(left_out))


def _table(
    found: Found,
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
            checks.append(str(text))
        elif kind == "FOREIGN KEY":
            label = labels.get((str(found.schema), str(target)), str(target))
            foreign.append(ReflectedForeignKey(part, label, _names(references), str(name)))
    plain: list[tuple[str, ...]] = []
    unkept: list[str] = []
    for unique, expressions in indexes:
        words = str(expressions).removeprefix("[").removesuffix("]").split(", ")
        part = tuple(word.strip("'\"") for word in words)
        if all(any(column.name == word for column in columns) for word in part):
            (uniques if unique else plain).append(part)
        elif unique:
            unkept.append(f"UNIQUE ({', '.join(part)})")
    table = ReflectedTable(
        name=found.label,
        columns=columns,
        key=key,
        foreign_keys=tuple(sorted(foreign, key=lambda f: (f.columns, f.table))),
        uniques=tuple(sorted(set(uniques))),
        indexes=tuple(sorted(set(plain))),
        comment=str(comment) if comment else None,
        dialect="duckdb",
        unread_checks=tuple(sorted(unkept)),
    )
    return apply_checks(table, checks)


def _names(names: object) -> tuple[str, ...]:
    return tuple(str(name) for name in names) if isinstance(names, (list, tuple)) else ()


def _column(connection: duckdb.DuckDBPyConnection, row: Row, create: str) -> ReflectedColumn:
    name, words, nullable, default, comment = row
    stored = str(words)
    word = stored.partition("(")[0].strip()
    size = _DECIMAL.fullmatch(stored)
    digits, precision = (int(size[1]), int(size[2])) if size else (_DIGITS.get(stored), None)
    kind = "other" if stored.endswith("]") else _KINDS.get(word, "other")
    # The catalogue does not say which columns are generated; the statement, which DuckDB itself writes, does.
    generated = default is not None and f"{_bare(str(name))} {stored} GENERATED ALWAYS AS" in create
    values = None
    if word == "ENUM" and kind == "string":
        listed = connection.execute(f"SELECT unnest(enum_range(CAST(NULL AS {stored})))").fetchall()
        values = tuple(str(value) for (value,) in listed)
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
    )


def _bare(name: str) -> str:
    return name if re.fullmatch(r"[a-z_][a-z0-9_]*", name) else '"' + name.replace('"', '""') + '"'
