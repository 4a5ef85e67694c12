"""The page: tabs, each a section, then the numbers and the script that draws them."""

from __future__ import annotations

import re
from html import escape
from importlib.resources import files

import numpy as np

from mare.audit.report import AuditPart
from mare.evaluation.evaluation import INTERNAL, Evaluation, excess
from mare.evaluation.risk.assess import Risk
from mare.evaluation.utility.assess import Utility
from mare.evaluation.verdict import grade
from mare.graph.drawing import Shade, draw_svg
from mare.graph.groups import ColumnGroup
from mare.graph.pdag import column_groups
from mare.installed import __version__
from mare.schema import Schema
from mare.verdicts.shell import whole_page

from .figures import as_json, figures
from .sections import (
    budget_section,
    risk_section,
    sequence_section,
    size_table,
    utility_section,
    verdict_section,
    worst_tables,
)

GRAPH_ROOM, PAGE_ROOM = 900_000, 4_700_000
"""Characters that the graph may take (one of several hundred tables is no picture any more), and the whole page."""

FILLS = {"close": "#cdeedd", "fair": "#fbe3b5", "poor": "#f8cfca"}
"""As the page's own colours for what can be trusted, lighter: there is text on them."""


def render_report(evaluation: Evaluation, command: str = "") -> str:
    """The whole file. Internal, not private."""
    name, utility = evaluation.name or "a database", evaluation.parts.get("utility")
    tabs = {
        "verdict": ("Verdict", verdict_section(evaluation)),
        "graph": ("Graph", f"{_graph(evaluation)}<h2>Where the budget went</h2>\n{budget_section(evaluation)}"),
        "tables": ("Tables", _TABLES),
        "sequences": (
            "Sequences",
            f"{_SEQUENCES}{sequence_section(evaluation)}" if evaluation.stickiness or evaluation.together else "",
        ),
        "timelines": ("Timelines", _TIMELINES if evaluation.timelines else ""),
        "risk": ("Risk", _risk(evaluation)),
        "utility": ("Utility", utility_section(utility) if isinstance(utility, Utility) else ""),
        "reproduce": ("Reproduce", _reproduce(evaluation, command)),
    }
    shown = {key: tab for key, tab in tabs.items() if tab[1]}
    buttons = "".join(
        f'<button role="tab" id="tab-{key}" aria-controls="{key}" aria-selected="{str(place == 0).lower()}" '
        f'tabindex="{0 if place == 0 else -1}">{title}</button>'
        for place, (key, (title, _)) in enumerate(shown.items())
    )
    panels = "\n".join(
        f'<section role="tabpanel" id="{key}" aria-labelledby="tab-{key}"><h2 class="printed">{title}</h2>\n{body}\n</section>'
        for key, (title, body) in shown.items()
    )
    numbers = as_json({**figures(evaluation, PAGE_ROOM - len(panels)), "order": worst_tables(evaluation)})
    body = f"""<header>
<h1>{escape(f"How close {name} comes")} <small class="status internal">internal, not private</small></h1>
<p>This page was made from true rows, without noise: {escape(INTERNAL.partition(": ")[2])}.</p>
</header>
<div role="tablist" aria-label="Parts of the report">{buttons}</div>
{panels}
<p class="quiet">{escape(INTERNAL)}</p>
<script type="application/json" id="numbers">{numbers}</script>"""
    return whole_page(
        f"Evaluation of {name} (internal, not private)", body, _file("draw.js") + _file("report.js"), _file("report.css")
    )


def _file(name: str) -> str:
    return (files(__package__) / name).read_text(encoding="utf-8")


def _graph(evaluation: Evaluation) -> str:
    if evaluation.schema is None:
        return ""
    drawn = draw_svg(evaluation.schema, shades(evaluation, evaluation.schema))
    if len(drawn) > GRAPH_ROOM:
        return (
            '<p class="quiet">The graph is too large for this page: mare graph SCHEMA -o graph.svg draws it without colours.</p>'
        )
    # The picture's own style must not reach the rest of the page.
    style = re.search(r"<style>.*?</style>", drawn, flags=re.DOTALL)
    assert style is not None
    scoped = re.sub(r"(?m)^([a-z.]\w*) \{", r".graph \1 {", style[0])
    keys = "".join(f'<span><i class="swatch" style="background:{fill}"></i>{word}</span>' for word, fill in FILLS.items())
    return f"""<h2>Column groups, by how close they come</h2>
<p class="keys">{keys}<span><i></i>nothing to compare</span></p>
<div class="graph wide" tabindex="0" role="region" aria-label="Graph of the tables">{drawn.replace(style[0], scoped)}</div>"""


def shades(evaluation: Evaluation, schema: Schema) -> dict[str, Shade]:
    """Colours for the graph, by group: by the pairs of its columns, and by how many rows there are. Those of which nothing was
    compared have none."""
    distances = _distances(evaluation)
    lengths = {length.table: excess(length.tvd) for length in reversed(evaluation.lengths)}
    colours: dict[str, Shade] = {}
    for group in column_groups(schema):
        known = [distance for distance in _of(group, distances, lengths) if np.isfinite(distance)]
        if known:
            distance = float(np.mean(known))
            word = grade(None, distance)
            colours[group.name] = Shade(FILLS[word], f"is {word} (distance {distance:.2f}) and ")
    return colours


def _distances(evaluation: Evaluation) -> dict[tuple[str, str], float]:
    """Of each column: the mean of its pairs, beyond chance; of one that is in none, its own."""
    pairs: dict[tuple[str, str], list[float]] = {}
    for pair in evaluation.pairs:
        pairs.setdefault((pair.table, pair.column), []).append(pair.excess)
    alone = {(column.table, column.name): excess(column.distance) for column in evaluation.columns}
    return alone | {column: float(np.mean(held)) for column, held in pairs.items()}


def _of(group: ColumnGroup, distances: dict[tuple[str, str], float], lengths: dict[str, float]) -> list[float]:
    """Those of what the group generates: a time is what it is since, and a count the number of rows."""
    group_distances: list[float] = []
    for column in group.columns:
        table = column.table or group.table
        if column.role == "count":
            group_distances.append(lengths.get(table, np.nan))
        elif column.column is not None:
            group_distances += [d for (t, name), d in distances.items() if t == table and _is_of(name, column.column)]
    return group_distances


def _is_of(feature: str, column: str) -> bool:
    return feature in (column, f"year of {column}") or feature.startswith(f"{column} since ")


def _risk(evaluation: Evaluation) -> str:
    risk, audit = evaluation.parts.get("risk"), evaluation.parts.get("audit")
    markup = risk_section(risk) if isinstance(risk, Risk) else '<p class="quiet">No attack was made: add --risk.</p>'
    if isinstance(audit, AuditPart):
        markup += "<h2>Audit</h2>\n" + "".join(f"<p>{escape(line)}</p>" for line in audit.words())
    return markup


def _reproduce(evaluation: Evaluation, command: str) -> str:
    places = "".join(f"<dt>{name}</dt><dd>{escape(label)}</dd>" for name, label in evaluation.labels.items())
    markup = f"<pre>{escape(command)}</pre>" if command else ""
    return f"""<p>mare {escape(__version__)}; the same rows and the same seed give the same figures.</p>
{markup}<dl>{places}</dl>
{size_table(evaluation)}
<p class="quiet">Every figure, in full precision: mare evaluate … --json FILE. Colours show steps of about 1 %.</p>"""


_TABLES = """<form class="picks" id="table-picks">
<label>Table <select id="table"></select></label>
<label>Pairs <select id="block"></select></label>
<label>Show <select id="view"></select></label>
</form>
<p id="table-words" class="quiet" aria-live="polite"></p>
<div id="heatmap" class="plot wide" tabindex="0" role="region" aria-label="Heatmap"></div>
<h2>Worst pairs of this table</h2>
<div id="worst"></div>
<h2>Any column, any pair</h2>
<form class="picks" id="pair-picks">
<label>Column <select id="column"></select></label>
<label>with <select id="other"></select></label>
</form>
<div id="histogram" class="plot"></div>
<div id="crosstab" class="plot grids"></div>
<h2>How many rows</h2>
<div id="lengths" class="plot grids"></div>"""

_SEQUENCES = """<form class="picks">
<label>What follows what <select id="moves"></select></label>
</form>
<div id="transitions" class="plot grids"></div>
<form class="picks"><label>Time to <select id="event"></select></label></form>
<div id="survival" class="plot"></div>
<form class="picks"><label>Taken together <select id="keys"></select></label></form>
<div id="together" class="plot grids"></div>
"""

_TIMELINES = """<p>A few of the synthetic entities, with few, middling and many rows. No real people, if mare drew them.</p>
<form class="picks"><label>Entity <select id="entity"></select></label></form>
<div id="timeline" class="plot"></div>"""
