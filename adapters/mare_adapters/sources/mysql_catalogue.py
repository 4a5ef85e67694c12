"""What is special about the catalogue of MySQL and MariaDB: rights told by column, and JSON that is a text with a check."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING

from mare.schema.reflection import LeftOut, ReflectedTable

from .catalogue import Catalogue, Found, left_out_references, reflect_tables
from .checks import apply_checks

if TYPE_CHECKING:
    from sqlalchemy import Connection, Inspector

_TABLES = "SELECT TABLE_NAME, TABLE_TYPE FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE() ORDER BY TABLE_NAME"
_COLUMNS = """
SELECT TABLE_NAME, COLUMN_NAME, COLUMN_TYPE, PRIVILEGES FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = DATABASE()
"""
_MARIADB_CHECKS = """
SELECT TABLE_NAME, CHECK_CLAUSE FROM information_schema.CHECK_CONSTRAINTS WHERE CONSTRAINT_SCHEMA = DATABASE()
 ORDER BY TABLE_NAME, CONSTRAINT_NAME
"""
_MYSQL_CHECKS = """
SELECT t.TABLE_NAME, c.CHECK_CLAUSE FROM information_schema.CHECK_CONSTRAINTS c
  JOIN information_schema.TABLE_CONSTRAINTS t
    ON t.CONSTRAINT_SCHEMA = c.CONSTRAINT_SCHEMA AND t.CONSTRAINT_NAME = c.CONSTRAINT_NAME AND t.CONSTRAINT_TYPE = 'CHECK'
 WHERE c.CONSTRAINT_SCHEMA = DATABASE() ORDER BY t.TABLE_NAME, c.CONSTRAINT_NAME
"""
_TYPES = {
    "VIEW": "a view: it follows from the tables that it reads",
    "SEQUENCE": "a sequence: it only counts",
}
_JSON = re.compile(r"\(?json_valid\(`((?:[^`]|``)+)`\)\)?", re.IGNORECASE)


def reflect_mysql(connection: Connection, inspector: Inspector) -> Catalogue:
    """The tables of the connection's database that can be read."""
    words: dict[str, dict[str, str]] = defaultdict(dict)
    hidden: set[str] = set()
    for name, column, words_of_type, privileges in connection.exec_driver_sql(_COLUMNS):
        words[name][column] = words_of_type
        if "select" not in privileges.lower():
            hidden.add(name)
    found, left_out = [], []
    for name, kind in connection.exec_driver_sql(_TABLES):
        if kind in _TYPES:
            left_out.append(LeftOut(name, _TYPES[kind]))
        elif name in hidden or name not in words:
            left_out.append(LeftOut(name, "no right to read"))
        elif any("`" in part for part in (name, *words[name])):
            left_out.append(LeftOut(name, "its name or a column's holds a backtick, which SQLAlchemy does not read"))
        elif not _readable(connection, name):
            left_out.append(LeftOut(name, "no right to read all of its columns"))
        else:
            found.append(Found(name, None, name))
    checks = _checks(connection)
    tables = [_told(table, words[table.name], checks.get(table.name, [])) for table in reflect_tables(inspector, found)]
    left_out += left_out_references(inspector, found)
    return Catalogue(tuple(tables), {one.label: one for one in found}, tuple(left_out))


def _readable(connection: Connection, name: str) -> bool:
    """Whether all columns can be read: those without rights do not even show in the catalogue. Asks for no row."""
    from sqlalchemy import literal_column, select, table
    from sqlalchemy.exc import DBAPIError
    from sqlalchemy.sql import quoted_name

    try:
        connection.execute(select(literal_column("*")).select_from(table(quoted_name(name, True))).limit(0)).close()
    except DBAPIError:
        return False
    return True


def _checks(connection: Connection) -> dict[str, list[str]]:
    from sqlalchemy.exc import DBAPIError

    texts: dict[str, list[str]] = defaultdict(list)
    mariadb = getattr(connection.dialect, "is_mariadb", False)
    try:
        rows = connection.exec_driver_sql(_MARIADB_CHECKS if mariadb else _MYSQL_CHECKS).all()
    except DBAPIError:  # servers before MySQL 8.0.16 and MariaDB 10.2 have no checks
        return texts
    for table, text in rows:
        # MariaDB writes a quote within a text as \', where everybody else doubles it.
        texts[table].append(re.sub(r"\\(.)", lambda escape: "''" if escape[1] == "'" else escape[0], text) if mariadb else text)
    return texts


def _told(table: ReflectedTable, words: dict[str, str], checks: list[str]) -> ReflectedTable:
    # MariaDB stores JSON as text with this check.
    documents = {match[1].replace("``", "`") for text in checks if (match := _JSON.fullmatch(text))}
    columns = tuple(
        replace(column, sql_type=words[column.name], kind="json" if column.name in documents else column.kind)
        for column in table.columns
    )
    return apply_checks(replace(table, columns=columns), [text for text in checks if not _JSON.fullmatch(text)])
