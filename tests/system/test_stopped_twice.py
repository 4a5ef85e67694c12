"""A second Ctrl-C while the first is still clearing away, and signals that are not Ctrl-C: nobody's rows stay on the disk."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from examples.hospital import simulate_hospital
from mare import files
from mare.cli.progress import FitProgress
from mare.release import load_release
from tests.command_line import mare
from tests.conftest import ROOT

pytestmark = pytest.mark.usefixtures("signals_as_at_a_terminal")

SCHEMA = ROOT / "examples" / "hospital.yaml"


@pytest.fixture(scope="module")
def hospital(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("real") / "hospital.sqlite"
    simulate_hospital(path, patients=200)
    return path


@pytest.fixture
def staging(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


def stop_while_learning(patch: pytest.MonkeyPatch, number: signal.Signals) -> None:
    tell = FitProgress.tell

    def told(self: FitProgress, what: str) -> None:
        tell(self, what)
        if what == "learning domains":
            signal.raise_signal(number)

    patch.setattr(FitProgress, "tell", told)


def stop_while_removing(patch: pytest.MonkeyPatch, number: signal.Signals) -> list[Path]:
    """Another signal as each temporary thing is about to be removed. The list fills with those things."""
    remove, begun = files._remove, list[Path]()

    def removed(path: Path) -> None:
        begun.append(path)
        if len(begun) == 1:
            signal.raise_signal(number)
        remove(path)

    patch.setattr(files, "_remove", removed)
    return begun


@pytest.mark.parametrize(
    ("verb", "second"),
    [("fit", signal.SIGINT), ("fit", signal.SIGHUP), ("synth", signal.SIGTERM)],
    ids=lambda value: value if isinstance(value, str) else value.name,
)
def test_a_second_signal_does_not_cut_the_clearing_short(
    verb: str,
    second: signal.Signals,
    hospital: Path,
    tmp_path: Path,
    staging: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    target = () if verb == "fit" else ("--to", tmp_path / "out.sqlite")
    with monkeypatch.context() as patch:
        stop_while_learning(patch, signal.SIGINT)
        begun = stop_while_removing(patch, second)
        done = mare(verb, SCHEMA, "--from", hospital, "--epsilon", 2, "-o", tmp_path / "r.mare", *target)
    assert done.returncode == 130, done.stderr
    assert "mare: stopped. Nothing half-written is left." in done.stderr
    assert begun, "nothing was removed, so nothing was tested"
    assert list(staging.iterdir()) == []
    assert [entry.name for entry in tmp_path.iterdir()] == ["temporary"]
    assert "clearing away what was begun. Once more ends at once" in capfd.readouterr().err
    # What was set for the signals before is there again.
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert signal.getsignal(second) in (signal.default_int_handler, signal.SIG_DFL)


_INSISTING = """
import signal, sys
from mare import files
from mare.cli.progress import FitProgress
tell, remove = FitProgress.tell, files._remove
def told(self, what):
    tell(self, what)
    if what == "learning domains":
        signal.raise_signal(signal.SIGINT)
def removed(path):
    if "mare-stage-" in str(path):
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)
    remove(path)
FitProgress.tell, files._remove = told, removed
from mare.cli import main
main()
"""


def test_whoever_insists_ends_it_at_once_and_the_next_run_clears_away(hospital: Path, tmp_path: Path, staging: Path) -> None:
    environment = {**os.environ, "TMPDIR": str(staging), "PYTHONPATH": os.pathsep.join(map(str, sys.path))}
    arguments = ["fit", str(SCHEMA), "--from", str(hospital), "--epsilon", "2", "-o", str(tmp_path / "r.mare")]
    ended = subprocess.run([sys.executable, "-c", _INSISTING, *arguments], capture_output=True, env=environment, check=False)
    assert ended.returncode == -signal.SIGINT, ended.stderr
    assert len(list(staging.glob("mare-stage-*"))) == 1
    assert not (tmp_path / "r.mare").exists()
    assert mare(*arguments).returncode == 0
    assert list(staging.iterdir()) == []


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129)], ids=["kill", "terminal closed"])
def test_other_polite_signals_clear_away_too(
    number: signal.Signals, code: int, hospital: Path, tmp_path: Path, staging: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        stop_while_learning(patch, number)
        done = mare("fit", SCHEMA, "--from", hospital, "--epsilon", 2, "-o", tmp_path / "r.mare")
    assert done.returncode == code
    assert [entry.name for entry in tmp_path.iterdir()] == ["temporary"]
    assert list(staging.iterdir()) == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGHUP], ids=["in the background", "nohup"])
def test_what_is_set_to_be_ignored_stays_ignored(
    number: signal.Signals, hospital: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = signal.signal(number, signal.SIG_IGN)
    try:
        with monkeypatch.context() as patch:
            stop_while_learning(patch, number)
            done = mare("fit", SCHEMA, "--from", hospital, "--epsilon", 2, "-o", tmp_path / "r.mare")
        assert done.returncode == 0, done.stderr
        assert signal.getsignal(number) is signal.SIG_IGN
    finally:
        signal.signal(number, before)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)], ids=["ctrl-c", "kill"])
def test_a_synth_that_is_stopped_after_the_fit_keeps_what_was_paid_for(
    number: signal.Signals, code: int, hospital: Path, tmp_path: Path, staging: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    @contextmanager
    def stopping(what: str, quiet: bool) -> Iterator[Callable[[int, int], None]]:
        yield lambda done, total: signal.raise_signal(number)

    monkeypatch.setattr("mare.cli.commands.fit.count_bar", stopping)
    target = tmp_path / "out.sqlite"
    done = mare("synth", SCHEMA, "--from", hospital, "--epsilon", 2, "--to", target, folder=tmp_path)
    assert done.returncode == code
    assert "its release is kept in hospital.rescued1.mare" in done.stderr
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["hospital.rescued1.mare", "temporary"]
    assert load_release(tmp_path / "hospital.rescued1.mare").plan.entities > 0
    assert list(staging.iterdir()) == []
