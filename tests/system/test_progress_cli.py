"""What a person sees while a verb works, and what is left when they stop it: on a terminal, in a pipe, quiet and as JSON."""

from __future__ import annotations

import json
import os
import pty
import re
import select
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from examples.hospital import simulate_hospital
from mare.cli.notes import UNTOLD
from mare.cli.progress import CountedSource, FitProgress, Progress
from tests.command_line import mare
from tests.conftest import ROOT
from tests.fitted_hospital import fitted_hospital

pytestmark = pytest.mark.usefixtures("signals_as_at_a_terminal")

SCHEMA = ROOT / "examples" / "hospital.yaml"
STOPPED = 130
PATIENTS = 400


@pytest.fixture(scope="module")
def hospital(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("real") / "hospital.sqlite"
    simulate_hospital(path, patients=PATIENTS)
    return path


@pytest.fixture(scope="module")
def release(hospital: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("fitted") / "r.mare"
    assert mare("fit", SCHEMA, "--from", hospital, "--epsilon", 20, "-o", path).returncode == 0
    return path


@pytest.fixture
def staging(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where temporary files are made during this test: nothing may be left there."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    monkeypatch.setenv("TMPDIR", str(folder))
    return folder


# ---------------------------------------------------------------------- a real terminal


def on_a_terminal(*arguments: object, press_at: str | None = None, columns: int = 100) -> tuple[int, str]:
    """Run `mare …` on a pseudo-terminal; press Ctrl-C as soon as the screen says ``press_at``."""
    command = [sys.executable, "-W", "error", "-c", "from mare.cli import main; main()", *map(str, arguments)]
    process, screen = pty.fork()
    if process == 0:
        os.environ |= {"TERM": "xterm", "COLUMNS": str(columns), "LINES": "30"}
        os.execv(command[0], command)
    shown = b""
    pressed = False
    while select.select([screen], [], [], 120)[0]:
        try:
            shown += os.read(screen, 65536)
        except OSError:  # the other end is closed: the command is over
            break
        if press_at is not None and not pressed and press_at.encode() in shown:
            os.write(screen, b"\x03")
            pressed = True
    os.close(screen)
    _, status = os.waitpid(process, 0)
    return os.waitstatus_to_exitcode(status), shown.decode()


def plain(screen: str) -> str:
    """What was on the screen, without its control codes."""
    return re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", screen).replace("\r", "\n")


def test_a_terminal_shows_bars_and_then_the_result_alone(hospital: Path, tmp_path: Path) -> None:
    target = tmp_path / "s.sqlite"
    code, screen = on_a_terminal("synth", SCHEMA, "--from", hospital, "--to", target, "--epsilon", 20, "--entities", 3000)
    assert code == 0, screen
    seen = plain(screen)
    # How long it will take is told where it takes a while: not on every machine.
    assert re.search(r"[━╸╺]+ +(about \d+ s left )?fitting admissions.rows \(\d+ of \d+\)", seen), seen
    assert re.search(r"[━╸╺]+ +sampling \([\d,]+ of 3,000\)", seen), seen
    assert "finishing" in seen
    # Bars go away: below the last control code there is nothing but the result, and the cursor is there again.
    assert screen.rindex("\x1b[?25h") > screen.rindex("\x1b[?25l")
    result = plain(screen[screen.rindex("\x1b[2K") :])
    assert "━" not in result
    assert f"{target}: patients, 3,000 rows" in result


@pytest.mark.slow
def test_a_bar_is_one_line_on_a_narrow_terminal_too(release: Path, tmp_path: Path) -> None:
    made, given, target = tmp_path / "made", tmp_path / "given.csv", tmp_path / "s.sqlite"
    assert mare("sample", release, "--to", f"{made}?format=csv", "--entities", 20_000).returncode == 0
    (made / "patients.csv").rename(given)
    code, screen = on_a_terminal("sample", release, "--to", target, "--given", f"patients={given}", columns=62)
    assert code == 0, screen
    bars = plain(screen[: screen.rindex("\x1b[2K")])
    assert re.search(r"[━╸╺]+ .*given rows: \w+ patients", bars), bars
    lines = [line for line in bars.split("\n") if line.strip()]
    assert not [line for line in lines if not line.startswith(("━", "╸", "╺")) or len(line) > 62]


@pytest.mark.slow
def test_an_evaluation_into_a_file_shows_how_far_it_is(hospital: Path, tmp_path: Path) -> None:
    figures = tmp_path / "e.json"
    code, screen = on_a_terminal("evaluate", SCHEMA, "--real", hospital, "--synthetic", hospital, "--json", figures)
    assert code == 0, plain(screen)
    assert "evaluating: reading the real rows and the synthetic rows" in plain(screen)
    assert figures.is_file()


def test_ctrl_c_on_a_terminal_ends_with_a_word(release: Path, tmp_path: Path, staging: Path) -> None:
    """Pressed when the screen says that it is at work, which it is for a while then."""
    source, kept, target = tmp_path / "large.sqlite", tmp_path / "r.mare", tmp_path / "s.sqlite"
    simulate_hospital(source, patients=20_000)
    for moment, command in (
        ("reading", ("fit", SCHEMA, "--from", source, "--epsilon", 2, "-o", kept)),
        ("sampling", ("sample", release, "--to", target, "--entities", 200_000)),
    ):
        code, screen = on_a_terminal(*command, press_at=moment)
        assert code == STOPPED, screen
        assert plain(screen).rstrip().endswith("mare: stopped. Nothing half-written is left.")
        assert "Traceback" not in screen
        assert [path.name for path in sorted(tmp_path.iterdir())] == ["large.sqlite", "temporary"]
        assert not list(staging.iterdir())


# ---------------------------------------------------------------------- a pipe, silence, JSON


def test_looks_at_columns_tell_a_pipe_no_time_left_which_would_be_a_number_of_rows(
    hospital: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[str] = []
    lines: list[Callable[[], str]] = []
    show = Progress.show

    @contextmanager
    def at_once(text: Callable[[], str]) -> Iterator[None]:
        lines.append(text)
        yield

    def shown(self: Progress, what: str, done: float = 0.0, total: int | None = None) -> None:
        show(self, what, done, total)
        assert done == 0 or self.left() is not None
        said.append(lines[-1]())

    monkeypatch.setattr("mare.cli.progress.plain_lines", at_once)
    monkeypatch.setattr(Progress, "show", shown)
    assert mare("init", hospital, "--peek", "-o", tmp_path / "d.yaml").returncode == 0
    assert said == [f"looking at columns ({number} of {len(said)})" for number in range(len(said))]
    assert said


def test_a_pipe_gets_lines_without_a_number_from_the_data(
    hospital: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every state is said at once here, instead of the one that is there after some seconds."""
    said: list[str] = []
    lines: list[Callable[[], str]] = []
    tell = FitProgress.tell

    @contextmanager
    def at_once(text: Callable[[], str]) -> Iterator[None]:
        lines.append(text)
        yield

    def told(self: FitProgress, what: str) -> None:
        tell(self, what)
        said.append(lines[0]())

    monkeypatch.setattr("mare.cli.progress.plain_lines", at_once)
    monkeypatch.setattr(FitProgress, "tell", told)
    assert mare("fit", SCHEMA, "--from", hospital, "--epsilon", 2, "-o", tmp_path / "r.mare").returncode == 0
    count = len(said)
    assert said[0] == f"reading (step 1 of {count})"
    assert said[-1] == f"fitting admissions.rows (step {count} of {count})"
    assert not any(str(number) in line for line in said for number in (PATIENTS, f"{PATIENTS:,}"))


def test_what_is_quick_says_nothing_in_a_pipe(
    hospital: Path, release: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mare.cli.progress.FIRST", 1e6)  # however slow this machine is
    fitted = mare("fit", SCHEMA, "--from", hospital, "--epsilon", 2, "-o", tmp_path / "r.mare")
    assert fitted.stderr.splitlines() == [UNTOLD, f"Next: mare sample {tmp_path / 'r.mare'} --to synthetic.sqlite"]
    assert mare("sample", release, "--to", tmp_path / "s.sqlite").stderr == ""


def test_notes_that_would_end_in_the_release_or_nowhere_are_refused_before_anything_is_read(
    hospital: Path, tmp_path: Path
) -> None:
    budget, release = tmp_path / "b.json", tmp_path / "r.mare"
    assert mare("budget", "create", budget, "--epsilon", 10).returncode == 0
    for file, said in ((release, "Give two paths"), (tmp_path, "is a folder"), (tmp_path / "no" / "n.txt", "Make it first")):
        for verb in (("fit",), ("synth", "--to", tmp_path / "s.sqlite")):
            options = ("--epsilon", 1, "-o", release, "--budget-file", budget, "--internal-notes", file)
            done = mare(*verb, SCHEMA, "--from", hospital, *options)
            assert (done.returncode, release.exists()) == (2, False)
            assert said in done.stderr
    assert json.loads(mare("budget", "show", budget, "--json").stdout)["reservations"] == []


def test_quiet_is_silent(hospital: Path, release: Path, tmp_path: Path) -> None:
    fit = ("fit", SCHEMA, "--from", hospital, "--epsilon", 2, "-o", tmp_path / "r.mare")
    sample = ("sample", release, "--to", tmp_path / "s.sqlite")
    synth = ("synth", SCHEMA, "--from", hospital, "--epsilon", 2, "--to", tmp_path / "t.sqlite")
    for arguments in (fit, sample, synth):
        done = mare(*arguments, "--quiet")
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_json_is_all_there_is_on_the_output(hospital: Path, release: Path, tmp_path: Path) -> None:
    file = tmp_path / "b.json"
    assert mare("budget", "create", file, "--epsilon", 10).returncode == 0
    for arguments, wanted in (
        (
            ("fit", SCHEMA, "--from", hospital, "--epsilon", 2, "-o", tmp_path / "r.mare"),
            {"release", "status", "epsilon", "spent"},
        ),
        (("sample", release, "--to", tmp_path / "s.sqlite"), {"target", "status", "rows"}),
        (("synth", SCHEMA, "--from", hospital, "--epsilon", 2, "--to", tmp_path / "t.sqlite"), {"target", "status", "rows"}),
        (("plan", SCHEMA, "--epsilon", 2), {"groups", "budget"}),
        (("check", SCHEMA, "--from", hospital), {"ok", "faults"}),
        (("ledger", release), {"status", "charges"}),
        (("ledger", file), {"cap"}),
        (("budget", "show", file), {"cap"}),
    ):
        done = mare(*arguments, "--json")
        assert done.returncode == 0, done.stderr
        assert wanted <= json.loads(done.stdout).keys(), arguments
        assert done.stderr == "", arguments
    assert {"name", "options", "default"} <= json.loads(mare("models", "--json").stdout)[0].keys()


# ---------------------------------------------------------------------- stopped


def ctrl_c() -> None:
    signal.raise_signal(signal.SIGINT)


def stop_at(patch: pytest.MonkeyPatch, step: str) -> None:
    """Ctrl-C as this step of a fit begins, or in the middle of reading the admissions."""
    tell, read = FitProgress.tell, CountedSource.read

    def told(self: FitProgress, what: str) -> None:
        tell(self, what)
        if what == step:
            ctrl_c()

    def halfway(self: CountedSource, table: str, columns: Sequence[str]) -> Iterator[object]:
        for batch in read(self, table, columns):
            if (table, step) == ("admissions", HALFWAY):
                ctrl_c()
            yield batch

    patch.setattr(FitProgress, "tell", told)
    patch.setattr(CountedSource, "read", halfway)


HALFWAY = "in the middle of a table"
MOMENTS = ("reading", HALFWAY, "measuring sizes", "learning domains", "encoding admissions", "fitting admissions.rows")


def test_a_fit_that_is_stopped_leaves_nothing_and_gives_no_budget_back(
    hospital: Path, tmp_path: Path, staging: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    budget, release = tmp_path / "b.json", tmp_path / "r.mare"
    assert mare("budget", "create", budget, "--epsilon", 100).returncode == 0
    fitted_hospital().save(release)
    earlier = release.read_bytes()
    spent = 0
    for moment in MOMENTS:
        with monkeypatch.context() as patch:
            stop_at(patch, moment)
            options = ("--epsilon", 1, "-o", release, "--replace", "--budget-file", budget)
            done = mare("fit", SCHEMA, "--from", hospital, *options)
        assert done.returncode == STOPPED, (moment, done.stderr)
        assert done.stderr.splitlines()[-1].startswith("mare: stopped. Nothing half-written is left."), moment
        spent += moment != "reading"  # said before the first row is looked at, and before the budget is taken
        assert ("stays taken" in done.stderr) == (moment != "reading"), moment
        assert len(json.loads(mare("budget", "show", budget, "--json").stdout)["reservations"]) == spent, moment
        assert release.read_bytes() == earlier, moment
        assert not list(staging.iterdir()), moment


@pytest.mark.parametrize("suffix", [".sqlite", ".duckdb", ""], ids=["sqlite", "duckdb", "folder"])
def test_a_sample_that_is_stopped_leaves_the_target_as_it_was(
    release: Path, tmp_path: Path, staging: Path, monkeypatch: pytest.MonkeyPatch, suffix: str
) -> None:
    target = tmp_path / f"target{suffix}"
    arguments = ("sample", release, "--to", target, "--entities", 500)

    def contents() -> dict[str, bytes]:
        return {str(path): path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}

    for replace in (False, True):
        before = contents()
        with monkeypatch.context() as patch:
            patch.setattr("mare.cli.commands.fit.count_bar", _stopping)
            done = mare(*arguments, *(["--replace"] if replace else []))
        assert done.returncode == STOPPED, done.stderr
        assert done.stderr.splitlines() == ["mare: stopped. Nothing half-written is left."]
        assert contents() == before
        assert not list(staging.iterdir())
        if not replace:
            assert not target.exists()
            assert mare(*arguments).returncode == 0  # so that the second time there is something to lose


@contextmanager
def _stopping(what: str, quiet: bool) -> Iterator[Callable[[int, int], None]]:
    """Ctrl-C when the first rows have been written."""
    yield lambda done, total: ctrl_c()


def test_a_synth_that_is_stopped_leaves_no_target(
    hospital: Path, tmp_path: Path, staging: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target, release = tmp_path / "t.sqlite", tmp_path / "r.mare"
    for sampling in (False, True):
        with monkeypatch.context() as patch:
            if sampling:
                patch.setattr("mare.cli.commands.fit.count_bar", _stopping)
            else:
                stop_at(patch, "learning domains")
            done = mare("synth", SCHEMA, "--from", hospital, "--epsilon", 2, "--to", target, "-o", release)
        assert done.returncode == STOPPED, done.stderr
        assert not target.exists()
        assert release.exists() == sampling  # kept as asked, whole, once it was fitted and paid for
        assert not list(staging.iterdir())
