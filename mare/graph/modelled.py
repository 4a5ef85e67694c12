"""Which columns of a table are nodes of the correlation PDAG, and in which part of the table they are generated.

Between the schema and the PDAG. A node is what a model has to generate. Keys, foreign keys, identifiers, positions,
text and determined columns are filled in without a model; references to ancestors, other entities, pools and broken ones
too. References to a row of the same entity, to public tables and to earlier rows are nodes; and so is whether there is anything,
where an identifier or a reference to a pool or to a row of one's own may be NULL.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from mare.errors import SchemaError
from mare.schema import Fault, Parent, Schema, Table
from mare.schema.columns import Identifier, Listed, Ordinal
from mare.schema.condition_grammar import IsNull, comparisons_in, parse_condition
from mare.schema.determined import PARENT_ROW, Anchor, Relative
from mare.schema.faults import describe
from mare.schema.layout import public_parts, shared_columns
from mare.schema.links import Reference

from .dag import DatasetDag
from .groups import GroupColumn, Part


@dataclass(frozen=True)
class TableParts:
    """The nodes of one table by part, and what is known of its rows without a model."""

    context: tuple[GroupColumn, ...] = ()
    head: tuple[GroupColumn, ...] = ()
    rows: tuple[GroupColumn, ...] = ()
    free: tuple[str, ...] = ()
    """Free history of the rows. Of a sequence: `position`, `remaining`, how far it has come (`elapsed(admittime)`), what is left
    for each row until the calendar's end (`pace(admittime)`), or of the rows that it refers to and goes along (`pace(visit_id)`).
    Of an unrolled row: its key and derived values."""
    items: tuple[str, ...] = ()
    """Names of the head's columns that `history_by` tells items apart by."""
    rooms: tuple[str, ...] = ()
    """Free history of the context: how much time there is below a row of the parent (`room(claims.incident_date)`)."""
    references: tuple[str, ...] = ()
    """Same-entity references: they are in the head, and the row they lead to may be looked at."""

    def part(self, part: Part) -> tuple[GroupColumn, ...]:
        return {"context": self.context, "head": self.head, "rows": self.rows}[part]


def table_parts(schema: Schema, dag: DatasetDag, name: str) -> TableParts:
    """The nodes of a table. Public tables, pools and the entity by column have none: nothing in them is learned."""
    node = dag.node(name)
    if node.by_column or node.role in ("public", "pool"):
        return TableParts()
    table, link = schema.tables[name], schema.parent(name) if node.role == "private" else None
    values = _values(schema, name, table, link)
    context = _context(schema, name, table, link)
    free: tuple[str, ...] = ()
    if link is not None and link.type == "sequential":
        begun = [(c.column or "", table.columns[c.column or ""]) for c in context if c.role == "first"]
        paced = [column for column, described in begun if isinstance(described, Ordinal) and described.is_paced]
        along = [r for r, reference in table.references.items() if r in values and goes_along(link, reference)]
        free = ("position", "remaining", *(f"elapsed({c})" for c, _ in begun), *(f"pace({c})" for c in (*paced, *along)))
    if len(dag.owners(name)) > 1:
        free = ("reference",)

    first: list[str] = []
    items = _items(name, table, link, values)
    positions = tuple(r for r, ref in table.references.items() if r in values and ref.kind == "same_entity")
    if link is not None and link.type == "associative":
        key = _via_key(link)
        unrolled = [key, *(c for c in link.derived if c in values)]
        if link.vocabulary is not None and link.vocabulary.rest == "rows":
            # The rest of the vocabulary are ordinary rows: their key and derived values are generated first, and the
            # unrolled rows bring theirs along, so that the common columns are modelled once for both.
            values[key] = GroupColumn(key, "value", key)
            first += unrolled
        else:
            values = {c: v for c, v in values.items() if c not in unrolled}
            free = tuple(unrolled)
    first += [*items, *positions]
    head = tuple(values[c] for c in values if c in first)
    rows = tuple(v for c, v in values.items() if c not in first)
    return TableParts(context, head, rows, free, items, rooms(schema, name, table, link), positions)


def rooms(schema: Schema, name: str, table: Table, link: Parent | None) -> tuple[str, ...]:
    """What is told of how much time there is below a row of the parent: of the first column that follows one of its dates,
    between bounds of its own or the calendar's."""
    parent = schema.parent_name(name)
    if link is None or link.type == "associative" or parent not in schema.tables:
        return ()
    for column, kind in table.columns.items():
        if not isinstance(kind, Ordinal) or kind.determined is not None or not isinstance(kind, Relative):
            continue
        starts = kind.first if kind.first is not None else kind
        during = kind.during if kind.first is None else None
        begins = during[0] if during is not None else starts.after
        bounded = kind.min is not None and kind.max is not None
        if begins is not None and bounded and Anchor.parse(begins).scope in (PARENT_ROW, parent):
            return (f"room({name}.{column})",)
    return ()


def presence(name: str) -> str:
    """What a model calls whether a column or reference is there at all."""
    return f"exists({name})"


def goes_along(link: Parent, reference: Reference) -> bool:
    """Whether the rows of a sequence come in the order of the rows that they refer to."""
    if reference.kind != "same_entity" or reference.by != "interval" or link.type != "sequential":
        return False
    return reference.time == next(iter(link.order_by or ()), None)


def _values(schema: Schema, name: str, table: Table, link: Parent | None) -> dict[str, GroupColumn]:
    """Columns and references that a model generates, in the order of the schema."""
    foreign = set(schema.parent_columns(name)) if link is not None else set()
    via = set(link.column_via or ()) if link is not None and link.type == "associative" else set()
    taken = foreign | via | set(table.ignore_columns)
    for reference in table.references:
        taken |= set(table.reference_columns(reference))
    values = {
        column: GroupColumn(column, "value", column)
        for column, kind in table.columns.items()
        if column not in taken and kind.is_drawn and kind.same_for is None
    }
    for column, kind in table.columns.items():
        if (
            isinstance(kind, Identifier)
            and (kind.nullable or kind.runs)
            and kind.determined is None
            and column not in taken | set(table.key or ())
        ):
            values[presence(column)] = GroupColumn(presence(column), "exists", column)
    parts = public_parts(schema, name)
    for reference, described in table.references.items():
        columns = set(table.reference_columns(reference))
        if columns <= foreign or columns & via or columns <= set(table.ignore_columns):
            continue
        if described.kind == "public":
            names = [part.name for part in parts if part.reference == reference]
            values |= {name: GroupColumn(name, "value", name) for name in names}
        elif described.kind in ("earlier", "same_entity"):
            values[reference] = GroupColumn(reference, "value", reference)
        elif described.kind in ("owned", "pool") and described.nullable:
            # Whether there is a row of one's own is learned with the owner; that row itself has its own group.
            values[presence(reference)] = GroupColumn(presence(reference), "exists", reference)
    return values


def _context(schema: Schema, name: str, table: Table, link: Parent | None) -> tuple[GroupColumn, ...]:
    """One row per parent row: the number of children, or the unrolled association; the first values of a sequence; and what is
    the same in all rows below, be they of this table or of one further down."""
    if link is None:
        return ()
    count = GroupColumn("count", "count")
    if link.type == "associative":
        return _unrolled(schema, table, link, count)
    shared = [
        GroupColumn(s.name, "same", s.column, table=None if s.table == name else s.table)
        for s in shared_columns(schema)
        if s.holder == name
    ]
    if link.type == "independent":
        return (count, *shared)
    firsts = [
        GroupColumn(f"first({name})", "first", name)
        for name, column in table.columns.items()
        if isinstance(column, Relative) and column.first is not None and column.determined is None
    ]
    ends = [GroupColumn("ends", "ends")] if _ends_by_codes(table, _values(schema, name, table, link)) else []
    return (count, *ends, *firsts, *shared)


def _ends_by_codes(table: Table, values: Collection[str]) -> bool:
    """Whether the codes of rows tell which ends their sequence; not where values have to come out first, or nothing ends it."""
    if table.ends is None:
        return False
    for test in comparisons_in(parse_condition(table.ends.when)):
        kind = table.columns[test.column] if test.column in values and test.column in table.columns else None
        by_null = isinstance(test, IsNull) and isinstance(kind, Ordinal) and not kind.depends_on_items
        if kind is None or not (isinstance(kind, Listed) or by_null):
            return False
    return True


def _unrolled(schema: Schema, table: Table, link: Parent, count: GroupColumn) -> tuple[GroupColumn, ...]:
    """ "One column per unique key of the public relationship": existence, or the nullable derived columns (III.C).

    A key that may repeat counts up to `multiplicity` in its existence column, and has that many derived columns.
    Absence is a value of its own, beside a NULL that the derived column may hold.
    """
    key, vocabulary = _via_key(link), link.vocabulary
    public = schema.tables.get(link.via) if link.via is not None else None
    keys = vocabulary.select if vocabulary is not None else (public.rows if public is not None else None)
    slots = None if keys is None else keys * link.multiplicity
    derived = [c for c in link.derived if c in table.columns or c in table.references]
    if derived:
        columns = [GroupColumn(f"{name}({key})", "derived", name, slots) for name in derived]
    else:
        columns = [GroupColumn(f"exists({key})", "exists", key, keys)]
    if vocabulary is not None and vocabulary.rest == "rows":
        columns.append(count)
    elif vocabulary is not None and vocabulary.rest == "hierarchy" and vocabulary.hierarchy is not None:
        columns.append(GroupColumn(f"exists({vocabulary.hierarchy})", "exists", vocabulary.hierarchy, None))
    return tuple(columns)


def _via_key(link: Parent) -> str:
    return ", ".join(link.column_via or (link.via or "key",))


def _items(name: str, table: Table, link: Parent | None, values: dict[str, GroupColumn]) -> tuple[str, ...]:
    """The nodes that `history_by` names, be it as columns or as references."""
    if link is None or link.type != "sequential" or link.history_by is None:
        return ()
    items = []
    for column in link.history_by:
        references = [r for r in table.references if r in values and column in table.reference_columns(r)]
        if column in values:
            items.append(column)
        elif references:
            items.append(references[0])
        else:
            fault = Fault(
                ("tables", name, "parent", "history_by"),
                f"{column!r} is not generated by a model, so the previous row of the same item cannot be found",
                f"Name a modelled column: {', '.join(values) or 'this table has none'}",
            )
            raise SchemaError(describe([fault], "schema"), (fault,))
    return tuple(dict.fromkeys(items))
