"""The guide to a messy CSV folder is true: what it says is met is met, its three lines mend it, and what comes out is tidy."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path

import pytest

from mare.audit.rows_met import meet_rows
from mare.cli.commands.check import met_lines
from mare.schema.loading import load_schema
from tests.command_line import mare
from tests.system.test_documentation import blocks

GUIDE = "docs/guides/from-a-messy-csv-folder.md"
TIDY, READING = blocks(GUIDE, "yaml")
MENDED = TIDY.replace("tables:", f"{READING}\ntables:", 1)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (code,) = blocks(GUIDE, "python")
    monkeypatch.chdir(tmp_path)
    exec(compile(code, GUIDE, "exec"), {})
    return tmp_path


def told(session: str) -> list[str]:
    """What the guide says is printed of the rows."""
    return re.findall(r"^(?:What a fit|  ).*$", session, re.MULTILINE)


def test_what_the_guide_says_is_met_is_met(folder: Path) -> None:
    before, after = blocks(GUIDE, "console")
    for text, session in ((TIDY, before), (MENDED, after)):
        schema = load_schema(text)
        assert list(met_lines(meet_rows(schema, folder / "export"), schema)) == told(session)


def test_three_lines_mend_it(folder: Path) -> None:
    assert len(READING.strip().splitlines()) == 3
    (folder / "registry.yaml").write_text(MENDED, encoding="utf-8")
    done = mare(
        "synth", "registry.yaml", "--from", "export", "--to", "synthetic?format=csv", "--epsilon", "20", "-o", "r.mare", "--quiet"
    )
    assert done.returncode == 0, done.stderr
    with (folder / "synthetic" / "patients.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    heights = sorted(float(row["Height"]) for row in rows)
    assert 1.6 < heights[len(heights) // 2] < 1.85
    assert {row["Sex"] for row in rows} == {"M", "F"}
    assert all(re.fullmatch(r"(19|20)\d\d-\d\d-\d\d", row["Born"]) for row in rows)
    unknown = sum(row["Weight"] == "" for row in rows)
    assert 0 < unknown < len(rows) * 0.15


def test_true_numbers_go_to_no_pipe_unless_asked_for_as_json(folder: Path) -> None:
    (folder / "registry.yaml").write_text(TIDY, encoding="utf-8")
    piped = mare("check", "registry.yaml", "--from", "export", "--read-rows")
    assert piped.returncode == 0
    assert "not read" in piped.stdout
    assert "1,000" not in piped.stdout + piped.stderr
    asked = json.loads(mare("check", "registry.yaml", "--from", "export", "--read-rows", "--json").stdout)
    assert asked["rows"]["status"].startswith("internal: not private")
    assert {
        "table": "patients",
        "column": "Height",
        "kind": "unreadable",
        "rows": 1000,
        "of": 1000,
        "below": 0,
        "write": 'decimal: ","',
        "words": {},
        "days": {},
        "serial": False,
    } in (asked["rows"]["met"])
    assert "rows" not in json.loads(mare("check", "registry.yaml", "--from", "export", "--json").stdout)


def test_an_open_schema_is_settled_first(folder: Path) -> None:
    (folder / "registry.yaml").write_text(TIDY.replace(", min: 0.5, max: 2.5", ""), encoding="utf-8")
    done = mare("check", "registry.yaml", "--from", "export", "--read-rows")
    assert done.returncode == 2
    assert "settle the schema first" in done.stdout
    assert mare("check", "registry.yaml", "--read-rows").returncode != 0
