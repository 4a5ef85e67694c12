"""The graphs as one SVG that a person can read, written by hand: no other program, no script, no font to download.

Tables are boxes in layers to the right of their entity, column groups are boxes inside, numbered in the order of
generation. A line of the tree says both: the foreign key, and that everything further left along it is history. Everything is
escaped: names come from other people's databases.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from xml.sax.saxutils import escape, quoteattr

from mare.schema import Schema

from .boxes import LINE, LOOP_ROOM, PAD, SMALL_LINE, GroupBox, cut
from .picture import ASIDE_WIDTH, HEADING, LEGEND, MARGIN, ROW, TOP, Picture, Placed, Route, lay_out, legend_height
from .text import counted, glances

_SANS = "Inter, 'Segoe UI', Roboto, 'Helvetica Neue', 'DejaVu Sans', Arial, sans-serif"
_MONO = "'DejaVu Sans Mono', Menlo, Consolas, 'Liberation Mono', monospace"
_TREE = "#7b8b9a"
_FILL = {"context": "#fdf3d8", "head": "#efe6fa", "rows": "#e3eefb"}
_EDGE = {"context": "#c8930f", "head": "#9a6fd0", "rows": "#5b8fd0"}
_WIRE: dict[str, tuple[str, str | None]] = {
    "sees": ("#12876f", None),
    "same_entity_position": ("#8a3fb8", None),
    "same_entity_interval": ("#8a3fb8", "2 4"),
    "owned": ("#b5642a", "6 3"),
}
_PLAIN = "#ffffff"
_ROLE = {"entity": "#b3261e", "private": "#33475b", "owned": "#b5642a"}
_SIDE = {
    "public": ("Public tables, kept as they are", "#eaf6ec", "#2f7a42"),
    "pool": ("Pools, made up afresh", "#f0f0f2", "#666675"),
}
_STYLE = f"""
text {{ font-family: {_SANS}; fill: #1c2733; }}
.big {{ font-size: 20px; font-weight: 600; }}
.name {{ font-size: 13px; font-weight: 600; }}
.heading {{ font-size: 12px; font-weight: 600; }}
.note {{ font-size: 10px; fill: #5a6b7b; }}
.part {{ font-size: 10px; font-weight: 600; }}
.col {{ font-family: {_MONO}; font-size: 11px; }}
.num {{ font-size: 9px; font-weight: 600; fill: #ffffff; text-anchor: middle; }}
.line {{ fill: none; stroke-width: 1.5; }}
.halo {{ fill: none; stroke: #ffffff; stroke-width: 5; }}
"""


@dataclass(frozen=True)
class Shade:
    """The colour of a column group, and what it says."""

    fill: str
    words: str = ""
    """For the tooltip, after the group's name."""


def draw_svg(schema: Schema, shades: Mapping[str, Shade] | None = None) -> str:
    """Both graphs of a schema as an SVG document. Reads no data. ``shades`` colours column groups, by name (`stays.rows`)."""
    picture = lay_out(schema)
    name, entity = schema.name or "schema", picture.dag.entity
    tables = counted(len(picture.tables) + len(picture.asides) - entity.by_column, "table")
    about = f"{tables}, {counted(picture.groups, 'column group')}, entity {entity.name}"
    inside = [
        element("title", plain(f"{name}: tables and column groups")),
        element("desc", plain(about)),
        element("style", _STYLE),
        element("defs", *_markers()),
        element("rect", width=picture.width, height=picture.height, fill="#ffffff"),
        label("big", MARGIN, 38, cut(name, 60), name),
        label("note", MARGIN, 57, cut(about, 110), about),
        *_branches(picture),
        *_wires(picture),
        *(_table(picture, placed, shades) for placed in picture.tables.values()),
        *_legend(picture.legend, picture.aside_x, TOP, _FILL if shades is None else dict.fromkeys(_FILL, _PLAIN)),
        *_side(picture),
    ]
    box = f"0 0 {picture.width:.0f} {picture.height:.0f}"
    size = {"width": round(picture.width), "height": round(picture.height)}
    namespace = 'xmlns="http://www.w3.org/2000/svg"'
    document = element("svg", "\n", "\n".join(inside), "\n", **size, viewBox=box, role="img")
    return document.replace("<svg ", f"<svg {namespace} ", 1) + "\n"


def _markers() -> Iterator[str]:
    for kind, colour in {"tree": _TREE, **{kind: colour for kind, (colour, _) in _WIRE.items()}, **_EDGE}.items():
        head = element("path", d="M0,0.5 L7.5,4 L0,7.5 z", fill=colour)
        at = {"refX": 7, "refY": 4, "markerWidth": 7, "markerHeight": 7}
        yield element("marker", head, id=f"to-{kind}", viewBox="0 0 8 8", orient="auto", **at)


def _branches(picture: Picture) -> Iterator[str]:
    """The tree, all children of one parent together."""
    for parent in picture.tables.values():
        branches = []
        for child in (placed for placed in picture.tables.values() if placed.parent == parent.box.name):
            x, y0, y1 = picture.trunk_x(child.layer), parent.y + 16, child.y + 16
            tip = f"{child.box.name} belongs to {parent.box.name}: {' '.join(child.box.notes)}"
            branches.append(([(parent.right, y0), (x, y0), (x, y1), (child.x, y1)], tip))
        if branches:
            yield lines(branches, _TREE, "tree")


def _wires(picture: Picture) -> Iterator[str]:
    """Everything else, what starts at one place for one reason together."""
    bundles: dict[tuple[str, float, str], list[Route]] = {}
    for route in picture.routes:
        bundles.setdefault((route.wire.source, route.wire.source_y, route.wire.kind), []).append(route)
    for (_, _, kind), routes in bundles.items():
        colour, dash = _WIRE[kind]
        yield lines([(_points(picture, route), route.wire.words) for route in routes], colour, kind, dash)


def _points(picture: Picture, route: Route) -> list[Point]:
    wire = route.wire
    source, target = picture.tables[wire.source], picture.tables[wire.target]
    points = [(source.right if wire.source_layer < wire.target_layer else source.x, wire.source_y)]
    for run in route.runs:
        x = picture.lane_x(run.gutter, run.lane)
        points += [(x, run.start), (x, run.end)]
    points.append((target.right if wire.source_layer > wire.target_layer else target.x, wire.target_y))
    return points


def _table(picture: Picture, placed: Placed, shades: Mapping[str, Shade] | None) -> str:
    box, node = placed.box, picture.dag.node(placed.box.name)
    colour, dash = _ROLE[node.role], "5 3" if node.by_column or node.role == "owned" else None
    inside = [
        rounded(0, 0, box.width, box.height, "#fbfcfd", colour, rx=7, stroke_width=1.4, stroke_dasharray=dash),
        label("name", PAD, 21, box.title, box.name, colour),
    ]
    if node.role != "private":
        inside.append(label("part", box.width - PAD, 20, node.role, colour=colour, anchor="end"))
    inside += [label("note", PAD, 37 + SMALL_LINE * number, note) for number, note in enumerate(box.notes)]
    for place, group in enumerate(box.groups):
        part = group.group.part
        unshaded = Shade(_FILL[part] if shades is None else _PLAIN)
        inside += _group(group, (shades or {}).get(group.group.name, unshaded), first=place == 0)
    for number, word in enumerate(box.references):
        inside.append(label("note", word.x, box.references_y + SMALL_LINE * number, word.shown, word.whole))
    return element("g", *inside, transform=f"translate({placed.x:.1f},{placed.y:.1f})")


def _group(box: GroupBox, shade: Shade, first: bool) -> Iterator[str]:
    part, seen, right = box.group.part, glances(box.group.history), box.x + box.width
    looks = f"looks at {counted(len(box.group.history), 'column')}" if box.group.history else "looks at nothing"
    inside = [
        tooltip(f"{box.group.name} {shade.words}looks at {', '.join(str(g) for g in seen) or 'nothing'}"),
        rounded(box.x, box.y, box.width, box.height, shade.fill, _EDGE[part], rx=4),
        *_badge(box.x + 15, box.y + 10.5, str(box.number), _EDGE[part]),
        label("part", box.x + 29, box.y + 14, part),
        label("note", right - 7, box.y + 14, looks, anchor="end"),
    ]
    for number, words in enumerate(box.lines):
        x, y = (box.x + 84, box.y + 14) if box.beside else (box.x + 7, box.y + 31 + LINE * number)
        inside += [label("col", x + word.x, y, word.shown, word.whole) for word in words]
    yield element("g", *inside)
    if not first:
        yield line([(box.x + 22, box.y - 12), (box.x + 22, box.y - 1)], _EDGE[part], part)
    lags = {lag for glance in seen if glance.kind == "previous" for lag in glance.lags}
    if lags:
        yield from _loop(right, box.y + 5, str(max(lags)), part)
    if any(glance.kind == "same_item" for glance in seen):
        yield from _loop(right, box.y + 5 + (18 if lags else 0), "=", part, "3 2")


def _badge(x: float, y: float, number: str, colour: str) -> Iterator[str]:
    yield rounded(x - 10, y - 6.5, 20, 13, colour, None, rx=6.5)
    yield label("num", x, y + 3.3, number)


def _loop(x: float, y: float, words: str, part: str, dash: str | None = None) -> Iterator[str]:
    """A loop at the right edge of a group: it looks at its own past."""
    far = x + LOOP_ROOM - 17
    d = f"M{x:.1f},{y + 13:.1f} H{far - 6:.1f} Q{far:.1f},{y + 13:.1f} {far:.1f},{y + 7:.1f} V{y + 6:.1f} "
    d += f"Q{far:.1f},{y:.1f} {far - 6:.1f},{y:.1f} H{x + 1:.1f}"
    yield element("path", class_="line", d=d, stroke=_EDGE[part], stroke_dasharray=dash, marker_end=f"url(#to-{part})")
    yield label("part", far + 4, y + 10, words)


def _legend(marks: tuple[str, ...], x: float, y: float, fills: Mapping[str, str]) -> Iterator[str]:
    yield rounded(x, y, ASIDE_WIDTH, legend_height(marks), "#f6f8fa", "#d5dde4", rx=7)
    yield label("heading", x + 12, y + 20, "How to read it")
    for number, what in enumerate(marks):
        at = y + 7 + HEADING + ROW * number
        if what in fills:
            yield rounded(x + 12, at - 7, 22, 13, fills[what], _EDGE[what], rx=3)
        elif what == "number":
            yield from _badge(x + 23, at, "7", _EDGE["rows"])
        elif what in ("loop", "item"):
            yield from _loop(x + 12, at - 7, *(("2", "rows") if what == "loop" else ("=", "rows", "3 2")))
        elif what == "down":
            yield line([(x + 23, at - 7), (x + 23, at + 6)], _EDGE["rows"], "rows")
        else:
            colour, dash = _WIRE.get(what, (_TREE, None))
            yield line([(x + 12, at), (x + 36, at)], colour, what, dash)
        yield label("note", x + 44, at + 3.5, LEGEND[what])


def _side(picture: Picture) -> Iterator[str]:
    """Public tables and pools, apart: no line leads there, each says who uses it."""
    x, last = picture.aside_x, ""
    for aside in picture.asides:
        title, fill, colour = _SIDE[aside.role]
        if aside.role != last:
            yield label("heading", x, aside.y - 9, title)
            last = aside.role
        inside = [
            tooltip(f"{aside.name}: {aside.whole}"),
            rounded(x, aside.y, ASIDE_WIDTH, aside.height, fill, colour, rx=7),
            label("name", x + 10, aside.y + 19, cut(aside.name, 28), colour=colour),
        ]
        inside += [label("note", x + 10, aside.y + 34 + 13 * number, words) for number, words in enumerate(aside.lines)]
        yield element("g", *inside)


# XML 1.0 cannot hold these at all, not even escaped.
_FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")

Point = tuple[float, float]


def plain(text: str) -> str:
    """Text that XML can hold, escaped."""
    return escape(_FORBIDDEN.sub("\ufffd", text))


def _value(value: str | float) -> str:
    if isinstance(value, str):
        return _FORBIDDEN.sub("\ufffd", value)
    return f"{value:.1f}".removesuffix(".0")


def element(name: str, *inside: str, **attributes: str | float | None) -> str:
    """An element. Attributes are escaped, what is inside is taken as it is; None leaves an attribute out.

    `stroke_width` is written stroke-width, `class_` is class.
    """
    shown = ((key.rstrip("_").replace("_", "-"), value) for key, value in attributes.items() if value is not None)
    written = "".join(f" {key}={quoteattr(_value(value))}" for key, value in shown)
    return f"<{name}{written}>{''.join(inside)}</{name}>" if inside else f"<{name}{written}/>"


def tooltip(text: str) -> str:
    return element("title", plain(text))


def label(
    kind: str, x: float, y: float, text: str, tip: str | None = None, colour: str | None = None, anchor: str | None = None
) -> str:
    """A line of text in one of the styles, with a tooltip where it stands for more."""
    style = None if colour is None else f"fill:{colour}"
    inside = [plain(text)] if tip is None or tip == text else [plain(text), tooltip(tip)]
    return element("text", *inside, class_=kind, x=x, y=y, style=style, text_anchor=anchor)


def rounded(x: float, y: float, width: float, height: float, fill: str, stroke: str | None, **more: str | float | None) -> str:
    return element("rect", x=x, y=y, width=width, height=height, fill=fill, stroke=stroke, **more)


def lines(paths: Iterable[tuple[Iterable[Point], str]], colour: str, marker: str, dash: str | None = None) -> str:
    """Lines that belong together, each with its tooltip, an arrowhead and a white rim.

    The rim tells lines apart that cross; all rims come first, so that these lines do not cut each other.
    """
    drawn = [("M" + " L".join(f"{x:.1f},{y:.1f}" for x, y in points), tip) for points, tip in paths]
    rims = [element("path", class_="halo", d=d) for d, _ in drawn]
    arrow = f"url(#to-{marker})"
    return "".join(rims) + "".join(
        element(
            "path", *([tooltip(tip)] if tip else []), class_="line", d=d, stroke=colour, stroke_dasharray=dash, marker_end=arrow
        )
        for d, tip in drawn
    )


def line(points: Iterable[Point], colour: str, marker: str, dash: str | None = None) -> str:
    """One line by itself."""
    return lines([(points, "")], colour, marker, dash)
