"""How MySQL and MariaDB are told what to create.

A text can only be part of a key where it has a length, so it gets one. Types that only one of the two knows are written there
alone. Their usual collations take `a` for `A`: keys that a source tells apart are told apart here too.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from functools import partial

from mare.schema.reflection import ReflectedColumn, ReflectedForeignKey, ReflectedTable
from mare_adapters.sinks.wording import Wording, changed_types, is_listed, own_type, sized

from . import Mysql

_LONGEST_TEXT = 16_383
"""Characters of four bytes each, in a row of 64 KB: all texts of a declared length share it, those without one do not."""
_SHORT_TEXT = 40
_KEY_TEXT = 255
"""Characters of a text without a length that is part of a key."""
_KEY_ROOM = 767
"""Characters of four bytes each that all parts of a key share: it holds 3072 bytes."""
_UNINDEXED = ("text", "blob", "json", "geometry")
_OF_MARIADB = frozenset({"uuid", "inet4", "inet6", "xmltype"})
_OF_MYSQL = frozenset({"vector", "geomcollection"})
_EXACT = "utf8mb4_bin"
"""The one collation that both know and that tells case and accents apart."""


def _type(column: ReflectedColumn, table: ReflectedTable, *, mariadb: bool) -> str:
    own = own_type(column, table, "mysql") if column.kind != "json" else None
    if column.kind == "other" and not column.nullable:
        own = None  # what is dropped from it becomes an empty text, which few types take
    if own is not None and own.lower().partition("(")[0] in (_OF_MYSQL if mariadb else _OF_MARIADB):
        own = None
    word = own or sized(column, Mysql.words, "DECIMAL", "VARCHAR", _LONGEST_TEXT)
    if column.name not in _keyed(table):
        return Mysql.words["string"] if column.kind == "string" and _has_no_room(column, table) else word
    exact = column.kind == "string" and (table.dialect != "mysql" or word.endswith(_EXACT))
    if any(part in word.lower() for part in _UNINDEXED):
        parts = max(len(columns) for columns in _keys(table) if column.name in columns)
        word = f"{'VARBINARY' if column.kind == 'binary' else 'VARCHAR'}({_share(parts)})"
    return f"{word} COLLATE {_EXACT}" if exact and not word.endswith(_EXACT) else word


def _has_no_room(column: ReflectedColumn, table: ReflectedTable) -> bool:
    """Whether a text's declared length does not fit into a row, in UTF-8; other character sets, and other servers, have more."""
    lengths = [text.max_length or 0 for text in table.columns if text.kind == "string"]
    return (column.max_length or 0) > (_SHORT_TEXT if sum(lengths) > _LONGEST_TEXT - 1000 else _LONGEST_TEXT)


def _keys(table: ReflectedTable) -> list[tuple[str, ...]]:
    """Columns that the server indexes by itself, or is told to, as a whole."""
    return [table.key, *table.uniques, *(key.columns for key in table.foreign_keys)]


def _keyed(table: ReflectedTable) -> set[str]:
    return {name for columns in _keys(table) for name in columns}


def _share(parts: int) -> int:
    """The characters that each of so many texts may take of a key."""
    return min(_KEY_TEXT, _KEY_ROOM // parts)


def _wording(*, mariadb: bool) -> Wording:
    type_of = partial(_type, mariadb=mariadb)
    return Wording(
        quote="`",
        type_of=type_of,
        enumerated=lambda column, table: is_listed(type_of(column, table)),
        escapes_backslash=True,
        null=" NULL",
    )


WORDING = _wording(mariadb=False)
_OF = {False: WORDING, True: _wording(mariadb=True)}


def changed(tables: Iterable[ReflectedTable], *, mariadb: bool) -> tuple[str, ...]:
    """The types that are not the source's own, in words."""
    return changed_types(tables, "mysql", _OF[mariadb].type_of)


def create_table(table: ReflectedTable, name: str, mark: str, *, mariadb: bool) -> str:
    """The table under a name for now, with its keys, indexes and mark; foreign keys come when all tables are filled."""
    wording = _OF[mariadb]
    extra = [*wording.key(table), *map(wording.unique, table.uniques)]
    for columns in table.indexes:
        extra.append(f"INDEX ({', '.join(_indexed(column, len(columns), table, wording) for column in columns)})")
    return f"{wording.create_table(table, name, extra)} ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COMMENT = '{mark}'"


def foreign_key(foreign: ReflectedForeignKey, referred: ReflectedTable, name: str) -> str:
    """A foreign key, as a clause. Its columns stand in the order of the key that it refers to: no other order is taken."""
    order = next(key for key in (referred.key, *referred.uniques) if set(key) == set(foreign.references))
    there = dict(zip(foreign.references, foreign.columns, strict=True))
    return WORDING.foreign_key(replace(foreign, columns=tuple(there[column] for column in order), references=order), name)


def _indexed(name: str, parts: int, table: ReflectedTable, wording: Wording) -> str:
    """A column within an index of so many: of a long text, its beginning."""
    column = table.column(name)
    if column is None:
        return wording.name(name)
    word = wording.type_of(column, table).lower()
    size = re.match(r"(?:var)?char\((\d+)\)", word)
    long = any(part in word for part in _UNINDEXED) or (size is not None and int(size[1]) > _share(parts))
    return f"{wording.name(name)}({_share(parts)})" if long else wording.name(name)
