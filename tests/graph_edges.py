"""Graphs written out edge by edge, for tests: what mare keeps by blocks of columns, or sums without listing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations, product

from mare.graph.dag import DatasetDag, TableEdge
from mare.graph.groups import HistoryKind, Part
from mare.graph.pdag import Arrow, Block, CorrelationPdag


@dataclass(frozen=True)
class Node:
    """One column of one row, seen from the row that is being generated."""

    table: str
    part: Part
    column: str
    lag: int = 0
    row: str = ""
    """Which other row it is, where neither ownership nor the lag tells: `same item`, or the reference that leads to it."""


def nodes_of(block: Block) -> tuple[Node, ...]:
    return tuple(Node(block.table, block.part, c.name) for c in block.columns)


def undirected(pdag: CorrelationPdag) -> Iterator[tuple[Node, Node]]:
    """`a — b`: columns of one block."""
    for block in pdag.blocks:
        yield from combinations(nodes_of(block), 2)


def directed(pdag: CorrelationPdag) -> Iterator[tuple[Node, Node, HistoryKind]]:
    """`a → b`: a is history for b, and why."""
    blocks = {(block.table, block.part): block for block in pdag.blocks}
    for arrow in pdag.arrows:
        for a, b in product(_sources(arrow), nodes_of(blocks[arrow.target])):
            yield a, b, arrow.kind


def _sources(arrow: Arrow) -> tuple[Node, ...]:
    row = "same item" if arrow.kind == "same_item" else (arrow.reference or "")
    return tuple(Node(*arrow.source, column, arrow.lag, row) for column in arrow.columns)


def paths_to_entity(dag: DatasetDag, table: str) -> tuple[tuple[TableEdge, ...], ...]:
    """Every way a row of the table can belong to the entity: S is the sum over them of the products of caps."""
    if dag.node(table).role == "entity":
        return ((),)
    return tuple((edge, *rest) for edge in dag.owners(table) for rest in paths_to_entity(dag, edge.owner))


def caps_of_paths(dag: DatasetDag, table: str) -> list[tuple[int | None, ...]]:
    """Of each such way, the cap of each step; None where the schema does not bound it."""
    return [tuple(edge.cap for edge in path) for path in paths_to_entity(dag, table)]
