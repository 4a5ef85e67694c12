"""The correlation PDAG: which columns may look at which (mare-2024, III.B), as a value.

Nodes are columns, `a → b` means that b is generated after a and may look at it, `a — b` that they are generated together.
It is the graph of the row being generated: earlier rows appear as its sources only, for their own edges are the same ones,
moved. All columns of one part of one row are joined to each other, and an arrow from one part to another stands for
arrows between all their columns; so the graph is kept by blocks, and column edges are never written out.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import networkx as nx

from .groups import ColumnGroup, GroupColumn, HistoryColumn, HistoryKind, Part


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
    """Blocks and the arrows between them. `mare.graph.rules.correlation_pdag` builds it."""

    blocks: tuple[Block, ...]
    """In the order of generation of their tables."""
    arrows: tuple[Arrow, ...]

    @cached_property
    def _into(self) -> dict[tuple[str, Part], tuple[Arrow, ...]]:
        into: dict[tuple[str, Part], list[Arrow]] = {}
        for arrow in self.arrows:
            into.setdefault(arrow.target, []).append(arrow)
        return {target: tuple(arrows) for target, arrows in into.items()}

    def into(self, table: str, part: Part) -> tuple[Arrow, ...]:
        """What the part may look at."""
        return self._into.get((table, part), ())

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
        place = {key: index for index, key in enumerate(blocks)}
        order = nx.lexicographical_topological_sort(self.block_graph(), key=lambda key: place[key])
        return tuple(
            ColumnGroup(*key, blocks[key].columns, tuple(h for arrow in self.into(*key) for h in arrow.history()))
            for key in order
        )
