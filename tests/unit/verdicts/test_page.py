"""The card as HTML: self-contained, and safe whatever a source calls its columns."""

from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import mare
from mare.verdicts.card import COARSE, TRUST
from tests.conftest import ROOT
from tests.fitted_hospital import fitted_hospital

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


def page() -> str:
    return mare.card(fitted_hospital(private=False)).to_html()


def test_nothing_is_loaded_from_anywhere() -> None:
    assert not re.search(r"https?:|//\w|url\(|@import|<link|src=", page().replace("<!doctype html>", ""))
    assert "default-src 'none'" in page()


def test_tags_are_closed() -> None:
    parser = Balanced()
    parser.feed(page())
    assert not parser.open


def test_names_cannot_write_html() -> None:
    card = mare.card(fitted_hospital(private=False))
    evil = "<script>alert(1)</script>"
    columns = tuple(replace(column, table=evil, column=evil) for column in card.columns)
    tables = tuple(replace(table, table=evil) for table in card.tables)
    crosstabs = tuple(replace(table, columns=(evil, evil)) for table in card.crosstabs)
    written = replace(card, name=evil, unit=evil, columns=columns, tables=tables, crosstabs=crosstabs).to_html()
    assert evil not in written
    assert "&lt;script&gt;alert(1)" in written


def test_the_marks_of_the_gauge_stand_at_the_bounds() -> None:
    style = Path(ROOT / "mare" / "verdicts" / "page.css").read_text()
    marks = [float(place) / 100 for place in re.findall(r"\.gauge::(?:before|after) \{ left: (\d+)%", style)]
    assert marks == [TRUST / (2 * COARSE), COARSE / (2 * COARSE)]
