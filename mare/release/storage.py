"""The tables that come out, as a sink creates them: the source's own types, the schema's keys and foreign keys.

Types, names, nullability, enums and checks are facts of the catalogue, hence public; they travel in the release so that
sampling needs no source.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from mare.errors import SourceError
from mare.schema import Schema
from mare.schema.columns import AnyColumn, Category, Code, Date, Datetime, Time
from mare.schema.reflection import ReflectedColumn, ReflectedForeignKey, ReflectedTable, Reflection, StorageKind

from .constraints import bound_columns, held_orders, held_uniques
from .filling import Constant, Filling, Fresh, FromAbove, Modelled, Numbered, fillings


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
    bound, unbound = bound_columns(schema, name, filled, stored)
    columns = sorted(bound.items(), key=lambda item: order.index(item[1].name))
    orders, unordered = held_orders(schema, name, source, stored)
    uniques, repeated = held_uniques(schema, name, source, filled, stored)
    return ReflectedTable(
        name=name,
        columns=tuple(
            replace(_plain(column, _nullable(schema, name, logical, column)), kind=_kind(schema, name, logical, column))
            for logical, column in columns
        ),
        key=_names(stored, schema.tables[name].key or ()),
        foreign_keys=_foreign_keys(schema, reflection, name, stored),
        uniques=uniques,
        indexes=tuple(index for index in source.indexes if set(index) <= {c.name for c in stored.values()}),
        orders=orders,
        unread_checks=(*source.unread_checks, *unbound, *unordered, *repeated),
        dialect=source.dialect,
    )


def _plain(column: ReflectedColumn, nullable: bool) -> ReflectedColumn:
    """What a sink needs to create the column, with the values and bounds that are to be checked. Comments stay behind."""
    return replace(column, nullable=nullable, autoincrement=False, generated=False, comment=None)


def _kind(schema: Schema, table: str, name: str, column: ReflectedColumn) -> StorageKind:
    """The source's kind; where it tells none (CSV), the one that the schema's word for the column makes."""
    if column.kind != "unknown":
        return column.kind
    return _kind_of_filling(schema, table, name, fillings(schema, table)[name])


def _kind_of_filling(schema: Schema, table: str, name: str, filling: Filling) -> StorageKind:
    match filling:
        case Modelled():
            return _kind_of_type(schema.tables[table].columns[name])
        case Fresh(generate):
            return "uuid" if generate == "uuid" else "string" if generate == "pattern" else "integer"
        case FromAbove(above, column):
            return _kind_of_filling(schema, above, column, fillings(schema, above)[column])
        case Numbered():
            return "integer"
        case Constant():
            return "string"


_KINDS: dict[str, StorageKind] = {
    "boolean": "boolean",
    "integer": "integer",
    "number": "number",
    "date": "date",
    "datetime": "datetime",
    "time": "time",
    "duration": "duration",
    "position": "integer",
}


def _kind_of_type(described: AnyColumn) -> StorageKind:
    if isinstance(described, (Date, Datetime, Time)) and described.format is not None:
        return "string"
    if isinstance(described, (Category, Code)):
        kinds = {type(value) for value in described.values or ()}
        return "boolean" if kinds == {bool} else "integer" if kinds == {int} else "number" if kinds == {float} else "string"
    if getattr(described, "specials", ()) or getattr(described, "true", None) is not None:
        return "string"  # `"> 89"` among numbers, `Y` for true: as the file had them
    return _KINDS.get(str(getattr(described, "type", "")), "string")


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
