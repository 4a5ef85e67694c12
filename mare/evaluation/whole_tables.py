"""Which tables and columns a side is read with: all that the schema describes but free text, every key, every reference.

More than a fit reads (`mare.stage.needs`): what is worked out, made anew or left NULL is compared and checked too.
"""

from __future__ import annotations

from dataclasses import replace

from mare.schema import Schema
from mare.stage.needs import Link, TableNeeds, needs


def whole_tables(schema: Schema) -> tuple[TableNeeds, ...]:
    """What is read of each table. Free text is made up, so there is nothing to compare; pools give their keys alone."""
    known = list(needs(schema, ()))
    keys = {table.name: list(table.key) for table in known}
    for name, pool in schema.tables.items():
        if pool.pool is not None and not pool.ignore:
            keys[name] = list(pool.key or ())
            known.append(TableNeeds(name, None, (), (), (), (), {}))
    whole = []
    for table in known:
        if table.held_by is None:
            described = schema.tables[table.name]
            for columns in (described.key or (), *described.unique):
                keys[table.name] += [column for column in columns if column not in keys[table.name]]
            if described.pool is None:
                links = (*table.links, *_further_links(schema, table, keys))
                values = tuple(name for name, column in described.columns.items() if column.kept)
                table = replace(table, values=values, links=(*links, *_via(schema, table)))
        whole.append(table)
    return tuple(replace(table, key=tuple(keys[table.name])) for table in whole)


def _further_links(schema: Schema, table: TableNeeds, keys: dict[str, list[str]]) -> list[Link]:
    """References that a fit need not look for: to ancestors, to other entities, to pools."""
    found = {link.name for link in table.links}
    links = []
    for name, declared in schema.tables[table.name].references.items():
        there = declared.column or (schema.table(declared.table).key if declared.table in keys else None)
        if name in found or declared.kind == "broken" or not there or declared.table not in keys:
            continue
        keys[declared.table] += [column for column in there if column not in keys[declared.table]]
        places = tuple(keys[declared.table].index(column) for column in there)
        links.append(Link(name, "same_entity", declared.table, schema.tables[table.name].reference_columns(name), places))
    return links


def _via(schema: Schema, table: TableNeeds) -> list[Link]:
    """The public side of an association, as a reference like any other."""
    link = schema.parent(table.name)
    if not table.via or link is None or link.via is None:
        return []
    return [Link("via", "public", link.via, table.via)]
