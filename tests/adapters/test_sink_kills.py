"""`kill -9` at any moment of a write: the target shows nothing, the old state, or everything."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.targets import ALL, ROWS, Row, make_target, read, write

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="there is no kill -9 on this system"),
]

# Dies at the N-th call that the sinks' own code makes; tells how many there are when it lives.
_CHILD = """
import os, signal, sys
from tests.targets import write

at, location, replace = int(sys.argv[1]), sys.argv[2], sys.argv[3] == "replace"
seen = 0

def count(frame, event, argument):
    global seen
    if event in ("call", "c_call") and f"{os.sep}sinks{os.sep}" in frame.f_code.co_filename:
        seen += 1
        if seen == at:
            os.kill(os.getpid(), signal.SIGKILL)

sys.setprofile(count)
write(location, replace=replace)
sys.setprofile(None)
print(seen)
"""
OLD: dict[str, list[Row]] = {**ROWS, "lines": [], "Patients": ROWS["Patients"][2:]}


def run(at: int, location: str, mode: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", _CHILD, str(at), location, mode]
    return subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)


def state(location: str) -> dict[str, int]:
    """How many rows each table has; nothing where there is no target. What stands under a hidden name is not the target."""
    path = Path(location.partition("?format=")[0])
    if "://" not in location and not path.exists():
        return {}
    held = read(location)
    return {name: len(rows) for name, rows in held.items() if not name.startswith("__mare_")}


def counts(rows: dict[str, list[Row]]) -> dict[str, int]:
    return {name: len(listed) for name, listed in rows.items()}


@pytest.mark.parametrize("mode", ["fresh", "replace"])
@pytest.mark.parametrize("kind", ALL)
def test_a_kill_leaves_nothing_the_old_state_or_everything(
    kind: str, mode: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    calls = None
    for share in (None, 0.3, 0.7, 0.9, 0.98):
        folder = tmp_path / str(share)
        folder.mkdir()
        target = make_target(kind, request, folder).location
        before: dict[str, int] = {}
        if mode == "replace":
            write(target, OLD)
            before = counts(OLD)
        if share is None:
            done = run(0, target, mode)
            assert done.returncode == 0, done.stderr
            calls = int(done.stdout)
            assert state(target) == counts(ROWS)
            continue
        assert calls is not None
        done = run(int(calls * share), target, mode)
        assert done.returncode == -signal.SIGKILL
        assert state(target) in (before, counts(ROWS))
        # Whatever was left, the next run goes through.
        write(target, replace=True)
        assert state(target) == counts(ROWS)
