"""Everything in examples/ is run as its reader would run it: in a process of its own, in an empty folder."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

from tests.conftest import ROOT

EXAMPLES = ROOT / "examples"
BIN = Path(sys.executable).parent


def run(*command: object, folder: Path, **more: str) -> str:
    """What the command prints. It succeeds, and warns of nothing."""
    path = f"{BIN}{os.pathsep}{os.environ['PATH']}"
    environment: Mapping[str, str] = {**os.environ, "PATH": path, "COLUMNS": "80", "PYTHONWARNINGS": "error", **more}
    done = subprocess.run(
        [*map(str, command)], cwd=folder, env=environment, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    return done.stdout


def rows(path: Path, query: str) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(path)) as database:
        return database.execute(query).fetchall()


def test_the_demo_tells_the_whole_story(tmp_path: Path) -> None:
    folder = tmp_path / "demo"
    folder.mkdir()
    (folder / "synthetic.sqlite").write_text("left by an earlier run")
    said = run(sys.executable, EXAMPLES / "demo.py", folder, "500", folder=tmp_path)
    for verb in ("init", "check", "plan", "fit", "sample", "ledger"):
        assert f"$ mare {verb} " in said
    assert "patients.diagnosis" in said.partition("after review")[2], "what review changed is shown"
    assert "0 broken references" in said
    assert "✗" not in said
    assert "Privacy ledger: PRIVATE" in said
    assert "Internal, not private" in said
    assert max(len(line) for line in said.splitlines() if str(tmp_path) not in line) <= 95, "it reads well at 80 columns"
    synthetic = folder / "synthetic.sqlite"
    assert rows(synthetic, "PRAGMA foreign_key_check") == []
    assert rows(synthetic, "PRAGMA integrity_check") == [("ok",)]
    assert rows(synthetic, "SELECT * FROM drugs ORDER BY 1") == rows(folder / "oncology.sqlite", "SELECT * FROM drugs ORDER BY 1")
