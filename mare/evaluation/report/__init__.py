"""The report: an evaluation as one HTML file that needs no network. Internal, not private, and it says so on top.

    Evaluation ─► summary (plain words), sections (tables), figures (numbers, packed) ─► page ◄─ report.css, draw.js, report.js

Sentences and tables are in the page itself; pictures are drawn in the browser from packed numbers when somebody looks, which keeps
a hundred tables below 5 MB. `draw.js` is written by hand: plotting libraries are as large as the report may be (Plotly), or need
more than a bar, a line and a grid of squares is worth.
"""

from .page import render_report

__all__ = ["render_report"]
