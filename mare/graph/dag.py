"""The dataset DAG: tables, their foreign keys, and the order in which they can be generated (mare-2024, III.A).

First step of the graph room. Edges point from the referring table to the table it refers to. Generation runs
against them, but for owned tables: those are made with, hence after, the row that refers to them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal, cast

import networkx as nx

from mare.errors import SchemaError
from mare.schema import Schema
from mare.schema.checks import find_graph_faults
from mare.schema.columns import Code
from mare.schema.faults import describe
from mare.schema.layout import Layout, link_cap

TableRole = Literal["entity", "private", "owned", "pool", "public"]
"""Exactly one per table. Ignored tables are not in the graph."""

ReferenceKind = Literal["ancestor", "public", "same_entity", "earlier", "other_entity", "owned", "pool", "broken"]
EdgeKind = Literal["parent", "via", "vocabulary", "lookup", "sees"] | ReferenceKind
"""`via`: the public side of an association; `vocabulary`: the codes of a code column; `lookup`: a determined description;
`sees`: not a foreign key, but an order that the schema asks for. The others are the kinds of references."""

UNORDERED: frozenset[EdgeKind] = frozenset({"earlier", "other_entity", "broken"})
"""These do not ask for the other table first: an earlier row of the same table, a key drawn at random, NULL."""
REFERENCES: frozenset[EdgeKind] = frozenset(ReferenceKind.__args__)  # type: ignore[attr-defined]


@dataclass(frozen=True)
class TableNode:
    """One table of the graph, or the entity that no table holds."""

    name: str
    role: TableRole
    by_column: bool = False
    """An entity by column: it has no rows of its own in the source, and no columns."""


@dataclass(frozen=True)
class TableEdge:
    """`child` refers to `parent`. Several may join the same two tables (billing and shipping address)."""

    child: str
    parent: str
    kind: EdgeKind
    name: str
    """The reference's name, or the column(s) of the foreign key."""
    cap: int | None = None
    """How many rows the owning row may have through this edge. None: not bounded here, or not a matter of ownership."""
    nullable: bool = False
    by: Literal["position", "interval"] | None = None
    """Of a same-entity reference: how the row is found."""

    @property
    def before(self) -> str:
        """The table of the two that is generated first."""
        return self.child if self.kind == "owned" else self.parent

    @property
    def after(self) -> str:
        return self.parent if self.kind == "owned" else self.child

    @property
    def owner(self) -> str:
        """Of an edge of ownership: the table that a row belongs to through it."""
        return self.before


@dataclass(frozen=True)
class DatasetDag:
    """Tables and foreign keys: complete, acyclic for generation, every private table owned by the entity."""

    nodes: tuple[TableNode, ...]
    """In the order of the schema; an entity by column comes first."""
    edges: tuple[TableEdge, ...]
    layout: Layout = field(compare=False, repr=False)

    @classmethod
    def of(cls, schema: Schema) -> DatasetDag:
        """The graph of a schema, or a `SchemaError` that names everything that keeps its tables from an order and an owner."""
        if faults := find_graph_faults(schema):
            raise SchemaError(describe(faults, schema.name or "schema"), faults)
        layout = Layout(schema)
        nodes = [TableNode(schema.entity_name, "entity", by_column=True)] if schema.entity_name and schema.entity_holder else []
        nodes += [TableNode(name, cast(TableRole, role)) for name, role in layout.roles.items() if role != "ignored"]
        known = {node.name for node in nodes}
        edges = [edge for node in nodes if not node.by_column for edge in _edges(schema, node) if edge.parent in known]
        return cls(tuple(nodes), tuple(edges), layout)

    @cached_property
    def _by_name(self) -> dict[str, TableNode]:
        return {node.name: node for node in self.nodes}

    @cached_property
    def _owners(self) -> dict[str, tuple[TableEdge, ...]]:
        owners: dict[str, list[TableEdge]] = {node.name: [] for node in self.nodes}
        for edge in self.edges:
            if edge.kind == "parent":
                owners[edge.child].append(edge)
            elif edge.kind == "owned":
                owners[edge.parent].append(edge)
        return {name: tuple(edges) for name, edges in owners.items()}

    def node(self, name: str) -> TableNode:
        return self._by_name[name]

    def tables(self, *roles: TableRole) -> tuple[str, ...]:
        """The real tables with these roles (all without), in the order of the schema."""
        return tuple(n.name for n in self.nodes if not n.by_column and (not roles or n.role in roles))

    @property
    def entity(self) -> TableNode:
        return next(node for node in self.nodes if node.role == "entity")

    def owners(self, table: str) -> tuple[TableEdge, ...]:
        """The edges of ownership: to the table's parent, or from each reference that owns its rows."""
        return self._owners[table]

    def generation_order(self) -> tuple[str, ...]:
        """All real tables, each after what it needs or looks at; public ones and pools first, else as the schema lists them."""
        place = {node.name: (node.role not in ("public", "pool"), index) for index, node in enumerate(self.nodes)}
        needed = _generation(self)
        needed.add_edges_from((earlier, table) for table in self.tables("private") for earlier in self.earlier_siblings(table))
        order = nx.lexicographical_topological_sort(needed, key=lambda name: place[name])
        return tuple(name for name in order if not self.node(name).by_column)

    def earlier_siblings(self, table: str) -> tuple[str, ...]:
        """Tables below an ancestor, not ancestors themselves, whose numbers of rows a table may look at: those before it in an
        order that depends on what tables need and on their names, not on how a schema lists them."""
        ancestors, before = self.ancestors(table), self._order_by_name[: self._order_by_name.index(table)]
        return tuple(
            other
            for other in before
            if self.node(other).role == "private" and other not in ancestors and self.layout.parent_name(other) in ancestors
        )

    @cached_property
    def _order_by_name(self) -> tuple[str, ...]:
        place = {node.name: (node.role not in ("public", "pool"), node.name) for node in self.nodes}
        order = nx.lexicographical_topological_sort(_generation(self), key=lambda name: place[name])
        return tuple(name for name in order if not self.node(name).by_column)

    def ancestors(self, table: str) -> tuple[str, ...]:
        """Whom a row can be joined to n:1 by ownership, nearest first. With several owners: what all of them share."""
        return self.layout.ancestors(table)


def _generation(dag: DatasetDag) -> nx.DiGraph[str]:
    graph: nx.DiGraph[str] = nx.DiGraph()
    graph.add_nodes_from(node.name for node in dag.nodes)
    public = {node.name for node in dag.nodes if node.role == "public"}
    # Public tables are copied, so none of them waits for another: what refers in a circle there is no circle.
    # Nor does a pool wait for itself: who refers to whom in it is drawn when its rows are there.
    waiting = (e for e in dag.edges if e.kind not in UNORDERED and e.before != e.after and not {e.before, e.after} <= public)
    graph.add_edges_from((e.before, e.after) for e in waiting)
    return graph


def _edges(schema: Schema, node: TableNode) -> Iterator[TableEdge]:
    name, table, link = node.name, schema.tables[node.name], schema.parent(node.name)
    if link is not None and link.table is not None and node.role == "private":
        cap, columns = link_cap(schema, name), ", ".join(schema.parent_columns(name))
        yield TableEdge(name, link.table, "parent", columns, cap.rows if cap is not None else None)
        if link.via is not None and link.type == "associative":
            yield TableEdge(name, link.via, "via", ", ".join(link.column_via or ()))
        yield from (TableEdge(name, sibling, "sees", sibling) for sibling in table.sees)
    for label, reference in table.references.items():
        by = reference.by if reference.kind == "same_entity" else None
        owns = 1 if reference.kind == "owned" else None
        yield TableEdge(name, reference.table, reference.kind, label, cap=owns, nullable=reference.nullable, by=by)
    for label, column in table.columns.items():
        if isinstance(column, Code) and column.vocabulary_table is not None:
            yield TableEdge(name, column.vocabulary_table, "vocabulary", label)
        if column.determined is not None and column.determined.lookup is not None:
            yield TableEdge(name, column.determined.lookup.table, "lookup", label)
