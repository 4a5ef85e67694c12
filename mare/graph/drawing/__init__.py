"""The graphs of a schema drawn: as text for a terminal, and as one picture (SVG). Reads no data.

text (what they say, in few words) ─► boxes (measured) ─► picture (placed, with the lines between them) ─► svg
"""

from .svg import Shade, draw_svg
from .text import draw_text

__all__ = ["Shade", "draw_svg", "draw_text"]
