"""Whose privacy is protected, and ownership: every private row belongs to exactly one entity, by one way.

The entity is a table, or a column where no table holds it. The guarantee rests on ownership (privacy.md, trap 8).
"""

from __future__ import annotations

from collections.abc import Iterator

from mare.schema.columns import Identifier
from mare.schema.faults import Fault, listed, no_table, unsettled
from mare.schema.layout import Layout
from mare.schema.schema import EntityByColumn

_OPEN = "no path joins it to the entity"


def find(layout: Layout) -> Iterator[Fault]:
    # Where the entity is not known yet, a table at the top of others is probably it: one question is enough.
    entity_known = layout.schema.entity_name in layout.schema.tables or layout.schema.entity_holder is not None
    for name, role in layout.roles.items():
        if role == "ignored":
            continue
        yield from _one_role(layout, name)
        if role == "private":
            yield from _parent(layout, name)
        if role == "open" and (entity_known or not layout.children(name)):
            yield _open(layout, name)
        yield from _owners(layout, name)
        if role == "pool":
            yield from _pool(layout, name)


def _one_role(layout: Layout, name: str) -> Iterator[Fault]:
    table, here = layout.schema.tables[name], ("tables", name)
    if table.public and table.pool is not None:
        yield Fault((*here, "pool"), f"{name} is public and a pool", "Keep `public` (copied) or `pool` (made up), not both")
    for field, called, written in (("public", "public", table.public), ("pool", "a pool", table.pool is not None)):
        if written and table.parent is not None:
            remedy = f"Remove `parent` if nothing in it is about anybody, otherwise remove `{field}`"
            yield Fault((*here, "parent"), f"{name} is {called}, so its rows belong to nobody", remedy)


def _parent(layout: Layout, name: str) -> Iterator[Fault]:
    link, tables = layout.schema.tables[name].parent, layout.schema.tables
    here = ("tables", name, "parent", "table")
    if link is None:
        return
    if link.table is None:
        if layout.schema.by_column(name) is None:
            yield Fault(
                here,
                f"the parent of {name} names no table",
                f"Write `table:` and one of {listed(_parents(layout, name))}",
            )
        return
    if link.table == layout.schema.entity_name and link.table not in tables:
        return
    if link.table not in tables:
        yield no_table(here, link.table, _parents(layout, name))
        return
    role = layout.roles[link.table]
    if role in ("ignored", "public", "pool"):
        kind = {"ignored": "ignored", "public": "public: it belongs to nobody", "pool": "a pool: it belongs to nobody"}[role]
        remedy = f"Name another parent ({listed(_parents(layout, name))}), or describe {link.table} as a private table"
        if role == "public":
            remedy += "; a link to a public table is a reference: {kind: public}"
        yield Fault(here, f"the parent {link.table} is {kind}", remedy)


def _parents(layout: Layout, name: str) -> list[str]:
    """What may stand as a parent of this table."""
    tables = [t for t, role in layout.roles.items() if role in ("entity", "private", "owned") and t != name]
    return [*tables, layout.schema.entity_name or ""] if layout.schema.entity_holder is not None else tables


def _open(layout: Layout, name: str) -> Fault:
    # Whoever takes the offer copies every row: it is none where things have happened, which is to somebody.
    happens = any(column.type in ("date", "datetime") for column in layout.schema.tables[name].columns.values())
    copied = "" if happens else "or `public: true` if it is a vocabulary about nobody; "
    remedy = (
        f"Write `parent: {{table: …, column: …}}` (one of {listed(_parents(layout, name))}); {copied}"
        "or `pool: {rows: 50}` if it is staff; or let the table that it describes own it (a reference with "
        "`kind: owned`); or `ignore: true`"
    )
    return unsettled(("tables", name), _OPEN, remedy)


def _owners(layout: Layout, name: str) -> Iterator[Fault]:
    """Several references may own rows of one table: each gets rows of its own. Anything else beside them is a second owner."""
    owners, role = layout.owners.get(name, []), layout.roles[name]
    for owner, reference in owners:
        path = ("tables", owner, "references", reference)
        other = {
            "entity": "the entity itself",
            "private": f"a table with a parent ({layout.parent_name(name)})",
            "public": "public",
            "pool": "a pool",
        }.get(role)
        if owner == name:
            yield Fault(path, f"{name} would own its own rows", "Write another `kind`: earlier, pool or broken")
        elif other is not None:
            what = f"{name} has two owners: it is {other}, and this reference owns its rows too"
            yield Fault(path, what, f"Write another `kind` here, or remove what makes {name} {other.split(' (')[0]}")
        elif layout.roles[owner] in ("public", "pool"):
            what = f"{owner} belongs to nobody, so it cannot own rows of {name}"
            yield Fault(path, what, "Let a private table own them, or write another `kind`")


def _pool(layout: Layout, name: str) -> Iterator[Fault]:
    table = layout.schema.tables[name]
    what = f"{name} is a pool of made-up rows: nothing about it is learned"
    for column, described in table.columns.items():
        if getattr(described, "learn", False):
            yield Fault(("tables", name, "columns", column, "learn"), what, "Declare the values or bounds, and remove `learn`")
    for reference, link in table.references.items():
        if getattr(link, "learn", False):
            yield Fault(("tables", name, "references", reference, "learn"), what, "Remove `learn`: its keys are drawn at random")


def find_entity(layout: Layout) -> Iterator[Fault]:
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
