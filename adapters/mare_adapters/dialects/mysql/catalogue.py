"""What is special about the catalogue of MySQL and MariaDB: rights told by column, JSON that is a text with a check, scripts."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

import sqlalchemy as sa
from sqlalchemy import Connection, Inspector
from sqlalchemy.exc import DBAPIError
from sqlalchemy.sql import quoted_name

from mare.schema.reflection import Check, LeftOut, ReflectedColumn, ReflectedIndex, ReflectedTable
from mare_adapters.sources.catalogue import Catalogue, KindOf, StoredTable, left_out_references, reflect_tables
from mare_adapters.sources.checks import apply_checks
from mare_adapters.sources.statements import named_checks
from mare_adapters.sources.table_source import EXACT

COLLATION = re.compile(r"[A-Za-z0-9]+_[A-Za-z0-9_]+")
"""The name of one that mare can ask for."""
_EXACT_DIGITS = 38

_TABLES = "SELECT TABLE_NAME, TABLE_TYPE FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE() ORDER BY TABLE_NAME"
_COLUMNS = """
SELECT TABLE_NAME, COLUMN_NAME, COLUMN_TYPE, COLLATION_NAME, PRIVILEGES
  FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = DATABASE()
"""
_INDEXES = """
SELECT TABLE_NAME, INDEX_NAME, NON_UNIQUE, COALESCE(COLUMN_NAME, EXPRESSION), EXPRESSION IS NOT NULL
  FROM information_schema.STATISTICS WHERE TABLE_SCHEMA = DATABASE() ORDER BY TABLE_NAME, INDEX_NAME, SEQ_IN_INDEX
"""
_INDEX_PARTS = """
SELECT TABLE_NAME, INDEX_NAME, INDEX_TYPE, COLUMN_NAME, SUB_PART, COLLATION FROM information_schema.STATISTICS
 WHERE TABLE_SCHEMA = DATABASE() AND NON_UNIQUE = 1 ORDER BY TABLE_NAME, INDEX_NAME, SEQ_IN_INDEX
"""
_MARIADB_CHECKS = """
SELECT TABLE_NAME, CONSTRAINT_NAME, CHECK_CLAUSE FROM information_schema.CHECK_CONSTRAINTS WHERE CONSTRAINT_SCHEMA = DATABASE()
 ORDER BY TABLE_NAME, CONSTRAINT_NAME
"""
_NOT_ENFORCED = re.compile(r"^ *CONSTRAINT .*/\*!\d+ NOT ENFORCED \*/,?$", re.MULTILINE)
_TYPES = {
    "VIEW": "a view: it follows from the tables that it reads",
    "SEQUENCE": "a sequence: it only counts",
}
_JSON = re.compile(r"\(?json_valid\(`((?:[^`]|``)+)`\)\)?", re.IGNORECASE)

_SCRIPTED = """
SELECT ROUTINE_TYPE, ROUTINE_NAME FROM information_schema.ROUTINES WHERE ROUTINE_SCHEMA = DATABASE()
 UNION ALL SELECT 'VIEW', TABLE_NAME FROM information_schema.VIEWS WHERE TABLE_SCHEMA = DATABASE()
 UNION ALL SELECT 'TRIGGER', TRIGGER_NAME FROM information_schema.TRIGGERS WHERE TRIGGER_SCHEMA = DATABASE()
"""
_DEFINER = re.compile(r"(?<=CREATE ).*?DEFINER ?= ?`(?:[^`]|``)*`@`(?:[^`]|``)*` (?:SQL SECURITY \w+ )?")


def reflect_mysql(connection: Connection, inspector: Inspector, own_kind: KindOf) -> Catalogue:
    """The tables of the connection's database that can be read."""
    words: dict[str, dict[str, str]] = defaultdict(dict)
    collations: dict[str, dict[str, str]] = defaultdict(dict)
    hidden: set[str] = set()
    for name, column, words_of_type, collation, privileges in connection.exec_driver_sql(_COLUMNS):
        words[name][column] = words_of_type + _exactness(words_of_type, collation or "")
        collations[name][column] = collation or ""
        if "select" not in privileges.lower():
            hidden.add(name)
    stored, left_out = [], []
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
            stored.append(StoredTable(name, None, name))
    mariadb = getattr(connection.dialect, "is_mariadb", False)
    checks = _mariadb_checks(connection) if mariadb else _mysql_checks(connection, stored)
    computed = {} if mariadb else _computed_indexes(connection)
    tables = []
    for table in reflect_tables(inspector, stored, own_kind, computed, _special_indexes(connection)):
        uniques = [text for text in computed.get(table.name, {}).values() if text]
        columns = [replace(column, collation=_collation(column, collations[table.name])) for column in table.columns]
        table = replace(table, columns=tuple(columns), unread_checks=(*table.unread_checks, *uniques))
        tables.append(_in_own_words(table, words[table.name], checks.get(table.name, [])))
    left_out += left_out_references(inspector, stored)
    return Catalogue(tables, stored, left_out)


def _collation(column: ReflectedColumn, collations: dict[str, str]) -> str:
    """The rule by which a key is compared, where the server tells one that mare can ask for."""
    if COLLATION.fullmatch(collation := collations.get(column.name, "")):
        return collation
    return EXACT if (column.digits or 0) > _EXACT_DIGITS or column.kind == "time" else ""


def _readable(connection: Connection, name: str) -> bool:
    """Whether all columns can be read: those without rights do not even show in the catalogue. Asks for no row."""
    try:
        connection.execute(sa.select(sa.literal_column("*")).select_from(sa.table(quoted_name(name, True))).limit(0)).close()
    except DBAPIError:
        return False
    return True


def _computed_indexes(connection: Connection) -> dict[str, dict[str, str]]:
    """By table, the indexes on expressions, which only MySQL 8 has; and what they make unique, in words."""
    try:
        rows = connection.exec_driver_sql(_INDEXES).all()
    except DBAPIError:  # a server that knows no expressions there
        return {}
    parts: dict[tuple[str, str], list[str]] = defaultdict(list)
    for table, index, _, part, _ in rows:
        parts[table, index].append(str(part))
    expressions: dict[str, dict[str, str]] = defaultdict(dict)
    for table, index, repeated, _, computed in rows:
        if computed:
            expressions[table][index] = "" if repeated else f"UNIQUE ({', '.join(parts[table, index])})"
    return expressions


def _special_indexes(connection: Connection) -> dict[tuple[str | None, str], list[ReflectedIndex]]:
    """Those with a kind of their own, on the beginnings of texts, or from the greatest to the least."""
    parts: dict[tuple[str, str, str], list[tuple[str, int | None, str | None]]] = defaultdict(list)
    for table, index, kind, *part in connection.exec_driver_sql(_INDEX_PARTS):
        parts[table, index, kind].append((str(part[0] or ""), part[1], part[2]))
    special: dict[tuple[str | None, str], list[ReflectedIndex]] = defaultdict(list)
    for (table, index, kind), columns in parts.items():
        word = kind if kind in ("FULLTEXT", "SPATIAL") else ""
        usual = all(not length and order != "D" for _, length, order in columns)
        if (usual and not word) or not all(name for name, *_ in columns):  # expressions are told by `_computed_indexes`
            continue
        texts = [
            f"`{name}`" + (f"({length})" if length and not word else "") + (" DESC" if order == "D" else "")
            for name, length, order in columns
        ]
        names = tuple(name for name, *_ in columns)
        special[None, table].append(ReflectedIndex(index, f"({', '.join(texts)})", word, names))
    return special


def _mariadb_checks(connection: Connection) -> dict[str, list[Check]]:
    texts: dict[str, list[Check]] = defaultdict(list)
    try:
        rows = connection.exec_driver_sql(_MARIADB_CHECKS).all()
    except DBAPIError:  # servers before MariaDB 10.2 have no checks
        return texts
    for table, name, text in rows:
        # MariaDB writes a quote within a text as \', where everybody else doubles it.
        texts[table].append(Check(re.sub(r"\\(.)", lambda escape: "''" if escape[1] == "'" else escape[0], text), name))
    return texts


def _mysql_checks(connection: Connection, stored: Sequence[StoredTable]) -> dict[str, list[Check]]:
    """As the statement writes them that would make the table: the view of the catalogue mangles what is not ASCII (MySQL 9.7)."""
    texts = {}
    for table in stored:
        # The driver takes a % for a value to come.
        ((_, statement),) = connection.exec_driver_sql(f"SHOW CREATE TABLE `{table.name}`".replace("%", "%%"))
        # A check that is not enforced promises nothing.
        texts[table.name] = named_checks(_NOT_ENFORCED.sub("", statement))
    return texts


def _exactness(words_of_type: str, collation: str) -> str:
    """What a text's type says besides, where `a` and `A` are two. Of such collations, all servers know this one."""
    exact = collation.endswith(("_bin", "_cs")) and re.match(r"(?:var)?char\(|(?:tiny|medium|long)?text$", words_of_type)
    return " collate utf8mb4_bin" if exact else ""


def _in_own_words(table: ReflectedTable, words: dict[str, str], checks: list[Check]) -> ReflectedTable:
    # MariaDB stores JSON as text with this check.
    documents = {match[1].replace("``", "`") for check in checks if (match := _JSON.fullmatch(check.text))}
    columns = tuple(_own_column(column, words[column.name], document=column.name in documents) for column in table.columns)
    return apply_checks(replace(table, columns=columns), [check for check in checks if not _JSON.fullmatch(check.text)])


def _own_column(column: ReflectedColumn, words: str, *, document: bool) -> ReflectedColumn:
    own = replace(column, sql_type=words)
    if words.startswith("set("):  # SQLAlchemy tells the length of a word in its list
        return replace(own, max_length=None)
    if document:
        return replace(own, kind="json")
    if words == "uuid":  # MariaDB's, which SQLAlchemy does not know under MySQL's name
        return replace(own, kind="uuid")
    if words.startswith("bigint") and "unsigned" in words:
        return replace(own, digits=20)  # one more than 64 bits with a sign hold
    if column.kind == "unknown":  # points and shapes: not unknown, only of no kind that mare models
        return replace(own, kind="other")
    if (bits := re.fullmatch(r"bit\((\d+)\)", words)) and 1 < int(bits[1]) < 64:
        return replace(own, kind="integer", min=0, max=2 ** int(bits[1]) - 1)
    return own


def mysql_scripts(connection: Connection) -> tuple[str, ...]:
    """Views, triggers and functions, as SHOW CREATE writes them, without the user who made them: the target knows others. Views
    may read each other, so each is replaced where it is."""
    statements = []
    for kind, name in connection.exec_driver_sql(_SCRIPTED).all():
        row = connection.exec_driver_sql(f"SHOW CREATE {kind} `{str(name).replace('`', '``')}`".replace("%", "%%")).one()
        written = next((str(part) for part in row if str(part).lstrip().startswith("CREATE ")), None)
        if written is None:
            statements.append(f"-- {str(kind).lower()} {name}: this user may not see how it was made")
        else:
            statements.append(f"DELIMITER ;;\n{_DEFINER.sub('', written, count=1)};;\nDELIMITER ;")
    return tuple(statements)
