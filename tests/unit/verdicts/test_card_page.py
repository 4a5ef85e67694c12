"""The card as HTML: self-contained, and safe whatever a source calls its columns."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import mare
from mare.verdicts.card import COARSE, TRUST
from tests.conftest import ROOT
from tests.fitted_hospital import fitted_hospital
from tests.page_tags import Balanced


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
