"""The entity: whose privacy is protected. A table, or a column where no table holds it."""

from __future__ import annotations

from collections.abc import Iterator

from mare.schema.columns import Identifier
from mare.schema.faults import Fault
from mare.schema.layout import Layout
from mare.schema.schema import EntityByColumn

from .wording import listed, no_table, unsettled


def find(layout: Layout) -> Iterator[Fault]:
    schema = layout.schema
    candidates = [name for name, role in layout.roles.items() if role not in ("public", "ignored", "pool")]
    if schema.entity is None:
        remedy = f"Write `entity:` and the table of the people to protect ({listed(candidates)}), or {{table: …, by: column}}"
        yield unsettled(("entity",), "nothing says whom to protect", remedy)
    elif isinstance(schema.entity, EntityByColumn):
        yield from _by_column(layout, schema.entity, candidates)
    elif schema.entity not in schema.tables:
        yield no_table(("entity",), schema.entity, candidates)
    else:
        yield from _table(layout, schema.entity)


def _table(layout: Layout, name: str) -> Iterator[Fault]:
    table, here = layout.schema.tables[name], ("tables", name)
    for field, written in (("public", table.public), ("ignore", table.ignore), ("pool", table.pool is not None)):
        if written:
            remedy = f"Remove `{field}`, or name another table as the entity"
            yield Fault((*here, field), f"{name} is the entity, so it cannot be `{field}`", remedy)
    if table.parent is not None:
        what = f"{name} is the entity, so it has no parent"
        above = table.parent.table or "its parent"
        yield Fault((*here, "parent"), what, f"Remove `parent`, or make {above} the entity if its rows are the people to protect")


def _by_column(layout: Layout, entity: EntityByColumn, candidates: list[str]) -> Iterator[Fault]:
    schema = layout.schema
    if entity.table not in schema.tables:
        yield no_table(("entity", "table"), entity.table, candidates)
        return
    table, role = schema.tables[entity.table], layout.roles[entity.table]
    if role in ("public", "ignored", "pool"):
        what = f"{entity.table} tells the entities apart, so it cannot be {role}"
        yield Fault(("entity", "table"), what, f"Name a table of the entity: {listed(candidates)}")
    if entity.by in table.ignore_columns:
        remedy = f"Remove it from tables.{entity.table}.ignore_columns: without it nobody can be protected"
        yield Fault(("entity", "by"), f"{entity.by} tells the entities apart, but is left out", remedy)
    column = table.columns.get(entity.by)
    if column is not None and not isinstance(column, Identifier):
        what = f"{entity.by} tells the entities apart, so it is no {column.type} to be modelled"
        yield Fault(("tables", entity.table, "columns", entity.by), what, "Remove it from columns: it is made anew")
    if schema.entity_name in schema.tables:
        what = f"the entity is called {schema.entity_name}, which is also a table"
        yield Fault(("entity",), what, "Write `name:` with another name for the entity")
    link = table.parent
    if link is not None and link.table is not None and link.table != schema.entity_name:
        what = f"{entity.table} tells the entities apart, but has the parent {link.table}"
        yield Fault(("tables", entity.table, "parent", "table"), what, "Leave `table` out: its parent is the entity itself")
