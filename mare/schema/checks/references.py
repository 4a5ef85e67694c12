"""References beyond the parent: each kind fits the table it points to, and nothing that must not be NULL can come out NULL."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from mare.schema.columns import Identifier
from mare.schema.faults import Fault, Path
from mare.schema.layout import Layout
from mare.schema.references import EarlierReference, OtherEntityReference, Reference, SameEntityReference

from .wording import listed, no_column, no_table, not_unique


def find(layout: Layout) -> Iterator[Fault]:
    for name, role in layout.roles.items():
        if role == "ignored":
            continue
        for reference, says in layout.schema.tables[name].references.items():
            path: Path = ("tables", name, "references", reference)
            if says.table not in layout.schema.tables and says.table != layout.schema.entity_name:
                yield no_table((*path, "table"), says.table, layout.schema.tables)
                continue
            yield from _target(layout, name, says, path)
            yield from _columns(layout, name, reference, path)
            yield from _KINDS.get(says.kind, _any)(layout, name, says, path)


def _target(layout: Layout, name: str, says: Reference, path: Path) -> Iterator[Fault]:
    role = layout.roles.get(says.table)
    if role == "ignored" and says.kind != "broken":
        remedy = "Leave the column out too (ignore_columns), or write `kind: broken`, `nullable: true` to keep it NULL"
        yield Fault((*path, "table"), f"{says.table} is ignored, so there is nothing to refer to", remedy)
    if layout.roles[name] == "public" and role not in ("public", "ignored"):
        what = f"{name} is public, but refers to {says.table}, which is not"
        yield Fault((*path, "table"), what, f"Mark {says.table} public too, or do not mark {name} public")


def _columns(layout: Layout, name: str, reference: str, path: Path) -> Iterator[Fault]:
    table, says = layout.schema.tables[name], layout.schema.tables[name].references[reference]
    columns = table.reference_columns(reference)
    for column in columns:
        described = table.columns.get(column)
        if described is not None and not isinstance(described, Identifier):
            what = f"{column} is a reference to {says.table}, so it is no {described.type} of its own"
            yield Fault(("tables", name, "columns", column), what, f"Remove it from columns, or remove the reference {reference}")
    if set(columns) <= set(layout.foreign_key(name)) and layout.link(name) is not None:
        what = f"{listed(columns)} already refers to the parent"
        yield Fault(path, what, "Remove this reference: the foreign key to the parent is filled in by itself")
    for other in table.references:
        if other < reference and set(table.reference_columns(other)) == set(columns):
            what = f"{listed(columns)} is written as two references, {other} and {reference}"
            yield Fault(path, what, "Keep the one that is true")
    target = layout.schema.tables.get(says.table)
    there = says.column or (target.key if target is not None else None)
    if there is not None and len(there) != len(columns):
        what = f"{len(columns)} columns refer to {len(there)} of {says.table} ({listed(there)})"
        yield Fault(path, what, "Write `columns:` here and `column:` for the ones there, as many of each")
    if target is not None and says.column is not None and layout.roles[says.table] not in ("public", "ignored"):
        known = layout.columns(says.table)
        yield from (no_column((*path, "column"), c, says.table, known) for c in says.column if c not in known)
    if target is not None and says.column is not None and says.kind != "broken":
        yield from not_unique(layout, says.table, says.column, (*path, "column"))


def _any(layout: Layout, name: str, says: Reference, path: Path) -> Iterator[Fault]:
    return iter(())


def _ancestor(layout: Layout, name: str, says: Reference, path: Path) -> Iterator[Fault]:
    above = layout.ancestors(name)
    broken = any(t not in layout.schema.tables and t != layout.schema.entity_name for t in above)
    if says.table not in above and not broken:
        remedy = f"Name one of {listed(above)}, or write `kind: same_entity` if {says.table} belongs to the same entity"
        yield Fault((*path, "table"), f"{says.table} is not above {name}", remedy)


def _public(layout: Layout, name: str, says: Reference, path: Path) -> Iterator[Fault]:
    if layout.roles.get(says.table) not in ("public", "ignored"):
        publics = [t for t, role in layout.roles.items() if role == "public"]
        remedy = (
            f"Mark it `public: true` if it holds nothing about anybody, name one of {listed(publics)}, or write another `kind`"
        )
        yield Fault((*path, "table"), f"{says.table} is not public", remedy)


def _same_entity(layout: Layout, name: str, says: Reference, path: Path) -> Iterator[Fault]:
    assert isinstance(says, SameEntityReference)
    role = layout.roles.get(says.table)
    if says.table == name:
        yield Fault((*path, "table"), f"{name} refers to itself", "Write `kind: earlier` in a sequence, or `kind: broken`")
    elif says.table in layout.ancestors(name):
        yield Fault((*path, "kind"), f"{says.table} is above {name}", "Write `kind: ancestor`: it is filled in from the parent")
    elif role in ("public", "pool"):
        yield Fault((*path, "kind"), f"{says.table} is {'public' if role == 'public' else 'a pool'}", f"Write `kind: {role}`")
    elif layout.roles[name] == "pool":
        yield Fault((*path, "kind"), f"{name} is a pool, which belongs to no entity", "Write `kind: pool`, `public` or `broken`")
    elif says.by == "position":
        for field in ("time", "interval"):
            if getattr(says, field) is not None:
                yield Fault((*path, field), f"`{field}` goes with `by: interval`", f"Write `by: interval`, or remove `{field}`")
    else:
        yield from _interval(layout, name, says, path)


def _interval(layout: Layout, name: str, says: SameEntityReference, path: Path) -> Iterator[Fault]:
    here, there = _times(layout, name), _times(layout, says.table)
    if says.time is None:
        yield Fault(
            (*path, "time"), "nothing says which time of this row is looked up", f"Write `time:` and one of {listed(here)}"
        )
    elif says.time not in here:
        what = f"{says.time} is not a date or datetime of {name}"
        yield Fault((*path, "time"), what, f"Name one of {listed(here)}")
    if says.interval is None:
        what = f"nothing says which two columns of {says.table} the time falls between"
        yield Fault((*path, "interval"), what, f"Write `interval: [begin, end]` with two of {listed(there)}")
    for column in says.interval or ():
        if column not in there:
            what = f"{column} is not a date or datetime of {says.table}"
            yield Fault((*path, "interval"), what, f"Name two of {listed(there)}")
    if not says.nullable:
        what = f"a time may fall into no interval of {says.table}, and then there is no row to refer to"
        yield Fault((*path, "nullable"), what, "Write `nullable: true`")


def _times(layout: Layout, table: str) -> list[str]:
    if table not in layout.schema.tables:
        return []
    return [c for c, says in layout.schema.tables[table].columns.items() if says.order == "moment" or not says.settled]


def _earlier(layout: Layout, name: str, says: Reference, path: Path) -> Iterator[Fault]:
    assert isinstance(says, EarlierReference)
    if says.table != name:
        remedy = f"Name {name} itself, or write `kind: same_entity`"
        yield Fault((*path, "table"), f"an earlier row is one of the same table, not of {says.table}", remedy)
    elif not layout.is_sequence(name):
        what = f"{name} is not a sequence, so no row is earlier"
        yield Fault((*path, "kind"), what, "Write `type: sequential` and `order_by` in its parent, or another `kind`")
    if not says.nullable and not says.itself:
        what = "the first row of a sequence has no earlier one"
        yield Fault((*path, "nullable"), what, "Write `nullable: true`, or `itself: true` if it may refer to itself")


def _other_entity(layout: Layout, name: str, says: Reference, path: Path) -> Iterator[Fault]:
    assert isinstance(says, OtherEntityReference)
    role = layout.roles.get(says.table)
    if role in ("public", "pool"):
        what = f"{says.table} is {'public' if role == 'public' else 'a pool'}, not about another entity"
        yield Fault((*path, "kind"), what, f"Write `kind: {role}`")
    if says.fill == "none" and not says.nullable:
        what = "a reference to another entity is left NULL, but is not nullable"
        yield Fault((*path, "nullable"), what, "Write `nullable: true`, or `fill: random`")


def _owned(layout: Layout, name: str, says: Reference, path: Path) -> Iterator[Fault]:
    target = layout.schema.tables.get(says.table)
    if target is not None and layout.roles[says.table] == "owned" and target.key is None and says.column is None:
        remedy = f"Write `key:` under tables.{says.table}, or `column:` here"
        yield Fault(path, f"{says.table} has no key to refer to", remedy)


def _pool(layout: Layout, name: str, says: Reference, path: Path) -> Iterator[Fault]:
    if layout.roles.get(says.table) not in ("pool", "ignored"):
        pools = [t for t, role in layout.roles.items() if role == "pool"]
        remedy = f"Write `pool: {{rows: 50}}` under tables.{says.table}, name a pool ({listed(pools)}), or write another `kind`"
        yield Fault((*path, "table"), f"{says.table} is not a pool", remedy)


def _broken(layout: Layout, name: str, says: Reference, path: Path) -> Iterator[Fault]:
    if not says.nullable:
        yield Fault(
            (*path, "nullable"), "a broken reference is NULL, but it is not nullable", "Write `nullable: true`, or another `kind`"
        )


_KINDS: dict[str, Callable[[Layout, str, Reference, Path], Iterator[Fault]]] = {
    "ancestor": _ancestor,
    "public": _public,
    "same_entity": _same_entity,
    "earlier": _earlier,
    "other_entity": _other_entity,
    "owned": _owned,
    "pool": _pool,
    "broken": _broken,
}
