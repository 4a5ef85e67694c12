"""The correlation PDAG: which columns may look at which (mare-2024, III.B), and by which rules.

Nodes are columns, `a → b` means that b is generated after a and may look at it, `a — b` that they are generated together.
It is the graph of the row being generated: earlier rows appear as its sources only, for their own edges are the same ones,
moved. All columns of one part of one row are joined to each other, and an arrow from one part to another stands for
arrows between all their columns; so the graph is kept by blocks, and column edges are never written out.

`correlation_pdag` holds the paper's rules, from tables to correlations (mare-2024, III.C and IV). What the paper leaves open is
settled here:

- A same-entity reference is a join upwards, but which row it leads to is generated with the row. It is generated first (the head
  of the row, which may look at how many rows there are to choose from), and the columns of the row it leads to are history
  for the rest. By interval, the row's time is then drawn inside that row's.
- The same holds for `history_by`: the item is generated first, then the previous row of that item is known.
- Only a table's own references lead anywhere, not those of its ancestors; and public tables are no history, for their
  columns follow from the key.
- Lags are carried one step down: the context of a sequence's child looks at the sequence's previous rows and at the
  contexts of those; the child's rows look at neither.
"""

from __future__ import annotations

from dataclasses import dataclass

import networkx as nx

from mare.schema import Schema
from mare.schema.layout import link_cap, link_memory

from .dag import DatasetDag
from .groups import ColumnGroup, GroupColumn, HistoryColumn, HistoryKind, Part
from .modelled import TableParts, table_parts


@dataclass(frozen=True)
class Block:
    """Columns that are generated together: a clique of undirected edges."""

    table: str
    part: Part
    columns: tuple[GroupColumn, ...]


@dataclass(frozen=True)
class Arrow:
    """Directed edges from all these columns of one block (or of what is known for free) to all columns of another."""

    source: tuple[str, Part]
    columns: tuple[str, ...]
    target: tuple[str, Part]
    kind: HistoryKind
    lag: int = 0
    reference: str | None = None

    def history(self) -> tuple[HistoryColumn, ...]:
        return tuple(HistoryColumn(*self.source, column, self.kind, self.lag, self.reference) for column in self.columns)


@dataclass(frozen=True)
class CorrelationPdag:
    """Blocks and the arrows between them. `correlation_pdag` builds it."""

    blocks: tuple[Block, ...]
    """In the order of generation of their tables."""
    arrows: tuple[Arrow, ...]

    def block_graph(self) -> nx.DiGraph[tuple[str, Part]]:
        """What has to be generated before what. Earlier rows are left out: a part may look at its own past."""
        graph: nx.DiGraph[tuple[str, Part]] = nx.DiGraph()
        graph.add_nodes_from((block.table, block.part) for block in self.blocks)
        graph.add_edges_from((a.source, a.target) for a in self.arrows if a.kind != "free" and a.lag == 0)
        return graph

    def groups(self) -> tuple[ColumnGroup, ...]:
        """ "MARE topologically sorts the CPDAG and forms groups where nodes in each group have bidirectional edges to each
        other" (IV.A). Among equals the order of the blocks decides."""
        blocks = {(block.table, block.part): block for block in self.blocks}
        history: dict[tuple[str, Part], list[HistoryColumn]] = {key: [] for key in blocks}
        for arrow in self.arrows:
            history[arrow.target] += arrow.history()
        place = {key: index for index, key in enumerate(blocks)}
        order = nx.lexicographical_topological_sort(self.block_graph(), key=lambda key: place[key])
        return tuple(ColumnGroup(*key, blocks[key].columns, tuple(history[key])) for key in order)


PARTS: tuple[Part, ...] = ("context", "head", "rows")


def correlation_pdag(schema: Schema, dag: DatasetDag | None = None) -> CorrelationPdag:
    """The correlation PDAG of a schema. Reads no data."""
    dag = dag or DatasetDag.of(schema)
    parts = {node.name: table_parts(schema, dag, node.name) for node in dag.nodes}
    blocks, arrows = [], list[Arrow]()
    for table in dag.generation_order():
        rules = _Rules(schema, dag, parts, table)
        for part in PARTS:
            columns = parts[table].part(part)
            if columns:
                blocks.append(Block(table, part, columns))
                arrows += rules.into(part)
    return CorrelationPdag(tuple(blocks), tuple(arrows))


class _Rules:
    """The arrows into the parts of one table, in the order in which history is listed."""

    def __init__(self, schema: Schema, dag: DatasetDag, parts: dict[str, TableParts], table: str) -> None:
        self.schema, self.dag, self.parts, self.table = schema, dag, parts, table
        self.own = parts[table]
        self.link = schema.parent(table) if dag.node(table).role == "private" else None

    def into(self, part: Part) -> list[Arrow]:
        return {"context": self.context, "head": self.head, "rows": self.rows}[part]()

    def context(self) -> list[Arrow]:
        """One row per parent row. "They receive the parent table and its history as history" (IV.B)."""
        arrows = self._joined("context")
        parent = self.schema.parent_name(self.table)
        if parent is not None and self.own.rooms:
            arrows.append(Arrow((parent, "rows"), self.own.rooms, (self.table, "context"), "free"))
        above = self.schema.parent(parent) if parent is not None else None
        if parent is None or above is None:
            return arrows
        # "We extend the sequentiality of table cycles to context table of prescriptions" (IV).
        for lag in range(1, link_memory(self.schema, parent) + 1):
            arrows += self._from(parent, "head", "context", "previous", lag)
            arrows += self._from(parent, "rows", "context", "previous", lag)
            arrows += self._from(self.table, "context", "context", "previous", lag)
        if above.type == "sequential":
            arrows += self._free(parent, "context")
        return arrows

    def head(self) -> list[Arrow]:
        arrows = self._joined("head")
        seen = {arrow.source for arrow in arrows}
        for reference in self.own.references:
            # A position means something only against how many rows there are to choose from.
            to = self.schema.tables[self.table].references[reference].table
            if self.schema.parent_name(to) in self.dag.ancestors(self.table) and (to, "context") not in seen:
                seen.add((to, "context"))
                others = tuple(c.name for c in self.parts[to].context if c.role != "count")
                arrows += self._from(to, "context", "head", "sibling", without=others)
        return [*arrows, *self._own_context("head"), *self._past("head"), *self._free(self.table, "head")]

    def rows(self) -> list[Arrow]:
        arrows = [*self._joined("rows"), *self._own_context("rows"), *self._from(self.table, "head", "rows", "head")]
        for reference in self.own.references:
            to = self.schema.tables[self.table].references[reference].table
            arrows += self._from(to, "head", "rows", "reference", reference=reference)
            arrows += self._from(to, "rows", "rows", "reference", reference=reference)
        arrows += self._past("rows")
        if self.own.items:
            # The item itself is left out: it is the same by definition.
            arrows += self._from(self.table, "head", "rows", "same_item", 1, without=self.own.items)
            arrows += self._from(self.table, "rows", "rows", "same_item", 1)
        return [*arrows, *self._free(self.table, "rows")]

    def _joined(self, target: Part) -> list[Arrow]:
        """ "Given table X which can be recursively joined to table Y, we add directed edges from the columns of Y to the
        columns of X" (III.C); with the contexts on the way, with the siblings that the schema lets it see (their context, and the
        row beside its own), and with how many rows the other earlier ones have: who has a loan has an order to pay it."""
        arrows = []
        ancestors = self.dag.ancestors(self.table)
        for ancestor in reversed(ancestors):
            for part in PARTS:
                arrows += self._from(ancestor, part, target, "ancestor")
        for sibling in self.schema.tables[self.table].sees if self.link is not None else ():
            arrows += self._from(sibling, "context", target, "sibling")
            link = self.schema.parent(sibling)
            if link is not None and link.type != "associative":  # of which the context says all
                arrows += self._from(sibling, "head", target, "beside")
                arrows += self._from(sibling, "rows", target, "beside")
        seen = self.schema.tables[self.table].sees
        for sibling in (s for s in self.dag.earlier_siblings(self.table) if s not in seen) if self.link is not None else ():
            others = tuple(c.name for c in self.parts[sibling].context if c.role != "count")
            arrows += self._from(sibling, "context", target, "sibling", without=others)
        return arrows

    def _own_context(self, target: Part) -> list[Arrow]:
        # Of a row that has no siblings, how many there are says nothing.
        cap = link_cap(self.schema, self.table) if self.link is not None else None
        alone = ("count",) if cap is not None and cap.rows == 1 else ()
        return self._from(self.table, "context", target, "context", without=alone)

    def _past(self, target: Part) -> list[Arrow]:
        """ "Directed edges to each row from the columns of up to the previous n rows" (III.C)."""
        arrows = []
        for lag in range(1, (link_memory(self.schema, self.table) if self.link is not None else 0) + 1):
            arrows += self._from(self.table, "head", target, "previous", lag)
            arrows += self._from(self.table, "rows", target, "previous", lag)
        return arrows

    def _free(self, table: str, target: Part) -> list[Arrow]:
        """What is known without being modelled (design.md, Graphs)."""
        free = self.parts[table].free
        return [Arrow((table, "rows"), free, (self.table, target), "free")] if free else []

    def _from(
        self,
        table: str,
        part: Part,
        target: Part,
        kind: HistoryKind,
        lag: int = 0,
        reference: str | None = None,
        without: tuple[str, ...] = (),
    ) -> list[Arrow]:
        names = tuple(c.name for c in self.parts[table].part(part) if c.name not in without)
        return [Arrow((table, part), names, (self.table, target), kind, lag, reference)] if names else []


def column_groups(schema: Schema, dag: DatasetDag | None = None) -> tuple[ColumnGroup, ...]:
    """One group per model, each after everything that it may look at. Reads no data."""
    return correlation_pdag(schema, dag).groups()
