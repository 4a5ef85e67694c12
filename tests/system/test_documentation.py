"""The README and the tutorial are true, because their commands and their code are run here."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from examples.oncology import simulate_oncology
from tests.command_line import Done, mare

Run = Callable[[str, Path], Done | subprocess.CompletedProcess[str]]
ROOT = Path(__file__).resolve().parents[2]
BIN = Path(sys.executable).parent


def blocks(page: str, language: str) -> list[str]:
    text = (ROOT / page).read_text(encoding="utf-8")
    found = re.findall(rf"^( *)```{language}\n(.*?)^ *```", text, flags=re.MULTILINE | re.DOTALL)
    return ["\n".join(line.removeprefix(indent) for line in body.splitlines()) for indent, body in found]


def commands(page: str) -> list[str]:
    return [line[2:] for block in blocks(page, "console") for line in block.splitlines() if line.startswith("$ ")]


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A folder that looks like the root of a clone, where commands may write what they like."""
    for name in ("examples", "schemas", "docs"):
        (tmp_path / name).symlink_to(ROOT / name)
    return tmp_path


def run(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}", "COLUMNS": "100"}
    return subprocess.run(command, shell=True, cwd=folder, env=env, capture_output=True, text=True, timeout=300, check=False)


def run_here(command: str, folder: Path) -> Done | subprocess.CompletedProcess[str]:
    """A `mare` in this process, which saves a second each; anything else in a shell."""
    words = shlex.split(command, comments=True)
    return mare(*words[1:], folder=folder) if words[0] == "mare" else run(command, folder)


TUTORIAL = pytest.param("docs/tutorials/first-synthetic-database.md", run, marks=pytest.mark.slow)


@pytest.mark.parametrize(("page", "run"), [("README.md", run_here), TUTORIAL])
def test_the_shell_session_works_and_leaves_what_it_says(page: str, run: Run, clone: Path) -> None:
    ran = 0
    for command in commands(page):
        # `make test` is what runs this test, and it has installed what it runs with
        if command.startswith(("make ", "python3 -m venv ")):
            continue
        if command.startswith("sqlite3 "):  # not on every machine: Python's own shell of SQLite reads the same file
            command = command.replace("sqlite3 ", f"{sys.executable} -m tests.sqlite_shell ")
            command = f"PYTHONPATH={ROOT} {command}"
        if "oncology.py" in command:
            command = command.replace("oncology.sqlite", "oncology.sqlite 300")  # a small hospital will do
        done = run(command, clone)
        assert done.returncode == 0, f"$ {command}\n{done.stdout}\n{done.stderr}"
        if "foreign_key_check" in command:
            assert done.stdout == ""
        ran += 1
    assert ran >= 8
    assert "REVIEW" in (clone / "draft.yaml").read_text(encoding="utf-8")
    assert (clone / "oncology.mare").stat().st_size > 0
    assert (clone / "synthetic.sqlite").stat().st_size > 0
    pictures = [word for command in commands(page) for word in command.split() if word.endswith(".svg")]
    assert all((clone / picture).read_text(encoding="utf-8").startswith("<svg") for picture in pictures)


def test_what_the_tutorial_quotes_is_there(clone: Path) -> None:
    assert run("python examples/oncology.py oncology.sqlite 10 && mare init oncology.sqlite -o draft.yaml", clone).returncode == 0
    drafted, reviewed = blocks("docs/tutorials/first-synthetic-database.md", "yaml")
    assert drafted in (clone / "draft.yaml").read_text(encoding="utf-8")
    assert reviewed in (clone / "examples" / "oncology.yaml").read_text(encoding="utf-8")


@pytest.mark.parametrize("page", ["README.md", "docs/reference/api.md"])
def test_the_python_works(page: str, clone: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    simulate_oncology(clone / "oncology.sqlite", 300)
    monkeypatch.chdir(clone)
    pieces = blocks(page, "python")
    assert pieces
    for code in pieces:
        exec(compile(code, page, "exec"), {"__name__": "__main__"})


def test_the_guide_of_the_card_works_and_states_the_bounds_that_hold(clone: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from mare.verdicts.card import COARSE, MARGIN, TRUST

    page = "docs/guides/the-card.md"
    for command in commands(page):
        done = run_here(command, clone)
        assert done.returncode == 0, f"$ {command}\n{done.stdout}\n{done.stderr}"
    monkeypatch.chdir(clone)
    for code in blocks(page, "python"):
        exec(compile(code, page, "exec"), {"__name__": "__main__"})
    text = (ROOT / page).read_text(encoding="utf-8")
    assert f"| **trust** | at most {100 * TRUST:g} % |" in text
    assert f"| **coarse** | at most {100 * COARSE:g} % |" in text
    assert f"expected error times {MARGIN:g} " in text


def test_the_picture_is_what_mare_draws() -> None:
    import mare as library

    drawn = library.picture(library.load_schema(ROOT / "examples" / "oncology.yaml"))
    assert (ROOT / "docs" / "pictures" / "oncology.svg").read_text(encoding="utf-8") == drawn


def test_the_navigation_has_every_page() -> None:
    site = (ROOT / ".ci" / "mkdocs.yml").read_text(encoding="utf-8")
    pages = [str(page.relative_to(ROOT / "docs")) for page in sorted((ROOT / "docs").rglob("*.md"))]
    assert [page for page in pages if f": {page}\n" not in site] == []


@pytest.mark.parametrize("target", ["demo", "test", "test-all", "check", "bench", "docs"])
def test_make_has_the_targets_that_are_promised(target: str) -> None:
    done = subprocess.run(["make", "--dry-run", target], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_links_between_pages_lead_somewhere() -> None:
    dead = []
    for page in [ROOT / "README.md", ROOT / "examples" / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]:
        for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
            if "://" not in target and not (page.parent / target).exists():
                dead.append(f"{page.relative_to(ROOT)} → {target}")
    assert dead == []


@pytest.mark.slow
def test_the_guide_to_the_report_works(clone: Path) -> None:
    page = "docs/guides/the-report.md"
    for command in commands(page):
        command = command.replace("oncology.py oncology.sqlite", "oncology.py oncology.sqlite 300")  # a small hospital will do
        done = run_here(command.replace("1,2,5,10,100", "2"), clone)
        assert done.returncode == 0, f"$ {command}\n{done.stdout}\n{done.stderr}"
    for name in ("report.html", "study.html"):
        assert "internal, not private" in (clone / name).read_text(encoding="utf-8").partition("<style>")[0]
