"""Reflection of a SQL source through SQLAlchemy's inspector: columns, keys, checks. Reads the catalogue, never a row.

What is special about one database (which tables to leave out, what its types are called) its dialect knows
(`mare_adapters.dialects`). Each lists what it found and calls `reflect_tables`.
"""

from __future__ import annotations

import re
import warnings
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from types import MappingProxyType

from sqlalchemy import Inspector
from sqlalchemy import types as t
from sqlalchemy.engine.interfaces import ReflectedColumn as SqlColumn
from sqlalchemy.engine.interfaces import ReflectedForeignKeyConstraint, ReflectedPrimaryKeyConstraint, ReflectedUniqueConstraint
from sqlalchemy.engine.interfaces import ReflectedIndex as SqlIndex
from sqlalchemy.exc import SAWarning
from sqlalchemy.types import TypeEngine

from mare.schema.reflection import (
    Counting,
    LeftOut,
    ReflectedColumn,
    ReflectedForeignKey,
    ReflectedIndex,
    ReflectedTable,
    StorageKind,
)
from mare_adapters.engine import quoted

KindOf = Callable[[TypeEngine[object]], StorageKind | None]


@dataclass(frozen=True)
class StoredTable:
    """A table as the database knows it, and the name under which mare speaks of it."""

    name: str
    schema: str | None
    label: str

    @property
    def relation(self) -> str:
        """As a statement calls it, where databases have schemas."""
        return f"{quoted(str(self.schema))}.{quoted(self.name)}"


@dataclass(frozen=True)
class Catalogue:
    """What a database holds: the tables that can be read, where they stand, and what is left out with a word."""

    tables: Sequence[ReflectedTable]
    stored: Sequence[StoredTable]
    """In the order of the tables."""
    left_out: Sequence[LeftOut] = ()

    @property
    def by_label(self) -> dict[str, StoredTable]:
        return {table.label: table for table in self.stored}


def labelled(names: Iterable[tuple[str, str]]) -> list[StoredTable]:
    """(schema, table) pairs under plain names; ``schema.table`` where two schemas hold the same name."""
    pairs = list(names)
    times = Counter(table.casefold() for _, table in pairs)
    return [StoredTable(table, schema, table if times[table.casefold()] == 1 else f"{schema}.{table}") for schema, table in pairs]


def reflect_tables(
    inspector: Inspector,
    stored: Sequence[StoredTable],
    own_kind: KindOf,
    computed: Mapping[str, Collection[str]] = MappingProxyType({}),
    special: Mapping[tuple[str | None, str], Sequence[ReflectedIndex]] = MappingProxyType({}),
) -> list[ReflectedTable]:
    """All these tables, in their order. A foreign key to a table that is not among them is left away.

    ``own_kind`` knows the kinds of the dialect's own types (`Dialect.kind_of`). ``computed`` names, by table, the indexes of
    which SQLAlchemy does not see that they hold expressions. ``special`` holds, by schema and table, what the dialect says of
    indexes that are more than columns in a row.
    """
    labels = {(table.schema, table.name): table.label for table in stored}
    by_schema: dict[str | None, list[str]] = defaultdict(list)
    for table in stored:
        by_schema[table.schema].append(table.name)
    tables: dict[tuple[str | None, str], ReflectedTable] = {}
    for schema, names in by_schema.items():
        columns = inspector.get_multi_columns(schema, filter_names=names)
        keys = inspector.get_multi_pk_constraint(schema, filter_names=names)
        foreign = inspector.get_multi_foreign_keys(schema, filter_names=names)
        uniques = inspector.get_multi_unique_constraints(schema, filter_names=names)
        indexes = inspector.get_multi_indexes(schema, filter_names=names)
        comments = _comments(inspector, schema, names)
        for name in names:
            at = (schema, name)
            key = tuple(keys[at]["constrained_columns"])
            own = tuple(special.get(at, ()))
            odd = {*computed.get(name, ()), *(index.name for index in own)}
            usual = [index for index in indexes.get(at, []) if index["name"] not in odd]
            unique, plain, unkept = _uniques_and_indexes([u for u in uniques.get(at, []) if u["name"] not in odd], usual)
            tables[at] = ReflectedTable(
                name=labels[at],
                columns=tuple(_column(column, key, own_kind) for column in columns[at]),
                key=key,
                foreign_keys=tuple(_foreign_keys(foreign.get(at, []), schema, labels)),
                uniques=unique,
                indexes=plain,
                comment=comments.get(at),
                names=_names(keys[at], uniques.get(at, []), usual),
                special_indexes=own,
                unread_checks=(*unkept, *_unworded(usual)),
                unmade=tuple(_repeated(keys[at], uniques.get(at, []), usual)),
            )
    return [tables[table.schema, table.name] for table in stored]


def without_columns(table: ReflectedTable, hidden: Iterable[str]) -> ReflectedTable:
    """The table without these columns, and without the keys that need them."""
    gone = set(hidden)

    def kept(columns: tuple[str, ...]) -> bool:
        return gone.isdisjoint(columns)

    return replace(
        table,
        columns=tuple(column for column in table.columns if column.name not in gone),
        key=table.key if kept(table.key) else (),
        foreign_keys=tuple(foreign for foreign in table.foreign_keys if kept(foreign.columns)),
        uniques=tuple(filter(kept, table.uniques)),
        indexes=tuple(filter(kept, table.indexes)),
        special_indexes=tuple(index for index in table.special_indexes if kept(index.columns)),
    )


def left_out_references(inspector: Inspector, stored: Sequence[StoredTable]) -> list[LeftOut]:
    """The foreign keys that `reflect_tables` leaves away."""
    held = {(table.schema, table.name) for table in stored}
    words = []
    for table in stored:
        for foreign in inspector.get_foreign_keys(table.name, table.schema):
            target = (foreign["referred_schema"] or table.schema, foreign["referred_table"])
            if target not in held:
                columns = ", ".join(foreign["constrained_columns"])
                words.append(LeftOut(f"{table.label} ({columns})", f"refers to {foreign['referred_table']}, which is left out"))
    return words


@contextmanager
def unknown_types_allowed() -> Iterator[None]:
    """SQLAlchemy warns of types that it does not know. They become `other`, which says the same where people look."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SAWarning)
        yield


def _uniques_and_indexes(
    constraints: Sequence[ReflectedUniqueConstraint], indexes: Sequence[SqlIndex]
) -> tuple[tuple[tuple[str, ...], ...], tuple[tuple[str, ...], ...], tuple[str, ...]]:
    """Uniques, plain indexes, and what is unique in a way that is not kept: in words."""
    uniques = {tuple(constraint["column_names"]) for constraint in constraints}
    plain: set[tuple[str, ...]] = set()
    unkept = {
        _NULLS.format(", ".join(constraint["column_names"]))
        for constraint in constraints
        if _options(constraint, "_nulls_not_distinct")
    }
    for index in indexes:
        columns = tuple(name for name in index["column_names"] if name is not None)
        computed, where = len(columns) != len(index["column_names"]), _options(index, "_where")
        if index["unique"] and (computed or where):
            parts = ", ".join(map(str, index.get("expressions") or columns))
            unkept.add(f"UNIQUE ({parts})" + "".join(f" WHERE {text}" for text in where))
        elif index["unique"] and _options(index, "_nulls_not_distinct"):
            unkept.add(_NULLS.format(", ".join(columns)))
        if index["unique"] and not computed and not where:
            uniques.add(columns)
        elif not is_special(index) or (index["unique"] and not computed):
            plain.add(columns)
    return tuple(sorted(uniques)), tuple(sorted(plain)), tuple(sorted(unkept))


_NULLS = "NULLS NOT DISTINCT of UNIQUE ({})"


def is_special(index: SqlIndex) -> bool:
    """Whether an index is more than columns in a row, each in its usual order: a dialect tells such ones in its own words."""
    # A condition is a clause of SQLAlchemy's, which is neither true nor false.
    options = [o for o, value in index.get("dialect_options", {}).items() if not _is_empty(value) and o not in _USUAL]
    return None in index["column_names"] or bool(index.get("column_sorting")) or bool(options)


def _is_empty(value: object) -> bool:
    return value is None or value is False or (isinstance(value, (list, tuple, dict)) and not value)


_USUAL = frozenset({"postgresql_nulls_not_distinct", "duplicates_constraint"})


def _unworded(indexes: Sequence[SqlIndex]) -> Iterator[str]:
    """Special indexes of which the dialect has no words."""
    for index in indexes:
        if is_special(index) and not index["unique"] and "duplicates_constraint" not in index:  # an EXCLUDE has one of its own
            yield f"INDEX {index['name']}"


def _names(
    key: ReflectedPrimaryKeyConstraint, uniques: Sequence[ReflectedUniqueConstraint], indexes: Sequence[SqlIndex]
) -> tuple[tuple[tuple[str, ...], str], ...]:
    """By columns; a key's name goes before a unique's, a unique's before an index's."""
    plain = [index for index in indexes if not is_special(index)]
    named: dict[tuple[str, ...], str] = {}
    for index in sorted(plain, key=lambda index: (not index["unique"], str(index["name"]))):
        named.setdefault(tuple(map(str, index["column_names"])), str(index["name"] or ""))
    named |= {tuple(unique["column_names"]): str(unique["name"] or "") for unique in uniques}
    named |= {tuple(key["constrained_columns"]): str(key["name"] or "")}
    return tuple(sorted((columns, name) for columns, name in named.items() if name))


def _repeated(
    key: ReflectedPrimaryKeyConstraint, uniques: Sequence[ReflectedUniqueConstraint], indexes: Sequence[SqlIndex]
) -> Iterator[str]:
    """Indexes over the columns of a key or of another index: one is made of each."""
    made = {name for _, name in _names(key, uniques, indexes)}
    for index in indexes:
        if not is_special(index) and str(index["name"]) not in made and "duplicates_constraint" not in index:
            columns = ", ".join(map(str, index["column_names"]))
            yield f"INDEX {index['name']} ({columns}) is not made: a key or another index is over the same columns"


def _options(declared: ReflectedUniqueConstraint | SqlIndex, ending: str) -> list[object]:
    """What an option of the dialect says, where it says something."""
    return [
        value
        for option, value in declared.get("dialect_options", {}).items()
        if option.endswith(ending) and value is not None and value is not False
    ]


def _foreign_keys(
    constraints: Sequence[ReflectedForeignKeyConstraint], schema: str | None, labels: Mapping[tuple[str | None, str], str]
) -> list[ReflectedForeignKey]:
    read = []
    for foreign in constraints:
        label = labels.get((foreign["referred_schema"] or schema, foreign["referred_table"]))
        if label is not None:
            columns, references = tuple(foreign["constrained_columns"]), tuple(foreign["referred_columns"])
            read.append(ReflectedForeignKey(columns, label, references, foreign["name"], actions_of(foreign.get("options", {}))))
    return sorted(read, key=lambda key: (key.columns, key.table))


def actions_of(options: Mapping[str, object]) -> tuple[str, ...]:
    """What a foreign key does beyond the usual, from SQLAlchemy's words for it."""
    words = []
    for option, clause in (("ondelete", "ON DELETE"), ("onupdate", "ON UPDATE")):
        action = str(options.get(option) or "NO ACTION").upper()
        if action != "NO ACTION":
            words.append(f"{clause} {action}")
    if options.get("deferrable"):
        deferred = str(options.get("initially") or "").upper() == "DEFERRED"
        words.append("DEFERRABLE INITIALLY DEFERRED" if deferred else "DEFERRABLE")
    return tuple(words)


def _comments(inspector: Inspector, schema: str | None, names: Sequence[str]) -> dict[tuple[str | None, str], str]:
    try:
        comments = inspector.get_multi_table_comment(schema, filter_names=names)
    except NotImplementedError:  # SQLite has none
        return {}
    return {at: comment["text"] for at, comment in comments.items() if comment["text"]}


def _column(column: SqlColumn, key: Sequence[str], own_kind: KindOf) -> ReflectedColumn:
    stored = column["type"]
    while (under := getattr(stored, "data_type", None)) is not None:  # a domain, and the domains below it
        stored = under
    digits, decimals = _digits_of(stored)
    length = stored.length if isinstance(stored, t.String) and not isinstance(stored, t.Enum) else None
    return ReflectedColumn(
        name=column["name"],
        kind=own_kind(stored) or kind_of(stored),
        sql_type="" if isinstance(stored, t.NullType) else str(stored),
        nullable=column["nullable"] and column["name"] not in key,
        values=tuple(stored.enums) if isinstance(stored, t.Enum) else None,
        min=0 if getattr(stored, "unsigned", False) else None,
        precision=decimals,
        digits=digits,
        max_length=length,  # not an enum's: it is that of a word in its list
        autoincrement=column.get("autoincrement") is True or "identity" in column,
        generated="computed" in column,
        comment=column.get("comment") or None,
        default=column.get("default") if "computed" not in column else None,
        counter=_counter(column),
        expression=str(column["computed"]["sqltext"]) if "computed" in column else "",
        virtual="computed" in column and column["computed"].get("persisted") is False,
    )


def _counter(column: SqlColumn) -> Counting | None:
    if (identity := column.get("identity")) is not None:
        return Counting("always" if identity.get("always") else "by default", step=int(identity.get("increment") or 1))
    return Counting("auto") if column.get("autoincrement") is True else None


def kind_of(stored: TypeEngine[object]) -> StorageKind:
    """The kind of one of SQLAlchemy's generic types, and of what derives from them."""
    if isinstance(stored, t.Numeric) and stored.precision is not None and stored.scale == 0 and not isinstance(stored, t.Float):
        return "integer"
    simple: tuple[tuple[type | tuple[type, ...], StorageKind], ...] = (
        (t.Boolean, "boolean"),
        (t.Integer, "integer"),
        ((t.Numeric, t.Float), "number"),
        (t.Uuid, "uuid"),
        (t.Enum, "string"),
        (t.JSON, "json"),
        (t.DateTime, "datetime"),
        (t.Date, "date"),
        (t.Time, "time"),
        (t.Interval, "duration"),
        ((t.LargeBinary, t.BINARY, t.VARBINARY), "binary"),
        (t.String, "string"),
        (t.NullType, "unknown"),
    )
    return next((kind for known, kind in simple if isinstance(stored, known)), "other")


def _digits_of(stored: TypeEngine[object]) -> tuple[int | None, int | None]:
    """(all digits, decimals) of a numeric type that declares them."""
    if isinstance(stored, t.Numeric) and not isinstance(stored, t.Float) and stored.precision is not None:
        return int(stored.precision), int(stored.scale or 0)
    return None, None


_WORD = re.compile(r"([a-z]+\d*)(?:\(\d+\))?( unsigned)?.*")


def whole_number_ends(sql_type: str, sizes: Mapping[str, int]) -> tuple[int, int] | tuple[None, None]:
    """The least and the greatest number that a type of so many bytes holds; none for a type that is not among them."""
    word = _WORD.fullmatch(sql_type.lower())
    size = sizes.get(word[1]) if word else None
    if word is None or size is None:
        return None, None
    if word[2] or word[1].startswith("u"):
        return 0, 2 ** (8 * size) - 1
    return -(2 ** (8 * size - 1)), 2 ** (8 * size - 1) - 1
