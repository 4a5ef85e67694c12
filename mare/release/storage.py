"""The tables that come out, as a sink creates them: the source's own types, the schema's keys and foreign keys.

Types, names and nullability are facts of the catalogue, hence public; they travel in the release so that sampling
needs no source.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from mare.errors import SourceError
from mare.schema import Schema
from mare.schema.reflection import ReflectedColumn, ReflectedForeignKey, ReflectedTable, Reflection

from .filling import FromAbove, fillings


def output_tables(schema: Schema, reflection: Reflection, tables: Iterable[str]) -> tuple[ReflectedTable, ...]:
    """What to create, parents before children. Column order is the source's; the schema says which columns there are."""
    return tuple(_output(schema, reflection, name) for name in tables)


def _found(reflection: Reflection, name: str) -> ReflectedTable:
    table = reflection.table(name)
    if table is None:
        held = ", ".join(t.name for t in reflection) or "none"
        raise SourceError(f"{reflection.label} has no table {name!r}. It has: {held}.")
    return table


def _output(schema: Schema, reflection: Reflection, name: str) -> ReflectedTable:
    source = _found(reflection, name)
    filled = fillings(schema, name)
    stored: dict[str, ReflectedColumn] = {}
    missing = []
    for column in filled:
        found = source.column(column)
        if found is None:
            missing.append(column)
        else:
            stored[column] = found
    if missing:
        held = ", ".join(c.name for c in source.columns)
        raise SourceError(f"table {name!r} has no column {', '.join(missing)}. It has: {held}.")
    order = [c.name for c in source.columns]
    columns = sorted(stored.items(), key=lambda item: order.index(item[1].name))
    return ReflectedTable(
        name=name,
        columns=tuple(_plain(column, _nullable(schema, name, logical, column)) for logical, column in columns),
        key=_names(stored, schema.tables[name].key or ()),
        foreign_keys=_foreign_keys(schema, reflection, name, stored),
        indexes=tuple(index for index in source.indexes if set(index) <= {c.name for c in stored.values()}),
    )


def _plain(column: ReflectedColumn, nullable: bool) -> ReflectedColumn:
    """What a sink needs to create the column. Enums, checks and comments stay behind: they are not created anew."""
    return ReflectedColumn(
        column.name, column.kind, column.sql_type, nullable, precision=column.precision, max_length=column.max_length
    )


def _nullable(schema: Schema, table: str, name: str, column: ReflectedColumn) -> bool:
    described = schema.tables[table].columns.get(name)
    return column.nullable or (described is not None and described.nullable)


def _names(stored: dict[str, ReflectedColumn], names: Sequence[str]) -> tuple[str, ...]:
    return tuple(stored[name].name for name in names)


def _foreign_keys(
    schema: Schema, reflection: Reflection, table: str, stored: dict[str, ReflectedColumn]
) -> tuple[ReflectedForeignKey, ...]:
    """The parent and ancestors, also where the source declares no foreign key: ours hold by construction."""
    by_table: dict[str, list[tuple[str, str]]] = {}
    for column, filling in fillings(schema, table).items():
        if isinstance(filling, FromAbove) and filling.column in (schema.tables[filling.table].key or ()):
            referred = _found(reflection, filling.table).column(filling.column)
            name = referred.name if referred is not None else filling.column
            by_table.setdefault(filling.table, []).append((stored[column].name, name))
    return tuple(
        ReflectedForeignKey(tuple(c for c, _ in pairs), other, tuple(r for _, r in pairs)) for other, pairs in by_table.items()
    )
