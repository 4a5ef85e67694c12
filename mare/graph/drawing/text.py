"""The graphs in words: the phrases that the picture takes too; and as text for a terminal, the tables as a tree and then the
column groups in the order of generation."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from mare.graph.dag import REFERENCES, DatasetDag, TableEdge
from mare.graph.groups import ColumnGroup, GroupColumn, HistoryColumn, HistoryKind, Part
from mare.graph.pdag import column_groups
from mare.schema import Schema
from mare.schema.layout import link_memory


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
        return "the entity, told apart by a column" if node.by_column else "the entity: one row each"
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


WIDTH = 100
_MIN_WIDTH = 40


def draw_text(schema: Schema, width: int = WIDTH) -> str:
    """Both graphs of a schema, at most `width` characters wide where names allow it. Reads no data."""
    dag = DatasetDag.of(schema)
    groups = column_groups(schema, dag)
    width = max(width, _MIN_WIDTH)
    return "\n".join([*_tables(schema, dag, width), "", *_apart(schema, dag, width), *_groups(groups, width)]) + "\n"


def _tables(schema: Schema, dag: DatasetDag, width: int) -> Iterator[str]:
    yield f"Tables of {schema.name or 'the schema'}, below the entity they belong to"
    yield ""
    children = tree_children(dag)

    def branch(table: str, lead: str, under: str) -> Iterator[str]:
        bar = under + ("│  " if children[table] else "   ")
        yield from _hanging(f"{lead}{table} ", relationship(schema, dag, table).split(" "), f"{bar}  ", width)
        for words in reference_words(dag, table):
            yield from _hanging(f"{bar}·", words.split(" "), f"{bar}  ", width)
        for place, name in enumerate(children[table]):
            last = place == len(children[table]) - 1
            yield from branch(name, under + ("└─ " if last else "├─ "), under + ("   " if last else "│  "))

    yield from branch(dag.entity.name, "", "")


def _apart(schema: Schema, dag: DatasetDag, width: int) -> Iterator[str]:
    for role, title in (("public", "Public tables, kept as they are"), ("pool", "Pools, made up afresh")):
        names = [node.name for node in dag.nodes if node.role == role]
        if not names:
            continue
        yield title
        for name in names:
            used = ", ".join(used_by(dag, name)) or "nobody"
            words = f"{relationship(schema, dag, name)}; used by {used}"
            yield from _hanging(f"   {name} ", words.split(" "), "      ", width)
        yield ""
    ignored = [name for name, table in schema.tables.items() if table.ignore]
    if ignored:
        yield from _hanging("Ignored:", _listed(ignored), "   ", width)
        yield ""


def _groups(groups: tuple[ColumnGroup, ...], width: int) -> Iterator[str]:
    yield f"{counted(len(groups), 'column group')}, in the order of generation: one model each"
    yield "(In brackets: how many columns. Rows [-1,-2] are the one before and the one before that.)"
    digits = len(str(len(groups)))
    for number, group in enumerate(groups, start=1):
        yield ""
        indent = " " * (digits + 2)
        yield from _hanging(
            f" {number:>{digits}} {group.name}:", _listed(_column(c) for c in group.columns), f"{indent}  ", width
        )
        seen = _listed(str(glance) for glance in glances(group.history)) or ["nothing"]
        yield from _hanging(f"{indent}looks at", seen, f"{indent}         ", width)


def _column(column: GroupColumn) -> str:
    if column.role in ("exists", "derived") and column.repeat != 1:
        return f"{column.name} × {'?' if column.repeat is None else f'{column.repeat:,}'}"
    return column.name


def _listed(items: Iterable[str]) -> list[str]:
    """Items with a comma after all but the last: a line breaks between items, never inside one."""
    *most, last = [*items] or [""]
    return [*(f"{item}," for item in most), last] if last else []


def _hanging(lead: str, pieces: Sequence[str], indent: str, width: int) -> list[str]:
    """A lead and its text, further lines indented. What fits on no line is broken between words. Names are never cut: one that
    is longer than the line runs over."""
    lines = [lead]
    for piece in (part for whole in pieces for part in ([whole] if len(indent) + len(whole) <= width else whole.split(" "))):
        if len(lines[-1]) + 1 + len(piece) > width and lines[-1] not in (lead, indent):
            lines.append(indent)
        lines[-1] += piece if lines[-1] == indent else f" {piece}"
    return [line.rstrip() for line in lines]
