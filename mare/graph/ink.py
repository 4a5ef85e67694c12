"""Elements of an SVG as text, with everything escaped: names come from other people's databases."""

from __future__ import annotations

import re
from collections.abc import Iterable
from xml.sax.saxutils import escape, quoteattr

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
