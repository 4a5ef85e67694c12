"""How MySQL and MariaDB are told what to create. A text can only be part of a key where it has a length, so it gets one."""

from __future__ import annotations

from mare.schema.reflection import ReflectedColumn, ReflectedTable

from .types import MYSQL, is_listed, own_type, sized
from .wording import Wording

_LONGEST_TEXT = 16_383
"""Characters of four bytes each, in a row of 64 KB."""
_KEY_TEXT = 255
"""Characters that fit into a key with room to spare."""
_UNINDEXED = ("text", "blob", "json", "geometry")


def _type(column: ReflectedColumn, table: ReflectedTable) -> str:
    own = own_type(column, table, "mysql") if column.kind != "json" else None
    if column.kind == "other" and not column.nullable:
        own = None  # what is dropped from it becomes an empty text, which few types take
    word = own or sized(column, MYSQL, "DECIMAL", "VARCHAR", _LONGEST_TEXT)
    if column.name in _keyed(table) and any(part in word.lower() for part in _UNINDEXED):
        return f"VARBINARY({_KEY_TEXT})" if column.kind == "binary" else f"VARCHAR({_KEY_TEXT})"
    return word


def _keyed(table: ReflectedTable) -> set[str]:
    """Columns that the server indexes by itself, or is told to."""
    foreign = [key.columns for key in table.foreign_keys]
    return {name for columns in (table.key, *table.uniques, *foreign) for name in columns}


WORDING = Wording(
    quote="`",
    type_of=_type,
    enumerated=lambda column, table: is_listed(_type(column, table)),
    escapes_backslash=True,
    null=" NULL",
)


def create_table(table: ReflectedTable, name: str) -> str:
    """The table under a name for now, with its keys and indexes; foreign keys come when all tables are filled."""
    extra = [*WORDING.key(table), *map(WORDING.unique, table.uniques)]
    extra += [f"INDEX ({', '.join(_indexed(column, table) for column in columns)})" for columns in table.indexes]
    return f"{WORDING.create_table(table, name, extra)} ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4"


def _indexed(name: str, table: ReflectedTable) -> str:
    """A column within an index: of a long text, its beginning."""
    column = table.column(name)
    if column is None:
        return WORDING.name(name)
    word = _type(column, table).lower()
    long = any(part in word for part in _UNINDEXED) or ((column.max_length or 0) > _KEY_TEXT and "char" in word)
    return f"{WORDING.name(name)}({_KEY_TEXT})" if long else WORDING.name(name)
