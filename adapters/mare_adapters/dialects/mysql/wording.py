"""How MySQL and MariaDB are told what to create.

A text can only be part of a key where it has a length, so it gets one. Types that only one of the two knows are written there
alone. Their usual collations take `a` for `A`: keys that a source tells apart are told apart here too.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial

from mare.schema.reflection import ReflectedColumn, ReflectedForeignKey, ReflectedTable
from mare_adapters.sinks.target import marked
from mare_adapters.sinks.wording import Wording, changed_types, is_constant, is_listed, own_type, sized

from . import Mysql

_LONGEST_TEXT = 16_383
"""Characters of four bytes each, in a row of 64 KB: all texts of a declared length share it, those without one do not."""
_SHORT_TEXT = 40
_KEY_TEXT = 255
"""Characters of a text without a length that is part of a key."""
_KEY_ROOM = 767
"""Characters of four bytes each that all parts of a key share: it holds 3072 bytes."""
_COMMENT = 1900
"""Characters of a table's comment, which holds 2048 with its mark."""
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
    if not any(column.name in columns for columns in _keys(table)):
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
        counts=counts,
        default=partial(_default, mariadb=mariadb),
        remark=lambda column: f" COMMENT {WORDING.constant(column.comment[:1024])}" if column.comment else "",
    )


def counts(column: ReflectedColumn, table: ReflectedTable) -> str:
    """One column of a table counts, and only where a key or an index begins with it."""
    able = column.counter is not None and column.kind == "integer"
    first = [other.name for other in table.columns if other.counter is not None and other.kind == "integer"][:1] == [column.name]
    keys = (table.key, *table.uniques, *table.indexes)
    return " AUTO_INCREMENT" if able and first and any(key[:1] == (column.name,) for key in keys) else ""


def _default(column: ReflectedColumn, table: ReflectedTable, *, mariadb: bool) -> str:
    text, word = column.default or "", _type(column, table, mariadb=mariadb).lower()
    if text == "CURRENT_TIMESTAMP" and (size := re.search(r"\((\d)\)", word)):
        return f"CURRENT_TIMESTAMP({size[1]})"
    plain = is_constant(text) and not any(part in word for part in _UNINDEXED)
    return (
        text if not text or plain or text.startswith("(") or re.match(r"current_timestamp", text, re.IGNORECASE) else f"({text})"
    )


WORDING = _wording(mariadb=False)
_OF = {False: WORDING, True: _wording(mariadb=True)}


def changed(tables: Iterable[ReflectedTable], *, mariadb: bool) -> tuple[str, ...]:
    """The types that are not the source's own, in words."""
    return changed_types(tables, "mysql", _OF[mariadb].type_of)


def without_lost_indexes(tables: Iterable[ReflectedTable], *, mariadb: bool) -> tuple[tuple[ReflectedTable, ...], list[str]]:
    """The tables without indexes of a kind that their columns' types do not have any more; these, in words."""
    made, notes = [], []
    for table in tables:
        lost = {column.name for column in table.columns if _bare(_type(column, table, mariadb=mariadb)) != _bare(column.sql_type)}
        gone = [index for index in table.special_indexes if lost & set(index.columns)]
        notes += [
            f"{table.name}: INDEX {index.name} {index.definition} was left out: its columns are of another type" for index in gone
        ]
        made.append(replace(table, special_indexes=tuple(index for index in table.special_indexes if index not in gone)))
    return tuple(made), notes


def _bare(word: str) -> str:
    return word.lower().partition(" collate ")[0]


def create_table(table: ReflectedTable, name: str, mark: str, free: Callable[[str], bool], *, mariadb: bool) -> str:
    """The table under a name for now, with its keys, indexes and mark; foreign keys come when all tables are filled."""
    wording = replace(_OF[mariadb], free=free)
    table = replace(table, columns=tuple(_unchecked(column, table, wording) for column in table.columns))
    extra = [*wording.key(table), *(wording.unique(table, columns) for columns in table.uniques)]
    for columns in table.indexes:
        named = f"{wording.name(table.name_of(columns))} " if table.name_of(columns) else ""
        extra.append(f"INDEX {named}({', '.join(_indexed(column, len(columns), table, wording) for column in columns)})")
    for index in table.special_indexes:
        extra.append(f"{index.kind} INDEX {wording.name(index.name)} {index.definition}".strip())
    comment = wording.constant(marked((table.comment or "")[:_COMMENT], mark))
    return f"{wording.create_table(table, name, extra)} ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COMMENT = {comment}"


def _unchecked(column: ReflectedColumn, table: ReflectedTable, wording: Wording) -> ReflectedColumn:
    """Without what the type says already, and on what counts by itself the servers take no check."""
    if wording.counts(column, table):
        return replace(column, values=None, min=None, max=None)
    if column.sql_type.startswith("bit("):
        return replace(column, min=None, max=None)
    return replace(column, min=None) if column.min == 0 and "unsigned" in wording.type_of(column, table).lower() else column


def foreign_key(foreign: ReflectedForeignKey, referred: ReflectedTable, name: str, free: Callable[[str], bool]) -> str:
    """A foreign key, as a clause. Its columns stand in the order of the key that it refers to: no other order is taken."""
    wording = replace(WORDING, free=free)
    order = next(key for key in (referred.key, *referred.uniques) if set(key) == set(foreign.references))
    there = dict(zip(foreign.references, foreign.columns, strict=True))
    return wording.foreign_key(replace(foreign, columns=tuple(there[column] for column in order), references=order), name)


def _indexed(name: str, parts: int, table: ReflectedTable, wording: Wording) -> str:
    """A column within an index of so many: of a long text, its beginning."""
    column = table.column(name)
    if column is None:
        return wording.name(name)
    word = wording.type_of(column, table).lower()
    size = re.match(r"(?:var)?char\((\d+)\)", word)
    long = any(part in word for part in _UNINDEXED) or (size is not None and int(size[1]) > _share(parts))
    return f"{wording.name(name)}({_share(parts)})" if long else wording.name(name)
