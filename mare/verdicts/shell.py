"""The shell of every page that mare writes: one HTML file that needs nothing else, with one look (page.css).

A page is light or dark as the reader's system is, can be printed, and asks nobody for anything: its policy forbids that.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from importlib.resources import files


def whole_page(title: str, body: str, script: str = "", style: str = "") -> str:
    """The file. ``title`` is escaped here; ``style`` comes after the look that all pages share."""
    look = (files(__package__) / "page.css").read_text(encoding="utf-8")
    return _PAGE.format(title=escape(title), style=look + style, body=body, script=script)


class Markup(str):
    """Of a cell: HTML that is not escaped again."""


def table(head: Sequence[str], rows: Iterable[Sequence[str]], right: Sequence[int]) -> str:
    """A table that may be wider than the page. ``right`` are the columns of numbers."""

    def line(cells: Sequence[str], tag: str) -> str:
        sides = [' class="right"' if place in right else "" for place in range(len(cells))]
        written = [cell if isinstance(cell, Markup) else escape(cell) for cell in cells]
        return f"<tr>{''.join(f'<{tag}{side}>{cell}</{tag}>' for cell, side in zip(written, sides, strict=True))}</tr>\n"

    body = "".join(line(row, "td") for row in rows)
    region = f'<div class="wide" tabindex="0" role="region" aria-label="{escape(head[0])}">'
    return f"{region}\n<table>\n<thead>{line(head, 'th')}</thead>\n<tbody>\n{body}</tbody>\n</table>\n</div>"


_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'">
<meta name="color-scheme" content="light dark">
<title>{title}</title>
<style>
{style}</style>
</head>
<body>
<main>
{body}
</main>
<script>
{script}</script>
</body>
</html>
"""
