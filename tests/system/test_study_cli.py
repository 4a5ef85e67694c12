"""`mare study`: figures for a terminal, a page, JSON; and what it says of what it cannot do."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest

import mare as library
from tests.clinic import CLINIC, clinic, clinic_schema
from tests.command_line import mare


@pytest.fixture
def world(tmp_path: Path) -> Path:
    (tmp_path / "s.yaml").write_text(CLINIC)
    library.split(clinic_schema(), clinic(120, 1), (tmp_path / "real", tmp_path / "rest"), fraction=0.5)
    return tmp_path


@pytest.mark.slow
def test_a_study_is_told_in_words(world: Path) -> None:
    done = mare("study", "s.yaml", "--from", "real", "--epsilon", "5", folder=world)
    assert done.returncode == 0, done.stderr
    assert "the choice is not charged, and so not private" in done.stdout
    for words in ("  ε = 5  ", "no history  inter-table  sequential", "other real people", "the real rows"):
        assert words in done.stdout


def test_a_study_as_json_and_as_a_page(world: Path) -> None:
    done = mare("study", "s.yaml", "--from", "real", "--epsilon", "5", "--json", "-o", "study.html", folder=world)
    told = json.loads(done.stdout)
    assert told["status"].startswith("internal, not private")
    assert "not charged" in told["not_charged"]
    assert [tried["looks"] for tried in told["ablation"]] == ["no history", "inter-table", "sequential", "both"]
    assert told["entities"] == {"fitted": 48, "held out": 12}
    assert "internal, not private" in (world / "study.html").read_text(encoding="utf-8").partition("<style>")[0]
    assert stat.S_IMODE((world / "study.html").stat().st_mode) == 0o600


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        (["--from", "real", "--epsilon", "1;2"], "'1;2' is not a number"),
        (["--from", "real", "--epsilon", "0"], "above 0"),
        (["--from", "nowhere"], "is not there"),
        (["--from", "real", "-o", "s.yaml", "--replace"], "is not a study"),
    ],
)
def test_what_it_cannot_do_it_says(world: Path, asked: list[str], words: str) -> None:
    done = mare("study", "s.yaml", *asked, folder=world)
    assert done.returncode == 2
    assert words in done.stderr
