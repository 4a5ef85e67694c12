"""MySQL and MariaDB. The snapshot is WITH CONSISTENT SNAPSHOT, READ ONLY; tables that are not InnoDB have none."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from sqlalchemy import Connection, Inspector, text
from sqlalchemy.dialects import mysql
from sqlalchemy.types import TypeEngine

from mare.errors import SourceError
from mare.ports import Place, Sink
from mare.schema.reflection import ReflectedColumn, StorageKind
from mare_adapters import boundary
from mare_adapters.dialects import PATIENCE, Ask, Dialect, Ends
from mare_adapters.sources.catalogue import Catalogue, StoredTable
from mare_adapters.sources.table_source import EXACT, Asked, exact_decimal

from .catalogue import COLLATION, mysql_scripts, reflect_mysql

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
