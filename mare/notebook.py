"""How plans, ledgers and releases show themselves in a notebook: a title, a table, remarks. No script, no style of their own."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape


def page(title: str, headings: Sequence[str], rows: Iterable[Sequence[object]], remarks: Iterable[str] = ()) -> str:
    """One table with its title above and its remarks below, as HTML."""
    head = "".join(f"<th>{escape(heading)}</th>" for heading in headings)
    body = "".join(f"<tr>{''.join(f'<td>{escape(str(cell))}</td>' for cell in row)}</tr>" for row in rows)
    below = "".join(f"<li>{escape(remark)}</li>" for remark in remarks)
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    return f"<div><p><b>{escape(title)}</b></p>{table}{f'<ul>{below}</ul>' if below else ''}</div>"
