"""`kill -9`, Ctrl-C and a polite kill, at any moment of a fit, a sample or both.

After a kill: the target is whole or not there, a release that is there loads, the budget is charged once the first row was
asked for, and the next run clears away what was left. After Ctrl-C and a polite kill, nothing is left in the first place.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import duckdb
import pyarrow.parquet as pq
import pytest

from examples.hospital import simulate_hospital
from mare.privacy.budget import Budget
from mare.privacy.budget_file import BudgetFile
from mare.release import load_release
from tests.command_line import mare
from tests.conftest import ROOT

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork on this system"),
    pytest.mark.usefixtures("signals_as_at_a_terminal"),
]

SCHEMA = """
mare: 1
entity: patients
tables:
  patients:
    key: patient_id
    columns: {sex: {type: category, values: [F, M]}}
  admissions:
    key: admission_id
    parent: {table: patients, column: patient_id, type: sequential, order_by: admitted, memory: 1, max_rows: 2}
    columns:
      admitted: {type: datetime, after: previous.admitted, within: 10y, bins: 4, first: {min: 2015-01-01, max: 2024-12-31}}
      severity: {type: integer, min: 1, max: 5}
"""
Point = int | float
"""Where a run is stopped: a share of its steps, or so many before its end (below 0)."""
TARGETS = {"sqlite": "out.sqlite", "duckdb": "out.duckdb", "parquet": "out"}


@dataclass(frozen=True)
class Run:
    """One that was stopped."""

    folder: Path
    code: int
    read: bool
    steps: int | None

    @property
    def said(self) -> str:
        return "".join((self.folder / f"said{stream}").read_text() for stream in (1, 2))


@pytest.fixture(scope="module")
def hospital(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("real") / "hospital.sqlite"
    simulate_hospital(path, patients=80)
    path.with_name("schema.yaml").write_text(SCHEMA)
    return path


def run_all(
    folder: Path,
    arguments: list[str],
    points: list[Point],
    word: str = "SIGKILL",
    prepare: Callable[[Path], None] = lambda folder: None,
) -> tuple[Run, list[Run]]:
    """One that goes through, then one for each point; each in a folder of its own, with a budget and room for temporary files."""
    plan = []
    for number, at in enumerate([0, *points]):
        place = folder / f"{word}-{number}-{at}"
        (place / "temporary").mkdir(parents=True)
        BudgetFile.create(place / "budget", Budget(1000.0, 1e-3), "b", datetime(2026, 1, 1, tzinfo=UTC))
        prepare(place)
        plan.append({"folder": str(place), "arguments": arguments, "at": at})
    (folder / "plan.json").write_text(json.dumps(plan))
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, sys.path))}
    command = [sys.executable, "-m", "tests.killed_runs", word, str(folder / "plan.json")]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    whole, *ended = [Run(Path(line["folder"]), line["code"], line["read"], line["steps"]) for line in lines]
    assert whole.code == 0, whole.said
    return whole, ended


def spread(count: int) -> list[Point]:
    """Points over the whole run, and some at its very end, where files appear."""
    return [*((2 * k + 1) / (2 * count) for k in range(count)), -60, -30, -12, -6, -1]


def rows_of(target: Path) -> dict[str, int] | None:
    """How many rows each table of a sound target has; None where there is no target. A half one fails."""
    tables = ("patients", "admissions")
    if not target.exists():
        return None
    if target.suffix == ".sqlite":
        with closing(sqlite3.connect(target)) as made:
            assert made.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
            assert made.execute("PRAGMA foreign_key_check").fetchall() == []
            return {table: made.execute(f"SELECT count(*) FROM {table}").fetchone()[0] for table in tables}
    if target.suffix == ".duckdb":
        with duckdb.connect(str(target), read_only=True) as file:
            return {table: file.execute(f"SELECT count(*) FROM {table}").fetchall()[0][0] for table in tables}
    return {table: pq.read_table(target / f"{table}.parquet").num_rows for table in tables}


def left(folder: Path) -> set[str]:
    """What stands in the folder, temporary files included."""
    here = {entry.name for entry in folder.iterdir()} - {"said1", "said2", "temporary"}
    return here | {f"temporary/{entry.name}" for entry in (folder / "temporary").iterdir()}


def synth_arguments(hospital: Path, target: str) -> list[str]:
    schema = str(hospital.with_name("schema.yaml"))
    # The seed makes every run take the same steps.
    options = ["--epsilon", "2", "--delta", "0", "--unsafe-seed", "1", "--budget-file", "budget", "-o", "r.mare", "--replace"]
    return ["synth", schema, "--from", str(hospital), "--to", target, "--entities", "80", "--quiet", *options]


def kill_over_synth(hospital: Path, folder: Path, kind: str, points: list[Point]) -> None:
    target, arguments = TARGETS[kind], synth_arguments(hospital, TARGETS[kind])
    whole, ended = run_all(folder, arguments, points)
    assert left(whole.folder) == {"budget", "r.mare", target}
    assert {run.code for run in ended} == {-signal.SIGKILL}
    for run in ended:
        rows = rows_of(run.folder / target)
        charged = len(BudgetFile(run.folder / "budget").read().reservations)
        release = run.folder / "r.mare"
        if release.exists():
            load_release(release)
        assert charged == 1 or not (run.read or rows or release.exists()), run
    litter = [run for run in ended if left(run.folder) - {"budget", "r.mare", target}]
    assert litter, "no kill left anything behind: nothing was tested"
    for run in (litter[0], litter[-1]):
        clear_by_running_again(run, arguments, target)


def clear_by_running_again(run: Run, arguments: list[str], target: str) -> None:
    before = len(BudgetFile(run.folder / "budget").read().reservations)
    environment = {**os.environ, "TMPDIR": str(run.folder / "temporary"), "PYTHONPATH": os.pathsep.join(map(str, sys.path))}
    command = [sys.executable, "-c", "from mare.cli import main; main()", *arguments]
    done = subprocess.run(command, cwd=run.folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert left(run.folder) == {"budget", "r.mare", target}
    assert rows_of(run.folder / target) is not None
    assert len(BudgetFile(run.folder / "budget").read().reservations) == before + 1


@pytest.mark.parametrize("kind", TARGETS)
def test_a_kill_leaves_whole_things_and_a_charged_budget(hospital: Path, tmp_path: Path, kind: str) -> None:
    # What comes before the target is the same for all of them: it is gone through more closely once.
    kill_over_synth(hospital, tmp_path, kind, spread(8 if kind == "sqlite" else 4))


@pytest.mark.parametrize("kind", TARGETS)
def test_kills_while_an_old_target_is_replaced(hospital: Path, tmp_path: Path, kind: str) -> None:
    """What was there before stays until the new is complete."""
    release, old, target = tmp_path / "r.mare", tmp_path / TARGETS[kind], TARGETS[kind]
    fit = ("fit", hospital.with_name("schema.yaml"), "--from", hospital, "--epsilon", 2, "-o", release, "--quiet")
    assert mare(*fit, folder=tmp_path).returncode == 0
    assert mare("sample", release, "--to", old, "--entities", 50, "--quiet", folder=tmp_path).returncode == 0
    arguments = ["sample", str(release), "--to", target, "--entities", "300", "--replace", "--quiet"]

    def prepare(folder: Path) -> None:
        (shutil.copytree if old.is_dir() else shutil.copy)(old, folder / target)

    whole, ended = run_all(tmp_path / "runs", arguments, spread(3), prepare=prepare)
    before, after = rows_of(old), rows_of(whole.folder / target)
    assert before is not None
    assert after is not None
    assert (before["patients"], after["patients"]) == (50, 300)
    for run in ended:
        assert run.code == -signal.SIGKILL
        assert rows_of(run.folder / target) in (before, after)


@pytest.mark.parametrize(("word", "code"), [("SIGINT", 130), ("SIGTERM", 143)])
def test_a_polite_stop_leaves_nothing_at_all(hospital: Path, tmp_path: Path, word: str, code: int) -> None:
    _, stopped = run_all(tmp_path, synth_arguments(hospital, "out.sqlite"), [0.15, 0.6, 0.95], word)
    for run in stopped:
        # Before the verb has begun, a polite kill meets the system's own way to end a process.
        assert run.code == code or (run.code == -signal.SIGTERM and not run.read), run.said
        assert rows_of(run.folder / "out.sqlite") is None
        assert left(run.folder) <= {"budget", "r.mare"}
        assert "Traceback" not in run.said
        assert not run.read or len(BudgetFile(run.folder / "budget").read().reservations) == 1
