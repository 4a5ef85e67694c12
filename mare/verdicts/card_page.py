"""The card as one HTML file that needs nothing else: no network, light and dark, printable, for a phone and a keyboard.

Every text of a release is escaped: names are whatever a source called them.
"""

from __future__ import annotations

from html import escape
from importlib.resources import files

from .card import COARSE, MEANING, TRUST, VERDICTS, Card, ColumnCard
from .card_text import clear_words, help_lines, rows_of_asked, rows_of_tables, unjudged
from .shell import table, whole_page

_CLASSES = {"trust": "trust", "coarse": "coarse", "do not use": "no"}
_MOST = 200
"""Cross-tabs that are listed: the noisiest."""


def render_page(card: Card) -> str:
    body = "\n".join((_head(card), _columns(card), _rows(card), _crosstabs(card), _asked(card), _doubts_and_limits(card)))
    script = (files(__package__) / "page.js").read_text(encoding="utf-8")
    return whole_page(f"Card of {card.name}", body, script)


def _head(card: Card) -> str:
    counts = {verdict: len(card.of(verdict)) for verdict in VERDICTS}
    bar = "".join(f'<span class="{_CLASSES[v]}" style="flex:{count}"></span>' for v, count in counts.items() if count)
    counted = ", ".join(f"<b>{count}</b> {verdict}" for verdict, count in counts.items())
    lost = f"The promise does not hold for this release: {'; '.join(card.reasons)}."
    made = f", made {card.made['at']}" if card.made.get("at") else ""
    purposes = "".join(f"<li>{escape(purpose)}.</li>" for purpose in card.purposes())
    helps = "".join(f"<li>{escape(line)}</li>" for line in help_lines(card))
    meanings = "".join(f'<dt class="{_CLASSES[v]}">{v}</dt><dd>{escape(MEANING[v])}.</dd>' for v in VERDICTS)
    return f"""<header>
<h1>{escape(f"Card of {card.name}")} <small class="status">{escape(card.status)}</small></h1>
{f'<p class="alarm">{escape(lost)}</p>' if card.reasons else ""}
<p>From the release alone: no real value was looked at{escape(made)}.</p>
</header>
<section>
<h2>Can it be used?</h2>
<div class="bar" role="img" aria-label="{counts["trust"]} of {sum(counts.values())} columns: trust">{bar}</div>
<ul>{purposes}</ul>
<p>Columns: {counted}.</p>
<dl>{meanings}</dl>
{f"<h3>What would help, most columns first</h3><ul>{helps}</ul>" if helps else ""}
</section>
<section>
<h2>Who is protected, and how far?</h2>
<p>{escape(card.unit)}; about {card.entities:,} of them, noisily.</p>
<p>{escape(card.promise)} <span class="quiet">(ε = {card.epsilon:g}, δ = {card.delta:g})</span></p>
</section>"""


def _columns(card: Card) -> str:
    boxes = "".join(
        f'<label><input type="checkbox" class="pick" value="{_CLASSES[v]}" checked> {v}</label>' for v in reversed(VERDICTS)
    )
    rows = "".join(_column(column) for verdict in reversed(VERDICTS) for column in card.of(verdict))
    others = unjudged(card)
    rest = "".join(f"<dt>{escape(origin)}</dt><dd>{escape(', '.join(names))}</dd>" for origin, names in others.items())
    return f"""<section>
<h2>Column by column</h2>
<form class="picks"><label>Find <input type="search" id="find" placeholder="table or column"></label>{boxes}</form>
<div class="wide" tabindex="0" role="region" aria-label="Columns">
<table id="columns">
<thead><tr><th>verdict<th>column<th>error, at most<th>codes that stood clear<th>mainly from<th>values are</tr></thead>
<tbody>
{rows}</tbody>
</table>
</div>
<p class="quiet">Error: the part of the rows that would have to get another value (total-variation distance in 20 quantiles of
the real column). 19 of 20 such columns stay below the figure. Worst first. The scale ends at {2 * COARSE:.0%}; the marks are at
{TRUST:.0%} and {COARSE:.0%}.</p>
<details><summary>Nothing to judge: {sum(map(len, others.values()))} columns</summary><dl>{rest}</dl></details>
</section>"""


def _column(column: ColumnCard) -> str:
    kind, error = _CLASSES[column.verdict or "do not use"], column.at_most or 0.0
    gauge = f'<span class="gauge"><i class="{kind}" style="width:{min(100.0, 50 * error / COARSE):.0f}%"></i></span>'
    cells = (
        f'<span class="tag {kind}">{column.verdict}</span>',
        f"{escape(column.table)}.<b>{escape(column.column)}</b>",
        f"{gauge} {error:.2f}",
        clear_words(column),
        escape(column.why),
        escape(column.origin),
    )
    return f'<tr data-verdict="{kind}">{"".join(f"<td>{cell}</td>" for cell in cells)}</tr>\n'


def _rows(card: Card) -> str:
    head = ("table", "rows, noisily", "under each row of", "how many", "error, at most")
    return f"<section>\n<h2>Rows</h2>\n{table(head, rows_of_tables(card), (1, 4))}\n</section>"


def _crosstabs(card: Card) -> str:
    if not card.crosstabs:
        return ""
    shown = card.crosstabs[:_MOST]
    lines = [(t.stood, t.group, " × ".join(t.columns), f"{t.cells:,}", f"{t.expected:.2f}") for t in shown]
    left = f" The noisiest {_MOST} of {len(card.crosstabs):,}." if len(card.crosstabs) > _MOST else ""
    head = ("it stood", "group", "columns", "cells", "error by noise")
    return f"""<section>
<h2>Columns counted together</h2>
<p>What columns have to do with each other is drawn from these tables. In one that drowned, noise outweighs the rows: there,
what fewer columns say is kept.{left}</p>
{table(head, lines, (3, 4))}
</section>"""


def _asked(card: Card) -> str:
    head = ("what was asked", "choices", "answers", "numbers", "noise on each", "of the budget")
    body = table(head, rows_of_asked(card), (1, 2, 3, 4, 5))
    return f"<section>\n<h2>What was asked, with how much noise</h2>\n{body}\n</section>"


def _doubts_and_limits(card: Card) -> str:
    lists = {
        "What it does not know": [str(doubt) for doubt in card.doubts],
        "Known limits": card.limits,
        "Taken as public": card.public,
    }
    shown = {title: "".join(f"<li>{escape(item)}</li>" for item in items) for title, items in lists.items()}
    return "\n".join(f"<section>\n<h2>{title}</h2>\n<ul>{items}</ul>\n</section>" for title, items in shown.items() if items)
