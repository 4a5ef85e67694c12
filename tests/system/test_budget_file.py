"""The budget file under fire: many processes at once, kill -9 at any moment, and fits that pay from it."""

from __future__ import annotations

import json
import multiprocessing
import os
import random
import re
import shlex
import signal
import subprocess
import sys
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from unittest import mock

import pytest

import mare
from examples.hospital import simulate_hospital
from mare.errors import BudgetError, MareError, SourceError
from mare.privacy.budget import Budget
from mare.privacy.budget_file import BudgetFile
from tests.command_line import Done
from tests.command_line import mare as within
from tests.conftest import ROOT
from tests.memory_source import MemorySource, hospital_rows, hospital_schema

AT = datetime(2026, 3, 14, 9, 26, 53, tzinfo=UTC)
UNIT = "one row of patients"
SCHEMA = "examples/hospital.yaml"
BIN = Path(sys.executable).parent


def run(command: str | list[str], folder: Path) -> Done | subprocess.CompletedProcess[str]:
    """A line of a shell, or the words of a `mare` command: that one runs in this process, which saves a second each."""
    if isinstance(command, list):
        with mock.patch.dict(os.environ, {"COLUMNS": "100"}):
            return within(*command[1:], folder=folder)
    env = {**os.environ, "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}", "COLUMNS": "100"}
    return subprocess.run(command, shell=True, cwd=folder, env=env, capture_output=True, text=True, check=False)


def _take_many(path: Path, wishes: list[Budget], start: object, granted: object) -> None:
    start.wait()  # type: ignore[attr-defined]
    for wish in wishes:
        try:
            pledge = BudgetFile(path).reserve(wish, f"process {os.getpid()}", UNIT, AT)
        except BudgetError:
            continue
        granted.put((pledge.id, wish.epsilon, wish.delta))  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("cap", "wishes"),
    [
        pytest.param(Budget(1.0, delta=0), [Budget(0.03, delta=0), Budget(0.011, delta=0)] * 15, marks=pytest.mark.slow),
        (Budget(0.9, 1e-7), [Budget(0.31, 1e-9), Budget(0.02, delta=0), Budget(0.17, 1e-9)] * 6),
    ],
    ids=["pure", "mixed"],
)
def test_processes_at_once_never_exceed_the_cap_and_lose_nothing(tmp_path: Path, cap: Budget, wishes: list[Budget]) -> None:
    file = BudgetFile.create(tmp_path / "b", cap, "b", AT)
    context = multiprocessing.get_context("spawn")
    start, granted = context.Event(), context.Queue()
    # daemons: should this test be ended early, nobody waits for them
    workers = [context.Process(target=_take_many, args=(file.path, wishes, start, granted), daemon=True) for _ in range(3)]
    for worker in workers:
        worker.start()
    start.set()
    told: list[tuple[str, float, float]] = []
    while any(worker.is_alive() for worker in workers) or not granted.empty():
        while not granted.empty():
            told.append(granted.get())
        workers[0].join(0.01)
    for worker in workers:
        worker.join()
        assert worker.exitcode == 0
    while not granted.empty():
        told.append(granted.get())
    account = file.read()
    held = [(r.id, r.budget.epsilon, r.budget.delta) for r in account.reservations]
    assert sorted(held) == sorted(told)
    assert len(set(told)) == len(told) < 3 * len(wishes)
    assert account.spent.fits
    if cap.pure:
        assert account.spent.epsilon == sum((Budget(e, delta=0).epsilon_written for _, e, _ in told), Fraction(0)) <= 1
    # whoever was refused was refused for want of budget, not because of the others
    assert not account.spent.allows(max(wishes, key=lambda wish: wish.epsilon))
    assert os.listdir(tmp_path) == ["b"]


TAKER = """
import sys
from datetime import UTC, datetime
from pathlib import Path
from mare.privacy.budget import Budget
from mare.privacy.budget_file import BudgetFile
file = BudgetFile(Path(sys.argv[1]))
while True:
    pledge = file.reserve(Budget(1e-4, delta=0), "a test", "one row", datetime(2026, 1, 1, tzinfo=UTC))
    sys.stdout.write(pledge.id + "\\n")
    sys.stdout.flush()
"""


def kill_loop(folder: Path, kills: int, seed: int) -> tuple[int, int]:
    """Takers are killed after a random number of grants and a random number of their own steps more. Returns told and held."""
    chance = random.Random(seed)
    file = BudgetFile.create(folder / "b", Budget(1000.0, delta=0), "b", AT)
    told: list[str] = []
    for _ in range(kills):
        with subprocess.Popen([sys.executable, "-c", TAKER, str(file.path)], stdout=subprocess.PIPE, text=True) as taker:
            try:
                assert taker.stdout is not None
                for _ in range(chance.randrange(1, 6)):
                    told.append(taker.stdout.readline().strip())
                for _ in range(chance.randrange(20_000)):  # somewhere within the next reservation
                    pass
            finally:
                taker.kill()
            rest, _ = taker.communicate()
        told += [line for line in rest.split("\n")[:-1] if line]
        held = [reservation.id for reservation in file.read().reservations]  # it opens, after every kill
        assert told == [identity for identity in held if identity in set(told)], "a grant is missing, or out of order"
    file.reserve(Budget(1e-4, delta=0), "afterwards", "one row", AT)
    assert os.listdir(folder) == ["b"]
    return len(told), len(held)


def test_kill_9_loses_no_grant_and_damages_nothing(tmp_path: Path) -> None:
    told, held = kill_loop(tmp_path, kills=6, seed=1)
    assert told >= 6
    assert told <= held <= told + 6  # each kill may have spent one reservation that nobody was told of


@pytest.mark.slow
def test_kill_9_sixty_times(tmp_path: Path) -> None:
    told, held = kill_loop(tmp_path, kills=60, seed=2)
    assert 60 <= told <= held <= told + 60


STEPPING = """
import os, signal, sys
from datetime import UTC, datetime
from pathlib import Path
from mare.privacy.budget import Budget
from mare.privacy.budget_file import BudgetFile
file, fatal, seen = BudgetFile(Path(sys.argv[1])), int(sys.argv[2]), 0
steps = "open os.rename os.remove tempfile.mkstemp os.chmod os.chown fcntl.flock os.listdir os.scandir".split()
def step(event, arguments):
    global seen
    if event in steps:
        seen += 1
        if seen == fatal:
            os.kill(os.getpid(), signal.SIGKILL)
sys.addaudithook(step)
file.reserve(Budget(0.1, delta=0), "a test", "one row", datetime(2026, 1, 1, tzinfo=UTC))
os.write(1, b"granted")
"""


def test_kill_9_before_every_single_step_of_a_reservation(tmp_path: Path) -> None:
    """Before each system call that Python tells of, in turn, until one run gets through."""
    file = BudgetFile.create(tmp_path / "b", Budget(1000.0, delta=0), "b", AT)
    granted, fatal = False, 0
    while not granted:
        fatal += 1
        before = len(file.read().reservations)
        done = subprocess.run([sys.executable, "-c", STEPPING, str(file.path), str(fatal)], capture_output=True, check=False)
        granted = done.stdout == b"granted"
        assert done.returncode == (0 if granted else -signal.SIGKILL), done.stderr
        after = len(file.read().reservations)
        assert after in ((before + 1,) if granted else (before, before + 1))
    assert fatal > 6
    assert os.listdir(tmp_path) == ["b"]


@pytest.fixture(scope="module")
def hospital(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("real") / "hospital.sqlite"
    simulate_hospital(path, patients=150)
    return path


def test_a_fit_pays_first_and_its_ledger_names_the_reservation(hospital: Path, tmp_path: Path) -> None:
    file = BudgetFile.create(tmp_path / "b", Budget(2.0, 1e-8), "hospital 2026", AT)
    plan = mare.plan(mare.load_schema(ROOT / SCHEMA), Budget(1.0, 1e-9))
    release = mare.fit(plan, hospital, budget_file=file.path, purpose="a test")
    (reservation,) = file.read().reservations
    assert (reservation.budget, reservation.purpose) == (Budget(1.0, 1e-9), "a test")
    pledge = release.ledger.pledge
    assert pledge is not None
    assert (pledge.label, pledge.id, pledge.cap) == ("hospital 2026", reservation.id, Budget(2.0, 1e-8))
    assert file.read().unit == release.ledger.unit
    release.save(tmp_path / "r.mare")
    assert mare.load_release(tmp_path / "r.mare").ledger.pledge == pledge
    assert f"hospital 2026, reservation {reservation.id}" in release.ledger.render()


class BreaksDown(MemorySource):
    """Answers about its catalogue, and fails at the first row."""

    def read(self, *_: object, **__: object) -> object:  # type: ignore[override]
        raise SourceError("the connection was lost")


def test_a_fit_that_breaks_down_gets_nothing_back(tmp_path: Path) -> None:
    file = BudgetFile.create(tmp_path / "b", Budget(2.0, 1e-8), "b", AT)
    plan = mare.plan(hospital_schema(), Budget(1.0, 1e-9))
    with pytest.raises(MareError, match="connection was lost"):
        mare.fit(plan, BreaksDown.of(hospital_rows(patients=20)), budget_file=file.path)
    assert len(file.read().reservations) == 1


def test_a_refused_fit_never_reads_a_row(tmp_path: Path) -> None:
    file = BudgetFile.create(tmp_path / "b", Budget(0.5, 1e-8), "b", AT)
    plan = mare.plan(hospital_schema(), Budget(1.0, 1e-9))
    with pytest.raises(BudgetError, match="cannot pay"):
        mare.fit(plan, BreaksDown.of(hospital_rows(patients=20)), budget_file=file.path)
    assert file.read().reservations == ()


def test_what_can_be_refused_without_a_row_costs_nothing(hospital: Path, tmp_path: Path) -> None:
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    assert run(["mare", "budget", "create", "b", "--epsilon", "5"], tmp_path).returncode == 0
    there = tmp_path / "there.sqlite"
    there.write_bytes(b"precious")
    fit = ["mare", "fit", SCHEMA, "--epsilon", "1", "--budget-file", "b"]
    for command, words in (
        ([*fit, "--from", "nowhere.sqlite", "-o", "r.mare"], "is not there"),
        ([*fit, "--from", str(hospital), "-o", "no/r.mare"], "is not there"),
        (
            ["mare", "synth", SCHEMA, "--epsilon", "1", "--budget-file", "b", "--from", str(hospital), "--to", str(there)],
            "exists already",
        ),
        ([*fit, "--from", str(there), "-o", "r.mare"], "cannot be read as a SQLite database"),
    ):
        done = run(command, tmp_path)
        assert done.returncode == 2, done.stderr
        assert words in done.stderr
    assert BudgetFile(tmp_path / "b").read().reservations == ()


def test_the_command_line_from_the_cap_to_the_last_refusal(hospital: Path, tmp_path: Path) -> None:
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    made = run(["mare", "budget", "create", "b.json", "--epsilon", "1", "--delta", "0", "--label", "pure"], tmp_path)
    assert made.stdout == "b.json: pure, epsilon = 1, delta = 0 for all releases together\n"
    created = run(["mare", "budget", "create", "c2.json", "--epsilon", "1", "--json"], tmp_path)
    assert json.loads(created.stdout) == json.loads(run(["mare", "budget", "show", "c2.json", "--json"], tmp_path).stdout)
    options = ["--from", str(hospital), "--delta", "0", "--budget-file", "b.json"]
    fitted = run(["mare", "fit", SCHEMA, *options, "--epsilon", "0.6", "-o", "r.mare", "--unsafe-seed", "1"], tmp_path)
    assert fitted.returncode == 0, fitted.stderr
    refused = run(["mare", "synth", SCHEMA, *options, "--epsilon", "0.6", "--to", "s.sqlite"], tmp_path)
    assert refused.returncode == 2
    assert "pays for epsilon = 0.4 at most" in refused.stderr
    assert not (tmp_path / "s.sqlite").exists()
    shown = run(["mare", "budget", "show", "b.json"], tmp_path)
    assert "r.mare (NOT PRIVATE)" in shown.stdout
    assert run(["mare", "ledger", "b.json"], tmp_path).stdout == shown.stdout
    data = json.loads(run(["mare", "budget", "show", "b.json", "--json"], tmp_path).stdout)
    assert data["sums"]["left"]["epsilon"] == 0.4
    assert json.loads(run(["mare", "ledger", "b.json", "--json"], tmp_path).stdout) == data
    assert json.loads(run(["mare", "ledger", "r.mare", "--json"], tmp_path).stdout)["budget_file"]["label"] == "pure"
    for command, words in (
        (["create", "b.json", "--epsilon", "1"], "exists already"),
        (["create", "c.json", "--epsilon", "-1"], "epsilon is -1"),
        (["create", "c.json", "--epsilon", "1", "--label", " "], "needs a label"),
        (["show", "nothing.json"], "there is no budget file"),
        (["show", "r.mare"], "not a budget file"),
    ):
        done = run(["mare", "budget", *command], tmp_path)
        assert done.returncode == 2
        assert words in done.stderr
        assert "Traceback" not in done.stderr
    assert not (tmp_path / "c.json").exists()


def test_every_option_of_the_budget_verbs_is_documented() -> None:
    import typer.main

    from mare.cli.commands.records import budget

    text = (ROOT / "docs" / "reference" / "cli.md").read_text(encoding="utf-8")
    for name, command in typer.main.get_group(budget).commands.items():  # type: ignore[attr-defined]
        section = text.split(f"## `mare budget {name} FILE`", 1)[1].split("\n## ", 1)[0]
        for parameter in command.params:
            assert all(f"`{option}`" in section for option in parameter.opts if option.startswith("-")), name


@pytest.mark.slow
@pytest.mark.parametrize(
    ("page", "how_many"), [("the-ledger", 8), ("nightly-samples-rare-fits", 5), ("handing-over-a-release", 7)]
)
def test_the_guide_shows_what_its_commands_print(page: str, how_many: int, tmp_path: Path) -> None:
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    guide = (ROOT / "docs" / "guides" / f"{page}.md").read_text(encoding="utf-8")
    commands = 0
    for block in re.findall(r"```console\n(.*?)```", guide, flags=re.DOTALL):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, *shown = part.rstrip("\n").split("\n")
            words = shlex.split(command, comments=True)
            done = run(words if words[0] == "mare" else command.replace("python ", f"{sys.executable} "), tmp_path)
            printed = iter((done.stdout + done.stderr).split("\n"))
            missing = [line for line in shown if line != "…" and not any(line == other for other in printed)]
            assert missing == [], f"$ {command}\n{done.stdout}{done.stderr}"
            commands += 1
    assert commands == how_many
