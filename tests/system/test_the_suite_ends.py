"""`make test` ends, green or red: with signals ignored, and with a test that hangs, wherever it hangs."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.time_limits import AGAIN, SLOW, USUAL, limits_of

HANGING = """
import socket, subprocess, sys, threading, time
from hypothesis import Phase, given, settings, strategies as st

def test_before():
    pass

def test_hangs_in_python():
    while True:
        time.sleep(0.01)

def test_hangs_in_a_socket():
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        with socket.create_connection(server.getsockname()) as silent:
            silent.recv(1)

def test_hangs_in_a_child():
    subprocess.run([sys.executable, "-c", "import threading; threading.Event().wait()"])

def test_hangs_in_a_thread():
    never = threading.Event()
    thread = threading.Thread(target=never.wait, daemon=True)
    thread.start()
    thread.join()

def test_hangs_while_it_is_torn_down(request):
    request.addfinalizer(threading.Event().wait)
    threading.Event().wait()

@settings(phases=[Phase.generate])
@given(st.integers())
def test_hangs_in_examples(number):
    threading.Event().wait()

def test_after():
    pass
"""
SWALLOWS = """
import time
from contextlib import suppress

def test_swallows_every_alarm():
    while True:
        with suppress(BaseException):
            time.sleep(0.1)
"""
SWALLOWS_LATER = """
import time
from contextlib import suppress

def test_swallows_every_alarm_while_it_is_torn_down(request):
    def swallow():
        while True:
            with suppress(BaseException):
                time.sleep(0.1)
    request.addfinalizer(swallow)
    assert not "a failure"
"""
IN_C = """
def test_hangs_in_a_query_that_may_not_look_for_signals():
    import duckdb
    far = "range(100000000)"
    duckdb.sql(f"SELECT count(*) FROM {far} a, {far} b WHERE a.range * b.range % 7 = 3").fetchall()
"""
OTHERS = """
def test_elsewhere():
    pass
"""
WITH_A_SERVER = """
import subprocess, sys, time
from contextlib import suppress
from pathlib import Path
import pytest
from tests.servers import ended_with_us

@pytest.fixture
def server(tmp_path_factory):
    folder = tmp_path_factory.mktemp("server")
    process = subprocess.Popen([sys.executable, "-c", "import threading; threading.Event().wait()"])
    with ended_with_us(process.pid, "KILL", folder):
        Path("started").write_text(f"{process.pid} {folder}")
        yield process

def test_hangs_beside_its_server(server):
    while True:
        with suppress(BaseException):
            time.sleep(0.1)
"""
END = 240
"""Seconds after which a run is taken to hang. One that works takes a few."""


def run_planted(folder: Path, *options: str, last: int = 2, **files: str) -> subprocess.CompletedProcess[str]:
    """Tests of these contents under the project's own configuration, with limits that are soon over."""
    for name, content in files.items():
        (folder / f"{name}.py").write_text(content)
    command = [sys.executable, "-m", "pytest", "-q", "-c", str(ROOT / "pyproject.toml"), "--rootdir", str(folder), str(folder)]
    limits = ["-p", "tests.time_limits", "-o", f"time_limits=1 1 {last}"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])}
    return subprocess.run(
        [*command, *limits, *options], cwd=folder, env=environment, capture_output=True, text=True, timeout=END, check=False
    )


def workers() -> list[str]:
    """How `make test` spreads tests, with two processes."""
    line = re.search(r"^WORKERS \?= (.*)$", (ROOT / "Makefile").read_text(), flags=re.MULTILINE)
    assert line is not None
    return ["-n", "2", *line[1].split()[2:]]


SPREAD = pytest.mark.parametrize(
    "spread", [pytest.param([], id="alone", marks=pytest.mark.slow), pytest.param(workers(), id="workers")]
)


@pytest.mark.slow
@SPREAD
def test_a_test_that_hangs_fails_and_the_others_go_on(tmp_path: Path, spread: list[str]) -> None:
    done = run_planted(tmp_path, *spread, last=60, test_hanging=HANGING, test_others=OTHERS)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "6 failed, 3 passed, 1 error" in done.stdout


@SPREAD
@pytest.mark.parametrize(
    "planted",
    [SWALLOWS, *(pytest.param(planted, marks=pytest.mark.slow) for planted in (SWALLOWS_LATER, IN_C))],
    ids=["now", "later", "in C"],
)
def test_one_that_cannot_be_interrupted_ends_the_run_red(tmp_path: Path, planted: str, spread: list[str]) -> None:
    done = run_planted(tmp_path, *spread, test_planted=planted, test_others=OTHERS)
    assert done.returncode != 0
    assert "test_planted.py" in done.stdout + done.stderr


@pytest.mark.slow
def test_a_server_does_not_outlive_the_process_that_a_hanging_test_takes_with_it(tmp_path: Path) -> None:
    done = run_planted(tmp_path, *workers(), test_serving=WITH_A_SERVER)
    assert done.returncode != 0
    server, folder = (tmp_path / "started").read_text().split()
    gone = 'while kill -0 "$1" 2>/dev/null || [ -e "$2" ]; do :; done'
    subprocess.run(["sh", "-c", gone, "sh", server, folder], timeout=END, check=True)


IGNORING = """
import os, signal, sys
for word in sys.argv[1].split():
    signal.signal(getattr(signal, word), signal.SIG_IGN)
os.execv(sys.executable, [sys.executable, *sys.argv[2:]])
"""


@pytest.mark.slow
@pytest.mark.parametrize("tests", ["unit/cli/test_stopping.py", "system/test_stopped_twice.py"], ids=["unit", "system"])
def test_the_tests_of_signals_pass_where_signals_are_ignored(tests: str) -> None:
    """As under `nohup make test &`: processes inherit what is ignored."""
    command = [sys.executable, "-c", IGNORING, "SIGINT SIGHUP", "-m", "pytest", "-q", "-n", "0", f"tests/{tests}"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=END, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"\d+ passed", done.stdout)


def test_every_test_has_a_limit_and_slow_ones_a_longer_one(request: pytest.FixtureRequest) -> None:
    left, again = signal.getitimer(signal.ITIMER_REAL)
    assert 0 < left <= USUAL
    assert again == AGAIN
    assert not request.config.getini("time_limits")
    for item in request.session.items:
        limit, _, last = limits_of(item)
        assert limit == (SLOW if item.get_closest_marker("slow") else USUAL)
        assert last > 0
