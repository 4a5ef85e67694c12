"""Where every box and line of the picture stands: layers from the entity to the right, what is public apart on the side.
The legend says what each mark means, of the marks that a schema needs at all.

Lines never touch a box (`route`): they go up and down in the gutters between layers, across in the gaps between boxes. Layer k
stands between gutter k (to its left) and gutter k + 1. A gutter has one lane for the tree and one for every line that would
otherwise lie on another. Lines that start at the same place for the same reason share their lane.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from mare.graph.dag import DatasetDag, TableEdge
from mare.graph.groups import ColumnGroup
from mare.graph.pdag import column_groups
from mare.schema import Schema

from .boxes import TABLE_WIDTH, TableBox, table_box, wrapped
from .text import relationship, tree_children, used_by, wire_words

LANE = 9.0
Interval = tuple[float, float]


@dataclass(frozen=True)
class Wire:
    """A line to draw, from a port of one box to a port of another; ports are heights."""

    source: str
    source_layer: int
    source_y: float
    target: str
    target_layer: int
    target_y: float
    kind: str
    words: str
    """For the tooltip."""


@dataclass(frozen=True)
class Run:
    """A vertical piece of a wire in a gutter."""

    gutter: int
    start: float
    end: float
    lane: int = 0


@dataclass(frozen=True)
class Route:
    """A wire with its vertical pieces from source to target; between two of them it runs across a layer."""

    wire: Wire
    runs: tuple[Run, ...]


def route(wires: Sequence[Wire], occupied: Mapping[int, Sequence[Interval]]) -> tuple[Route, ...]:
    """Lanes for all wires. `occupied` says where the boxes of each layer are, top to bottom."""
    planned = [(wire, _runs(wire, occupied)) for wire in wires]
    lanes: dict[int, list[list[tuple[Interval, tuple[object, ...]]]]] = {}
    routes = []
    # Long pieces last: short ones stay close to the boxes they join.
    for wire, runs in planned:
        placed = []
        for place, run in enumerate(runs):
            bundle = (wire.source, wire.source_y, wire.kind) if place == 0 else (wire, place)
            placed.append(_in_lane(run, bundle, lanes.setdefault(run.gutter, [])))
        routes.append(Route(wire, tuple(placed)))
    return tuple(routes)


def lanes_used(routes: Sequence[Route]) -> dict[int, int]:
    """How many lanes each gutter needs."""
    used: dict[int, int] = {}
    for wired in routes:
        for run in wired.runs:
            used[run.gutter] = max(used.get(run.gutter, 0), run.lane + 1)
    return used


def _runs(wire: Wire, occupied: Mapping[int, Sequence[Interval]]) -> list[Run]:
    a, b = wire.source_layer, wire.target_layer
    if a == b:
        return [Run(a, wire.source_y, wire.target_y)]
    # To the right it leaves on the right; to the left on the left. Each layer on the way is crossed in a gap.
    gutters = range(a + 1, b + 1) if a < b else range(a, b, -1)
    runs, y = list[Run](), wire.source_y
    for gutter in gutters:
        last = gutter == gutters[-1]
        crossed = gutter if a < b else gutter - 1
        to = wire.target_y if last else _gap(wire.target_y, occupied.get(crossed, ()))
        runs.append(Run(gutter, y, to))
        y = to
    return runs


def _gap(wanted: float, boxes: Sequence[Interval]) -> float:
    """The height nearest to the wanted one that no box covers."""
    margin = 9.0
    if all(not (top - margin < wanted < bottom + margin) for top, bottom in boxes):
        return wanted
    edges = [top - margin for top, _ in boxes] + [bottom + margin for _, bottom in boxes]
    free = [y for y in edges if all(not (top - margin < y < bottom + margin) for top, bottom in boxes)]
    return min(free, key=lambda y: abs(y - wanted))


def _in_lane(run: Run, bundle: tuple[object, ...], lanes: list[list[tuple[Interval, tuple[object, ...]]]]) -> Run:
    low, high = min(run.start, run.end), max(run.start, run.end)
    for number, lane in enumerate(lanes):
        if all(who == bundle or high + 6 < bottom or top + 6 < low for (bottom, top), who in lane):
            lane.append(((low, high), bundle))
            return Run(run.gutter, run.start, run.end, number)
    lanes.append([((low, high), bundle)])
    return Run(run.gutter, run.start, run.end, len(lanes) - 1)


MARGIN, TOP, ROW_GAP = 28.0, 78.0, 24.0
TRUNK, FIRST_LANE, ARROW_ROOM = 14.0, 28.0, 22.0
ASIDE_WIDTH = 280.0


@dataclass(frozen=True)
class Placed:
    """A table's box and where it stands."""

    box: TableBox
    layer: int
    x: float
    y: float
    parent: str | None
    """The box it hangs below in the tree."""

    @property
    def right(self) -> float:
        return self.x + self.box.width

    @property
    def bottom(self) -> float:
        return self.y + self.box.height


@dataclass(frozen=True)
class Aside:
    """A public table or a pool."""

    name: str
    role: str
    lines: tuple[str, ...]
    whole: str
    """All of it, for the tooltip."""
    y: float
    height: float


@dataclass(frozen=True)
class Picture:
    """Everything placed."""

    schema: Schema
    dag: DatasetDag
    tables: dict[str, Placed]
    routes: tuple[Route, ...]
    gutters: tuple[float, ...]
    """Left edge of each gutter; gutter k is left of layer k."""
    asides: tuple[Aside, ...]
    aside_x: float
    legend: tuple[str, ...]
    """The marks to explain; the legend stands at the top of the side."""
    groups: int
    width: float
    height: float

    def lane_x(self, gutter: int, lane: int) -> float:
        return self.gutters[gutter] + FIRST_LANE + lane * LANE

    def trunk_x(self, gutter: int) -> float:
        return self.gutters[gutter] + TRUNK


def lay_out(schema: Schema) -> Picture:
    """Measure, place, route. Reads no data."""
    dag = DatasetDag.of(schema)
    groups = column_groups(schema, dag)
    boxes = {
        name: table_box(schema, dag, [(n, g) for n, g in enumerate(groups, start=1) if g.table == name], name)
        for name in [dag.entity.name, *dag.tables("private", "owned")]
    }
    spots = _tree(dag, boxes)
    layers = 1 + max(layer for layer, _, _ in spots.values())
    occupied = {
        k: sorted((y, y + boxes[name].height) for name, (layer, y, _) in spots.items() if layer == k) for k in range(layers)
    }
    routes = route(_wires(dag, boxes, spots), occupied)
    used = lanes_used(routes)
    gutters, xs, x = list[float](), list[float](), MARGIN
    for layer in range(layers):
        gutters.append(x)
        if layer > 0 or used.get(0):
            x += FIRST_LANE + LANE * used.get(layer, 0) + ARROW_ROOM
        xs.append(x)
        x += TABLE_WIDTH
    gutters.append(x)
    if used.get(layers):
        x += FIRST_LANE + LANE * used[layers]
    tables = {name: Placed(boxes[name], layer, xs[layer], y, parent) for name, (layer, y, parent) in spots.items()}
    legend = occurring(groups, routes)
    asides, end = _asides(schema, dag, TOP + legend_height(legend) + 38)
    bottom = max([end, *(placed.bottom for placed in tables.values())])
    aside_x = x + 46
    width = aside_x + ASIDE_WIDTH + MARGIN
    return Picture(schema, dag, tables, routes, tuple(gutters), asides, aside_x, legend, len(groups), width, bottom + MARGIN + 14)


Spot = tuple[int, float, str | None]
"""Layer, top, and the box it hangs below."""


def _tree(dag: DatasetDag, boxes: dict[str, TableBox]) -> dict[str, Spot]:
    """Each table one layer right of its parent, level with it or below, as high up as its own subtree allows.

    A table with children stands below everything in its children's layer, so the lines of two parents never share a stretch
    of their gutter; one without children may slip in beside the subtree of the sibling before it.
    """
    children = tree_children(dag)

    def subtree(name: str, layer: int, parent: str | None) -> dict[str, Spot]:
        spots: dict[str, Spot] = {name: (layer, 0.0, parent)}
        bottoms: dict[int, float] = {}
        for child in children[name]:
            below = subtree(child, layer + 1, name)
            tops: dict[int, float] = {}
            for at, y, _ in below.values():
                tops[at] = min(tops.get(at, y), y)
            shift = max(0.0, *(bottoms[at] + ROW_GAP - y for at, y in tops.items() if at in bottoms), 0.0)
            for table, (at, y, above) in below.items():
                spots[table] = (at, y + shift, above)
                bottoms[at] = max(bottoms.get(at, 0.0), y + shift + boxes[table].height)
        return spots

    return {name: (layer, TOP + y, parent) for name, (layer, y, parent) in subtree(dag.entity.name, 0, None).items()}


def _wires(dag: DatasetDag, boxes: dict[str, TableBox], spots: dict[str, Spot]) -> list[Wire]:
    """What the tree does not show: siblings that are seen, rows of the same entity that are referred to, second owners."""
    wires, ports = list[Wire](), dict[tuple[str, str], int]()

    def port(table: str, part: str, out: bool) -> float:
        """Lines leave a group near its bottom and arrive from its top on, so that the two are not taken for one."""
        box, top = boxes[table], spots[table][1]
        group = box.part(part) or box.part("context") or box.part("rows")
        y, height = (0.0, 26.0) if group is None else (group.y, group.height)
        if out:
            return top + y + height - 5
        number = ports[table, part] = ports.get((table, part), -1) + 1
        return top + y + min(6.0 + 6 * number, height - 11)

    for edge in dag.edges:
        parts = _ends(dag, edge)
        if parts is None or edge.child == edge.parent or edge.child not in spots or edge.parent not in spots:
            continue
        source, target = edge.before, edge.after
        kind = f"{edge.kind}_{edge.by}" if edge.by is not None else edge.kind
        # Lines of different kinds start apart, so that each can be followed from where it starts.
        apart = -7.0 if edge.by == "interval" else -12.0 if edge.kind == "owned" else 0.0
        ys = (port(source, parts[0], True) + apart, port(target, parts[1], False))
        wires.append(Wire(source, spots[source][0], ys[0], target, spots[target][0], ys[1], kind, wire_words(edge)))
    return wires


def _ends(dag: DatasetDag, edge: TableEdge) -> tuple[str, str] | None:
    """From which part to which part an edge is drawn; None where it is not."""
    if edge.kind == "sees":
        return "context", "context"
    if edge.kind == "same_entity":
        return "rows", "rows"
    if edge.kind == "owned" and dag.owners(edge.parent)[0] != edge:
        return "rows", "rows"
    return None


def _asides(schema: Schema, dag: DatasetDag, y: float) -> tuple[tuple[Aside, ...], float]:
    asides = []
    for role in ("public", "pool"):
        for node in dag.nodes:
            if node.role != role:
                continue
            used = ", ".join(used_by(dag, node.name)) or "nobody"
            whole = f"{relationship(schema, dag, node.name)}; used by {used}"
            lines = wrapped(whole, 46, 3)
            height = 26 + 13.0 * len(lines) + 6
            asides.append(Aside(node.name, role, lines, whole, y, height))
            y += height + 12
        y += 30 if asides and asides[-1].role == role else 0
    return tuple(asides), y


LEGEND = {
    "context": "context: one row per parent row",
    "head": "head: comes first, picks a row to look at",
    "rows": "rows: one row per row",
    "number": "place in the order of generation",
    "tree": "foreign key; all to the left is history",
    "down": "generated after, looks at",
    "loop": "looks at so many previous rows",
    "item": "looks at the previous row of the item",
    "sees": "sees a sibling",
    "same_entity_position": "looks at the row it refers to",
    "same_entity_interval": "looks at the row it refers to, and has its time inside of it",
    "owned": "one more owner",
}
"""Mark → words, in the order in which they are listed."""
ROW, HEADING = 21.0, 30.0


def occurring(groups: Iterable[ColumnGroup], routes: Iterable[Route]) -> tuple[str, ...]:
    """The marks that the picture of these groups and lines holds."""
    marks = {"number", *(route.wire.kind for route in routes)}
    parts: dict[str, set[str]] = {}
    for group in groups:
        marks.add(group.part)
        parts.setdefault(group.table, set()).add(group.part)
        kinds = {h.kind for h in group.history}
        marks |= {mark for mark, kind in (("loop", "previous"), ("item", "same_item")) if kind in kinds}
    if len(parts) > 1:
        marks.add("tree")
    if any(len(drawn) > 1 for drawn in parts.values()):
        marks.add("down")
    return tuple(mark for mark in LEGEND if mark in marks)


def legend_height(marks: tuple[str, ...]) -> float:
    return HEADING + ROW * len(marks)
