"""The card in a browser: quiet, alone, in both themes, on a phone, by keyboard."""

from __future__ import annotations

from pathlib import Path

import pytest

import mare
from tests.chromium import opened
from tests.fitted_hospital import fitted_hospital
from tests.system.test_report_page import ON_PAPER

pytestmark = pytest.mark.slow

_ROWS = 'const rows = [...document.querySelectorAll("#columns tbody tr")];'
_SHOWN = "rows.filter(row => row.offsetParent !== null).map(row => row.cells[1].textContent)"


@pytest.fixture
def page(tmp_path: Path) -> Path:
    file = tmp_path / "card.html"
    file.write_text(mare.card(fitted_hospital(5.0, private=False)).to_html(), encoding="utf-8")
    return file


def test_it_is_quiet_and_asks_nobody(page: Path, tmp_path: Path) -> None:
    seen = opened(page, "return document.title", tmp_path)
    assert seen.answer.startswith("Card of ")
    assert seen.console == []
    assert seen.requests == []


def test_columns_are_found_and_picked(page: Path, tmp_path: Path) -> None:
    script = f"""{_ROWS}
        const all = {_SHOWN};
        const find = document.getElementById("find");
        find.value = "WARD"; find.dispatchEvent(new Event("input"));
        const found = {_SHOWN};
        find.value = ""; find.dispatchEvent(new Event("input"));
        for (const box of document.querySelectorAll(".pick")) {{ box.click(); }}
        return [all, found, {_SHOWN}];"""
    all_of_them, found, none = opened(page, script, tmp_path).answer
    judged = [column for column in mare.card(fitted_hospital(5.0, private=False)).columns if column.verdict is not None]
    assert sorted(all_of_them) == sorted(column.name for column in judged)
    assert found == ["stays.ward"]
    assert none == []


def test_a_phone_needs_no_scrolling_sideways(page: Path, tmp_path: Path) -> None:
    # A window is never narrower than 500 pixels, so the page is put into a frame of a phone's width.
    frame = tmp_path / "frame.html"
    source = page.read_text(encoding="utf-8").replace("&", "&amp;").replace('"', "&quot;")
    frame.write_text(f'<!doctype html><body><iframe width="360" height="800" srcdoc="{source}"></iframe>', encoding="utf-8")
    script = """const inner = document.querySelector("iframe").contentDocument;
        return [inner.documentElement.scrollWidth, inner.querySelector("#columns thead").offsetParent === null];"""
    width, folded = opened(frame, script, tmp_path).answer
    assert width <= 360
    assert folded


def test_dark_is_dark_and_light_is_light(page: Path, tmp_path: Path) -> None:
    script = "return getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number)"
    light, dark = (opened(page, script, tmp_path, dark=dark).answer for dark in (False, True))
    assert min(light) > 200
    assert max(dark) < 80


def test_everything_is_reached_by_keyboard(page: Path, tmp_path: Path) -> None:
    script = """const able = [...document.querySelectorAll("input, summary, [tabindex]")];
        return able.map(one => { one.focus(); return [one.tagName, document.activeElement === one, one.tabIndex]; });"""
    reached = opened(page, script, tmp_path).answer
    assert {"INPUT", "SUMMARY", "DIV"} <= {tag for tag, _, _ in reached}
    assert all(focused and place == 0 for _, focused, place in reached)


def test_on_paper_reasons_are_no_narrow_columns_of_words_and_nothing_asks_to_be_clicked(page: Path, tmp_path: Path) -> None:
    script = f"""{ON_PAPER}
        document.querySelector("main").style.width = "718px";  // a sheet of A4 within its margins
        const [, name, , , why] = document.querySelector("#columns tbody tr").cells;
        name.textContent = "prescriptions.protocol_dose_of_the_day";
        why.textContent = "an allowance for long sequences; its distance from what it follows: coarse";
        return [why.clientWidth, [...document.querySelectorAll("input")].filter(input => input.offsetParent !== null).length,
            document.querySelector("#columns").scrollWidth];"""
    width, inputs, whole = opened(page, script, tmp_path).answer
    assert width > 140
    assert inputs == 0
    assert whole <= 718
