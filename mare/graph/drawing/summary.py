"""What the graphs say, in few words: shared by the text and the picture."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from mare.graph.dag import REFERENCES, DatasetDag, TableEdge
from mare.graph.groups import HistoryColumn, HistoryKind, Part
from mare.schema import Schema
from mare.schema.caps import link_memory


@dataclass(frozen=True)
class Glance:
    """History columns that come from one place for one reason: `admissions.rows[-1,-2] (5)`, five columns of two rows."""

    table: str
    part: Part
    kind: HistoryKind
    columns: tuple[str, ...]
    lags: tuple[int, ...] = (0,)
    reference: str | None = None

    def __str__(self) -> str:
        if self.kind == "free":
            *most, last = self.columns
            known = f"{', '.join(most)} and {last}" if most else last
            return f"{self.table}: {known} (free)"
        place = f"{self.table}.{self.part}"
        if self.kind in ("same_item", "beside"):
            place += "[same item]" if self.kind == "same_item" else "[beside]"
        elif self.lags != (0,):
            place += f"[{','.join(f'-{lag}' for lag in self.lags)}]"
        if self.reference is not None:
            place += f" through {self.reference}"
        return f"{place} ({len(self.columns)})"


def glances(history: Iterable[HistoryColumn]) -> tuple[Glance, ...]:
    """History by where it comes from; the previous rows of one place become one entry with several lags."""
    places: dict[tuple[str, Part, HistoryKind, str | None], dict[int, list[str]]] = {}
    for h in history:
        places.setdefault((h.table, h.part, h.kind, h.reference), {}).setdefault(h.lag, []).append(h.name)
    return tuple(
        Glance(table, part, kind, tuple(next(iter(lags.values()))), tuple(lags), reference)
        for (table, part, kind, reference), lags in places.items()
    )


def counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def relationship(schema: Schema, dag: DatasetDag, table: str) -> str:
    """How the rows of a table belong to somebody: `sequential by admittime, memory 2, at most 10 rows (the last)`."""
    node, described = dag.node(table), schema.tables.get(table)
    if node.role == "entity" or described is None:
        return "the entity, told apart by a column" if node.virtual else "the entity: one row each"
    if node.role == "owned":
        owners = [f"{edge.child}.{edge.name}" + (" (nullable)" if edge.nullable else "") for edge in dag.owners(table)]
        return f"owned: one row for {' and one for '.join(owners)}"
    if node.role == "pool":
        return f"pool of {counted(described.pool.rows, 'fresh row') if described.pool else 'fresh rows'}"
    if node.role == "public":
        return "size not declared" if described.rows is None else counted(described.rows, "row")
    link = schema.parent(table)
    (edge,) = dag.owners(table)
    if link is None:
        return ""
    words: list[str] = [link.type]
    if link.type == "sequential":
        words[0] += f" by {', '.join(link.order_by)}" if link.order_by else ""
        words.append(f"memory {link_memory(schema, table)}")
    if link.type == "associative" and link.via is not None:
        words[0] += f" via {link.via}"
    if link.history_by:
        words.append(f"history by {', '.join(link.history_by)}")
    words.append("no cap yet" if edge.cap is None else f"at most {counted(edge.cap, 'row')}")
    if link.max_per_entity is not None:
        words.append(f"{link.max_per_entity:,} per entity")
    return ", ".join(words)


_KINDS = {
    "ancestor": "ancestor",
    "public": "public",
    "same_entity": "same entity",
    "earlier": "an earlier row",
    "other_entity": "another entity",
    "owned": "owned",
    "pool": "pool",
    "broken": "left NULL",
}


def reference_words(dag: DatasetDag, table: str) -> tuple[str, ...]:
    """The references of a table beyond its parent, those alike on one line, and what it sees.

    `hadm_id → admissions (same entity by interval, nullable)`. What it owns hangs below it anyway, and is left out.
    """
    alike: dict[tuple[str, str], list[str]] = {}
    for edge in dag.edges:
        hangs_below = edge.kind == "owned" and dag.owners(edge.parent)[0] == edge
        if edge.child == table and (edge.kind in REFERENCES or edge.kind == "sees") and not hangs_below:
            alike.setdefault(("", "sees") if edge.kind == "sees" else (edge.parent, _how(edge)), []).append(edge.name)
    return tuple(
        f"sees {' and '.join(names)}" if how == "sees" else f"{', '.join(names)} → {parent} ({how})"
        for (parent, how), names in alike.items()
    )


def wire_words(edge: TableEdge) -> str:
    """One reference, said of the table that makes it."""
    if edge.kind == "sees":
        return f"{edge.child} sees the context of {edge.parent}"
    return f"{edge.child}.{edge.name} → {edge.parent} ({_how(edge)})"


def _how(edge: TableEdge) -> str:
    words = [_KINDS[edge.kind] + (f" by {edge.by}" if edge.by is not None else "")]
    return ", ".join([*words, *(["nullable"] if edge.nullable else [])])


def used_by(dag: DatasetDag, table: str) -> tuple[str, ...]:
    """Who refers to a public table or a pool: `labevents.itemid`."""
    return tuple(
        dict.fromkeys(f"{e.child}.{e.name.replace(', ', '+')}" for e in dag.edges if e.parent == table and e.kind != "sees")
    )


def tree_children(dag: DatasetDag) -> dict[str, tuple[str, ...]]:
    """The tables as a tree from the entity: each below its parent, or below its first owner."""
    children: dict[str, list[str]] = {node.name: [] for node in dag.nodes}
    for table in dag.tables("private", "owned"):
        children[dag.owners(table)[0].owner].append(table)
    return {name: tuple(below) for name, below in children.items()}
