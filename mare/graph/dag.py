"""The dataset DAG: tables, their foreign keys, and the order in which they can be generated (mare-2024, III.A).

First step of the graph room. Edges point from the referring table to the table it refers to. Generation runs
against them, but for owned tables: those are made with, hence after, the row that refers to them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import networkx as nx

from mare.errors import SchemaError
from mare.schema import Fault, Schema
from mare.schema.caps import link_cap, link_memory
from mare.schema.columns import Code
from mare.schema.faults import describe
from mare.schema.links import Relationship

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
    virtual: bool = False
    """An entity by column: it has no rows of its own in the source, and no columns."""


@dataclass(frozen=True)
class TableEdge:
    """`child` refers to `parent`. Several may join the same two tables (billing and shipping address)."""

    child: str
    parent: str
    kind: EdgeKind
    name: str
    """The reference's name, or the column(s) of the foreign key."""
    relationship: Relationship | None = None
    """Of a parent edge: how siblings are correlated."""
    memory: int = 0
    """Of a parent edge: the Markov order, 0 for what is not a sequence."""
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

    @classmethod
    def of(cls, schema: Schema) -> DatasetDag:
        """The graph of a schema, or a `SchemaError` that names every fault."""
        nodes, faults = _nodes(schema)
        known = {node.name for node in nodes}
        edges: list[TableEdge] = []
        for node in nodes:
            if not node.virtual:
                edges += _edges(schema, node, known, faults)
        dag = cls(nodes, tuple(edges))
        faults += _two_owners(dag)
        if not faults:
            faults += _cycles(dag)
        if not faults:
            faults += _unattached(dag)
        if faults:
            raise SchemaError(describe(faults, schema.name or "schema"), tuple(faults))
        return dag

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
        return tuple(n.name for n in self.nodes if not n.virtual and (not roles or n.role in roles))

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
        return tuple(name for name in order if not self.node(name).virtual)

    def earlier_siblings(self, table: str) -> tuple[str, ...]:
        """Tables below an ancestor, not ancestors themselves, whose numbers of rows a table may look at: those before it in an
        order that depends on what tables need and on their names, not on how a schema lists them."""
        ancestors, before = self.ancestors(table), self._order_by_name[: self._order_by_name.index(table)]
        return tuple(
            other
            for other in before
            if self.node(other).role == "private" and other not in ancestors and self._parents[other] & set(ancestors)
        )

    @cached_property
    def _order_by_name(self) -> tuple[str, ...]:
        place = {node.name: (node.role not in ("public", "pool"), node.name) for node in self.nodes}
        order = nx.lexicographical_topological_sort(_generation(self), key=lambda name: place[name])
        return tuple(name for name in order if not self.node(name).virtual)

    @cached_property
    def _parents(self) -> dict[str, set[str]]:
        above = {node.name: set[str]() for node in self.nodes}
        for edge in self.edges:
            if edge.kind == "parent":
                above[edge.child].add(edge.parent)
        return above

    def ancestors(self, table: str) -> tuple[str, ...]:
        """Whom a row can be joined to n:1 by ownership, nearest first. With several owners: what all of them share."""
        return self._ancestors[table]

    @cached_property
    def _ancestors(self) -> dict[str, tuple[str, ...]]:
        """Of every table, each worked out once: owners upon owners have exponentially many ways up."""
        known: dict[str, tuple[str, ...]] = {}

        def of(table: str) -> tuple[str, ...]:
            if table not in known:
                chains = [(up, *of(up)) for up in dict.fromkeys(edge.owner for edge in self.owners(table))]
                shared = set(chains[0]).intersection(*chains[1:]) if chains else set[str]()
                known[table] = tuple(name for name in chains[0] if name in shared) if chains else ()
            return known[table]

        for node in self.nodes:
            of(node.name)
        return known

    def leads_to_entity(self, table: str) -> bool:
        """Whether some chain of owners ends at the entity, without listing all chains."""
        seen, waiting = set[str](), [table]
        while waiting:
            at = waiting.pop()
            if self.node(at).role == "entity":
                return True
            seen.add(at)
            waiting += [edge.owner for edge in self.owners(at) if edge.owner not in seen]
        return False


def _generation(dag: DatasetDag) -> nx.DiGraph[str]:
    graph: nx.DiGraph[str] = nx.DiGraph()
    graph.add_nodes_from(node.name for node in dag.nodes)
    public = {node.name for node in dag.nodes if node.role == "public"}
    # Public tables are copied, so none of them waits for another: what refers in a circle there is no circle.
    waiting = (e for e in dag.edges if e.kind not in UNORDERED and not {e.before, e.after} <= public)
    graph.add_edges_from((e.before, e.after) for e in waiting)
    return graph


def _nodes(schema: Schema) -> tuple[tuple[TableNode, ...], list[Fault]]:
    faults: list[Fault] = []
    entity, holder = schema.entity_name, schema.entity_holder
    if entity is None:
        faults.append(
            Fault(("entity",), "no entity", "Name the table of the people to protect, or {table: …, by: column}", "unsettled")
        )
    elif (named := holder or entity) not in schema.tables:
        path = ("entity",) if holder is None else ("entity", "table")
        faults.append(Fault(path, f"there is no table {named!r}", f"Known tables: {', '.join(schema.tables)}"))
    elif holder is not None and entity in schema.tables:
        what = f"the entity by column would be called {entity!r}, as one of the tables is"
        faults.append(Fault(("entity", "name"), what, "Give it a `name` of its own"))
    owned = {ref.table for table in schema.tables.values() for ref in table.references.values() if ref.kind == "owned"}
    nodes = [TableNode(entity, "entity", virtual=True)] if entity and holder is not None else []
    for name, table in schema.tables.items():
        if table.ignore:
            continue
        if table.public:
            nodes.append(TableNode(name, "public"))
        elif table.pool is not None:
            nodes.append(TableNode(name, "pool"))
        elif holder is None and name == entity:
            nodes.append(TableNode(name, "entity"))
        elif schema.parent(name) is not None:
            nodes.append(TableNode(name, "private"))
        elif name in owned:
            nodes.append(TableNode(name, "owned"))
        elif entity is not None:
            remedy = "Give it a `parent`, let a reference own it (`kind: owned`), or mark it `public`, `pool` or `ignore`"
            faults.append(Fault(("tables", name), "no path joins it to the entity", remedy))
    return tuple(nodes), faults


def _edges(schema: Schema, node: TableNode, known: set[str], faults: list[Fault]) -> list[TableEdge]:
    table, here, edges = schema.tables[node.name], ("tables", node.name), list[TableEdge]()

    def add(path: tuple[str, ...], edge: TableEdge) -> None:
        if edge.parent in known:
            edges.append(edge)
        elif edge.parent in schema.tables and schema.tables[edge.parent].ignore:
            if edge.kind == "parent":
                faults.append(
                    Fault((*here, *path), f"its parent {edge.parent!r} is ignored", "Ignore this table too, or keep both")
                )
        elif edge.parent not in schema.tables:
            faults.append(
                Fault((*here, *path), f"there is no table {edge.parent!r}", f"Known tables: {', '.join(schema.tables)}")
            )

    link = schema.parent(node.name)
    if link is not None and node.role == "private":
        if link.table is None:
            faults.append(Fault((*here, "parent"), "it names no table", "Write `table:` with the table the rows belong to"))
        else:
            columns = ", ".join(schema.parent_columns(node.name))
            parent_cap, memory = link_cap(schema, node.name), link_memory(schema, node.name)
            add(
                ("parent", "table"),
                TableEdge(node.name, link.table, "parent", columns, link.type, memory, parent_cap.rows if parent_cap else None),
            )
        if link.via is not None and link.type == "associative":
            add(("parent", "via"), TableEdge(node.name, link.via, "via", ", ".join(link.column_via or ())))
        for sibling in table.sees:
            add(("sees",), TableEdge(node.name, sibling, "sees", sibling))
    for name, reference in table.references.items():
        by = reference.by if reference.kind == "same_entity" else None
        cap = 1 if reference.kind == "owned" else None
        edge = TableEdge(node.name, reference.table, reference.kind, name, cap=cap, nullable=reference.nullable, by=by)
        add(("references", name, "table"), edge)
    for name, column in table.columns.items():
        if isinstance(column, Code) and column.vocabulary_table is not None:
            add(("columns", name, "vocabulary"), TableEdge(node.name, column.vocabulary_table, "vocabulary", name))
        if column.determined is not None and column.determined.lookup is not None:
            add(("columns", name, "determined"), TableEdge(node.name, column.determined.lookup.table, "lookup", name))
    return edges


def _two_owners(dag: DatasetDag) -> list[Fault]:
    """Only an owned table may have several owners, and only through references: its rows are made anew for each."""
    faults = []
    for edge in dag.edges:
        if edge.kind == "owned" and dag.node(edge.parent).role != "owned":
            role = dag.node(edge.parent).role
            what = f"{edge.parent!r} is a table of its own ({role}) and cannot also be owned"
            remedy = "Write another `kind`, or take its `parent` away so that this reference is the only owner"
            faults.append(Fault(("tables", edge.child, "references", edge.name), what, remedy))
    return faults


def _cycles(dag: DatasetDag) -> list[Fault]:
    faults = []
    graph = _generation(dag)
    place = {node.name: index for index, node in enumerate(dag.nodes)}
    for component in sorted(nx.strongly_connected_components(graph), key=lambda c: min(place[name] for name in c)):
        if len(component) == 1 and not graph.has_edge(*(list(component) * 2)):
            continue
        start = min(component, key=lambda name: place[name])
        loop = [a for a, _ in nx.find_cycle(graph.subgraph(component), start)]
        inside = [e for e in dag.edges if e.kind not in UNORDERED and e.before in component and e.after in component]
        breakable = [f"tables.{e.child}.references.{e.name}" for e in inside if e.kind in REFERENCES]
        what = f"a cycle: {' → '.join([*loop, loop[0]])}; no table of it can be generated first"
        if breakable:
            remedy = f"Write `kind: broken` for one of them (it will be NULL): {', '.join(breakable)}"
            if len(component) == 1:
                remedy += "; or `kind: earlier` if it points to an earlier row of the same sequence"
        else:
            remedy = "Only parents and `sees` make this cycle: change one of them"
        faults.append(Fault(("tables", start), what, remedy))
    return faults


def _unattached(dag: DatasetDag) -> list[Fault]:
    remedy = "Follow its parents: the chain has to end at the entity, not at a public table or a pool"
    return [
        Fault(("tables", node.name, "parent"), f"its chain of parents does not lead to {dag.entity.name!r}", remedy)
        for node in dag.nodes
        if node.role in ("private", "owned") and not dag.leads_to_entity(node.name)
    ]
