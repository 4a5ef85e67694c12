"""The foreign keys that a source declares, against what the schema says of their columns. Part of `mare check --from`.

A foreign key is the catalogue's own word on whom a row is about. Where the schema says otherwise (a public table, an
ordinary column) what it promises about privacy or about integrity would not hold, so these are errors, not notes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from .columns import Column
from .faults import Fault, Path
from .layout import Layout
from .reflection import ReflectedForeignKey, ReflectedTable, Reflection

_PEOPLE = ("entity", "private", "owned")
"""Roles of tables whose rows belong to somebody."""
_COMPARED = ("integer", "string", "uuid", "date", "datetime", "boolean")
"""Stored kinds that never join with one another; of the others, databases compare some."""


def match_links(layout: Layout, name: str, stored: ReflectedTable, reflection: Reflection) -> Iterator[Fault]:
    """What the foreign keys of one stored table contradict, and the links of the schema that could not be joined."""
    named = {found.name: table for table in layout.schema.tables if (found := reflection.table(table)) is not None}
    for link in stored.foreign_keys:
        target = reflection.table(link.table)
        there = None if target is None else named.get(target.name)
        if there is None:
            continue  # not described: that is told about the table itself
        if layout.roles[name] == "public":
            yield from _public(layout, name, link, there)
        else:
            yield from _modelled(layout, name, link, there)
    yield from _parent_declared(layout, name, stored, reflection)
    yield from _joined(layout, name, stored, reflection)


def _public(layout: Layout, name: str, link: ReflectedForeignKey, target: str) -> Iterator[Fault]:
    """Also where the column is left out: a row that refers to somebody is about somebody."""
    role, columns = layout.roles[target], ", ".join(link.columns)
    if role in _PEOPLE:
        what = f"{name} is public, so it would be copied verbatim, but refers to people: {columns} is a foreign key to {target}"
        remedy = f"Remove `public` and write `parent: {{table: {target}, column: {columns}}}`, or write `ignore: true`"
        yield Fault(("tables", name, "public"), what, remedy)
    elif role == "pool" and not _all_ignored(layout, name, link.columns):
        what = f"{name} is public, so it would be copied verbatim, but {columns} refers to {target}, whose rows are made anew"
        yield Fault(("tables", name, "public"), what, f"List {columns} in ignore_columns, or mark {target} public too")


def _modelled(layout: Layout, name: str, link: ReflectedForeignKey, target: str) -> Iterator[Fault]:
    """A key of somebody's row, read as if it were a value: learned and sampled, it would name real rows."""
    role, table = layout.roles[target], layout.schema.tables[name]
    if role not in (*_PEOPLE, "pool"):
        return
    folded = _folded(link.columns)
    linked = _folded([*layout.foreign_key(name), *layout.via_columns(name)])
    for reference in table.references:
        linked |= _folded(table.reference_columns(reference))
    for column, says in table.columns.items():
        if column.casefold() in folded - linked and _is_modelled(says):
            what = f"{column} is a foreign key to {target}, but is modelled as a {says.type}: keys of rows are never learned"
            written = f"`{column}: {{table: {target}, kind: …}}`"
            remedy = f"Remove it from columns and write a reference: {written}, {_kinds(layout, name, target)}"
            yield Fault(("tables", name, "columns", column), what, remedy)


def _is_modelled(says: Column) -> bool:
    return says.determined is None and says.modelled and says.settled


def _kinds(layout: Layout, name: str, target: str) -> str:
    if layout.roles[target] == "pool":
        return "with kind pool"
    if target in layout.ancestors(name):
        return "with kind ancestor if it names the row above, same_entity or other_entity if it may name another"
    return "with kind other_entity if it may belong to somebody else, same_entity if it never does"


def _all_ignored(layout: Layout, name: str, columns: Sequence[str]) -> bool:
    return _folded(columns) <= _folded(layout.schema.tables[name].ignore_columns)


def _parent_declared(layout: Layout, name: str, stored: ReflectedTable, reflection: Reflection) -> Iterator[Fault]:
    """A parent that the source knows nothing of: worth a word where it declares other foreign keys."""
    parent = layout.parent(name)
    target = reflection.table(parent) if parent is not None and layout.roles[name] == "private" else None
    if target is None or not any(table.foreign_keys for table in reflection):
        return
    columns = _folded(layout.foreign_key(name))
    links = [link for link in stored.foreign_keys if link.table.casefold() == target.name.casefold()]
    if not any(_folded(link.columns) == columns for link in links):
        what = f"the source declares no foreign key from {stored.name} to {target.name}"
        remedy = "Make sure that the columns do refer to it: rows whose parent is missing are dropped (or orphans: entity)"
        yield Fault(("tables", name, "parent"), what, remedy, "info")


def _joined(layout: Layout, name: str, stored: ReflectedTable, reflection: Reflection) -> Iterator[Fault]:
    """Columns that the schema joins: text never equals a number, so every row would be without its parent."""
    tables = layout.schema.tables
    joins: list[tuple[Path, tuple[str, ...], str, tuple[str, ...]]] = []
    link, parent = layout.link(name), layout.parent(name)
    if link is not None and parent in tables:
        there = link.references or tables[parent].key or ()
        joins.append((("tables", name, "parent", "column"), layout.foreign_key(name), parent, there))
    for reference, says in tables[name].references.items():
        if says.table in tables and says.kind != "broken":
            there = says.column or tables[says.table].key or ()
            joins.append(
                (("tables", name, "references", reference), tables[name].reference_columns(reference), says.table, there)
            )
    declared = {(_folded(link.columns), link.table.casefold()) for link in stored.foreign_keys}
    for path, here, other, there in joins:
        target = None if layout.roles[other] == "ignored" else reflection.table(other)
        if target is not None and (_folded(here), target.name.casefold()) in declared:
            continue  # the source itself says that they match
        for mine, theirs in zip(here, there, strict=False):
            left, right = stored.column(mine), None if target is None else target.column(theirs)
            if left is None or right is None or left.kind == right.kind:
                continue
            if left.kind in _COMPARED and right.kind in _COMPARED:
                what = f"{mine} is stored as {left.sql_type or left.kind}, but {other}.{theirs}, which it refers to, as "
                what += right.sql_type or right.kind
                yield Fault(path, what, "Name the columns that do refer to each other, or store both alike: they never match")


def _folded(names: Sequence[str]) -> frozenset[str]:
    return frozenset(name.casefold() for name in names)
