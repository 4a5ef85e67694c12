"""Upper bounds of every domain that a model will meet: the columns of each group and the history it may look at.

Sizes come from the schema alone. Where a domain will be learned, or where a public table lists the values, this is
the most it can become; `fit` settles the rest. An unrolled vocabulary gives one column per key.

And S: how many rows one entity may have in a column group. The guarantee rests on it. It comes from caps that are enforced
(mare-2024, V: the product of ``|X|`` along a path to the entity, summed over paths where a table has several), or from the lower
cap per entity; never from the data's maximum. Every bound says how it came about: the person who set the caps has to recognise
them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from mare.domain import Domain, remaining_size
from mare.errors import InternalError
from mare.graph.dag import DatasetDag, TableEdge
from mare.graph.groups import ColumnGroup, GroupColumn, HistoryColumn, Part
from mare.schema import Parent, Schema, Table
from mare.schema.columns import DEFAULT_BINS, DEFAULT_MAX_VALUES, PACES, ROOMS, Code, Identifier, Listed, Ordinal
from mare.schema.faults import Fault, Path
from mare.schema.layout import Cap, link_cap, most_children
from mare.schema.links import Reference

MAX_ROWS_PER_ENTITY = 10**9
"""Caps that allow one entity more rows than this are no caps: whatever is measured under them is noise."""


@dataclass(frozen=True)
class RowBound:
    """At most this many rows of one entity, as a formula that a person can follow."""

    rows: int
    formula: str
    """Without the result: `10 admissions × 10 transfers`; empty where an entity has one row by definition."""
    steps: int = 0
    """How many numbers the formula joins."""

    @property
    def explain(self) -> str:
        if not self.formula:
            return "one row per entity"
        return f"{self.formula} = {self.rows}" if self.steps > 1 else self.formula

    def times(self, cap: Cap, table: str) -> RowBound:
        """The bound of a child table."""
        factor = f"{cap.rows} {table}" + ("" if cap.why == "max_rows" else f" ({cap.why})")
        if not self.formula:
            return RowBound(cap.rows, factor, 1)
        left = f"({self.formula})" if " + " in self.formula else self.formula
        return RowBound(self.rows * cap.rows, f"{left} × {factor}", self.steps + 1)

    def limited(self, limit: int, table: str) -> RowBound:
        """The bound where a cap per entity is lower."""
        if limit >= self.rows:
            return self
        return RowBound(limit, f"{limit} {table} (max_per_entity, below {self.explain})", 1)


def row_bounds(schema: Schema, dag: DatasetDag) -> tuple[dict[str, RowBound], list[Fault]]:
    """The bound of the entity and every table that belongs to it, and a fault for each cap that the schema leaves open."""
    bounds = {dag.entity.name: RowBound(1, "")}
    faults: list[Fault] = []
    waiting = list(dag.tables("private", "owned"))
    while waiting:
        ready = [table for table in waiting if all(edge.owner in bounds for edge in dag.owners(table))]
        if not ready:
            raise InternalError(f"tables {', '.join(waiting)} own each other")
        for table in ready:
            edges = dag.owners(table)
            if dag.node(table).role == "owned":
                bounds[table] = _owned([(bounds[edge.owner], edge) for edge in edges])
            else:
                bounds[table] = _below_parent(schema, table, bounds[edges[0].owner], faults)
        waiting = [table for table in waiting if table not in bounds]
    return bounds, faults


def _below_parent(schema: Schema, table: str, above: RowBound, faults: list[Fault]) -> RowBound:
    cap = link_cap(schema, table)
    if cap is None:
        what = "nothing says how many rows a parent row may have"
        remedy = "Write max_rows: 10, or what fits: more rows are cut, and the guarantee rests on it"
        faults.append(Fault(("tables", table, "parent"), what, remedy, "unsettled"))
        return above
    link = schema.parent(table)
    limit = None if link is None else link.max_per_entity
    bound = above.times(cap, table)
    if limit is not None:
        bound = bound.limited(limit, table)
    if above.rows <= MAX_ROWS_PER_ENTITY < bound.rows:
        digits = len(str(bound.rows)) - 1
        what = f"the caps allow one entity some 10^{digits} rows here, more than {MAX_ROWS_PER_ENTITY:,}"
        faults.append(Fault(("tables", table, "parent"), what, "Lower max_rows here or above, or set max_per_entity"))
    return bound


def _owned(paths: Sequence[tuple[RowBound, TableEdge]]) -> RowBound:
    """One row per reference of every owner: the sum over paths."""
    text = " + ".join(f"{bound.rows} by {edge.child}.{edge.name}" for bound, edge in paths)
    return RowBound(sum(bound.rows for bound, _ in paths), text, len(paths))


def most_sequences(schema: Schema, bounds: Mapping[str, RowBound], table: str, part: Part) -> int:
    """How many sequences of a column group one entity may have: as many as rows that its rows belong to."""
    ordered = schema.parent_name(table) if part == "context" else table
    above = None if ordered is None else schema.parent_name(ordered)
    return 1 if above is None else bounds[above].rows


def group_bound(schema: Schema, bounds: Mapping[str, RowBound], table: str, part: Part) -> RowBound:
    """S of a column group: a context has one row per parent row, so it has the parent's."""
    above = schema.parent_name(table) if part == "context" else table
    if above is None:
        raise InternalError(f"table {table!r} has no parent, so it has no context")
    return bounds[above]


MAX_UNROLLED = 256
"""Columns that one vocabulary may unroll into. More is not a table that a model can learn, at any budget."""
POSITIONS = 4
"""Codes of a row's position: 0, 1, 2, 3 or later (recipe, step 9)."""

Node = tuple[str, Part, str]
"""(table, part, name of a group column): a table may well have a column that is called `count`."""


@dataclass(frozen=True)
class GroupDomains:
    """Sizes of one group, and which of them are learned."""

    columns: Domain
    history: Domain
    learned: frozenset[str]


@dataclass
class _Sizes:
    """Sizes per node while they are worked out; ``faults`` by path, so that each place is named once."""

    schema: Schema
    dag: DatasetDag
    bounds: Mapping[str, RowBound]
    faults: dict[Path, Fault]

    def fault(self, path: Path, what: str, remedy: str) -> int:
        self.faults.setdefault(path, Fault(path, what, remedy, "unsettled"))
        return 1

    def link(self, table: str) -> Parent:
        link = self.schema.parent(table)
        if link is None:
            raise InternalError(f"table {table!r} has a context but no parent")
        return link

    def of(self, group: ColumnGroup, column: GroupColumn) -> int:
        """Codes of one group column."""
        table = group.table
        if column.role == "count":
            return most_children(self.schema, table) + 1
        if column.role == "ends":
            return 2
        if column.role == "exists":
            described = self.schema.tables[table].columns.get(column.column or "")
            runs = isinstance(described, Identifier) and described.runs
            return 1 + (self.link(table).multiplicity if group.part == "context" else 1 + runs)
        if column.column is None:
            raise InternalError(f"{group.name}.{column.name} encodes no column")
        if column.role == "first":
            return self._first(table, column.column)
        size = self.value(column.table or table, column.column)
        # "no row at all" is a code of its own
        return size + 1 if column.role in ("derived", "same") else size

    def value(self, table: str, name: str) -> int:
        """Codes of a column or reference of the schema."""
        described = self.schema.tables[table]
        if (reference := described.drawn_reference(name)) is not None:
            return self._reference(table, name, reference)
        path: Path = ("tables", table, "columns", name)
        column = described.columns.get(name)
        if column is None:
            # the key of an association that is kept as ordinary rows
            return self.vocabulary(table)
        if isinstance(column, Code) and column.values is None and column.vocabulary_table is not None:
            public = column.vocabulary_table
            rows = self.schema.tables[public].rows if public in self.schema.tables else None
            return self._public(path, public, rows, column.max_values, column.learn) + 1 + column.nullable
        size = column.most_codes
        if size is None:
            return self.fault(path, "nothing says how many values it may have", "Write values or bounds, or learn: true")
        # the first row of a sequence has no gap from the row before: a code of its own
        return size + int(isinstance(column, Ordinal) and column.follows_previous)

    def _first(self, table: str, name: str) -> int:
        column = self.schema.tables[table].columns[name]
        size = column.most_first_bins if isinstance(column, Ordinal) else None
        if size is None:
            raise InternalError(f"{table}.{name} has no first value")
        # "no row at all" is a code of its own
        return size + 1

    def _reference(self, table: str, name: str, reference: Reference) -> int:
        null = int(reference.nullable)
        if reference.kind == "public":
            path: Path = ("tables", table, "references", name)
            rows = self.schema.tables[reference.table].rows
            # what is no key of the table, or none of those that are kept, is a code of its own
            if reference.learn:  # also keys that the table does not have may be found
                return (reference.max_values or DEFAULT_MAX_VALUES) + 1 + null
            return self._public(path, reference.table, rows, reference.max_values, reference.learn) + 1 + null
        if reference.kind == "same_entity":
            return self.bounds[reference.table].rows + null
        if reference.kind == "earlier":
            # back rows, the row itself where allowed, and "further back or none", which comes out NULL
            return reference.back + int(reference.itself) + 1
        raise InternalError(f"reference {table}.{name} of kind {reference.kind} is not modelled")

    def _public(self, path: Path, public: str, rows: int | None, most: int | None, learn: bool) -> int:
        known = [size for size in (rows, most, DEFAULT_MAX_VALUES if learn and most is None else None) if size is not None]
        if known:
            return min(known)
        remedy = f"Write rows: under {public} (it is public), or max_values here"
        return self.fault(path, f"nothing says how many keys the public table {public} has", remedy)

    def vocabulary(self, table: str) -> int:
        """Keys of the public side of an association."""
        link = self.link(table)
        public = self.schema.tables.get(link.via) if link.via is not None else None
        if public is not None and public.rows is not None:
            return public.rows
        if link.vocabulary is not None and link.vocabulary.rest != "rows":
            return link.vocabulary.select
        what = f"nothing says how many keys the public table {link.via} has"
        remedy = f"Write rows: under {link.via} (it is public)" + (", or rest: drop under vocabulary" if link.vocabulary else "")
        return self.fault(("tables", link.via or table), what, remedy)

    def repeat(self, group: ColumnGroup, column: GroupColumn) -> int:
        """How many columns it unrolls into."""
        if column.repeat is not None:
            return column.repeat
        link = self.link(group.table)
        if link.vocabulary is not None and column.column == link.vocabulary.hierarchy and link.via is not None:
            described = self.schema.tables[link.via].columns.get(column.column) if column.column else None
            size = None if described is None else described.most_codes
            if size is not None:
                return size
            remedy = f"Write columns: {{{column.column}: {{type: category, values: […]}}}} under {link.via}"
            return self.fault(("tables", link.via), f"nothing says how many groups its column {column.column} has", remedy)
        remedy = f"Write rows: under {link.via} (it is public), or vocabulary: {{select: 50, rest: rows}} here"
        return self.fault(
            ("tables", group.table, "parent"), f"nothing says how many keys the public table {link.via} has", remedy
        )

    def free(self, table: str, name: str) -> int:
        if name == "position":
            return min(POSITIONS, most_children(self.schema, table))
        if name == "remaining":
            return remaining_size(most_children(self.schema, table) - 1)
        if name == "reference":
            return len(self.dag.owners(table))
        if name in _elapsed(self.schema.tables[table]):
            return DEFAULT_BINS
        if name.startswith("room("):
            return ROOMS
        described = self.schema.tables[table]
        if name in {f"pace({column})" for column in (*described.columns, *described.references)}:
            return PACES
        known = name in described.columns or described.drawn_reference(name) is not None
        return self.value(table, name) if known else self.vocabulary(table)


def _elapsed(table: Table) -> set[str]:
    """How far its sequences have come: one free history for each column that has a first value."""
    return {
        f"elapsed({name})" for name, column in table.columns.items() if isinstance(column, Ordinal) and column.first is not None
    }


def group_domains(
    schema: Schema, dag: DatasetDag, bounds: Mapping[str, RowBound], groups: Sequence[ColumnGroup]
) -> tuple[dict[str, GroupDomains], list[Fault]]:
    """The domains of each group by the group's name, and a fault for every size that the schema leaves open."""
    sizes = _Sizes(schema, dag, bounds, {})
    nodes: dict[Node, tuple[int, int]] = {}
    for group in groups:
        unrolled = 0
        for column in group.columns:
            repeat = sizes.repeat(group, column)
            nodes[group.table, group.part, column.name] = (sizes.of(group, column), repeat)
            unrolled += repeat if column.repeat != 1 else 0
        if unrolled > MAX_UNROLLED:
            path: Path = ("tables", group.table, "parent")
            sizes.faults.setdefault(path, _too_large(sizes.link(group.table), path, unrolled))
    domains: dict[str, GroupDomains] = {}
    if not sizes.faults:
        domains = {group.name: _group(sizes, nodes, group) for group in groups}
    return domains, list(sizes.faults.values())


def _group(sizes: _Sizes, nodes: Mapping[Node, tuple[int, int]], group: ColumnGroup) -> GroupDomains:
    own = [(column, nodes[group.table, group.part, column.name]) for column in group.columns]
    columns = Domain.of(pair for column, (size, repeat) in own for pair in _spread(column.name, size, repeat))
    history = Domain.of(pair for column in group.history for pair in _looked_at(sizes, nodes, group, column))
    learned = (c.name for c in group.columns if _learned(sizes.schema, group, c))
    return GroupDomains(columns, history, frozenset(learned))


def _too_large(link: Parent, path: Path, unrolled: int) -> Fault:
    if link.vocabulary is None:
        what = f"the vocabulary {link.via} would unroll into {unrolled:,} columns, more than {MAX_UNROLLED}"
        remedy = "Write vocabulary: {select: 50, rest: rows}: 50 keys get a column, chosen with budget; the rest are rows"
    else:
        columns = max(1, unrolled // max(1, link.vocabulary.select))
        keys = f"the {link.vocabulary.select:,} selected keys of {link.via}"
        what = f"{keys} would unroll into {unrolled:,} columns, more than {MAX_UNROLLED}"
        remedy = f"Write select: {max(1, MAX_UNROLLED // columns)} or less"
    return Fault(path, what, remedy)


def _spread(name: str, size: int, repeat: int) -> list[tuple[str, int]]:
    return [(name, size)] if repeat == 1 else [(f"{name}#{i}", size) for i in range(repeat)]


def _looked_at(
    sizes: _Sizes, nodes: Mapping[Node, tuple[int, int]], group: ColumnGroup, column: HistoryColumn
) -> list[tuple[str, int]]:
    if column.kind == "free":
        return [(str(column), sizes.free(column.table, column.name))]
    size, repeat = nodes[column.table, column.part, column.name]
    # A row that may not be there (before the first, a reference that is NULL, above an orphan) is a code of its own.
    absent = column.lag > 0 or column.kind in ("same_item", "reference", "beside")
    if column.kind == "ancestor" and column.lag == 0:
        absent = _above_orphans(sizes, group.table, column.table)
    return _spread(str(column), size + absent, repeat)


def _above_orphans(sizes: _Sizes, table: str, ancestor: str) -> bool:
    """Whether rows of a table may be orphans, or depend on orphans, and so have nobody for that ancestor."""
    seen, waiting = {table}, [table]
    while waiting:
        for edge in sizes.dag.owners(waiting.pop()):
            link = sizes.schema.parent(edge.child) if edge.kind == "parent" else None
            if link is not None and link.orphans == "entity":
                return True
            if edge.owner != ancestor and edge.owner not in seen:
                seen.add(edge.owner)
                waiting.append(edge.owner)
    return False


def is_learned(schema: Schema, table: str, name: str) -> bool:
    """Whether fitting has to learn this domain, and pay for it."""
    described = schema.tables[table]
    if (reference := described.drawn_reference(name)) is not None:
        return reference.kind == "public" and (reference.learn or _fewer(schema, reference.table, reference.max_values))
    column = described.columns.get(name)
    if isinstance(column, Code) and column.values is None and column.vocabulary_table is not None:
        return column.learn or _fewer(schema, column.vocabulary_table, column.max_values)
    return column is not None and column.is_learned


def _fewer(schema: Schema, public: str, most: int | None) -> bool:
    """Whether only some keys of a public table are kept: which ones is chosen with budget."""
    rows = schema.tables[public].rows if public in schema.tables else None
    return most is not None and (rows is None or most < rows)


def _learned(schema: Schema, group: ColumnGroup, column: GroupColumn) -> bool:
    if column.column is None:
        return False
    if group.part == "context" and column.role in ("exists", "derived"):
        link = schema.parent(group.table)
        large = link.vocabulary if link is not None else None
        if link is not None and large is not None and _fewer(schema, link.via or "", large.select):
            return True
    return is_learned(schema, column.table or group.table, column.column)


def is_category(schema: Schema, table: str, name: str) -> bool:
    """Whether what is learned is a list of values that nobody has written down: that takes a δ above 0.

    The keys of a public table are known to everybody. Which of them to keep is a matter of counts, and takes none.
    """
    column = schema.tables[table].columns.get(name)
    return isinstance(column, Listed) and not (isinstance(column, Code) and column.vocabulary is not None)


def measures_any_bins(schema: Schema, groups: Sequence[ColumnGroup]) -> bool:
    """Whether bins have to be placed where the data is, which is paid from the learning share too."""
    for group in groups:
        for column in group.columns:
            described = schema.tables[column.table or group.table].columns.get(column.column or "")
            # Where a sequence has a first value, the bins of how far it has come are measured too.
            if described is not None and (column.role == "first" or described.measures_bins):
                return True
    return False
