"""The walking skeleton: one SQLite file into another, by the command line, as a user would."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from unittest import mock

import pytest

from examples.hospital import simulate_hospital
from tests.command_line import Done
from tests.command_line import mare as within
from tests.conftest import ROOT

SCHEMA = str(ROOT / "examples" / "hospital.yaml")


@pytest.fixture(scope="module")
def hospital(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("real") / "hospital.sqlite"
    simulate_hospital(path, patients=400)
    return path


def program(*arguments: object, folder: Path) -> Done:
    """`mare …` as a process of its own."""
    command = [sys.executable, "-W", "error", "-c", "from mare.cli import main; main()", *map(str, arguments)]
    environment = {**os.environ, "TMPDIR": str(folder)}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    return Done(done.returncode, done.stdout, done.stderr)


def mare(*arguments: object, folder: Path, expect: int = 0, run: Callable[..., Done] | None = None) -> Done:
    """The same in this process, which saves a second each; temporary files go into the folder too."""
    with mock.patch.object(tempfile, "tempdir", str(folder)):
        done = within(*arguments) if run is None else run(*arguments, folder=folder)
    assert done.returncode == expect, done.stderr
    assert "Traceback" not in done.stderr
    return done


def assert_sound(path: Path) -> None:
    with closing(sqlite3.connect(path)) as database:
        assert database.execute("PRAGMA foreign_key_check").fetchall() == []
        assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        assert database.execute("SELECT count(*) FROM admissions").fetchone()[0] > 0
        assert database.execute("SELECT count(*) FROM admissions WHERE discharged < admitted").fetchone() == (0,)
        rows = "SELECT admitted, lag(discharged) OVER (PARTITION BY patient_id ORDER BY admission_id) AS before FROM admissions"
        late = f"SELECT count(*) FROM ({rows}) WHERE admitted < before"
        assert database.execute(late).fetchone() == (0,)


def test_fit_sample_and_ledger(hospital: Path, tmp_path: Path) -> None:
    release, target = tmp_path / "r.mare", tmp_path / "synthetic.sqlite"
    fitted = mare("fit", SCHEMA, "--from", hospital, "--epsilon", "2", "-o", release, folder=tmp_path, run=program)
    assert "PRIVATE, epsilon = 2" in fitted.stdout
    assert "NOT PRIVATE" not in fitted.stdout + fitted.stderr
    mare("sample", release, "--to", target, "--seed", "3", folder=tmp_path)
    assert_sound(target)
    told = mare("ledger", release, folder=tmp_path).stdout
    assert "one row of patients" in told
    assert json.loads(mare("ledger", release, "--json", folder=tmp_path).stdout)["status"] == "PRIVATE"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["r.mare", "synthetic.sqlite"]


def test_sampling_needs_the_release_alone_and_is_repeatable(hospital: Path, tmp_path: Path) -> None:
    release = tmp_path / "r.mare"
    moved = tmp_path / "moved.sqlite"
    moved.write_bytes(hospital.read_bytes())
    mare("fit", SCHEMA, "--from", moved, "--epsilon", "2", "-o", release, folder=tmp_path)
    moved.unlink()
    for name in ("one", "two"):
        mare("sample", release, "--to", tmp_path / f"{name}.sqlite", "--entities", "50", "--seed", "9", folder=tmp_path)
    assert (tmp_path / "one.sqlite").read_bytes() == (tmp_path / "two.sqlite").read_bytes()


def test_synth_does_both(hospital: Path, tmp_path: Path) -> None:
    target = tmp_path / "synthetic.sqlite"
    # the noise is real: at epsilon 40 its scale on the 400 patients is 10, and none at all comes out once in e^35 runs
    done = mare("synth", SCHEMA, "--from", hospital, "--to", target, "--epsilon", "40", "--delta", "0", "--json", folder=tmp_path)
    result = json.loads(done.stdout)
    assert result["status"] == "PRIVATE"
    assert result["rows"]["patients"] > 0
    assert_sound(target)


def test_not_private_is_said_on_every_print(hospital: Path, tmp_path: Path) -> None:
    release, target = tmp_path / "r.mare", tmp_path / "s.sqlite"
    options = ("--from", hospital, "--epsilon", "2", "--unsafe-seed", "1", "--quiet")
    for done in (
        mare("fit", SCHEMA, *options, "-o", release, folder=tmp_path),
        mare("sample", release, "--to", target, "--quiet", folder=tmp_path),
        mare("ledger", release, folder=tmp_path),
        mare("synth", SCHEMA, *options, "--to", tmp_path / "t.sqlite", folder=tmp_path),
    ):
        assert "NOT PRIVATE" in done.stderr


def test_refusals_are_one_clear_message_and_leave_nothing(hospital: Path, tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    existing = tmp_path / "there.sqlite"
    existing.write_bytes(b"precious")
    out = ("--epsilon", "1", "-o", work / "r.mare")
    for arguments, word in (
        (("fit", SCHEMA, "--from", work / "no.sqlite", *out), "is not there"),
        (("fit", SCHEMA, "--from", existing, *out), "cannot be read as a SQLite database"),
        (("fit", SCHEMA, "--from", hospital, "--epsilon", "-1", "-o", work / "r.mare"), "epsilon is -1"),
        (("fit", SCHEMA, "--from", hospital, "--epsilon", "1", "-o", work / "no" / "r.mare"), "is not there"),
        (("synth", SCHEMA, "--from", hospital, "--to", existing, "--epsilon", "1"), "exists already"),
        (("sample", work / "no.mare", "--to", work / "s.sqlite"), "there is no release"),
        (("sample", existing, "--to", work / "s.sqlite"), "not a release of mare"),
        (("ledger", SCHEMA), "not a release of mare"),
    ):
        assert word in mare(*arguments, folder=work, expect=2).stderr
    assert existing.read_bytes() == b"precious"
    assert not list(work.iterdir())


def test_models_are_listed(tmp_path: Path) -> None:
    listed = json.loads(mare("models", "--json", folder=tmp_path).stdout)
    assert [m["name"] for m in listed if m["default"]] == ["privbayes"]
    assert "privbayes (default)" in mare("models", folder=tmp_path).stdout
