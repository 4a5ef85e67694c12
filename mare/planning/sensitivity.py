"""S: how many rows one entity may have in a column group. The guarantee rests on it.

It comes from caps that are enforced (mare-2024, V: the product of ``|X|`` along a path to the entity, summed over
paths where a table has several), or from the lower cap per entity; never from the data's maximum. Every bound says
how it came about, because the person who set the caps has to recognise them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from mare.errors import InternalError
from mare.graph.dag import DatasetDag, TableEdge
from mare.graph.groups import Part
from mare.schema import Schema
from mare.schema.caps import Cap, link_cap
from mare.schema.faults import Fault

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
