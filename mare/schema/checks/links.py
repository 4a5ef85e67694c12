"""The link to the parent: foreign key, order, memory, caps and what an association needs."""

from __future__ import annotations

from collections.abc import Iterator

from mare.schema.columns import Identifier, Listed, Position
from mare.schema.faults import Fault, Path
from mare.schema.layout import Layout
from mare.schema.links import Parent

from .wording import listed, no_column, no_table, not_unique, unsettled


def find(layout: Layout) -> Iterator[Fault]:
    for name, role in layout.roles.items():
        link = layout.link(name)
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
    if not layout.foreign_key(name):
        guess = ", ".join(above.key) if above is not None and above.key else "…"
        yield unsettled((*here, "column"), "nothing says which column refers to the parent", f"Write `column: {guess}`")
    entity = layout.by_column(name)
    for column in layout.foreign_key(name):
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
        yield from not_unique(layout, link.table, link.references, (*here, "references"))


def _order(layout: Layout, name: str, link: Parent) -> Iterator[Fault]:
    here: Path = ("tables", name, "parent")
    known = layout.columns(name)
    positions = [c for c, says in known.items() if isinstance(says, Position)]
    sortable = [c for c, says in known.items() if says is None or says.kept]
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
    items = [c for c in known if _tells_items_apart(layout, name, c)]
    for column in link.history_by:
        if column not in known:
            yield no_column(path, column, name, items)
        elif column not in items:
            what = f"{column} does not tell items apart"
            yield Fault(path, what, f"Name a category, a code or a reference to a public table: {listed(items)}")


def _tells_items_apart(layout: Layout, table: str, column: str) -> bool:
    says = layout.columns(table)[column]
    if says is not None and (isinstance(says, Listed) or not says.settled):
        return True
    reference = layout.reference_of(table, column)
    return reference is not None and reference.kind in ("public", "same_entity")


def _caps(layout: Layout, name: str, link: Parent) -> Iterator[Fault]:
    table, here = layout.schema.tables[name], ("tables", name, "parent")
    cap = layout.row_cap(name)
    if cap is None:
        remedy = "Write `max_rows: 10`, or what fits: rows beyond it are cut, and the noise grows with it"
        yield unsettled((*here, "max_rows"), f"nothing says how many rows of {name} one parent row may have", remedy)
    foreign = set(layout.foreign_key(name))
    if table.key and foreign and set(table.key) <= foreign and (link.max_rows or 1) > 1:
        what = f"the key is the foreign key, so a parent row has at most one row here, not {link.max_rows}"
        yield Fault((*here, "max_rows"), what, "Remove `max_rows`, or add a column to the key")
    per_entity = link.max_per_entity
    if per_entity is not None and link.max_rows is not None and per_entity < link.max_rows:
        what = f"an entity may have {per_entity} rows here, but a parent row {link.max_rows}: such a list would be dropped whole"
        yield Fault((*here, "max_per_entity"), what, f"Write max_per_entity: {link.max_rows} or more, or a lower max_rows")


def _association(layout: Layout, name: str, link: Parent) -> Iterator[Fault]:
    tables, here = layout.schema.tables, ("tables", name, "parent")
    publics = [t for t, role in layout.roles.items() if role == "public"]
    if link.via is None:
        remedy = f"Write `via:` and a public table ({listed(publics)}), or another `type`"
        yield Fault((*here, "via"), f"{name} is associative, but nothing says with what", remedy)
    elif link.via not in tables:
        yield no_table((*here, "via"), link.via, publics, "public tables")
    elif not tables[link.via].public:
        what = f"{link.via} is not public, so its keys cannot become columns"
        yield Fault(
            (*here, "via"), what, f"Mark it `public: true` if it holds nothing about anybody, or name one of {listed(publics)}"
        )
    if link.column_via is None:
        yield Fault((*here, "column_via"), "nothing says which column refers to the public table", "Write `column_via:`")
    for column in link.column_via or ():
        described = tables[name].columns.get(column)
        if described is not None and not isinstance(described, Identifier):
            what = f"{column} refers to {link.via}: its domain is that table's key, so it is no {described.type}"
            yield Fault(("tables", name, "columns", column), what, "Remove it from columns")
        if column in layout.foreign_key(name):
            yield Fault((*here, "column_via"), f"{column} also refers to the parent", "Name the column of the public table's key")
    for i, column in enumerate(link.derived):
        says = tables[name].columns.get(column)
        if says is None and column not in tables[name].references:
            yield no_column((*here, "derived", i), column, name, tables[name].columns)
        elif says is not None and (says.determined is not None or not says.modelled):
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
