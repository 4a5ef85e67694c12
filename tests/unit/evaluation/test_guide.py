"""The guide to evaluating is true: its commands, its code and its questions are run here, on a small hospital."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from mare.evaluation.questions import read_questions
from tests.command_line import mare

ROOT = Path(__file__).resolve().parents[3]
GUIDE = (ROOT / "docs" / "guides" / "evaluating.md").read_text(encoding="utf-8")


def pieces(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", GUIDE, flags=re.MULTILINE | re.DOTALL)


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    return tmp_path


@pytest.mark.slow
def test_the_session_works(clone: Path) -> None:
    (session,) = pieces("console")
    (questions,) = pieces("sql")
    (clone / "q.sql").write_text(questions)
    assert [question.name for question in read_questions(clone / "q.sql")] == [
        "women by diagnosis",
        "lines of therapy of the young",
    ]
    for command in session.splitlines():
        words = shlex.split(command.removeprefix("$ "))
        if words[0] == "python":
            subprocess.run([sys.executable, *words[1:], "150"], cwd=clone, check=True, capture_output=True)
            continue
        done = mare(*words[1:], *(["--sql", "q.sql"] if words[1] == "evaluate" else []), folder=clone)
        assert done.returncode == 0, done.stderr
    assert "Question: women by diagnosis: off by" in done.stdout
    assert "No rule of the schema is broken" in done.stdout


def test_the_code_works(clone: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    (code,) = pieces("python")
    monkeypatch.chdir(clone)
    exec(compile(code, "evaluating.md", "exec"), {"__name__": "__main__"})
    assert "internal, not private" in capsys.readouterr().out
