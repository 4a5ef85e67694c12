"""Pages of text that fit a width: paragraphs behind a label, and tables in which the one long column is wrapped."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import wrap

_LEAST = 16
"""No column is wrapped to less, and no page is set narrower than this allows."""
_JOINED = "\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}"


def labelled(label: str, text: str, width: int, indent: int) -> list[str]:
    """``label:    text``, the text wrapped and kept to the right of the label."""
    lines = _wrapped(text, max(width - indent, _LEAST))
    return [f"{label:<{indent}}{lines[0]}".rstrip(), *(" " * indent + line for line in lines[1:])]


def bullets(items: Sequence[str], width: int) -> list[str]:
    """Each on lines of its own, behind a dash."""
    return [line for item in items for line in labelled("  -", item, width, 4)]


def paragraph(text: str, width: int) -> list[str]:
    return _wrapped(text, max(width, _LEAST))


def table(head: Sequence[str], rows: Sequence[Sequence[str]], width: int, long: int, right: frozenset[int]) -> list[str]:
    """Column ``long`` is wrapped to what the others leave of the width; those in ``right`` are set to the right."""
    widths = [max(len(row[i]) for row in (head, *rows)) for i in range(len(head))]
    others = sum(widths) - widths[long] + 2 * len(widths)
    widths[long] = min(widths[long], max(width - others, _LEAST))
    lines = [_line(head, widths, right), "  " + "  ".join("-" * w for w in widths)]
    for row in rows:
        for number, part in enumerate(_wrapped(row[long], widths[long])):
            cells = [part if i == long else cell if number == 0 else "" for i, cell in enumerate(row)]
            lines.append(_line(cells, widths, right))
    return lines


def _line(cells: Sequence[str], widths: Sequence[int], right: frozenset[int]) -> str:
    set_out = (c.rjust(w) if i in right else c.ljust(w) for i, (c, w) in enumerate(zip(cells, widths, strict=True)))
    return ("  " + "  ".join(set_out)).rstrip()


def _wrapped(text: str, width: int) -> list[str]:
    together = text.replace(" = ", _JOINED)  # "delta = 0" is not torn apart
    return [line.replace(_JOINED, " = ") for line in wrap(together, width, break_on_hyphens=False)] or [""]
