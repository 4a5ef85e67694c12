"""MySQL and MariaDB. The snapshot is WITH CONSISTENT SNAPSHOT, READ ONLY; tables that are not InnoDB have none."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import sqlalchemy as sa
from sqlalchemy import Connection, Inspector, text
from sqlalchemy.dialects import mysql
from sqlalchemy.exc import DBAPIError
from sqlalchemy.sql import quoted_name
from sqlalchemy.types import TypeEngine

from mare.errors import SourceError
from mare.ports import Place, Sink
from mare.schema.reflection import Check, LeftOut, ReflectedColumn, ReflectedIndex, ReflectedTable, StorageKind
from mare_adapters import boundary
from mare_adapters.dialects import PATIENCE, Ask, Dialect, Ends
from mare_adapters.sources.catalogue import Catalogue, KindOf, StoredTable, left_out_references, reflect_tables
from mare_adapters.sources.checks import apply_checks
from mare_adapters.sources.sql import named_checks
from mare_adapters.sources.table_source import EXACT, Asked, exact_decimal

from .unmade import unmade

if TYPE_CHECKING:
    from mare_adapters.locations import SqlLocation

_SIZE = "SELECT table_rows FROM information_schema.tables WHERE table_schema = database() AND table_name = :name"
_SERVER = """
SHOW GLOBAL VARIABLES WHERE Variable_name IN ('server_uuid', 'hostname', 'port', 'socket', 'datadir', 'lower_case_table_names')
"""
_TIMESTAMPS = datetime(1970, 1, 1, 0, 0, 1), datetime(2038, 1, 19, 3, 14, 7)
"""In UTC, which is what is written."""
_YEARS = 1901, 2155

_CAUSES = {
    boundary.REFUSED: (1045, 1698, 3118),
    "takes no connection from this machine": (1130,),
    "takes connections with TLS only": (3159,),
    boundary.EXPIRED: (1820, 1862),
    boundary.NO_DATABASE: (1049,),
    boundary.NO_RIGHT: (1044, 1142, 1143, 1227),
    boundary.BUSY: (1040, 1203, 1226),
    boundary.DISK_FULL: (1021, 1114, 3675),
    boundary.READ_ONLY: (1290, 1836),
    boundary.LOCKED: (1205, 1213),
    boundary.LOST: (1053, 1927, 4031, 2006, 2013, 2055),
    boundary.FOREIGN: (1216, 1452),
    boundary.UNIQUE: (1062, 1586),
    boundary.CHECK: (3819, 4025),
    boundary.NULL: (1048, 1364),
    boundary.UNFIT: (1264, 1265, 1292, 1366, 1406, 3140),
    boundary.DEPENDENT: (1451,),
    boundary.NO_COLUMN: (1054,),
    "takes no key of that length: it holds 3072 bytes, four for a letter": (1071,),
    "takes no table without a primary key (sql_require_primary_key), and this one has none": (3750,),
}
"""With the codes that tell them: the server's states are coarser."""
_BY_CODE = {code: cause for cause, codes in _CAUSES.items() for code in codes}


class Mysql(Dialect):
    """MySQL and MariaDB, through PyMySQL."""

    name = "mysql"
    title = "MySQL"
    driver = "mysql+pymysql"
    extra = "mysql"
    words: ClassVar[dict[StorageKind, str]] = {
        "boolean": "BOOLEAN",
        "integer": "BIGINT",
        "number": "DOUBLE",
        "string": "LONGTEXT",
        "date": "DATE",
        "datetime": "DATETIME(6)",
        "time": "TIME(6)",
        "duration": "DECIMAL(20, 6)",  # seconds: TIME ends after 838 hours
        "uuid": "CHAR(36)",
        "binary": "LONGBLOB",
        "json": "JSON",
    }
    whole_number_bytes: ClassVar[dict[str, int]] = {"tinyint": 1, "smallint": 2, "mediumint": 3, "int": 4}

    def sink(self, location: str | Path, *, replace: bool = False) -> Sink:
        from .sink import MysqlSink

        return MysqlSink(location, replace=replace, dialect=self)

    def connect_arguments(self, location: SqlLocation) -> dict[str, str | bytes | int]:
        given: dict[str, str | bytes | int] = {"connect_timeout": PATIENCE, **location.options}
        # The drivers take numbers as numbers.
        given = {name: int(text) if isinstance(text, str) and text.isdecimal() else text for name, text in given.items()}
        if location.driver == self.driver:
            # Before anything is asked: a server may be set to other quotes and escapes than those that SQLAlchemy and we read.
            given.setdefault("sql_mode", "STRICT_ALL_TABLES")
            if location.password is not None:
                given["password"] = location.password.encode()  # the driver would write letters beyond ASCII in Latin-1
        return given

    def begin(self, connection: Connection, location: SqlLocation) -> tuple[str, ...]:
        if not location.database:
            raise SourceError(f"{location.label} names no database. Write it after the last /: mysql://user@host/database.")
        connection.exec_driver_sql("SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        connection.exec_driver_sql("SET SESSION time_zone = '+00:00'")
        connection.exec_driver_sql("START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY")
        return ()

    def reflect(self, connection: Connection, inspector: Inspector, schemas: Sequence[str]) -> Catalogue:
        return reflect_mysql(connection, inspector, self.kind_of)

    def scripts(self, connection: Connection, schemas: Sequence[str]) -> tuple[str, ...]:
        return mysql_scripts(connection)

    def kind_of(self, stored: TypeEngine[object]) -> StorageKind | None:
        if isinstance(stored, mysql.TINYINT) and stored.display_width == 1:
            return "boolean"  # there is no boolean: BOOL is written TINYINT(1)
        if isinstance(stored, mysql.BIT):
            return "boolean" if (stored.length or 1) == 1 else "other"
        if isinstance(stored, mysql.YEAR):
            return "integer"
        return "binary" if isinstance(stored, (mysql.TINYBLOB, mysql.MEDIUMBLOB, mysql.LONGBLOB)) else None

    def ends_of(self, column: ReflectedColumn) -> Ends:
        word = column.sql_type.lower()
        if column.kind == "datetime" and word.startswith("timestamp"):
            return _TIMESTAMPS
        if column.kind == "integer" and re.match(r"year\b", word):
            return _YEARS
        if column.kind == "number" and "unsigned" in word:
            return 0, None
        return super().ends_of(column)

    def key_form(self, asked: Asked) -> str:
        name, collation = f"`{asked.stored.name}`", asked.collation
        if collation == EXACT:
            return exact_decimal(f"CAST({name} AS CHAR)")
        if not COLLATION.fullmatch(collation):
            return super().key_form(asked)
        text = f"CONVERT({name} USING {collation.partition('_')[0]})"
        if not re.search("_0900_|_nopad_", collation):  # all others take no notice of blanks at the end
            text = f"TRIM(TRAILING ' ' FROM {text})"
        return f"HEX(WEIGHT_STRING({text} COLLATE {collation}))"

    def let_go(self, driver_connection: object) -> None:
        """PyMySQL reads the rest of a table before it lets go, and complains from within `__del__` where the connection was
        lost."""
        result = getattr(driver_connection, "_result", None)
        if getattr(driver_connection, "open", True) is False and result is not None:
            result.unbuffered_active = False

    def rows_of(self, connection: Connection, table: StoredTable) -> int | None:
        rows = connection.execute(text(_SIZE), {"name": table.name}).scalar()
        return None if rows is None else int(rows)

    def place(self, ask: Ask, location: SqlLocation, schemas: Sequence[str]) -> Place:
        """A database of a server. MySQL has an identifier of its own; MariaDB has none, but no two servers share a folder."""
        variables = {str(name): str(value) for name, value in ask(_SERVER)}
        ((database,),) = ask("SELECT DATABASE()")
        name = str(database) if variables.get("lower_case_table_names", "0") == "0" else str(database).lower()
        identity = ("server_uuid",) if "server_uuid" in variables else ("hostname", "port", "socket", "datadir")
        return Place(frozenset({("mysql", *map(variables.get, identity), name)}))

    def cause_of(self, error: BaseException) -> str | None:
        origin = boundary.origin_of(error)
        code = origin.args[0] if origin.args else None
        return _BY_CODE.get(code) if isinstance(code, int) else super().cause_of(error)


COLLATION = re.compile(r"[A-Za-z0-9]+_[A-Za-z0-9_]+")
"""The name of one that mare can ask for."""
_EXACT_DIGITS = 38

_TABLES = "SELECT TABLE_NAME, TABLE_TYPE FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE() ORDER BY TABLE_NAME"
_COLUMNS = """
SELECT TABLE_NAME, COLUMN_NAME, COLUMN_TYPE, COLLATION_NAME, PRIVILEGES, COLUMN_DEFAULT
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
_TYPES = {"VIEW": "a view: it follows from the tables that it reads", "SEQUENCE": "a sequence: it only counts"}
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
    defaults: dict[str, dict[str, str]] = defaultdict(dict)
    mariadb = getattr(connection.dialect, "is_mariadb", False)
    for name, column, words_of_type, collation, privileges, default in connection.exec_driver_sql(_COLUMNS):
        # SQLAlchemy loses that of bits, and of what is INVISIBLE; MySQL's catalogue does not tell a text from an expression.
        if default and default != "NULL" and (mariadb or default.startswith("b'")):
            defaults[name][column] = default
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
    checks = _mariadb_checks(connection) if mariadb else _mysql_checks(connection, stored)
    computed = {} if mariadb else _computed_indexes(connection)
    tables = []
    for table in reflect_tables(inspector, stored, own_kind, computed, _special_indexes(connection)):
        uniques = [text for text in computed.get(table.name, {}).values() if text]
        columns = [
            replace(
                column,
                collation=_collation(column, collations[table.name]),
                default=column.default or defaults[table.name].get(column.name),
            )
            for column in table.columns
        ]
        table = replace(table, columns=tuple(columns), unread_checks=(*table.unread_checks, *uniques))
        tables.append(_in_own_words(table, words[table.name], checks.get(table.name, [])))
    lost = unmade(connection, {table.name: _index_names(table, computed.get(table.name, {})) for table in tables})
    tables = [replace(table, unmade=(*table.unmade, *filter(None, [lost.get(table.name)]))) for table in tables]
    left_out += left_out_references(inspector, stored)
    return Catalogue(tables, stored, left_out)


def _index_names(table: ReflectedTable, computed: Mapping[str, str]) -> list[str]:
    """The indexes that are made, or told already: `ReflectedTable.unmade` begins with INDEX and the name."""
    told = [*(text.split()[1] for text in table.unmade), *(name for name, unique in computed.items() if unique)]
    return [*(name for _, name in table.names), *(index.name for index in table.special_indexes), *told]


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
    for table, name, check in rows:
        # MariaDB writes a quote within a text as \', where everybody else doubles it.
        texts[table].append(Check(re.sub(r"\\(.)", lambda escape: "''" if escape[1] == "'" else escape[0], check), name))
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
            own = _DEFINER.sub("", written, count=1).rstrip().rstrip(";")
            statements.append(f"DELIMITER ;;\n{own};;\nDELIMITER ;")
    return tuple(statements)
