"""Whether the tags of a page are closed."""

from __future__ import annotations

from html.parser import HTMLParser

_VOID = {"meta", "input", "link", "br"}


class Balanced(HTMLParser):
    """Opened and closed in order."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        if tag not in _VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        while self.open[-1] == "th" and tag == "tr":  # its end may be left out
            self.open.pop()
        assert self.open.pop() == tag
