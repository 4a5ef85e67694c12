"""The report: an evaluation as one HTML file that needs no network. Internal, not private, and it says so on top.

    Evaluation ─► sections (plain words, tables), figures (numbers, packed) ─► page ◄─ report.css, draw.js, report.js

Sentences and tables are in the page itself; pictures are drawn in the browser from packed numbers, which keeps a hundred tables
below 5 MB. `draw.js` is written by hand: what can draw a heatmap with a cursor is nearly as large as the report may be (Plotly),
and what is small draws lines alone (uPlot).
"""

from .page import render_report

__all__ = ["render_report"]
