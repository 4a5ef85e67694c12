"""Every branch of the accountant, the ledger and the curator is taken by their own tests."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
COVERED = ("accountant", "ledger", "curator", "answers", "till")
TESTS = ("test_accountant.py", "test_ledger.py", "test_curator.py", "test_learning.py", "test_till.py", "test_tape.py", "answers")


@pytest.mark.slow
def test_the_gate_is_covered_branch_by_branch(tmp_path: Path) -> None:
    tests = [str(ROOT / "tests" / "unit" / "privacy" / name) for name in TESTS]
    sources = [f"--cov=mare.privacy.{name}" for name in COVERED]
    report = ["--cov-branch", "--cov-report=term-missing:skip-covered", "--cov-fail-under=100"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:xdist", *tests, *sources, *report],
        cwd=ROOT,
        env={"PATH": "", "COVERAGE_FILE": str(tmp_path / "coverage")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-2000:]
