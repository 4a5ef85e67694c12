"""The guide to risk and utility is true: its session and its code are run, and it explains every attack that there is."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from mare.evaluation.rates import TOO_WIDE
from mare.evaluation.risk.assess import TARGETS
from mare.evaluation.risk.attribute import GUESSES
from mare.evaluation.risk.three_risks import TOLERANCE
from mare.evaluation.utility.queries import QUERIES
from tests.command_line import mare

pytest.importorskip("sklearn")

ROOT = Path(__file__).resolve().parents[3]
GUIDE = (ROOT / "docs" / "guides" / "risk-and-utility.md").read_text(encoding="utf-8")


def pieces(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", GUIDE, flags=re.MULTILINE | re.DOTALL)


@pytest.mark.slow
def test_the_session_works_and_every_attack_is_explained(tmp_path: Path) -> None:
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    (session,) = pieces("console")
    for command in session.splitlines():
        words = shlex.split(command.removeprefix("$ "))
        if words[0] == "python":
            subprocess.run([sys.executable, *words[1:], "250"], cwd=tmp_path, check=True, capture_output=True)
            continue
        done = mare(*words[1:], *(["--json", "e.json"] if words[1] == "evaluate" else []), folder=tmp_path)
        assert done.returncode == 0, done.stderr
    assert "Risk: " in done.stdout
    assert "Utility (internal, not private" in done.stdout
    parts = json.loads((tmp_path / "e.json").read_text())["parts"]
    for attack in parts["risk"]["attacks"]:
        assert attack["kind"].lower() in GUIDE.lower()
        assert attack["excess"]["verdict"] in GUIDE
    for score in parts["utility"]["scores"]:
        assert f"*{score['name']}*" in GUIDE
    for part in parts.values():
        assert part["status"].startswith("internal, not private")


@pytest.mark.filterwarnings("ignore")
def test_the_code_works(capsys: pytest.CaptureFixture[str]) -> None:
    (code,) = pieces("python")
    exec(compile(code, "risk-and-utility.md", "exec"), {"__name__": "__main__"})
    assert len(capsys.readouterr().out.splitlines()) == 3


def test_the_numbers_are_those_of_the_code() -> None:
    assert f"{TARGETS:,} patients on each side" in GUIDE
    assert f"more than {TOO_WIDE} is ruled out" in GUIDE
    assert f"within {TOLERANCE:.0%}".replace("%", " %") in GUIDE
    assert f"{GUESSES} steps" in GUIDE
    assert QUERIES == 20
    assert "Twenty" in GUIDE
