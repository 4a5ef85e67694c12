"""Names: one thing has one name, and no two differ in case alone (databases would not tell them apart). What is generated before
what: some table has to be made first, so a cycle is refused by name, with the references that could break it; and a table `sees`
only the context of an earlier sibling. Keys: every one is unique by construction, or it is refused here rather than by the
database at the end.

Ownership: every private row belongs to exactly one entity, by one way; the guarantee rests on it (privacy.md, trap 8). The entity
is a table, or a column where no table holds it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise
from math import prod
from typing import TypeVar

from mare.schema.columns import Column, Identifier, Ordinal, Position, Text
from mare.schema.columns.column import repeated
from mare.schema.determined import PREVIOUS_ROW
from mare.schema.faults import Fault, Path, listed, no_column, no_table, unsettled
from mare.schema.layout import Layout
from mare.schema.schema import EntityByColumn

_OPEN = "no path joins it to the entity"


def find_owners(layout: Layout) -> Iterator[Fault]:
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


Node = TypeVar("Node", str, tuple[str, str])


def find_names(layout: Layout) -> Iterator[Fault]:
    tables = layout.schema.tables
    if not tables:
        yield Fault(("tables",), "there are no tables", "Describe at least the table of the entity", "unsettled")
    yield from _alike(("tables",), tables, "table")
    for name, table in tables.items():
        here: Path = ("tables", name)
        if layout.roles[name] == "ignored":
            continue
        yield from _alike((*here, "columns"), table.columns, "column")
        yield from repeated(table.ignore_columns, here, "ignore_columns")
        may_be_missing = [r for r, link in table.references.items() if link.kind in ("owned", "pool") and link.nullable]
        may_be_missing += [c for c, column in table.columns.items() if column.type == "identifier" and column.nullable]
        for reference in may_be_missing:
            made = f"exists({reference})"
            if made in table.columns:
                what = f"{made} is what the model of {name} calls whether there is a {reference}, so no column can be called that"
                yield Fault((*here, "columns", made), what, "Call the column otherwise in a view, or list it in ignore_columns")
        used = {
            **dict.fromkeys(table.columns, "columns"),
            **{c: f"references.{r}" for r in table.references for c in table.reference_columns(r)},
            **dict.fromkeys(table.key or (), "key"),
            **dict.fromkeys(layout.schema.parent_columns(name), "parent.column"),
            **dict.fromkeys(layout.via_columns(name), "parent.column_via"),
        }
        for i, column in enumerate(table.ignore_columns):
            if column in used:
                remedy = f"Remove it from ignore_columns, or from {used[column]}"
                yield Fault((*here, "ignore_columns", i), f"{column} is left out here and used in {used[column]}", remedy)


def _alike(path: Path, names: Iterable[str], what: str) -> Iterator[Fault]:
    seen: dict[str, str] = {}
    for name in names:
        if not name.strip():
            yield Fault((*path, name), f"a {what} has an empty name", "Write its name")
        first = seen.setdefault(name.casefold(), name)
        if first != name:
            remedy = "Keep one of them: names are matched without regard to case"
            yield Fault((*path, name), f"the {what}s {first} and {name} differ in case alone", remedy)


@dataclass(frozen=True)
class _Before:
    """``first`` has to be made before ``then``, because of what stands at ``path``."""

    first: str
    then: str
    path: Path
    breakable: bool


def find_cycles(layout: Layout) -> Iterator[Fault]:
    edges = list(_edges(layout))
    names = dict.fromkeys([*layout.schema.tables, *(e.then for e in edges)])
    while loop := circle_in({name: [e.first for e in edges if e.then == name] for name in names}):
        inside = [e for a, b in pairwise(loop) for e in edges if (e.first, e.then) == (a, b)]
        breakable = [".".join(map(str, e.path)) for e in inside if e.breakable]
        remedy = "Only parents make this cycle: one of these tables has another parent, or none"
        if any(e.path[2] == "sees" for e in inside):
            remedy = "Remove one of the `sees` in it"
        if breakable:
            remedy = f"Write `kind: broken`, `nullable: true` for one of them (it will be NULL): {', '.join(breakable)}"
        yield Fault(inside[0].path, f"a cycle: {' → '.join(loop)}; none of them can be made first", remedy)
        edges = [e for e in edges if e not in inside]


def _edges(layout: Layout) -> Iterator[_Before]:
    for name, table in layout.described:
        above = layout.parent_name(name)
        if above is not None:
            yield _Before(above, name, ("tables", name, "parent"), False)
        for sibling in table.sees:
            yield _Before(sibling, name, ("tables", name, "sees"), False)
        for reference, link in table.references.items():
            path: Path = ("tables", name, "references", reference)
            if link.kind in ("same_entity", "pool") and link.table != name:
                yield _Before(link.table, name, path, True)
            elif link.kind == "owned" and link.table != name:
                # The owner goes first: its row of one's own is made with it.
                yield _Before(name, link.table, path, True)


def circle_in(graph: Mapping[Node, Collection[Node]]) -> list[Node]:
    """Nodes that need each other, from one of them back to it; none where there is an order."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def find_sees(layout: Layout) -> Iterator[Fault]:
    for name, table in layout.described:
        parent = layout.parent_name(name)
        siblings = [t for t in layout.schema.tables if t != name and parent is not None and layout.parent_name(t) == parent]
        for i, seen in enumerate(table.sees):
            path = ("tables", name, "sees", i)
            if seen not in layout.schema.tables:
                yield no_table(path, seen, siblings, "siblings")
            elif seen == name:
                yield Fault(
                    path, f"{name} would look at itself", f"Name a sibling: {listed(siblings)}" if siblings else "Remove it"
                )
            elif seen in layout.ancestors(name):
                yield Fault(path, f"{seen} is above {name}, which looks at it anyway", "Remove it")
            elif seen not in siblings:
                what = f"{seen} is not a sibling of {name}: they do not have the same parent"
                yield Fault(path, what, f"Name one of {listed(siblings)}" if siblings else "Remove it: there are no siblings")
            elif table.sees.index(seen) != i:
                yield Fault(path, f"{seen} is listed twice", "Keep one of them")


_WAYS = (
    "Add an identifier, a position within the parent, or a strictly increasing time (`after: previous.…`, `strict: true`) "
    "together with the foreign key; or leave the key out"
)


def find_keys(layout: Layout) -> Iterator[Fault]:
    for name, table in layout.described:
        here: Path = ("tables", name, "key")
        if table.key is not None:
            yield from _columns(layout, name, table.key, here)
            why = _not_unique(layout, name, table.key)
            if why is not None:
                yield Fault(here, f"nothing makes the key {listed(table.key)} unique: {why}", _WAYS)
        for i, columns in enumerate(table.unique):
            path: Path = ("tables", name, "unique", i)
            known = layout.columns(name)
            missing = [c for c in columns if c not in known]
            yield from (no_column(path, column, name, known) for column in missing)
            why = None if missing else _not_unique(layout, name, columns)
            if why is not None:
                yield unsettled(
                    path, f"nothing makes {listed(columns)} unique: {why}", _WAYS.replace("leave the key out", "remove it here")
                )


def _columns(layout: Layout, name: str, key: tuple[str, ...], here: Path) -> Iterator[Fault]:
    if not key:
        yield Fault(here, "the key is empty", "Name its columns, or leave `key` out")
    if len(set(key)) != len(key):
        yield Fault(here, f"a column occurs twice in {listed(key)}", "Name each once")
    for column in key:
        described = layout.columns(name).get(column)
        reference = layout.reference_of(name, column)
        holder = described if described is not None else reference
        if holder is not None and holder.nullable:
            yield Fault(here, f"{column} is part of the key, so it is never NULL", "Remove `nullable: true` from it")
        if described is not None and not described.kept and not _is_made_anew(described):
            what = f"{column} is free text, which is not kept, so it cannot be part of the key"
            yield Fault(here, what, "Describe it as an identifier (`generate: pattern` keeps its form)")


def _not_unique(layout: Layout, name: str, columns: tuple[str, ...]) -> str | None:
    """Why these columns may repeat; None when they cannot, or when it cannot be told yet."""
    key, foreign = set(columns), set(layout.schema.parent_columns(name))
    known = layout.columns(name)
    if any(described is not None and not described.settled for described in map(known.get, columns)) or not columns:
        return None
    if any(_is_identifier(layout, name, c, known.get(c)) for c in columns):
        return None
    within_parent = bool(foreign) and (foreign <= key or _names_parent(layout, name, key))
    rest = [c for c in columns if c not in foreign]
    if within_parent and (layout.row_cap(name) in (None, 1) or not rest):
        return None
    if within_parent and any(counts_up(c, known.get(c), key) for c in rest):
        return None
    link = layout.schema.parent(name)
    via = set(layout.via_columns(name))
    if within_parent and link is not None and via and via <= key and link.multiplicity == 1:
        return None
    if not within_parent:
        return "it does not hold the foreign key to the parent" if foreign else "all of its columns are modelled"
    return _too_few(layout, name, rest, known)


def _names_parent(layout: Layout, name: str, key: Collection[str]) -> bool:
    """Whether a part of the foreign key is in the key that says which parent it is: the foreign key may say more."""
    link = layout.schema.parent(name)
    if link is None or link.table not in layout.schema.tables or link.column is None:
        return False
    there = link.references or layout.schema.tables[link.table].key or ()
    return layout.is_unique(link.table, [other for column, other in zip(link.column, there, strict=False) if column in key])


def _is_identifier(layout: Layout, name: str, column: str, described: Column | None) -> bool:
    """Made anew for every row: an identifier, a key column that is nothing else, or the key of a row of one's own."""
    if described is not None:
        return _is_made_anew(described) and column not in layout.schema.parent_columns(name)
    reference = layout.reference_of(name, column)
    if reference is not None:
        return reference.kind == "owned"
    return column not in layout.schema.parent_columns(name) and column not in layout.via_columns(name)


def _is_made_anew(described: Column) -> bool:
    return (isinstance(described, Identifier) and not described.runs) or (isinstance(described, Text) and described.is_unique)


def counts_up(column: str, described: Column | None, key: Collection[str]) -> bool:
    """Whether a column of a key differs from row to row by construction: a position within it, or a strictly later value."""
    if isinstance(described, Position):
        return set(described.within or ()) <= set(key)
    if isinstance(described, Ordinal) and described.strict:
        return any(a.scope == PREVIOUS_ROW and a.column == column for f, a in described.anchors.items() if f != "before")
    return False


def _too_few(layout: Layout, name: str, rest: list[str], known: dict[str, Column | None]) -> str | None:
    """Modelled parts are drawn again within the parent until they differ: their domain has to hold that many rows."""
    cap, via = layout.row_cap(name), layout.via_columns(name)
    # What is not described is a reference that is modelled.
    drawn = [c for c in rest if c not in via and ((described := known.get(c)) is None or described.is_drawn)]
    if not drawn:
        return f"{listed(rest)} may repeat within the parent, and no part of it can be drawn again"
    sizes = [None if described is None else described.distinct_values for described in map(known.get, drawn)]
    if cap is None or any(size is None for size in sizes):
        return None
    values = prod(size for size in sizes if size is not None)
    return f"{listed(drawn)} has {values} values, but a parent row may have {cap} rows" if values < cap else None
