"""The card as text: a few lines at the end of `synth`, all of it for `mare card`."""

from __future__ import annotations

from collections.abc import Sequence

from mare.privacy.pages import bullets, labelled, paragraph, table

from .card import MEANING, VERDICTS, Card, ColumnCard

_INDENT = 19
_NAMED = 6
"""Columns that a short line names, worst first."""
_WORST = 12
"""Cross-tabs that are listed."""


def short_lines(card: Card, width: int) -> list[str]:
    """What it is good for, how many columns of each verdict, the worst by name, and what would help most of them."""
    counts = ", ".join(f"{verdict} {len(card.of(verdict))}" for verdict in VERDICTS)
    lines = paragraph(f"Can it be used? By the noise alone, columns: {counts}", width)
    for purpose in card.purposes():
        lines += labelled("  -", purpose, width, 4)
    for verdict in ("do not use", "coarse"):
        columns = card.of(verdict)
        if columns:
            lines += labelled(f"  {verdict}:", _named(columns), width, 14)
    if helps := help_lines(card):
        lines += labelled("  would help:", helps[0], width, 14)
    return lines


def help_lines(card: Card) -> list[str]:
    """What would help, what helps most columns first."""
    return [f"{help} ({_named(columns)})" for help, columns in card.helps().items()]


def render_text(card: Card, width: int) -> str:
    blocks = [part(card, width) for part in (_head, _use, _columns, _tables, _crosstabs, _asked)]
    if card.doubts:
        blocks.append(["What this release does not know:", *bullets([str(doubt) for doubt in card.doubts], width)])
    blocks.append(["Known limits:", *bullets(card.limits, width)])
    return "\n\n".join("\n".join(block) for block in blocks if block) + "\n"


def _head(card: Card, width: int) -> list[str]:
    lines = [f"Card of {card.name}: {card.status}"]
    if card.reasons:
        lines += ["The promise below does NOT hold for this release, because:", *bullets(card.reasons, width)]
    lines += labelled("Who is protected:", card.unit, width, _INDENT)
    lines += labelled("How far:", f"{card.promise} (epsilon = {card.epsilon:g}, delta = {card.delta:g})", width, _INDENT)
    return [*lines, *labelled("How many:", f"{card.entities:,}, noisily", width, _INDENT)]


def _use(card: Card, width: int) -> list[str]:
    lines = ["Can it be used?", *bullets(card.purposes(), width)]
    helps = help_lines(card)
    return [*lines, "What would help, most columns first:", *bullets(helps, width)] if helps else lines


def _columns(card: Card, width: int) -> list[str]:
    """The worst first: they are what one has to know."""
    judged = [column for verdict in reversed(VERDICTS) for column in card.of(verdict)]
    rows = [(c.verdict or "", c.name, f"{c.at_most:.2f}", clear_words(c), c.why) for c in judged]
    lines = ["Column by column, by the noise alone:"]
    if rows:
        lines += table(("verdict", "column", "at most", "clear", "mainly"), rows, width, long=4, right=frozenset((2,)))
    others = [f"{origin}, so there is nothing to judge: {', '.join(names)}" for origin, names in unjudged(card).items()]
    lines += ["", *bullets(others, width)]
    legend = [f"{verdict}: {MEANING[verdict]}" for verdict in VERDICTS]
    legend += [
        "at most: what 19 of 20 such columns stay below, as total-variation distance in 20 quantiles of the real column",
        "clear: codes that stood clear of the noise",
        "It follows from the noise, not from the data: no real value was looked at",
    ]
    return [*lines, "", "How to read it:", *bullets(legend, width)]


def _tables(card: Card, width: int) -> list[str]:
    head = ("table", "rows, noisily", "under each row of", "how many", "at most")
    return ["Tables:", *table(head, rows_of_tables(card), width, long=2, right=frozenset((1, 4)))] if card.tables else []


def rows_of_tables(card: Card) -> list[tuple[str, ...]]:
    return [
        (t.table, f"{t.rows:,.0f}", t.per or "", t.verdict or "", "" if t.at_most is None else f"{t.at_most:.2f}")
        for t in card.tables
    ]


def _crosstabs(card: Card, width: int) -> list[str]:
    if not card.crosstabs:
        return []
    stood = {word: sum(t.stood == word for t in card.crosstabs) for word in ("clear", "partly", "drowned")}
    counted = ", ".join(f"{word} {count}" for word, count in stood.items())
    lines = paragraph(f"Columns counted together, {len(card.crosstabs)} cross-tabs: {counted}. The noisiest:", width)
    rows = [(t.stood, " × ".join(t.columns), f"{t.cells:,}", f"{t.expected:.2f}") for t in card.crosstabs[:_WORST]]
    return [*lines, *table(("stood", "columns", "cells", "error"), rows, width, long=1, right=frozenset((2, 3)))]


def _asked(card: Card, width: int) -> list[str]:
    head, right = ("what was asked", "choices", "answers", "numbers", "noise", "share"), frozenset((1, 2, 3, 4, 5))
    return ["What was asked, and with how much noise:", *table(head, rows_of_asked(card), width, long=0, right=right)]


def rows_of_asked(card: Card) -> list[tuple[str, ...]]:
    return [
        (a.part, f"{a.choices:,}", f"{a.answers:,}", f"{a.numbers:,}", _noise_words(a.noise), f"{a.share:.1%}")
        for a in card.asked
    ]


def unjudged(card: Card) -> dict[str, list[str]]:
    """By where their values come from, the columns that have no verdict."""
    others: dict[str, list[str]] = {}
    for column in card.columns:
        if column.verdict is None:
            others.setdefault(column.origin, []).append(column.name)
    return others


def clear_words(column: ColumnCard) -> str:
    return f"{column.clear} of {column.cells}" if column.cells else ""


def _noise_words(noise: tuple[float, float] | None) -> str:
    if noise is None:
        return "–"
    low, high = noise
    return f"±{low:.3g}" if low == high else f"±{low:.3g} … {high:.3g}"


def _named(columns: Sequence[ColumnCard]) -> str:
    more = len(columns) - _NAMED
    return ", ".join(column.name for column in columns[:_NAMED]) + (f" and {more} more" if more > 0 else "")
