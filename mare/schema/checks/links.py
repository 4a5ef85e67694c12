"""The links of a table. To the parent: foreign key, order, memory, caps and what an association needs. References beyond it:
each kind fits the table it points to, and nothing that must not be NULL can come out NULL."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from mare.schema.columns import Identifier, Position
from mare.schema.condition_grammar import NotACondition, cannot_be_asked, comparisons_in, parse_condition
from mare.schema.faults import Fault, Path, listed, no_column, no_table, unsettled
from mare.schema.layout import Layout
from mare.schema.links import (
    AncestorReference,
    BrokenReference,
    EarlierReference,
    OtherEntityReference,
    OwnedReference,
    Parent,
    PoolReference,
    PublicReference,
    Reference,
    SameEntityReference,
)


def find(layout: Layout) -> Iterator[Fault]:
    for name, role in layout.roles.items():
        link = layout.schema.parent(name)
        if role != "private" or link is None:
            continue
        yield from _foreign_key(layout, name, link)
        yield from _order(layout, name, link)
        yield from _history(layout, name, link)
        yield from _caps(layout, name, link)
        yield from (_association if link.type == "associative" else _no_association)(layout, name, link)


def _foreign_key(layout: Layout, name: str, link: Parent) -> Iterator[Fault]:
    table, here = layout.schema.tables[name], ("tables", name, "parent")
    above = layout.schema.tables.get(link.table or "")
    if not layout.schema.parent_columns(name):
        guess = ", ".join(above.key) if above is not None and above.key else "…"
        yield unsettled((*here, "column"), "nothing says which column refers to the parent", f"Write `column: {guess}`")
    entity = layout.schema.by_column(name)
    for column in layout.schema.parent_columns(name):
        described = None if entity is not None and column == entity.by else table.columns.get(column)
        if described is not None and not isinstance(described, Identifier):
            what = f"{column} refers to the parent and is filled in from it, so it is no {described.type} to be modelled"
            yield Fault(("tables", name, "columns", column), what, "Remove it from columns, or describe it as an identifier")
    if above is None or link.column is None:
        return
    target = link.references or above.key
    if target is None:
        remedy = (
            f"Write `key:` under tables.{link.table}, or `references:` here with the columns that {listed(link.column)} names"
        )
        yield unsettled(here, f"nothing says which columns of {link.table} are referred to", remedy)
    elif len(target) != len(link.column):
        what = f"{len(link.column)} columns refer to {len(target)} of {link.table}"
        yield Fault((*here, "column"), what, f"Name one column for each of {listed(target)}")
    for i, column in enumerate(link.references or ()):
        known = layout.columns(link.table or "")
        if column not in known:
            yield no_column((*here, "references", i), column, link.table or "", known)
    if link.references is not None and link.table is not None:
        yield from _not_unique(layout, link.table, link.references, (*here, "references"))


def _order(layout: Layout, name: str, link: Parent) -> Iterator[Fault]:
    here: Path = ("tables", name, "parent")
    known = layout.columns(name)
    positions = [c for c, described in known.items() if isinstance(described, Position)]
    sortable = [c for c, described in known.items() if described is None or described.kept]
    for column in link.order_by or ():
        if column not in known:
            yield no_column((*here, "order_by"), column, name, sortable)
        elif column not in sortable:
            what = f"{column} is free text, which is not kept and orders nothing"
            yield Fault((*here, "order_by"), what, f"Name a date, time, number or position: {listed(sortable)}")
    if link.order_by is None and not positions:
        if link.type == "sequential":
            remedy = f"Write `order_by:` with the column that orders rows ({listed(sortable)}), or describe a position column"
            yield Fault((*here, "order_by"), f"{name} is a sequence, but nothing orders it", remedy)
        elif link.keep in ("first", "last"):
            remedy = f"Write `order_by:` ({listed(sortable)}), or `keep: random`"
            yield Fault((*here, "keep"), f"nothing says which row is the {link.keep}", remedy)
    if link.type != "sequential" and link.memory is not None:
        remedy = "Remove it, or write `type: sequential`"
        yield Fault((*here, "memory"), f"only a sequence has a memory, and {name} is {link.type}", remedy)


def _history(layout: Layout, name: str, link: Parent) -> Iterator[Fault]:
    if link.history_by is None:
        return
    path: Path = ("tables", name, "parent", "history_by")
    if link.type != "sequential":
        yield Fault(path, f"only a sequence has a history, and {name} is {link.type}", "Remove it, or write `type: sequential`")
    known = layout.columns(name)
    items = [c for c in known if layout.tells_items_apart(name, c, "public", "same_entity")]
    for column in link.history_by:
        if column not in known:
            yield no_column(path, column, name, items)
        elif column not in items:
            what = f"{column} does not tell items apart"
            yield Fault(path, what, f"Name a category, a code or a reference to a public table: {listed(items)}")


def find_ends(layout: Layout) -> Iterator[Fault]:
    """What ends a sequence is a condition on columns of its rows."""
    for name, table in layout.described:
        if table.ends is None:
            continue
        path: Path = ("tables", name, "ends")
        if not layout.is_sequence(name):
            what = f"only a sequence ends, and {name} is not one"
            yield Fault(path, what, "Write `type: sequential` and `order_by` in its parent, or remove `ends`")
        try:
            tests = list(comparisons_in(parse_condition(table.ends.when)))
        except NotACondition as error:
            yield Fault((*path, "when"), f"`when` {error}", "Write a condition on columns of the row")
            continue
        known = {column: described for column, described in table.columns.items() if described.kept}
        for test in tests:
            if test.column not in known:
                yield no_column((*path, "when"), test.column, name, known)
            elif (why := cannot_be_asked(test, known[test.column])) is not None:
                yield Fault((*path, "when"), *why)


def _caps(layout: Layout, name: str, link: Parent) -> Iterator[Fault]:
    table, here = layout.schema.tables[name], ("tables", name, "parent")
    cap = layout.row_cap(name)
    if cap is None:
        remedy = "Write `max_rows: 10`, or what fits: rows beyond it are cut, and the noise grows with it"
        yield unsettled((*here, "max_rows"), f"nothing says how many rows of {name} one parent row may have", remedy)
    foreign = set(layout.schema.parent_columns(name))
    if table.key and foreign and set(table.key) <= foreign and (link.max_rows or 1) > 1:
        what = f"the key is the foreign key, so a parent row has at most one row here, not {link.max_rows}"
        yield Fault((*here, "max_rows"), what, "Remove `max_rows`, or add a column to the key")
    per_entity = link.max_per_entity
    if per_entity is not None and link.max_rows is not None and per_entity < link.max_rows:
        what = f"an entity may have {per_entity} rows here, but a parent row {link.max_rows}: such a list would be dropped whole"
        yield Fault((*here, "max_per_entity"), what, f"Write max_per_entity: {link.max_rows} or more, or a lower max_rows")


def _association(layout: Layout, name: str, link: Parent) -> Iterator[Fault]:
    tables, here = layout.schema.tables, ("tables", name, "parent")
    publics = layout.of_role("public")
    if link.via is None:
        remedy = f"Write `via:` and a public table ({listed(publics)}), or another `type`"
        yield Fault((*here, "via"), f"{name} is associative, but nothing says with what", remedy)
    elif link.via not in tables:
        yield no_table((*here, "via"), link.via, publics, "public tables")
    elif not tables[link.via].public:
        yield layout.not_public((*here, "via"), link.via, so=", so its keys cannot become columns")
    if link.column_via is None:
        yield Fault((*here, "column_via"), "nothing says which column refers to the public table", "Write `column_via:`")
    for column in link.column_via or ():
        described = tables[name].columns.get(column)
        if described is not None and not isinstance(described, Identifier):
            what = f"{column} refers to {link.via}: its domain is that table's key, so it is no {described.type}"
            yield Fault(("tables", name, "columns", column), what, "Remove it from columns")
        if column in layout.schema.parent_columns(name):
            yield Fault((*here, "column_via"), f"{column} also refers to the parent", "Name the column of the public table's key")
    for i, column in enumerate(link.derived):
        described = tables[name].columns.get(column)
        if described is None and column not in tables[name].references:
            yield no_column((*here, "derived", i), column, name, tables[name].columns)
        elif described is not None and not described.is_drawn:
            yield Fault((*here, "derived", i), f"{column} is not modelled", "Name a modelled column, or remove it here")
    large = link.vocabulary
    if large is not None and (large.rest == "hierarchy") != (large.hierarchy is not None):
        what = "`rest: hierarchy` and `hierarchy:` go together"
        yield Fault((*here, "vocabulary"), what, f"Write both, with a column of {link.via} that groups its keys, or neither")
    elif large is not None and large.rest == "hierarchy" and link.derived:
        what = f"{listed(link.derived)} is unrolled with the keys that have a column, and the others have none to take it from"
        yield Fault((*here, "vocabulary", "rest"), what, "Write `rest: rows` or `rest: drop`, or remove `derived`")


def _no_association(layout: Layout, name: str, link: Parent) -> Iterator[Fault]:
    written = {
        "via": link.via is not None,
        "column_via": link.column_via is not None,
        "derived": bool(link.derived),
        "multiplicity": link.multiplicity != 1,
        "vocabulary": link.vocabulary is not None,
    }
    for field in (field for field, there in written.items() if there):
        remedy = "Remove it, or write `type: associative`"
        if field == "via":
            remedy += "; a plain link to a public table is a reference: {kind: public}"
        yield Fault(("tables", name, "parent", field), f"only an association has `{field}`, and {name} is {link.type}", remedy)


def find_references(layout: Layout) -> Iterator[Fault]:
    for name, role in layout.roles.items():
        if role == "ignored":
            continue
        for reference, link in layout.schema.tables[name].references.items():
            path: Path = ("tables", name, "references", reference)
            if link.table not in layout.schema.tables and link.table != layout.schema.entity_name:
                yield no_table((*path, "table"), link.table, layout.schema.tables)
                continue
            yield from _target(layout, name, link, path)
            yield from _columns(layout, name, reference, path)
            yield from _kind(layout, name, link, path)


def _target(layout: Layout, name: str, link: Reference, path: Path) -> Iterator[Fault]:
    role = layout.roles.get(link.table)
    if role == "ignored" and link.kind != "broken":
        remedy = "Leave the column out too (ignore_columns), or write `kind: broken`, `nullable: true` to keep it NULL"
        yield Fault((*path, "table"), f"{link.table} is ignored, so there is nothing to refer to", remedy)
    if layout.roles[name] == "public" and role not in ("public", "ignored"):
        what = f"{name} is public, but refers to {link.table}, which is not"
        yield Fault((*path, "table"), what, f"Mark {link.table} public too, or do not mark {name} public")


def _columns(layout: Layout, name: str, reference: str, path: Path) -> Iterator[Fault]:
    table, link = layout.schema.tables[name], layout.schema.tables[name].references[reference]
    columns = table.reference_columns(reference)
    for column in columns:
        described = table.columns.get(column)
        if described is not None and not isinstance(described, Identifier):
            what = f"{column} is a reference to {link.table}, so it is no {described.type} of its own"
            yield Fault(("tables", name, "columns", column), what, f"Remove it from columns, or remove the reference {reference}")
    if set(columns) <= set(layout.schema.parent_columns(name)) and layout.schema.parent(name) is not None:
        what = f"{listed(columns)} already refers to the parent"
        yield Fault(path, what, "Remove this reference: the foreign key to the parent is filled in by itself")
    for other in table.references:
        if other < reference and set(table.reference_columns(other)) == set(columns):
            what = f"{listed(columns)} is written as two references, {other} and {reference}"
            yield Fault(path, what, "Keep the one that is true")
    target = layout.schema.tables.get(link.table)
    there = link.column or (target.key if target is not None else None)
    if there is not None and len(there) != len(columns):
        what = f"{len(columns)} columns refer to {len(there)} of {link.table} ({listed(there)})"
        yield Fault(path, what, "Write `columns:` here and `column:` for the ones there, the same number of each")
    if target is not None and link.column is not None and layout.roles[link.table] not in ("public", "ignored"):
        known = layout.columns(link.table)
        yield from (no_column((*path, "column"), c, link.table, known) for c in link.column if c not in known)
    if target is not None and link.column is not None and link.kind != "broken":
        yield from _not_unique(layout, link.table, link.column, (*path, "column"))


def _kind(layout: Layout, name: str, link: Reference, path: Path) -> Iterator[Fault]:
    """Each kind fits the table that it points to, and nothing that must not be NULL can come out NULL."""
    role, target = layout.roles.get(link.table), layout.schema.tables.get(link.table)
    match link:
        case AncestorReference():
            above = layout.ancestors(name)
            broken = any(t not in layout.schema.tables and t != layout.schema.entity_name for t in above)
            if link.table not in above and not broken:
                remedy = f"Name one of {listed(above)}, or write `kind: same_entity` if {link.table} belongs to the same entity"
                yield Fault((*path, "table"), f"{link.table} is not above {name}", remedy)
        case PublicReference():
            if role not in ("public", "ignored"):
                yield layout.not_public((*path, "table"), link.table, else_=", or write another `kind`")
            if link.rest is None and not link.nullable:
                remedy = "Write `nullable: true` too, or leave `rest` out: such keys are drawn again among the kept ones"
                yield Fault((*path, "rest"), "`rest: null` in a reference that is never NULL", remedy)
        case SameEntityReference():
            yield from _same_entity(layout, name, link, path)
        case EarlierReference():
            if link.table != name:
                remedy = f"Name {name} itself, or write `kind: same_entity`"
                yield Fault((*path, "table"), f"an earlier row is one of the same table, not of {link.table}", remedy)
            elif not layout.is_sequence(name):
                what = f"{name} is not a sequence, so no row is earlier"
                yield Fault((*path, "kind"), what, "Write `type: sequential` and `order_by` in its parent, or another `kind`")
            if not link.nullable and not link.itself:
                what = "the first row of a sequence has no earlier one"
                yield Fault((*path, "nullable"), what, "Write `nullable: true`, or `itself: true` if it may refer to itself")
        case OtherEntityReference():
            if role in ("public", "pool"):
                what = f"{link.table} is {'public' if role == 'public' else 'a pool'}, not about another entity"
                yield Fault((*path, "kind"), what, f"Write `kind: {role}`")
            if link.fill == "none" and not link.nullable:
                what = "a reference to another entity is left NULL, but is not nullable"
                yield Fault((*path, "nullable"), what, "Write `nullable: true`, or `fill: random`")
        case OwnedReference():
            if target is not None and role == "owned" and target.key is None and link.column is None:
                remedy = f"Write `key:` under tables.{link.table}, or `column:` here"
                yield Fault(path, f"{link.table} has no key to refer to", remedy)
        case PoolReference():
            if role not in ("pool", "ignored"):
                pools = listed(layout.of_role("pool"))
                remedy = f"Write `pool: {{rows: 50}}` under tables.{link.table}, name a pool ({pools}), or write another `kind`"
                yield Fault((*path, "table"), f"{link.table} is not a pool", remedy)
        case BrokenReference():
            if not link.nullable:
                what = "a broken reference is NULL, but it is not nullable"
                yield Fault((*path, "nullable"), what, "Write `nullable: true`, or another `kind`")


def _same_entity(layout: Layout, name: str, link: SameEntityReference, path: Path) -> Iterator[Fault]:
    role = layout.roles.get(link.table)
    if link.table == name:
        yield Fault((*path, "table"), f"{name} refers to itself", "Write `kind: earlier` in a sequence, or `kind: broken`")
    elif link.table in layout.ancestors(name):
        yield Fault((*path, "kind"), f"{link.table} is above {name}", "Write `kind: ancestor`: it is filled in from the parent")
    elif role in ("public", "pool"):
        yield Fault((*path, "kind"), f"{link.table} is {'public' if role == 'public' else 'a pool'}", f"Write `kind: {role}`")
    elif layout.roles[name] == "pool":
        yield Fault((*path, "kind"), f"{name} is a pool, which belongs to no entity", "Write `kind: pool`, `public` or `broken`")
    elif link.by == "position":
        for field in ("time", "interval"):
            if getattr(link, field) is not None:
                yield Fault((*path, field), f"`{field}` goes with `by: interval`", f"Write `by: interval`, or remove `{field}`")
    else:
        yield from _interval(layout, name, link, path)


def _interval(layout: Layout, name: str, link: SameEntityReference, path: Path) -> Iterator[Fault]:
    here, there = _times(layout, name), _times(layout, link.table)
    if link.time is None:
        yield Fault(
            (*path, "time"), "nothing says which time of this row is looked up", f"Write `time:` and one of {listed(here)}"
        )
    elif link.time not in here:
        what = f"{link.time} is not a date or datetime of {name}"
        yield Fault((*path, "time"), what, f"Name one of {listed(here)}")
    if link.interval is None:
        what = f"nothing says which two columns of {link.table} the time falls between"
        yield Fault((*path, "interval"), what, f"Write `interval: [begin, end]` with two of {listed(there)}")
    for column in link.interval or ():
        if column not in there:
            what = f"{column} is not a date or datetime of {link.table}"
            yield Fault((*path, "interval"), what, f"Name two of {listed(there)}")


def _times(layout: Layout, table: str) -> list[str]:
    if table not in layout.schema.tables:
        return []
    columns = layout.schema.tables[table].columns
    return [name for name, described in columns.items() if described.order == "moment" or not described.settled]


def _not_unique(layout: Layout, table: str, columns: Sequence[str], path: Path) -> Iterator[Fault]:
    """What is referred to has to name one row: a key, or a set of columns that the schema says is unique."""
    role, here = layout.roles[table], layout.schema.tables[table]
    known = layout.columns(table)
    if role == "ignored" or layout.is_unique(table, columns):
        return
    if role == "public" and ((here.key is None and not here.unique) or set(columns) < set(here.key or ())):
        return  # a public table need not describe its keys; a part of one lists what there is (the team of a season)
    if role != "public" and not set(columns) <= known.keys():
        return  # told already
    sets = [f"[{', '.join(names)}]" for names in here.unique_sets]
    what = f"{', '.join(columns)} does not tell rows of {table} apart, so one row here would refer to several there"
    declare = f"declare it under tables.{table} if it is: `unique: [[{', '.join(columns)}]]`"
    yield Fault(path, what, f"Refer to what is unique there ({listed(sets)}), or {declare}")
