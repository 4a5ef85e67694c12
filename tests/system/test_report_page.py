"""The report in a browser: quiet, alone, with tabs and pickers, by keyboard, in both themes, on a phone; whatever values say."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

import mare
from tests.chromium import opened
from tests.clinic import Frames, changed, clinic, clinic_schema

pytestmark = pytest.mark.slow

EVIL = "</script><img src=x onerror=\"document.title='mine'\"><script>document.title='mine'</script>"
_SHOWN = '[...document.querySelectorAll("[role=tabpanel]")].filter(panel => !panel.hidden).map(panel => panel.id)'
_PICK = """const pick = (id, value) => {
    const select = document.getElementById(id); select.value = value; select.dispatchEvent(new Event('change'));
};"""
_CELLS = "(id) => document.querySelectorAll(`#${id} rect.cell`).length"


@cache
def rendered() -> str:
    """Of a clinic with a ward that is called a script."""

    def hostile(frames: Frames) -> Frames:
        return changed(frames, "stays", lambda frame: frame.assign(ward=frame["ward"].replace({"a": EVIL})))

    schema = clinic_schema().model_dump(mode="json", exclude_unset=True)
    schema["tables"]["stays"]["columns"]["ward"]["values"] = [EVIL, "b", "c"]
    sides = (hostile(clinic(150, 1)), hostile(clinic(150, 2, first=900)), hostile(clinic(150, 3, first=5000)))
    real, made, held = sides
    found = mare.evaluate(mare.Schema.model_validate(schema), real, made, holdout=held, risk=True, utility=True)
    return found.to_html("mare evaluate …")


@pytest.fixture
def page(tmp_path: Path) -> Path:
    file = tmp_path / "report.html"
    file.write_text(rendered(), encoding="utf-8")
    return file


def test_it_is_quiet_asks_nobody_and_runs_no_value(page: Path, tmp_path: Path) -> None:
    script = f"""{_PICK}
        for (const tab of document.querySelectorAll("[role=tab]")) tab.click();
        for (const select of document.querySelectorAll("select"))
            for (const option of [...select.options]) pick(select.id, option.value);
        return [document.title, document.querySelectorAll("img").length, document.body.textContent.includes("onerror")];"""
    seen = opened(page, script, tmp_path)
    assert seen.answer == ["Evaluation of clinic (internal, not private)", 0, True]
    assert seen.console == []
    assert seen.requests == []


def test_one_tab_is_open_by_click_and_by_keyboard(page: Path, tmp_path: Path) -> None:
    script = f"""const shown = () => {_SHOWN};
        const first = shown();
        document.getElementById("tab-tables").click();
        const clicked = shown();
        const key = (name) => document.activeElement.dispatchEvent(new KeyboardEvent("keydown", {{ key: name, bubbles: true }}));
        document.getElementById("tab-tables").focus();
        key("ArrowRight");
        const right = [shown(), document.activeElement.id];
        key("End"); key("ArrowRight");
        return [first, clicked, right, shown(), document.querySelectorAll("[role=tab][tabindex='0']").length];"""
    answer = opened(page, script, tmp_path).answer
    assert answer == [["verdict"], ["tables"], [["sequences"], "tab-sequences"], ["verdict"], 1]


def test_pickers_draw_what_they_name(page: Path, tmp_path: Path) -> None:
    script = f"""{_PICK} const cells = {_CELLS};
        const place = (id, text) => [...document.getElementById(id).options].find(o => o.textContent.startsWith(text)).value;
        document.getElementById("tab-tables").click();
        pick("table", place("table", "patients"));
        const within = cells("heatmap");
        const alone = document.querySelectorAll("#histogram rect.set").length;
        pick("column", place("column", "sex")); pick("other", place("other", "age"));
        const sexes = [cells("crosstab"), document.querySelectorAll("#crosstab figure").length];
        pick("table", place("table", "stays"));
        pick("block", place("block", "with the row 1 before"));
        const before = cells("heatmap");
        pick("view", "gain");
        const signed = document.querySelectorAll("#heatmap rect.less").length > 0;
        return [within, alone > 0, sexes, before, signed,
            document.querySelectorAll("#survival path.curve").length, cells("transitions") > 0, cells("together") > 0,
            document.querySelectorAll("#timeline rect.event").length > 0, document.querySelectorAll("#lengths svg").length];"""
    within, alone, sexes, before, signed, curves, moves, together, events, lengths = opened(page, script, tmp_path).answer
    assert within == 4 * 3  # sex, age, weight and the number of stays, without the diagonal
    assert before == 4 * 4  # ward, how long, since when, the number of drugs
    assert (alone, signed, moves, together, events) == (True,) * 5
    assert sexes[1] == 3
    assert sexes[0] > 60
    assert (curves, lengths) == (3, 1)


def test_a_cross_tab_adds_up_whichever_column_comes_first(page: Path, tmp_path: Path) -> None:
    script = """const t = tables.findIndex(one => one.name === "patients");
        const at = (name) => tables[t].columns.findIndex(column => column[0] === name);
        const straight = found(t, at("sex"), `${t},${at("age")},0`), turned = found(t, at("age"), `${t},${at("sex")},0`);
        const sum = (cells) => cells.reduce((a, b) => a + b, 0);
        const wide = labelled(tables[t].columns[at("age")][3]).length, high = straight[0].length / wide;
        const same = straight[0].every((share, i) => share === turned[0][(i % wide) * high + Math.floor(i / wide)]);
        return [sum(straight[0]), sum(straight[1]), sum(histogram(tables[t].columns[at("age")][4][0])), same];"""
    real, made, alone, same = opened(page, script, tmp_path).answer
    assert real == pytest.approx(1, abs=0.03)
    assert made == pytest.approx(1, abs=0.03)
    assert alone == pytest.approx(1, abs=0.001)
    assert same


def test_a_heatmap_is_walked_by_keyboard(page: Path, tmp_path: Path) -> None:
    script = f"""{_PICK}
        document.getElementById("tab-tables").click();
        const map = document.querySelector("#heatmap svg");
        map.focus();
        const key = (name) => map.dispatchEvent(new KeyboardEvent("keydown", {{ key: name, bubbles: true }}));
        key("ArrowRight");
        const told = document.getElementById("table-words").textContent;
        key("Enter");
        return [document.activeElement === map, told, document.getElementById("other").value !== ""];"""
    focused, told, picked = opened(page, script, tmp_path).answer
    assert focused
    assert " and " in told
    assert picked


def test_a_phone_needs_no_scrolling_sideways(page: Path, tmp_path: Path) -> None:
    # A window is never narrower than 500 pixels, so the page is put into a frame of a phone's width.
    frame = tmp_path / "frame.html"
    source = page.read_text(encoding="utf-8").replace("&", "&amp;").replace('"', "&quot;")
    frame.write_text(f'<!doctype html><body><iframe width="360" height="800" srcdoc="{source}"></iframe>', encoding="utf-8")
    script = """const inner = document.querySelector("iframe").contentDocument;
        const width = (tab) => { tab.click(); return [tab.id, inner.documentElement.scrollWidth]; };
        return [...inner.querySelectorAll("[role=tab]")].map(width);"""
    widths = opened(frame, script, tmp_path).answer
    assert len(widths) == 8
    assert [tab for tab, width in widths if width > 360] == []


def test_dark_is_dark_and_light_is_light(page: Path, tmp_path: Path) -> None:
    script = """const colour = (style) => style.match(/\\d+/g).slice(0, 3).map(Number);
        const text = document.querySelector("#heatmap text");
        return [colour(getComputedStyle(document.body).backgroundColor), colour(getComputedStyle(text).fill)];"""
    light, dark = (opened(page, script, tmp_path, dark=dark).answer for dark in (False, True))
    assert min(light[0]) > 200 > 80 > max(light[1])
    assert max(dark[0]) < 80 < 200 < min(dark[1])


ON_PAPER = """for (const sheet of document.styleSheets) for (const rule of sheet.cssRules)
    if (rule.media && rule.media.mediaText === "print") rule.media.mediaText = "all";"""


def test_on_paper_every_part_is_there_and_says_what_was_picked(page: Path, tmp_path: Path) -> None:
    script = f"""{ON_PAPER}
        const seen = (node) => node.offsetParent !== null;
        return [[...document.querySelectorAll("[role=tabpanel]")].filter(seen).length,
            [...document.querySelectorAll("[role=tab]")].filter(seen).length,
            [...document.querySelectorAll("select")].filter(one => one.options.length && !seen(one)).map(one => one.id)];"""
    assert opened(page, script, tmp_path).answer == [8, 0, []]
