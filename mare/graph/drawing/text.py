"""The graphs as text for a terminal: the tables as a tree, then the column groups in the order of generation."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from mare.graph.dag import DatasetDag
from mare.graph.groups import ColumnGroup, GroupColumn
from mare.graph.pdag import column_groups
from mare.schema import Schema

from .summary import counted, glances, reference_words, relationship, tree_children, used_by

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
